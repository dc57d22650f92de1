//! Meshes with fewer triangles, for where the source's are not needed (`mesh_medium` and `mesh_low` of REP-158 §1.3.2).
//!
//! meshopt collapses edges; its estimate of the error is no bound. So what it gives is measured against the source, and where it
//! lies too far off or is turned round, the source's points are kept and it has to try again. Points and texture coordinates of a
//! tier are some of the source's, and its normals are the source's or their means: nothing is moved or made.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use meshopt::SimplifyOptions;
use nalgebra::Vector3;

use super::deviation::{Surface, is_near};
use urdf_usd_robot::{Corners, Mesh, Part, Tiers};

/// How far the medium tier may lie from the source, as a part of the diagonal of its bounding box.
pub const MEDIUM_DEVIATION: f32 = 0.001;

/// The same for the low tier.
pub const LOW_DEVIATION: f32 = 0.01;

/// Meshes with fewer triangles are not simplified.
pub const MIN_TRIANGLES: usize = 400;

/// Meshes with more triangles are not simplified: it can't be interrupted, and takes some ten seconds for so many.
pub const MAX_TRIANGLES: usize = 4_000_000;

/// Meshes with more triangles at one point are not simplified: that takes time with the square of their number.
const MAX_AT_ONE_POINT: usize = 4000;

/// A tier with more than this part of the triangles of the next finer one is not worth having.
pub const MAX_SHARE: f64 = 0.8;

/// Where the normals at a point bend by less than this, in degrees, the surface is smooth, though they may be those of facets.
const SMOOTH_DEGREES: f32 = 25.0;

/// The estimated error to ask for, as a part of the deviation that is allowed.
const ESTIMATE: f32 = 0.5;

/// How often simplification is tried, each time with more of the source kept.
const ROUNDS: usize = 6;

/// Triangles with longer edges are measured at more than their corners; as a part of the diagonal.
const SPACING: f32 = 0.02;

/// How much a normal that is off by one counts, as a part of the diagonal: one that is off by 6° counts as much as the medium
/// tier may deviate.
const NORMAL_WEIGHT: f32 = 0.01;

/// How much a texture coordinate that is off by one image counts: 1 % of an image counts as much as the medium tier may deviate.
const UV_WEIGHT: f32 = 0.1;

type Set<T> = HashSet<T, foldhash::fast::FixedState>;
type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// The coarser tiers of a mesh, as far as they are worth having. The same mesh gives the same tiers.
pub fn tiers(mesh: &Mesh) -> Tiers {
    if !(MIN_TRIANGLES..=MAX_TRIANGLES).contains(&mesh.triangles.len()) || most_at_one_point(mesh) > MAX_AT_ONE_POINT {
        return Tiers::default();
    }
    let Some(source) = Source::new(mesh) else { return Tiers::default() };
    let medium = source.simplified(MEDIUM_DEVIATION, None);
    let low = source.simplified(LOW_DEVIATION, medium.as_ref());
    let mesh_of = |tier: Tier| Arc::new(source.mesh_of(tier.triangles));
    Tiers { medium: medium.map(mesh_of), low: low.map(mesh_of) }
}

/// How many triangles share the point that most do.
fn most_at_one_point(mesh: &Mesh) -> usize {
    let mut count = vec![0_usize; mesh.points.len()];
    mesh.triangles.as_flattened().iter().for_each(|&point| count[point as usize] += 1);
    count.into_iter().max().unwrap_or(0)
}

/// A mesh to simplify, in the terms of graphics cards: normals and texture coordinates belong to vertices. Where they differ at one
/// point there is a seam, along which edges are collapsed on both sides alike or not at all.
struct Source<'a> {
    mesh: &'a Mesh,
    /// The mesh's points, moved to the middle of its bounding box: so single precision is finer than any bound.
    points: Vec<[f32; 3]>,
    surface: Surface,
    /// The diagonal of the bounding box.
    diagonal: f32,
    vertices: Vec<Vertex>,
    /// The vertices of triangles.
    triangles: Vec<[u32; 3]>,
    /// The points of triangles, the least first.
    known: Set<[u32; 3]>,
    /// Of each vertex, its position in `points`, and its normal and texture coordinates.
    positions: Vec<[f32; 3]>,
    attributes: Vec<f32>,
}

