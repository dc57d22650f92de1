//! The space that a robot fills at rest: the default prim's `extentsHint`, which readers use before they load any payload.
//!
//! This module computes; it authors nothing.

use nalgebra::{Matrix3, Vector3};

use super::Scene;
use super::library::{ColliderForm, DEFAULT_TIER, Form};
use super::plan::LinkPlan;
use super::planning;
use urdf_usd_robot::{Geometry, Mesh, Pose};

/// The bounds of points, in the default prim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    low: Vector3<f64>,
    high: Vector3<f64>,
}

impl Bounds {
    const EMPTY: Self = Self {
        low: Vector3::new(f64::INFINITY, f64::INFINITY, f64::INFINITY),
        high: Vector3::new(f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY),
    };

    fn add(&mut self, other: Self) {
        self.low = self.low.inf(&other.low);
        self.high = self.high.sup(&other.high);
    }

    fn is_empty(&self) -> bool {
        self.low.x > self.high.x
    }

    /// As USD has it: what is empty is turned inside out.
    fn corners(self) -> [[f32; 3]; 2] {
        if self.is_empty() {
            return [[f32::MAX; 3], [f32::MIN; 3]];
        }
        [self.low, self.high].map(|corner| [corner.x, corner.y, corner.z].map(|x| x as f32))
    }
}

/// `extentsHint` of the default prim, all joints at zero, in the default variants: a pair of corners for each purpose in USD's
/// order (default, render, proxy, guide), without empty ones at the end. Empty if the robot has no geometry.
pub(super) fn hint(scene: &Scene<'_>) -> Vec<[f32; 3]> {
    let (mut seen, mut touched) = (Bounds::EMPTY, Bounds::EMPTY);
    let library = &scene.library;
    for (plan, (visuals, colliders)) in scene.plan.links.iter().zip(library.visuals.iter().zip(&library.colliders)) {
        for visual in visuals {
            let place = Place::new(plan, &visual.pose, visual.scale);
            seen.add(match &library.instances[visual.looks[DEFAULT_TIER].instance].form {
                Form::Primitive(geometry) => place.bounds_of_primitive(geometry),
                Form::Mesh(mesh) => place.bounds_of_mesh(&library.meshes[*mesh].mesh),
            });
        }
        for collider in colliders {
            let place = Place::new(plan, &collider.pose, collider.scale);
            touched.add(match &collider.form {
                ColliderForm::Primitive(geometry) => place.bounds_of_primitive(geometry),
                ColliderForm::Mesh { convex_hull, .. } => place.bounds_of_mesh(&library.meshes[*convex_hull].mesh),
            });
        }
    }
    for (link, sphere) in scene
        .robot
        .planning
        .groups
        .iter()
        .flat_map(|group| &group.spheres)
        .flat_map(|(link, spheres)| spheres.iter().map(move |sphere| (link, sphere)))
    {
        let place = Place::new(&scene.plan.links[link.0], &planning::at(sphere), None);
        touched.add(place.bounds_of_primitive(&planning::shape(sphere)));
    }
    let mut purposes = vec![seen, Bounds::EMPTY, Bounds::EMPTY, touched];
    while purposes.last().is_some_and(Bounds::is_empty) {
        purposes.pop();
    }
    let corners: Vec<_> = purposes.into_iter().flat_map(Bounds::corners).collect();
    // What single precision cannot hold is no extent.
    if corners.as_flattened().iter().all(|x| x.is_finite()) { corners } else { Vec::new() }
}

/// Where a shape stands in the default prim.
struct Place {
    linear: Matrix3<f64>,
    origin: Vector3<f64>,
}

impl Place {
    fn new(link: &LinkPlan, pose: &Pose, scale: Option<Vector3<f64>>) -> Self {
        let pose = link.rest * pose;
        let scale = Matrix3::from_diagonal(&scale.unwrap_or_else(|| Vector3::repeat(1.0)));
        Self { linear: pose.rotation.to_rotation_matrix().into_inner() * scale, origin: pose.translation.vector }
    }

    fn bounds_of_mesh(&self, mesh: &Mesh) -> Bounds {
        mesh.points.iter().fold(Bounds::EMPTY, |mut bounds, point| {
            let point = self.linear * Vector3::from(point.map(f64::from)) + self.origin;
            bounds.add(Bounds { low: point, high: point });
            bounds
        })
    }

    /// By how far the primitive reaches in the direction of each axis. All are the same seen from both sides.
    fn bounds_of_primitive(&self, geometry: &Geometry) -> Bounds {
        let reach = Vector3::from_fn(|axis, _| reach(geometry, self.linear.row(axis).transpose()));
        Bounds { low: self.origin - reach, high: self.origin + reach }
    }
}

/// The largest product of a point of the primitive with `direction`.
fn reach(geometry: &Geometry, direction: Vector3<f64>) -> f64 {
    match geometry {
        Geometry::Box { size } => (size / 2.0).dot(&direction.abs()),
        Geometry::Sphere { radius } => radius * direction.norm(),
        Geometry::Cylinder { radius, length } => radius * direction.xy().norm() + length / 2.0 * direction.z.abs(),
        Geometry::Capsule { radius, length } => radius * direction.norm() + length / 2.0 * direction.z.abs(),
        // Meshes are no primitives.
        Geometry::Mesh { .. } | Geometry::Missing { .. } => 0.0,
    }
}
