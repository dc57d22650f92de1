//! Decomposes a mesh into convex parts that together cover it.
//!
//! The surface is cut by planes across the axes, always in the part whose hull protrudes farthest
//! from the body, where the volumes of both hulls together are smallest. Since the body's own volume
//! stays the same, that removes most of what the hulls have in excess, as in V-HACD (Mamou and Ghorbel
//! 2009). Unlike there, volumes are those of exact hulls instead of voxels, so that cuts meet the edges
//! of a body. Parts are then merged as long as that costs little or there are too many.
//!
//! Invariant: every triangle is in the union of the parts, but for the corners that
//! [`convex_hull`](crate::convex_hull) leaves out.

#![allow(
    clippy::indexing_slicing,
    reason = "points are numbered where they are made, and coordinates have three axes"
)]

use std::collections::{HashMap, HashSet};
use std::f64::consts::PI;

use nalgebra::Vector3;

use crate::body::Body;
use crate::hull::{self, DEVIATION, ExactHull, Flat};
use crate::spheres::solid::surface_points;
use crate::vector::{cross, dot, norm, subtract};
use crate::{Bounds, MeshArrays, deviation, thick_hull};

type Point = [f32; 3];
type Set<T> = HashSet<T, foldhash::fast::FixedState>;
type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Maximum number of triangles that cuts are chosen by: the time grows with their number. Of larger
/// meshes, points are merged on a grid first; the parts are still cut from all triangles.
const MAX_TRIANGLES: usize = 6000;

/// Maximum number of triangles that parts are measured against; likewise.
const MAX_MEASURED: usize = 20_000;

/// Finest grid on which points of large meshes are merged, in cells along the longest side.
const GRID: u32 = 512;

/// Meshes with more triangles are not decomposed: each takes about a hundred bytes.
pub const MAX_SOURCE_TRIANGLES: usize = 4_000_000;

/// Maximum number of parts to ask for.
pub const MAX_PARTS: usize = 64;

/// Number of parts to cut before they are merged, relative to the number of those wanted.
const SURPLUS: usize = 2;

/// Number of evenly spaced positions along each axis at which a cut is tried.
const POSITIONS: usize = 11;

/// Number of positions along each axis at which a cut is tried because faces across it are there.
const FACES: usize = 6;

/// Weight of the difference of the volumes of both sides in the choice of a cut: where no cut gains,
/// as in a tube, the middle is a good start.
const BALANCE: f64 = 0.05;

/// Weight of the volume that merged parts add, relative to how far they protrude: with 0.3, as in CoACD,
/// parts of a robot's base overlapped by half.
const VOLUME: f64 = 0.6;

/// Distance of the samples of a hull, relative to the diagonal of its bounding box.
const SPACING: f64 = 0.05;

/// Minimum extent of a part on each side of a cut, relative to the diagonal of the whole.
const MIN_EXTENT: f64 = 2e-3;

/// Convex parts of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvexParts {
    /// The parts, at least one; each closed, convex and wound outwards.
    pub parts: Vec<MeshArrays>,
    /// Hausdorff distance of the parts from the mesh: how far a part protrudes from the body that the
    /// mesh bounds, or the mesh from all parts. Samples, about 5 % of the size of a part apart, are
    /// tested.
    pub deviation: f64,
}

