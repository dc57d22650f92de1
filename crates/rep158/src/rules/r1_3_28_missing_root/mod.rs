//! Every kinematic tree has an articulation root.

use super::{Findings, Subject, rule};

rule! {
    severity: Warning,
    meaning: "Bodies that joints connect have no articulation root.",
    outcome: "Engines simulate each body for itself, held by soft joints, and controllers find no \
              robot.",
    demand: "Assets should be self-contained with an articulation root for standalone use.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for tree in subject.trees.robots(subject.stage, &subject.physics) {
        if tree.bodies.len() > 1 && tree.roots.is_empty() {
            let first = tree.bodies[0];
            let path = &subject.stage[first].path;
            let message = format!(
                "the {} links that hang together with {path} have no articulation root",
                tree.bodies.len()
            );
            let help = "apply PhysicsArticulationRootAPI to the robot's root prim";
            findings.prim(first, None, message, help);
        }
    }
}
