//! Simplified meshes for uses that don't need the source's detail: a medium and a low tier.
//!
//! meshopt collapses edges by a quadric error, which estimates the deviation but does not bound it.
//! So its result is measured against the source in both directions. Triangles that deviate too far
//! or are flipped are repaired; where that fails, the source's points there are locked and only the
//! affected unit (cell or component) is simplified again. The medium tier of a large mesh that
//! loses most of its triangles takes two passes. The first simplifies cells of the mesh moderately
//! with their borders locked, so that the second, on whole components, has less to do. Points and
//! texture coordinates of a tier are a subset of the source's, and its normals are the source's or
//! their means: vertices are never moved or created.

#![allow(
    clippy::indexing_slicing,
    reason = "triangles of a mesh have been checked, and every table is as long as what its indices count"
)]

mod cells;
mod mend;
mod proof;
mod topology;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

use meshopt::SimplifyOptions;
use nalgebra::Vector3;
use rayon::prelude::*;

use self::cells::clusters;
use self::proof::{Astray, Large, Proof, large};
use self::topology::{Around, components};
use crate::deviation::{self, Surface};
use crate::vector::{distance_squared, dot, norm};
use crate::{Corners, MeshArrays};

/// Maximum deviation of the medium tier from the source, relative to the diagonal of its bounding
/// box.
pub const MEDIUM_DEVIATION: f32 = 0.001;

/// Maximum deviation of the low tier, likewise.
pub const LOW_DEVIATION: f32 = 0.01;

/// Meshes with fewer triangles are not simplified.
pub const MIN_TRIANGLES: usize = 400;

/// Meshes with more triangles are not simplified: meshopt can't be interrupted, and takes some ten
/// seconds for that many.
pub const MAX_TRIANGLES: usize = 4_000_000;

/// Meshes with more triangles at one point are not simplified: the time grows with the square of
/// their number.
const MAX_AT_ONE_POINT: usize = 4000;

/// Maximum number of triangles of a tier, relative to the next finer one; a larger tier is dropped.
pub const MAX_SHARE: f64 = 0.8;

/// Angle in degrees up to which the normals at a point are merged: the surface counts as smooth
/// there, even if the file has the normals of its facets.
const SMOOTH_DEGREES: f32 = 25.0;

/// The error estimate to request from meshopt, relative to the permitted deviation.
const ESTIMATE: f32 = 0.5;

/// The same for the first pass of the medium tier.
const BEGINNING: f32 = 0.3;

/// Maximum number of triangles of a cell in the first pass.
const CELL: usize = 2000;

/// Meshes with no more triangles skip the first pass.
const MANY: usize = 32_000;

/// Stride of the cells sampled to decide whether the first pass pays off, …
const SAMPLE: usize = 10;

/// … which it does if it leaves no more than this share of the triangles.
const WORTH_BEGINNING: f64 = 0.35;

/// Maximum number of attempts; each locks more points of the source.
const ROUNDS: usize = 8;

/// Triangles with longer edges are also measured at midpoints; relative to the diagonal.
const SPACING: f32 = 0.02;

/// Weight of a normal's error in meshopt's metric, relative to the diagonal: an error of 6° counts
/// as much as the deviation that the medium tier may have.
const NORMAL_WEIGHT: f32 = 0.01;

/// Weight of a texture coordinate's error: 1 % of an image counts as much as the deviation that the
/// medium tier may have.
const UV_WEIGHT: f32 = 0.1;

type Set<T> = HashSet<T, foldhash::fast::FixedState>;
type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// A mesh with fewer triangles than its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Simplified {
    /// The arrays of the simplified mesh.
    pub arrays: MeshArrays,
    /// Its parts, in order, covering all triangles.
    pub parts: Vec<SimplifiedPart>,
}

/// A run of triangles that remains of one part of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimplifiedPart {
    /// The index of the part in the source.
    pub source: usize,
    /// The triangles, as indices into those of the simplified mesh.
    pub triangles: Range<usize>,
}

/// Creates the medium and the low tier of a mesh; a tier that saves too little is `None`. The
/// result is deterministic.
///
/// `parts` are runs of triangles, in order, covering all of them. The border between two parts is
/// preserved.
pub fn tiers(mesh: &MeshArrays, parts: &[Range<usize>]) -> [Option<Simplified>; 2] {
    if !(MIN_TRIANGLES..=MAX_TRIANGLES).contains(&mesh.triangles.len())
        || most_at_one_point(mesh) > MAX_AT_ONE_POINT
    {
        return [None, None];
    }
    let Some(source) = Source::new(mesh, parts) else {
        return [None, None];
    };
    let medium = source.tier(MEDIUM_DEVIATION, None);
    let simplified = |tier: &Tier| source.simplified_mesh(&tier.triangles);
    let low = || {
        source
            .tier(LOW_DEVIATION, medium.as_ref())
            .as_ref()
            .map(simplified)
    };
    // The low tier starts from the medium one, so only copying the medium arrays can run beside it.
    let (low, medium) = rayon::join(low, || medium.as_ref().map(simplified));
    [medium, low]
}

/// Returns the largest number of triangles that share a point.
fn most_at_one_point(mesh: &MeshArrays) -> usize {
    let mut count = vec![0_usize; mesh.points.len()];
    mesh.triangles
        .as_flattened()
        .iter()
        .for_each(|&point| count[point as usize] += 1);
    count.into_iter().max().unwrap_or(0)
}

/// A mesh to simplify, in the terms of graphics cards: normals and texture coordinates belong to
/// vertices. Several vertices at one point form a seam, along which edges are collapsed on both
/// sides alike or not at all.
struct Source<'a> {
    mesh: &'a MeshArrays,
    /// The mesh's points relative to the centre of its bounding box, where single precision is
    /// finer than any bound.
    points: Vec<[f32; 3]>,
    /// The diagonal of the bounding box.
    diagonal: f32,
    /// Its longest side.
    extent: f32,
    vertices: Vec<Vertex>,
    /// All of its triangles.
    whole: Tier,
    /// The component of each point; triangles connect the points of a component.
    components: Vec<u32>,
    /// The number of components.
    component_count: usize,
    /// Midpoints at which triangles with a long edge are measured.
    large: Vec<Large>,
}

