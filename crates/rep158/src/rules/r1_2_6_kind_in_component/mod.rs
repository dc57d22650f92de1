//! Components contain no other models.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A prim in a component is itself a component, an assembly or a group.",
    outcome: "Programs that list models stop at the first component, and never see the model in \
              it.",
    demand: "Assets must adhere to the OpenUSD Model Hierarchy: individual assets are components; \
             subcomponent is for what is in them.",
    section: ("The Composition Model", "§1.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage.present() {
        let Some(kind @ ("component" | "assembly" | "group")) = prim.kind.as_deref() else {
            continue;
        };
        if let Some(above) = stage
            .ancestors(id)
            .find(|&above| stage[above].kind.as_deref() == Some("component"))
        {
            let message = format!(
                "{} has the kind {kind}, but is inside of the component {}",
                prim.path, stage[above].path
            );
            findings.prim(
                id,
                None,
                message,
                "make it a subcomponent, or the outer prim an assembly",
            );
        }
    }
}
