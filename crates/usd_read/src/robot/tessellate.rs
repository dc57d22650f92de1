//! Solids that the model does not have, as polygons.

use std::f64::consts::{FRAC_PI_2, TAU};

use urdf_usd_mesh::Polygons;

/// How many sides what is round has.
const SIDES: usize = 48;
/// How many rings a half ball has.
const RINGS: usize = 12;

/// Half a cross-section along z, from the lowest point to the highest: radius and height.
pub(super) struct Profile(Vec<[f64; 2]>);

impl Profile {
    /// A cylinder, or a cone if one radius is zero, centred.
    pub fn frustum(bottom: f64, top: f64, height: f64) -> Self {
        let half = height / 2.0;
        Self(vec![
            [0.0, -half],
            [bottom, -half],
            [top, half],
            [0.0, half],
        ])
    }

    /// A ball.
    pub fn sphere(radius: f64) -> Self {
        Self::capsule(radius, radius, 0.0)
    }

    /// A cylinder of a height with half balls at its ends.
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

/// The surface of a profile that is turned about z.
pub(super) fn lathe(profile: &Profile) -> Polygons {
    let mut polygons = Polygons::default();
    // One point for a ring without a radius.
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

/// A rectangle across z, seen from above.
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

/// A cube, centred.
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