/// A set of triangles that are near the source.
struct Tier {
    /// In terms of vertices.
    triangles: Vec<[u32; 3]>,
    /// Their points, smallest index first.
    faces: Vec<[u32; 3]>,
    /// A tree of the triangles, built lazily.
    surface: OnceLock<Surface>,
    /// The triangles at each point, built lazily.
    around: OnceLock<Around>,
}

/// Maximum number of steps of the walk that locates a triangle, …
const MOST_STEPS: usize = 16;

/// … maximum number of times that it continues at the corners of the nearest triangle, …
const MOST_TURNS: usize = 4;

/// … and maximum number of triangles examined at each point.
const MOST_LOOKED_AT: usize = 32;

impl Tier {
    fn new(source: &Source<'_>, triangles: Vec<[u32; 3]>) -> Self {
        let faces = triangles.iter().map(|t| source.face(t)).collect();
        Self {
            triangles,
            faces,
            surface: OnceLock::new(),
            around: OnceLock::new(),
        }
    }

    /// Returns the triangles (of vertices) with these numbers.
    fn some(&self, numbers: &[u32]) -> Vec<[u32; 3]> {
        numbers
            .iter()
            .map(|&number| self.triangles[number as usize])
            .collect()
    }

    fn around(&self, source: &Source<'_>) -> &Around {
        self.around
            .get_or_init(|| Around::new(source.points.len(), &self.faces))
    }

    /// Returns the number of a triangle within `distance` of a place. Walks there from the point
    /// `from` first, which takes fewer steps the nearer it is; then searches the tree.
    fn find(
        &self,
        source: &Source<'_>,
        place: [f32; 3],
        from: Option<u32>,
        distance: f32,
    ) -> Option<u32> {
        let on_the_way = from.and_then(|from| self.find_from(source, place, from, distance));
        on_the_way.or_else(|| {
            self.search(source, place, distance)
                .map(|found| found as u32)
        })
    }

    /// Returns the number of a triangle within `distance` of a place, by a search of the tree.
    fn search(&self, source: &Source<'_>, place: [f32; 3], distance: f32) -> Option<usize> {
        let surface = self
            .surface
            .get_or_init(|| Surface::new(&source.points, &self.faces));
        surface.find(place, distance, |number| source.corners(self.faces[number]))
    }

    fn find_from(
        &self,
        source: &Source<'_>,
        place: [f32; 3],
        from: u32,
        distance: f32,
    ) -> Option<u32> {
        // Greedy walk along the edges towards the place. It may end in a local minimum; that costs
        // a search of the tree, but never a wrong answer, since each candidate's distance is
        // measured.
        let around = self.around(source);
        let looked_at = |point: u32| around.of(point).iter().take(MOST_LOOKED_AT);
        let mut at = from;
        let mut left = distance_squared(source.points[at as usize], place);
        let mut beside = NONE;
        for _ in 0..MOST_STEPS {
            let mut next = (f32::INFINITY, NONE);
            for &number in looked_at(at) {
                let point = next_corner(self.faces[number as usize], at);
                let there = distance_squared(source.points[point as usize], place);
                if there < next.0 {
                    next = (there, point);
                }
            }
            if next.0 >= left {
                beside = next.1;
                break;
            }
            (left, at) = next;
        }
        // Most often it is one of the two triangles at the edge between the two nearest points.
        let between = |number: &&u32| self.faces[**number as usize].contains(&beside);
        let is_near = |number: &&u32| {
            is_near(
                place,
                &source.corners(self.faces[**number as usize]),
                distance,
            )
        };
        if let Some(found) = looked_at(at).filter(between).find(is_near) {
            return Some(*found);
        }
        // Otherwise the nearest triangle around the end and the start of the walk: a long triangle
        // may be near though its corners are far away.
        let limit = distance * distance;
        let mut best = (f32::INFINITY, NONE);
        let look = |point: u32, best: &mut (f32, u32)| {
            looked_at(point).any(|&number| {
                let there = deviation::distance_squared(
                    place,
                    &source.corners(self.faces[number as usize]),
                );
                if there < best.0 {
                    *best = (there, number);
                }
                there <= limit
            })
        };
        let mut is_found = look(at, &mut best) || (at != from && look(from, &mut best));
        for _ in 0..MOST_TURNS {
            let before = best;
            is_found = is_found
                || (best.1 != NONE
                    && self.faces[best.1 as usize]
                        .into_iter()
                        .any(|point| look(point, &mut best)));
            if is_found || best.1 == before.1 {
                break;
            }
        }
        is_found.then_some(best.1)
    }

    /// Returns whether the search budget is exhausted; no query is answered any more.
    fn is_spent(&self) -> bool {
        self.surface.get().is_some_and(Surface::is_spent)
    }
}

/// Attributes that corners of triangles share.
#[derive(Clone, Copy)]
struct Vertex {
    point: u32,
    /// An index into the mesh's texture coordinates; [`NONE`] if it has none.
    uv: u32,
    /// An index into the mesh's colours; [`NONE`] if it has none.
    color: u32,
    part: u32,
    /// Unit length.
    normal: [f32; 3],
}

const NONE: u32 = u32::MAX;

