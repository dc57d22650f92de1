//! Animated bodies are kinematic.

use super::{Findings, Subject, rule};

rule! {
    severity: Warning,
    meaning: "A body is animated, and physics moves it too.",
    outcome: "The animation and the engine pull at the same body.",
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
                "the body {} has time samples for its place, but is not kinematic",
                prim.path
            );
            let help =
                "author `bool physics:kinematicEnabled = true`, or take the time samples away";
            findings.prim(id, Some("physics:kinematicEnabled"), message, help);
        }
    }
}
