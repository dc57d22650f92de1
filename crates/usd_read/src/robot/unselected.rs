//! Variant sets without a selection.

use urdf_usd_stage::{Prim, Stage, VariantSet};

use super::scene::Scene;
use crate::codes;

/// Returns the variant sets that select none of their variants, with their prims.
fn unselected(stage: &Stage) -> impl Iterator<Item = (&Prim, &VariantSet)> {
    let prims = stage.prims.iter().filter(|prim| prim.instance.is_none());
    prims.flat_map(|prim| {
        let sets = prim.variant_sets.iter();
        sets.filter(|set| set.selection.is_none() && !set.variants.is_empty())
            .map(move |set| (prim, set))
    })
}

/// Returns the variants of a set as values of `--variant`.
fn choices(prim: &Prim, set: &VariantSet) -> String {
    format!("{}{{{}={}}}", prim.path, set.name, set.variants.join("|"))
}

/// Returns what an asset without a robot may hold in variants that are not selected; empty without such
/// variants.
pub fn hint(stage: &Stage) -> String {
    let sets: Vec<String> = unselected(stage)
        .map(|(prim, set)| choices(prim, set))
        .collect();
    if sets.is_empty() {
        return String::new();
    }
    format!(
        "; no variant is selected of {}: select one with --variant",
        sets.join(", ")
    )
}

/// Reports the variant sets that select none of their variants.
pub fn report(stage: &Stage, scene: &Scene<'_>) {
    for (prim, set) in unselected(stage) {
        let Some(id) = stage.at(&prim.path) else {
            continue;
        };
        scene.report(
            &codes::UNSELECTED,
            id,
            None,
            format!("the variant set {} selects none of its variants", set.name),
            &format!("select one with --variant \"{}\"", choices(prim, set)),
        );
    }
}
