//! What the rules look at.

use urdf_usd_stage::Stage;

use super::Options;
use super::physics::Physics;

/// The composed asset, and what of it several rules ask.
pub struct Subject<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// Its bodies and joints.
    pub physics: Physics,
    /// What the caller knows beside the asset.
    pub options: &'a Options,
}

impl<'a> Subject<'a> {
    pub(super) fn of(stage: &'a Stage, options: &'a Options) -> Self {
        Self { stage, physics: Physics::of(stage), options }
    }
}
