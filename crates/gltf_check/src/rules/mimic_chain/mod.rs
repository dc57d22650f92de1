//! Mimic drivers follow no other joint.

use super::{Findings, Subject, rule};
use crate::asset::Joint;

rule! {
    severity: Error,
    meaning: "A joint follows one that follows another.",
    outcome: "Loaders evaluate one step, in any order, so the position is undefined.",
    demand: "The driver of a mimic MUST NOT have a mimic itself.",
    section: ("Mimics", "#mimics"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        for joint in &model.joints {
            let driver = joint
                .mimic
                .as_ref()
                .and_then(|mimic| model.joints.get(mimic.joint?));
            let is_chain =
                |driver: &&Joint<'_>| driver.mimic.is_some() && driver.index != joint.index;
            let Some(driver) = driver.filter(is_chain) else {
                continue;
            };
            let message = format!(
                "{} follows {}, which follows another joint itself",
                joint.title(),
                driver.title()
            );
            let help = "follow the joint at the end of the chain: multiply the multipliers, and add the offsets as they come through";
            findings.report(format!("{}/mimic/joint", joint.pointer()), message, help);
        }
    }
}
