//! No kinematic tree has more than one articulation root.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "Bodies that joints connect have more than one articulation root.",
    outcome: "Physics engines take the robot apart where the second root is.",
    demand: "A stage must contain at most one PhysicsArticulationRootAPI per connected kinematic \
             tree.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for tree in subject.trees.robots(subject.stage, &subject.physics) {
        let Some((first, others)) = tree.roots.split_first() else {
            continue;
        };
        for &other in others {
            let [other_path, first_path] = [other, *first].map(|id| &subject.stage[id].path);
            let message = format!(
                "{other_path} is one more articulation root of the robot whose root is {first_path}"
            );
            let help = "keep the topmost one; take the others away with `delete apiSchemas = [\"PhysicsArticulationRootAPI\"]`";
            findings.prim(other, None, message, help);
        }
    }
}
