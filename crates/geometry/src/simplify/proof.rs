//! Proves that a tier and its source are near each other, in both directions.
//!
//! Both surfaces are sampled. Of the source: all points, and the centres and edge midpoints of
//! triangles with a long edge. Of the tier: the centres of triangles and the midpoints of long
//! edges; its points are the source's. A triangle that both have needs no measurement.
//!
//! Most queries are answered by a neighbour: a point is usually near the triangle that the point
//! beside it is near, or one a few triangles away. The tree of all triangles is searched only where
//! that fails.

use nalgebra::Vector3;
use rayon::prelude::*;

use super::mend::Mending;
use super::{Map, NONE, Set, Source, Tier, is_near, next_corner};
use crate::vector::distance_squared;

type Point = [f32; 3];

/// Minimum number of triangles or points per task; fewer don't pay for the scheduling.
const PORTION: usize = 256;

/// Maximum number of repair passes: a triangle beside one that was just repaired waits for the
/// next.
const MENDINGS: usize = 4;

/// The measurements of a tier so far, reused when the tier is simplified again.
pub(super) struct Proof {
    /// Maximum distance between tier and source, in metres of the mesh.
    pub(super) bound: f32,
    /// The triangles (of points, smallest index first) of the tier measured last.
    tier: Vec<[u32; 3]>,
    /// For each point of the source, a triangle of the tier that it is near; [`NONE`] if none is
    /// known.
    near: Vec<u32>,
    /// The same for [`Source::large`].
    near_large: Vec<u32>,
    /// Triangles (of points, smallest index first) that are near the source and not flipped.
    proved: Set<[u32; 3]>,
    /// Edges (of points, smaller index first) whose midpoint is near the source.
    proved_edges: Set<[u32; 2]>,
}

/// A sample of a triangle of the source other than its corners.
#[derive(Clone, Copy)]
pub(super) struct Large {
    place: Point,
    /// The number of the triangle.
    face: u32,
}

/// Returns the centres of triangles that have an edge longer than `spacing`, and the midpoints of
/// these edges, each once.
pub(super) fn large(points: &[Point], faces: &[[u32; 3]], spacing: f32) -> Vec<Large> {
    let mut known: Set<[u32; 2]> = Set::default();
    let mut large = Vec::new();
    for (&corners, face) in faces.iter().zip(0..) {
        let middle_of_face = large.len();
        for edge in long_edges(points, corners, spacing) {
            if large.len() == middle_of_face {
                large.push(Large {
                    place: middle(corners.map(|point| points[point as usize])),
                    face,
                });
            }
            if known.insert(edge) {
                large.push(Large {
                    place: middle(edge.map(|point| points[point as usize])),
                    face,
                });
            }
        }
    }
    large
}

/// The places where a tier and its source are too far from each other.
pub(super) struct Astray {
    /// The numbers of the tier's triangles that are too far from the source or flipped.
    pub(super) triangles: Vec<u32>,
    /// Places of the source that are too far from the tier.
    pub(super) places: Vec<Point>,
}

impl Astray {
    pub(super) fn is_empty(&self) -> bool {
        self.triangles.is_empty() && self.places.is_empty()
    }
}

/// Returns the edges of a triangle that are longer than `spacing`, smaller point first. They are
/// also measured at their midpoints.
fn long_edges(points: &[Point], face: [u32; 3], spacing: f32) -> impl Iterator<Item = [u32; 2]> {
    let is_long = move |[from, to]: &[u32; 2]| {
        distance_squared(points[*from as usize], points[*to as usize]) > spacing * spacing
    };
    edges(face)
        .into_iter()
        .filter(is_long)
        .map(|[from, to]| [from.min(to), from.max(to)])
}

fn middle<const N: usize>(corners: [Point; N]) -> Point {
    [0, 1, 2].map(|k| corners.iter().map(|corner| corner[k]).sum::<f32>() / N as f32)
}

impl Proof {
    /// Creates a proof without measurements.
    pub(super) fn new(source: &Source<'_>, bound: f32) -> Self {
        Self {
            bound,
            tier: Vec::new(),
            near: vec![NONE; source.points.len()],
            near_large: vec![NONE; source.large.len()],
            proved: Set::default(),
            proved_edges: Set::default(),
        }
    }

