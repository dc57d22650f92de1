//! Boxes, cylinders, spheres and capsules as triangles.

use std::f64::consts::{FRAC_PI_2, TAU};

use nalgebra::Vector3;

use super::surface::{Builder, Corner, Surface};
use urdf_usd_robot::Geometry;

/// Number of sides of a round solid.
const SIDES: usize = 48;
/// Number of rings from a pole to the equator.
const RINGS: usize = 12;

/// Triangulates a solid; `None` for a mesh, and for a solid without area.
pub fn surface(geometry: &Geometry, with_uvs: bool) -> Option<Surface> {
    let mut builder = Builder::new(2 * SIDES * RINGS, with_uvs);
    match *geometry {
        Geometry::Box { size } => cuboid(&mut builder, size / 2.0),
        Geometry::Cylinder { radius, length } => cylinder(&mut builder, radius, length / 2.0),
        Geometry::Sphere { radius } => ball(&mut builder, radius, 0.0),
        Geometry::Capsule { radius, length } => ball(&mut builder, radius, length / 2.0),
        Geometry::Mesh { .. } | Geometry::Missing { .. } => return None,
    }
    builder.finish()
}

fn corner(position: Vector3<f64>, normal: Vector3<f64>, uv: [f64; 2]) -> Corner {
    Corner {
        position: position.map(|x| x as f32).into(),
        normal: normal.map(|x| x as f32).into(),
        uv: uv.map(|x| x as f32),
    }
}

/// Adds a box. Each face shows the whole image, upright on the sides.
fn cuboid(builder: &mut Builder, half: Vector3<f64>) {
    let (x, y, z) = (Vector3::x(), Vector3::y(), Vector3::z());
    // Outward, right and up directions of each face, seen from outside: right × up = outward.
    for (out, right, up) in [
        (x, y, z),
        (-x, -y, z),
        (y, -x, z),
        (-y, x, z),
        (z, y, -x),
        (-z, y, x),
    ] {
        let at = |u: f64, v: f64| {
            let direction = out + right * (2.0 * u - 1.0) + up * (2.0 * v - 1.0);
            corner(direction.component_mul(&half), out, [u, v])
        };
        builder.triangle([at(0.0, 0.0), at(1.0, 0.0), at(1.0, 1.0)]);
        builder.triangle([at(0.0, 0.0), at(1.0, 1.0), at(0.0, 1.0)]);
    }
}

/// Returns the direction of side `k`. Taken modulo the number of sides, so that the seam closes
/// exactly.
fn around(k: usize) -> Vector3<f64> {
    let angle = (k % SIDES) as f64 / SIDES as f64 * TAU;
    Vector3::new(angle.cos(), angle.sin(), 0.0)
}

/// A circle of a solid of revolution: radius, height, radial and axial parts of the normal, and v
/// of the texture coordinates.
#[derive(Clone, Copy)]
struct Ring {
    radius: f64,
    height: f64,
    normal: [f64; 2],
    v: f64,
}

/// Adds the wall between two rings, the lower one first.
fn wall(builder: &mut Builder, low: Ring, high: Ring) {
    for k in 0..SIDES {
        let at = |ring: Ring, k: usize| {
            let out = around(k);
            let up = Vector3::z();
            let normal = out * ring.normal[0] + up * ring.normal[1];
            corner(
                out * ring.radius + up * ring.height,
                normal,
                [k as f64 / SIDES as f64, ring.v],
            )
        };
        builder.triangle([at(low, k), at(low, k + 1), at(high, k + 1)]);
        builder.triangle([at(low, k), at(high, k + 1), at(high, k)]);
    }
}

fn cylinder(builder: &mut Builder, radius: f64, half: f64) {
    let ring = |height, v| Ring {
        radius,
        height,
        normal: [1.0, 0.0],
        v,
    };
    wall(builder, ring(-half, 0.0), ring(half, 1.0));
    for end in [-1.0, 1.0] {
        let normal = Vector3::z() * end;
        let at = |out: Vector3<f64>| {
            corner(
                out * radius + normal * half,
                normal,
                [0.5 + out.x * end / 2.0, 0.5 + out.y / 2.0],
            )
        };
        for k in 0..SIDES {
            let (a, b) = if end > 0.0 { (k, k + 1) } else { (k + 1, k) };
            builder.triangle([at(Vector3::zeros()), at(around(a)), at(around(b))]);
        }
    }
}

