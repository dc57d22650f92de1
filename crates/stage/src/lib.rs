//! A composed OpenUSD stage as plain values: its prims with their properties, its layers, and what
//! went wrong while composing.
//!
//! [`Stage::open`] reads any asset once (`.usd`, `.usda`, `.usdc`, `.usdz`) and lets go of the
//! library that read it. So a [`Stage`] can be kept, sent to another thread and compared with
//! another one, and whoever looks at it need not know `openusd` but for [`Value`].
//!
//! This module must not know robots, REP-158 or any schema but those of transforms; nothing in a
//! file makes it panic.

mod census;
mod layer;
mod lex;
mod open;
mod places;
mod prim;
mod shallow;
mod shared;
mod tables;
mod transform;
mod value;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

pub use layer::{Layer, LayerId, LayerPrim, LayerProperty};
pub use open::{OpenError, Options, VariantChoice};
pub use openusd::sdf::Value;
pub use places::{LayerPlaces, Places};
pub use prim::{
    Arc, ArcKind, Attribute, Prim, PrimId, PrimMap, Relationship, Site, Specifier, VariantSet,
};
pub use shallow::{DEEPEST, Shallow, asset_bytes, on_large_stack};
pub use shared::SharedValue;
pub use transform::{Local, Op, OpKind, XformStack, rigid};
pub use value::{
    array_len, asset_paths, double, double_array, doubles, int_array, long_array, numbers, pairs,
    quaternions, text, texts, vectors,
};

/// A stage, composed and read.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The file that was opened.
    pub entry: PathBuf,
    /// All layers that the composition used, the root layer first, without the one that holds
    /// [`Options::variants`].
    pub layers: Vec<Layer>,
    /// Every composed prim, parents before their children, in the order of the stage; prims below
    /// an instance too.
    pub prims: Vec<Prim>,
    /// The prim that the root layer names as its default prim, if it names one that exists.
    pub default_prim: Option<PrimId>,
    /// What could not be composed: layers, arcs and targets that are missing or broken.
    pub errors: Vec<CompositionError>,
    by_path: HashMap<String, PrimId>,
    /// Of [`Options::files`].
    files: Option<std::sync::Arc<urdf_usd_resolve::Files>>,
}

/// Something that could not be composed. The rest of the stage stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompositionError {
    /// What is wrong, without the layer that says it.
    pub message: String,
    /// The layer that asks for what is not there, if one does.
    pub layer: Option<String>,
    /// The prim or property, as far as one is concerned.
    pub path: Option<String>,
}

impl Stage {
    /// The prim at a path.
    pub fn at(&self, path: &str) -> Option<PrimId> {
        self.by_path.get(path).copied()
    }

    /// The prim at a path.
    pub fn prim_at(&self, path: &str) -> Option<&Prim> {
        self.at(path).map(|id| &self[id])
    }

    /// The bytes of a file that a property names, at a path as [`asset_paths`] has it resolved;
    /// only of files that [`Options::files`] lets through.
    ///
    /// # Errors
    /// Those of [`asset_bytes`], and if the file may not be read.
    pub fn bytes(&self, resolved_path: &str) -> std::io::Result<Vec<u8>> {
        shallow::bytes_within(self.files.as_ref(), resolved_path)
    }

    /// All prims with their ids.
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

    /// The prims above one, the nearest first.
    pub fn ancestors(&self, id: PrimId) -> impl Iterator<Item = PrimId> {
        std::iter::successors(self[id].parent, |&above| self[above].parent)
    }

    /// Returns a prim and those above it, the nearest first.
    pub fn self_and_ancestors(&self, id: PrimId) -> impl Iterator<Item = PrimId> {
        std::iter::successors(Some(id), |&id| self[id].parent)
    }

    /// A prim and all below it, parents before their children.
    pub fn subtree(&self, id: PrimId) -> impl Iterator<Item = PrimId> {
        let mut stack = vec![id];
        std::iter::from_fn(move || {
            let id = stack.pop()?;
            stack.extend(self[id].children.iter().rev());
            Some(id)
        })
    }

    /// The root layer.
    pub fn root_layer(&self) -> Option<&Layer> {
        self.layers.first()
    }

    /// A value of the root layer's metadata, such as `metersPerUnit`.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.root_layer()?.metadata.get(key)
    }

    /// Metres in a unit of length, 0.01 where the root layer says nothing (UsdGeomLinearUnits).
    pub fn meters_per_unit(&self) -> f64 {
        self.metadata("metersPerUnit")
            .and_then(double)
            .filter(|unit| *unit > 0.0 && unit.is_finite())
            .unwrap_or(0.01)
    }

    /// Kilograms in a unit of mass, 1 where the root layer says nothing (UsdPhysicsMassUnits).
    pub fn kilograms_per_unit(&self) -> f64 {
        self.metadata("kilogramsPerUnit")
            .and_then(double)
            .filter(|unit| *unit > 0.0 && unit.is_finite())
            .unwrap_or(1.0)
    }

    /// Whether z points up; y does where the root layer says nothing.
    pub fn is_z_up(&self) -> bool {
        self.metadata("upAxis").and_then(text) == Some("Z")
    }

    /// The names of all variant sets and variants of the composed prims: path, set, variants.
    pub fn variants(&self) -> BTreeSet<(String, String, Vec<String>)> {
        let sets = self.prims.iter().filter(|prim| prim.instance.is_none());
        sets.flat_map(|prim| {
            prim.variant_sets
                .iter()
                .map(|set| (prim.path.clone(), set.name.clone(), set.variants.clone()))
        })
        .collect()
    }

    /// The variants that are neither composed nor of a set that `chosen` settles, to be composed
    /// one after the other. Those of sets of one name, as an asset has on every link, are taken
    /// together.
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
        reason = "whoever makes an id of a layer has it from the list of layers"
    )]
    fn index(&self, id: LayerId) -> &Layer {
        &self.layers[id.0]
    }
}
