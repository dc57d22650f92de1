//! Sources, safety and calibration have defined properties only.

use std::collections::BTreeSet;

use super::{Findings, Subject, rule};
use crate::findings::short;
use urdf_usd_gltf_extension::Entry;

rule! {
    severity: Warning,
    meaning: "A source has `otherXml`, or what a joint has for safety or calibration a property \
              that the extension does not define.",
    outcome: "Loaders ignore it.",
    demand: "A source SHOULD NOT have `otherXml`, nor `safety` and `calibration` properties that \
             are not listed.",
    section: ("Dynamics, safety, calibration", "#dynamics-safety-calibration"),
}

/// The properties of a joint's `safety` and `calibration`.
const SAFETY: &[&str] = &[
    "softLowerLimit",
    "softUpperLimit",
    "kPosition",
    "kVelocity",
    "extensions",
    "extras",
];
const CALIBRATION: &[&str] = &["rising", "falling", "extensions", "extras"];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        if let Some(source) = model
            .read
            .source()
            .filter(|source| source.entry.json.member("otherXml").is_some())
        {
            report(&model.title(), &source.entry, "otherXml", findings);
        }
        for joint in &model.joints {
            for (object, known) in [
                (joint.read.safety(), SAFETY),
                (joint.read.calibration(), CALIBRATION),
            ] {
                let Some(object) = object else { continue };
                // Sorted by name; a repeated name counts once.
                let names: BTreeSet<&str> = object
                    .json
                    .members()
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .collect();
                for name in names.into_iter().filter(|name| !known.contains(name)) {
                    report(&joint.title(), &object, name, findings);
                }
            }
        }
    }
}

fn report(title: &str, owner: &Entry<'_>, name: &str, findings: &mut Findings<'_>) {
    let what = owner.at.rsplit('/').next().unwrap_or_default();
    let message = format!(
        "{title}: its {what} has `{}`, which the extension does not define",
        short(name)
    );
    findings.report(
        owner.below(name),
        message,
        "move it to the `extras` of the object",
    );
}
