//! Convex hulls.
//!
//! `parry3d-f64` does the work, on points that have been brought to unit size along their principal axes: a hull does not depend
//! on such a map, but the crate is wrong on clouds that are thin. What it returns is checked, not trusted.

use std::collections::HashMap;

use nalgebra::{Matrix3, SymmetricEigen, Vector3};
use parry3d_f64::math::Vector3 as ParryVector;
use parry3d_f64::transformation::try_convex_hull;

use super::{Error, codes};
use crate::robot::{Corners, Mesh, Part};

/// Points whose extent in some direction is less than this part of their largest extent are flat: single precision holds no more.
const FLAT: f64 = 1e-6;

/// How far a point may lie outside of the hull, with the points at unit size.
const OUTSIDE: f64 = 1e-5;

/// At most this many points are checked to lie inside.
const CHECKED_POINTS: usize = 4096;

/// The crate recurses over the faces that a point sees.
const STACK: usize = 256 << 20;

/// The convex hull of points: closed, wound counter-clockwise seen from outside, with flat normals and one part without a
/// material. Its points are among those given. The same points give the same hull.
///
/// # Errors
/// `hull-flat` if the points (those that are finite) span no volume; `hull-failed` if no sound hull could be computed.
pub fn convex_hull(points: &[[f32; 3]]) -> Result<Mesh, Error> {
    let cloud = Cloud::new(points)?;
    // Where nearly coincident points defeat the computation, it is tried on ever coarser grids.
    let grids = [None, Some((1_u32 << 24) as f64), Some((1_u32 << 20) as f64), Some((1_u32 << 17) as f64)];
    let sound = grids.into_iter().find_map(|grid| cloud.hull(grid).filter(|hull| cloud.is_sound(hull)));
    let hull = sound.ok_or_else(|| {
        Error::new(&codes::HULL_FAILED, "no sound convex hull could be computed").help("give the collider a simpler mesh")
    })?;
    Ok(cloud.mesh(&hull))
}

/// Points, as given and at unit size.
struct Cloud {
    /// Without repetitions.
    points: Vec<[f32; 3]>,
    unit: Vec<Vector3<f64>>,
}

