//! Frames without mass and shape have no rigid body schema.

use super::{Findings, Subject, rule};
use crate::physics::{End, Joint, is_collider, is_shape, own_prims};

rule! {
    severity: Error,
    meaning: "A body without mass and shapes is held by a fixed joint: it is only a frame.",
    outcome: "Engines give it a default mass, which makes the robot heavier or unstable.",
    demand: "Non-physical dummy frames must not have PhysicsRigidBodyAPI; RosFrameAPI tracks them.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for &id in &subject.physics.bodies {
        let prim = &stage[id];
        let has_mass = prim.number("physics:mass").is_some_and(|mass| mass > 0.0);
        if has_mass
            || own_prims(stage, id)
                .iter()
                .any(|&id| is_shape(&stage[id]) || is_collider(&stage[id]))
        {
            continue;
        }
        let mut joints = subject.physics.joints_to(id).peekable();
        let is_held = |joint: &Joint| {
            stage[joint.prim].type_name == "PhysicsFixedJoint"
                && matches!(joint.ends, [End::Body(_), _])
        };
        if joints.peek().is_none() || !joints.all(is_held) {
            continue;
        }
        let message = format!(
            "the body {} is only a frame: it has no mass and no shape, and a fixed joint holds it",
            prim.path
        );
        let help = "replace PhysicsRigidBodyAPI by RosFrameAPI and remove its joint";
        findings.prim(id, None, message, help);
    }
}
