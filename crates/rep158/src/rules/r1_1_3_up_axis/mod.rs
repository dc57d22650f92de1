//! The root layer sets `upAxis` to Z.

use urdf_usd_stage::text;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The root layer does not set upAxis to Z.",
    outcome: "Programs rotate the robot by 90°: y is up if the value is missing.",
    demand: "The stage `upAxis` must be \"Z\".",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let message = match subject.stage.metadata("upAxis").and_then(text) {
        Some("Z") => return,
        Some(other) => format!("upAxis is {other}, but in ROS z points up (REP 103)"),
        None => "upAxis is not set, so y points up".to_owned(),
    };
    findings.stage(
        message,
        "set upAxis = \"Z\" and rotate the asset: `urdf_usd fix` does both",
    );
}
