//! The extension is listed in `extensionsUsed`.

use super::{Findings, Subject, rule};
use urdf_usd_gltf_extension::NAME;

rule! {
    severity: Error,
    meaning: "The extension is there, but not listed in extensionsUsed.",
    outcome: "Loaders may ignore the extension, and the file is no valid glTF.",
    demand: "The extension MUST be listed in `extensionsUsed`.",
    section: ("Overview", "#overview"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    if subject.listed_in("extensionsUsed").is_none() {
        let message = format!("{NAME} is not listed in extensionsUsed");
        findings.report(
            "/extensionsUsed",
            message,
            format!("add \"{NAME}\" to extensionsUsed"),
        );
    }
}
