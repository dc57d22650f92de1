//! Frames without mass and shape have no rigid body schema.

use super::{Findings, Subject, rule};
use crate::physics::{End, is_collider, is_shape, own};

rule! {
    severity: Error,
    meaning: "A body has no mass and no shape, and a fixed joint holds it: it is a frame.",
    outcome: "Engines give it a mass of their own, and the robot becomes heavier or unstable.",
    demand: "Non-physical dummy frames must not have PhysicsRigidBodyAPI; RosFrameAPI tracks them.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for &id in &subject.physics.bodies {
        let prim = &stage[id];
        let has_mass = prim.number("physics:mass").is_some_and(|mass| mass > 0.0);
        if has_mass
            || own(stage, id)
                .iter()
                .any(|&id| is_shape(&stage[id]) || is_collider(&stage[id]))
        {
            continue;
        }
        let joints = subject
            .physics
            .joints_to
            .get(&id)
            .map_or(&[][..], Vec::as_slice);
        let is_held = |&index: &usize| {
            let joint = &subject.physics.joints[index];
            stage[joint.prim].type_name == "PhysicsFixedJoint"
                && matches!(joint.ends[0], End::Body(_))
        };
        if joints.is_empty() || !joints.iter().all(is_held) {
            continue;
        }
        let message = format!(
            "{} is a body, but only a frame: a fixed joint holds it, and it has no shape",
            prim.path
        );
        let help = "replace PhysicsRigidBodyAPI by RosFrameAPI and take its joint away";
        findings.prim(id, None, message, help);
    }
}
