//! Normals from geometry, for corners without one in the source.

#![allow(
    clippy::indexing_slicing,
    reason = "triangles of an assembly have been checked, and every table is as long as what its indices count"
)]

use std::ops::Range;

use nalgebra::Vector3;
use pulp::{Arch, NullaryFnOnce};
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

/// Number of triangles or normals processed at a time: two vectors of 256 bits. The arrays have a constant
/// length, so the compiler vectorises the loops over them.
const LANES: usize = 8;

/// A number with this added has no mantissa bits left for fractions, so that adding and subtracting
/// it rounds. `round` is a slower function call.
const TO_WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;

/// Edges with more triangles are compared only with their neighbours in order, to bound the work.
const PAIRWISE: usize = 8;

/// Maximum number of corners of a point whose fans are found in sets of bits, a byte each.
const FEW_CORNERS: usize = 8;

/// Length in which sums of normals cancel each other.
const CANCELLED: f64 = 1e-9;

/// Sets the entries of `corner_normals` that are [`NONE`]. `add` returns the index of a normal.
///
/// Around each point, triangles are joined into fans across edges that bend less than the crease
/// angle. Each fan has one normal, the mean of its triangles' weighted by their angles at the point
/// (Thürmer and Wüthrich 1998), which does not depend on how faces are triangulated. The work is
/// linear in the number of corners, apart from sorting the corners of points that have many.
pub(super) fn fill(
    points: &[[f32; 3]],
    triangles: &[[u32; 3]],
    corner_normals: &mut [[u32; 3]],
    shading: Shading,
    mut add: impl FnMut([f32; 3]) -> u32,
) {
    if shading == Shading::Flat {
        for (triangle, corners) in triangles.iter().zip(corner_normals) {
            if corners.contains(&NONE) {
                let corner = |i: usize| Vector3::from(points[triangle[i] as usize].map(f64::from));
                let normal = (corner(1) - corner(0)).cross(&(corner(2) - corner(0)));
                let normal = normal.try_normalize(0.0).unwrap_or_else(Vector3::z);
                let normal = add(rounded(normal.into()));
                corners
                    .iter_mut()
                    .filter(|i| **i == NONE)
                    .for_each(|i| *i = normal);
            }
        }
        return;
    }
    let fill = Fill::new(points, triangles);
    let corner_normals = corner_normals.as_flattened_mut();
    // Most files have normals for all corners or, like STL, for none; then no corner is looked up.
    let has_given = corner_normals.iter().any(|normal| *normal != NONE);
    // Deduplicate normals sequentially, in the order of their points: the result does not depend on
    // the number of threads.
    let firsts: Vec<usize> = (0..points.len()).step_by(PORTION).collect();
    for firsts in firsts.chunks(PORTIONS) {
        let given = has_given.then_some(&*corner_normals);
        let portion = |fans: &mut Fans, first: &usize| {
            Arch::new().dispatch(AtPoints {
                fill: &fill,
                points: *first..points.len().min(first + PORTION),
                given,
                fans,
            })
        };
        // Each task has its own tables, which take longer to set up than a few portions.
        let portions: Vec<Portion> = firsts
            .par_iter()
            .with_min_len(8)
            .map_init(|| Fans::new(&fill), portion)
            .collect();
        for Portion {
            corners,
            normals,
            chosen,
        } in portions
        {
            let numbers: Vec<u32> = normals.into_iter().map(&mut add).collect();
            for (corner, normal) in fill.around[corners].iter().zip(chosen) {
                if normal != NONE {
                    corner_normals[corner_index(*corner)] = numbers[normal as usize];
                }
            }
        }
    }
}

/// Number of points per task, …
const PORTION: usize = 1024;

/// … and maximum number of tasks whose results are in memory at a time.
const PORTIONS: usize = 64;

#[inline(always)]
fn rounded_number(x: f64) -> f32 {
    ((x * STEPS + TO_WHOLE - TO_WHOLE) / STEPS) as f32
}

#[inline(always)]
fn rounded(normal: [f64; 3]) -> [f32; 3] {
    normal.map(rounded_number)
}