/// Decomposes a mesh into at most `most` convex parts, at least one.
///
/// A part is not divided any more if it protrudes from the body by at most 1 % of the diagonal of the
/// mesh's bounding box. So a convex mesh is a single part, its [`convex_hull`](crate::convex_hull).
///
/// # Errors
/// If the points span no volume.
pub fn convex_parts(mesh: &MeshArrays, most: usize) -> Result<ConvexParts, Flat> {
    let whole = Surface::of(&mesh.points, mesh.triangles.clone());
    if whole.triangles.is_empty() {
        return Err(Flat);
    }
    let size = whole.size();
    let tolerance = DEVIATION * size;
    let coarse = whole.coarse(MAX_TRIANGLES);
    let body = whole.body();
    let mut cuts = Vec::new();
    let first = coarse.as_ref().unwrap_or(&whole).clone();
    let mut parts = vec![Part::of(first, &body).ok_or(Flat)?];
    while parts.len() < SURPLUS * most {
        let worst = (0..parts.len())
            .filter(|&part| parts[part].surface.is_some() && parts[part].excess > tolerance)
            .max_by(|&a, &b| parts[a].excess.total_cmp(&parts[b].excess).then(b.cmp(&a)));
        let Some(worst) = worst else { break };
        let Some(surface) = parts[worst].surface.take() else {
            break;
        };
        // A part that can't be cut stays as it is, without its surface.
        let Some(cut) = surface.best_cut(MIN_EXTENT * size) else {
            continue;
        };
        let [low, high] = surface.cut(cut);
        if let (Some(low), Some(high)) = (Part::of(low, &body), Part::of(high, &body)) {
            parts[worst] = low;
            parts.push(high);
            cuts.push((worst, cut));
        }
    }
    if coarse.is_some() {
        parts = parts_of_all(whole, &cuts, &body);
    }
    merge(&mut parts, most, tolerance, &body);
    let is_whole = parts.len() == 1;
    let mut deviation = 0.0_f64;
    let mut hulls = Vec::with_capacity(parts.len());
    for part in parts {
        let hull = if is_whole {
            hull::convex_hull(&part.corners)
        } else {
            hull::clean_hull(&part.corners)
        };
        let hull = match hull {
            Ok(hull) => hull,
            Err(Flat) => thick_hull(&part.corners)?,
        };
        deviation = deviation
            .max(part.excess)
            .max(farthest_outside(&hull, &part.corners));
        hulls.push(hull);
    }
    Ok(ConvexParts {
        parts: hulls,
        deviation,
    })
}

/// Applies the cuts that were chosen by a coarse surface to the whole one.
fn parts_of_all(whole: Surface, cuts: &[(usize, Cut)], body: &Body) -> Vec<Part> {
    let mut surfaces = vec![whole];
    for &(part, cut) in cuts {
        let [low, high] = std::mem::take(&mut surfaces[part]).cut(cut);
        surfaces[part] = low;
        surfaces.push(high);
    }
    let parts = surfaces.into_iter();
    parts
        .filter_map(|surface| Part::of(surface, body))
        .collect()
}

/// Merges pairs of parts, at each step the pair with the least cost: all that stay within the tolerance,
/// and others until `most` are left.
///
/// The cost is that of CoACD (Wei et al. 2022): how far the common hull protrudes, or a share of the
/// radius of a ball with the volume that it adds, if that is more.
fn merge(parts: &mut Vec<Part>, most: usize, tolerance: f64, body: &Body) {
    struct Pair {
        members: [usize; 2],
        cost: f64,
        /// The common hull. Until it is measured, the cost is a lower bound.
        merged: Option<Part>,
    }
    let pair = |first: usize, second: usize, parts: &[Part]| {
        let members = [first.min(second), first.max(second)];
        let [a, b] = members.map(|part| &parts[part]);
        let corners = [&a.corners[..], &b.corners].concat();
        let added = volume_of_hull(&corners) - a.volume - b.volume;
        Pair {
            members,
            cost: VOLUME * (3.0 * added.max(0.0) / (4.0 * PI)).cbrt(),
            merged: None,
        }
    };
    let mut pairs: Vec<Pair> = (0..parts.len())
        .flat_map(|first| (first + 1..parts.len()).map(move |second| (first, second)))
        .map(|(first, second)| pair(first, second, parts))
        .collect();
    // Merged parts leave an empty place, so that the numbers of the others stay the same.
    let mut left = parts.len();
    while left > 1 {
        let best = (0..pairs.len()).min_by(|&a, &b| pairs[a].cost.total_cmp(&pairs[b].cost));
        let Some(best) = best.filter(|&best| left > most || pairs[best].cost <= tolerance) else {
            break;
        };
        let Pair {
            members,
            cost,
            merged,
        } = &mut pairs[best];
        let [first, second] = *members;
        let Some(merged) = merged.take() else {
            let corners = [&parts[first].corners[..], &parts[second].corners].concat();
            match Part::hull(&corners, body) {
                Some(hull) => {
                    *cost = cost.max(hull.excess);
                    *merged = Some(hull);
                }
                None => drop(pairs.swap_remove(best)),
            }
            continue;
        };
        pairs.retain(|pair| {
            !pair
                .members
                .iter()
                .any(|part| [first, second].contains(part))
        });
        parts[first] = merged;
        parts[second].corners.clear();
        left -= 1;
        let others =
            (0..parts.len()).filter(|&other| other != first && !parts[other].corners.is_empty());
        let added: Vec<Pair> = others.map(|other| pair(first, other, parts)).collect();
        pairs.extend(added);
    }
    parts.retain(|part| !part.corners.is_empty());
}