/// Returns the vertices of a mesh and its triangles in terms of them. Corners of one point, part,
/// texture coordinate and colour whose normals differ by less than [`SMOOTH_DEGREES`] are welded
/// into one vertex, with the mean of their normals.
fn vertices(mesh: &MeshArrays, parts: &[Range<usize>]) -> (Vec<Vertex>, Vec<[u32; 3]>) {
    let smooth = SMOOTH_DEGREES.to_radians().cos();
    let mut vertices: Vec<Vertex> = Vec::with_capacity(mesh.points.len());
    // Vertices of one point form a linked list: `last` is its head, `before` its links.
    let mut last = vec![NONE; mesh.points.len()];
    let mut before: Vec<u32> = Vec::with_capacity(mesh.points.len());
    let mut sums: Vec<[f32; 3]> = Vec::with_capacity(mesh.points.len());
    let mut triangles = Vec::with_capacity(mesh.triangles.len());
    for (part, triangle) in (0_u32..)
        .zip(parts)
        .flat_map(|(part, triangles)| triangles.clone().map(move |triangle| (part, triangle)))
    {
        triangles.push([0, 1, 2].map(|corner| {
            let point = mesh.triangles[triangle][corner];
            let normal = mesh.normals.values[mesh.normals.indices[triangle][corner] as usize];
            let uv = mesh
                .uvs
                .as_ref()
                .map_or(NONE, |uvs| uvs.indices[triangle][corner]);
            let color = mesh
                .colors
                .as_ref()
                .map_or(NONE, |colors| colors.indices[triangle][corner]);
            let mut at = last[point as usize];
            while at != NONE {
                let vertex = &vertices[at as usize];
                if (vertex.uv, vertex.color, vertex.part) == (uv, color, part)
                    // Compare with the first normal, not a running mean: that could drift around a
                    // bend.
                    && dot(vertex.normal, normal) >= smooth
                {
                    let sum = &mut sums[at as usize];
                    *sum = [0, 1, 2].map(|k| sum[k] + normal[k]);
                    return at;
                }
                at = before[at as usize];
            }
            let new = vertices.len() as u32;
            before.push(std::mem::replace(&mut last[point as usize], new));
            vertices.push(Vertex {
                point,
                uv,
                color,
                part,
                normal,
            });
            sums.push(normal);
            new
        }));
    }
    for (vertex, sum) in vertices.iter_mut().zip(sums) {
        // The sum can't vanish: all summands are within 25° of the first.
        let length = norm(sum);
        vertex.normal = sum.map(|x| x / length);
    }
    (vertices, triangles)
}

impl<'a> Source<'a> {
    /// Returns `None` if the mesh has no finite, positive size to measure by.
    fn new(mesh: &'a MeshArrays, parts: &[Range<usize>]) -> Option<Self> {
        let (low, high) = mesh
            .bounds()
            .filter(|_| mesh.points.as_flattened().iter().all(|x| x.is_finite()))?;
        // Halve before adding: the sum of two large coordinates would overflow.
        let middle = [0, 1, 2].map(|k| low[k] / 2.0 + high[k] / 2.0);
        let diagonal = (0..3)
            .map(|k| (high[k] - low[k]).powi(2))
            .sum::<f32>()
            .sqrt();
        // Zero, subnormal, infinite and NaN diagonals all fail: no bound can be derived from them.
        if !(diagonal.is_normal() && middle.iter().all(|x| x.is_finite())) {
            return None;
        }
        let points: Vec<[f32; 3]> = mesh
            .points
            .iter()
            .map(|p| [0, 1, 2].map(|k| p[k] - middle[k]))
            .collect();
        let (vertices, triangles) = vertices(mesh, parts);
        // Rotated alike, equal triangles of the source and of a tier have equal indices.
        let faces: Vec<[u32; 3]> = triangles
            .iter()
            .map(|t| least_first(t.map(|i| vertices[i as usize].point)))
            .collect();
        let around = OnceLock::new();
        let ((components, component_count), large) = rayon::join(
            || components(points.len(), &faces),
            || {
                around.get_or_init(|| Around::new(points.len(), &faces));
                large(&points, &faces, diagonal * SPACING)
            },
        );
        Some(Self {
            mesh,
            diagonal,
            extent: (0..3).map(|k| high[k] - low[k]).fold(0.0, f32::max),
            vertices,
            components,
            component_count,
            large,
            whole: Tier {
                triangles,
                faces,
                surface: OnceLock::new(),
                around,
            },
            points,
        })
    }

    /// Returns the edge length above which triangles are also measured at edge midpoints.
    fn spacing(&self) -> f32 {
        self.diagonal * SPACING
    }

    /// Returns the points of a triangle of vertices, smallest index first.
    fn face(&self, triangle: &[u32; 3]) -> [u32; 3] {
        least_first(triangle.map(|i| self.vertices[i as usize].point))
    }

    fn corners(&self, face: [u32; 3]) -> [[f32; 3]; 3] {
        face.map(|point| self.points[point as usize])
    }

    /// Returns the corner of a triangle of points that is nearest to a place.
    fn nearest_corner(&self, face: [u32; 3], place: [f32; 3]) -> u32 {
        let [a, b, c] = self
            .corners(face)
            .map(|corner| distance_squared(corner, place));
        face[if a <= b && a <= c {
            0
        } else {
            1 + usize::from(c < b)
        }]
    }

    /// Returns the component of a triangle of points.
    fn component(&self, face: &[u32; 3]) -> usize {
        self.components[face[0] as usize] as usize
    }

    /// Returns a tier with as few triangles as stay within `deviation` of the mesh; `None` if it
    /// would not be sufficiently smaller than its input. The input is the `finer` tier where there
    /// is one, which is less work, else the mesh.
    fn tier(&self, deviation: f32, finer: Option<&Tier>) -> Option<Tier> {
        let from = finer.unwrap_or(&self.whole);
        let most = Some((MAX_SHARE * from.triangles.len() as f64) as usize);
        let mut proof = Proof::new(self, deviation * self.diagonal);
        let cells =
            (finer.is_none() && from.triangles.len() > MANY).then(|| Units::cells(self, from));
        if let Some(cells) = cells.filter(|cells| self.is_worth_beginning(from, cells, proof.bound))
        {
            let begun = self
                .simplified(from, &cells, BEGINNING, None, &mut proof)
                .ok()?;
            match self.simplified(
                &begun,
                &Units::components(self, &begun),
                ESTIMATE,
                most,
                &mut proof,
            ) {
                Ok(tier) => return Some(tier),
                Err(Unfit::Heavy) => return None,
                // The first pass does not verify that the source is near its result. Start over
                // from the source.
                Err(Unfit::Far) => {}
            }
        }
        self.simplified(
            from,
            &Units::components(self, from),
            ESTIMATE,
            most,
            &mut proof,
        )
        .ok()
    }

