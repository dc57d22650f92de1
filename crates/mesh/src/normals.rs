//! Normals from geometry, for corners without one in the source.

#![allow(
    clippy::indexing_slicing,
    reason = "triangles of an assembly have been checked, and every table is as long as what its indices count"
)]

use std::ops::Range;

use nalgebra::Vector3;
use rayon::prelude::*;

use super::assembly::NONE;

/// The shading of corners without a normal in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shading {
    /// Smooth across edges whose dihedral bend is less than [`CREASE_DEGREES`].
    Smooth,
    /// One normal per triangle.
    Flat,
}

/// Minimum bend in degrees of an edge that is rendered as a crease. Large enough for a cylinder of
/// ten sides to look round, small enough for an octagonal nut to keep its edges.
pub(super) const CREASE_DEGREES: f64 = 40.0;

/// Computed normals are rounded to this fraction, so that corners in one plane share one normal.
const STEPS: f64 = (1 << 20) as f64;

/// A number with this added has no mantissa bits left for fractions, so that adding and subtracting
/// it rounds. `round` is a slower function call.
const TO_WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;

/// Edges with more triangles are compared only with their neighbours in order, to bound the work.
const PAIRWISE: usize = 8;

/// Sets the entries of `corner_normals` that are [`NONE`]. `add` returns the index of a normal.
///
/// Around each point, triangles are joined into fans across edges that bend less than the crease
/// angle. Each fan has one normal, the mean of its triangles' weighted by their angles at the point
/// (Thürmer and Wüthrich 1998), which does not depend on how faces are triangulated. The work is
/// linear in the number of corners, apart from sorting the corners of each point.
pub(super) fn fill(
    points: &[[f32; 3]],
    triangles: &[[u32; 3]],
    corner_normals: &mut [[u32; 3]],
    shading: Shading,
    mut add: impl FnMut([f32; 3]) -> Option<u32>,
) {
    let mut add = |normal: [f32; 3]| add(normal).unwrap_or(0);
    if shading == Shading::Flat {
        for (triangle, corners) in triangles.iter().zip(corner_normals) {
            if corners.contains(&NONE) {
                let normal = add(rounded(face_normal(points, *triangle)));
                corners
                    .iter_mut()
                    .filter(|i| **i == NONE)
                    .for_each(|i| *i = normal);
            }
        }
        return;
    }
    let (starts, around) = corners_of_points(points.len(), triangles);
    let fill = Fill {
        points,
        triangles,
        starts,
        around,
    };
    let corner_normals = corner_normals.as_flattened_mut();
    // Deduplicate normals sequentially, in the order of their points: the result does not depend on
    // the number of threads.
    let firsts: Vec<usize> = (0..points.len()).step_by(PORTION).collect();
    for firsts in firsts.chunks(PORTIONS) {
        let given = &*corner_normals;
        let portion = |fans: &mut Fans, first: &usize| {
            fill.portion(*first..points.len().min(first + PORTION), given, fans)
        };
        let portions: Vec<Portion> = firsts
            .par_iter()
            .map_init(|| Fans::new(&fill), portion)
            .collect();
        for Portion { normals, corners } in portions {
            let numbers: Vec<u32> = normals.into_iter().map(&mut add).collect();
            for (corner, normal) in corners {
                corner_normals[corner as usize] = numbers[normal as usize];
            }
        }
    }
}

/// Number of points per task, …
const PORTION: usize = 1024;

/// … and maximum number of tasks whose results are in memory at a time.
const PORTIONS: usize = 64;

fn rounded(normal: Vector3<f64>) -> [f32; 3] {
    let normal = normal.map(|x| (x * STEPS + TO_WHOLE - TO_WHOLE) / STEPS);
    [normal.x as f32, normal.y as f32, normal.z as f32]
}

/// The inputs of smooth normals.
struct Fill<'a> {
    points: &'a [[f32; 3]],
    triangles: &'a [[u32; 3]],
    /// The offset of each point's corners in `around`.
    starts: Vec<u32>,
    /// The numbers of corners: three times the triangle's plus the index in the triangle.
    around: Vec<u32>,
}

/// The normals at a range of points.
#[derive(Default)]
struct Portion {
    normals: Vec<[f32; 3]>,
    /// The numbers of corners, and the indices of their normals.
    corners: Vec<(u32, u32)>,
}

