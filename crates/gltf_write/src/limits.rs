//! Limits of joints and of their degrees of freedom.

use super::numbers::finite;
use crate::json::limit::Limit;
use urdf_usd_robot::{self as robot, JointKind};

impl Limit {
    /// All that is finite of `limit`.
    pub fn of(limit: &robot::Limit) -> Self {
        let (lower, upper) = limit.bounds.sides();
        Self {
            lower,
            upper,
            velocity: finite(limit.velocity),
            effort: finite(limit.effort),
        }
    }
}

/// The limits of each of a joint's degrees of freedom.
pub fn limit(joint: &robot::Joint) -> Option<Limit> {
    let limit = joint.limit.filter(|_| limits_its_dofs(joint.kind()))?;
    Some(Limit::of(&robot::Limit {
        bounds: joint.bounds(),
        ..limit
    }))
    .filter(|limit| *limit != Limit::default())
}

/// Whether URDF's one limit of a joint holds for each of its degrees of freedom: those of a
/// floating joint have different units.
pub fn limits_its_dofs(kind: JointKind) -> bool {
    !matches!(kind, JointKind::Fixed | JointKind::Floating)
}
