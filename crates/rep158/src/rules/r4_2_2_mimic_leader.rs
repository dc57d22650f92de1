//! That a joint which follows names one joint.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::mimic::{self, About};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.2",
        severity: Severity::Error,
        meaning: "A joint with ExtendedPhysicsMimicAPI names no joint that it can follow, or several.",
        outcome: "The joint moves freely, or the asset is refused.",
    },
    demand: "ext_physics:mimic:joint must lead to exactly one revolute or prismatic joint.",
    section: ("Physics Schemas", "§4.2.2"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def PhysicsRevoluteJoint "finger" (
        prepend apiSchemas = ["ExtendedPhysicsMimicAPI"]
    )
    {
        rel ext_physics:mimic:joint = </robot/thum>
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
        prepend apiSchemas = ["ExtendedPhysicsMimicAPI"]
    )
    {
        rel ext_physics:mimic:joint = </robot/thumb>
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
    let name = "ext_physics:mimic:joint";
    let faults = mimic::faults(subject.stage, "ExtendedPhysicsMimicAPI", name);
    for fault in faults.into_iter().filter(|fault| fault.about == About::Leader) {
        findings.prim(&RULE.code, fault.prim, Some(name), fault.message, fault.help);
    }
}