/// Returns the largest distance of a point from a hull that it is outside of; 0 if none is.
fn farthest_outside(hull: &MeshArrays, points: &[Point]) -> f64 {
    let faces = || {
        hull.triangles
            .iter()
            .map(|face| face.map(|i| hull.points[i as usize]))
    };
    let planes: Vec<(Point, Point)> = faces()
        .zip(&hull.normals.values)
        .map(|([at, ..], normal)| (at, *normal))
        .collect();
    let distance = |point: &Point| {
        let is_outside = planes
            .iter()
            .any(|(at, normal)| dot(subtract(*point, *at), *normal) > 0.0);
        if !is_outside {
            return 0.0;
        }
        let squared = faces().map(|face| deviation::distance_squared(*point, &face));
        squared.fold(f32::INFINITY, f32::min).sqrt()
    };
    f64::from(points.iter().map(distance).fold(0.0, f32::max))
}

/// Returns the volume of the convex hull of points; 0 if they are in one plane.
fn volume_of_hull(points: &[Point]) -> f64 {
    hull::exact_hull(points).map_or(0.0, |hull| volume(&hull.corners, &hull.faces))
}

/// Returns the volume that a closed surface encloses.
fn volume(points: &[Point], faces: &[[u32; 3]]) -> f64 {
    let at = |i: u32| Vector3::from(points[i as usize].map(f64::from));
    let origin = points.first().map_or_else(Vector3::zeros, |_| at(0));
    let six: f64 = faces
        .iter()
        .map(|face| {
            let [a, b, c] = face.map(|i| at(i) - origin);
            a.dot(&b.cross(&c))
        })
        .sum();
    six / 6.0
}

/// A part: a convex hull.
struct Part {
    /// The part of the mesh in it, until it can't be cut any more.
    surface: Option<Surface>,
    /// The corners of the hull.
    corners: Vec<Point>,
    volume: f64,
    /// The farthest that the hull protrudes from the body.
    excess: f64,
}

impl Part {
    /// Returns the part with a surface; `None` if that has no extent.
    fn of(surface: Surface, body: &Body) -> Option<Self> {
        let part = Self::hull(&surface.points, body)?;
        Some(Self {
            surface: Some(surface),
            ..part
        })
    }

    /// Returns the hull of points; `None` if they have no extent.
    fn hull(points: &[Point], body: &Body) -> Option<Self> {
        let (corners, faces, volume) = match hull::exact_hull(points) {
            Some(ExactHull { corners, faces }) => {
                let volume = volume(&corners, &faces);
                (corners, faces, volume)
            }
            None => {
                let hull = thick_hull(points).ok()?;
                (hull.points, hull.triangles, 0.0)
            }
        };
        let corner = |i: u32| corners[i as usize].map(f64::from);
        let triangles: Vec<_> = faces.iter().map(|face| face.map(corner)).collect();
        let size = norm(Bounds::of(triangles.iter().flatten().copied()).size());
        let points = surface_points(&triangles, SPACING * size);
        let excess = body.excess(points.into_iter());
        Some(Self {
            surface: None,
            corners,
            volume,
            excess,
        })
    }
}

/// A plane across an axis.
#[derive(Clone, Copy, Debug)]
struct Cut {
    axis: usize,
    at: f32,
}

