//! That the robot can take a named pose.

use super::super::findings::Findings;
use super::super::configurations::{Position, configurations};
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-configuration-outside-limits",
        severity: Severity::Warning,
        meaning: "A configuration puts a joint outside its limits.",
        outcome: "The robot can't take that pose; loaders that clamp show another.",
    },
    demand: "Positions SHOULD be within the limits, but for joints with a mimic.",
    section: ("Configurations", "#configurations"),
    breaks: &[("models/0/configurations/home/jointPositions/2", Some("0.3"))],
    keeps: &[("models/0/configurations/home/jointPositions/2", Some("0"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for configuration in configurations(subject) {
        for Position { joint, k, position, at } in configuration.numbers() {
            // A follower is where its driver puts it.
            let dof = joint.dofs.get(k).filter(|_| joint.mimic.is_none());
            let Some(range) = dof.and_then(|dof| dof.range_without(position)) else { continue };
            let message = format!("{}: it puts {} at {position}, outside {range}", configuration.title, joint.title());
            findings.report(&RULE.code, at, message, "give a position within the joint's limits");
        }
    }
}
