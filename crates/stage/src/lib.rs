//! A composed OpenUSD stage as plain values: prims with their properties, layers, and composition
//! errors.
//!
//! [`Stage::open`] reads any asset (`.usd`, `.usda`, `.usdc`, `.usdz`) completely and then closes its
//! layers. A [`Stage`] can therefore be stored, sent to another thread and compared with another one,
//! and its users depend on `openusd` only for [`Value`].
//!
//! This crate must not depend on robots, REP-158 or any schema but those of transforms, and must not
//! panic on any file.

mod compose;
mod layer;
mod open;
mod places;
mod prim;
mod shallow;
mod shared;
mod tables;
mod transform;
pub mod usda;
mod value;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

pub use layer::{Layer, LayerId, LayerPrim, LayerProperty};
pub use open::{OpenError, Options, VariantChoice};
pub use openusd::sdf::Value;
pub use places::{LayerPlaces, Places};
pub use prim::{
    Arc, ArcKind, Attribute, Prim, PrimId, PrimMap, Properties, Relationship, Site, Specifier,
    VariantSet,
};
pub use shallow::{DEEPEST, asset_bytes, on_large_stack};
pub use shared::SharedValue;
pub use transform::{Factors, Local, Op, OpKind, XformStack, factor, joint_frame, rigid};
pub use value::{
    array_len, asset_paths, double, double_array, doubles, int_array, long_array, numbers, pairs,
    quaternions, text, texts, vectors,
};

/// A composed stage.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The file that was opened.
    pub entry: PathBuf,
    /// All layers that the composition used, the root layer first, without the session layer that
    /// selects [`Options::variants`].
    pub layers: Vec<Layer>,
    /// Every composed prim, also below instances, parents before their children, in the order of the
    /// stage.
    pub prims: Vec<Prim>,
    /// The default prim of the root layer, if it exists.
    pub default_prim: Option<PrimId>,
    /// Layers, arcs and targets that could not be composed.
    pub errors: Vec<CompositionError>,
    by_path: HashMap<String, PrimId>,
    /// The files of [`Options::files`].
    files: Option<std::sync::Arc<urdf_usd_resolve::Files>>,
    /// The basis of [`Stage::reopen`]; `None` if no prim has variants.
    composition: Option<std::sync::Arc<open::Basis>>,
}

/// A composition error. The rest of the stage is not affected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompositionError {
    /// The description, without the layer.
    pub message: String,
    /// The layer with the opinion that could not be composed.
    pub layer: Option<String>,
    /// The path of the prim or property.
    pub path: Option<String>,
}

impl Stage {
    /// Returns the id of the prim at a path.
    pub fn at(&self, path: &str) -> Option<PrimId> {
        self.by_path.get(path).copied()
    }

    /// Returns the prim at a path.
    pub fn prim_at(&self, path: &str) -> Option<&Prim> {
        self.at(path).map(|id| &self[id])
    }

    /// Reads a file that a property names, at a path that [`asset_paths`] has resolved.
    ///
    /// # Errors
    /// As [`asset_bytes`], and if [`Options::files`] does not permit the file.
    pub fn bytes(&self, resolved_path: &str) -> std::io::Result<Vec<u8>> {
        shallow::bytes_within(self.files.as_ref(), resolved_path)
    }

