//! That what follows a joint is a joint that can.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::mimic::{self, About};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.1",
        severity: Severity::Warning,
        meaning: "ExtendedPhysicsMimicAPI is on a prim that is no revolute or prismatic joint.",
        outcome: "Engines ignore it.",
    },
    demand: "ExtendedPhysicsMimicAPI is for revolute and prismatic joints.",
    section: ("Physics Schemas", "§4.2.2"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def PhysicsFixedJoint "finger" (
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
    for fault in faults.into_iter().filter(|fault| fault.about == About::Follower) {
        findings.prim(&RULE.code, fault.prim, Some(name), fault.message, fault.help);
    }
}