/// A tier that lies near enough to the source.
struct Tier {
    /// The vertices of its triangles.
    triangles: Vec<[u32; 3]>,
    /// For each point of the source a triangle that it lies on (of points, the least first); [`NONE`] where that is the point's own.
    witnesses: Vec<[u32; 3]>,
}

/// What need not be measured again while a tier is tried once more.
struct Proved {
    /// Triangles (of points, the least first) that lie on the source.
    triangles: Set<[u32; 3]>,
    /// For each point of the source a triangle that it lies on.
    witnesses: Vec<[u32; 3]>,
}

/// What corners of triangles share.
#[derive(Clone, Copy)]
struct Vertex {
    point: u32,
    /// An index into the mesh's texture coordinates; [`NONE`] if it has none.
    uv: u32,
    /// An index into the mesh's colours; [`NONE`] if it has none.
    color: u32,
    part: u32,
    /// Of unit length.
    normal: [f32; 3],
}

const NONE: u32 = u32::MAX;

/// The vertices of a mesh and those of its triangles. Corners of one point, part texture coordinate and colour whose normals bend by less
/// than [`SMOOTH_DEGREES`] are one vertex, with the mean of their normals.
fn vertices(mesh: &Mesh) -> (Vec<Vertex>, Vec<[u32; 3]>) {
    let smooth = SMOOTH_DEGREES.to_radians().cos();
    let mut vertices: Vec<Vertex> = Vec::with_capacity(mesh.points.len());
    // Vertices of one point are a list: the last one made, and of each the one before.
    let mut last = vec![NONE; mesh.points.len()];
    let mut before: Vec<u32> = Vec::with_capacity(mesh.points.len());
    let mut sums: Vec<[f32; 3]> = Vec::with_capacity(mesh.points.len());
    let mut triangles = Vec::with_capacity(mesh.triangles.len());
    for (part, triangle) in mesh.parts.iter().enumerate().flat_map(|(i, p)| p.triangles.clone().map(move |t| (i as u32, t))) {
        triangles.push([0, 1, 2].map(|corner| {
            let point = mesh.triangles[triangle][corner];
            let normal = mesh.normals.values[mesh.normals.indices[triangle][corner] as usize];
            let uv = mesh.uvs.as_ref().map_or(NONE, |uvs| uvs.indices[triangle][corner]);
            let color = mesh.colors.as_ref().map_or(NONE, |colors| colors.indices[triangle][corner]);
            let mut at = last[point as usize];
            while at != NONE {
                let vertex = &vertices[at as usize];
                if (vertex.uv, vertex.color, vertex.part) == (uv, color, part) && dot(vertex.normal, normal) >= smooth {
                    let sum = &mut sums[at as usize];
                    *sum = [0, 1, 2].map(|k| sum[k] + normal[k]);
                    return at;
                }
                at = before[at as usize];
            }
            let new = vertices.len() as u32;
            before.push(std::mem::replace(&mut last[point as usize], new));
            vertices.push(Vertex { point, uv, color, part, normal });
            sums.push(normal);
            new
        }));
    }
    for (vertex, sum) in vertices.iter_mut().zip(sums) {
        let length = dot(sum, sum).sqrt();
        vertex.normal = sum.map(|x| x / length);
    }
    (vertices, triangles)
}

