//! Static props have colliders.

use urdf_usd_stage::Prim;

use super::{Findings, Subject, rule};
use crate::physics::{is_body, is_collider, is_visual};

rule! {
    severity: Error,
    meaning: "The asset has shapes, but neither bodies nor colliders.",
    outcome: "Other bodies fall and drive through the asset.",
    demand: "Fixed props must have PhysicsCollisionAPI.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    // A single layer of an asset, such as its geometry, is not a prop.
    let Some(root) = stage
        .default_prim
        .filter(|&id| stage[id].kind.as_deref() == Some("component"))
    else {
        return;
    };
    let is_physical = |prim: &Prim| prim.is_present() && (is_body(prim) || is_collider(prim));
    if stage.prims.iter().any(is_physical) || !stage.subtree(root).any(|id| is_visual(stage, id)) {
        return;
    }
    let message = format!(
        "{} has visible shapes, but neither colliders nor bodies",
        stage[root].path
    );
    findings.prim(
        root,
        None,
        message,
        "apply PhysicsCollisionAPI to its shapes, or add simpler shapes with it",
    );
}
