//! Animated bodies are kinematic.

use super::{Findings, Subject, rule};

rule! {
    severity: Warning,
    meaning: "An animated body is not kinematic.",
    outcome: "The animation and the physics engine both move the body.",
    demand: "Moving bodies that are animated but not driven by physics should set \
             physics:kinematicEnabled = true.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for &id in &subject.physics.bodies {
        let prim = &subject.stage[id];
        let is_animated = prim.xform().ops.iter().any(|op| op.is_animated);
        if is_animated && prim.flag("physics:kinematicEnabled") != Some(true) {
            let message = format!(
                "the body {} has time samples for its pose, but is not kinematic",
                prim.path
            );
            let help = "author `bool physics:kinematicEnabled = true`, or remove the time samples";
            findings.prim(id, Some("physics:kinematicEnabled"), message, help);
        }
    }
}
