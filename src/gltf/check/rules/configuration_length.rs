//! That a configuration is about all joints.

use super::super::asset::plural;
use super::super::findings::Findings;
use super::super::configurations::{ENTRY_PER_JOINT, Positions, configurations};
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-configuration-length",
        severity: Severity::Error,
        meaning: "A configuration has not one entry per joint.",
        outcome: "Positions are set on the wrong joints, or not at all.",
    },
    demand: "`jointPositions` MUST have one entry per joint, or all degrees of freedom in a row (rule 46).",
    section: ("Configurations", "#configurations"),
    breaks: &[("models/0/configurations/home/jointPositions", Some("[0, 0, 0, 0, [0, 0], [0, 0, 0, 0, 0, 0]]"))],
    keeps: &[("models/0/configurations/home/jointPositions", Some("[0, 0, 0, 0, [0, 0], [0, 0, 0, 0, 0, 0], []]"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for configuration in configurations(subject) {
        let Positions::Entries(entries) = &configuration.positions else { continue };
        let joints = configuration.model.joints.len();
        let entries = match entries.len() {
            count if count == joints => continue,
            1 => "1 entry".to_owned(),
            count => format!("{count} entries"),
        };
        let message = format!("{}: it has {entries}, and the model has {}", configuration.title, plural(joints, "joint"));
        findings.report(&RULE.code, configuration.pointer, message, ENTRY_PER_JOINT);
    }
}
