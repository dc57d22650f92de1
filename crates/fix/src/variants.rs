//! Variants: each is composed and fixed separately, and the differences are written as variants.

use std::sync::Arc;

use urdf_usd_stage::VariantChoice;

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
