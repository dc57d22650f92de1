//! The default prim has the kind component, assembly or group.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The kind of the default prim is neither component nor assembly nor group.",
    outcome: "Programs that select and place models do not recognise the asset as a model.",
    demand: "Individual distributable assets must have kind=\"component\" on their root prim; \
             aggregates must have kind=\"assembly\" or kind=\"group\".",
    section: ("The Composition Model", "§1.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(root) = subject.stage.default_prim else {
        return;
    };
    let prim = &subject.stage[root];
    let message = match prim.kind.as_deref() {
        Some("component" | "assembly" | "group") => return,
        Some(kind) => format!("the default prim {} has the kind {kind}", prim.path),
        None => format!("the default prim {} has no kind", prim.path),
    };
    findings.prim(
        root,
        None,
        message,
        "author kind = \"component\" for a single robot or object, \"assembly\" for several",
    );
}