/// Adds a sphere whose halves are moved apart along z by `half` each: a capsule, or a sphere if
/// `half` is zero.
fn ball(builder: &mut Builder, radius: f64, half: f64) {
    let height = 2.0 * (radius + half);
    let ring = |k: usize, shift: f64| {
        let latitude = (k as f64 / RINGS as f64 - 1.0) * FRAC_PI_2;
        // Poles and equator are exact, so that their vertices coincide.
        let (sin, cos) = match k {
            0 => (-1.0, 0.0),
            _ if k == RINGS => (0.0, 1.0),
            _ if k == 2 * RINGS => (1.0, 0.0),
            _ => latitude.sin_cos(),
        };
        let z = radius * sin + shift;
        Ring {
            radius: radius * cos,
            height: z,
            normal: [cos, sin],
            v: if height > 0.0 { z / height + 0.5 } else { 0.5 },
        }
    };
    for k in 0..RINGS {
        wall(builder, ring(k, -half), ring(k + 1, -half));
    }
    if half > 0.0 {
        wall(builder, ring(RINGS, -half), ring(RINGS, half));
    }
    for k in RINGS..2 * RINGS {
        wall(builder, ring(k, half), ring(k + 1, half));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the enclosed volume, positive if triangles face outwards, and checks that the
    /// surface is closed: every edge is shared with an opposite edge.
    fn volume(surface: &Surface) -> f64 {
        let mut edges = std::collections::HashMap::new();
        let mut volume = 0.0;
        for triangle in surface.indices.chunks_exact(3) {
            let p: Vec<_> = triangle
                .iter()
                .map(|&i| surface.positions[i as usize])
                .collect();
            let [a, b, c] = [0, 1, 2].map(|k: usize| Vector3::from(p[k]).cast::<f64>());
            volume += a.dot(&b.cross(&c)) / 6.0;
            for (from, to) in [(0, 1), (1, 2), (2, 0)] {
                let bits = |k: usize| p[k].map(f32::to_bits);
                *edges.entry((bits(from), bits(to))).or_insert(0) += 1;
                *edges.entry((bits(to), bits(from))).or_insert(0) -= 1;
            }
            let facing = (b - a).cross(&(c - a));
            for &i in triangle {
                assert!(
                    facing.dot(&Vector3::from(surface.normals[i as usize]).cast()) > 0.0,
                    "normals face as triangles do"
                );
            }
        }
        assert!(edges.values().all(|&n| n == 0), "closed");
        volume
    }

    #[test]
    fn solids_are_closed_face_outwards_and_have_their_volume() {
        let (r, l, pi) = (0.3, 0.8, std::f64::consts::PI);
        for (geometry, expected) in [
            (
                Geometry::Box {
                    size: Vector3::new(1.0, 2.0, 3.0),
                },
                6.0,
            ),
            (
                Geometry::Cylinder {
                    radius: r,
                    length: l,
                },
                pi * r * r * l,
            ),
            (Geometry::Sphere { radius: r }, 4.0 / 3.0 * pi * r.powi(3)),
            (
                Geometry::Capsule {
                    radius: r,
                    length: l,
                },
                4.0 / 3.0 * pi * r.powi(3) + pi * r * r * l,
            ),
            (
                Geometry::Capsule {
                    radius: r,
                    length: 0.0,
                },
                4.0 / 3.0 * pi * r.powi(3),
            ),
        ] {
            let found = volume(&surface(&geometry, false).unwrap());
            assert!(
                found <= expected * 1.000_01 && found > expected * 0.985,
                "{geometry:?}: {found} of {expected}"
            );
            let mapped = surface(&geometry, true).unwrap();
            assert!(
                mapped
                    .uvs
                    .unwrap()
                    .iter()
                    .flatten()
                    .all(|x| (0.0..=1.0).contains(x))
            );
        }
    }

    #[test]
    fn the_long_side_of_a_box_lies_along_its_own_axis() {
        let surface = surface(
            &Geometry::Box {
                size: Vector3::new(2.0, 4.0, 6.0),
            },
            false,
        )
        .unwrap();
        assert_eq!(surface.positions.len(), 24);
        assert!(
            surface
                .positions
                .iter()
                .all(|p| p.map(f32::abs) == [2.0, 3.0, 1.0])
        );
    }

    #[test]
    fn a_solid_without_extent_draws_nothing() {
        assert!(surface(&Geometry::Sphere { radius: 0.0 }, false).is_none());
        assert!(
            surface(
                &Geometry::Box {
                    size: Vector3::zeros()
                },
                true
            )
            .is_none()
        );
    }
}