    /// Measures the tier of these `triangles` (of vertices), after repairing what can be repaired
    /// within each of the `units`. Returns the tier and where it is farther than the bound from the
    /// source or flipped; if it `is_last`, so that no other tier is made from it, also where the
    /// source is farther from it. `None` if the search budget is exhausted.
    pub(super) fn astray(
        &mut self,
        source: &Source<'_>,
        triangles: Vec<[u32; 3]>,
        units: &mut Vec<u32>,
        is_last: bool,
    ) -> Option<(Astray, Tier)> {
        let mut tier = Tier::new(source, triangles);
        let mut known = numbers_in(source, &tier);
        // A triangle of the source that survived is near it by definition; measure only the others.
        let new = (0..)
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .map(|(number, _)| number)
            .collect();
        let mut triangles = self.unfit(source, &tier, new);
        if !triangles.is_empty() {
            triangles = self.mend(source, &mut tier, units, triangles);
            // Repairs drop triangles, which renumbers the rest.
            known = numbers_in(source, &tier);
        }
        let mut astray = Astray {
            triangles,
            places: Vec::new(),
        };
        self.take(tier.faces.clone());
        if is_last {
            self.ask_neighbours(source);
            self.search_points(source, &tier, &mut astray);
            self.search_large(source, &tier, &known, &mut astray);
        }
        (!source.whole.is_spent() && !tier.is_spent()).then_some((astray, tier))
    }

    /// Returns the triangles with these `numbers` for which [`Self::is_fit`] is false.
    fn unfit(&mut self, source: &Source<'_>, tier: &Tier, mut numbers: Vec<u32>) -> Vec<u32> {
        let proved = &self.proved;
        numbers = numbers
            .into_par_iter()
            .with_min_len(PORTION)
            .filter(|&i| !proved.contains(&tier.faces[i as usize]))
            .collect();
        let lie = |&i: &u32| self.lies(source, tier.triangles[i as usize]);
        let lie: Vec<bool> = numbers.par_iter().with_min_len(PORTION).map(lie).collect();
        // Measure each edge once, though two triangles share it.
        let mut edges: Vec<[u32; 2]> = Vec::new();
        for (number, _) in numbers.iter().zip(&lie).filter(|(_, lies)| **lies) {
            let long = long_edges(
                &source.points,
                tier.faces[*number as usize],
                source.spacing(),
            );
            // Insert before the measurement, so that the edge's other triangle doesn't queue it
            // again. Edges that turn out to be far are removed below.
            edges.extend(long.filter(|edge| self.proved_edges.insert(*edge)));
        }
        let is_far = |edge: &[u32; 2]| !self.is_edge_near(source, *edge);
        let far: Vec<[u32; 2]> = edges
            .into_par_iter()
            .with_min_len(PORTION)
            .filter(is_far)
            .collect();
        for edge in &far {
            self.proved_edges.remove(edge);
        }
        let mut far = Vec::new();
        for (number, lies) in numbers.into_iter().zip(lie) {
            let face = tier.faces[number as usize];
            let mut edges = long_edges(&source.points, face, source.spacing());
            if lies && edges.all(|edge| self.proved_edges.contains(&edge)) {
                self.proved.insert(face);
            } else {
                far.push(number);
            }
        }
        far
    }

    /// Returns whether a triangle (of vertices) has an area, is not flipped and is near the source
    /// at its centre and the midpoints of its long edges. Its corners need no check, since the
    /// points of a tier are points of the source.
    fn is_fit(&mut self, source: &Source<'_>, triangle: [u32; 3]) -> bool {
        let face = source.face(&triangle);
        if self.proved.contains(&face) {
            return true;
        }
        let mut edges = long_edges(&source.points, face, source.spacing());
        let is_fit = self.lies(source, triangle)
            && edges.all(|edge| {
                self.proved_edges.contains(&edge)
                    || self.is_edge_near(source, edge) && self.proved_edges.insert(edge)
            });
        if is_fit {
            self.proved.insert(face);
        }
        is_fit
    }

    /// The same without the midpoints of the edges.
    fn lies(&self, source: &Source<'_>, triangle: [u32; 3]) -> bool {
        let face = source.face(&triangle);
        // Cheap tests first: the last one may search the tree.
        has_area(source, triangle)
            && !is_turned(source, triangle)
            && self.is_near(source, face, middle(source.corners(face)))
    }

    /// Returns whether the midpoint of an edge is near the source.
    fn is_edge_near(&self, source: &Source<'_>, [from, to]: [u32; 2]) -> bool {
        let place = middle([from, to].map(|point| source.points[point as usize]));
        self.is_near(source, [from, to, from], place)
    }

    /// Returns whether a place of a triangle (of points) is near the source.
    fn is_near(&self, source: &Source<'_>, face: [u32; 3], place: Point) -> bool {
        source
            .whole
            .find(
                source,
                place,
                // Corners of a tier are points of the source, so the walk can start at one.
                Some(source.nearest_corner(face, place)),
                self.bound,
            )
            .is_some()
    }

