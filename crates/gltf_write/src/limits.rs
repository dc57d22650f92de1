//! Limits of joints and of their degrees of freedom.

use super::numbers::finite;
use crate::json::limit::Limit;
use urdf_usd_robot::{self as robot, JointKind};

impl Limit {
    /// Returns the finite values of `limit`.
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

/// Returns the limits that apply to each degree of freedom of a joint.
pub fn limit(joint: &robot::Joint) -> Option<Limit> {
    let limit = joint.limit.filter(|_| limits_its_dofs(joint.kind()))?;
    Some(Limit::of(&robot::Limit {
        bounds: joint.bounds(),
        ..limit
    }))
    .filter(|limit| *limit != Limit::default())
}

/// Returns whether the limit of a URDF joint applies to each of its degrees of freedom. It does not
/// for floating joints, whose degrees of freedom have different units.
pub fn limits_its_dofs(kind: JointKind) -> bool {
    !matches!(kind, JointKind::Fixed | JointKind::Floating)
}
