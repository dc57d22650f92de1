//! Variants: each is composed and mended by itself, and what differs is written as a variant.

use std::sync::Arc;

use urdf_usd_stage::{Stage, VariantChoice};

use super::scene::{Scene, Variants};

/// The variants that are not selected; those of sets of one name are taken together.
pub fn others(stage: &Stage, chosen: &[VariantChoice]) -> Vec<VariantChoice> {
    let mut others: Vec<VariantChoice> = Vec::new();
    for prim in stage.prims.iter().filter(|prim| prim.instance.is_none() && prim.is_present()) {
        for set in &prim.variant_sets {
            let is_settled = chosen
                .iter()
                .any(|choice| choice.set == set.name && choice.prim.as_ref().is_none_or(|path| *path == prim.path));
            for variant in set.variants.iter().filter(|variant| set.selection.as_ref() != Some(*variant) && !is_settled) {
                let choice = VariantChoice { prim: None, set: set.name.clone(), variant: variant.clone() };
                if !others.contains(&choice) {
                    others.push(choice);
                }
            }
        }
    }
    others
}

/// Keeps what a scene is with another variant, for every prim that has the set and composes that variant in it.
pub fn keep(scene: &mut Scene, choice: &VariantChoice, other: Scene) {
    let other = Arc::new(other);
    for (key, selection) in scene.selections.clone() {
        if key.1 == choice.set && other.selections.get(&key) == Some(&choice.variant) {
            let variants = scene.variants.entry(key).or_insert_with(|| Variants { selection, ..Variants::default() });
            variants.others.insert(choice.variant.clone(), Arc::clone(&other));
        }
    }
}