    /// Simplifies a sample of the cells and returns whether few enough triangles remain: otherwise
    /// the first pass takes longer than it saves.
    fn is_worth_beginning(&self, from: &Tier, cells: &Units, bound: f32) -> bool {
        let locked = Attempt::new(self, from, cells).locked;
        let sample = cells.triangles.par_iter().skip(SAMPLE / 2).step_by(SAMPLE);
        let counts = sample.map(|cell| {
            let triangles = from.some(cell);
            let mut numbers = vec![NONE; self.vertices.len()];
            (
                triangles.len(),
                self.collapsed(&triangles, bound * BEGINNING, &locked, &mut numbers)
                    .len(),
            )
        });
        // Sums of integers don't depend on the order of threads.
        let (all, left) = counts.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        left as f64 <= WORTH_BEGINNING * all as f64
    }

    /// Simplifies `from` with an estimated error of this share of the bound, and proves the result
    /// to be within the bound. Units that fail are tried again with more of their points locked;
    /// the others are not touched again. The distance of the source from the result is verified
    /// only if `most` triangles are permitted, not if the result is to be simplified further.
    fn simplified(
        &self,
        from: &Tier,
        units: &Units,
        estimate: f32,
        most: Option<usize>,
        proof: &mut Proof,
    ) -> Result<Tier, Unfit> {
        let mut attempt = Attempt::new(self, from, units);
        let mut made: Vec<Vec<[u32; 3]>> = vec![Vec::new(); units.triangles.len()];
        for round in 0..ROUNDS {
            let again: Vec<(usize, &mut Vec<[u32; 3]>)> = made
                .iter_mut()
                .enumerate()
                .filter(|(unit, _)| attempt.again[*unit])
                .collect();
            // One table per thread, not per unit: it is as long as the source has vertices.
            let numbers = || vec![NONE; self.vertices.len()];
            again
                .into_par_iter()
                .for_each_init(numbers, |numbers, (unit, made)| {
                    let triangles = from.some(&units.triangles[unit]);
                    *made = if attempt.kept[unit] {
                        triangles
                    } else {
                        self.collapsed(&triangles, proof.bound * estimate, &attempt.locked, numbers)
                    };
                });
            let triangles = made.concat();
            // Check the size before the proof, which takes as long as meshopt
            // (docs/performance.md).
            if triangles.is_empty() || most.is_some_and(|most| triangles.len() > most) {
                return Err(Unfit::Heavy);
            }
            let mut unit_of: Vec<u32> = (0..)
                .zip(&made)
                .flat_map(|(unit, made)| made.iter().map(move |_| unit))
                .collect();
            let (astray, tier) = proof
                .astray(self, triangles, &mut unit_of, most.is_some())
                .ok_or(Unfit::Far)?;
            if astray.is_empty() {
                return Ok(tier);
            }
            // Keep the repaired triangles: only failed units are recomputed.
            made.iter_mut().for_each(Vec::clear);
            for (triangle, unit) in tier.triangles.iter().zip(&unit_of) {
                made[*unit as usize].push(*triangle);
            }
            attempt.keep(self, &astray, &unit_of, &tier.faces, proof.bound)?;
            // The last round has the units that still fail as they were: one must not cost the
            // tier.
            if round + 2 == ROUNDS {
                attempt.give_up();
            }
        }
        Err(Unfit::Far)
    }

    /// Collapses edges of these triangles of vertices up to an estimated `error`, without moving
    /// locked points, and returns the remaining ones. `numbers` is a scratch table, [`NONE`] for
    /// all vertices before and after.
    fn collapsed(
        &self,
        from: &[[u32; 3]],
        error: f32,
        locked: &[bool],
        numbers: &mut [u32],
    ) -> Vec<[u32; 3]> {
        // Pass only the vertices in use: meshopt's time grows with the vertices, too.
        let mut used: Vec<u32> = Vec::new();
        let mut number = |vertex: u32| {
            let number = &mut numbers[vertex as usize];
            if *number == NONE {
                *number = used.len() as u32;
                used.push(vertex);
            }
            *number
        };
        let indices: Vec<u32> = from
            .as_flattened()
            .iter()
            .map(|&vertex| number(vertex))
            .collect();
        used.iter()
            .for_each(|&vertex| numbers[vertex as usize] = NONE);
        let vertices = || used.iter().map(|&i| &self.vertices[i as usize]);
        let positions: Vec<[f32; 3]> = vertices().map(|v| self.points[v.point as usize]).collect();
        let sizes = (0..3).map(|k| {
            let (low, high) = positions
                .iter()
                .fold((f32::MAX, f32::MIN), |(low, high), p| {
                    (low.min(p[k]), high.max(p[k]))
                });
            high - low
        });
        let extent = sizes.fold(0.0, f32::max);
        // Points at one place can't be simplified: the weights are divided by the extent.
        if extent <= 0.0 {
            return from.to_vec();
        }
        let mut attributes =
            Vec::with_capacity(used.len() * if self.mesh.uvs.is_some() { 5 } else { 3 });
        for vertex in vertices() {
            attributes.extend(vertex.normal);
            attributes.extend(
                self.mesh
                    .uvs
                    .iter()
                    .flat_map(|uvs| uvs.values[vertex.uv as usize]),
            );
        }
        let width = if self.mesh.uvs.is_some() { 5 } else { 3 };
        // meshopt scales weights by the longest side of its input, which here is a unit of the
        // mesh.
        let weights = [
            NORMAL_WEIGHT,
            NORMAL_WEIGHT,
            NORMAL_WEIGHT,
            UV_WEIGHT,
            UV_WEIGHT,
        ]
        .map(|weight| weight * self.extent / extent);
        let locks: Vec<bool> = vertices().map(|v| locked[v.point as usize]).collect();
        // A target of 0 triangles: only the error bound ends the simplification.
        let left = meshopt::simplify_with_attributes_and_locks_decoder(
            &indices,
            &positions,
            &attributes,
            &weights[..width],
            width * size_of::<f32>(),
            &locks,
            0,
            error,
            SimplifyOptions::ErrorAbsolute,
            None,
        );
        let mut triangles: Vec<[u32; 3]> = left
            .as_chunks()
            .0
            .iter()
            .map(|t: &[u32; 3]| t.map(|i| used[i as usize]))
            .collect();
        // Degenerate triangles have no normal to verify against.
        triangles.retain(|t| self.normal(*t) != Vector3::zeros());
        triangles
    }

