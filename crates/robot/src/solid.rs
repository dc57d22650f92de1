//! Solids of uniform density: mass, centre of mass and inertia tensor.

#![allow(
    clippy::indexing_slicing,
    reason = "indices of rings follow from the number of segments"
)]

use nalgebra::{Matrix3, Point3, Vector3};

use super::mass::steiner;
use super::{Geometry, MeshArrays, Pose};

/// A body of uniform density, in a frame.
#[derive(Clone, Copy, Debug)]
pub struct Solid {
    /// kg.
    pub mass: f64,
    /// The centre of mass, metres.
    pub centre: Vector3<f64>,
    /// About the centre, along the frame's axes, kg·m².
    pub inertia: Matrix3<f64>,
}

impl Solid {
    /// Returns the same form with `factor` times the mass.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            mass: self.mass * factor,
            inertia: self.inertia * factor,
            ..self
        }
    }

    /// Returns the same solid in a frame in which its own frame is at `pose`.
    #[must_use]
    pub fn placed(self, pose: &Pose) -> Self {
        let turn = pose.rotation.to_rotation_matrix().into_inner();
        let centre = pose.transform_point(&Point3::from(self.centre)).coords;
        Self {
            centre,
            inertia: turn * self.inertia * turn.transpose(),
            ..self
        }
    }

    /// Merges several solids into one; `None` if they have no mass.
    pub fn together(parts: &[Self]) -> Option<Self> {
        let mass: f64 = parts.iter().map(|part| part.mass).sum();
        if !(mass > 0.0 && mass.is_finite()) {
            return None;
        }
        let centre = parts
            .iter()
            .map(|part| part.centre * part.mass)
            .sum::<Vector3<f64>>()
            / mass;
        let about = |part: &Self| part.inertia + steiner(part.mass, &(part.centre - centre));
        Some(Self {
            mass,
            centre,
            inertia: parts.iter().map(about).sum(),
        })
    }

    /// Returns a solid of uniform density, in kg/m³; `None` if the geometry encloses no volume.
    /// `mesh` is the closed mesh of the geometry, if it is a mesh.
    pub fn of(geometry: &Geometry, mesh: Option<&MeshArrays>, density: f64) -> Option<Self> {
        let about_origin = |mass: f64, moments: [f64; 3]| Self {
            mass,
            centre: Vector3::zeros(),
            inertia: Matrix3::from_diagonal(&(Vector3::from(moments) * mass)),
        };
        let cylinder = |radius: f64, length: f64| {
            let across = (3.0 * radius * radius + length * length) / 12.0;
            about_origin(
                density * std::f64::consts::PI * radius * radius * length,
                [across, across, radius * radius / 2.0],
            )
        };
        let solid = match geometry {
            Geometry::Box { size } => {
                let [x, y, z] = [size.x * size.x, size.y * size.y, size.z * size.z];
                about_origin(
                    density * size.product(),
                    [(y + z) / 12.0, (x + z) / 12.0, (x + y) / 12.0],
                )
            }
            Geometry::Sphere { radius } => about_origin(
                density * 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3),
                [0.4 * radius * radius; 3],
            ),
            Geometry::Cylinder { radius, length } => cylinder(*radius, *length),
            Geometry::Capsule { radius, length } => {
                // Half a ball: its centre is 3/8 of the radius from its base.
                let half = density * 2.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
                // 2/5 about the ball's centre, less (3/8)² by the parallel axis theorem.
                let across = (0.4 - 9.0 / 64.0) * radius * radius;
                let cap = |side: f64| Self {
                    mass: half,
                    centre: Vector3::new(0.0, 0.0, side * (length / 2.0 + 0.375 * radius)),
                    inertia: Matrix3::from_diagonal(&Vector3::new(
                        across,
                        across,
                        0.4 * radius * radius,
                    )) * half,
                };
                Self::together(&[cylinder(*radius, *length), cap(1.0), cap(-1.0)])?
            }
            Geometry::Mesh { scale, .. } => of_mesh(mesh?, scale, density)?,
            Geometry::Missing { .. } => return None,
        };
        (solid.mass > 0.0 && solid.mass.is_finite()).then_some(solid)
    }
}

/// Integrates over the volume that a closed surface encloses, as a sum of signed tetrahedra.
fn of_mesh(mesh: &MeshArrays, scale: &Vector3<f64>, density: f64) -> Option<Solid> {
    // Relative to a vertex of the mesh, so that a mesh far from the origin loses no precision.
    let at =
        |index: u32| Vector3::from(mesh.points[index as usize].map(f64::from)).component_mul(scale);
    let origin = at(mesh.triangles.first()?[0]);
    let (mut volume, mut first, mut second) = (0.0, Vector3::zeros(), Matrix3::zeros());
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|index| at(index) - origin);
        // Integrals of 1, x and x·xᵀ over the tetrahedron of the origin, a, b and c.
        let six = a.dot(&b.cross(&c));
        let sum = a + b + c;
        volume += six / 6.0;
        first += sum * (six / 24.0);
        second +=
            (a * a.transpose() + b * b.transpose() + c * c.transpose() + sum * sum.transpose())
                * (six / 120.0);
    }
    // A mirroring scale turns the surface inside out, which changes the sign of all sums.
    if volume < 0.0 {
        (volume, first, second) = (-volume, -first, -second);
    }
    let centre = first / volume;
    let second = second - centre * centre.transpose() * volume;
    let inertia = (Matrix3::identity() * second.trace() - second) * density;
    let is_sound = volume > 0.0 && centre.iter().chain(inertia.iter()).all(|x| x.is_finite());
    is_sound.then(|| Solid {
        mass: density * volume,
        centre: centre + origin,
        inertia,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_weighs_its_volume_times_the_density() {
        let solid = Solid::of(
            &Geometry::Box {
                size: Vector3::new(1.0, 2.0, 3.0),
            },
            None,
            500.0,
        )
        .unwrap();
        assert_eq!(solid.mass, 3000.0);
        assert!(
            (solid.inertia.diagonal() - Vector3::new(13.0, 10.0, 5.0) * 250.0).norm() < 1e-9,
            "{}",
            solid.inertia
        );
        assert!(Solid::of(&Geometry::Sphere { radius: 0.0 }, None, 1.0).is_none());
    }
}
