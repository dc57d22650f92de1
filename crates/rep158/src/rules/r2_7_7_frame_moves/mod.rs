//! Frames are declared static if, and only if, they do not move.

use super::{Findings, Subject, rule};
use crate::physics::is_body;

rule! {
    severity: Warning,
    meaning: "A moving frame is declared static, or a static one as moving.",
    outcome: "TF keeps a moving frame at its first pose, or repeats a pose that never changes.",
    demand: "ros:frame:static is true for frames that stay in their USD parent, false for those \
             that an animation moves.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present_with("RosFrameAPI") {
        // A body is moved by its joints.
        if is_body(prim) {
            continue;
        }
        let name = "ros:frame:static";
        let is_static = prim.flag(name).unwrap_or(true);
        let moves = prim.xform().ops.iter().any(|op| op.is_animated);
        let message = match (is_static, moves) {
            (true, true) => format!(
                "the frame {} is static, but has time samples for its pose",
                prim.path
            ),
            (false, false) => format!(
                "the frame {} is not static, but nothing moves it",
                prim.path
            ),
            _ => continue,
        };
        findings.prim(
            id,
            Some(name),
            message,
            format!("author `bool {name} = {}`", !is_static),
        );
    }
}
