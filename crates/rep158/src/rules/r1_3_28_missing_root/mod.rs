//! Every kinematic tree has an articulation root.

use super::{Findings, Subject, rule};

rule! {
    severity: Warning,
    meaning: "Bodies that joints connect have no articulation root.",
    outcome: "Engines simulate separate bodies with soft joints, and controllers find no robot.",
    demand: "Assets should be self-contained with an articulation root for standalone use.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for tree in subject.trees.robots(subject.stage, &subject.physics) {
        if let (&[first, _, ..], []) = (tree.bodies.as_slice(), tree.roots.as_slice()) {
            let path = &subject.stage[first].path;
            let message = format!(
                "the {} connected links of the tree of {path} have no articulation root",
                tree.bodies.len()
            );
            let help = "apply PhysicsArticulationRootAPI to the robot's root prim";
            findings.prim(first, None, message, help);
        }
    }
}
