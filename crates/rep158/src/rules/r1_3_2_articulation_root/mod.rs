//! No kinematic tree has more than one articulation root.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "Bodies that joints connect have more than one articulation root.",
    outcome: "Physics engines split the robot at the second root.",
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
                "{other_path} is another articulation root of the robot whose root is {first_path}"
            );
            let help = "keep the topmost one; remove the others with `delete apiSchemas = [\"PhysicsArticulationRootAPI\"]`";
            findings.prim(other, None, message, help);
        }
    }
}
