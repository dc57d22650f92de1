//! Convex hulls.
//!
//! Quickhull (Barber, Dobkin and Huhdanpaa 1996), with every decision made by an exact predicate
//! (Shewchuk's adaptive `orient3d`): a point is either outside a face or not, however thin the
//! cloud and however nearly flat the face. So the hull is closed and convex by construction, and no
//! tolerance needs tuning.
//!
//! Physics engines want few corners. So the construction of a collider's hull takes the point farthest
//! outside of any face next, and ends early once the points that are left are near enough. The result is
//! inside the full hull and has the same bounds.

#![allow(
    clippy::indexing_slicing,
    reason = "points, faces and their neighbours are numbered here"
)]

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use nalgebra::Vector3;
use pulp::{Arch, NullaryFnOnce};
use robust::{Coord3D, orient3d};

use crate::deviation::{Surface, distance_squared};
use crate::{Corners, MeshArrays};

/// A hull thinner than this, relative to its extent, is flat: single precision resolves no less.
const FLAT: f64 = 1e-6;

/// Thickness to give points in one plane or on one line, relative to the diagonal of their bounding
/// box.
const THICKNESS: f64 = 1e-3;

/// Maximum number of corners of a hull where they suffice: the limit of PhysX on graphics cards,
/// and the number to which Newton and Isaac Sim reduce hulls that they compute.
const FEW_CORNERS: usize = 64;

/// Maximum number of corners of any hull: PhysX replaces hulls with more by its own.
const MOST_CORNERS: usize = 255;

/// Maximum thickness of bodies whose points are assigned to faces again ([`Cloud::reassign`]), relative to the diagonal
/// of their bounding box. That takes as long as all other steps together, and hulls of thicker bodies are no better.
const THIN: f64 = 0.03;

/// Number of corners at which points of thin bodies are assigned to faces again for the first time. The next times
/// are whenever there are a quarter more.
const REASSIGN_FROM: usize = 8;

/// Maximum distance of points outside a hull of [`FEW_CORNERS`], relative to the diagonal of their
/// bounding box.
pub(crate) const DEVIATION: f64 = 0.01;

/// Minimum protrusion of the corners of a [`clean_hull`], relative to the diagonal of the bounding box.
const PROTRUSION: f64 = 5e-4;

/// The points have no hull: the finite ones among them span no volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the points span no volume")]
pub struct Flat;

/// Returns the convex hull of points.
///
/// It is closed, wound counter-clockwise seen from outside, and has flat normals. Its points are a
/// subset of the input. The result does not depend on their order.
///
/// It has at most 64 corners if no point is then farther outside than 1 % of the diagonal of their
/// bounding box, otherwise up to 255.
///
/// # Errors
/// If the points (those that are finite) span no volume.
pub fn convex_hull(points: &[[f32; 3]]) -> Result<MeshArrays, Flat> {
    reduced_hull(points, 0.0)
}

/// Returns the convex hull of points like [`convex_hull`], without corners that protrude by less than 0.05 %
/// of the diagonal of the bounding box.
///
/// Points on cut edges are collinear but for rounding: their hull has faces without a reliable normal.
pub(crate) fn clean_hull(points: &[[f32; 3]]) -> Result<MeshArrays, Flat> {
    reduced_hull(points, PROTRUSION)
}

/// Returns a hull with few corners, of points that protrude by more than `least`, relative to the diagonal of
/// the bounding box.
fn reduced_hull(points: &[[f32; 3]], least: f64) -> Result<MeshArrays, Flat> {
    let (points, cloud) = Cloud::of(&outer(points));
    let hull = cloud.reduced(&points, least * cloud.diagonal).ok_or(Flat)?;
    Ok(mesh(&points, &cloud, &hull))
}

/// The corners of a hull, and its faces, counter-clockwise seen from outside.
pub(crate) struct ExactHull {
    pub corners: Vec<[f32; 3]>,
    pub faces: Vec<[u32; 3]>,
}

/// Returns the exact convex hull of points; `None` if they span no volume.
pub(crate) fn exact_hull(points: &[[f32; 3]]) -> Option<ExactHull> {
    let (points, cloud) = Cloud::of(&outer(points));
    Some(ExactHull::of(&points, &cloud.exact_hull()?))
}

/// Returns the convex hull of points in one plane or on one line, for which [`convex_hull`] fails.
///
/// The points are thickened first: across the plane, or in both directions across the line, by 0.1
/// % of the diagonal of their bounding box, half of it to each side. The rest is as in
/// [`convex_hull`].
///
/// # Errors
/// If the finite points are fewer than two, or so far from the origin that single precision can't
/// represent the thickness.
pub fn thick_hull(points: &[[f32; 3]]) -> Result<MeshArrays, Flat> {
    let (points, cloud) = Cloud::of(points);
    let half = THICKNESS / 2.0 * cloud.diagonal;
    let across = cloud.across();
    let mut thick: Vec<Vector3<f64>> = cloud.points;
    for direction in across {
        thick = thick
            .iter()
            .flat_map(|point| [point - direction * half, point + direction * half])
            .collect();
    }
    let thick: Vec<[f32; 3]> = thick
        .iter()
        .map(|point| [point.x, point.y, point.z].map(|x| x as f32))
        .collect();
    convex_hull(if points.is_empty() { &points } else { &thick })
}

/// Clouds with fewer points are not filtered: the hull itself takes no longer.
const MANY_POINTS: usize = 200;

/// Directions in which extreme points are searched, both ways.
const DIRECTIONS: [[f32; 3]; 7] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 1.0, 1.0],
    [1.0, 1.0, -1.0],
    [1.0, -1.0, 1.0],
    [-1.0, 1.0, 1.0],
];

/// Minimum depth of a point inside the hull of the extreme points to be discarded, relative to the
/// diagonal of their bounding box: larger than the rounding error of a distance.
const MARGIN: f32 = 1e-5;

/// Number of points processed at a time, in single precision and in double precision: two vectors of 256 bits.
const LANES: usize = 16;
const WIDE_LANES: usize = 8;

