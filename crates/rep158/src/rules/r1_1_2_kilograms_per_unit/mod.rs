//! The root layer sets `kilogramsPerUnit` to 1.

use urdf_usd_stage::double;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The root layer does not set kilogramsPerUnit to 1.",
    outcome: "Programs may scale all masses, or assume another unit.",
    demand: "`kilogramsPerUnit` must be explicitly set to 1.0.",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let message = match subject.stage.metadata("kilogramsPerUnit").and_then(double) {
        Some(1.0) => return,
        Some(other) => format!("kilogramsPerUnit is {other}, so masses are not in kilograms"),
        None => "kilogramsPerUnit is not set".to_owned(),
    };
    findings.stage(
        message,
        "set kilogramsPerUnit = 1 and convert all masses: `urdf_usd fix` does both",
    );
}