    /// Repairs triangles that are `far` away or flipped where possible. Returns the remaining ones.
    fn mend(
        &mut self,
        source: &Source<'_>,
        tier: &mut Tier,
        units: &mut Vec<u32>,
        far: Vec<u32>,
    ) -> Vec<u32> {
        let mut left = far;
        for _ in 0..MENDINGS {
            let before = left.len();
            let mut mending = Mending::new(source, self.bound, tier, units);
            for &number in &left {
                mending.mend(number, |triangle| self.is_fit(source, triangle));
            }
            left = mending.finish(left);
            left.retain(|number| !self.is_fit(source, tier.triangles[*number as usize]));
            if left.is_empty() || left.len() == before {
                break;
            }
        }
        left
    }

    /// Returns whether a place is near a triangle of the tier.
    fn is_on(&self, source: &Source<'_>, place: Point, triangle: u32) -> bool {
        let triangle = self.tier.get(triangle as usize);
        triangle.is_some_and(|t| is_near(place, &source.corners(*t), self.bound))
    }

    /// Replaces the last tier by another. Known distances to triangles that both have stay valid.
    fn take(&mut self, tier: Vec<[u32; 3]>) {
        let last = std::mem::replace(&mut self.tier, tier);
        // There is nothing to carry over, so the numbers of triangles needn't be looked up.
        if last.is_empty() || self.near.iter().all(|near| *near == NONE) {
            return;
        }
        let numbers: Map<[u32; 3], u32> = self.tier.iter().copied().zip(0..).collect();
        let now: Vec<u32> = last
            .iter()
            .map(|t| numbers.get(t).copied().unwrap_or(NONE))
            .collect();
        for near in self.near.iter_mut().chain(&mut self.near_large) {
            *near = now.get(*near as usize).copied().unwrap_or(NONE);
        }
    }

    /// Finds a triangle of the tier for most points: one of their own where the tier has the point,
    /// else one that a neighbour is near.
    fn ask_neighbours(&mut self, source: &Source<'_>) {
        for (triangle, number) in self.tier.iter().zip(0..) {
            triangle
                .iter()
                .for_each(|&point| self.near[point as usize] = number);
        }
        let around = source.whole.around(source);
        let mut found: Vec<u32> = (0..)
            .zip(&self.near)
            .filter(|(_, near)| **near != NONE)
            .map(|(point, _)| point)
            .collect();
        // Breadth-first from the points that the tier has, handing each point's triangle on.
        let mut next = 0;
        while let Some(&point) = found.get(next) {
            next += 1;
            let triangle = self.near[point as usize];
            for &face in around.of(point) {
                let neighbour = next_corner(source.whole.faces[face as usize], point);
                let place = source.points[neighbour as usize];
                if self.near[neighbour as usize] == NONE && self.is_on(source, place, triangle) {
                    self.near[neighbour as usize] = triangle;
                    found.push(neighbour);
                }
            }
        }
    }

    /// Searches the tier for the points that `ask_neighbours` left, starting from a neighbour's
    /// triangle; then for the neighbours of those, and so on.
    fn search_points(&mut self, source: &Source<'_>, tier: &Tier, astray: &mut Astray) {
        /// Maximum number of rounds; the rest is searched in the tree.
        const TURNS: usize = 16;
        let around = source.whole.around(source);
        // Points without triangles are no part of the surface.
        let is_left =
            |point: &u32| self.near[*point as usize] == NONE && !around.of(*point).is_empty();
        let mut left: Vec<u32> = (0..source.points.len() as u32).filter(is_left).collect();
        let mut far = Vec::new();
        for turn in 0..=TURNS {
            let beside = |point: u32| {
                let neighbours = around
                    .of(point)
                    .iter()
                    .flat_map(|&face| source.whole.faces[face as usize]);
                let near = neighbours
                    .map(|neighbour| self.near[neighbour as usize])
                    .find(|near| *near != NONE);
                near.map(|triangle| {
                    source
                        .nearest_corner(self.tier[triangle as usize], source.points[point as usize])
                })
            };
            let from: Vec<Option<u32>> = left
                .par_iter()
                .with_min_len(PORTION)
                .map(|point| beside(*point))
                .collect();
            let is_last = turn == TURNS || from.iter().all(Option::is_none);
            // Points without a neighbour to start from wait for the next turn.
            let (now, later) = left
                .into_iter()
                .zip(from)
                .partition::<Vec<_>, _>(|(_, from)| is_last || from.is_some());
            let find = |(point, from): &(u32, Option<u32>)| {
                tier.find(source, source.points[*point as usize], *from, self.bound)
            };
            let found: Vec<Option<u32>> = now.par_iter().with_min_len(PORTION).map(find).collect();
            for ((point, _), found) in now.into_iter().zip(found) {
                match found {
                    Some(found) => self.near[point as usize] = found,
                    None => far.push(point),
                }
            }
            left = later.into_iter().map(|(point, _)| point).collect();
            if left.is_empty() {
                break;
            }
        }
        far.sort_unstable();
        astray
            .places
            .extend(far.into_iter().map(|point| source.points[point as usize]));
    }

