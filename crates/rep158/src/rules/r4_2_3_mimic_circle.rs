//! That no joint follows itself.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::mimic::{self, About};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.3",
        severity: Severity::Error,
        meaning: "Joints follow each other in a circle.",
        outcome: "No engine can tell where they are.",
    },
    demand: "The graph of ext_physics:mimic:joint must be acyclic.",
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
        rel ext_physics:mimic:joint = </robot/thumb>
    }

    def PhysicsRevoluteJoint "thumb" (
        prepend apiSchemas = ["ExtendedPhysicsMimicAPI"]
    )
    {
        rel ext_physics:mimic:joint = </robot/finger>
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
    for fault in faults.into_iter().filter(|fault| fault.about == About::Circle) {
        findings.prim(&RULE.code, fault.prim, Some(name), fault.message, fault.help);
    }
}
