//! Computes the space that a robot occupies at rest: the default prim's `extentsHint`, which
//! readers use before they load any payload.
//!
//! This module authors nothing.

use std::collections::HashMap;

use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

use super::Scene;
use super::library::{ColliderForm, Form};
use super::plan::LinkPlan;
use super::planning;
use urdf_usd_robot::{CacheEvicted, Geometry, LazyMesh, MeshArrays, Pose};
use urdf_usd_store::{Key, Store};

/// The bounds of points relative to the default prim.
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

    /// Returns the corners in single precision; an empty range has inverted corners, as in USD.
    fn corners(self) -> [[f32; 3]; 2] {
        if self.is_empty() {
            return [[f32::MAX; 3], [f32::MIN; 3]];
        }
        [self.low, self.high].map(|corner| [corner.x, corner.y, corner.z].map(|x| x as f32))
    }
}

/// A visible or colliding shape.
enum Body<'a> {
    Primitive(&'a Geometry),
    Mesh(&'a LazyMesh),
}

/// Returns the `extentsHint` of the default prim, with all joints at zero and the default variants:
/// a pair of corners for each purpose in USD's order (default, render, proxy, guide), without
/// trailing empty ones. Empty if the robot has no geometry. `store` caches the bounds of meshes.
///
/// # Errors
/// If a mesh is no longer in the cache.
pub(super) fn hint(scene: &Scene<'_>, store: &Store) -> Result<Vec<[f32; 3]>, CacheEvicted> {
    let library = &scene.library;
    let (mut visible, mut colliding) = (Vec::new(), Vec::new());
    for (link, plan) in scene.plan.links.iter() {
        for visual in &library.visuals[link] {
            let body = match &library.instances[visual.default_look().instance].form {
                Form::Primitive(geometry) => Body::Primitive(geometry),
                Form::Mesh(mesh) => Body::Mesh(&library.meshes[*mesh].mesh),
            };
            visible.push((Place::new(plan, &visual.pose, visual.scale), body));
        }
        for collider in &library.colliders[link] {
            let body = match &collider.form {
                ColliderForm::Primitive(geometry) => Body::Primitive(geometry),
                ColliderForm::Mesh { convex_hull, .. } => {
                    Body::Mesh(&library.meshes[*convex_hull].mesh)
                }
            };
            colliding.push((Place::new(plan, &collider.pose, collider.scale), body));
        }
    }
    let all = || visible.iter().chain(&colliding);
    // `around` takes them in this order: those of visible shapes, then those of colliders.
    let mut of_meshes = bounds_of_meshes(
        all().filter_map(|(place, body)| as_mesh(body).map(|mesh| (place, mesh))),
        store,
    )?
    .into_iter();
    let mut around = |bodies: &[(Place, Body<'_>)]| {
        bodies
            .iter()
            .fold(Bounds::EMPTY, |mut bounds, (place, body)| {
                bounds.add(match body {
                    Body::Primitive(geometry) => place.bounds_of_primitive(geometry),
                    Body::Mesh(_) => of_meshes.next().unwrap_or(Bounds::EMPTY),
                });
                bounds
            })
    };
    let (seen, mut touched) = (around(&visible), around(&colliding));
    for (link, sphere) in scene
        .robot
        .planning()
        .groups
        .iter()
        .flat_map(|group| &group.spheres)
        .flat_map(|(link, spheres)| spheres.iter().map(move |sphere| (link, sphere)))
    {
        let place = Place::new(&scene.plan.links[*link], &planning::at(sphere), None);
        touched.add(place.bounds_of_primitive(&planning::shape(sphere)));
    }
    let mut purposes = vec![seen, Bounds::EMPTY, Bounds::EMPTY, touched];
    while purposes.last().is_some_and(Bounds::is_empty) {
        purposes.pop();
    }
    let corners: Vec<_> = purposes.into_iter().flat_map(Bounds::corners).collect();
    // A range that overflows single precision is omitted.
    Ok(if corners.as_flattened().iter().all(|x| x.is_finite()) {
        corners
    } else {
        Vec::new()
    })
}

fn as_mesh<'a>(body: &Body<'a>) -> Option<&'a LazyMesh> {
    match body {
        Body::Primitive(_) => None,
        Body::Mesh(mesh) => Some(mesh),
    }
}

/// A mesh and its transforms, each with its index in the whole list.
struct UsedMesh<'a> {
    mesh: &'a LazyMesh,
    places: Vec<(usize, &'a Place)>,
}

