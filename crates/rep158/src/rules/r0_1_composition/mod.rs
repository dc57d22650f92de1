//! Every layer, arc and target of the asset resolves.

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A layer or the target of a composition arc is missing or cannot be read.",
    outcome: "Programs open the asset without that part, most of them without an error.",
    demand: "Assets must be self-contained: every layer, payload and reference they name must \
             exist (OpenUSD composition).",
    section: ("Asset Management", "§1.2.5"),
    keeps: ["robot.usda", "geometry.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for error in &subject.stage.errors {
        let layer = error.layer.as_ref().and_then(|name| {
            subject
                .stage
                .layers
                .iter()
                .position(|layer| layer.identifier == *name)
        });
        // An error without a layer is reported for the root layer.
        let path = error.path.clone().unwrap_or_default();
        let help = "put the missing file at its path, or correct the arc or relocate in this layer";
        findings.layer(LayerId(layer.unwrap_or(0)), path, &error.message, help);
    }
}
