//! The root layer names an existing default prim.

use urdf_usd_stage::text;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The root layer names no default prim, or one that does not exist.",
    outcome: "A reference or payload to the asset without a prim path composes nothing, without an \
              error.",
    demand: "All distributable assets must set `defaultPrim` metadata on the root layer, pointing \
             to the asset's primary entrypoint prim.",
    section: ("Asset Management", "§1.2.5"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    if subject.stage.default_prim.is_some() {
        return;
    }
    let message = match subject.stage.metadata("defaultPrim").and_then(text) {
        Some(name) => format!("defaultPrim is {name}, but no such prim exists"),
        None => "defaultPrim is not set".to_owned(),
    };
    findings.stage(
        message,
        "set defaultPrim to the name of the prim that holds the robot",
    );
}
