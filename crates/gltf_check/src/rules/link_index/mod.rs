//! Indices of links are in range.

use super::{Findings, Subject, rule};
use crate::asset::plural;

rule! {
    severity: Error,
    meaning: "The index of a link is not that of a link of the model.",
    outcome: "Loaders can't tell what the joint connects.",
    demand: "`parentLink` and `childLink` MUST be indices into `links`.",
    section: ("Joints", "#joints"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        let count = model.links.len();
        for joint in &model.joints {
            for field in [joint.read.parent_link(), joint.read.child_link()] {
                let (what, at) = (field.key, field.at());
                let Some(link) = field.value().filter(|&link| link >= count) else {
                    continue;
                };
                let message = format!(
                    "{}: {what} is {link}, and the model has {}",
                    joint.title(),
                    plural(count, "link")
                );
                findings.report(at, message, "give the link's place in `links`, from 0");
            }
        }
    }
}
