//! Custom attributes of sensors have a vendor's namespace.

use super::{Findings, Subject, rule};
use crate::control;

rule! {
    severity: Warning,
    meaning: "A sensor has a custom attribute without a namespace.",
    outcome: "Simulators cannot know whose attribute it is, and may misread it.",
    demand: "Engine-specific behaviors of sensors must be authored exclusively via vendor-namespaced \
             custom attributes (e.g., isaac:, gazebo:).",
    section: ("Sensor Schemas", "§4.2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let sensors = subject
        .stage
        .present()
        .filter(|(_, prim)| control::sensor_schema(prim).is_some());
    for (id, prim) in sensors {
        let extras = prim
            .attributes
            .iter()
            .filter(|(name, attribute)| attribute.is_custom && !name.contains(':'));
        for (name, _) in extras {
            let message = format!(
                "the sensor {} has the custom attribute {name}, without a namespace",
                prim.path
            );
            let help = format!("rename it to VENDOR:{name}, such as gazebo:{name}");
            findings.prim(id, Some(name), message, help);
        }
    }
}