/// Triangles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surface {
    /// Each is a corner of a triangle.
    pub points: Vec<Point>,
    triangles: Vec<[u32; 3]>,
}

impl Surface {
    /// Leaves out points without a triangle, and triangles with a point that is not finite.
    pub fn of(points: &[Point], mut triangles: Vec<[u32; 3]>) -> Self {
        triangles.retain(|triangle| {
            triangle
                .iter()
                .all(|&i| points[i as usize].iter().all(|x| x.is_finite()))
        });
        let mut numbers: Vec<u32> = vec![u32::MAX; points.len()];
        let mut used = Vec::new();
        for corner in triangles.as_flattened_mut() {
            let number = &mut numbers[*corner as usize];
            if *number == u32::MAX {
                *number = used.len() as u32;
                used.push(points[*corner as usize]);
            }
            *corner = *number;
        }
        Self {
            points: used,
            triangles,
        }
    }

    /// Returns the body that it bounds.
    pub fn body(&self) -> Body {
        let coarse = self.coarse(MAX_MEASURED);
        let Self { points, triangles } = coarse.as_ref().unwrap_or(self);
        let corner = |i: u32| points[i as usize].map(f64::from);
        let triangles: Vec<_> = triangles.iter().map(|face| face.map(corner)).collect();
        Body::new(&triangles)
    }

    fn bounds(&self) -> Bounds<f32> {
        Bounds::of(self.points.iter().copied())
    }

    /// Returns the diagonal of the bounding box.
    fn size(&self) -> f64 {
        norm(self.bounds().size().map(f64::from))
    }

    /// Returns the surface with at most this many triangles, by merging the points in each cell of a
    /// grid into one of them; `None` if it has no more.
    fn coarse(&self, most: usize) -> Option<Self> {
        if self.triangles.len() <= most {
            return None;
        }
        let Bounds { low, .. } = self.bounds();
        let longest = self.bounds().size().into_iter().fold(0.0, f32::max);
        let mut cells = GRID;
        loop {
            let edge = longest / cells as f32;
            let mut first: Map<[i32; 3], u32> = Map::default();
            let cell = |point: &Point| subtract(*point, low).map(|x| (x / edge) as i32);
            let new: Vec<u32> = (0..)
                .zip(&self.points)
                .map(|(number, point)| *first.entry(cell(point)).or_insert(number))
                .collect();
            let mut known: Set<[u32; 3]> = Set::default();
            let moved = self
                .triangles
                .iter()
                .map(|face| face.map(|i| new[i as usize]));
            let kept: Vec<[u32; 3]> = moved
                .filter(|&[a, b, c]| a != b && b != c && c != a)
                .filter(|face| {
                    let mut sorted = *face;
                    sorted.sort_unstable();
                    known.insert(sorted)
                })
                .collect();
            // The coarsest grid has eight cells.
            if kept.len() <= most || cells <= 2 {
                return Some(Self::of(&self.points, kept));
            }
            cells = cells * 3 / 4;
        }
    }

    /// Returns the cut with the least cost; `None` if none leaves an extent of `least` on both sides.
    fn best_cut(&self, least: f64) -> Option<Cut> {
        let (edges, reaches) = (self.edges(), self.reaches());
        let bounds = self.bounds();
        let is_inside = |cut: &Cut| {
            let (low, high) = (bounds.low[cut.axis], bounds.high[cut.axis]);
            f64::from(cut.at - low) >= least && f64::from(high - cut.at) >= least
        };
        let best_of = |cuts: Vec<Cut>| {
            let cuts = cuts.into_iter().filter(is_inside);
            cuts.map(|cut| (self.cost(&edges, &reaches, cut), cut))
                .min_by(|(a, _), (b, _)| a.total_cmp(b))
        };
        let step = |axis: usize| bounds.size()[axis] / (POSITIONS + 1) as f32;
        let tried = (0..3).flat_map(|axis| {
            let even = (1..=POSITIONS).map(move |k| bounds.low[axis] + step(axis) * k as f32);
            let positions = even.chain(self.faces_across(axis));
            positions.map(move |at| Cut { axis, at })
        });
        let (cost, cut) = best_of(tried.collect())?;
        let near = [-0.5, -0.25, 0.25, 0.5].map(|offset| Cut {
            at: cut.at + offset * step(cut.axis),
            ..cut
        });
        let nearby = best_of(near.to_vec()).filter(|(nearby, _)| *nearby < cost);
        Some(nearby.map_or(cut, |(_, cut)| cut))
    }

