//! Properties that the specification does not define, where it tolerates them.

use serde_json::Value;

use super::super::asset::{Asset, list, object};
use super::super::codes;
use super::super::findings::{Findings, escaped, short};

/// What each of the two objects has.
const OBJECTS: [(&str, &[&str]); 2] = [
    ("safety", &["softLowerLimit", "softUpperLimit", "kPosition", "kVelocity", "extensions", "extras"]),
    ("calibration", &["rising", "falling", "extensions", "extras"]),
];

/// `otherXml` of sources, and further properties of what joints have for safety and calibration; `extension` is the asset's.
pub fn check(extension: &Value, asset: &Asset<'_>, findings: &mut Findings) {
    for (model, json) in asset.models.iter().zip(list(extension, "models")) {
        if object(json, "source").any(|(name, _)| name == "otherXml") {
            report(&model.title(), format!("{}/source", model.pointer()), "otherXml", findings);
        }
        for (joint, json) in model.joints.iter().zip(list(json, "joints")) {
            for (what, known) in OBJECTS {
                for (name, _) in object(json, what).filter(|(name, _)| !known.contains(&name.as_str())) {
                    report(&joint.title(), format!("{}/{what}", joint.pointer()), name, findings);
                }
            }
        }
    }
}

fn report(title: &str, owner: String, name: &str, findings: &mut Findings) {
    let what = owner.rsplit('/').next().unwrap_or_default();
    let message = format!("{title}: its {what} has `{}`, which the extension does not define", short(name));
    findings.report(
        &codes::OTHER_PROPERTY,
        format!("{owner}/{}", escaped(name)),
        message,
        "move it to the `extras` of the object",
    );
}