/// Returns the bounds of meshes at their transforms, in order. `store` caches the whole list:
/// computing it takes as long as writing all layers, and may require loading arrays.
fn bounds_of_meshes<'a>(
    meshes: impl Iterator<Item = (&'a Place, &'a LazyMesh)>,
    store: &Store,
) -> Result<Vec<Bounds>, CacheEvicted> {
    let meshes: Vec<_> = meshes.collect();
    // A digest of zeros marks a mesh that has none, so nothing identifies the list.
    let has_key = store.is_enabled()
        && !meshes.is_empty()
        && meshes.iter().all(|(_, mesh)| mesh.digest != [0; 32]);
    let key = has_key.then(|| {
        let keys = meshes
            .iter()
            .fold(Key::shared("extents"), |key, (place, mesh)| {
                key.and(&mesh.digest).and(&place.bytes())
            });
        keys.key()
    });
    let known = |bytes: &[u8]| {
        let numbers: &[[u8; 8]] = bytes.as_chunks().0;
        let corners: Vec<Vector3<f64>> = numbers
            .as_chunks()
            .0
            .iter()
            .map(|corner: &[_; 3]| corner.map(f64::from_le_bytes).into())
            .collect();
        let bounds: Vec<Bounds> = corners
            .as_chunks()
            .0
            .iter()
            .map(|&[low, high]| Bounds { low, high })
            .collect();
        (bounds.len() == meshes.len()).then_some(bounds)
    };
    if let Some(bounds) = key.and_then(|key| store.get(&key, known)) {
        return Ok(bounds);
    }
    // Each mesh is loaded once, however many transforms it has.
    let mut used: HashMap<*const LazyMesh, UsedMesh<'_>> = HashMap::new();
    for (index, (place, mesh)) in meshes.iter().enumerate() {
        let used = used.entry(std::ptr::from_ref(*mesh)).or_insert(UsedMesh {
            mesh,
            places: Vec::new(),
        });
        used.places.push((index, place));
    }
    let used: Vec<UsedMesh<'_>> = used.into_values().collect();
    let found = used.into_par_iter().map(|UsedMesh { mesh, places }| {
        let mesh = mesh.arrays()?;
        let found = places
            .into_iter()
            .map(|(index, place)| (index, place.bounds_of_mesh(&mesh)));
        Ok(found.collect())
    });
    let found: Vec<Vec<(usize, Bounds)>> = found.collect::<Result<_, _>>()?;
    // Each index occurs once, so sorting by it restores the order of `meshes`.
    let mut found: Vec<(usize, Bounds)> = found.into_iter().flatten().collect();
    found.sort_unstable_by_key(|(index, _)| *index);
    let bounds: Vec<Bounds> = found.into_iter().map(|(_, bounds)| bounds).collect();
    if let Some(key) = key {
        let corners = || bounds.iter().flat_map(|bounds| [bounds.low, bounds.high]);
        store.put(&key, || {
            corners()
                .flat_map(<[f64; 3]>::from)
                .flat_map(f64::to_le_bytes)
                .collect::<Vec<u8>>()
        });
    }
    Ok(bounds)
}

/// The transform of a shape relative to the default prim.
struct Place {
    linear: Matrix3<f64>,
    origin: Vector3<f64>,
}

impl Place {
    fn new(link: &LinkPlan, pose: &Pose, scale: Option<Vector3<f64>>) -> Self {
        let pose = link.rest * pose;
        let scale = Matrix3::from_diagonal(&scale.unwrap_or_else(|| Vector3::repeat(1.0)));
        Self {
            linear: pose.rotation.to_rotation_matrix().into_inner() * scale,
            origin: pose.translation.vector,
        }
    }

    /// Returns the bytes that identify it in a cache key.
    fn bytes(&self) -> Vec<u8> {
        self.linear
            .iter()
            .chain(self.origin.iter())
            .copied()
            .flat_map(f64::to_le_bytes)
            .collect()
    }

    fn bounds_of_mesh(&self, mesh: &MeshArrays) -> Bounds {
        mesh.points.iter().fold(Bounds::EMPTY, |mut bounds, point| {
            let point = self.linear * Vector3::from(point.map(f64::from)) + self.origin;
            bounds.add(Bounds {
                low: point,
                high: point,
            });
            bounds
        })
    }

    /// Returns the bounds of the transformed primitive, from its support in the direction of each
    /// axis. All primitives are symmetric about their origin, so one direction per axis is enough.
    fn bounds_of_primitive(&self, geometry: &Geometry) -> Bounds {
        let reach = Vector3::from_fn(|axis, _| reach(geometry, self.linear.row(axis).transpose()));
        Bounds {
            low: self.origin - reach,
            high: self.origin + reach,
        }
    }
}

/// Returns the support function of the primitive: the largest dot product of its points with
/// `direction`.
fn reach(geometry: &Geometry, direction: Vector3<f64>) -> f64 {
    match geometry {
        Geometry::Box { size } => (size / 2.0).dot(&direction.abs()),
        Geometry::Sphere { radius } => radius * direction.norm(),
        Geometry::Cylinder { radius, length } => {
            radius * direction.xy().norm() + length / 2.0 * direction.z.abs()
        }
        Geometry::Capsule { radius, length } => {
            radius * direction.norm() + length / 2.0 * direction.z.abs()
        }
        // Callers pass primitives only.
        Geometry::Mesh { .. } | Geometry::Missing { .. } => 0.0,
    }
}
