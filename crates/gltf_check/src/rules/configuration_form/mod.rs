//! Configurations have one entry per joint, in the recommended form.

use super::{Findings, Subject, rule};
use crate::configurations::{ENTRY_PER_JOINT, Positions, configurations};

rule! {
    severity: Warning,
    meaning: "Positions of a configuration are one number per degree of freedom in a row, or a \
              fixed joint has a number.",
    outcome: "Loaders that expect one entry per joint, and [] for a fixed one, can't use the \
              configuration.",
    demand: "`jointPositions` SHOULD have one entry per joint, not one number per degree of \
             freedom in a row, and `[]` for a fixed joint, not a number.",
    section: ("Configurations", "#configurations"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for configuration in configurations(subject) {
        let title = &configuration.title;
        if let Positions::Row(_) = configuration.positions {
            let message = format!(
                "{title}: it has one number per degree of freedom, not one entry per joint"
            );
            findings.report(configuration.pointer.as_str(), message, ENTRY_PER_JOINT);
        }
        for (joint, position, at) in configuration.entries() {
            if joint.dof_count() == 0 && position.number().is_some() {
                let joint = joint.title();
                let message = format!(
                    "{title}: the entry of {joint} is a number, and a fixed joint has no position"
                );
                findings.report(at, message, "write []");
            }
        }
    }
}
