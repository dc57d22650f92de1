//! Simplified meshes for uses that don't need the source's detail: a medium and a low tier.
//!
//! Edges are collapsed up to the medium tier's deviation, and from there on up to the low tier's
//! ([`collapse`]). Each collapse keeps a bound of the distance to the source, so that the mesh is a
//! valid tier after every one of them. Points and texture coordinates of a tier are a subset of the source's,
//! and its normals are the source's or their means: vertices are never moved or created.

#![allow(
    clippy::indexing_slicing,
    reason = "triangles of a mesh have been checked, and every table is as long as what its indices count"
)]

mod collapse;
mod pieces;

use std::collections::HashMap;
use std::ops::Range;

use self::collapse::{Decimation, Kept, Numbers};
use crate::vector::{dot, norm};
use crate::{Corners, MeshArrays};

/// Maximum deviation of the medium tier from the source, relative to the diagonal of its bounding
/// box.
pub const MEDIUM_DEVIATION: f32 = 0.001;

/// Maximum deviation of the low tier, likewise.
pub const LOW_DEVIATION: f32 = 0.01;

/// Meshes with fewer triangles are not simplified.
pub const MIN_TRIANGLES: usize = 400;

/// Meshes with more triangles are not simplified: that many take some seconds, and can't be
/// interrupted.
pub const MAX_TRIANGLES: usize = 4_000_000;

/// Meshes with more triangles at one point are not simplified: the time grows with the square of
/// their number.
const MAX_AT_ONE_POINT: usize = 4000;

/// Maximum number of triangles of a tier, relative to the next finer one; a larger tier is dropped.
pub const MAX_SHARE: f64 = 0.8;

