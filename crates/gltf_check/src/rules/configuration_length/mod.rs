//! Configurations have an entry for every joint.

use super::{Findings, Subject, rule};
use crate::asset::plural;
use crate::configurations::{ENTRY_PER_JOINT, Positions, configurations};

rule! {
    severity: Error,
    meaning: "A configuration has not one entry per joint.",
    outcome: "Positions are set on the wrong joints, or not at all.",
    demand: "`jointPositions` MUST have one entry per joint, or all degrees of freedom in a row \
             (rule 46).",
    section: ("Configurations", "#configurations"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for configuration in configurations(subject) {
        let Positions::Entries(entries) = &configuration.positions else {
            continue;
        };
        let joints = configuration.model.joints.len();
        let entries = match entries.len() {
            count if count == joints => continue,
            1 => "1 entry".to_owned(),
            count => format!("{count} entries"),
        };
        let message = format!(
            "{}: it has {entries}, and the model has {}",
            configuration.title,
            plural(joints, "joint")
        );
        findings.report(configuration.pointer, message, ENTRY_PER_JOINT);
    }
}