    /// Iterates over all prims with their ids.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (PrimId, &Prim)> {
        self.prims
            .iter()
            .enumerate()
            .map(|(index, prim)| (PrimId(index), prim))
    }

    /// Returns the present prims ([`Prim::is_present`]) with their ids.
    pub fn present(&self) -> impl Iterator<Item = (PrimId, &Prim)> {
        self.iter().filter(|(_, prim)| prim.is_present())
    }

    /// Returns the present prims with an applied schema.
    pub fn present_with(&self, schema: &str) -> impl Iterator<Item = (PrimId, &Prim)> {
        self.present().filter(move |(_, prim)| prim.has(schema))
    }

    /// Iterates over the ancestors of a prim, the nearest first.
    pub fn ancestors(&self, id: PrimId) -> impl Iterator<Item = PrimId> {
        std::iter::successors(self[id].parent, |&above| self[above].parent)
    }

    /// Returns a prim and those above it, the nearest first.
    pub fn self_and_ancestors(&self, id: PrimId) -> impl Iterator<Item = PrimId> {
        std::iter::successors(Some(id), |&id| self[id].parent)
    }

    /// Iterates over a prim and its descendants, parents before their children.
    pub fn subtree(&self, id: PrimId) -> impl Iterator<Item = PrimId> {
        let mut stack = vec![id];
        std::iter::from_fn(move || {
            let id = stack.pop()?;
            stack.extend(self[id].children.iter().rev());
            Some(id)
        })
    }

    /// Returns the root layer.
    pub fn root_layer(&self) -> Option<&Layer> {
        self.layers.first()
    }

    /// Returns a value of the root layer's metadata, such as `metersPerUnit`.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.root_layer()?.metadata.get(key)
    }

    /// Returns the metres per unit of length, 0.01 if the root layer does not set them
    /// (UsdGeomLinearUnits).
    pub fn meters_per_unit(&self) -> f64 {
        self.metadata("metersPerUnit")
            .and_then(double)
            .filter(|unit| *unit > 0.0 && unit.is_finite())
            .unwrap_or(0.01)
    }

    /// Returns the kilograms per unit of mass, 1 if the root layer does not set them
    /// (UsdPhysicsMassUnits).
    pub fn kilograms_per_unit(&self) -> f64 {
        self.metadata("kilogramsPerUnit")
            .and_then(double)
            .filter(|unit| *unit > 0.0 && unit.is_finite())
            .unwrap_or(1.0)
    }

    /// Whether the up axis is z; the default is y.
    pub fn is_z_up(&self) -> bool {
        self.metadata("upAxis").and_then(text) == Some("Z")
    }

    /// Returns all variant sets of the composed prims, as path, set and variants.
    pub fn variants(&self) -> BTreeSet<(String, String, Vec<String>)> {
        let sets = self.prims.iter().filter(|prim| prim.instance.is_none());
        sets.flat_map(|prim| {
            prim.variant_sets
                .iter()
                .map(|set| (prim.path.clone(), set.name.clone(), set.variants.clone()))
        })
        .collect()
    }

    /// Returns the variants that are neither composed nor of a set in `chosen`, to be composed in turn.
    ///
    /// A choice applies to all prims with a set of the same name: an asset may have one on every link.
    pub fn other_variants(&self, chosen: &[VariantChoice]) -> Vec<VariantChoice> {
        let mut others: Vec<VariantChoice> = Vec::new();
        for prim in self.prims.iter().filter(|prim| prim.instance.is_none()) {
            for set in &prim.variant_sets {
                let is_here = |choice: &VariantChoice| {
                    choice.prim.as_ref().is_none_or(|path| *path == prim.path)
                };
                if chosen
                    .iter()
                    .any(|choice| choice.set == set.name && is_here(choice))
                {
                    continue;
                }
                for variant in set
                    .variants
                    .iter()
                    .filter(|variant| set.selection.as_ref() != Some(*variant))
                {
                    let choice = VariantChoice {
                        prim: None,
                        set: set.name.clone(),
                        variant: variant.clone(),
                    };
                    if !others.contains(&choice) {
                        others.push(choice);
                    }
                }
            }
        }
        others
    }
}

impl std::ops::Index<PrimId> for Stage {
    type Output = Prim;

    #[allow(
        clippy::indexing_slicing,
        reason = "only a stage makes the ids of its prims"
    )]
    fn index(&self, id: PrimId) -> &Prim {
        &self.prims[id.0]
    }
}

impl std::ops::Index<LayerId> for Stage {
    type Output = Layer;

    #[allow(
        clippy::indexing_slicing,
        reason = "ids of layers are indices into the list of layers"
    )]
    fn index(&self, id: LayerId) -> &Layer {
        &self.layers[id.0]
    }
}