    /// Returns a vector along the normal of a triangle of vertices; zero if it has no area.
    fn normal(&self, triangle: [u32; 3]) -> Vector3<f64> {
        let [a, b, c] = triangle.map(|i| {
            Vector3::from(self.mesh.points[self.vertices[i as usize].point as usize].map(f64::from))
        });
        (b - a).cross(&(c - a))
    }

    /// Returns the mesh of these triangles of vertices.
    fn simplified_mesh(&self, triangles: &[[u32; 3]]) -> Simplified {
        let mesh = self.mesh;
        let part_of = |triangle: &[u32; 3]| self.vertices[triangle[0] as usize].part;
        let mut triangles = triangles.to_vec();
        // Triangles are in the order of units, and a component may span several parts. The sort is
        // stable, so the order within a part stays.
        triangles.sort_by_key(part_of);
        let mut parts: Vec<SimplifiedPart> = Vec::new();
        for run in triangles.chunk_by(|a, b| part_of(a) == part_of(b)) {
            let start = parts.last().map_or(0, |part| part.triangles.end);
            parts.push(SimplifiedPart {
                source: part_of(&run[0]) as usize,
                triangles: start..start + run.len(),
            });
        }
        let vertices = || {
            triangles
                .iter()
                .map(|t| t.map(|i| self.vertices[i as usize]))
        };
        let (points, point_indices) = compact(&mesh.points, vertices().map(|t| t.map(|v| v.point)));
        let uvs = mesh.uvs.as_ref().map(|uvs| {
            let (values, indices) = compact(&uvs.values, vertices().map(|t| t.map(|v| v.uv)));
            Corners { values, indices }
        });
        let colors = mesh.colors.as_ref().map(|colors| {
            let (values, indices) = compact(&colors.values, vertices().map(|t| t.map(|v| v.color)));
            Corners { values, indices }
        });
        let normals = distinct(vertices().map(|t| t.map(|v| v.normal)));
        let arrays = MeshArrays {
            points,
            triangles: point_indices,
            normals,
            uvs,
            colors,
        };
        Simplified { arrays, parts }
    }
}

/// The reason for a missing tier.
enum Unfit {
    /// It has too many triangles, or none.
    Heavy,
    /// It is too far from the source, or the proof takes too long.
    Far,
}

/// A partition of the triangles into units that are simplified independently.
struct Units {
    /// The numbers of the triangles of each unit.
    triangles: Vec<Vec<u32>>,
    /// The unit of each triangle.
    numbers: Vec<u32>,
}

impl Units {
    /// Partitions the triangles into compact cells. Points on their borders are locked, which the
    /// next pass makes up for.
    fn cells(source: &Source<'_>, tier: &Tier) -> Self {
        Self::of(
            clusters(&source.points, &tier.faces, CELL),
            tier.triangles.len(),
        )
    }

    /// Partitions the triangles into components, which share no points.
    fn components(source: &Source<'_>, tier: &Tier) -> Self {
        let mut triangles = vec![Vec::new(); source.component_count];
        for (face, number) in tier.faces.iter().zip(0..) {
            triangles[source.component(face)].push(number);
        }
        Self::of(triangles, tier.triangles.len())
    }

    fn of(mut triangles: Vec<Vec<u32>>, count: usize) -> Self {
        triangles.retain(|triangles| !triangles.is_empty());
        let mut numbers = vec![0; count];
        for (unit, triangles) in (0..).zip(&triangles) {
            triangles.iter().for_each(|&i| numbers[i as usize] = unit);
        }
        Self { triangles, numbers }
    }
}

/// The constraints on simplification, which grow with each failed attempt.
struct Attempt<'a> {
    /// The triangles to simplify.
    from: &'a Tier,
    units: &'a Units,
    /// Whether each unit has to be simplified again.
    again: Vec<bool>,
    /// Whether each unit is left as it is.
    kept: Vec<bool>,
    /// Whether each point is locked.
    locked: Vec<bool>,
    /// Whether all triangles at a point are locked.
    ringed: Vec<bool>,
}

impl<'a> Attempt<'a> {
    fn new(source: &Source<'_>, from: &'a Tier, units: &'a Units) -> Self {
        let mut locked = vec![false; source.points.len()];
        let mut unit_at = vec![NONE; source.points.len()];
        for (face, &unit) in from.faces.iter().zip(&units.numbers) {
            for &point in face {
                // Points that units share are locked, so that the surface doesn't tear between
                // them.
                let first = std::mem::replace(&mut unit_at[point as usize], unit);
                locked[point as usize] |= first != NONE && first != unit;
            }
        }
        let count = units.triangles.len();
        Self {
            from,
            units,
            again: vec![true; count],
            kept: vec![false; count],
            locked,
            ringed: vec![false; source.points.len()],
        }
    }

