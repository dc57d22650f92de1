//! What the rules look at.

use urdf_usd_stage::Stage;

use super::Options;
use super::meshes::Meshes;
use super::physics::Physics;
use super::pictures::Pictures;
use super::shading::Shading;
use super::tree::Trees;

/// The composed asset, and what of it several rules ask.
pub struct Subject<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// Its bodies and joints.
    pub physics: Physics,
    /// Which of the bodies hang together.
    pub trees: Trees,
    /// Its materials and what they show.
    pub shading: Shading,
    /// The images that it names.
    pub pictures: Pictures,
    /// The surfaces of its meshes.
    pub meshes: Meshes,
    /// What the caller knows beside the asset.
    pub options: &'a Options,
}

impl<'a> Subject<'a> {
    pub(super) fn of(stage: &'a Stage, options: &'a Options) -> Self {
        let physics = Physics::of(stage);
        Self {
            stage,
            trees: Trees::of(stage, &physics),
            physics,
            shading: Shading::of(stage),
            pictures: Pictures::default(),
            meshes: Meshes::default(),
            options,
        }
    }
}
