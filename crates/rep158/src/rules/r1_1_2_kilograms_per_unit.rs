//! That masses are kilograms.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{double};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.1.2",
        severity: Severity::Error,
        meaning: "The root layer does not say that masses are kilograms.",
        outcome: "Programs may scale all masses, or take another unit.",
    },
    demand: "`kilogramsPerUnit` must be explicitly set to 1.0.",
    section: ("Coordinate Systems & Units", "§1.1"),
    breaks: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    metersPerUnit = 1\n)\n\ndef Xform \"robot\"\n{\n}"))],
    keeps: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    kilogramsPerUnit = 1\n)\n\ndef Xform \"robot\"\n{\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let message = match subject.stage.metadata("kilogramsPerUnit").and_then(double) {
        Some(1.0) => return,
        Some(other) => format!("kilogramsPerUnit is {other}, so masses are not in kilograms"),
        None => "kilogramsPerUnit is not set".to_owned(),
    };
    findings.stage(&RULE.code, message, "set kilogramsPerUnit = 1 and convert all masses: `urdf_usd fix` does both");
}