    /// Locks points so that the deviations in `astray` do not recur. `unit_of` and `faces` belong to
    /// the tier in which they were found.
    fn keep(
        &mut self,
        source: &Source<'_>,
        astray: &Astray,
        unit_of: &[u32],
        faces: &[[u32; 3]],
        bound: f32,
    ) -> Result<(), Unfit> {
        // Each round locks more: first the triangles around a deviation, then, if all of these were
        // locked already, the whole unit.
        self.again.fill(false);
        let all = |marks: &[bool], face: &[u32; 3]| face.iter().all(|&point| marks[point as usize]);
        // Compare with the marks of earlier rounds: two deviations of this round that are
        // neighbours must not count as a second failure.
        let ringed = self.ringed.clone();
        for &triangle in &astray.triangles {
            let (unit, face) = (
                unit_of[triangle as usize] as usize,
                &faces[triangle as usize],
            );
            self.again[unit] = true;
            self.kept[unit] |= all(&ringed, face);
            face.iter()
                .for_each(|&point| self.ringed[point as usize] = true);
        }
        let mut locked = self.locked.clone();
        for &place in &astray.places {
            let found = self.from.search(source, place, bound).ok_or(Unfit::Far)?;
            let (unit, face) = (self.units.numbers[found] as usize, &self.from.faces[found]);
            self.again[unit] = true;
            self.kept[unit] |= all(&self.locked, face);
            face.iter().for_each(|&point| locked[point as usize] = true);
        }
        for face in &self.from.faces {
            if face.iter().any(|&point| self.ringed[point as usize]) {
                face.iter().for_each(|&point| locked[point as usize] = true);
            }
        }
        self.locked = locked;
        Ok(())
    }

    /// Leaves every unit that would have to be simplified again as it is.
    fn give_up(&mut self) {
        self.kept
            .iter_mut()
            .zip(&self.again)
            .for_each(|(kept, again)| *kept |= again);
    }
}

/// Returns whether the triangle is within `distance` of `point`.
fn is_near(point: [f32; 3], triangle: &[[f32; 3]; 3], distance: f32) -> bool {
    deviation::distance_squared(point, triangle) <= distance * distance
}

/// Returns the corner of a triangle that follows another. Inside a surface, the next corners of the
/// triangles at a point are all of its neighbours.
fn next_corner([a, b, c]: [u32; 3], corner: u32) -> u32 {
    match corner {
        _ if corner == a => b,
        _ if corner == b => c,
        _ => a,
    }
}

/// Rotates a triangle so that its smallest index comes first.
fn least_first([a, b, c]: [u32; 3]) -> [u32; 3] {
    if a < b && a < c {
        [a, b, c]
    } else if b < c {
        [b, c, a]
    } else {
        [c, a, b]
    }
}

/// Returns the values in use, in the order of their first use, and the indices into them.
fn compact<T: Copy>(values: &[T], used: impl Iterator<Item = [u32; 3]>) -> (Vec<T>, Vec<[u32; 3]>) {
    let mut new = vec![NONE; values.len()];
    let mut kept = Vec::new();
    let mut index = |i: u32| {
        let slot = &mut new[i as usize];
        if *slot == NONE {
            *slot = kept.len() as u32;
            kept.push(values[i as usize]);
        }
        *slot
    };
    let indices = used.map(|triangle| triangle.map(&mut index)).collect();
    (kept, indices)
}

