//! What the rules look at.

use urdf_usd_stage::Stage;

use super::Options;
use super::meshes::Meshes;
use super::physics::Physics;
<<<<<<< HEAD
use super::tree::Trees;
=======
use super::pictures::Pictures;
use super::shading::Shading;
>>>>>>> rules3

/// The composed asset, and what of it several rules ask.
pub struct Subject<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// Its bodies and joints.
    pub physics: Physics,
<<<<<<< HEAD
    /// Which of the bodies hang together.
    pub trees: Trees,
=======
    /// Its materials and what they show.
    pub shading: Shading,
    /// The images that it names.
    pub pictures: Pictures,
    /// The surfaces of its meshes.
    pub meshes: Meshes,
>>>>>>> rules3
    /// What the caller knows beside the asset.
    pub options: &'a Options,
}

impl<'a> Subject<'a> {
    pub(super) fn of(stage: &'a Stage, options: &'a Options) -> Self {
<<<<<<< HEAD
        let physics = Physics::of(stage);
        Self { stage, trees: Trees::of(stage, &physics), physics, options }
=======
        Self {
            stage,
            physics: Physics::of(stage),
            shading: Shading::of(stage),
            pictures: Pictures::default(),
            meshes: Meshes::default(),
            options,
        }
>>>>>>> rules3
    }
}
