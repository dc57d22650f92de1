//! Extended physics (REP-158 §4.2.2).

use urdf_usd_stage::{PrimId, Stage};

/// The types of joints that have one axis, and so one position.
pub const ONE_AXIS: &[&str] = &["PhysicsRevoluteJoint", "PhysicsPrismaticJoint"];

/// All prims that are to follow a joint.
pub fn mimics(stage: &Stage) -> impl Iterator<Item = PrimId> + '_ {
    stage.iter().filter(|(_, prim)| prim.is_present() && prim.has("ExtendedPhysicsMimicAPI")).map(|(id, _)| id)
}
