//! Entries of a configuration fit the degrees of freedom of their joints.

use super::{Findings, Subject, rule};
use crate::asset::plural;
use crate::configurations::{configurations, numbers};
use urdf_usd_gltf_extension::Json;

rule! {
    severity: Error,
    meaning: "An entry of a configuration is not a number for a joint with one degree of freedom, \
              or an array with one number per degree of freedom for others.",
    outcome: "Loaders can't apply it.",
    demand: "An entry MUST be a number for a joint with one degree of freedom, otherwise an array \
             with one number per degree of freedom.",
    section: ("Configurations", "#configurations"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for configuration in configurations(subject) {
        for (joint, position, at) in configuration.entries() {
            let dofs = joint.dof_count();
            // A number for a fixed joint is left to kinematics-configuration-form.
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
            findings.report(at, message, format!("write {expected}"));
        }
    }
}