/// Discards points that are certainly interior: those inside the hull of the extreme points in some
/// directions (Akl and Toussaint 1978). The hull of the remaining points is the same.
fn outer(points: &[[f32; 3]]) -> Cow<'_, [[f32; 3]]> {
    let all = Cow::Borrowed(points);
    // Infinite points would be the extremes. `Cloud::of` drops them afterwards.
    if points.len() < MANY_POINTS || !points.as_flattened().iter().all(|x| x.is_finite()) {
        return all;
    }
    let (farthest, cloud) = Cloud::of(&Arch::new().dispatch(FarthestPoints(points)));
    let Some(simplex) = cloud
        .first_simplex()
        // Distances and the margin are then well inside the range of single precision.
        .filter(|_| (1e-30..1e30).contains(&cloud.diagonal))
    else {
        return all;
    };
    // Relative to one of the points, single precision is finer than the margin.
    let origin = farthest[0];
    let margin = MARGIN * cloud.diagonal as f32;
    let mut planes: Vec<([f32; 3], f32)> = Vec::new();
    for face in cloud.hull(simplex) {
        let [a, b, c] = face.map(|i| *cloud.point(i));
        let (along, across) = (b - a, c - a);
        let normal = along.cross(&across);
        // The normal of a sliver is too inaccurate.
        let Some(normal) = normal.try_normalize(1e-4 * along.norm() * across.norm()) else {
            return all;
        };
        let offset = normal.dot(&(a - cloud.point(0))) as f32 - margin;
        planes.push(([normal.x, normal.y, normal.z].map(|x| x as f32), offset));
    }
    let outside = PointsOutside {
        points,
        origin,
        planes: &planes,
    };
    Arch::new().dispatch(outside).into()
}

/// Returns the coordinates of up to [`LANES`] points by axis; missing ones repeat the last.
#[inline(always)]
fn by_axis(points: &[[f32; 3]], origin: [f32; 3]) -> [[f32; LANES]; 3] {
    let mut at = [[0.0; LANES]; 3];
    for i in 0..LANES {
        let point = points[i.min(points.len() - 1)];
        for k in 0..3 {
            at[k][i] = point[k] - origin[k];
        }
    }
    at
}

/// Finds the farthest point in each of the [`DIRECTIONS`], backwards and forwards: of several the first by its
/// coordinates, so that the order of the points makes no difference.
struct FarthestPoints<'a>(&'a [[f32; 3]]);

impl NullaryFnOnce for FarthestPoints<'_> {
    type Output = Vec<[f32; 3]>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        farthest_points(self.0)
    }
}

#[inline(always)]
fn farthest_points(points: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let mut low = [[f32::INFINITY; LANES]; DIRECTIONS.len()];
    let mut high = [[f32::NEG_INFINITY; LANES]; DIRECTIONS.len()];
    for points in points.chunks(LANES) {
        let [xs, ys, zs] = by_axis(points, [0.0; 3]);
        for ([x, y, z], (low, high)) in DIRECTIONS.iter().zip(low.iter_mut().zip(&mut high)) {
            for i in 0..LANES {
                let along = x * xs[i] + y * ys[i] + z * zs[i];
                low[i] = if along < low[i] { along } else { low[i] };
                high[i] = if along > high[i] { along } else { high[i] };
            }
        }
    }
    let ends: [[f32; 2]; DIRECTIONS.len()] = std::array::from_fn(|k| {
        [
            low[k].iter().copied().fold(f32::INFINITY, f32::min),
            high[k].iter().copied().fold(f32::NEG_INFINITY, f32::max),
        ]
    });
    let mut farthest = [[None; 2]; DIRECTIONS.len()];
    for points in points.chunks(LANES) {
        let [xs, ys, zs] = by_axis(points, [0.0; 3]);
        let directions = DIRECTIONS.iter().zip(&ends).zip(&mut farthest);
        for (([x, y, z], ends), farthest) in directions {
            let mut is_end = false;
            for i in 0..LANES {
                let along = x * xs[i] + y * ys[i] + z * zs[i];
                is_end |= (along == ends[0]) | (along == ends[1]);
            }
            if !is_end {
                continue;
            }
            for point in points {
                let along = x * point[0] + y * point[1] + z * point[2];
                for (end, farthest) in ends.iter().zip(&mut *farthest) {
                    let is_first = |known: [f32; 3]| key(*point) < key(known);
                    if along == *end && farthest.is_none_or(is_first) {
                        *farthest = Some(*point);
                    }
                }
            }
        }
    }
    farthest.into_iter().flatten().flatten().collect()
}

/// Collects the points that are outside at least one of the planes, given by normal and offset from `origin`.
struct PointsOutside<'a> {
    points: &'a [[f32; 3]],
    origin: [f32; 3],
    planes: &'a [([f32; 3], f32)],
}

impl NullaryFnOnce for PointsOutside<'_> {
    type Output = Vec<[f32; 3]>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        points_outside(self.points, self.origin, self.planes)
    }
}

#[inline(always)]
fn points_outside(
    points: &[[f32; 3]],
    origin: [f32; 3],
    planes: &[([f32; 3], f32)],
) -> Vec<[f32; 3]> {
    let mut kept = Vec::with_capacity(points.len());
    for points in points.chunks(LANES) {
        let [xs, ys, zs] = by_axis(points, origin);
        let mut height = [f32::NEG_INFINITY; LANES];
        for ([x, y, z], offset) in planes {
            for i in 0..LANES {
                let above = x * xs[i] + y * ys[i] + z * zs[i] - offset;
                height[i] = if above > height[i] { above } else { height[i] };
            }
        }
        let outside = points.iter().zip(height);
        kept.extend(
            outside
                .filter(|(_, height)| *height >= 0.0)
                .map(|(point, _)| *point),
        );
    }
    kept
}

/// A face of the hull under construction.
struct Face {
    /// Counter-clockwise from outside.
    corners: [u32; 3],
    /// Position of the first corner.
    at: Vector3<f64>,
    /// Unit length; zero if the face has no area.
    normal: Vector3<f64>,
    /// If the magnitude of a point's height above the face is below this, rounding may have changed its sign.
    unsure: f64,
    /// The faces across the edges that start at each corner.
    neighbours: [u32; 3],
    /// The first of the points assigned to this face: they are outside it. [`NONE`] if there are none.
    outside: u32,
    /// The farthest of them, the first of equally far ones, and its height.
    farthest: (f64, u32),
    alive: bool,
}

impl Face {
    fn height(&self, point: &Vector3<f64>) -> f64 {
        (point - self.at).dot(&self.normal)
    }
}

/// "No point" in lists of points.
const NONE: u32 = u32::MAX;

