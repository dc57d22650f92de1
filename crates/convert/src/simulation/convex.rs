//! Distances between convex shapes: the algorithm of Gilbert, Johnson and Keerthi (1988), in the crate
//! parry3d.

use nalgebra::{Isometry3, Vector3};
use parry3d_f64::math::{Pose, Rotation, Vector};
use parry3d_f64::query::gjk::{CsoPoint, GJKResult, VoronoiSimplex, closest_points};
use parry3d_f64::shape::SupportMap;
use urdf_usd_robot::Geometry;

/// A convex shape about its own origin. Lengths in metres.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Convex {
    /// Half the edge lengths along x, y, z.
    Box(Vector3<f64>),
    /// A ball.
    Ball {
        /// Radius.
        radius: f64,
    },
    /// A cylinder along z.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half the length.
        half: f64,
    },
    /// A cylinder along z with hemispherical caps.
    Capsule {
        /// Radius.
        radius: f64,
        /// Half the length without caps.
        half: f64,
    },
    /// The convex hull of points; at least one.
    Hull(Vec<Vector3<f64>>),
}

impl Convex {
    /// Returns the shape of a box, cylinder, sphere or capsule; `None` for a mesh.
    pub(super) fn of_primitive(geometry: &Geometry) -> Option<Self> {
        Some(match *geometry {
            Geometry::Box { size } => Self::Box(size.abs() / 2.0),
            Geometry::Sphere { radius } => Self::Ball { radius },
            Geometry::Cylinder { radius, length } => Self::Cylinder {
                radius,
                half: length / 2.0,
            },
            Geometry::Capsule { radius, length } => Self::Capsule {
                radius,
                half: length / 2.0,
            },
            Geometry::Mesh { .. } | Geometry::Missing { .. } => return None,
        })
    }

    /// Returns the radius of the bounding ball about the origin, in metres.
    pub(super) fn bounding_radius(&self) -> f64 {
        match self {
            Self::Box(half) => half.norm(),
            Self::Ball { radius } => *radius,
            Self::Cylinder { radius, half } => radius.hypot(*half),
            Self::Capsule { radius, half } => radius + half,
            Self::Hull(points) => points.iter().map(Vector3::norm).fold(0.0, f64::max),
        }
    }

    /// Returns whether the distance to `other`, whose pose in this shape's frame is `pose`, is at most
    /// `limit`, in metres. Shapes that overlap have the distance 0.
    ///
    /// Most shapes are farther apart, which takes less than to find their distance: a plane between
    /// them suffices.
    pub(super) fn is_within(&self, other: &Self, pose: &Isometry3<f64>, limit: f64) -> bool {
        let (at, turn) = (pose.translation.vector, pose.rotation);
        let pose = Pose::from_parts(
            Vector::new(at.x, at.y, at.z),
            Rotation::from_xyzw(turn.i, turn.j, turn.k, turn.w),
        );
        let support = |direction| CsoPoint::from_shapes(&pose, self, other, direction);
        let toward = (-pose.translation).try_normalize().unwrap_or(Vector::X);
        let mut simplex = VoronoiSimplex::new();
        simplex.reset(support(toward));
        match closest_points(&pose, self, other, limit, true, &mut simplex) {
            GJKResult::ClosestPoints(one, other, _) => (one - other).length() <= limit,
            // Also the result if the algorithm did not converge: then no plane is known.
            GJKResult::NoIntersection(normal) => -normal.dot(support(normal).point) <= limit,
            GJKResult::Intersection | GJKResult::Proximity(_) => true,
        }
    }
}

impl SupportMap for Convex {
    fn local_support_point(&self, direction: Vector) -> Vector {
        let radial = |radius: f64| {
            let across = direction.x.hypot(direction.y);
            if across > 0.0 {
                (direction.x * radius / across, direction.y * radius / across)
            } else {
                (radius, 0.0)
            }
        };
        let ball = |radius: f64| direction.try_normalize().unwrap_or(Vector::X) * radius;
        match self {
            Self::Box(half) => Vector::new(
                half.x.copysign(direction.x),
                half.y.copysign(direction.y),
                half.z.copysign(direction.z),
            ),
            Self::Ball { radius } => ball(*radius),
            Self::Cylinder { radius, half } => {
                let (x, y) = radial(*radius);
                Vector::new(x, y, half.copysign(direction.z))
            }
            Self::Capsule { radius, half } => {
                ball(*radius) + Vector::new(0.0, 0.0, half.copysign(direction.z))
            }
            Self::Hull(points) => {
                let (mut farthest, mut most) = (Vector::ZERO, f64::NEG_INFINITY);
                for point in points {
                    let point = Vector::new(point.x, point.y, point.z);
                    let along = point.dot(direction);
                    if along >= most {
                        (farthest, most) = (point, along);
                    }
                }
                farthest
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_4;

    use super::*;

    #[test]
    fn distances_are_those_of_geometry() {
        let cube = || Convex::Box(Vector3::repeat(0.5));
        let corners = (0..8).map(|k| {
            Vector3::new(
                f64::from(k & 1) - 0.5,
                f64::from(k >> 1 & 1) - 0.5,
                f64::from(k >> 2) - 0.5,
            )
        });
        let hull = Convex::Hull(corners.collect());
        let at = |x: f64, angle: f64| {
            Isometry3::new(Vector3::new(x, 0.0, 0.0), Vector3::new(0.0, 0.0, angle))
        };
        let rod = Convex::Cylinder {
            radius: 0.2,
            half: 1.0,
        };
        let pill = Convex::Capsule {
            radius: 0.2,
            half: 1.0,
        };
        let diagonal = 0.5_f64.sqrt();
        for (one, other, pose, expected) in [
            (cube(), cube(), at(1.5, 0.0), 0.5),
            (cube(), hull.clone(), at(1.5, FRAC_PI_4), 1.0 - diagonal),
            (hull.clone(), hull, at(0.9, 0.0), 0.0),
            (cube(), Convex::Ball { radius: 0.3 }, at(1.0, 1.0), 0.2),
            (cube(), rod.clone(), at(1.0, 2.0), 0.3),
            (rod, pill, at(1.0, 0.0), 0.6),
        ] {
            for (limit, is_within) in [
                (expected - 1e-6, expected == 0.0),
                (expected + 1e-6, true),
                (expected / 4.0, expected == 0.0),
                (4.0 * expected, true),
            ] {
                let found = one.is_within(&other, &pose, limit);
                assert_eq!(found, is_within, "{one:?} {other:?} {limit}");
                let inverse = pose.inverse();
                assert_eq!(other.is_within(&one, &inverse, limit), is_within);
            }
        }
    }
}
