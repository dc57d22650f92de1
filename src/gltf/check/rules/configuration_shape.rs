//! That an entry of a configuration fits its joint.

use super::super::asset::plural;
use super::super::findings::Findings;
use super::super::configurations::{configurations, numbers};
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};
use crate::gltf::extension::Json;

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-configuration-shape",
        severity: Severity::Error,
        meaning: "An entry of a configuration is not a number for a joint with one degree of freedom, or an array with one \
                   number per degree of freedom for others.",
        outcome: "Loaders can't apply it.",
    },
    demand: "An entry MUST be a number for a joint with one degree of freedom, otherwise an array with one number per degree \
              of freedom.",
    section: ("Configurations", "#configurations"),
    breaks: &[("models/0/configurations/home/jointPositions/0", Some("[0]"))],
    keeps: &[("models/0/configurations/home/jointPositions/0", Some("0"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for configuration in configurations(subject) {
        for (joint, position, at) in configuration.entries() {
            let dofs = joint.dof_count();
            // A number for a fixed joint is tolerated, which is another rule's.
            if numbers(joint, position).is_some() || (dofs == 0 && position.number().is_some()) {
                continue;
            }
            let expected = match dofs {
                0 => "an empty array".to_owned(),
                1 => "a number".to_owned(),
                n => format!("an array of {n} numbers"),
            };
            let found = match position {
                Json::Number(_) => "a number".to_owned(),
                Json::List(list) => format!("an array of {}", plural(list.len(), "value")),
                _ => "something else".to_owned(),
            };
            let (title, joint) = (&configuration.title, joint.title());
            let message = format!("{title}: the entry of {joint} is {found}; it takes {expected}");
            findings.report(&RULE.code, at, message, format!("write {expected}"));
        }
    }
}