impl Cloud {
    fn new(points: &[[f32; 3]]) -> Result<Self, Error> {
        let flat = || {
            Error::new(&codes::HULL_FLAT, "the points span no volume")
                .help("use a box for the collider, or a mesh with a thickness")
        };
        let mut points: Vec<[f32; 3]> =
            points.iter().filter(|p| p.iter().all(|x| x.is_finite())).map(|p| p.map(|x| x + 0.0)).collect();
        points.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])).then(a[2].total_cmp(&b[2])));
        points.dedup();
        if points.len() < 4 {
            return Err(flat());
        }
        let mut unit: Vec<Vector3<f64>> = points.iter().map(|p| Vector3::from(p.map(f64::from))).collect();
        // First along the coordinate axes, so that the principal axes are not lost in rounding; then along those.
        scale_to_unit(&mut unit, 0.0).ok_or_else(flat)?;
        let axes = principal_axes(&unit);
        unit.iter_mut().for_each(|p| *p = axes.tr_mul(p));
        scale_to_unit(&mut unit, FLAT).ok_or_else(flat)?;
        Ok(Self { points, unit })
    }

    /// The triangles of the hull, as indices into the points; `None` if the computation fails.
    fn hull(&self, grid: Option<f64>) -> Option<Vec<[u32; 3]>> {
        let snap = |x: f64| grid.map_or(x, |steps| (x * steps).round() / steps) + 0.0;
        let mut index: HashMap<[u64; 3], u32, foldhash::fast::RandomState> = HashMap::default();
        let mut distinct = Vec::new();
        for (i, p) in self.unit.iter().enumerate() {
            let p = [p.x, p.y, p.z].map(snap);
            index.entry(p.map(f64::to_bits)).or_insert_with(|| {
                distinct.push(ParryVector::new(p[0], p[1], p[2]));
                i as u32
            });
        }
        // In a thread of its own for the sake of its stack. A panic of the crate ends there too.
        let result = std::thread::scope(|scope| {
            let work = || try_convex_hull(&distinct);
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok()?;
            thread.join().ok()?.ok()
        });
        let (corners, triangles) = result?;
        let corners: Option<Vec<u32>> =
            corners.iter().map(|p| index.get(&[p.x, p.y, p.z].map(|x| (x + 0.0).to_bits())).copied()).collect();
        let corners = corners?;
        let mut hull: Vec<[u32; 3]> = Vec::with_capacity(triangles.len());
        for triangle in triangles {
            let [a, b, c] = triangle.map(|i| corners.get(i as usize).copied());
            hull.push([a?, b?, c?]);
        }
        if self.volume(&hull) < 0.0 {
            hull.iter_mut().for_each(|t| t.swap(1, 2));
        }
        Some(hull)
    }

    /// Six times the volume, with the points at unit size.
    fn volume(&self, hull: &[[u32; 3]]) -> f64 {
        hull.iter().map(|t| t.map(|i| self.unit[i as usize])).map(|[a, b, c]| a.dot(&b.cross(&c))).sum()
    }

    /// Whether a hull is closed, of one piece, and holds all points.
    fn is_sound(&self, hull: &[[u32; 3]]) -> bool {
        let mut edges: HashMap<(u32, u32), (), foldhash::fast::RandomState> = HashMap::default();
        let mut corners: Vec<u32> = Vec::new();
        for [a, b, c] in hull {
            for edge in [(*a, *b), (*b, *c), (*c, *a)] {
                if edge.0 == edge.1 || edges.insert(edge, ()).is_some() {
                    return false;
                }
                corners.push(edge.0);
            }
        }
        corners.sort_unstable();
        corners.dedup();
        let closed = edges.keys().all(|&(a, b)| edges.contains_key(&(b, a)));
        if !closed || corners.len() + hull.len() != edges.len() / 2 + 2 || self.volume(hull) <= 0.0 {
            return false;
        }
        let step = self.unit.len().div_ceil(CHECKED_POINTS);
        let checked: Vec<_> = self
            .unit
            .iter()
            .step_by(step)
            .chain(corners.iter().step_by(corners.len().div_ceil(CHECKED_POINTS)).map(|&i| &self.unit[i as usize]))
            .collect();
        hull.iter().all(|t| {
            let [a, b, c] = t.map(|i| self.unit[i as usize]);
            let Some(normal) = (b - a).cross(&(c - a)).try_normalize(1e-14) else { return true };
            checked.iter().all(|p| (*p - a).dot(&normal) <= OUTSIDE)
        })
    }

    fn mesh(&self, hull: &[[u32; 3]]) -> Mesh {
        let mut new: HashMap<u32, u32, foldhash::fast::RandomState> = HashMap::default();
        let mut points = Vec::new();
        let mut triangles: Vec<[u32; 3]> = Vec::with_capacity(hull.len());
        for triangle in hull {
            triangles.push(triangle.map(|i| {
                *new.entry(i).or_insert_with(|| {
                    points.push(self.points[i as usize]);
                    points.len() as u32 - 1
                })
            }));
        }
        // The principal axes may be left-handed, which turns everything inside out.
        let corner = |i: u32| Vector3::from(points[i as usize].map(f64::from)) - Vector3::from(points[0].map(f64::from));
        let volume: f64 = triangles.iter().map(|[a, b, c]| corner(*a).dot(&corner(*b).cross(&corner(*c)))).sum();
        if volume < 0.0 {
            triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        let normal = |t: &[u32; 3]| {
            let [a, b, c] = t.map(corner);
            let n = (b - a).cross(&(c - a)).try_normalize(0.0).unwrap_or_else(Vector3::z);
            [n.x as f32, n.y as f32, n.z as f32]
        };
        let normals = Corners {
            values: triangles.iter().map(normal).collect(),
            indices: (0..triangles.len() as u32).map(|i| [i; 3]).collect(),
        };
        let parts = vec![Part { triangles: 0..triangles.len(), material: None }];
        Mesh { points, triangles, normals, uvs: None, parts, materials: Vec::new() }
    }
}

/// Centres points and brings their extent along each axis to 1. `None` if one extent is no more than `flat` of the largest.
fn scale_to_unit(points: &mut [Vector3<f64>], flat: f64) -> Option<()> {
    let first = *points.first()?;
    let (low, high) = points.iter().fold((first, first), |(low, high), p| (low.inf(p), high.sup(p)));
    let extent = high - low;
    if extent.min() <= flat * extent.max() {
        return None;
    }
    let centre = (low + high) / 2.0;
    points.iter_mut().for_each(|p| *p = (*p - centre).component_div(&extent));
    Some(())
}

