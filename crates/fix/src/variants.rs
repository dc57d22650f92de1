//! Variants: each is composed and mended by itself, and what differs is written as a variant.

use std::sync::Arc;

use urdf_usd_stage::VariantChoice;

use super::scene::{Scene, Variants};

/// Keeps what a scene is with another variant, for every prim that has the set and composes that
/// variant in it.
pub fn keep(scene: &mut Scene, choice: &VariantChoice, other: Scene) {
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
