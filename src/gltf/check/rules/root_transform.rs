//! That the axes are glTF's.

use super::super::asset::node_title;
use super::super::findings::Findings;
use super::super::rest::transform_of;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-root-transform",
        severity: Severity::Warning,
        meaning: "The model's rootNode has a transform.",
        outcome: "Frames and axes are not in glTF's axes but in others that the root turns, scales or moves.",
    },
    demand: "`rootNode` SHOULD be at identity; most of all, it does not turn the source's axes to glTF's.",
    section: ("Coordinate system", "#coordinate-system-and-units"),
    breaks: &[("/nodes/0/scale", Some("[0.1, 0.1, 0.1]"))],
    keeps: &[("/nodes/0/scale", None)],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for model in &subject.asset.models {
        let Some((node, transform)) = transform_of(subject, model.root) else { continue };
        if transform.is_rigid() && !transform.moves() && !transform.turns() {
            continue;
        }
        let root = node_title(subject.asset.nodes, node);
        let message = format!("{}: its rootNode, {root}, {}", model.title(), transform.in_words());
        let help = match transform.turns() {
            true => {
                "convert every pose and axis to glTF's axes, (x, y, z) to (y, z, x), rather than turn the root; to place the \
                 robot, use a node above rootNode"
            }
            false => "leave rootNode at identity; to place the robot, use a node above it",
        };
        findings.report(&RULE.code, format!("/nodes/{node}"), message, help);
    }
}