/// The inputs of smooth normals.
struct Fill<'a> {
    points: &'a [[f32; 3]],
    triangles: &'a [[u32; 3]],
    /// The offset of each point's corners in `around`.
    starts: Vec<u32>,
    /// The numbers of corners: four times the triangle's plus the index in the triangle.
    around: Vec<u32>,
    /// The cosine of the crease angle.
    cos_crease: f64,
}

/// Returns the triangle with a corner, and the corner's index in it.
#[inline(always)]
fn triangle_of(corner: u32) -> (usize, usize) {
    (corner as usize / 4, corner as usize % 4)
}

/// Returns the next and the previous corner of a triangle.
#[inline(always)]
fn ends_at(&[a, b, c]: &[u32; 3], corner: usize) -> [u32; 2] {
    let next = if corner == 0 { b } else { c };
    let previous = if corner == 1 { a } else { b };
    [
        if corner == 2 { a } else { next },
        if corner == 0 { c } else { previous },
    ]
}

/// Returns the index of a corner in a flat list of those of all triangles.
#[inline(always)]
fn corner_index(corner: u32) -> usize {
    let (triangle, index) = triangle_of(corner);
    3 * triangle + index
}

/// The normals at a range of points.
struct Portion {
    /// The range of the points' corners in [`Fill::around`].
    corners: Range<usize>,
    normals: Vec<[f32; 3]>,
    /// The index of each corner's normal; [`NONE`] for corners that have one already.
    chosen: Vec<u32>,
}

/// The corners at some points, for which normals are computed where `given` has none.
struct AtPoints<'a> {
    fill: &'a Fill<'a>,
    points: Range<usize>,
    given: Option<&'a [u32]>,
    fans: &'a mut Fans,
}

impl NullaryFnOnce for AtPoints<'_> {
    type Output = Portion;

    #[inline(always)]
    fn call(self) -> Portion {
        self.fill.portion(self.points, self.given, self.fans)
    }
}

impl<'a> Fill<'a> {
    fn new(points: &'a [[f32; 3]], triangles: &'a [[u32; 3]]) -> Self {
        // Counting sort with the counts shifted by two, so that after the prefix sum and the placement
        // the offsets end up in place.
        let mut starts = vec![0_u32; points.len() + 2];
        for &point in triangles.as_flattened() {
            starts[point as usize + 2] += 1;
        }
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut around = vec![0; triangles.len() * 3];
        for (triangle, number) in triangles.iter().zip((0..).step_by(4)) {
            for (&point, number) in triangle.iter().zip(number..) {
                let next = &mut starts[point as usize + 1];
                around[*next as usize] = number;
                *next += 1;
            }
        }
        Self {
            points,
            triangles,
            starts,
            around,
            cos_crease: CREASE_DEGREES.to_radians().cos(),
        }
    }

    #[inline(always)]
    fn portion(&self, points: Range<usize>, given: Option<&[u32]>, fans: &mut Fans) -> Portion {
        let [first, last] = [points.start, points.end].map(|i| self.starts[i] as usize);
        let mut means = Means::default();
        means.normals.reserve(points.len());
        let mut chosen = Vec::with_capacity(last - first);
        for point in points {
            let here = self.starts[point] as usize..self.starts[point + 1] as usize;
            match here.len() {
                0 => {}
                1..=FEW_CORNERS => self.choose_of_few(here, given, fans, &mut chosen, &mut means),
                _ => self.choose_of_many(here, given, fans, &mut chosen, &mut means),
            }
        }
        means.flush();
        Portion {
            corners: first..last,
            normals: means.normals,
            chosen,
        }
    }