impl<'a> Source<'a> {
    /// `None` if the mesh has no size to measure by.
    fn new(mesh: &'a Mesh) -> Option<Self> {
        let (low, high) = mesh.bounds().filter(|_| mesh.points.as_flattened().iter().all(|x| x.is_finite()))?;
        let middle = [0, 1, 2].map(|k| low[k] / 2.0 + high[k] / 2.0);
        let diagonal = (0..3).map(|k| (high[k] - low[k]).powi(2)).sum::<f32>().sqrt();
        if !(diagonal.is_normal() && middle.iter().all(|x| x.is_finite())) {
            return None;
        }
        let points: Vec<[f32; 3]> = mesh.points.iter().map(|p| [0, 1, 2].map(|k| p[k] - middle[k])).collect();
        let (vertices, triangles) = vertices(mesh);
        let positions = vertices.iter().map(|v| points[v.point as usize]).collect();
        let mut attributes = Vec::with_capacity(vertices.len() * if mesh.uvs.is_some() { 5 } else { 3 });
        for vertex in &vertices {
            attributes.extend(vertex.normal);
            attributes.extend(mesh.uvs.iter().flat_map(|uvs| uvs.values[vertex.uv as usize]));
        }
        Some(Self {
            mesh,
            surface: Surface::new(&points, &mesh.triangles),
            points,
            diagonal,
            vertices,
            triangles,
            known: mesh.triangles.iter().map(|t| least_first(*t)).collect(),
            positions,
            attributes,
        })
    }

    /// A tier with as few triangles as stay within `deviation` of the mesh; `None` if that saves too little of what the `finer` tier
    /// has, or else the mesh. It is made from the finer one, which is less work.
    fn simplified(&self, deviation: f32, finer: Option<&Tier>) -> Option<Tier> {
        let bound = deviation * self.diagonal;
        let from = finer.map_or(&self.triangles, |finer| &finer.triangles);
        let mut locked = vec![false; self.points.len()];
        let mut proved = Proved { triangles: Set::default(), witnesses: vec![[NONE; 3]; self.points.len()] };
        for _ in 0..ROUNDS {
            let triangles = self.collapsed(from, bound * ESTIMATE, &locked);
            if triangles.is_empty() || triangles.len() as f64 > MAX_SHARE * from.len() as f64 {
                return None;
            }
            let mut astray = self.astray(&triangles, bound, &mut proved)?;
            if !astray.contains(&true) {
                return Some(Tier { triangles, witnesses: proved.witnesses });
            }
            if let Some(finer) = finer {
                // Points that the finer tier has no more are kept by what they lie on there.
                for (i, witness) in finer.witnesses.iter().enumerate().filter(|(_, witness)| witness[0] != NONE) {
                    if astray[i] {
                        witness.iter().for_each(|&point| astray[point as usize] = true);
                    }
                }
            }
            let points = from.iter().map(|t| t.map(|i| self.vertices[i as usize].point));
            lock(&mut locked, &astray, points);
        }
        None
    }

    /// The vertices of those triangles that are left of `from` when edges are collapsed up to an estimated error of `error`, without moving
    /// locked points.
    fn collapsed(&self, from: &[[u32; 3]], error: f32, locked: &[bool]) -> Vec<[u32; 3]> {
        let width = if self.mesh.uvs.is_some() { 5 } else { 3 };
        let weights = [NORMAL_WEIGHT, NORMAL_WEIGHT, NORMAL_WEIGHT, UV_WEIGHT, UV_WEIGHT];
        let locks: Vec<bool> = self.vertices.iter().map(|v| locked[v.point as usize]).collect();
        let indices = meshopt::simplify_with_attributes_and_locks_decoder(
            from.as_flattened(),
            &self.positions,
            &self.attributes,
            &weights[..width],
            width * size_of::<f32>(),
            &locks,
            0,
            error,
            SimplifyOptions::ErrorAbsolute,
            None,
        );
        let mut triangles = indices.as_chunks().0.to_vec();
        triangles.retain(|t| self.normal(*t) != Vector3::zeros());
        triangles
    }

    /// A vector along the normal of a triangle of vertices; zero if it has no area.
    fn normal(&self, triangle: [u32; 3]) -> Vector3<f64> {
        let [a, b, c] =
            triangle.map(|i| Vector3::from(self.mesh.points[self.vertices[i as usize].point as usize].map(f64::from)));
        (b - a).cross(&(c - a))
    }

