//! That joints which follow others say so for every program.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.9",
        severity: Severity::Error,
        meaning: "A joint follows another by a schema that only some programs know.",
        outcome: "The others let it move freely.",
    },
    demand: "Authors must use ExtendedPhysics* schemas for mimic joints.",
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
        rel mimic:joint = </robot/thumb>
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
    for joint in &subject.physics.joints {
        let prim = &subject.stage[joint.prim];
        let is_said = prim.has("ExtendedPhysicsMimicAPI");
        let other = FOREIGN.iter().find(|schema| prim.has(schema) && !is_said);
        let Some(schema) = prim.has("MimicJointAPI").then_some(&"MimicJointAPI").or(other) else { continue };
        let message = format!("the joint {} follows another by {schema}", prim.path);
        let help = "apply ExtendedPhysicsMimicAPI, with `rel ext_physics:mimic:joint`, `ext_physics:mimic:multiplier` and `ext_physics:mimic:offset`";
        findings.prim(&RULE.code, joint.prim, None, message, help);
    }
}

/// What programs have of their own: beside the schema that all know, it does no harm.
const FOREIGN: [&str; 3] = ["NewtonMimicAPI", "PhysxMimicJointAPI", "MjcEqualityJointAPI"];