/// Faces of a hull under construction, with memory for [`Cloud::add`] that is reused between points.
#[derive(Default)]
struct Faces {
    all: Vec<Face>,
    /// The next point assigned to the same face, for each point: lists of points, which move between
    /// faces without allocation.
    next: Vec<u32>,
    /// The face that starts or ends at each corner of the last horizon, on the horizon's edge.
    by_start: Vec<u32>,
    by_end: Vec<u32>,
    dead: Vec<u32>,
    /// Edges of the horizon in the direction of the visible face, and the face beyond.
    rim: Vec<(u32, u32, u32)>,
    orphans: Orphans,
}

impl Faces {
    /// Returns the corners of the faces that are alive.
    fn alive(&self) -> Vec<[u32; 3]> {
        let alive = self.all.iter().filter(|face| face.alive);
        alive.map(|face| face.corners).collect()
    }

    /// Returns whether no point is farther than `distance` from the hull.
    fn are_near(&self, distance: f32, points: &[[f32; 3]]) -> bool {
        let corners = |face: [u32; 3]| face.map(|corner| points[corner as usize]);
        // Most points are near the face that they are assigned to.
        let alive = self.all.iter().filter(|face| face.alive);
        let mut far = alive.flat_map(|face| {
            let triangle = corners(face.corners);
            let is_far = move |missed: &u32| {
                distance_squared(points[*missed as usize], &triangle) > distance * distance
            };
            self.outside(face).filter(is_far)
        });
        let Some(first) = far.next() else {
            return true;
        };
        let faces = self.alive();
        let surface = Surface::new(points, &faces);
        std::iter::once(first).chain(far).all(|missed| {
            let near = |face: usize| corners(faces[face]);
            surface
                .find(points[missed as usize], distance, near)
                .is_some()
        })
    }

    /// Returns the points assigned to a face.
    fn outside(&self, face: &Face) -> impl Iterator<Item = u32> {
        let listed = |point: u32| (point != NONE).then_some(point);
        std::iter::successors(listed(face.outside), move |point| {
            listed(self.next[*point as usize])
        })
    }
}

/// Points that lost their face, as a structure of arrays for vectorised loops.
#[derive(Default)]
struct Orphans {
    points: Vec<u32>,
    /// Their coordinates, up to a whole number of lanes.
    at: [Vec<f64>; 3],
    /// The largest height of each point above a face, and the number of that face, as floats: they share the
    /// masks of the heights.
    heights: Vec<f64>,
    faces: Vec<f64>,
}

impl Orphans {
    fn clear(&mut self) {
        self.points.clear();
        self.at.iter_mut().for_each(Vec::clear);
    }

    fn push(&mut self, point: u32, at: &Vector3<f64>) {
        self.points.push(point);
        for (axis, x) in self.at.iter_mut().zip(at.iter()) {
            axis.push(*x);
        }
    }

    /// Finds the highest of `faces` below each point.
    #[inline(always)]
    fn measure(&mut self, faces: &[Face]) {
        let Self {
            points,
            at,
            heights,
            faces: highest,
        } = self;
        let count = points.len().next_multiple_of(WIDE_LANES);
        at.iter_mut().for_each(|axis| axis.resize(count, 0.0));
        heights.resize(count, 0.0);
        highest.resize(count, 0.0);
        let [xs, ys, zs] = at.each_ref().map(|axis| axis.as_chunks::<WIDE_LANES>().0);
        let heights = heights.as_chunks_mut::<WIDE_LANES>().0;
        let highest = highest.as_chunks_mut::<WIDE_LANES>().0;
        let at = xs.iter().zip(ys).zip(zs);
        for (((xs, ys), zs), (heights, highest)) in at.zip(heights.iter_mut().zip(highest)) {
            let (mut most, mut numbers) = ([f64::NEG_INFINITY; WIDE_LANES], [0.0; WIDE_LANES]);
            for (Face { at, normal, .. }, number) in faces.iter().zip(0_u32..) {
                for i in 0..WIDE_LANES {
                    let height = (xs[i] - at.x) * normal.x
                        + (ys[i] - at.y) * normal.y
                        + (zs[i] - at.z) * normal.z;
                    let is_higher = height > most[i];
                    most[i] = if is_higher { height } else { most[i] };
                    numbers[i] = if is_higher {
                        f64::from(number)
                    } else {
                        numbers[i]
                    };
                }
            }
            (*heights, *highest) = (most, numbers);
        }
    }
}

/// Measures points that lost their face against new faces.
struct Measure<'a>(&'a mut Orphans, &'a [Face]);

impl NullaryFnOnce for Measure<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.measure(self.1);
    }
}

/// Distinct points.
struct Cloud {
    points: Vec<Vector3<f64>>,
    /// The lowest and the highest point along each axis.
    extremes: [Option<(u32, u32)>; 3],
    /// The length of the diagonal of the box around them.
    diagonal: f64,
}

impl Cloud {
    /// Returns the finite points among `points`, sorted and deduplicated, in single precision and
    /// as a cloud.
    fn of(points: &[[f32; 3]]) -> (Vec<[f32; 3]>, Self) {
        let mut points: Vec<[f32; 3]> = points
            .iter()
            .filter(|p| p.iter().all(|x| x.is_finite()))
            // This turns -0.0 into 0.0: `total_cmp` would sort them apart, where `dedup` misses
            // them.
            .map(|p| p.map(|x| x + 0.0))
            .collect();
        // Sorted, the hull doesn't depend on the order of the input. Comparing one number is faster than
        // comparing up to three.
        let mut keys: Vec<u128> = points.iter().map(|point| key(*point)).collect();
        keys.sort_unstable();
        keys.dedup();
        points.clear();
        points.extend(keys.into_iter().map(point_of));
        let mut cloud = Self {
            points: points
                .iter()
                .map(|p| Vector3::from(p.map(f64::from)))
                .collect(),
            extremes: [None; 3],
            diagonal: 0.0,
        };
        cloud.extremes = cloud.find_extremes();
        let lengths = cloud.extremes.iter().enumerate().map(|(axis, ends)| {
            ends.map_or(0.0, |(low, high)| {
                cloud.point(high)[axis] - cloud.point(low)[axis]
            })
        });
        cloud.diagonal = lengths.map(|length| length * length).sum::<f64>().sqrt();
        (points, cloud)
    }

