//! That joints stand beside the link that they move.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::End;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.21",
        severity: Severity::Warning,
        meaning: "A joint stands elsewhere than beside its child link.",
        outcome: "Who takes a part of the robot into another asset loses its joint.",
    },
    demand: "Authors should place the joint prim as a sibling of the child link, within the parent link.",
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

    def Scope "joints"
    {
        def PhysicsRevoluteJoint "hip"
        {
            rel physics:body0 = </robot/base>
            rel physics:body1 = </robot/arm>
        }
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
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for joint in subject.physics.joints.iter().filter(|joint| !joint.is_excluded) {
        let End::Body(child) = joint.ends[1] else { continue };
        if stage[joint.prim].parent == stage[child].parent {
            continue;
        }
        let message =
            format!("the joint {} does not stand beside its child link {}", stage[joint.prim].path, stage[child].path);
        let place = stage[child].parent.map_or("/", |parent| &stage[parent].path);
        findings.prim(&RULE.code, joint.prim, None, message, format!("move it into {place}"));
    }
}