    /// Whether a triangle faces away from the normals of all its corners.
    fn is_turned(&self, triangle: [u32; 3]) -> bool {
        let face = self.normal(triangle);
        triangle.iter().all(|&i| face.dot(&Vector3::from(self.vertices[i as usize].normal.map(f64::from))) <= 0.0)
    }

    /// The points around which `triangles` and the source are farther than `bound` from each other, or a triangle is turned round.
    /// `None` if that takes too long to say.
    fn astray(&self, triangles: &[[u32; 3]], bound: f32, proved: &mut Proved) -> Option<Vec<bool>> {
        let spacing = self.diagonal * SPACING;
        let tier: Vec<[u32; 3]> = triangles.iter().map(|t| least_first(t.map(|i| self.vertices[i as usize].point))).collect();
        let surface = Surface::new(&self.points, &tier);
        let corners = |triangle: [u32; 3]| triangle.map(|i| self.points[i as usize]);
        let mut astray = vec![false; self.points.len()];
        let mut kept = vec![false; self.points.len()];
        for (vertices, points) in triangles.iter().zip(&tier) {
            points.iter().for_each(|&i| kept[i as usize] = true);
            if self.known.contains(points) || proved.triangles.contains(points) {
                continue;
            }
            if self.is_turned(*vertices) || !self.surface.is_triangle_within(corners(*points), spacing, bound) {
                points.iter().for_each(|&i| astray[i as usize] = true);
            } else {
                proved.triangles.insert(*points);
            }
        }
        let there: Set<[u32; 3]> = tier.iter().copied().collect();
        self.witness(&tier, &kept, &there, bound, &mut proved.witnesses);
        for (i, point) in self.points.iter().enumerate().filter(|(i, _)| !kept[*i]) {
            if !there.contains(&proved.witnesses[i]) {
                match surface.find(*point, bound) {
                    Some(near) => proved.witnesses[i] = tier[near],
                    None => astray[i] = true,
                }
            }
        }
        let is_spent = || self.surface.is_spent() || surface.is_spent();
        if is_spent() {
            return None;
        }
        if astray.contains(&true) {
            return Some(astray);
        }
        let is_large = |triangle: &[u32; 3]| {
            let [a, b, c] = corners(*triangle).map(Vector3::from);
            (b - a).norm_squared().max((c - b).norm_squared()).max((a - c).norm_squared()) > spacing * spacing
        };
        for triangle in self.mesh.triangles.iter().filter(|t| is_large(t) && !there.contains(&least_first(**t))) {
            if !surface.is_triangle_within(corners(*triangle), spacing, bound) {
                triangle.iter().for_each(|&i| astray[i as usize] = true);
            }
        }
        (!is_spent()).then_some(astray)
    }

    /// Finds a triangle of `tier` that they lie on for most points that are not `kept` in it: it is mostly one on which a neighbour
    /// lies. That saves most of the searches.
    fn witness(&self, tier: &[[u32; 3]], kept: &[bool], there: &Set<[u32; 3]>, bound: f32, witnesses: &mut [[u32; 3]]) {
        /// Each pass reaches one neighbour farther.
        const PASSES: usize = 3;
        // For each point a triangle to try: its own where it is kept.
        let mut near: Vec<[u32; 3]> =
            witnesses.iter().map(|witness| if there.contains(witness) { *witness } else { [NONE; 3] }).collect();
        for triangle in tier {
            triangle.iter().for_each(|&point| near[point as usize] = *triangle);
        }
        for _ in 0..PASSES {
            let mut is_done = true;
            for corners in &self.mesh.triangles {
                for (k, &point) in corners.iter().enumerate() {
                    if near[point as usize][0] != NONE {
                        continue;
                    }
                    let others = [corners[(k + 1) % 3], corners[(k + 2) % 3]].map(|other| near[other as usize]);
                    let lies_on = |triangle: &&[u32; 3]| {
                        let corners = || triangle.map(|i| self.points[i as usize]);
                        triangle[0] != NONE && is_near(self.points[point as usize], &corners(), bound)
                    };
                    if let Some(found) = others.iter().find(lies_on) {
                        near[point as usize] = *found;
                        is_done = false;
                    }
                }
            }
            if is_done {
                break;
            }
        }
        for ((witness, near), kept) in witnesses.iter_mut().zip(near).zip(kept) {
            *witness = if *kept { [NONE; 3] } else { near };
        }
    }

