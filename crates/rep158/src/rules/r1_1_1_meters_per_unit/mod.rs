//! The root layer sets `metersPerUnit` to 1.

use urdf_usd_stage::double;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The root layer does not set metersPerUnit to 1.",
    outcome: "Programs scale the robot: by 0.01 if the value is missing.",
    demand: "`metersPerUnit` must be explicitly set to 1.0.",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let message = match subject.stage.metadata("metersPerUnit").and_then(double) {
        Some(1.0) => return,
        Some(other) => format!("metersPerUnit is {other}, so lengths are not in metres"),
        None => "metersPerUnit is not set, so a unit is 0.01 m".to_owned(),
    };
    findings.stage(
        message,
        "set metersPerUnit = 1 and convert all lengths: `urdf_usd fix` does both",
    );
}