impl Fill<'_> {
    /// Computes the normals of the corners at some points for which `given` has none.
    fn portion(&self, points: Range<usize>, given: &[u32], fans: &mut Fans) -> Portion {
        let cos_crease = CREASE_DEGREES.to_radians().cos();
        let Portion {
            mut normals,
            mut corners,
        } = Portion::default();
        for point in points {
            let here = &self.around[self.starts[point] as usize..self.starts[point + 1] as usize];
            // This holds for points without corners, too, so `here` has a first one below.
            if here.iter().all(|&number| given[number as usize] != NONE) {
                continue;
            }
            let lacking = here
                .iter()
                .enumerate()
                .filter(|(_, number)| given[**number as usize] == NONE);
            // Fast path: most points of technical shapes are inside a plane.
            let face = fans.known.face(self, here[0] / 3);
            if here
                .iter()
                .all(|number| fans.known.face(self, number / 3) == face)
            {
                corners.extend(lacking.map(|(_, &number)| (number, normals.len() as u32)));
                normals.push(rounded(face));
                continue;
            }
            fans.set(self, here);
            fans.join(cos_crease);
            fans.sums.clear();
            fans.sums.resize(here.len(), Vector3::zeros());
            for (i, &number) in here.iter().enumerate() {
                let fan = fans.root(i);
                fans.sums[fan] +=
                    fans.corners[i].face * fans.known.angles(self, number / 3)[number as usize % 3];
            }
            fans.normals.clear();
            fans.normals.resize(here.len(), NONE);
            for (i, &number) in lacking {
                let fan = fans.root(i);
                if fans.normals[fan] == NONE {
                    fans.normals[fan] = normals.len() as u32;
                    // Triangles back to back cancel each other. Then the normal of any of them will
                    // do.
                    let normal = fans.sums[fan]
                        .try_normalize(1e-9)
                        .unwrap_or(fans.corners[i].face);
                    normals.push(rounded(normal));
                }
                corners.push((number, fans.normals[fan]));
            }
        }
        Portion { normals, corners }
    }
}

/// A direct-mapped cache of the normals and angles of recently used triangles: consecutive points
/// share most of them, and those of all triangles of a large mesh would take twice its memory.
struct Known {
    faces: Vec<(u32, Vector3<f64>)>,
    angles: Vec<(u32, [f64; 3])>,
}

impl Known {
    /// Maximum number of entries.
    const MOST: usize = 2048;

    fn new(triangles: usize) -> Self {
        let slots = triangles.clamp(1, Self::MOST).next_power_of_two();
        Self {
            faces: vec![(NONE, Vector3::zeros()); slots],
            angles: vec![(NONE, [0.0; 3]); slots],
        }
    }

    fn face(&mut self, fill: &Fill<'_>, triangle: u32) -> Vector3<f64> {
        let slot = triangle as usize & (self.faces.len() - 1);
        let (of, face) = &mut self.faces[slot];
        if *of != triangle {
            (*of, *face) = (
                triangle,
                face_normal(fill.points, fill.triangles[triangle as usize]),
            );
        }
        *face
    }

    fn angles(&mut self, fill: &Fill<'_>, triangle: u32) -> [f64; 3] {
        let slot = triangle as usize & (self.angles.len() - 1);
        let (of, known) = &mut self.angles[slot];
        if *of != triangle {
            (*of, *known) = (
                triangle,
                angles(fill.points, fill.triangles[triangle as usize]),
            );
        }
        *known
    }
}

/// A triangle's corner at a point.
struct Around {
    /// The triangle's next and previous corner.
    ends: [u32; 2],
    /// The triangle's normal.
    face: Vector3<f64>,
}

/// Returns the numbers of the corners at each point, in the order of triangles: those of point `i`
/// are at `starts[i]..starts[i + 1]`.
fn corners_of_points(points: usize, triangles: &[[u32; 3]]) -> (Vec<u32>, Vec<u32>) {
    // Counting sort with the counts shifted by two, so that after the prefix sum and the placement
    // the offsets end up in place.
    let mut starts = vec![0_u32; points + 2];
    for &point in triangles.as_flattened() {
        starts[point as usize + 2] += 1;
    }
    for i in 2..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut around = vec![0; triangles.len() * 3];
    for (number, &point) in (0..).zip(triangles.as_flattened()) {
        let next = &mut starts[point as usize + 1];
        around[*next as usize] = number;
        *next += 1;
    }
    (starts, around)
}

/// The partition of a point's corners into fans; reused between points to avoid allocation.
struct Fans {
    known: Known,
    corners: Vec<Around>,
    parents: Vec<u32>,
    /// The far end of an edge in the high half, the corner in the low half: one word sorts faster
    /// than a pair.
    edges: Vec<u64>,
    sums: Vec<Vector3<f64>>,
    normals: Vec<u32>,
}

