//! That a mere frame is no body.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::{End, is_collider, is_shape, own};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.17",
        severity: Severity::Error,
        meaning: "A body has no mass and no shape, and a fixed joint holds it: it is a frame.",
        outcome: "Engines give it a mass of their own, and the robot becomes heavier or unstable.",
    },
    demand: "Non-physical dummy frames must not have PhysicsRigidBodyAPI; RosFrameAPI tracks them.",
    section: ("Physics", "§1.3"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def Xform "arm" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def PhysicsFixedJoint "mount"
    {
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def Xform "arm" (
        prepend apiSchemas = ["RosFrameAPI"]
    )
    {
    }


}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for &id in &subject.physics.bodies {
        let prim = &stage[id];
        let has_mass = prim.number("physics:mass").is_some_and(|mass| mass > 0.0);
        if has_mass || own(stage, id).iter().any(|&id| is_shape(&stage[id]) || is_collider(&stage[id])) {
            continue;
        }
        let joints = subject.physics.joints_to.get(&id).map_or(&[][..], Vec::as_slice);
        let is_held = |&index: &usize| {
            let joint = &subject.physics.joints[index];
            stage[joint.prim].type_name == "PhysicsFixedJoint" && matches!(joint.ends[0], End::Body(_))
        };
        if joints.is_empty() || !joints.iter().all(is_held) {
            continue;
        }
        let message = format!("{} is a body, but only a frame: a fixed joint holds it, and it has no shape", prim.path);
        let help = "replace PhysicsRigidBodyAPI by RosFrameAPI and take its joint away";
        findings.prim(&RULE.code, id, None, message, help);
    }
}