/// Deduplicates normals, in the order of their first use.
fn distinct(normals: impl Iterator<Item = [[f32; 3]; 3]>) -> Corners<[f32; 3]> {
    let mut known: Map<[u32; 3], u32> = Map::default();
    let mut values = Vec::new();
    let mut index = |normal: [f32; 3]| {
        // Floats can't be keys, but their bits can.
        *known.entry(normal.map(f32::to_bits)).or_insert_with(|| {
            values.push(normal);
            values.len() as u32 - 1
        })
    };
    let indices = normals.map(|triangle| triangle.map(&mut index)).collect();
    Corners { values, indices }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::check;
    use crate::shapes::{ball, faceted};

    /// Returns all triangles as one part.
    fn whole(mesh: &MeshArrays) -> Vec<Range<usize>> {
        std::iter::once(0..mesh.triangles.len()).collect()
    }

    /// Returns all triangles as two parts.
    fn halves(mesh: &MeshArrays) -> [Range<usize>; 2] {
        let count = mesh.triangles.len();
        [0..count / 2, count / 2..count]
    }

    /// Returns a ball with one normal per triangle.
    fn faceted_ball(n: u32) -> MeshArrays {
        let ball = ball(n);
        faceted(ball.points, ball.triangles)
    }

    fn distinct_points(mesh: &MeshArrays) -> Set<[u32; 3]> {
        mesh.points.iter().map(|p| p.map(f32::to_bits)).collect()
    }

    #[test]
    fn a_ball_gets_lighter_within_its_bounds() {
        for mesh in [ball(60), faceted_ball(60)] {
            let [Some(medium), Some(low)] = tiers(&mesh, &whole(&mesh)) else {
                panic!("a tier is missing")
            };
            assert!(
                medium.arrays.triangles.len() < mesh.triangles.len() / 2,
                "{}",
                medium.arrays.triangles.len()
            );
            assert!(
                low.arrays.triangles.len() < medium.arrays.triangles.len() / 2,
                "{}",
                low.arrays.triangles.len()
            );
            for (tier, deviation) in [
                (&medium.arrays, MEDIUM_DEVIATION),
                (&low.arrays, LOW_DEVIATION),
            ] {
                check(tier);
                assert!(distinct_points(tier).is_subset(&distinct_points(&mesh)));
                // A triangle's centre is its deepest point inside the ball.
                let bound = deviation * 12_f32.sqrt() + 0.001;
                for t in &tier.triangles {
                    let [a, b, c] = t.map(|i| Vector3::from(tier.points[i as usize]));
                    assert!(((a + b + c) / 3.0).norm() > 1.0 - bound);
                    assert!(
                        (b - a).cross(&(c - a)).dot(&(a + b + c)) > 0.0,
                        "a triangle is turned round"
                    );
                }
            }
            assert_eq!(tiers(&mesh, &whole(&mesh)), [Some(medium), Some(low)]);
        }
    }

    #[test]
    fn several_components_of_several_cells_stay_near() {
        // Three wavy balls of different sizes: some need another attempt, some don't.
        let mut mesh = ball(75);
        let one = mesh.clone();
        for (size, at) in [(0.3, 1.5), (0.05, 2.0)] {
            let first = mesh.points.len() as u32;
            mesh.points.extend(
                one.points
                    .iter()
                    .map(|p| [p[0] * size + at, p[1] * size, p[2] * size]),
            );
            mesh.triangles
                .extend(one.triangles.iter().map(|t| t.map(|i| i + first)));
            mesh.normals.values.extend(&one.normals.values);
            mesh.normals
                .indices
                .extend(one.normals.indices.iter().map(|t| t.map(|i| i + first)));
        }
        for point in &mut mesh.points {
            let wave = 1.0 + 0.01 * (point[0] * 9.0).sin() * (point[1] * 7.0).cos();
            *point = point.map(|x| x * wave);
        }
        assert!(mesh.triangles.len() > MANY);
        let source = Source::new(&mesh, &whole(&mesh)).unwrap();
        let cells = Units::cells(&source, &source.whole);
        assert!(source.is_worth_beginning(
            &source.whole,
            &cells,
            MEDIUM_DEVIATION * source.diagonal
        ));
        let (low, high) = mesh.bounds().unwrap();
        let diagonal = (Vector3::from(high) - Vector3::from(low)).norm();
        let [Some(medium), Some(low)] = tiers(&mesh, &whole(&mesh)) else {
            panic!("a tier is missing")
        };
        assert!(
            medium.arrays.triangles.len() < mesh.triangles.len() / 3,
            "{}",
            medium.arrays.triangles.len()
        );
        assert!(
            low.arrays.triangles.len() < medium.arrays.triangles.len() / 2,
            "{}",
            low.arrays.triangles.len()
        );
        for (tier, deviation) in [
            (&medium.arrays, MEDIUM_DEVIATION),
            (&low.arrays, LOW_DEVIATION),
        ] {
            check(tier);
            assert!(distinct_points(tier).is_subset(&distinct_points(&mesh)));
            let bound = diagonal * deviation * 1.01;
            let is_within = |surface: &Surface, mesh: &MeshArrays, point: [f32; 3], bound: f32| {
                surface
                    .find(point, bound, |i| {
                        mesh.triangles[i].map(|i| mesh.points[i as usize])
                    })
                    .is_some()
            };
            let source = Surface::new(&mesh.points, &mesh.triangles);
            // Use a new surface for every block of points: the search budget is proportional to the
            // triangles, of which the tier has few.
            assert!(mesh.points.chunks(500).all(|points| {
                let surface = Surface::new(&tier.points, &tier.triangles);
                points
                    .iter()
                    .all(|&point| is_within(&surface, tier, point, bound))
            }));
            assert!(tier.triangles.iter().all(|t| {
                let [a, b, c] = t.map(|i| Vector3::from(tier.points[i as usize]));
                is_within(&source, &mesh, ((a + b + c) / 3.0).into(), bound)
            }));
        }
        assert_eq!(tiers(&mesh, &whole(&mesh)), [Some(medium), Some(low)]);
    }

    #[test]
    fn what_is_astray_is_seen() {
        let mesh = ball(30);
        let source = Source::new(&mesh, &whole(&mesh)).unwrap();
        let bound = MEDIUM_DEVIATION * source.diagonal;
        let astray = |triangles: Vec<[u32; 3]>, is_last| {
            let mut units = vec![0; triangles.len()];
            Proof::new(&source, bound)
                .astray(&source, triangles, &mut units, is_last)
                .unwrap()
        };
        let all = source.whole.triangles.clone();
        assert!(astray(all.clone(), true).0.is_empty());
        // A hole.
        let mut holed = all.clone();
        holed.drain(400..500);
        assert!(astray(holed.clone(), false).0.is_empty());
        let places = astray(holed, true).0.places;
        assert!(!places.is_empty() && places.len() < 400, "{}", places.len());
        // A flipped triangle, and one right through the ball.
        let mut wrong = all;
        let [a, b, c] = wrong[700];
        wrong[700] = [b, a, c];
        wrong[900][1] = wrong[1500][1];
        let (astray, tier) = astray(wrong, false);
        // The first and its neighbour were removed.
        assert_eq!(
            (astray.triangles, tier.triangles.len()),
            (vec![898], source.whole.triangles.len() - 2)
        );
    }

    #[test]
    fn a_fold_is_mended_within_its_unit() {
        let mesh = ball(30);
        let source = Source::new(&mesh, &whole(&mesh)).unwrap();
        let bound = MEDIUM_DEVIATION * source.diagonal;
        // Swap the diagonal of a quadrilateral that is barely larger than one of its triangles: one
        // of the two is flipped.
        let all = &source.whole.triangles;
        let [a, b, c] = all[700];
        let beside = all
            .iter()
            .position(|t| t.contains(&b) && t.contains(&a) && !t.contains(&c))
            .unwrap();
        let d = all[beside]
            .into_iter()
            .find(|i| ![a, b].contains(i))
            .unwrap();
        let [x, y] = [c, d].map(|vertex| {
            Vector3::from(source.points[source.vertices[vertex as usize].point as usize])
        });
        let mut mesh = mesh.clone();
        // Now `b` is slightly beyond the line from `c` to `d`, so that the quadrilateral has no
        // inner diagonal between these.
        let at = source.vertices[b as usize].point as usize;
        let middle = (x + y) / 2.0;
        let beyond = middle + (middle - Vector3::from(source.points[at])) * 0.01;
        mesh.points[at] = beyond.into();
        let moved = Source::new(&mesh, &whole(&mesh)).unwrap();
        let mut folded = moved.whole.triangles.clone();
        (folded[700], folded[beside]) = ([c, a, d], [d, b, c]);
        let mut units = vec![0; folded.len()];
        let proof = |units: &[u32]| {
            Proof::new(&moved, bound * 20.0)
                .astray(&moved, folded.clone(), &mut units.to_vec(), false)
                .unwrap()
        };
        let (astray, tier) = proof(&units);
        assert!(astray.is_empty());
        let made = [700, beside].map(|i| tier.faces[i]);
        assert!(
            made.iter().all(|face| moved.whole.faces.contains(face)),
            "{made:?}"
        );
        units[beside] = 1;
        assert_eq!(proof(&units).0.triangles, [beside as u32]);
    }

    #[test]
    fn a_fold_beside_a_seam_is_mended_on_its_other_side() {
        // Two squares at a right angle. The midpoint of their common edge is slightly outside the
        // first.
        let points = vec![
            [0.0, 0.0, 0.0],
            [1.0, -1e-4, 0.0],
            [2.0, 0.0, 0.0],
            [1.0, 1.0, 0.0],
            [1.0, 0.0, -1.0],
        ];
        let triangles = vec![[0, 1, 3], [1, 2, 3], [1, 0, 4], [2, 1, 4]];
        let normals = Corners {
            values: vec![[0.0, 0.0, 1.0], [0.0, -1.0, 0.0]],
            indices: vec![[0; 3], [0; 3], [1; 3], [1; 3]],
        };
        let mesh = MeshArrays {
            points,
            triangles,
            normals,
            uvs: None,
            colors: None,
        };
        let source = Source::new(&mesh, &whole(&mesh)).unwrap();
        let [first, second, third, fourth] = source.whole.triangles[..] else {
            panic!()
        };
        // The second square has one triangle along the edge. The gap beside it is closed by a
        // triangle of the first square, upside down.
        let folded = vec![
            first,
            second,
            [first[0], second[1], first[1]],
            [fourth[0], third[1], third[2]],
        ];
        let mut units = vec![0; 4];
        let (astray, tier) = Proof::new(&source, 0.01)
            .astray(&source, folded, &mut units, true)
            .unwrap();
        assert!(astray.is_empty());
        let rotated = |t: &[u32; 3]| least_first(*t);
        let sorted = |tier: &Tier| {
            tier.triangles
                .iter()
                .map(rotated)
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(sorted(&tier), sorted(&source.whole));
    }

    #[test]
    fn tiers_are_the_same_however_many_threads_make_them() {
        let mut mesh = ball(60);
        mesh.points.iter_mut().for_each(|p| {
            *p = p.map(|x| x * (1.0 + 0.02 * (p[0] * 9.0).sin() * (p[1] * 7.0).cos()))
        });
        let by = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| tiers(&mesh, &halves(&mesh)))
        };
        let one = by(1);
        assert!(one.iter().all(Option::is_some));
        assert_eq!(by(5), one);
    }

    #[test]
    fn a_dent_between_the_corners_is_seen() {
        let mesh = ball(30);
        let source = Source::new(&mesh, &whole(&mesh)).unwrap();
        // Remove the triangles around a point and close the hole from a neighbour: the point is now
        // away from the surface.
        let dent = 1000;
        let (around, mut rest): (Vec<[u32; 3]>, Vec<[u32; 3]>) = source
            .whole
            .triangles
            .iter()
            .partition(|t| t.contains(&dent));
        let apex = around[0].iter().copied().find(|&i| i != dent).unwrap();
        let filled = around
            .iter()
            .filter(|t| !t.contains(&apex))
            .map(|t| t.map(|i| if i == dent { apex } else { i }));
        rest.extend(filled);
        let mut units = vec![0; rest.len()];
        let flat = Proof::new(&source, 0.02)
            .astray(&source, rest.clone(), &mut units, true)
            .unwrap()
            .0;
        assert!(flat.is_empty());
        let mut mesh = mesh.clone();
        mesh.points[source.vertices[dent as usize].point as usize] = [0.0; 3];
        let dented = Source::new(&mesh, &whole(&mesh)).unwrap();
        let (astray, _) = Proof::new(&dented, 0.02)
            .astray(&dented, rest, &mut units, true)
            .unwrap();
        assert!(
            astray
                .places
                .iter()
                .any(|place| Vector3::from(*place).norm() < 0.1)
        );
        assert!(!astray.triangles.is_empty());
    }

    #[test]
    fn the_border_of_parts_stays() {
        let mesh = ball(60);
        let [_, Some(low)] = tiers(&mesh, &halves(&mesh)) else {
            panic!("a tier is missing")
        };
        check(&low.arrays);
        assert_eq!(
            low.parts.iter().map(|part| part.source).collect::<Vec<_>>(),
            [0, 1]
        );
        for (part, below) in low.parts.iter().zip([true, false]) {
            for &i in low.arrays.triangles[part.triangles.clone()].as_flattened() {
                let z = low.arrays.points[i as usize][2];
                assert!(if below { z < 1e-6 } else { z > -1e-6 }, "{z}");
            }
        }
    }

    #[test]
    fn what_is_small_or_needs_its_triangles_has_no_tiers() {
        assert_eq!(tiers(&ball(10), &whole(&ball(10))), [None, None]);
        let mut spiky = faceted_ball(30);
        for (i, point) in spiky.points.iter_mut().enumerate() {
            *point = point.map(|x| x * if i % 2 == 0 { 1.0 } else { 0.5 });
        }
        assert_eq!(tiers(&spiky, &whole(&spiky)), [None, None]);
    }

    #[test]
    fn meshes_without_size_have_no_tiers() {
        let mut mesh = ball(30);
        mesh.points.fill([1.0; 3]);
        assert_eq!(tiers(&mesh, &whole(&mesh)), [None, None]);
        mesh.points[0] = [f32::NAN; 3];
        tiers(&mesh, &whole(&mesh));
        mesh.points[0] = [f32::MAX; 3];
        mesh.points[1] = [f32::MIN; 3];
        assert_eq!(tiers(&mesh, &whole(&mesh)), [None, None]);
    }
}