    /// Returns the volume of the hulls of both sides of a cut, and a share of their difference.
    fn cost(&self, edges: &[[u32; 2]], reaches: &[Bounds<f32>], cut: Cut) -> f64 {
        let Cut { axis, at } = cut;
        let mut sides = [Vec::new(), Vec::new()];
        for (point, reach) in self.points.iter().zip(reaches) {
            // A point in the plane is only on the sides that its triangles are on.
            if point[axis] <= at && reach.low[axis] < at {
                sides[0].push(*point);
            }
            if point[axis] >= at && reach.high[axis] > at {
                sides[1].push(*point);
            }
        }
        for edge in edges {
            let ends = edge.map(|i| self.points[i as usize]);
            if cut.crosses(&ends) {
                let crossing = cut.crossing(&ends);
                sides.iter_mut().for_each(|side| side.push(crossing));
            }
        }
        let [low, high] = sides.map(|side| volume_of_hull(&side));
        low + high + BALANCE * (low - high).abs()
    }

    /// Returns the edges, each once.
    fn edges(&self) -> Vec<[u32; 2]> {
        let edges = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]];
        let sorted = |[a, b]: [u32; 2]| [a.min(b), a.max(b)];
        let mut edges: Vec<[u32; 2]> = self.triangles.iter().flat_map(edges).map(sorted).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Returns the bounds of the triangles at each point.
    fn reaches(&self) -> Vec<Bounds<f32>> {
        let mut reaches = vec![Bounds::empty(); self.points.len()];
        for face in &self.triangles {
            let around = Bounds::of(face.map(|i| self.points[i as usize]));
            for corner in face {
                let reach = &mut reaches[*corner as usize];
                *reach = reach.with(around);
            }
        }
        reaches
    }

    /// Returns the positions of the largest faces across an axis: those of a body's steps.
    fn faces_across(&self, axis: usize) -> Vec<f32> {
        let mut areas: HashMap<u32, f32, foldhash::fast::FixedState> = HashMap::default();
        for face in &self.triangles {
            let [a, b, c] = face.map(|i| self.points[i as usize]);
            if a[axis] == b[axis] && b[axis] == c[axis] {
                let area = norm(cross(subtract(b, a), subtract(c, a)));
                // Adding 0.0 turns −0.0 into 0.0, so that both have the same key.
                *areas.entry((a[axis] + 0.0).to_bits()).or_default() += area;
            }
        }
        let mut areas: Vec<(f32, f32)> = areas
            .into_iter()
            .map(|(at, area)| (area, f32::from_bits(at)))
            .collect();
        areas.sort_by(|(a, p), (b, q)| b.total_cmp(a).then(p.total_cmp(q)));
        areas.into_iter().take(FACES).map(|(_, at)| at).collect()
    }

    /// Divides the surface; the triangles that the cut crosses are divided, too.
    fn cut(self, cut: Cut) -> [Self; 2] {
        let Self {
            mut points,
            triangles,
        } = self;
        let mut crossings: Map<[u32; 2], u32> = Map::default();
        let mut sides = [Vec::new(), Vec::new()];
        for face in triangles {
            let heights = face.map(|i| points[i as usize][cut.axis] - cut.at);
            if heights == [0.0; 3] {
                // A face in the plane bounds the body on the side away from its normal.
                let [a, b, c] = face.map(|i| points[i as usize]);
                let normal = cross(subtract(b, a), subtract(c, a));
                sides[usize::from(normal[cut.axis] < 0.0)].push(face);
                continue;
            }
            for (side, sign) in sides.iter_mut().zip([-1.0, 1.0]) {
                let is_in = heights.map(|height| height * sign >= 0.0);
                if is_in == [true; 3] {
                    side.push(face);
                    continue;
                }
                // The corners on this side, and the crossings, in the order of the face.
                let mut polygon = Vec::with_capacity(4);
                for k in 0..3 {
                    let [from, to] = [face[k], face[(k + 1) % 3]];
                    if is_in[k] {
                        polygon.push(from);
                    }
                    let ends = [from.min(to), from.max(to)];
                    let at = ends.map(|i| points[i as usize]);
                    if cut.crosses(&at) {
                        polygon.push(*crossings.entry(ends).or_insert_with(|| {
                            points.push(cut.crossing(&at));
                            points.len() as u32 - 1
                        }));
                    }
                }
                side.extend((2..polygon.len()).map(|k| [polygon[0], polygon[k - 1], polygon[k]]));
            }
        }
        sides.map(|side| Self::of(&points, side))
    }
}