impl Fans {
    fn new(fill: &Fill<'_>) -> Self {
        let known = Known::new(fill.triangles.len());
        Self {
            known,
            corners: Vec::new(),
            parents: Vec::new(),
            edges: Vec::new(),
            sums: Vec::new(),
            normals: Vec::new(),
        }
    }

    /// Loads the corners with these numbers.
    fn set(&mut self, fill: &Fill<'_>, numbers: &[u32]) {
        self.corners.clear();
        for number in numbers {
            let [a, b, c] = fill.triangles[*number as usize / 3];
            let ends = [[b, c], [c, a], [a, b]][*number as usize % 3];
            self.corners.push(Around {
                ends,
                face: self.known.face(fill, number / 3),
            });
        }
    }

    fn join(&mut self, cos_crease: f64) {
        self.parents.clear();
        self.parents.extend(0..self.corners.len() as u32);
        if self.corners.len() <= PAIRWISE {
            self.join_few(cos_crease);
            return;
        }
        self.edges.clear();
        for (i, corner) in self.corners.iter().enumerate() {
            self.edges
                .extend(corner.ends.map(|far| u64::from(far) << 32 | i as u64));
        }
        self.edges.sort_unstable();
        let mut start = 0;
        while start < self.edges.len() {
            let far = self.edges[start] >> 32;
            let end = start
                + self.edges[start..]
                    .iter()
                    .take_while(|edge| **edge >> 32 == far)
                    .count();
            let reach = if end - start <= PAIRWISE { PAIRWISE } else { 1 };
            for a in start..end {
                for b in a + 1..end.min(a + 1 + reach) {
                    let [a, b] = [a, b].map(|edge| self.edges[edge] as u32 as usize);
                    if self.corners[a].face.dot(&self.corners[b].face) >= cos_crease {
                        self.unite(a, b);
                    }
                }
            }
            start = end;
        }
    }

    /// The same for few corners, as most points have: compares all pairs, without sorting edges.
    fn join_few(&mut self, cos_crease: f64) {
        for a in 0..self.corners.len() {
            for b in a + 1..self.corners.len() {
                let [corner, other] = [a, b].map(|i| &self.corners[i]);
                let shares_edge = corner.ends.iter().any(|end| other.ends.contains(end));
                if shares_edge && corner.face.dot(&other.face) >= cos_crease {
                    self.unite(a, b);
                }
            }
        }
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = a.min(b) as u32;
    }

    fn root(&mut self, mut i: usize) -> usize {
        while self.parents[i] as usize != i {
            let up = self.parents[self.parents[i] as usize];
            self.parents[i] = up;
            i = up as usize;
        }
        i
    }
}

fn edge(points: &[[f32; 3]], from: u32, to: u32) -> Vector3<f64> {
    Vector3::from(points[to as usize].map(f64::from))
        - Vector3::from(points[from as usize].map(f64::from))
}

/// Returns the unit normal of a triangle; z if its area is zero.
fn face_normal(points: &[[f32; 3]], [a, b, c]: [u32; 3]) -> Vector3<f64> {
    edge(points, a, b)
        .cross(&edge(points, a, c))
        .try_normalize(0.0)
        .unwrap_or_else(Vector3::z)
}

/// Returns the angles at the corners in radians, within 1e-7; 0 where a side has no length.
fn angles(points: &[[f32; 3]], [a, b, c]: [u32; 3]) -> [f64; 3] {
    let (ab, bc, ca) = (edge(points, a, b), edge(points, b, c), edge(points, c, a));
    let (ab2, bc2, ca2) = (ab.norm_squared(), bc.norm_squared(), ca.norm_squared());
    let at_a = arc_cosine(-ab.dot(&ca) / (ab2 * ca2).sqrt());
    let at_b = arc_cosine(-ab.dot(&bc) / (ab2 * bc2).sqrt());
    // The angles add up to π, which saves the third arc cosine.
    [at_a, at_b, (std::f64::consts::PI - at_a - at_b).max(0.0)]
}

