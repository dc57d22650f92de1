//! The extension is not listed in `extensionsRequired`.

use super::{Findings, Subject, rule};
use urdf_usd_gltf_extension::NAME;

rule! {
    severity: Warning,
    meaning: "The extension is listed in extensionsRequired, though the robot can be drawn without \
              it.",
    outcome: "Viewers that do not know the extension refuse the file.",
    demand: "It SHOULD NOT be listed in `extensionsRequired`.",
    section: ("Overview", "#overview"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    if let Some(place) = subject.listed_in("extensionsRequired") {
        let message = format!(
            "{NAME} is listed in extensionsRequired, though any viewer can draw the robot without it"
        );
        let help = format!("remove \"{NAME}\" from extensionsRequired");
        findings.report(format!("/extensionsRequired/{place}"), message, help);
    }
}
