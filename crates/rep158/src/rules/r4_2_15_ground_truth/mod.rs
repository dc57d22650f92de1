//! Sensors do not provide ground truth.

use super::{Findings, Subject, rule};
use crate::control;

rule! {
    severity: Error,
    meaning: "A sensor has attributes for ground truth, which only a simulator knows.",
    outcome: "Software that is tested with it fails on the real robot.",
    demand: "Ground truth (e.g. semantic segmentation, bounding boxes) must not be bundled into \
             sensor schemas, but be asked for by annotator schemas.",
    section: ("Sensor Schemas", "§4.2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject
        .stage
        .present()
        .filter(|(_, prim)| control::sensor_schema(prim).is_some())
    {
        for name in prim
            .attributes
            .keys()
            .filter(|name| name.starts_with("sensor"))
        {
            let plain = name.to_lowercase().replace('_', "");
            if let Some(word) = TRUTHS.iter().find(|word| plain.contains(*word)) {
                let message = format!(
                    "the sensor {} has {name}, which a real sensor cannot measure ({word})",
                    prim.path
                );
                findings.prim(
                    id,
                    Some(name),
                    message,
                    "move it to a separate prim with an annotator schema",
                );
            }
        }
    }
}

/// Parts of attribute names that denote ground truth.
const TRUTHS: [&str; 4] = ["semantic", "segmentation", "boundingbox", "groundtruth"];
