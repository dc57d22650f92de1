//! That the default prim has a kind.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.2.14",
        severity: Severity::Error,
        meaning: "The kind of the default prim is neither component nor assembly nor group.",
        outcome: "Programs that place and select models do not take the asset for one.",
    },
    demand: "Individual distributable assets must have kind=\"component\" on their root prim; aggregates must have kind=\"assembly\" or kind=\"group\".",
    section: ("The Composition Model", "§1.2.2"),
    breaks: &[("robot.usda", Some("def Xform \"robot\" (\n    kind = \"subcomponent\"\n)\n{\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\" (\n    kind = \"component\"\n)\n{\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(root) = subject.stage.default_prim else { return };
    let prim = &subject.stage[root];
    let message = match prim.kind.as_deref() {
        Some("component" | "assembly" | "group") => return,
        Some(kind) => format!("{} is of kind {kind}, and is the default prim", prim.path),
        None => format!("the default prim {} has no kind", prim.path),
    };
    findings.prim(&RULE.code, root, None, message, "author kind = \"component\" for one robot or thing, and \"assembly\" for many");
}
