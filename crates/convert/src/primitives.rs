//! Replaces meshes of colliders by primitives that resemble them.

use std::collections::HashMap;

use nalgebra::Vector3;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_geometry::primitives::{Fit, Primitive};
use urdf_usd_mesh as mesh;
use urdf_usd_robot::{CacheEvicted, Geometry, MeshId, Robot, Shape};

use super::context::{Batch, Work};
use super::load::{file_name, millimetres};
use super::{REPORT_IT, Step, codes};

/// Key of a mesh with a scale, by its bits.
type Key = (MeshId, [u64; 3]);

fn key(mesh: MeshId, scale: Vector3<f64>) -> Key {
    (mesh, [scale.x, scale.y, scale.z].map(f64::to_bits))
}

/// Replaces the meshes of colliders by primitives within the distance that the options allow.
///
/// # Errors
/// If a mesh is no longer in the cache.
pub(super) fn fit(robot: &mut Robot, work: Work<'_>) -> Result<Vec<Diagnostic>, CacheEvicted> {
    let error = work.job.options.fit_primitives;
    if error <= 0.0 {
        return Ok(Vec::new());
    }
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut wanted: Vec<(MeshId, Vector3<f64>)> = Vec::new();
    for shape in robot.links().values().flat_map(|link| &link.collisions) {
        if let Geometry::Mesh { mesh, scale } = shape.geometry {
            places.entry(key(mesh, scale)).or_insert_with(|| {
                wanted.push((mesh, scale));
                wanted.len() - 1
            });
        }
    }
    let source = |mesh: MeshId| &robot.meshes()[mesh];
    let batch = Batch {
        step: Step::Derive,
        items: &wanted,
        size: |(mesh, _): &(MeshId, Vector3<f64>)| source(*mesh).mesh.outline().triangles,
        name: |(mesh, _): &(MeshId, Vector3<f64>)| file_name(&source(*mesh).uri).to_owned(),
    };
    let fits = work.context.all(work.limit, batch, |(mesh, scale)| {
        mesh::kept_primitive(&source(*mesh).mesh, *scale, error, work.store)
    });
    // Results are missing then; the caller reports the exceeded limit.
    if work.limit.interruption().is_some() {
        return Ok(Vec::new());
    }
    let fits = fits.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut replaced = Replaced::default();
    let mut found = Vec::new();
    for link in robot.links().handles() {
        let shapes = robot.links()[link].collisions.iter().map(|shape| {
            let Geometry::Mesh { mesh, scale } = shape.geometry else {
                return shape.clone();
            };
            let place = places.get(&key(mesh, scale));
            let fit = place.and_then(|place| fits.get(*place)?.as_ref());
            replaced.count(fit, &robot.meshes()[mesh].uri);
            match fit {
                Some(fit) => Shape {
                    geometry: geometry(fit.primitive),
                    origin: shape.origin * fit.pose,
                    ..shape.clone()
                },
                None => shape.clone(),
            }
        });
        let shapes = shapes.collect();
        if let Err(error) = robot.set_collisions(link, shapes) {
            let place = robot.links()[link].place.clone();
            found.push(Diagnostic::new(&codes::INTERNAL, place, error.to_string()).help(REPORT_IT));
        }
    }
    found.extend(replaced.finding(robot));
    Ok(found)
}

fn geometry(primitive: Primitive) -> Geometry {
    match primitive {
        Primitive::Box(size) => Geometry::Box { size: size.into() },
        Primitive::Sphere { radius } => Geometry::Sphere { radius },
        Primitive::Cylinder { radius, length } => Geometry::Cylinder { radius, length },
        Primitive::Capsule { radius, length } => Geometry::Capsule { radius, length },
    }
}

/// Counts of colliders with meshes.
#[derive(Default)]
struct Replaced {
    all: usize,
    /// The replaced ones, by kind.
    kinds: [(usize, &'static str); 4],
    /// The largest deviation in metres, and the mesh that has it.
    deviation: f64,
    farthest: String,
}

impl Replaced {
    fn count(&mut self, fit: Option<&Fit>, uri: &str) {
        self.all += 1;
        let Some(fit) = fit else { return };
        let (index, name) = match fit.primitive {
            Primitive::Box(_) => (0, "box"),
            Primitive::Sphere { .. } => (1, "sphere"),
            Primitive::Cylinder { .. } => (2, "cylinder"),
            Primitive::Capsule { .. } => (3, "capsule"),
        };
        if let Some(kind) = self.kinds.get_mut(index) {
            *kind = (kind.0 + 1, name);
        }
        if fit.deviation >= self.deviation {
            self.deviation = fit.deviation;
            uri.clone_into(&mut self.farthest);
        }
    }

    /// Returns the finding about the robot; `None` if it has no colliders with meshes.
    fn finding(&self, robot: &Robot) -> Option<Diagnostic> {
        if self.all == 0 {
            return None;
        }
        let kinds = self.kinds.iter().filter(|(count, _)| *count > 0);
        let kinds: Vec<String> = kinds
            .map(|(count, name)| format!("{name}: {count}"))
            .collect();
        let count: usize = self.kinds.iter().map(|(count, _)| count).sum();
        let mut message = format!(
            "primitives replace the meshes of {count} of {} colliders",
            self.all
        );
        if count > 0 {
            message += &format!(
                " ({}); the largest deviation is {} (\"{}\")",
                kinds.join(", "),
                millimetres(self.deviation),
                self.farthest
            );
        }
        let help = "allow a larger or smaller deviation with --fit-primitives";
        Some(Diagnostic::new(&codes::PRIMITIVES, robot.place.clone(), message).help(help))
    }
}