    /// Chooses the normals of the corners at a point that has at most [`FEW_CORNERS`].
    #[inline(always)]
    fn choose_of_few(
        &self,
        here: Range<usize>,
        given: Option<&[u32]>,
        fans: &mut Fans,
        chosen: &mut Vec<u32>,
        means: &mut Means,
    ) {
        let numbers = &self.around[here.clone()];
        let Fans { known, few, .. } = &mut *fans;
        few.load(self, numbers, known);
        let is_lacking =
            |number: u32| given.is_none_or(|given| given[corner_index(number)] == NONE);
        let corners = few.faces.iter().zip(numbers);
        // Fast path: most points of technical shapes are inside a plane.
        if corners.clone().all(|(face, _)| *face == few.faces[0]) {
            let mut normal = NONE;
            chosen.extend(numbers.iter().map(|number| {
                if !is_lacking(*number) {
                    return NONE;
                }
                if normal == NONE {
                    normal = means.push(rounded(few.faces[0]));
                }
                normal
            }));
            return;
        }
        let Some(sets) = few.fans(numbers.len(), self.cos_crease) else {
            self.choose_of_many(here, given, fans, chosen, means);
            return;
        };
        // No set is empty; the compiler can't know.
        let first = |corner: usize| (sets >> (8 * corner)).trailing_zeros() as usize % FEW_CORNERS;
        let mut sums = [[0.0; 3]; FEW_CORNERS];
        for (i, (face, _)) in corners.clone().enumerate() {
            let sum = &mut sums[first(i)];
            for k in 0..3 {
                sum[k] += face[k] * few.angles[i];
            }
        }
        let mut normals = [NONE; FEW_CORNERS];
        for (i, (face, number)) in corners.enumerate() {
            let normal = &mut normals[first(i)];
            if !is_lacking(*number) {
                chosen.push(NONE);
                continue;
            }
            if *normal == NONE {
                *normal = means.add(sums[first(i)], *face);
            }
            chosen.push(*normal);
        }
    }

    /// Chooses the normals of the corners at a point, however many they are.
    #[inline(always)]
    fn choose_of_many(
        &self,
        here: Range<usize>,
        given: Option<&[u32]>,
        fans: &mut Fans,
        chosen: &mut Vec<u32>,
        means: &mut Means,
    ) {
        let numbers = &self.around[here];
        let is_lacking =
            |number: u32| given.is_none_or(|given| given[corner_index(number)] == NONE);
        let Fans { known, many, .. } = fans;
        many.load(self, numbers, known);
        let first = many.corners[0].face;
        let is_plane = many.corners.iter().all(|corner| corner.face == first);
        many.join(self.cos_crease);
        many.sums.clear();
        many.sums.resize(numbers.len(), Vector3::zeros());
        for i in 0..numbers.len() {
            let fan = many.root(i);
            let Around { face, angle, .. } = many.corners[i];
            many.sums[fan] += face * angle;
        }
        many.normals.clear();
        many.normals.resize(numbers.len(), NONE);
        for (i, number) in numbers.iter().enumerate() {
            if !is_lacking(*number) {
                chosen.push(NONE);
                continue;
            }
            let fan = many.root(i);
            if many.normals[fan] == NONE {
                let face = many.corners[i].face;
                many.normals[fan] = if is_plane {
                    means.push(rounded(face.into()))
                } else {
                    means.add(many.sums[fan].into(), face.into())
                };
            }
            chosen.push(many.normals[fan]);
        }
    }
}

/// Rounded normals. Sums are normalised several at a time, after their places were assigned.
#[derive(Default)]
struct Means {
    normals: Vec<[f32; 3]>,
    sums: [[f64; LANES]; 3],
    /// Substitutes for sums that cancel each other.
    others: [[f64; LANES]; 3],
    /// The indices of the means of `sums` in `normals`.
    places: [u32; LANES],
    waiting: usize,
}

impl Means {
    /// Adds a normal and returns its index.
    #[inline(always)]
    fn push(&mut self, normal: [f32; 3]) -> u32 {
        self.normals.push(normal);
        self.normals.len() as u32 - 1
    }

    /// Adds the mean of normals with this sum and returns its index. Triangles back to back cancel each other:
    /// then it is `other`, the normal of any of them.
    #[inline(always)]
    fn add(&mut self, sum: [f64; 3], other: [f64; 3]) -> u32 {
        if self.waiting == LANES {
            self.flush();
        }
        for k in 0..3 {
            self.sums[k][self.waiting] = sum[k];
            self.others[k][self.waiting] = other[k];
        }
        let place = self.push([0.0; 3]);
        self.places[self.waiting] = place;
        self.waiting += 1;
        place
    }

