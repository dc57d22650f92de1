//! Variants: each is composed and fixed separately, and the differences are written as variants.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use urdf_usd_stage::{OpenError, PrimId, Stage, VariantChoice};

use super::notes::Notes;
use super::scene::{Scene, Variants};

/// Adds the scene of another variant, for every prim whose set has this variant selected in it.
pub fn add(scene: &mut Scene, choice: &VariantChoice, other: Scene, notes: &mut Notes) {
    for (path, set) in other.selections.keys() {
        if !scene.selections.contains_key(&(path.clone(), set.clone())) {
            notes.lost(
                path,
                format!("the variant set {set}, which exists only with {choice}, becomes its selected variant"),
                format!("fix the asset with --variant {choice} as well, or move the set to where all variants have it"),
            );
        }
    }
    let other = Arc::new(other);
    for (key, selection) in scene.selections.clone() {
        if key.1 == choice.set && other.selections.get(&key) == Some(&choice.variant) {
            let variants = scene.variants.entry(key).or_insert_with(|| Variants {
                selection,
                ..Variants::default()
            });
            variants
                .others
                .insert(choice.variant.clone(), Arc::clone(&other));
        }
    }
}

/// Adds to each variant set the selections that its variants make for sets below: a set of the default prim
/// may choose for the whole robot. `reopen` composes the asset with one choice.
///
/// # Errors
/// If the asset cannot be opened again.
pub fn add_selections(
    scene: &mut Scene,
    stage: &Stage,
    reopen: impl Fn(VariantChoice) -> Result<Stage, OpenError>,
) -> Result<(), OpenError> {
    // Sets that only some variants have are not written.
    let written: HashSet<(String, String)> = scene.variants.keys().cloned().collect();
    for (id, prim) in stage.iter() {
        let has_sets = |below: PrimId| below != id && !stage[below].variant_sets.is_empty();
        if prim.variant_sets.is_empty() || !stage.subtree(id).any(has_sets) {
            continue;
        }
        for set in &prim.variant_sets {
            if !may_select(stage, &set.name) {
                continue;
            }
            let key = (prim.path.clone(), set.name.clone());
            let Some(variants) = scene.variants.get_mut(&key) else {
                continue;
            };
            for variant in &set.variants {
                let choice = VariantChoice {
                    prim: Some(prim.path.clone()),
                    set: set.name.clone(),
                    variant: variant.clone(),
                };
                let mut selections = selections(&reopen(choice)?);
                selections.retain(|below, _| *below != key && written.contains(below));
                variants.selects.insert(variant.clone(), selections);
            }
            let all: Vec<_> = variants.selects.values().cloned().collect();
            let is_same = |key: &(String, String)| {
                let mut each = all.iter().map(|selections| selections.get(key));
                each.next()
                    .is_none_or(|first| each.all(|other| other == first))
            };
            for selections in variants.selects.values_mut() {
                selections.retain(|key, _| !is_same(key));
            }
        }
    }
    Ok(())
}

/// Returns whether variants of a set select variants, or have arcs to what may do so. Composing the asset
/// with each of them takes about as long as opening it.
fn may_select(stage: &Stage, set: &str) -> bool {
    let inside = format!("{{{set}=");
    let mut prims = stage.layers.iter().flat_map(|layer| layer.prims.iter());
    prims.any(|prim| {
        prim.path.contains(&inside) && !(prim.selections.is_empty() && prim.arcs.is_empty())
    })
}

/// Returns the selected variants of a stage, by path of the prim and name of the set.
fn selections(stage: &Stage) -> BTreeMap<(String, String), String> {
    let prims = stage.prims.iter().filter(|prim| prim.instance.is_none());
    let sets = prims.flat_map(|prim| prim.variant_sets.iter().map(move |set| (prim, set)));
    sets.filter_map(|(prim, set)| {
        let key = (prim.path.clone(), set.name.clone());
        Some((key, set.selection.clone()?))
    })
    .collect()
}