    /// The mesh of these triangles of vertices.
    fn mesh_of(&self, mut triangles: Vec<[u32; 3]>) -> Mesh {
        let mesh = self.mesh;
        let part_of = |triangle: &[u32; 3]| self.vertices[triangle[0] as usize].part;
        triangles.sort_by_key(part_of);
        let mut parts: Vec<Part> = Vec::new();
        for run in triangles.chunk_by(|a, b| part_of(a) == part_of(b)) {
            let start = parts.last().map_or(0, |part| part.triangles.end);
            let material = mesh.parts[part_of(&run[0]) as usize].material;
            parts.push(Part { triangles: start..start + run.len(), material });
        }
        let vertices = || triangles.iter().map(|t| t.map(|i| self.vertices[i as usize]));
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
        Mesh {
            points,
            triangles: point_indices,
            normals,
            uvs,
            colors,
            parts,
            materials: mesh.materials.clone(),
            digest: [0; 32],
        }
    }
}

/// Locks the points that are astray and those that share a triangle (of points) with them.
fn lock(locked: &mut [bool], astray: &[bool], triangles: impl Iterator<Item = [u32; 3]>) {
    for triangle in triangles {
        if triangle.iter().any(|&i| astray[i as usize]) {
            triangle.iter().for_each(|&i| locked[i as usize] = true);
        }
    }
}

/// The same triangle, begun at the least of its indices.
fn least_first([a, b, c]: [u32; 3]) -> [u32; 3] {
    if a < b && a < c {
        [a, b, c]
    } else if b < c {
        [b, c, a]
    } else {
        [c, a, b]
    }
}

/// Those of `values` that are used, in the order of their use, and the indices into them.
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

