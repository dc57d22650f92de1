//! That z points up.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{text};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.1.3",
        severity: Severity::Error,
        meaning: "The root layer does not say that z points up.",
        outcome: "Programs turn the robot by 90°: y points up where nothing is said.",
    },
    demand: "The stage `upAxis` must be \"Z\".",
    section: ("Coordinate Systems & Units", "§1.1"),
    breaks: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    upAxis = \"Y\"\n)\n\ndef Xform \"robot\"\n{\n}"))],
    keeps: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    upAxis = \"Z\"\n)\n\ndef Xform \"robot\"\n{\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let message = match subject.stage.metadata("upAxis").and_then(text) {
        Some("Z") => return,
        Some(other) => format!("upAxis is {other}, and in ROS z points up (REP 103)"),
        None => "upAxis is not set, so y points up".to_owned(),
    };
    findings.stage(&RULE.code, message, "set upAxis = \"Z\" and turn everything: `urdf_usd fix` does both");
}
