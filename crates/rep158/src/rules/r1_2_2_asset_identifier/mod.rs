//! `assetInfo` of the default prim has an identifier.

use urdf_usd_stage::{Value, text};

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "assetInfo of the default prim has no identifier.",
    outcome: "Programs cannot distinguish the asset from others, nor recognise a copy of it.",
    demand: "All distributable assets must populate the assetInfo dictionary on the defaultPrim \
             with at minimum identifier and version: string assetInfo:identifier.",
    section: ("Asset Management", "§1.2.5"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(root) = subject.stage.default_prim else {
        return;
    };
    let prim = &subject.stage[root];
    let value = match prim.metadata.get("assetInfo") {
        Some(Value::Dictionary(entries)) => entries.get("identifier"),
        _ => None,
    };
    let message = match value.map(text) {
        None => format!("assetInfo of {} has no identifier", prim.path),
        Some(None) => format!(
            "the identifier in assetInfo of {} is not a string",
            prim.path
        ),
        Some(Some("")) => format!("the identifier in assetInfo of {} is empty", prim.path),
        Some(Some(_)) => return,
    };
    findings.prim(
        root,
        None,
        message,
        "author assetInfo:identifier on it: a name or URI that stays the same",
    );
}