    /// Returns the directions in which points in one plane or on one line have no extent: the
    /// normal of the plane, or two perpendicular to the line.
    fn across(&self) -> Vec<Vector3<f64>> {
        let ends = self.extremes.into_iter().flatten();
        let along = ends
            .map(|(low, high)| self.point(high) - self.point(low))
            .max_by(|a, b| a.norm().total_cmp(&b.norm()));
        let Some(along) = along.and_then(|along| along.try_normalize(0.0)) else {
            return Vec::new();
        };
        let first = self.points[0];
        let off = |point: &Vector3<f64>| (point - first).cross(&along);
        let normal = self
            .points
            .iter()
            .map(off)
            .max_by(|a, b| a.norm().total_cmp(&b.norm()))
            .unwrap_or_default();
        // `along` has unit length, so this is the largest distance from the line.
        if normal.norm() > FLAT * self.diagonal {
            return vec![normal.normalize()];
        }
        // The axis least parallel to the line: its cross product is the most accurate.
        let axis = Vector3::ith(along.iamin(), 1.0);
        let side = along.cross(&axis).normalize();
        vec![side, along.cross(&side)]
    }

    fn point(&self, i: u32) -> &Vector3<f64> {
        &self.points[i as usize]
    }

    /// Returns six times the signed volume of a tetrahedron, with an exact sign: negative if `p` is
    /// outside the face.
    fn side(&self, face: [u32; 3], p: u32) -> f64 {
        let [a, b, c, d] = [face[0], face[1], face[2], p].map(|i| coordinate(self.point(i)));
        orient3d(a, b, c, d)
    }

    /// Creates a face without outside points.
    fn face(&self, corners: [u32; 3], neighbours: [u32; 3]) -> Face {
        let [a, b, c] = corners.map(|i| *self.point(i));
        let (along, across) = (b - a, c - a);
        let normal = along.cross(&across);
        let area = normal.norm();
        let (normal, unsure) = if area > 0.0 {
            // The rounding error is less than 24 times half of this epsilon.
            let lengths = (along.norm_squared() * across.norm_squared()).sqrt();
            let unsure = 32.0 * f64::EPSILON * (lengths / area) * self.diagonal;
            (normal / area, unsure)
        } else {
            (Vector3::zeros(), f64::INFINITY)
        };
        Face {
            corners,
            at: a,
            normal,
            unsure,
            neighbours,
            outside: NONE,
            farthest: (f64::NEG_INFINITY, NONE),
            alive: true,
        }
    }

    /// Returns whether a point is outside a face. Evaluates its plane first, and the slower exact
    /// predicate only where rounding may have changed the sign.
    fn is_outside(&self, face: &Face, point: u32) -> bool {
        let height = face.height(self.point(point));
        if height.abs() > face.unsure {
            height > 0.0
        } else {
            self.side(face.corners, point) < 0.0
        }
    }

    /// Returns a tetrahedron of points far from each other, the first three corners
    /// counter-clockwise from outside; `None` if all points are in one plane.
    fn first_simplex(&self) -> Option<[u32; 4]> {
        let length = |(a, b): (u32, u32)| (self.point(a) - self.point(b)).norm_squared();
        let (a, b) = self
            .extremes
            .into_iter()
            .flatten()
            .max_by(|p, q| length(*p).total_cmp(&length(*q)))?;
        let along = self.point(b) - self.point(a);
        let c = self.farthest(|p| (p - self.point(a)).cross(&along).norm_squared())?;
        let d = self.farthest_from_plane([a, b, c])?;
        match self.side([a, b, c], d) {
            volume if volume > 0.0 => Some([a, b, c, d]),
            volume if volume < 0.0 => Some([a, c, b, d]),
            _ => None,
        }
    }

    /// Returns the first of the points with the largest distance.
    fn farthest(&self, distance: impl Fn(&Vector3<f64>) -> f64) -> Option<u32> {
        let mut farthest = (f64::NEG_INFINITY, None);
        for (point, number) in self.points.iter().zip(0..) {
            let distance = distance(point);
            if farthest.1.is_none() || distance.total_cmp(&farthest.0).is_gt() {
                farthest = (distance, Some(number));
            }
        }
        farthest.1
    }

    /// Returns the first of the points that are farthest from a plane by the exact predicate: with rounding, a
    /// point in the plane could pass for the apex.
    fn farthest_from_plane(&self, plane: [u32; 3]) -> Option<u32> {
        let [a, b, c] = plane.map(|i| *self.point(i));
        // The first step of the exact predicate, which is also its result for points far from the plane.
        let volume = |d: &Vector3<f64>| {
            let (a, b, c) = (a - d, b - d, c - d);
            let of_bc = a.z * (b.x * c.y - c.x * b.y);
            let of_ca = b.z * (c.x * a.y - a.x * c.y);
            let of_ab = c.z * (a.x * b.y - b.x * a.y);
            of_bc + of_ca + of_ab
        };
        let d = self.farthest(|d| volume(d).abs())?;
        // More than twice the error bound of that step, so no point that takes further steps is farther.
        if volume(self.point(d)).abs() > 1e-14 * self.diagonal.powi(3) {
            return Some(d);
        }
        let side = |d: &Vector3<f64>| {
            orient3d(
                coordinate(&a),
                coordinate(&b),
                coordinate(&c),
                coordinate(d),
            )
        };
        self.farthest(|d| side(d).abs())
    }

    /// Returns the faces of the hull; `None` if the points span no volume.
    fn exact_hull(&self) -> Option<Vec<[u32; 3]>> {
        let faces = self.hull(self.first_simplex()?);
        (!self.is_flat(&faces)).then_some(faces)
    }

    /// Computes the hull by Quickhull, from a tetrahedron of its points.
    fn hull(&self, simplex: [u32; 4]) -> Vec<[u32; 3]> {
        let mut faces = self.tetrahedron(simplex);
        // `add` appends faces, so the loop ends when no face has a point outside.
        let mut next = 0;
        while let Some(face) = faces.all.get(next) {
            if face.alive && face.outside != NONE {
                let (_, point) = face.farthest;
                self.add(&mut faces, next as u32, point);
            } else {
                next += 1;
            }
        }
        faces.alive()
    }

