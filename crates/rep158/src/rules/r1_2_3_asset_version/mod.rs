//! `assetInfo` of the default prim has a version.

use urdf_usd_stage::{Value, text};

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "assetInfo of the default prim has no version.",
    outcome: "A scene does not show which version of the asset it uses.",
    demand: "All distributable assets must populate the assetInfo dictionary on the defaultPrim \
             with at minimum identifier and version: string assetInfo:version.",
    section: ("Asset Management", "§1.2.5"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(root) = subject.stage.default_prim else {
        return;
    };
    let prim = &subject.stage[root];
    let value = match prim.metadata.get("assetInfo") {
        Some(Value::Dictionary(entries)) => entries.get("version"),
        _ => None,
    };
    let message = match value.map(text) {
        None => format!("assetInfo of {} has no version", prim.path),
        Some(None) => format!("the version in assetInfo of {} is not a string", prim.path),
        Some(Some("")) => format!("the version in assetInfo of {} is empty", prim.path),
        Some(Some(_)) => return,
    };
    findings.prim(
        root,
        None,
        message,
        "author assetInfo:version on it, such as \"1.0.0\"",
    );
}