/// Arc cosine within 2e-8 (Abramowitz and Stegun, 4.4.46), in a fifth of the time of `acos`.
/// Returns 0 for NaN.
fn arc_cosine(cosine: f64) -> f64 {
    const FACTORS: [f64; 8] = [
        -0.001_262_491_1,
        0.006_670_090_1,
        -0.017_088_125_6,
        0.030_891_881_0,
        -0.050_174_304_6,
        0.088_978_987_4,
        -0.214_598_801_6,
        1.570_796_305_0,
    ];
    // For NaN `min` returns 1, so that the angle becomes 0.
    let size = cosine.abs().min(1.0);
    let angle = (1.0 - size).sqrt()
        * FACTORS
            .into_iter()
            .fold(0.0, |sum, factor| sum * size + factor);
    if cosine < 0.0 {
        std::f64::consts::PI - angle
    } else {
        angle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(points: &[[f32; 3]], triangles: &[[u32; 3]], shading: Shading) -> Vec<[[f32; 3]; 3]> {
        let mut values = Vec::new();
        let mut corners = vec![[NONE; 3]; triangles.len()];
        fill(points, triangles, &mut corners, shading, |n| {
            values.push(n);
            Some(values.len() as u32 - 1)
        });
        corners
            .into_iter()
            .map(|c| c.map(|i| values[i as usize]))
            .collect()
    }

    /// Returns two triangles that share an edge along x, the second bent up by `degrees`.
    fn hinge(degrees: f32) -> ([[f32; 3]; 4], [[u32; 3]; 2]) {
        let (sin, cos) = degrees.to_radians().sin_cos();
        (
            [
                [0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [0.0, -1.0, 0.0],
                [0.0, cos, sin],
            ],
            [[1, 0, 2], [0, 1, 3]],
        )
    }

    #[test]
    fn angles_are_near_the_exact_ones() {
        let cosines = (0..=20_000).map(|i| f64::from(i) / 10_000.0 - 1.0);
        assert!(
            cosines
                .into_iter()
                .all(|cosine| (arc_cosine(cosine) - cosine.acos()).abs() < 3e-8)
        );
        assert_eq!([1.0, 1.0 + 1e-9, f64::NAN].map(arc_cosine), [0.0; 3]);
        let points = [[1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0]];
        let expected = [90.0_f64, 45.0, 45.0].map(f64::to_radians);
        assert!(
            angles(&points, [0, 1, 2])
                .iter()
                .zip(expected)
                .all(|(angle, expected)| (angle - expected).abs() < 1e-7)
        );
    }

    /// Isolated spikes around a point: the time must not grow with the square of their number.
    #[test]
    fn many_fans_at_a_point() {
        const COUNT: u32 = 50_000;
        let mut points = vec![[0.0; 3]];
        let mut triangles = Vec::new();
        for i in 0..COUNT {
            let (sin, cos) = (i as f32 / COUNT as f32 * std::f32::consts::TAU).sin_cos();
            points.extend([
                [cos, sin, 0.0],
                [cos, sin, if i % 2 == 0 { 1.0 } else { -1.0 }],
            ]);
            triangles.push([0, 2 * i + 1, 2 * i + 2]);
        }
        let by = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| filled(&points, &triangles, Shading::Smooth))
        };
        let normals = by(1);
        assert!(
            normals
                .iter()
                .all(|corners| corners[0] == corners[1] && corners[1] == corners[2])
        );
        assert_eq!(
            by(5),
            normals,
            "they are the same, however many threads there are"
        );
    }

    #[test]
    fn an_edge_is_smooth_below_the_crease_angle_only() {
        let (points, triangles) = hinge(39.0);
        let normals = filled(&points, &triangles, Shading::Smooth);
        assert_eq!(normals[0][0], normals[1][1]);
        assert!(normals[0][0][1] < -0.1, "{normals:?}");
        assert_eq!(normals[0][2], [0.0, 0.0, 1.0]);
        let (points, triangles) = hinge(41.0);
        let normals = filled(&points, &triangles, Shading::Smooth);
        assert_eq!(normals[0], [[0.0, 0.0, 1.0]; 3]);
        assert_ne!(normals[1][0], normals[0][0]);
    }

    #[test]
    fn flat_is_flat() {
        let (points, triangles) = hinge(10.0);
        let normals = filled(&points, &triangles, Shading::Flat);
        assert_eq!(normals[0], [[0.0, 0.0, 1.0]; 3]);
        assert_eq!(normals[1][0], normals[1][2]);
        assert_ne!(normals[0][0], normals[1][0]);
    }

    #[test]
    fn normals_that_are_there_stay() {
        let (points, triangles) = hinge(10.0);
        let mut corners = vec![[7, NONE, NONE], [NONE; 3]];
        fill(&points, &triangles, &mut corners, Shading::Smooth, |_| {
            Some(8)
        });
        assert_eq!(corners, [[7, 8, 8], [8; 3]]);
    }

    #[test]
    fn the_sides_of_a_sheet_do_not_cancel() {
        let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let normals = filled(&points, &[[0, 1, 2], [0, 2, 1]], Shading::Smooth);
        assert_eq!(normals, [[[0.0, 0.0, 1.0]; 3], [[0.0, 0.0, -1.0]; 3]]);
    }
}