    /// Computes the normals of the sums that are waiting.
    #[inline(always)]
    fn flush(&mut self) {
        let means = rounded_means(&self.sums, &self.others);
        for (i, place) in self.places[..self.waiting].iter().enumerate() {
            self.normals[*place as usize] = means[i];
        }
        self.waiting = 0;
    }
}

/// Computes rounded means from sums of normals.
#[inline(always)]
fn rounded_means(sums: &[[f64; LANES]; 3], others: &[[f64; LANES]; 3]) -> [[f32; 3]; LANES] {
    let mut means = [[0.0; 3]; LANES];
    for (i, mean) in means.iter_mut().enumerate() {
        let [x, y, z] = [0, 1, 2].map(|k| sums[k][i]);
        let length = (x * x + y * y + z * z).sqrt();
        let [a, b, c] = [0, 1, 2].map(|k| others[k][i]);
        let is_cancelled = length <= CANCELLED;
        *mean = [
            rounded_number(if is_cancelled { a } else { x / length }),
            rounded_number(if is_cancelled { b } else { y / length }),
            rounded_number(if is_cancelled { c } else { z / length }),
        ];
    }
    means
}

/// A direct-mapped cache of the normals and angles of recently used triangles: consecutive points
/// share most of them, and those of all triangles of a large mesh would take twice its memory.
struct Known {
    /// The number of the first triangle of each line, in lines.
    numbers: Vec<u32>,
    lines: Vec<Line>,
}

/// The normals, and the angles, of [`LANES`] consecutive triangles.
type Line = [[[f64; 3]; 2]; LANES];

impl Known {
    /// Maximum number of lines.
    const MOST: usize = 2048 / LANES;

    fn new(triangles: usize) -> Self {
        let lines = triangles.div_ceil(LANES).clamp(1, Self::MOST);
        let lines = lines.next_power_of_two();
        Self {
            numbers: vec![NONE; lines],
            lines: vec![[[[0.0; 3]; 2]; LANES]; lines],
        }
    }

    /// Returns the unit normal of a triangle, z if its area is zero, and its angles.
    #[inline(always)]
    fn triangle(&mut self, fill: &Fill<'_>, triangle: usize) -> &[[f64; 3]; 2] {
        let (number, lane) = ((triangle / LANES) as u32, triangle % LANES);
        let slot = number as usize & (self.numbers.len() - 1);
        let line = &mut self.lines[slot];
        if self.numbers[slot] != number {
            self.numbers[slot] = number;
            let corners = &fill.corners(number);
            let (faces, angles) = (face_normals(corners), angles(corners));
            for (i, of) in line.iter_mut().enumerate() {
                *of = [faces, angles].map(|numbers| numbers.map(|axis| axis[i]));
            }
        }
        &line[lane]
    }
}

/// The corners of [`LANES`] triangles, by axis.
type Corners = [[[f64; LANES]; 3]; 3];

impl Fill<'_> {
    /// Returns the corners of the triangles of a line. The last triangle is repeated.
    #[inline(always)]
    fn corners(&self, line: u32) -> Corners {
        let mut corners = [[[0.0; LANES]; 3]; 3];
        for lane in 0..LANES {
            let triangle = (line as usize * LANES + lane).min(self.triangles.len() - 1);
            for (corner, point) in corners.iter_mut().zip(self.triangles[triangle]) {
                for (axis, x) in corner.iter_mut().zip(self.points[point as usize]) {
                    axis[lane] = f64::from(x);
                }
            }
        }
        corners
    }
}

/// The corners of a point that has at most [`FEW_CORNERS`].
struct FewCorners {
    /// The triangles' next and previous corners.
    ends: [[u32; 2]; FEW_CORNERS],
    /// The triangles' normals.
    faces: [[f64; 3]; FEW_CORNERS],
    /// The angles at the corners.
    angles: [f64; FEW_CORNERS],
    /// For each point of the mesh, the last corner that had it as the next, or the previous, one.
    by_end: Vec<[u8; 2]>,
}

impl FewCorners {
    fn new(points: usize) -> Self {
        Self {
            ends: Default::default(),
            faces: Default::default(),
            angles: Default::default(),
            by_end: vec![[0; 2]; points],
        }
    }

