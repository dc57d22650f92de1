//! That the root layer names its default prim.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{text};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.2.1",
        severity: Severity::Error,
        meaning: "The root layer names no default prim, or one that is not there.",
        outcome: "Who references the asset without a path gets nothing, and its payloads are empty without a word.",
    },
    demand: "All distributable assets must set `defaultPrim` metadata on the root layer, pointing to the asset's primary entrypoint prim.",
    section: ("Asset Management", "§1.2.5"),
    breaks: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"arm\"\n)\n\ndef Xform \"robot\"\n{\n}"))],
    keeps: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n)\n\ndef Xform \"robot\"\n{\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    if subject.stage.default_prim.is_some() {
        return;
    }
    let message = match subject.stage.metadata("defaultPrim").and_then(text) {
        Some(name) => format!("defaultPrim is {name}, and there is no such prim"),
        None => "defaultPrim is not set".to_owned(),
    };
    findings.stage(&RULE.code, message, "set defaultPrim to the name of the prim that holds the robot");
}
