//! Visual variants have the names that REP-158 defines.

use urdf_usd_stage::{PrimId, Site, Stage};

use super::{Findings, Subject, rule};
use crate::physics::is_collider;

rule! {
    severity: Warning,
    meaning: "A variant set visual_representation has variants, a default or a place that REP-158 \
              does not define.",
    outcome: "Programs that choose a representation do not find it.",
    demand: "visual_representation has mesh_medium by default, and mesh_high, mesh_low and \
             volumetric_splat; colliders are not subject to it.",
    section: ("Visual Representation", "§1.3.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage.present().filter(|(_, prim)| prim.instance.is_none()) {
        let Some(set) = prim
            .variant_sets
            .iter()
            .find(|set| set.name == "visual_representation")
        else {
            continue;
        };
        let path = &prim.path;
        let unknown: Vec<&str> = set
            .variants
            .iter()
            .map(String::as_str)
            .filter(|name| !NAMES.contains(name))
            .collect();
        if !unknown.is_empty() {
            let message = format!(
                "visual_representation of {path} has the variant {}, which REP-158 does not define",
                unknown.join(", ")
            );
            findings.prim(
                id,
                None,
                message,
                format!("name its variants {}", NAMES.join(", ")),
            );
        }
        if !set.variants.iter().any(|name| name == NAMES[0]) {
            let message = format!(
                "visual_representation of {path} has no variant {}",
                NAMES[0]
            );
            findings.prim(id, None, message, "give it this variant and select it");
        } else if set.authored.as_deref().is_some_and(|name| name != NAMES[0]) {
            let selected = set.authored.as_deref().unwrap_or_default();
            let message = format!(
                "visual_representation of {path} is {selected} by default, not {}",
                NAMES[0]
            );
            findings.prim(id, None, message, format!("select {}", NAMES[0]));
        }
        let mut colliders = stage.subtree(id).filter(|&id| is_collider(&stage[id]));
        if let Some(collider) = colliders.find(|&collider| is_switched(stage, id, collider)) {
            let message = format!(
                "visual_representation of {path} also switches the collider {}",
                stage[collider].path
            );
            findings.prim(
                id,
                None,
                message,
                "put the variant set on the visual scope, and colliders elsewhere",
            );
        }
    }
}

/// Returns whether a variant set of `holder` authors a collider, or the arc that it comes from. A set on the
/// default prim that only selects variants of visuals has no opinion about colliders.
fn is_switched(stage: &Stage, holder: PrimId, collider: PrimId) -> bool {
    let is_inside = |site: &Site| site.path.contains("{visual_representation=");
    let chain = stage.self_and_ancestors(collider);
    let mut within = chain.take_while(|&id| id != holder);
    stage[collider].sites.iter().any(is_inside)
        || within.any(|id| stage[id].arcs.iter().any(|arc| is_inside(&arc.site)))
        || stage[holder].arcs.iter().any(|arc| is_inside(&arc.site))
}

/// The variants that REP-158 defines, the default first.
const NAMES: [&str; 4] = ["mesh_medium", "mesh_high", "mesh_low", "volumetric_splat"];