/// Equal normals once, in the order of their use.
fn distinct(normals: impl Iterator<Item = [[f32; 3]; 3]>) -> Corners<[f32; 3]> {
    let mut known: Map<[u32; 3], u32> = Map::default();
    let mut values = Vec::new();
    let mut index = |normal: [f32; 3]| {
        *known.entry(normal.map(f32::to_bits)).or_insert_with(|| {
            values.push(normal);
            values.len() as u32 - 1
        })
    };
    let indices = normals.map(|triangle| triangle.map(&mut index)).collect();
    Corners { values, indices }
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[cfg(test)]
mod tests {
    use super::super::test::check;
    use super::*;
    use urdf_usd_robot::Material;

    /// A ball of `2 · n · n` triangles, each with its own normal if `faceted`; its halves are different parts, if `halves`.
    fn ball(n: u32, faceted: bool, halves: bool) -> Mesh {
        let point = |i: u32, j: u32| {
            let (turn, rise) =
                (std::f32::consts::TAU * (i % (2 * n)) as f32 / (2 * n) as f32, std::f32::consts::PI * j as f32 / n as f32);
            [turn.cos() * rise.sin(), turn.sin() * rise.sin(), -rise.cos()]
        };
        let index = |i: u32, j: u32| match j {
            0 => 0,
            j if j == n => 1,
            j => 2 + (j - 1) * 2 * n + i % (2 * n),
        };
        let mut points = vec![point(0, 0), point(0, n)];
        points.extend((1..n).flat_map(|j| (0..2 * n).map(move |i| point(i, j))));
        let mut triangles = Vec::new();
        for (j, i) in (0..n).flat_map(|j| (0..2 * n).map(move |i| (j, i))) {
            let [a, b, c, d] = [index(i, j), index(i + 1, j), index(i + 1, j + 1), index(i, j + 1)];
            triangles.extend((a != b).then_some([a, b, c]));
            triangles.extend((c != d).then_some([a, c, d]));
        }
        let normals = if faceted {
            let normal = |t: &[u32; 3]| {
                let [a, b, c] = t.map(|i| Vector3::from(points[i as usize]));
                (b - a).cross(&(c - a)).normalize().into()
            };
            let indices = (0..triangles.len() as u32).map(|i| [i; 3]).collect();
            Corners { values: triangles.iter().map(normal).collect(), indices }
        } else {
            Corners { values: points.clone(), indices: triangles.clone() }
        };
        let count = triangles.len();
        let part = |triangles, material| Part { triangles, material: Some(material) };
        let parts = if halves { vec![part(0..count / 2, 0), part(count / 2..count, 1)] } else { vec![part(0..count, 0)] };
        let materials = vec![Material::plain("a", [1.0; 4]), Material::plain("b", [0.0; 4])];
        Mesh { points, triangles, normals, uvs: None, colors: None, parts, materials, digest: [0; 32] }
    }

    fn distinct_points(mesh: &Mesh) -> Set<[u32; 3]> {
        mesh.points.iter().map(|p| p.map(f32::to_bits)).collect()
    }

    #[test]
    fn a_ball_gets_lighter_within_its_bounds() {
        for faceted in [false, true] {
            let mesh = ball(60, faceted, false);
            let Tiers { medium: Some(medium), low: Some(low) } = tiers(&mesh) else { panic!("a tier is missing") };
            assert!(medium.triangles.len() < mesh.triangles.len() / 2, "{}", medium.triangles.len());
            assert!(low.triangles.len() < medium.triangles.len() / 2, "{}", low.triangles.len());
            for (tier, deviation) in [(&medium, MEDIUM_DEVIATION), (&low, LOW_DEVIATION)] {
                check(tier);
                assert!(distinct_points(tier).is_subset(&distinct_points(&mesh)));
                // The middle of a triangle is where it is deepest inside the ball.
                let bound = deviation * 12_f32.sqrt() + 0.001;
                for t in &tier.triangles {
                    let [a, b, c] = t.map(|i| Vector3::from(tier.points[i as usize]));
                    assert!(((a + b + c) / 3.0).norm() > 1.0 - bound);
                    assert!((b - a).cross(&(c - a)).dot(&(a + b + c)) > 0.0, "a triangle is turned round");
                }
            }
            assert_eq!(tiers(&mesh), Tiers { medium: Some(medium), low: Some(low) });
        }
    }

    #[test]
    fn the_border_of_parts_stays() {
        let mesh = ball(60, false, true);
        let low = tiers(&mesh).low.unwrap();
        check(&low);
        assert_eq!(low.parts.iter().map(|part| part.material).collect::<Vec<_>>(), [Some(0), Some(1)]);
        for (part, below) in low.parts.iter().zip([true, false]) {
            for &i in low.triangles[part.triangles.clone()].as_flattened() {
                let z = low.points[i as usize][2];
                assert!(if below { z < 1e-6 } else { z > -1e-6 }, "{z}");
            }
        }
    }

    #[test]
    fn what_is_small_or_needs_its_triangles_has_no_tiers() {
        assert_eq!(tiers(&ball(10, false, false)), Tiers::default());
        let mut spiky = ball(30, true, false);
        for (i, point) in spiky.points.iter_mut().enumerate() {
            *point = point.map(|x| x * if i % 2 == 0 { 1.0 } else { 0.5 });
        }
        assert_eq!(tiers(&spiky), Tiers::default());
    }

    #[test]
    fn meshes_without_size_have_no_tiers() {
        let mut mesh = ball(30, false, false);
        mesh.points.fill([1.0; 3]);
        assert_eq!(tiers(&mesh), Tiers::default());
        mesh.points[0] = [f32::NAN; 3];
        tiers(&mesh);
        mesh.points[0] = [f32::MAX; 3];
        mesh.points[1] = [f32::MIN; 3];
        assert_eq!(tiers(&mesh), Tiers::default());
    }
}
