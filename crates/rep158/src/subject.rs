//! The input of the rules.

use urdf_usd_stage::Stage;

use super::Options;
use super::meshes::Meshes;
use super::physics::Physics;
use super::pictures::Pictures;
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
        }
    }

    /// Returns whether a path leads to a package whose folder is unknown, as there is no resolver.
    pub fn is_unknown(&self, path: &str) -> bool {
        path.starts_with("package://") && self.options.packages.is_none()
    }
}