    #[inline(always)]
    fn load(&mut self, fill: &Fill<'_>, numbers: &[u32], known: &mut Known) {
        let here = self.faces.iter_mut().zip(&mut self.angles);
        let here = here.zip(&mut self.ends).zip(0..);
        for (number, (((face, angle), ends), i)) in numbers.iter().zip(here) {
            let (triangle, corner) = triangle_of(*number);
            *ends = ends_at(&fill.triangles[triangle], corner);
            let [normal, angles] = known.triangle(fill, triangle);
            (*face, *angle) = (*normal, angles[corner]);
            for (k, end) in ends.iter().enumerate() {
                self.by_end[*end as usize][k] = i;
            }
        }
    }

    /// Returns the fan of each of the `count` corners, a byte of bits each; `None` if edges have more than two
    /// triangles, or triangles are wound differently.
    #[inline(always)]
    fn fans(&self, count: usize, cos_crease: f64) -> Option<u64> {
        let mut sets = 0x8040_2010_0804_0201;
        let mut is_manifold = true;
        for (i, &[next, previous]) in self.ends.iter().enumerate().take(count) {
            let [by_next, by_previous] = [next, previous].map(|end| self.by_end[end as usize]);
            is_manifold &= usize::from(by_next[0]) == i && usize::from(by_previous[1]) == i;
            // The corner across the edge to the previous point. It may be that of an earlier point.
            let other = usize::from(by_previous[0]) % FEW_CORNERS;
            let is_across = other < count && self.ends[other][0] == previous;
            let [a, b] = [i, other].map(|corner| &self.faces[corner]);
            let is_smooth = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] >= cos_crease;
            sets |=
                u64::from(is_across && is_smooth) * (1 << (8 * i + other) | 1 << (8 * other + i));
        }
        is_manifold.then(|| closure(sets))
    }
}

/// Returns the transitive closure of a relation between eight things, a byte of bits each (Warshall 1962).
///
/// Branches on the number of corners or fans would be mispredicted at most points.
#[inline(always)]
fn closure(mut sets: u64) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    for k in 0..8 {
        let related = (sets >> k & LOW) * 0xff;
        let of_k = (sets >> (8 * k) & 0xff) * LOW;
        sets |= related & of_k;
    }
    sets
}

/// A triangle's corner at a point.
struct Around {
    /// The triangle's next and previous corner.
    ends: [u32; 2],
    /// The triangle's normal, and its angle at the corner.
    face: Vector3<f64>,
    angle: f64,
}

/// The corners of a point that has many, and their fans as a forest.
#[derive(Default)]
struct ManyCorners {
    corners: Vec<Around>,
    parents: Vec<u32>,
    /// The far end of an edge in the high half, the corner in the low half: one word sorts faster
    /// than a pair.
    edges: Vec<u64>,
    sums: Vec<Vector3<f64>>,
    normals: Vec<u32>,
}

/// The partition of a point's corners into fans; reused between points to avoid allocation.
struct Fans {
    known: Known,
    few: FewCorners,
    many: ManyCorners,
}

impl Fans {
    fn new(fill: &Fill<'_>) -> Self {
        Self {
            known: Known::new(fill.triangles.len()),
            few: FewCorners::new(fill.points.len()),
            many: ManyCorners::default(),
        }
    }
}

impl ManyCorners {
    /// Loads the corners with these numbers.
    fn load(&mut self, fill: &Fill<'_>, numbers: &[u32], known: &mut Known) {
        self.corners.clear();
        for number in numbers {
            let (triangle, corner) = triangle_of(*number);
            let [normal, angles] = *known.triangle(fill, triangle);
            self.corners.push(Around {
                ends: ends_at(&fill.triangles[triangle], corner),
                face: normal.into(),
                angle: angles[corner],
            });
        }
    }