    /// Returns the faces of the hull of as many points as the tolerance requires, of those that protrude by more
    /// than `least`; `points` are the cloud's. If they are few and `least` is zero, the hull is exact. `None` if the
    /// points span no volume.
    fn reduced(&self, points: &[[f32; 3]], least: f64) -> Option<Vec<[u32; 3]>> {
        let simplex = self.first_simplex()?;
        let mut faces = self.tetrahedron(simplex);
        let mut taken = simplex.len();
        // The extremes come first, so that the reduced hull has the bounds of the full one. In a hull without small
        // protrusions, they may protrude by rounding only.
        let extremes = self.extremes.into_iter().flatten();
        let extremes = extremes.flat_map(|(low, high)| [low, high]);
        for extreme in extremes.filter(|_| least <= 0.0) {
            let mut all = faces.all.iter();
            if let Some(seen) = all.position(|face| face.alive && self.is_outside(face, extreme)) {
                self.add(&mut faces, seen as u32, extreme);
                taken += 1;
            }
        }
        // The faces by the height of their farthest point. Bits of positive floats are in order.
        let mut waiting = BinaryHeap::new();
        let mut first = 0;
        // The number of corners when points were last assigned to all faces, and that of the next time.
        let is_thin = faces.all[0].height(self.point(simplex[3])).abs() < THIN * self.diagonal;
        let next = |count: usize| if is_thin { count } else { usize::MAX };
        let (mut fresh, mut due) = (taken, next(REASSIGN_FROM));
        // Stop at the first limit at which all points left outside are within the tolerance.
        // Checking after every corner would build a search tree each time.
        for bound in [FEW_CORNERS, MOST_CORNERS / 2, MOST_CORNERS] {
            while taken < bound {
                if taken >= due {
                    self.reassign(&mut faces);
                    waiting.clear();
                    (first, fresh, due) = (0, taken, next(taken + taken / 4 + 1));
                }
                for (face, number) in faces.all[first..].iter().zip(first as u32..) {
                    if face.alive && face.outside != NONE {
                        let (height, point) = face.farthest;
                        waiting.push((height.max(0.0).to_bits(), Reverse(number), point));
                    }
                }
                first = faces.all.len();
                let Some((height, Reverse(seen), point)) = waiting.pop() else {
                    break;
                };
                if least > 0.0 && f64::from_bits(height) <= least {
                    if fresh == taken {
                        break;
                    }
                    due = taken;
                } else if faces.all[seen as usize].alive {
                    self.add(&mut faces, seen, point);
                    taken += 1;
                }
            }
            if faces.are_near((DEVIATION * self.diagonal) as f32, points) {
                break;
            }
        }
        let reduced = faces.alive();
        if !self.is_flat(&reduced) {
            return Some(reduced);
        }
        // Some corners of a thin hull may span no volume, though all of them do. A closed surface of triangles has
        // four fewer than twice its corners.
        let exact = self.exact_hull();
        exact.filter(|faces| faces.len() <= 2 * MOST_CORNERS - 4)
    }

    /// Assigns each point outside to the one of all faces that it is farthest outside of, and removes dead faces.
    ///
    /// [`Cloud::add`] only assigns the points of removed faces, and only to new ones. So a point far beyond the rim of
    /// a plate may stay at a face that it is hardly above, and would be taken too late.
    fn reassign(&self, faces: &mut Faces) {
        let Faces {
            all, next, orphans, ..
        } = faces;
        let mut numbers = vec![NONE; all.len()];
        let alive = all.iter().enumerate().filter(|(_, face)| face.alive);
        for (new, (old, _)) in (0..).zip(alive) {
            numbers[old] = new;
        }
        all.retain(|face| face.alive);
        orphans.clear();
        for face in &mut *all {
            face.neighbours = face.neighbours.map(|face| numbers[face as usize]);
            face.farthest = (f64::NEG_INFINITY, NONE);
            let mut orphan = std::mem::replace(&mut face.outside, NONE);
            while orphan != NONE {
                orphans.push(orphan, self.point(orphan));
                orphan = next[orphan as usize];
            }
        }
        if !orphans.points.is_empty() {
            self.assign(all, orphans, next);
        }
    }

    /// Returns [`Self::extremes`].
    fn find_extremes(&self) -> [Option<(u32, u32)>; 3] {
        [0, 1, 2].map(|axis| {
            let (mut low, mut high) = (0, 0);
            let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
            for (point, number) in self.points.iter().zip(0..) {
                let at = point[axis];
                (low, lowest) = if at < lowest {
                    (number, at)
                } else {
                    (low, lowest)
                };
                // The last one of equally high points.
                (high, highest) = if at >= highest {
                    (number, at)
                } else {
                    (high, highest)
                };
            }
            (!self.points.is_empty()).then_some((low, high))
        })
    }

    /// Returns the faces of a tetrahedron and assigns the points outside to them.
    fn tetrahedron(&self, [a, b, c, d]: [u32; 4]) -> Faces {
        let face = |corners, neighbours| self.face(corners, neighbours);
        let mut faces = Faces {
            all: vec![
                face([a, b, c], [3, 2, 1]),
                face([a, c, d], [0, 2, 3]),
                face([c, b, d], [0, 3, 1]),
                face([b, a, d], [0, 1, 2]),
            ],
            next: vec![NONE; self.points.len()],
            by_start: vec![0; self.points.len()],
            by_end: vec![0; self.points.len()],
            ..Faces::default()
        };
        for (point, number) in self.points.iter().zip(0..) {
            if ![a, b, c, d].contains(&number) {
                faces.orphans.push(number, point);
            }
        }
        self.assign(&mut faces.all, &mut faces.orphans, &mut faces.next);
        faces
    }

    /// Assigns each point to the one of `faces` that it is farthest outside of. Points outside of none are inside the
    /// hull and are dropped.
    fn assign(&self, faces: &mut [Face], orphans: &mut Orphans, next: &mut [u32]) {
        Arch::new().dispatch(Measure(orphans, faces));
        let unsure = faces
            .iter()
            .fold(0.0_f64, |most, face| most.max(face.unsure));
        let heights = orphans.heights.iter().zip(&orphans.faces);
        for (&point, (&height, &number)) in orphans.points.iter().zip(heights) {
            let mut number = number as usize;
            // The exact predicate decides where rounding may have changed the sign.
            if height <= faces[number].unsure {
                let is_outside = |face: &Face| self.is_outside(face, point);
                let certain = height < -unsure;
                match faces.iter().position(|face| !certain && is_outside(face)) {
                    Some(found) => number = found,
                    None => continue,
                }
            }
            let face = &mut faces[number];
            next[point as usize] = std::mem::replace(&mut face.outside, point);
            let (farthest, first) = face.farthest;
            if height.total_cmp(&farthest).then(first.cmp(&point)).is_gt() {
                face.farthest = (height, point);
            }
        }
    }

