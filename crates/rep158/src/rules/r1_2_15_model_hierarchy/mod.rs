//! Every ancestor of a model is an assembly or a group.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A component, assembly or group stands in a prim that is no assembly or group.",
    outcome: "OpenUSD does not take it for a model, whatever its kind says.",
    demand: "Assets must adhere to the OpenUSD Model Hierarchy to ensure predictable selection and \
             traversal.",
    section: ("The Composition Model", "§1.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage.present() {
        let Some(kind @ ("component" | "assembly" | "group")) = prim.kind.as_deref() else {
            continue;
        };
        let gap = stage
            .ancestors(id)
            .find(|&above| !matches!(stage[above].kind.as_deref(), Some("assembly" | "group")));
        // Models within a component are left to REP158-1.2.6.
        if let Some(gap) = gap.filter(|_| {
            !stage
                .ancestors(id)
                .any(|above| stage[above].kind.as_deref() == Some("component"))
        }) {
            let message = format!(
                "{} is of kind {kind}, in {}, which is no assembly or group",
                prim.path, stage[gap].path
            );
            findings.prim(
                id,
                None,
                message,
                "give every prim above it the kind assembly or group",
            );
        }
    }
}
