//! The root node is at identity.

use super::{Findings, Subject, rule};
use crate::asset::node_title;
use crate::rest::transform_of;

rule! {
    severity: Warning,
    meaning: "The model's rootNode has a transform.",
    outcome: "Frames and axes are not in glTF's axes but in others that the root turns, scales or \
              moves.",
    demand: "`rootNode` SHOULD be at identity; most of all, it does not turn the source's axes to \
             glTF's.",
    section: ("Coordinate system", "#coordinate-system-and-units"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        let Some((node, transform)) = transform_of(subject, model.root) else {
            continue;
        };
        if transform.is_rigid() && !transform.moves() && !transform.turns() {
            continue;
        }
        let root = node_title(subject.asset.nodes, node);
        let message = format!(
            "{}: its rootNode, {root}, {}",
            model.title(),
            transform.in_words()
        );
        let help = match transform.turns() {
            true => {
                "convert every pose and axis to glTF's axes, (x, y, z) to (y, z, x), rather than turn the root; to place the \
                 robot, use a node above rootNode"
            }
            false => "leave rootNode at identity; to place the robot, use a node above it",
        };
        findings.report(format!("/nodes/{node}"), message, help);
    }
}
