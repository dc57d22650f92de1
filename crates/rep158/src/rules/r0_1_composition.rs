//! That the asset composes.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::LayerId;

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-0.1",
        severity: Severity::Error,
        meaning: "A layer, an arc or a target is missing or can't be read.",
        outcome: "Programs open the asset without a part of it, most of them silently.",
    },
    demand: "Assets must be self-contained: every layer, payload and reference they name must be there (OpenUSD composition).",
    section: ("Asset Management", "§1.2.5"),
    breaks: &[("robot.usda", Some("def Xform \"robot\" (\n    payload = @geometry.usda@\n)\n{\n}"))],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\" (\n    payload = @geometry.usda@\n)\n{\n}")),
        ("geometry.usda", Some("def Xform \"robot\"\n{\n}")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for error in &subject.stage.errors {
        let layer = error.layer.as_ref().and_then(|name| subject.stage.layers.iter().position(|layer| layer.identifier == *name));
        let path = error.path.clone().unwrap_or_default();
        let help = "put the file where the path leads, or correct the path";
        findings.layer(&RULE.code, LayerId(layer.unwrap_or(0)), path, &error.message, help);
    }
}
