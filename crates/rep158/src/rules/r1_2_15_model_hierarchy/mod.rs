//! Every ancestor of a model is an assembly or a group.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A component, assembly or group is below a prim that is neither an assembly nor a \
              group.",
    outcome: "OpenUSD does not treat it as a model, whatever its kind is.",
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
                "{} has the kind {kind}, but {} above it is neither an assembly nor a group",
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