    /// Replaces the faces visible from `point`, of which `seen` is one, by a cone from it to their
    /// horizon.
    fn add(&self, faces: &mut Faces, seen: u32, point: u32) {
        let Faces {
            all,
            next,
            by_start,
            by_end,
            dead,
            rim,
            orphans,
        } = faces;
        // The faces visible from a point are connected, so a search from one of them finds all.
        all[seen as usize].alive = false;
        dead.clear();
        dead.push(seen);
        rim.clear();
        let mut i = 0;
        while i < dead.len() {
            let Face {
                corners,
                neighbours,
                ..
            } = all[dead[i] as usize];
            for edge in 0..3 {
                let beyond = &mut all[neighbours[edge] as usize];
                if !beyond.alive {
                    continue;
                }
                if self.is_outside(beyond, point) {
                    beyond.alive = false;
                    dead.push(neighbours[edge]);
                } else {
                    rim.push((corners[edge], corners[(edge + 1) % 3], neighbours[edge]));
                }
            }
            i += 1;
        }
        let first = all.len() as u32;
        for ((from, to, _), number) in rim.iter().zip(first..) {
            by_start[*from as usize] = number;
            by_end[*to as usize] = number;
        }
        for ((from, to, beyond), number) in rim.iter().copied().zip(first..) {
            // The horizon is one closed loop, so each of its corners starts one edge and ends one.
            let neighbours = [beyond, by_start[to as usize], by_end[from as usize]];
            let neighbour = &mut all[beyond as usize];
            let corners = neighbour.corners;
            if let Some(edge) = (0..3).find(|&k| corners[k] == to && corners[(k + 1) % 3] == from) {
                neighbour.neighbours[edge] = number;
            }
            all.push(self.face([from, to, point], neighbours));
        }
        // The new faces suffice: a point outside a removed and a remaining face that are neighbours is also
        // outside the new face between them, whose normal is a positive mix of theirs.
        let (old, new) = all.split_at_mut(first as usize);
        orphans.clear();
        for face in dead {
            let mut orphan = std::mem::replace(&mut old[*face as usize].outside, NONE);
            while orphan != NONE {
                if orphan != point {
                    orphans.push(orphan, self.point(orphan));
                }
                orphan = next[orphan as usize];
            }
        }
        if !orphans.points.is_empty() {
            self.assign(new, orphans, next);
        }
    }

    /// Returns whether a hull is too thin to have a volume.
    fn is_flat(&self, hull: &[[u32; 3]]) -> bool {
        let (mut volume, mut area) = (0.0, 0.0);
        // Relative to a point of the hull: far from the origin the terms of the volume would
        // cancel.
        let origin = self.points[0];
        let mut extent = 0.0_f64;
        for face in hull {
            let [a, b, c] = face.map(|i| self.point(i) - origin);
            let normal = (b - a).cross(&(c - a));
            area += normal.norm() / 2.0;
            volume += a.dot(&normal) / 6.0;
            extent = extent.max(a.norm());
        }
        // Twice the volume of a plate over the area of its surface is its thickness.
        2.0 * volume <= FLAT * area * extent
    }
}

fn coordinate(point: &Vector3<f64>) -> Coord3D<f64> {
    Coord3D {
        x: point.x,
        y: point.y,
        z: point.z,
    }
}

/// Returns a number that sorts as the point's coordinates do, one axis after the other.
fn key(point: [f32; 3]) -> u128 {
    point.iter().fold(0, |key, x| {
        let bits = x.to_bits();
        // The order of floats is that of their bits, reversed for negative ones.
        let ordered = bits ^ (((bits as i32 >> 31) as u32) | 1 << 31);
        key << 32 | u128::from(ordered)
    })
}

/// Returns the point with this [`key`].
fn point_of(key: u128) -> [f32; 3] {
    [64, 32, 0].map(|shift| {
        let ordered = (key >> shift) as u32;
        f32::from_bits(ordered ^ ((!(ordered as i32 >> 31) as u32) | 1 << 31))
    })
}

impl ExactHull {
    /// Leaves out the points that no face has.
    fn of(points: &[[f32; 3]], faces: &[[u32; 3]]) -> Self {
        let mut new: HashMap<u32, u32, foldhash::fast::RandomState> = HashMap::default();
        let mut corners = Vec::new();
        let mut index = |i: u32| {
            *new.entry(i).or_insert_with(|| {
                corners.push(points[i as usize]);
                corners.len() as u32 - 1
            })
        };
        let faces = faces.iter().map(|face| face.map(&mut index)).collect();
        Self { corners, faces }
    }
}

