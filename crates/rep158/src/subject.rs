//! The input of the rules.

use std::cell::OnceCell;

use urdf_usd_stage::Stage;

use super::Options;
use super::layers::{self, Item};
use super::meshes::Meshes;
use super::physics::Physics;
use super::pictures::Pictures;
use super::roles::engine_layers;
use super::shading::Shading;
use super::tree::Trees;

/// The composed asset, with the analyses that several rules share.
pub struct Subject<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// Its bodies and joints.
    pub physics: Physics,
    /// Its kinematic trees.
    pub trees: Trees,
    /// Its materials, textures and images.
    pub shading: Shading,
    /// A cache of the images that it names.
    pub pictures: Pictures,
    /// A cache of the surfaces of its meshes.
    pub meshes: Meshes,
    /// The options of the check.
    pub options: &'a Options,
    contents: OnceCell<Vec<Vec<Item>>>,
    engine_layers: OnceCell<Vec<bool>>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(stage: &'a Stage, options: &'a Options) -> Self {
        let physics = Physics::new(stage);
        Self {
            stage,
            trees: Trees::new(stage, &physics),
            physics,
            shading: Shading::new(stage),
            pictures: Pictures::default(),
            meshes: Meshes::default(),
            options,
            contents: OnceCell::new(),
            engine_layers: OnceCell::new(),
        }
    }

    /// Returns the first item of each kind of content in the layer with this index.
    pub fn contents(&self, layer: usize) -> &[Item] {
        let all = || self.stage.layers.iter().map(layers::contents).collect();
        let contents = self.contents.get_or_init(all).get(layer);
        contents.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns, for each layer, whether only a simulator's entry or variant includes it: the asset is
    /// complete without it.
    pub fn engine_layers(&self) -> &[bool] {
        self.engine_layers.get_or_init(|| engine_layers(self))
    }

    /// Returns whether a path leads to a package whose folder is unknown, as there is no resolver.
    pub fn is_unknown(&self, path: &str) -> bool {
        path.starts_with("package://") && self.options.packages.is_none()
    }
}
