//! That lengths are metres.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::double;

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.1.1",
        severity: Severity::Error,
        meaning: "The root layer does not say that lengths are metres.",
        outcome: "Programs scale the robot, by 0.01 where nothing is said.",
    },
    demand: "`metersPerUnit` must be explicitly set to 1.0.",
    section: ("Coordinate Systems & Units", "§1.1"),
    breaks: &[("robot.usda", Some("#usda 1.0\n(\n    metersPerUnit = 0.01\n)\ndef Xform \"robot\"\n{\n}"))],
    keeps: &[("robot.usda", Some("#usda 1.0\n(\n    metersPerUnit = 1\n)\ndef Xform \"robot\"\n{\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let message = match subject.stage.metadata("metersPerUnit").and_then(double) {
        Some(1.0) => return,
        Some(other) => format!("metersPerUnit is {other}, so lengths are not in metres"),
        None => "metersPerUnit is not set, so a unit is 0.01 m".to_owned(),
    };
    findings.stage(&RULE.code, message, "set metersPerUnit = 1 and convert all lengths: `urdf_usd fix` does both");
}