fn mesh(points: &[[f32; 3]], cloud: &Cloud, hull: &[[u32; 3]]) -> MeshArrays {
    let ExactHull { corners, faces } = ExactHull::of(points, hull);
    let normal = |face: &[u32; 3]| {
        let [a, b, c] = face.map(|i| cloud.point(i));
        let normal = (b - a)
            .cross(&(c - a))
            .try_normalize(0.0)
            .unwrap_or_else(Vector3::z);
        [normal.x as f32, normal.y as f32, normal.z as f32]
    };
    let normals = Corners {
        values: hull.iter().map(normal).collect(),
        indices: (0..hull.len() as u32).map(|i| [i; 3]).collect(),
    };
    MeshArrays {
        points: corners,
        triangles: faces,
        normals,
        uvs: None,
        colors: None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::shapes::cuboid as cuboid_at;

    fn volume(mesh: &MeshArrays) -> f64 {
        let corner = |i: u32| Vector3::from(mesh.points[i as usize].map(f64::from));
        mesh.triangles
            .iter()
            .map(|[a, b, c]| corner(*a).dot(&corner(*b).cross(&corner(*c))))
            .sum::<f64>()
            / 6.0
    }

    /// Asserts that a mesh is closed, of one piece, convex and holds all points.
    fn check(mesh: &MeshArrays, points: &[[f32; 3]]) {
        let mut edges = std::collections::HashSet::new();
        for [a, b, c] in &mesh.triangles {
            for edge in [(*a, *b), (*b, *c), (*c, *a)] {
                assert!(edges.insert(edge), "an edge is used twice");
            }
        }
        assert!(
            edges.iter().all(|(a, b)| edges.contains(&(*b, *a))),
            "an edge is open"
        );
        assert_eq!(
            mesh.points.len() + mesh.triangles.len(),
            edges.len() / 2 + 2
        );
        let coordinate = |p: [f32; 3]| Coord3D {
            x: f64::from(p[0]),
            y: f64::from(p[1]),
            z: f64::from(p[2]),
        };
        for triangle in &mesh.triangles {
            let [a, b, c] = triangle.map(|i| coordinate(mesh.points[i as usize]));
            assert!(
                points
                    .iter()
                    .all(|p| orient3d(a, b, c, coordinate(*p)) >= 0.0),
                "a point is outside"
            );
        }
    }

    fn cuboid(size: [f32; 3], turn: f32) -> Vec<[f32; 3]> {
        let (sin, cos) = turn.sin_cos();
        let (corners, _) = cuboid_at([0.0; 3], size.map(f64::from));
        corners
            .iter()
            .map(|corner| corner.map(|x| x as f32))
            .map(|[x, y, z]| [cos * x - sin * z, y, sin * x + cos * z])
            .collect()
    }

    #[test]
    fn a_box_with_points_inside() {
        let mut points = cuboid([1.0, 2.0, 3.0], 0.0);
        points.extend([[0.5, 0.5, 0.5], [0.5, 1.0, 3.0], [0.5, 0.0, 0.0], [0.0; 3]]);
        let hull = convex_hull(&points).unwrap();
        check(&hull, &points);
        assert_eq!((hull.points.len(), hull.triangles.len()), (8, 12));
        assert!((volume(&hull) - 6.0).abs() < 1e-9);
        points.extend([[f32::NAN, 0.0, 0.0], [0.0, 0.0, f32::INFINITY]]);
        points.reverse();
        assert_eq!(convex_hull(&points).unwrap(), hull);
        for (normals, triangle) in hull.normals.indices.iter().zip(&hull.triangles) {
            let normal = Vector3::from(hull.normals.values[normals[0] as usize]);
            let corner = Vector3::from(hull.points[triangle[0] as usize]);
            assert!(normal.dot(&(corner - Vector3::new(0.5, 1.0, 1.5))) > 0.0);
        }
    }

    #[test]
    fn points_inside_make_no_difference() {
        let shrunk =
            |points: Vec<[f32; 3]>, by: f32| points.into_iter().map(move |p| p.map(|x| x * by));
        let shells = |points: fn() -> Vec<[f32; 3]>| -> Vec<[f32; 3]> {
            (0..20_u8)
                .flat_map(|i| shrunk(points(), 1.0 - f32::from(i) * 0.05))
                .map(|p| [p[0] + 7.0, p[1] - 3.0, p[2] * 0.2])
                .collect()
        };
        for points in [shells(|| ball(300)), shells(|| ball(41))] {
            let left = outer(&points);
            assert!(
                left.len() < points.len() / 2,
                "{} of {}",
                left.len(),
                points.len()
            );
            let (all, cloud) = Cloud::of(&points);
            let hull = cloud.reduced(&all, 0.0).unwrap();
            assert_eq!(convex_hull(&points).unwrap(), mesh(&all, &cloud, &hull));
        }
        // Flat clouds, and those whose products overflow single precision, are returned unchanged.
        let flat: Vec<_> = ball(300).into_iter().map(|[x, y, _]| [x, y, 0.0]).collect();
        let far: Vec<_> = ball(300).into_iter().map(|p| p.map(|x| x * 1e35)).collect();
        assert!(outer(&flat).len() == 300 && outer(&far).len() == 300);
    }

    #[test]
    fn thin_boxes_in_any_direction() {
        for thickness in [1e-2, 1e-3, 1e-4, 1e-5] {
            for turn in [0.0, 0.3, 0.785] {
                let points = cuboid([1.0, 1.0, thickness], turn);
                let hull = convex_hull(&points).unwrap();
                check(&hull, &points);
                let relative = volume(&hull) / f64::from(thickness);
                assert!(
                    (relative - 1.0).abs() < 1e-2,
                    "{thickness} {turn}: {relative}"
                );
            }
        }
    }

    #[test]
    fn no_volume_no_hull() {
        let line: Vec<_> = (0..10).map(|i| [i as f32, 2.0 * i as f32, 0.5]).collect();
        let plane: Vec<_> = (0..100)
            .map(|i| [(i % 10) as f32, (i / 10) as f32, (i % 10) as f32])
            .collect();
        let turned = cuboid([1.0, 1.0, 0.0], 0.3);
        for points in [
            &[][..],
            &[[0.0; 3]; 9],
            &line,
            &plane,
            &turned,
            &[[f32::NAN; 3]; 4],
        ] {
            assert_eq!(convex_hull(points), Err(Flat));
        }
    }

    #[test]
    fn what_has_no_volume_gets_a_thickness() {
        let line: Vec<_> = (0..10).map(|i| [i as f32, 2.0 * i as f32, 0.5]).collect();
        let plane: Vec<_> = (0..100)
            .map(|i| [(i % 10) as f32, (i / 10) as f32, (i % 10) as f32])
            .collect();
        let nearly = cuboid([1.0, 1.0, 1e-7], 0.3);
        for (points, area, directions) in [
            (line, 0.0, 2),
            (plane, 9.0 * 9.0 * 2.0_f64.sqrt(), 1),
            (cuboid([1.0, 1.0, 0.0], 0.3), 1.0, 1),
            (nearly, 1.0, 1),
            (cuboid([1e-3, 2e-3, 0.0], 0.0), 2e-6, 1),
        ] {
            let hull = thick_hull(&points).unwrap();
            check(&hull, &hull.points);
            assert!(missed(&hull, &points) <= 1e-6 * Cloud::of(&points).1.diagonal);
            let diagonal = Cloud::of(&points).1.diagonal;
            let thickness = THICKNESS * diagonal;
            let expected = if directions == 2 {
                diagonal * thickness * thickness
            } else {
                area * thickness
            };
            assert!(
                (volume(&hull) / expected - 1.0).abs() < 1e-2,
                "{} is not {expected}",
                volume(&hull)
            );
            let mut turned = points.clone();
            turned.reverse();
            assert_eq!(thick_hull(&turned).unwrap(), hull);
        }
        for points in [&[][..], &[[0.0; 3]; 9], &[[f32::NAN; 3]; 4]] {
            assert_eq!(thick_hull(points), Err(Flat));
        }
    }

    /// Returns points distributed over the unit sphere.
    fn ball(count: u32) -> Vec<[f32; 3]> {
        let golden = std::f32::consts::PI * (3.0 - 5.0_f32.sqrt());
        (0..count)
            .map(|i| {
                let z = 1.0 - 2.0 * (i as f32 + 0.5) / count as f32;
                let (sin, cos) = (golden * i as f32).sin_cos();
                let radius = (1.0 - z * z).sqrt();
                [cos * radius, sin * radius, z]
            })
            .collect()
    }

    /// Returns the largest distance of a point from the planes of a hull, by brute force.
    fn missed(hull: &MeshArrays, points: &[[f32; 3]]) -> f64 {
        let planes = hull
            .triangles
            .iter()
            .zip(&hull.normals.values)
            .map(|(triangle, normal)| {
                (
                    Vector3::from(hull.points[triangle[0] as usize]).cast::<f64>(),
                    Vector3::from(*normal).cast::<f64>(),
                )
            });
        let planes: Vec<_> = planes.collect();
        let outside = |p: &[f32; 3]| {
            let p = Vector3::from(*p).cast::<f64>();
            planes
                .iter()
                .map(|(at, normal)| (p - at).dot(normal))
                .fold(0.0, f64::max)
        };
        points.iter().map(outside).fold(0.0, f64::max)
    }

    #[test]
    fn few_corners_suffice_where_they_come_near_enough() {
        // Rings of 200 points at both ends of a cylinder: 32 a ring leave 1 - cos(pi / 32) = 0.5 %
        // of the radius.
        let ring = |z| {
            (0..200)
                .map(move |i| (i as f32 / 200.0 * std::f32::consts::TAU).sin_cos())
                .map(move |(y, x)| [x, y, z])
        };
        let points: Vec<_> = ring(-1.0).chain(ring(1.0)).collect();
        let hull = convex_hull(&points).unwrap();
        check(&hull, &hull.points);
        assert!(
            hull.points.len() <= FEW_CORNERS && hull.points.iter().all(|p| points.contains(p)),
            "{}",
            hull.points.len()
        );
        assert!(missed(&hull, &points) <= DEVIATION * 12.0_f64.sqrt());
        let mut turned = points.clone();
        turned.reverse();
        assert_eq!(convex_hull(&turned).unwrap(), hull);
        // A ball needs more than the smaller limit, but no more than the larger.
        for count in [65, 200, 2000, 20_000] {
            let points = ball(count);
            let hull = convex_hull(&points).unwrap();
            check(&hull, &hull.points);
            assert!(
                hull.points.len() <= MOST_CORNERS,
                "{count}: {}",
                hull.points.len()
            );
            let missed = missed(&hull, &points);
            assert!(missed <= DEVIATION * 12.0_f64.sqrt(), "{count}: {missed}");
            let bounds = points
                .iter()
                .fold(([f32::MAX; 3], [f32::MIN; 3]), |(low, high), p| {
                    (
                        std::array::from_fn(|k| low[k].min(p[k])),
                        std::array::from_fn(|k| high[k].max(p[k])),
                    )
                });
            assert_eq!(hull.bounds(), Some(bounds), "{count}");
        }
    }

    #[test]
    fn thin_bodies_have_good_corners() {
        for (count, thickness) in [(400_u16, 1e-3), (2000, 1e-3), (5000, 1e-5)] {
            let angle = |i: u16| f32::from(i) / f32::from(count) * 2.0 * std::f32::consts::TAU;
            let disc: Vec<[f32; 3]> = (0..count)
                .map(|i| [angle(i).cos(), angle(i).sin(), f32::from(i % 2) * thickness])
                .collect();
            let hull = convex_hull(&disc).unwrap();
            check(&hull, &hull.points);
            let (missed, volume) = (missed(&hull, &disc), volume(&hull));
            assert!(
                missed <= DEVIATION * 8.0_f64.sqrt(),
                "{thickness}: {missed}"
            );
            let share = volume / (std::f64::consts::PI * f64::from(thickness));
            assert!(share > 0.96, "{thickness}: {share}");
        }
    }

    #[test]
    fn hulls_that_few_corners_make_flat_have_few_corners() {
        for i in 0..20_u8 {
            let thickness = 1e-6 * (1.2 + 0.05 * f32::from(i));
            let lens: Vec<_> = ball(1000)
                .into_iter()
                .map(|[x, y, z]| [x, y, z * thickness])
                .collect();
            let hull = convex_hull(&lens)
                .or_else(|Flat| thick_hull(&lens))
                .unwrap();
            assert!(hull.points.len() <= MOST_CORNERS, "{}", hull.points.len());
        }
    }

    #[test]
    fn extremes_do_not_depend_on_the_order() {
        let mut grid: Vec<[f32; 3]> = (0..1000_u16)
            .map(|i| [i % 10, i / 10 % 10, i / 100].map(f32::from))
            .collect();
        let extremes = farthest_points(&grid);
        grid.reverse();
        assert_eq!(farthest_points(&grid), extremes);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        /// Small grids have many collinear and coplanar points.
        #[test]
        fn hulls_of_grids(
            mut points in prop::collection::vec(prop::array::uniform3(-3_i8..=3), 4..80),
            scale in prop::array::uniform3(1e-2_f32..1e2),
        ) {
            let scaled = |points: &[[i8; 3]]| -> Vec<[f32; 3]> {
                points.iter().map(|p| std::array::from_fn(|k| f32::from(p[k]) * scale[k])).collect()
            };
            if let Ok(hull) = convex_hull(&scaled(&points)) {
                check(&hull, &scaled(&points));
                points.reverse();
                prop_assert_eq!(convex_hull(&scaled(&points)).unwrap(), hull);
            }
        }

        #[test]
        fn hulls_of_round_clouds(angles in prop::collection::vec((0.0_f32..6.3, -1.5_f32..1.5), 4..FEW_CORNERS)) {
            let points: Vec<_> = angles.iter().map(|(a, b)| [a.cos() * b.cos(), a.sin() * b.cos(), b.sin()]).collect();
            if let Ok(hull) = convex_hull(&points) {
                check(&hull, &points);
            }
        }
    }
}
