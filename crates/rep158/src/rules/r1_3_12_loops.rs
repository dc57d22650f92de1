//! That loops are marked.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::End;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.12",
        severity: Severity::Error,
        meaning: "A joint closes a loop and does not say so.",
        outcome: "Engines with reduced coordinates refuse the robot or drop a joint of their choice.",
    },
    demand: "Articulations must form a spanning tree: joints that close a loop must set physics:excludeFromArticulation = true.",
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

    def PhysicsRevoluteJoint "hip"
    {
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
    }

    def PhysicsFixedJoint "rod"
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
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def PhysicsRevoluteJoint "hip"
    {
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
    }

    def PhysicsFixedJoint "rod"
    {
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
        uniform bool physics:excludeFromArticulation = true
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for &closing in &subject.trees.closing {
        let joint = &subject.physics.joints[closing];
        let [a, b] = [0, 1].map(|end| match &joint.ends[end] {
            End::Body(id) => subject.stage[*id].path.as_str(),
            _ => "the world",
        });
        let path = &subject.stage[joint.prim].path;
        let message = format!("the joint {path} closes a loop: other joints connect {a} with {b} already");
        let help = "set `uniform bool physics:excludeFromArticulation = true` on the joint that is to close the loop";
        findings.prim(&RULE.code, joint.prim, Some("physics:excludeFromArticulation"), message, help);
    }
}
