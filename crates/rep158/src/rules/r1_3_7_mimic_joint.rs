//! That joints with the former mimic schema follow a joint.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::mimic;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.7",
        severity: Severity::Error,
        meaning: "A joint with MimicJointAPI can not follow the joint that it names.",
        outcome: "The joint stays where it is, or each program moves it in its own way.",
    },
    demand: "A mimic joint must be revolute or prismatic and must follow exactly one such joint, never itself through others.",
    section: ("Physics", "§1.3"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def PhysicsRevoluteJoint "finger" (
        prepend apiSchemas = ["MimicJointAPI"]
    )
    {
        rel mimic:joint = </robot/thum>
    }

    def PhysicsRevoluteJoint "thumb"
    {
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def PhysicsRevoluteJoint "finger" (
        prepend apiSchemas = ["MimicJointAPI"]
    )
    {
        rel mimic:joint = </robot/thumb>
    }

    def PhysicsRevoluteJoint "thumb"
    {
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for fault in mimic::faults(subject.stage, "MimicJointAPI", "mimic:joint") {
        findings.prim(&RULE.code, fault.prim, Some("mimic:joint"), fault.message, fault.help);
    }
}
