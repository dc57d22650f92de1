//! That time is in seconds.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{double};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.1.5",
        severity: Severity::Error,
        meaning: "The root layer does not say that a time code is a second.",
        outcome: "Programs play recorded motions at another speed: 24 time codes are a second where nothing is said.",
    },
    demand: "`timeCodesPerSecond` must be set to 1.0.",
    section: ("Coordinate Systems & Units", "§1.1"),
    breaks: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    timeCodesPerSecond = 24\n)\n\ndef Xform \"robot\"\n{\n}"))],
    keeps: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    timeCodesPerSecond = 1\n)\n\ndef Xform \"robot\"\n{\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let of_stage = |key| subject.stage.metadata(key).and_then(double);
    // OpenUSD takes framesPerSecond where timeCodesPerSecond is not set.
    let message = match (of_stage("timeCodesPerSecond"), of_stage("framesPerSecond")) {
        (Some(1.0), _) => return,
        (Some(other), _) => format!("timeCodesPerSecond is {other}, so time samples are not in seconds"),
        (None, frames) => format!("timeCodesPerSecond is not set, so {} time codes are a second", frames.unwrap_or(24.0)),
    };
    findings.stage(&RULE.code, message, "set timeCodesPerSecond = 1 and convert the times of all samples");
}