    /// Searches the tier for the samples of the source's large triangles.
    fn search_large(
        &mut self,
        source: &Source<'_>,
        tier: &Tier,
        known: &[Option<u32>],
        astray: &mut Astray,
    ) {
        let mut is_there = vec![false; source.whole.faces.len()];
        known
            .iter()
            .flatten()
            .for_each(|&i| is_there[i as usize] = true);
        let is_left =
            |at: &usize| !is_there[source.large[*at].face as usize] && self.near_large[*at] == NONE;
        let left: Vec<usize> = (0..source.large.len()).filter(is_left).collect();
        let find = |at: usize, last: u32| {
            let Large { place, face } = source.large[at];
            let face = source.whole.faces[face as usize];
            let [a, b, c] = face.map(|point| self.near[point as usize]);
            // A triangle is convex, and so is the set within a distance of it: if it is near all
            // corners of a face, it is near every point of the face.
            if a != NONE && a == b && b == c {
                return Some(a);
            }
            let found = [last, a, b, c]
                .into_iter()
                .find(|t| self.is_on(source, place, *t));
            found.or_else(|| {
                let near = self.near[source.nearest_corner(face, place) as usize];
                let from = self
                    .tier
                    .get(near as usize)
                    .map(|triangle| source.nearest_corner(*triangle, place));
                tier.find(source, place, from, self.bound)
            })
        };
        // Consecutive samples are often near the same triangle.
        let find_all = |portion: &[usize]| -> Vec<Option<u32>> {
            let mut last = NONE;
            portion
                .iter()
                .map(|&at| {
                    let found = find(at, last);
                    last = found.unwrap_or(last);
                    found
                })
                .collect()
        };
        let found: Vec<Vec<Option<u32>>> = left.par_chunks(PORTION).map(find_all).collect();
        for (at, found) in left.into_iter().zip(found.into_iter().flatten()) {
            match found {
                Some(found) => self.near_large[at] = found,
                None => astray.places.push(source.large[at].place),
            }
        }
    }
}

/// Returns the number of each of a tier's triangles in the source, if the source has it.
fn numbers_in(source: &Source<'_>, tier: &Tier) -> Vec<Option<u32>> {
    tier.faces
        .par_iter()
        .with_min_len(PORTION)
        .map(|face| number_in(source, face))
        .collect()
}

/// Returns the number of a tier's triangle (of points, smallest index first) in the source, if the
/// source has it.
fn number_in(source: &Source<'_>, face: &[u32; 3]) -> Option<u32> {
    let around = source.whole.around(source);
    around
        .of(face[0])
        .iter()
        .copied()
        .find(|&i| source.whole.faces[i as usize] == *face)
}

/// Returns the edges of a triangle, in its winding order.
fn edges([a, b, c]: [u32; 3]) -> [[u32; 2]; 3] {
    [[a, b], [b, c], [c, a]]
}

/// Returns whether a triangle of vertices has an area even for readers that subtract points in
/// single precision, from any of its corners.
fn has_area(source: &Source<'_>, triangle: [u32; 3]) -> bool {
    let [a, b, c] = triangle
        .map(|i| Vector3::from(source.mesh.points[source.vertices[i as usize].point as usize]));
    [[a, b, c], [b, c, a], [c, a, b]]
        .into_iter()
        .all(|[from, to, other]| {
            let (to, other) = (to - from, other - from);
            to.cast::<f64>().cross(&other.cast::<f64>()) != Vector3::zeros()
        })
}

/// Returns whether a triangle of vertices faces away from the normals of all its corners.
fn is_turned(source: &Source<'_>, triangle: [u32; 3]) -> bool {
    let face = source.normal(triangle);
    triangle.iter().all(|&i| {
        face.dot(&Vector3::from(
            source.vertices[i as usize].normal.map(f64::from),
        )) <= 0.0
    })
}