/// Angle in degrees up to which the normals at a point are merged: the surface counts as smooth
/// there, even if the file has the normals of its facets.
const SMOOTH_DEGREES: f32 = 25.0;

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
    let Some((source, triangles)) = Source::new(mesh, parts) else {
        return [None, None];
    };
    let [medium, low] = source.simplified(triangles);
    // A tier is compared with the next finer one that is made.
    let mut most = mesh.triangles.len();
    [medium, low].map(|triangles| {
        let is_lighter = !triangles.is_empty() && triangles.len() as f64 <= MAX_SHARE * most as f64;
        is_lighter.then(|| {
            most = triangles.len();
            source.simplified_mesh(triangles)
        })
    })
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
    /// The centre and the diagonal of the mesh's bounding box.
    middle: [f32; 3],
    diagonal: f32,
    vertices: Vec<Vertex>,
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
    /// Returns the source and its triangles in terms of vertices; `None` if the mesh has no finite, positive
    /// size to measure by.
    fn new(mesh: &'a MeshArrays, parts: &[Range<usize>]) -> Option<(Self, Vec<[u32; 3]>)> {
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
        let (vertices, triangles) = vertices(mesh, parts);
        let source = Self {
            mesh,
            middle,
            diagonal,
            vertices,
        };
        Some((source, triangles))
    }

    /// Returns a point relative to the centre of the bounding box and in units of its diagonal.
    fn position(&self, point: u32) -> [f32; 3] {
        let point = self.mesh.points[point as usize];
        [0, 1, 2].map(|k| (point[k] - self.middle[k]) / self.diagonal)
    }

    /// Returns the triangles (of vertices) of the medium and the low tier.
    fn simplified(&self, triangles: Vec<[u32; 3]>) -> [Vec<[u32; 3]>; 2] {
        let size = pieces::MAX_TRIANGLES;
        if triangles.len() > size {
            let medium = pieces::collapsed(self, &triangles, MEDIUM_DEVIATION, size);
            drop(triangles);
            let low = pieces::collapsed(self, &medium, LOW_DEVIATION, size);
            return [medium, low].map(|tier| tier.iter().map(|kept| kept.wedges).collect());
        }
        let kept = triangles.iter().copied().map(Kept::from);
        let mut decimation = Decimation::new(self, kept, &mut Numbers::new(self), LOW_DEVIATION);
        drop(triangles);
        [MEDIUM_DEVIATION, LOW_DEVIATION].map(|bound| {
            decimation.collapse(bound);
            decimation.remaining().map(|kept| kept.wedges).collect()
        })
    }

    /// Returns the mesh of these triangles of vertices.
    fn simplified_mesh(&self, mut triangles: Vec<[u32; 3]>) -> Simplified {
        let mesh = self.mesh;
        let part_of = |triangle: &[u32; 3]| self.vertices[triangle[0] as usize].part;
        // Triangles are in the order of pieces, and a component may span several parts. The sort is
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
        let normals = distinct_normals(&self.vertices, &triangles);
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

/// Deduplicates the normals of vertices, in the order of their first use.
fn distinct_normals(vertices: &[Vertex], triangles: &[[u32; 3]]) -> Corners<[f32; 3]> {
    let mut known: Map<[u32; 3], u32> = Map::default();
    let mut values = Vec::new();
    // Most corners are at a vertex that was seen before, which is cheaper than to hash its normal.
    let mut by_vertex = vec![NONE; vertices.len()];
    let mut index = |vertex: u32| {
        let slot = &mut by_vertex[vertex as usize];
        if *slot == NONE {
            let normal = vertices[vertex as usize].normal;
            // Floats can't be keys, but their bits can.
            *slot = *known.entry(normal.map(f32::to_bits)).or_insert_with(|| {
                values.push(normal);
                values.len() as u32 - 1
            });
        }
        *slot
    };
    let indices = triangles.iter().map(|t| t.map(&mut index)).collect();
    Corners { values, indices }
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use super::*;
    use crate::deviation::Surface;
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

    fn distinct_points(mesh: &MeshArrays) -> std::collections::HashSet<[u32; 3]> {
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

    /// Returns places on all triangles, on a grid finer than most of them need.
    fn samples(mesh: &MeshArrays, steps: u16) -> Vec<[f32; 3]> {
        let shares: Vec<[f32; 3]> = (0..=steps)
            .flat_map(|i| (0..=steps - i).map(move |j| [i, j, steps - i - j]))
            .map(|shares| shares.map(|share| f32::from(share) / f32::from(steps)))
            .collect();
        let corners = mesh
            .triangles
            .iter()
            .map(|t| t.map(|i| mesh.points[i as usize]));
        let places = corners.flat_map(|[a, b, c]| {
            shares
                .iter()
                .map(move |s| [0, 1, 2].map(|k| a[k] * s[0] + b[k] * s[1] + c[k] * s[2]))
        });
        places.collect()
    }

    /// Asserts that the samples of each of two surfaces are within the bound of the other.
    fn assert_near(mesh: &MeshArrays, tier: &MeshArrays, bound: f32) {
        // Tiers have few and large triangles.
        for (from, to, steps) in [(mesh, tier, 4), (tier, mesh, 40)] {
            // Use a new surface for every block of points: the search budget is proportional to the
            // triangles, of which the tier has few.
            for places in samples(from, steps).chunks(to.triangles.len().max(500)) {
                let surface = Surface::new(&to.points, &to.triangles);
                let corners = |i: usize| to.triangles[i].map(|i| to.points[i as usize]);
                for place in places {
                    let found = surface.find(*place, bound * 1.0001, corners);
                    assert!(found.is_some(), "{place:?} is farther than {bound}");
                }
            }
        }
    }

    /// Asserts that each triangle faces where the normals of its corners point on average.
    fn assert_unflipped(mesh: &MeshArrays) {
        for (t, n) in mesh.triangles.iter().zip(&mesh.normals.indices) {
            let [a, b, c] = t.map(|i| Vector3::from(mesh.points[i as usize]));
            let [x, y, z] = n.map(|i| Vector3::from(mesh.normals.values[i as usize]));
            assert!((b - a).cross(&(c - a)).dot(&(x + y + z)) > 0.0);
        }
    }

    /// Returns the surface through `rows` times `columns` places, closed along columns or not.
    fn grid(
        [rows, columns]: [u32; 2],
        is_closed: bool,
        place: impl Fn(f32, f32) -> [f32; 3],
    ) -> MeshArrays {
        let share = |i: u32, count: u32| i as f32 / count as f32;
        let last = columns - u32::from(!is_closed);
        let points = (0..rows * columns)
            .map(|i| place(share(i / columns, rows - 1), share(i % columns, last)));
        let triangles = (0..(rows - 1) * last).flat_map(|i| {
            let (i, j) = (i / last, i % last);
            let at = |i: u32, j: u32| i * columns + j % columns;
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            [[a, b, c], [a, c, d]]
        });
        faceted(points.collect(), triangles.collect())
    }

    #[test]
    fn all_places_stay_within_the_bound() {
        let wave = |x: f32, y: f32| 0.02 * (9.0 * x).sin() * (7.0 * y).cos();
        let noise = |x: f32, y: f32| 0.0005 * ((x * 7919.0).sin() + (y * 104_729.0).cos());
        let turn = std::f32::consts::TAU;
        let tube = |x: f32, y: f32| [x, 0.004 * (turn * y).cos(), 0.004 * (turn * y).sin()];
        let bumpy = |x: f32, y: f32| {
            let radius = 0.3 + 0.05 * (5.0 * turn * y).sin() * (9.0 * x).cos();
            [x, radius * (turn * y).cos(), radius * (turn * y).sin()]
        };
        // A sheet thinner than the bound of the low tier.
        let mut sheet = grid([70, 70], false, |x, y| [x, y, wave(x, y)]);
        let under = grid([70, 70], false, |y, x| [x, y, wave(x, y) - 0.002]);
        let (points, values) = (sheet.points.len() as u32, sheet.normals.values.len() as u32);
        sheet.points.extend(under.points);
        sheet
            .triangles
            .extend(under.triangles.iter().map(|t| t.map(|i| i + points)));
        sheet.normals.values.extend(under.normals.values);
        let indices = under.normals.indices.iter().map(|t| t.map(|i| i + values));
        sheet.normals.indices.extend(indices);
        for mesh in [
            sheet,
            grid([90, 90], false, |x, y| [x, y, wave(x, y) + noise(x, y)]),
            grid([200, 16], true, tube),
            grid([90, 90], true, bumpy),
        ] {
            let (low, high) = mesh.bounds().unwrap();
            let diagonal = (Vector3::from(high) - Vector3::from(low)).norm();
            let [Some(medium), Some(low)] = tiers(&mesh, &whole(&mesh)) else {
                panic!("a tier is missing")
            };
            let counts = [&mesh, &medium.arrays, &low.arrays].map(|mesh| mesh.triangles.len());
            assert!(
                counts[1] < counts[0] / 2 && counts[2] < counts[1] / 2,
                "{counts:?}"
            );
            for (tier, deviation) in [(&medium, MEDIUM_DEVIATION), (&low, LOW_DEVIATION)] {
                check(&tier.arrays);
                assert_unflipped(&tier.arrays);
                assert!(distinct_points(&tier.arrays).is_subset(&distinct_points(&mesh)));
                assert_near(&mesh, &tier.arrays, deviation * diagonal);
            }
        }
    }

    #[test]
    fn planes_need_few_triangles() {
        let mesh = grid([120, 120], false, |x, y| [x, y + 0.2 * x * y, 0.0]);
        let [Some(medium), _] = tiers(&mesh, &whole(&mesh)) else {
            panic!("a tier is missing")
        };
        assert!(
            medium.arrays.triangles.len() < 60,
            "{}",
            medium.arrays.triangles.len()
        );
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

    /// Returns a wavy ring between the radii 0.5 and 1, with normals of its facets.
    fn ring(around: u32, across: u32) -> MeshArrays {
        let place = |i: u32, j: u32| {
            let angle = std::f32::consts::TAU * i as f32 / around as f32;
            let radius = 0.5 + 0.5 * j as f32 / across as f32;
            let height = 0.05 * (3.0 * angle).sin();
            [radius * angle.cos(), radius * angle.sin(), height]
        };
        let columns = across + 1;
        let points = (0..around * columns).map(|i| place(i / columns, i % columns));
        let triangles = (0..around * across).flat_map(|i| {
            let (i, j) = (i / across, i % across);
            let at = |i: u32, j: u32| i % around * columns + j;
            let [a, b, c, d] = [at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)];
            [[a, b, c], [a, c, d]]
        });
        faceted(points.collect(), triangles.collect())
    }

    #[test]
    fn borders_stay_where_they_are() {
        let mesh = ring(300, 20);
        let diagonal = 8.01_f32.sqrt();
        for (tier, deviation) in tiers(&mesh, &whole(&mesh))
            .into_iter()
            .zip([MEDIUM_DEVIATION, LOW_DEVIATION])
        {
            let tier = tier.unwrap().arrays;
            check(&tier);
            assert!(tier.triangles.len() < mesh.triangles.len() / 4);
            let edges = |[a, b, c]: [u32; 3]| [[a, b], [b, c], [c, a]];
            let all: std::collections::HashSet<[u32; 2]> =
                tier.triangles.iter().flat_map(|t| edges(*t)).collect();
            let borders: Vec<_> = all
                .iter()
                .filter(|[from, to]| !all.contains(&[*to, *from]))
                .collect();
            assert!(borders.len() < 300, "{}", borders.len());
            for border in borders {
                let [from, to] = border.map(|i| Vector3::from(tier.points[i as usize]));
                let radius = ((from + to) / 2.0).xy().norm();
                let off = (radius - 1.0).abs().min((radius - 0.5).abs());
                assert!(off < deviation * diagonal, "{off}");
            }
        }
    }

    #[test]
    fn texture_coordinates_stay_on_their_side_of_a_seam() {
        let mut mesh = ring(300, 20);
        // The texture starts again halfway across the ring.
        let seam = 0.75;
        let uv = |point: [f32; 3], is_inner: bool| {
            let shift = if is_inner { 0.0 } else { 7.0 };
            [point[0] + shift, point[1]]
        };
        let is_inner = |mesh: &MeshArrays, triangle: &[u32; 3]| {
            let radius = |i: &u32| Vector3::from(mesh.points[*i as usize]).xy().norm();
            triangle.iter().map(radius).sum::<f32>() < 3.0 * seam
        };
        let values: Vec<[f32; 2]> = [true, false]
            .into_iter()
            .flat_map(|is_inner| mesh.points.iter().map(move |p| uv(*p, is_inner)))
            .collect();
        let count = mesh.points.len() as u32;
        let indices = mesh.triangles.iter().map(|t| {
            let shift = if is_inner(&mesh, t) { 0 } else { count };
            t.map(|i| i + shift)
        });
        mesh.uvs = Some(Corners {
            values,
            indices: indices.collect(),
        });
        for tier in tiers(&mesh, &whole(&mesh)) {
            let tier = tier.unwrap().arrays;
            check(&tier);
            let uvs = tier.uvs.as_ref().unwrap();
            for (triangle, at) in tier.triangles.iter().zip(&uvs.indices) {
                let is_inner = uvs.values[at[0] as usize][0] < 3.0;
                for (point, at) in triangle.iter().zip(at) {
                    let point = tier.points[*point as usize];
                    assert_eq!(uvs.values[*at as usize], uv(point, is_inner));
                    let off = Vector3::from(point).xy().norm() - seam;
                    assert!(if is_inner { off < 1e-6 } else { off > -1e-6 }, "{off}");
                }
            }
        }
    }

    #[test]
    fn edges_of_three_triangles_stay() {
        // Three strips of a common border.
        let across = 12;
        let (mut points, mut triangles): (Vec<[f32; 3]>, Vec<[u32; 3]>) = Default::default();
        for i in 0..=20 {
            points.push([0.0, 0.0, i as f32]);
        }
        for (x, y) in [(1.0, 0.0), (-0.5, 0.8), (-0.5, -0.8)] {
            let first = points.len() as u32;
            for j in 1..=across {
                points.extend((0..=20).map(|i| [x * j as f32, y * j as f32, i as f32]));
            }
            let at = |i: u32, j: u32| if j == 0 { i } else { first + (j - 1) * 21 + i };
            for (i, j) in (0..across).flat_map(|j| (0..20).map(move |i| (i, j))) {
                let [a, b, c, d] = [at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        let mesh = faceted(points, triangles);
        let [Some(medium), _] = tiers(&mesh, &whole(&mesh)) else {
            panic!("a tier is missing")
        };
        check(&medium.arrays);
        assert!(medium.arrays.triangles.len() < mesh.triangles.len() / 4);
        let common = |points: &[[f32; 3]]| points.iter().filter(|p| p[0] == 0.0).count();
        assert_eq!(common(&medium.arrays.points), common(&mesh.points));
    }

    #[test]
    fn what_is_small_or_needs_its_triangles_has_no_tiers() {
        assert_eq!(tiers(&ball(10), &whole(&ball(10))), [None, None]);
        // A sheet whose points are at irregular heights.
        let points = (0..21 * 21).map(|i| [i / 21, i % 21, i * i % 13].map(|x| x as f32));
        let triangles = (0..20 * 20).flat_map(|i| {
            let a = i / 20 * 21 + i % 20;
            [[a, a + 21, a + 22], [a, a + 22, a + 1]]
        });
        let spiky = faceted(points.collect(), triangles.collect());
        assert_eq!(tiers(&spiky, &whole(&spiky)), [None, None]);
    }

    #[test]
    fn small_pieces_of_large_meshes_are_not_turned_round() {
        for size in [1e-4, 3e-5, 1e-5] {
            let mut ball = ball(60);
            let count = ball.points.len() as u32;
            ball.points
                .iter_mut()
                .flatten()
                .for_each(|coordinate| *coordinate *= size);
            // A single triangle far away.
            ball.points
                .extend([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]);
            ball.triangles.push([count, count + 1, count + 2]);
            let mesh = faceted(ball.points, ball.triangles);
            let [Some(medium), _] = tiers(&mesh, &whole(&mesh)) else {
                panic!("a tier is missing")
            };
            assert_unflipped(&medium.arrays);
        }
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
