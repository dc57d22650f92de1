//! Mimic joints have the `ExtendedPhysics` schema.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A mimic joint has a schema that only some programs know.",
    outcome: "Other programs let the joint move freely.",
    demand: "Authors must use ExtendedPhysics* schemas for mimic joints.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in &subject.physics.joints {
        let prim = &subject.stage[joint.prim];
        let has_common = prim.has("ExtendedPhysicsMimicAPI");
        let other = FOREIGN
            .iter()
            .find(|schema| prim.has(schema) && !has_common);
        let Some(schema) = prim
            .has("MimicJointAPI")
            .then_some(&"MimicJointAPI")
            .or(other)
        else {
            continue;
        };
        let message = format!("the joint {} follows another joint by {schema}", prim.path);
        let help = "apply ExtendedPhysicsMimicAPI, with `rel ext_physics:mimic:joint`, `ext_physics:mimic:multiplier` and `ext_physics:mimic:offset`";
        findings.prim(joint.prim, None, message, help);
    }
}

/// Schemas of single programs, permitted in addition to the common schema.
const FOREIGN: [&str; 3] = [
    "NewtonMimicAPI",
    "PhysxMimicJointAPI",
    "MjcEqualityJointAPI",
];