impl Cut {
    /// Returns whether the ends of an edge are on both sides.
    fn crosses(self, ends: &[Point; 2]) -> bool {
        let [low, high] = ends.map(|end| end[self.axis]);
        low < self.at && self.at < high || high < self.at && self.at < low
    }

    /// Returns the point of an edge in the plane.
    fn crossing(self, ends: &[Point; 2]) -> Point {
        let [from, to] = ends.map(|end| end.map(f64::from));
        let along = (f64::from(self.at) - from[self.axis]) / (to[self.axis] - from[self.axis]);
        let mut crossing = [0, 1, 2].map(|k| (from[k] + (to[k] - from[k]) * along) as f32);
        crossing[self.axis] = self.at;
        crossing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::{ball, cuboid, faceted};

    /// Returns the mesh of boxes, each from one corner to the opposite one, which may touch.
    fn boxes(boxes: &[[[f64; 3]; 2]]) -> MeshArrays {
        let (mut points, mut triangles) = (Vec::new(), Vec::new());
        for [low, high] in boxes {
            let (corners, sides) = cuboid(*low, *high);
            let first = points.len() as u32;
            points.extend(corners.map(|corner| corner.map(|x| x as f32)));
            let at = |i: usize| first + i as u32;
            triangles.extend(
                sides
                    .iter()
                    .flat_map(|&[a, b, c, d]| [[at(a), at(b), at(c)], [at(a), at(c), at(d)]]),
            );
        }
        faceted(points, triangles)
    }

    /// Returns a cup of the radius 1 and the height 2 with `sides` sides, whose wall is 0.1 thick.
    fn cup(sides: u32) -> MeshArrays {
        let rings = [(1.0, 0.0), (1.0, 2.0), (0.9, 2.0), (0.9, 0.1)];
        let mut points = vec![[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]];
        for (radius, z) in rings {
            points.extend((0..sides).map(|k| {
                let (sin, cos) = (std::f32::consts::TAU * k as f32 / sides as f32).sin_cos();
                [radius * cos, radius * sin, z]
            }));
        }
        let at = |ring: u32, k: u32| 2 + ring * sides + k % sides;
        let mut triangles = Vec::new();
        for k in 0..sides {
            triangles.push([0, at(0, k + 1), at(0, k)]);
            triangles.push([1, at(3, k), at(3, k + 1)]);
            for ring in 0..3 {
                let [a, b, c, d] = [
                    at(ring, k),
                    at(ring, k + 1),
                    at(ring + 1, k + 1),
                    at(ring + 1, k),
                ];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        faceted(points, triangles)
    }

    fn volume_of(parts: &ConvexParts) -> f64 {
        let volumes = parts
            .parts
            .iter()
            .map(|part| volume(&part.points, &part.triangles));
        volumes.sum()
    }

    /// Checks that the parts are convex and closed, and that all points are within the deviation.
    fn check(parts: &ConvexParts, mesh: &MeshArrays) {
        let distances = parts.parts.iter().map(|part| {
            assert!(part.is_watertight());
            // Scaled points are rounded: faces without a reliable normal would turn.
            let scaled = part.points.iter().map(|point| point.map(|x| x * 0.3));
            let scaled = faceted(scaled.collect(), part.triangles.clone());
            assert!(farthest_outside(&scaled, &scaled.points) < 1e-4);
            mesh.points
                .iter()
                .map(|point| farthest_outside(part, &[*point]))
                .collect::<Vec<_>>()
        });
        let nearest = distances.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a.min(*b)).collect());
        let farthest = nearest.unwrap().into_iter().fold(0.0, f64::max);
        assert!(farthest <= parts.deviation + 1e-6, "{farthest}");
    }

    #[test]
    fn steps_are_cut_where_they_are() {
        let stairs = boxes(&[
            [[0.0; 3], [3.0, 1.0, 1.0]],
            [[0.0, 0.0, 1.0], [1.7, 1.0, 2.0]],
        ]);
        let parts = convex_parts(&stairs, 8).unwrap();
        check(&parts, &stairs);
        assert_eq!(parts.parts.len(), 2);
        assert!(
            (volume_of(&parts) - 4.7).abs() < 1e-5 && parts.deviation < 1e-6,
            "{parts:?}"
        );
        let apart = boxes(&[[[0.0; 3], [1.0; 3]], [[1.5; 3], [2.0; 3]]]);
        let parts = convex_parts(&apart, 8).unwrap();
        assert!(
            (volume_of(&parts) - 1.125).abs() < 1e-5,
            "{}",
            volume_of(&parts)
        );
        assert_eq!(parts.parts.len(), 2);
    }

    #[test]
    fn convex_meshes_are_one_part() {
        for mesh in [boxes(&[[[0.0; 3], [1.0, 2.0, 3.0]]]), ball(40)] {
            let parts = convex_parts(&mesh, 8).unwrap();
            assert_eq!(parts.parts, [crate::convex_hull(&mesh.points).unwrap()]);
            check(&parts, &mesh);
        }
    }

    #[test]
    fn a_cup_is_hollow() {
        let cup = cup(32);
        let parts = convex_parts(&cup, 16).unwrap();
        check(&parts, &cup);
        assert!(
            (8..=16).contains(&parts.parts.len()),
            "{}",
            parts.parts.len()
        );
        for point in [0.3, 1.0, 1.8].map(|z| [0.1, -0.2, z]) {
            let outside = |part: &MeshArrays| farthest_outside(part, &[point]) > 0.05;
            assert!(parts.parts.iter().all(outside), "{point:?}");
        }
        assert!(parts.deviation < 0.15, "{}", parts.deviation);
        assert_eq!(convex_parts(&cup, 16).unwrap(), parts);
        // Few parts cover the cup, too.
        check(&convex_parts(&cup, 3).unwrap(), &cup);
    }

    #[test]
    fn large_meshes_are_cut_by_a_coarser_one() {
        let ball = ball(40);
        assert!(2 * ball.triangles.len() > MAX_TRIANGLES);
        let (mut points, mut triangles) = (ball.points.clone(), ball.triangles.clone());
        points.extend(ball.points.iter().map(|[x, y, z]| [x + 2.5, *y, *z]));
        let second = |face: &[u32; 3]| face.map(|i| i + ball.points.len() as u32);
        triangles.extend(ball.triangles.iter().map(second));
        let balls = faceted(points, triangles);
        let parts = convex_parts(&balls, 4).unwrap();
        check(&parts, &balls);
        assert_eq!(parts.parts.len(), 2);
    }

    #[test]
    fn flat_meshes_and_points() {
        let mut plate = boxes(&[[[0.0; 3], [1.0, 1.0, 0.0]]]);
        plate.triangles.truncate(2);
        let parts = convex_parts(&plate, 8).unwrap();
        assert_eq!(parts.parts.len(), 1);
        check(&parts, &plate);
        let nothing = boxes(&[]);
        assert_eq!(convex_parts(&nothing, 8), Err(Flat));
        let point = boxes(&[[[1.0; 3], [1.0; 3]]]);
        assert_eq!(convex_parts(&point, 8), Err(Flat));
    }
}