/// The principal axes of points, as columns.
fn principal_axes(points: &[Vector3<f64>]) -> Matrix3<f64> {
    let mean = points.iter().sum::<Vector3<f64>>() / points.len() as f64;
    let covariance: Matrix3<f64> = points.iter().map(|p| (p - mean) * (p - mean).transpose()).sum();
    SymmetricEigen::new(covariance).eigenvectors
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn volume(mesh: &Mesh) -> f64 {
        let corner = |i: u32| Vector3::from(mesh.points[i as usize].map(f64::from));
        mesh.triangles.iter().map(|[a, b, c]| corner(*a).dot(&corner(*b).cross(&corner(*c)))).sum::<f64>() / 6.0
    }

    fn cube(size: [f32; 3], turn: f32) -> Vec<[f32; 3]> {
        let (sin, cos) = turn.sin_cos();
        (0..8)
            .map(|i| std::array::from_fn::<f32, 3, _>(|k| if i >> k & 1 == 1 { size[k] } else { 0.0 }))
            .map(|[x, y, z]| [cos * x - sin * z, y, sin * x + cos * z])
            .collect()
    }

    #[test]
    fn a_box_with_points_inside() {
        let mut points = cube([1.0, 2.0, 3.0], 0.0);
        points.extend([[0.5, 0.5, 0.5], [0.5, 1.0, 3.0], [f32::NAN, 0.0, 0.0], [0.0, 0.0, f32::INFINITY], [0.0; 3]]);
        let hull = convex_hull(&points).unwrap();
        assert!(hull.points.len() <= 9, "{:?}", hull.points);
        assert!((volume(&hull) - 6.0).abs() < 1e-6);
        assert_eq!(hull.parts, [Part { triangles: 0..hull.triangles.len(), material: None }]);
        for (normals, triangle) in hull.normals.indices.iter().zip(&hull.triangles) {
            let normal = Vector3::from(hull.normals.values[normals[0] as usize]);
            let [a, b, c] = triangle.map(|i| Vector3::from(hull.points[i as usize]));
            assert!(normal.dot(&(b - a).cross(&(c - a))) > 0.0);
            assert!(normal.dot(&(a - Vector3::new(0.5, 1.0, 1.5))) > 0.0);
        }
    }

    #[test]
    fn thin_boxes_in_any_direction() {
        for thickness in [1e-2, 1e-3, 1e-4, 1e-5] {
            for turn in [0.0, 0.3, 0.785] {
                let hull = convex_hull(&cube([1.0, 1.0, thickness], turn)).unwrap();
                let relative = volume(&hull) / f64::from(thickness);
                assert!((relative - 1.0).abs() < 1e-2, "{thickness} {turn}: {relative}");
            }
        }
    }

    #[test]
    fn no_volume_no_hull() {
        let line: Vec<_> = (0..10).map(|i| [i as f32, 2.0 * i as f32, 0.5]).collect();
        let plane: Vec<_> = (0..100).map(|i| [(i % 10) as f32, (i / 10) as f32, (i % 10) as f32]).collect();
        for points in [&[][..], &[[0.0; 3]; 9], &line, &plane, &[[f32::NAN; 3]; 4]] {
            assert_eq!(convex_hull(points).unwrap_err().code.id, "hull-flat");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn hulls_hold_their_points_in_any_order(
            mut points in prop::collection::vec(prop::array::uniform3(-4_i8..=4), 4..60),
            scale in prop::array::uniform3(1e-4_f32..1e4),
        ) {
            let scaled = |points: &[[i8; 3]]| -> Vec<[f32; 3]> {
                points.iter().map(|p| std::array::from_fn(|k| f32::from(p[k]) * scale[k])).collect()
            };
            match convex_hull(&scaled(&points)) {
                Ok(hull) => {
                    let expected = volume(&hull);
                    prop_assert!(expected > 0.0);
                    points.reverse();
                    prop_assert_eq!(convex_hull(&scaled(&points)).unwrap(), hull);
                }
                Err(error) => prop_assert_eq!(error.code.id, "hull-flat"),
            }
        }
    }
}
