//! Animated nodes of the robot have no matrix.

use super::{Findings, Subject, rule};
use crate::animations::{self, Part};

rule! {
    severity: Error,
    meaning: "An animated node of the robot has a matrix.",
    outcome: "The file is no valid glTF; the animation can't be played.",
    demand: "Animated nodes of the robot MUST NOT have a `matrix` (core glTF).",
    section: ("Animations", "#animations"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let roots: Vec<usize> = subject
        .asset
        .models
        .iter()
        .filter_map(|model| model.root)
        .collect();
    for channel in animations::channels(subject) {
        let node = channel.node;
        let is_robots = || {
            roots
                .iter()
                .any(|&root| node == root || subject.hierarchy.is_below(node, root))
        };
        let has_matrix = subject
            .asset
            .nodes
            .get(node)
            .is_some_and(|node| node.member("matrix").is_some());
        // Matrices of dof nodes are left to kinematics-dof-node-matrix.
        if has_matrix && !matches!(channel.part, Some(Part::Dof(..))) && is_robots() {
            let message = format!("{}, which has a matrix", channel.subject);
            let help = "write translation, rotation and scale instead of the matrix";
            findings.report(format!("/nodes/{node}/matrix"), message, help);
        }
    }
}