    fn join(&mut self, cos_crease: f64) {
        self.parents.clear();
        self.parents.extend(0..self.corners.len() as u32);
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

/// Returns the vectors between corners of triangles.
#[inline(always)]
fn edges(from: &[[f64; LANES]; 3], to: &[[f64; LANES]; 3]) -> [[f64; LANES]; 3] {
    let mut edges = [[0.0; LANES]; 3];
    for k in 0..3 {
        for i in 0..LANES {
            edges[k][i] = to[k][i] - from[k][i];
        }
    }
    edges
}

/// Returns the unit normals of triangles; z where the area is zero.
#[inline(always)]
fn face_normals([a, b, c]: &Corners) -> [[f64; LANES]; 3] {
    let (ab, ac) = (edges(a, b), edges(a, c));
    let mut normals = [[0.0; LANES]; 3];
    for i in 0..LANES {
        let cross = |k: usize, l: usize| ab[k][i] * ac[l][i] - ab[l][i] * ac[k][i];
        let [x, y, z] = [cross(1, 2), cross(2, 0), cross(0, 1)];
        let length = (x * x + y * y + z * z).sqrt();
        let is_flat = length <= 0.0;
        normals[0][i] = if is_flat { 0.0 } else { x / length };
        normals[1][i] = if is_flat { 0.0 } else { y / length };
        normals[2][i] = if is_flat { 1.0 } else { z / length };
    }
    normals
}

/// Returns the angles at the corners of triangles in radians, within 1e-7; meaningless where a side has no length.
#[inline(always)]
fn angles([a, b, c]: &Corners) -> [[f64; LANES]; 3] {
    let (ab, bc, ca) = (edges(a, b), edges(b, c), edges(c, a));
    let mut angles = [[0.0; LANES]; 3];
    for i in 0..LANES {
        let dot = |p: &[[f64; LANES]; 3], q: &[[f64; LANES]; 3]| {
            p[0][i] * q[0][i] + p[1][i] * q[1][i] + p[2][i] * q[2][i]
        };
        let (ab2, bc2, ca2) = (dot(&ab, &ab), dot(&bc, &bc), dot(&ca, &ca));
        let at_a = arc_cosine(-dot(&ab, &ca) / (ab2 * ca2).sqrt());
        let at_b = arc_cosine(-dot(&ab, &bc) / (ab2 * bc2).sqrt());
        // The angles add up to π, which saves the third arc cosine.
        let at_c = std::f64::consts::PI - at_a - at_b;
        angles[0][i] = at_a;
        angles[1][i] = at_b;
        angles[2][i] = if at_c > 0.0 { at_c } else { 0.0 };
    }
    angles
}

/// Arc cosine within 2e-8 (Abramowitz and Stegun, 4.4.46), in a fifth of the time of `acos`.
/// Returns 0 for NaN.
#[inline(always)]
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
    // For NaN this is 1, so that the angle becomes 0. A comparison, unlike `min`, is one instruction.
    let size = if cosine.abs() < 1.0 {
        cosine.abs()
    } else {
        1.0
    };
    let mut sum = 0.0;
    for factor in FACTORS {
        sum = sum * size + factor;
    }
    let angle = (1.0 - size).sqrt() * sum;
    if cosine < 0.0 {
        std::f64::consts::PI - angle
    } else {
        angle
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(points: &[[f32; 3]], triangles: &[[u32; 3]], shading: Shading) -> Vec<[[f32; 3]; 3]> {
        let mut values = Vec::new();
        let mut corners = vec![[NONE; 3]; triangles.len()];
        fill(points, triangles, &mut corners, shading, |n| {
            values.push(n);
            values.len() as u32 - 1
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
        let angles = angles(&points.map(|point| point.map(|x| [x; LANES])));
        assert!(
            angles
                .iter()
                .zip(expected)
                .all(|(angles, expected)| angles.iter().all(|x| (x - expected).abs() < 1e-7))
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

    /// Returns new normals and the indices of all corners, as [`fill`] defines them, without its short cuts.
    fn naive(
        points: &[[f32; 3]],
        triangles: &[[u32; 3]],
        given: &[[u32; 3]],
    ) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
        let cos_crease = CREASE_DEGREES.to_radians().cos();
        let (mut normals, mut chosen) = (Vec::new(), given.to_vec());
        let broadcast = |triangle: [u32; 3]| {
            triangle.map(|i| points[i as usize].map(|x| [f64::from(x); LANES]))
        };
        let first = |values: [[f64; LANES]; 3]| Vector3::from(values.map(|lanes| lanes[0]));
        for point in 0..points.len() as u32 {
            let mut here = Vec::new();
            let mut edges = std::collections::BTreeMap::<u32, Vec<usize>>::new();
            for (number, triangle) in triangles.iter().enumerate() {
                if let Some(k) = triangle.iter().position(|i| *i == point) {
                    let ends = [triangle[(k + 1) % 3], triangle[(k + 2) % 3]];
                    for end in ends {
                        edges.entry(end).or_default().push(here.len());
                    }
                    let corners = broadcast(*triangle);
                    here.push((
                        number,
                        k,
                        first(face_normals(&corners)),
                        first(angles(&corners))[k],
                    ));
                }
            }
            // The first corner of each fan.
            let mut fans: Vec<usize> = (0..here.len()).collect();
            for corners in edges.values() {
                for (i, a) in corners.iter().enumerate() {
                    let reach = if corners.len() <= PAIRWISE {
                        PAIRWISE
                    } else {
                        1
                    };
                    for b in corners.iter().skip(i + 1).take(reach) {
                        if here[*a].2.dot(&here[*b].2) >= cos_crease {
                            let (from, to) = (fans[*a].max(fans[*b]), fans[*a].min(fans[*b]));
                            fans.iter_mut()
                                .filter(|fan| **fan == from)
                                .for_each(|fan| *fan = to);
                        }
                    }
                }
            }
            let is_plane = here.iter().all(|corner| corner.2 == here[0].2);
            let mut done = std::collections::HashMap::new();
            for (i, (number, k, face, _)) in here.iter().enumerate() {
                if given[*number][*k] == NONE {
                    let fan = if is_plane { 0 } else { fans[i] };
                    chosen[*number][*k] = *done.entry(fan).or_insert_with(|| {
                        let corners = here.iter().zip(&fans).filter(|(_, of)| **of == fan);
                        let sum = corners
                            .fold(Vector3::zeros(), |sum, ((_, _, face, angle), _)| {
                                sum + face * *angle
                            });
                        let normal = sum.try_normalize(CANCELLED).filter(|_| !is_plane);
                        normals.push(rounded(normal.unwrap_or(*face).into()));
                        normals.len() as u32 - 1
                    });
                }
            }
        }
        (normals, chosen)
    }

    proptest! {
        /// Few points make fans of all sizes, and edges with many triangles.
        #[test]
        fn short_cuts_change_nothing(
            points in prop::collection::vec(prop::array::uniform3(-3_i8..=3), 4..20),
            corners in prop::collection::vec(any::<([u8; 3], [bool; 3])>(), 1..150),
            keeps in any::<bool>(),
        ) {
            let count = points.len() as u8;
            let points: Vec<[f32; 3]> = points.iter().map(|point| point.map(f32::from)).collect();
            let (mut triangles, mut given) = (Vec::new(), Vec::new());
            for (corners, is_given) in corners {
                let [a, b, c] = corners.map(|i| u32::from(i % count));
                if a != b && b != c && c != a {
                    triangles.push([a, b, c]);
                    given.push(is_given.map(|is_given| if is_given && keeps { 1 << 20 } else { NONE }));
                }
            }
            let (expected, indices) = naive(&points, &triangles, &given);
            let mut normals = Vec::new();
            fill(&points, &triangles, &mut given, Shading::Smooth, |normal| {
                normals.push(normal);
                normals.len() as u32 - 1
            });
            prop_assert_eq!(normals, expected);
            prop_assert_eq!(given, indices);
        }
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
        fill(&points, &triangles, &mut corners, Shading::Smooth, |_| 8);
        assert_eq!(corners, [[7, 8, 8], [8; 3]]);
    }

    #[test]
    fn the_sides_of_a_sheet_do_not_cancel() {
        let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let normals = filled(&points, &[[0, 1, 2], [0, 2, 1]], Shading::Smooth);
        assert_eq!(normals, [[[0.0, 0.0, 1.0]; 3], [[0.0, 0.0, -1.0]; 3]]);
    }
}
