//! Configurations are within the joint limits.

use super::{Findings, Subject, rule};
use crate::configurations::{Position, configurations};

rule! {
    severity: Warning,
    meaning: "A configuration puts a joint outside its limits.",
    outcome: "The robot can't take that pose; loaders that clamp show another.",
    demand: "Positions SHOULD be within the limits, but for joints with a mimic.",
    section: ("Configurations", "#configurations"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for configuration in configurations(subject) {
        for Position {
            joint,
            k,
            position,
            at,
        } in configuration.numbers()
        {
            // The position of a follower comes from its driver.
            let dof = joint.dofs.get(k).filter(|_| joint.mimic.is_none());
            let Some(range) = dof.and_then(|dof| dof.range_without(position)) else {
                continue;
            };
            let message = format!(
                "{}: it puts {} at {position}, outside {range}",
                configuration.title,
                joint.title()
            );
            findings.report(at, message, "give a position within the joint's limits");
        }
    }
}
