//! All layers have the units and the up axis of the root layer.

use urdf_usd_stage::{LayerId, double, text};

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A layer has other units or another up axis than the root layer.",
    outcome: "OpenUSD does not convert between layers: the contents of this layer have the wrong \
              size or lie on their side.",
    demand: "All upstream units must be baked into geometry and physics. Simulators are entitled \
             to assume 1.0 scaling.",
    section: ("Coordinate Systems & Units", "§1.1"),
    breaks: ["robot.usda", "part.usda"],
    keeps: ["robot.usda", "part.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate().skip(1) {
        for (key, demanded) in [
            ("metersPerUnit", 1.0),
            ("kilogramsPerUnit", 1.0),
            ("timeCodesPerSecond", 1.0),
        ] {
            let root_value = subject
                .stage
                .metadata(key)
                .and_then(double)
                .unwrap_or(demanded);
            if let Some(unit) = layer
                .metadata
                .get(key)
                .and_then(double)
                .filter(|unit| *unit != root_value)
            {
                let message = format!(
                    "{key} is {unit} in {}, but {root_value} in the root layer",
                    layer.file_name()
                );
                let help = format!(
                    "convert the contents of the layer, and set {key} = {root_value} there"
                );
                findings.layer(LayerId(index), "", message, help);
            }
        }
        let root_value = subject
            .stage
            .metadata("upAxis")
            .and_then(text)
            .unwrap_or("Z");
        if let Some(axis) = layer
            .metadata
            .get("upAxis")
            .and_then(text)
            .filter(|axis| *axis != root_value)
        {
            let message = format!(
                "upAxis is {axis} in {}, but {root_value} in the root layer",
                layer.file_name()
            );
            let help = format!(
                "rotate the contents of the layer, and set upAxis = \"{root_value}\" there"
            );
            findings.layer(LayerId(index), "", message, help);
        }
    }
}
