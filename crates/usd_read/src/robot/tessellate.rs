//! Tessellates solids that the model does not represent.

use std::f64::consts::{FRAC_PI_2, TAU};

use urdf_usd_mesh::Polygons;

/// Number of segments around the axis.
const SIDES: usize = 48;
/// Number of rings of a hemisphere.
const RINGS: usize = 12;

/// Half a cross-section along z, from bottom to top: radius and height.
pub(super) struct Profile(Vec<[f64; 2]>);

impl Profile {
    /// Returns a centred cylinder, or a cone if one radius is zero.
    pub fn frustum(bottom: f64, top: f64, height: f64) -> Self {
        let half = height / 2.0;
        Self(vec![
            [0.0, -half],
            [bottom, -half],
            [top, half],
            [0.0, half],
        ])
    }

    /// Returns a sphere.
    pub fn sphere(radius: f64) -> Self {
        Self::capsule(radius, radius, 0.0)
    }

    /// Returns a cylinder of a height with hemispherical caps.
    pub fn capsule(bottom: f64, top: f64, height: f64) -> Self {
        let ring = |k: usize| FRAC_PI_2 * k as f64 / RINGS as f64;
        let below = (0..=RINGS).map(|k| {
            [
                bottom * ring(k).sin(),
                -height / 2.0 - bottom * ring(k).cos(),
            ]
        });
        let above = (0..=RINGS)
            .rev()
            .map(|k| [top * ring(k).sin(), height / 2.0 + top * ring(k).cos()]);
        let mut profile: Vec<[f64; 2]> = below.chain(above).collect();
        profile.dedup();
        Self(profile)
    }
}

/// Returns the surface of revolution of a profile about z.
pub(super) fn lathe(profile: &Profile) -> Polygons {
    let mut polygons = Polygons::default();
    // A ring with radius zero is a single point.
    let rings: Vec<Vec<u32>> = profile
        .0
        .iter()
        .map(|&[radius, z]| {
            let sides = if radius > 0.0 { SIDES } else { 1 };
            let first = polygons.points.len() as u32;
            polygons.points.extend((0..sides).map(|side| {
                let angle = TAU * side as f64 / SIDES as f64;
                [radius * angle.cos(), radius * angle.sin(), z]
            }));
            (0..SIDES as u32)
                .map(|side| first + if sides == 1 { 0 } else { side })
                .collect()
        })
        .collect();
    for (low, high) in rings.iter().zip(rings.iter().skip(1)) {
        let sides = low.iter().zip(high);
        let next_sides = sides.clone().cycle().skip(1);
        for ((&low, &high), (&next_low, &next_high)) in sides.zip(next_sides) {
            let mut face = vec![low, next_low, next_high, high];
            // At a pole the ring is one repeated point: without duplicates the quad is a triangle.
            face.dedup();
            if face.first() == face.last() {
                face.pop();
            }
            if face.len() >= 3 {
                polygons.counts.push(face.len());
                polygons.corners.extend(face);
            }
        }
    }
    polygons
}

/// Returns a rectangle perpendicular to z, facing +z.
pub(super) fn sheet(width: f64, length: f64) -> Polygons {
    let (x, y) = (width / 2.0, length / 2.0);
    let points = vec![[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]];
    Polygons {
        points,
        counts: vec![4],
        corners: vec![0, 1, 2, 3],
        ..Polygons::default()
    }
}

/// Returns a centred cube.
pub(super) fn cube(size: f64) -> Polygons {
    let half = size / 2.0;
    let side = |bit: usize, k: usize| if k >> bit & 1 == 1 { half } else { -half };
    Polygons {
        points: (0..8)
            .map(|k| [side(0, k), side(1, k), side(2, k)])
            .collect(),
        counts: vec![4; 6],
        corners: vec![
            0, 2, 3, 1, 4, 5, 7, 6, 0, 1, 5, 4, 2, 6, 7, 3, 0, 4, 6, 2, 1, 3, 7, 5,
        ],
        ..Polygons::default()
    }
}
