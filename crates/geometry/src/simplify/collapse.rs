//! Collapses edges of a mesh, and proves with each collapse that the result is near the source.
//!
//! A collapse moves a point to one of its neighbours. The mean squared distance from the planes of
//! the triangles at the point orders the collapses (Lindstrom and Turk, Fast and memory efficient
//! polygonal simplification, 1998); a bound of the deviation allows them (Cohen, Manocha and Olano,
//! Simplifying polygonal models using successive mappings, 1997).
//!
//! Invariant: there is a continuous map of the source onto the mesh that moves no place of the
//! source onto a triangle by more than the triangle's error. Each collapse composes it with a map of
//! the old triangles at the point onto the new ones, so that errors add up. As the map is onto, the
//! error bounds the distance in both directions, at all places and not only at samples, and the mesh
//! is a valid tier after each collapse. It takes the triangles at one point only.

use std::ops::Range;

use super::{NONE, Source, Vertex};
use crate::vector::{add, cross, dot, norm, scale, subtract};

type Point = [f32; 3];

/// Points with more triangles are left alone: the time grows with the square of their number.
const MAX_SPOKES: usize = 48;

/// Maximum number of neighbours to which moving a point is attempted at one visit.
const MAX_TRIES: usize = 3;

/// Maximum number of times that a point is visited again because a neighbour was removed.
const MAX_RETRIES: u8 = 8;

/// Weight of the mean squared distance from planes in the order of collapses. Its root is larger than the
/// length of the map.
const PLANE_WEIGHT: f32 = 0.4;

/// Weight of an edge's squared length in the order of collapses: in planes, short edges are
/// collapsed first.
const LENGTH_WEIGHT: f32 = 1e-5;

/// Weight of the errors so far in the order of collapses: the less they add up, the more triangles
/// can go.
const ERROR_WEIGHT: f32 = 0.6;

/// Weight of a normal's error: one of 22° counts as much as the deviation that the medium tier may
/// have.
const NORMAL_WEIGHT: f32 = 0.0025;

/// Weight of a texture coordinate's error at a removed point: 2.5 % of an image counts as much as the deviation
/// that the medium tier may have. The root of its mean square over the triangles around is 1 %.
const UV_WEIGHT: f32 = 0.04;

/// Minimum cosine of the angle between a new triangle's normal and the mean of those of its corners.
const MIN_AGREEMENT: f32 = 0.01;

/// Minimum area of a new triangle, as a share of the square of its longest edge.
const MIN_AREA: f32 = 1e-4;

/// The rounding error of a deviation, relative to the extent of the triangles around a point.
const ROUNDING: f32 = 4e-7;

/// A triangle of the mesh. The first wedge is [`NONE`] once it is removed. Each is in one line of the processor's
/// cache.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Triangle {
    /// The source's vertices.
    wedges: [u32; 3],
    /// Indices into the points of the decimation.
    points: [u32; 3],
    /// Maximum distance between the triangle and the places of the source that are mapped to it.
    error: f32,
    /// The same for texture coordinates, weighted.
    drift: f32,
}

/// A triangle between two decimations: a [`Triangle`] with its slopes.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    pub(super) wedges: [u32; 3],
    error: f32,
    drift: f32,
    slopes: [f32; 3],
}

/// A triangle of the source.
impl From<[u32; 3]> for Kept {
    fn from(wedges: [u32; 3]) -> Self {
        Self {
            wedges,
            error: 0.0,
            drift: 0.0,
            slopes: [0.0; 3],
        }
    }
}

/// A point of the mesh: its triangles, and its place in the order of collapses.
#[derive(Clone, Copy)]
struct Node {
    /// The place of its first corner in [`Decimation::corners`].
    start: u32,
    /// The number of its corners.
    count: u16,
    retries: u8,
    state: State,
    /// The root of the least cost of a collapse without errors so far, when it was last determined.
    own: f32,
    /// The weighted maximum of the errors around the point.
    error: f32,
}

impl Node {
    /// Returns the places of its corners in [`Decimation::corners`].
    fn span(&self) -> Range<usize> {
        // The start of a point without corners is not kept up to date.
        let start = if self.count == 0 {
            0
        } else {
            self.start as usize
        };
        start..start + usize::from(self.count)
    }

    /// Returns the cost of the cheapest collapse.
    fn cost(&self) -> f32 {
        (self.own + self.error).powi(2)
    }
}

/// Returns the number of a triangle's corner.
fn corner_number(triangle: u32, corner: usize) -> u32 {
    triangle << 2 | corner as u32
}

/// Returns the triangle and the corner with this number.
fn split(number: u32) -> (u32, usize) {
    (number >> 2, (number & 3) as usize)
}

/// A triangle seen from one of its points.
#[derive(Clone, Copy)]
struct Spoke {
    triangle: u32,
    corner: u8,
    /// The wedge at the point.
    wedge: u32,
    /// The other points, in winding order.
    from: u32,
    to: u32,
    /// The triangle's error.
    error: f32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the queue, exactly once.
    Waiting,
    /// No collapse is possible before something changes around the point.
    Stuck,
    /// Never moved: it has triangles outside of the decimation.
    Fixed,
    /// Removed, or hardly ever able to move after changes around it either: its triangles are no single fan,
    /// or each move costs too much.
    Settled,
}

/// A queue of points by their costs, to half a power of two. Points of one cost leave in the order in
/// which they came, so that most steps are in the memory that the last ones have used: finer
/// buckets take longer and leave more triangles.
struct Queue {
    buckets: Vec<Vec<u32>>,
    bucket: usize,
    position: usize,
}

impl Queue {
    /// The biased exponent of the smallest cost that is distinguished: a thousandth of the last
    /// tier's bound.
    const LOWEST: u32 = 127 - 20;

    fn new() -> Self {
        Self {
            buckets: vec![Vec::new(); 2 * 21],
            bucket: 0,
            position: 0,
        }
    }

    fn bucket_of(&self, cost: f32) -> usize {
        // The upper bits of a positive float are its logarithm.
        let bits = (cost.max(0.0).to_bits() >> 22).saturating_sub(Self::LOWEST << 1);
        (bits as usize).min(self.buckets.len() - 1)
    }

    fn push(&mut self, point: u32, bucket: usize) {
        self.buckets[bucket.max(self.bucket)].push(point);
    }

    /// Removes the next point of a bucket up to `last`.
    fn pop(&mut self, last: usize) -> Option<u32> {
        loop {
            if let Some(point) = self.buckets[self.bucket].get(self.position) {
                self.position += 1;
                return Some(*point);
            }
            self.buckets[self.bucket].clear();
            self.position = 0;
            if self.bucket >= last {
                return None;
            }
            self.bucket += 1;
        }
    }
}

/// A mesh whose edges are collapsed.
pub(super) struct Decimation<'a> {
    source: &'a Source<'a>,
    /// Relative to the centre of the source's bounding box and in units of its diagonal. Single precision is finer
    /// than any bound there, and no power of a distance overflows.
    points: Vec<Point>,
    triangles: Vec<Triangle>,
    /// Bounds of the distance by corner of a triangle, relative to how far a place is from the corner (0 there, 1
    /// at the opposite edge): corners are places of the source.
    slopes: Vec<[f32; 3]>,
    nodes: Vec<Node>,
    /// The corners at each point, without those of removed triangles, next to each other: they are loaded at
    /// once, not one after the other. They are in the order around the point since its last visit. A point
    /// that gets more of them moves to the end.
    corners: Vec<u32>,
    queue: Queue,
    /// Maximum deviation of the tier that is being made.
    bound: f32,
    /// The factor from squared distances to costs, which are at most 1 within the last tier's bound.
    cost_scale: f32,
    /// The factor from errors to roots of costs.
    error_scale: f32,
    /// Scratch memory: the triangles at a point, its neighbours and their offsets from it.
    fan: Vec<Spoke>,
    neighbours: Vec<u32>,
    ring: Vec<Point>,
    list: Vec<u32>,
    candidates: Vec<(f32, u32)>,
    /// `None` while they are in use.
    sides: Option<Box<[Side; 2]>>,
}

impl<'a> Decimation<'a> {
    /// Takes triangles of the source, which are to be collapsed up to `max_bound`. Their points are numbered
    /// by their first use; `numbers` has a slot for each point of the source and stays.
    pub(super) fn new(
        source: &'a Source<'a>,
        kept: impl ExactSizeIterator<Item = Kept>,
        numbers: &mut Numbers,
        max_bound: f32,
    ) -> Self {
        let mut slopes = Vec::with_capacity(kept.len());
        let mut triangles = Vec::with_capacity(kept.len());
        for kept in kept {
            slopes.push(kept.slopes);
            triangles.push(Triangle {
                wedges: kept.wedges,
                points: kept
                    .wedges
                    .map(|wedge| numbers.number(source.vertices[wedge as usize].point)),
                error: kept.error,
                drift: kept.drift,
            });
        }
        let points: Vec<Point> = numbers
            .points
            .iter()
            .map(|&point| source.position(point))
            .collect();
        let node = Node {
            start: 0,
            count: 0,
            retries: 0,
            state: State::Stuck,
            own: 0.0,
            error: 0.0,
        };
        let mut nodes = vec![node; points.len()];
        for point in triangles.iter().flat_map(|triangle| triangle.points) {
            nodes[point as usize].count += 1;
        }
        let count = 3 * triangles.len();
        // Some room for points that get more corners.
        let mut corners = Vec::with_capacity(count + count / 2);
        corners.resize(count, 0);
        let mut end = 0;
        for node in &mut nodes {
            node.start = end;
            end += u32::from(std::mem::take(&mut node.count));
        }
        for (number, triangle) in (0..).zip(&triangles) {
            for (corner, point) in triangle.points.into_iter().enumerate() {
                let node = &mut nodes[point as usize];
                node.count += 1;
                corners[node.span().end - 1] = corner_number(number, corner);
            }
        }
        Self {
            source,
            points,
            slopes,
            triangles,
            nodes,
            corners,
            queue: Queue::new(),
            bound: 0.0,
            cost_scale: 1.0 / (max_bound * max_bound),
            error_scale: ERROR_WEIGHT / max_bound,
            fan: Vec::new(),
            neighbours: Vec::new(),
            ring: Vec::new(),
            list: Vec::new(),
            candidates: Vec::new(),
            sides: Some(Box::default()),
        }
    }

    /// Collapses edges as long as the result stays within `bound` of the source.
    pub(super) fn collapse(&mut self, bound: f32) {
        self.bound = bound;
        self.queue.bucket = 0;
        for (point, node) in (0..).zip(&mut self.nodes) {
            node.retries = 0;
            if node.state == State::Stuck && node.own.is_finite() {
                node.state = State::Waiting;
                self.queue.push(point, self.queue.bucket_of(node.cost()));
            }
        }
        let last = self.queue.bucket_of(bound * bound * self.cost_scale);
        while let Some(point) = self.queue.pop(last) {
            let node = &self.nodes[point as usize];
            if node.state != State::Waiting {
                continue;
            }
            // Its cost has grown by the errors of collapses since, as far as these are known.
            let bucket = self.queue.bucket_of(node.cost());
            if bucket > self.queue.bucket && bucket <= last {
                self.queue.push(point, bucket);
            } else {
                self.visit(point);
            }
        }
        for bucket in &mut self.queue.buckets {
            for point in bucket.drain(..) {
                let state = &mut self.nodes[point as usize].state;
                if *state == State::Waiting {
                    *state = State::Stuck;
                }
            }
        }
    }

    /// Keeps the points that `is_fixed`, by their index, where they are. No other point moves to one of them
    /// unless its neighbours show that this keeps the surface a manifold: the triangles outside are unknown.
    pub(super) fn fix(&mut self, is_fixed: impl Fn(usize) -> bool) {
        for (i, node) in self.nodes.iter_mut().enumerate() {
            if is_fixed(i) {
                node.state = State::Fixed;
            }
        }
    }

    /// Leaves out points at the start of the next [`collapse`](Self::collapse) that are not `chosen`, by their index.
    pub(super) fn choose(&mut self, is_chosen: impl Fn(usize) -> bool) {
        for (i, node) in self.nodes.iter_mut().enumerate() {
            if !is_chosen(i) {
                node.own = f32::INFINITY;
            }
        }
    }

    /// Returns the remaining triangles.
    pub(super) fn remaining(&self) -> impl Iterator<Item = Kept> {
        let all = self.triangles.iter().zip(&self.slopes);
        all.filter(|(triangle, _)| triangle.wedges[0] != NONE)
            .map(|(triangle, slopes)| Kept {
                wedges: triangle.wedges,
                error: triangle.error,
                drift: triangle.drift,
                slopes: *slopes,
            })
    }

    /// Collects the triangles at a point into `fan`, in order around it, and its neighbours. Returns whether they
    /// close around it; `None` if they are no single fan.
    fn look_around(&mut self, point: u32) -> Option<bool> {
        let corners = &mut self.corners[self.nodes[point as usize].span()];
        self.fan.clear();
        self.fan.extend(corners.iter().map(|&number| {
            let (number, corner) = split(number);
            let triangle = &self.triangles[number as usize];
            let [from, to] = others(corner);
            Spoke {
                triangle: number,
                corner: corner as u8,
                wedge: triangle.wedges[corner],
                from: triangle.points[from],
                to: triangle.points[to],
                error: triangle.error,
            }
        }));
        let fan = &mut self.fan[..];
        let count = fan.len();
        if count == 0 {
            return None;
        }
        // Forwards from any triangle, then, if the fan is open, backwards from there.
        let mut sorted = 1;
        while sorted < count {
            let to = fan[sorted - 1].to;
            let Some(next) = (sorted..count).find(|i| fan[*i].from == to) else {
                break;
            };
            fan.swap(sorted, next);
            sorted += 1;
        }
        let is_closed = sorted == count && fan[count - 1].to == fan[0].from;
        // Two triangles with the same points.
        if is_closed && count < 3 {
            return None;
        }
        let mut first = 0;
        for i in (sorted..count).rev() {
            let from = fan[first].from;
            let next = (sorted..=i).find(|j| fan[*j].to == from)?;
            fan.swap(i, next);
            first = i;
        }
        fan.rotate_left(first);
        if is_closed && let Some(seam) = (1..count).find(|i| fan[i - 1].wedge != fan[*i].wedge) {
            // So that triangles of one side of a seam are together.
            fan.rotate_left(seam);
        }
        for (number, spoke) in corners.iter_mut().zip(&*fan) {
            *number = corner_number(spoke.triangle, spoke.corner.into());
        }
        Some(is_closed)
    }

    /// Returns the places in the ring where a seam or border that the point lies on leaves it, as
    /// numbers of spokes; `None` if it is an end or a junction of them.
    fn seams(&self, is_closed: bool) -> Option<Option<[usize; 2]>> {
        let fan = &self.fan;
        let mut seams = (1..fan.len()).filter(|i| fan[i - 1].wedge != fan[*i].wedge);
        match (is_closed, seams.next(), seams.next()) {
            (true, None, _) => Some(None),
            (false, None, _) => Some(Some([0, fan.len()])),
            // The fan was rotated so that it begins at a seam.
            (true, Some(seam), None) if fan[0].wedge != fan[fan.len() - 1].wedge => {
                Some(Some([0, seam]))
            }
            _ => None,
        }
    }

    /// Collects the neighbours around the fan, and their offsets from its point.
    fn collect_ring(&mut self, point: u32, is_closed: bool) {
        let fan = &self.fan;
        let end = fan.last().filter(|_| !is_closed).map(|spoke| spoke.to);
        self.neighbours.clear();
        self.neighbours
            .extend(fan.iter().map(|spoke| spoke.from).chain(end));
        let points = &self.points;
        let at = points[point as usize];
        let neighbours = self.neighbours.iter();
        self.ring.clear();
        self.ring
            .extend(neighbours.map(|neighbour| subtract(points[*neighbour as usize], at)));
    }

    /// Lists the neighbours to which the point may move with their costs, as far as these are within
    /// the limit.
    fn rank(&mut self, point: u32, seams: Option<[usize; 2]>) {
        self.candidates.clear();
        let ring = &self.ring[..];
        // The planes go through the point, so that the sum of the squared distances from them, weighted by the
        // areas, is a quadratic form of the offset (Garland and Heckbert, Surface simplification using
        // quadric error metrics, 1997).
        let mut form = [0.0_f32; 6];
        let mut total = 0.0;
        let mut error = 0_f32;
        for (i, spoke) in self.fan.iter().enumerate() {
            let next = if i + 1 == ring.len() { 0 } else { i + 1 };
            let [x, y, z] = cross(ring[i], ring[next]);
            let length: f32 = norm([x, y, z]);
            total += length;
            let weight = if length > 0.0 { 1.0 / length } else { 0.0 };
            let products = [x * x, y * y, z * z, 2.0 * x * y, 2.0 * x * z, 2.0 * y * z];
            for (sum, product) in form.iter_mut().zip(products) {
                *sum += product * weight;
            }
            error = error.max(spoke.error);
        }
        let share = PLANE_WEIGHT * self.cost_scale / total.max(f32::MIN_POSITIVE);
        let error = self.error_scale * error;
        // So that the roots of the cost and the error add up to at most 1.
        let most = (1.0 - error).max(0.0).powi(2);
        let mut least = f32::INFINITY;
        let mut consider = |i: usize, line: f32| {
            let to = ring[i];
            let [x, y, z] = to;
            let [xx, yy, zz, xy, xz, yz] = form;
            let squares = x * (xx * x + xy * y + xz * z) + y * (yy * y + yz * z) + zz * z * z;
            let own =
                share * squares.max(0.0) + (line + LENGTH_WEIGHT * dot(to, to)) * self.cost_scale;
            if own <= most {
                least = least.min(own);
                self.candidates.push((own, i as u32));
            }
        };
        match seams {
            None => (0..ring.len()).for_each(|i| consider(i, 0.0)),
            Some([one, other]) => {
                let (line, _) = from_segment(ring[one], ring[other]);
                consider(one, line);
                consider(other, line);
            }
        }
        let node = &mut self.nodes[point as usize];
        node.own = least.sqrt();
        node.error = error;
    }

    fn visit(&mut self, point: u32) {
        let node = &mut self.nodes[point as usize];
        node.own = f32::INFINITY;
        if usize::from(node.count) > MAX_SPOKES {
            node.state = State::Stuck;
            return;
        }
        node.state = State::Settled;
        let Some(is_closed) = self.look_around(point) else {
            return;
        };
        let Some(seams) = self.seams(is_closed) else {
            // The end of a seam moves when a neighbour takes its place.
            self.nodes[point as usize].state = State::Stuck;
            return;
        };
        self.collect_ring(point, is_closed);
        self.rank(point, seams);
        if self.candidates.is_empty() {
            return;
        }
        // Costs mostly grow while a point waits.
        let node = &mut self.nodes[point as usize];
        let bucket = self.queue.bucket_of(node.cost());
        if bucket > self.queue.bucket {
            node.state = State::Waiting;
            self.queue.push(point, bucket);
            return;
        }
        // A neighbour that is there twice belongs to an edge of more than two triangles.
        let neighbours = &self.neighbours;
        if (1..neighbours.len()).any(|i| neighbours[..i].contains(&neighbours[i])) {
            return;
        }
        node.state = State::Stuck;
        let Some(mut sides) = self.sides.take() else {
            return;
        };
        let tries = if self.project(seams, is_closed, &mut sides) {
            MAX_TRIES
        } else {
            0
        };
        for _ in 0..tries {
            let candidates = &mut self.candidates;
            let least =
                (0..candidates.len()).min_by(|a, b| candidates[*a].0.total_cmp(&candidates[*b].0));
            let Some(least) = least else { break };
            let (_, i) = candidates.swap_remove(least);
            if self.try_collapse(point, i as usize, is_closed, &mut sides) {
                break;
            }
        }
        self.sides = Some(sides);
    }

    /// Projects the ring on each side of the seam that the point lies on, if any, into its plane.
    fn project(&self, seams: Option<[usize; 2]>, is_closed: bool, sides: &mut [Side; 2]) -> bool {
        let count = self.fan.len();
        let [first, second] = match seams {
            Some([one, other]) if is_closed => [one..other, other..count],
            _ => [0..count, 0..0],
        };
        let [one, other] = sides;
        one.spokes = first;
        other.spokes = second;
        sides.iter_mut().all(|side| {
            side.is_whole = is_closed && seams.is_none();
            let spokes = &self.fan[side.spokes.clone()];
            side.errors.clear();
            side.slopes.clear();
            side.drift = 0.0;
            for spoke in spokes {
                let triangle = &self.triangles[spoke.triangle as usize];
                side.errors.push(spoke.error);
                let [from, to] = others(spoke.corner.into());
                let corners = [spoke.corner.into(), from, to];
                let slopes = &self.slopes[spoke.triangle as usize];
                side.slopes.push(corners.map(|corner| slopes[corner]));
                side.drift = side.drift.max(triangle.drift);
            }
            if !side.is_whole {
                // The edge between the neighbours along the seam has no triangle.
                side.errors.push(0.0);
                side.slopes.push([0.0; 3]);
            }
            // A side of a single triangle vanishes and needs no polygon.
            if side.errors.len() > 2 {
                let places = (0..side.errors.len()).map(|i| side.spokes.start + i);
                side.places.clear();
                side.places
                    .extend(places.map(|i| self.ring[i % self.ring.len()]));
                return side.project();
            }
            true
        })
    }

    /// Moves the point at the centre of the fan to its `i`th neighbour if all that must hold does.
    fn try_collapse(
        &mut self,
        point: u32,
        i: usize,
        is_closed: bool,
        sides: &mut [Side; 2],
    ) -> bool {
        let fan = &self.fan[..];
        let count = fan.len();
        let before = match i {
            0 if is_closed => Some(count - 1),
            0 => None,
            _ => Some(i - 1),
        };
        let after = (i < count).then_some(i);
        let to = after.map_or_else(|| fan[i - 1].to, |i| fan[i].from);
        // The wedge that replaces each wedge of the point is the one in the same vanishing triangle.
        let wedge_at = |spoke: &Spoke| {
            let triangle = &self.triangles[spoke.triangle as usize];
            let [from, other] = others(spoke.corner.into());
            triangle.wedges[if spoke.from == to { from } else { other }]
        };
        let lost = [before, after].map(|i| i.map(|i| (fan[i].wedge, wedge_at(&fan[i]))));
        if let [Some(a), Some(b)] = lost
            && a.0 == b.0
            && a.1 != b.1
        {
            return false;
        }
        let is_possible = sides.iter_mut().all(|side| {
            let Some(first) = fan.get(side.spokes.clone()).and_then(<[_]>::first) else {
                return true;
            };
            let pair = lost.iter().flatten().find(|pair| pair.0 == first.wedge);
            pair.is_some_and(|&(_, replacement)| {
                side.replacement = replacement;
                side.apex = if side.is_whole || i == side.spokes.start {
                    i - side.spokes.start
                } else {
                    side.spokes.len()
                };
                self.fits_side(side, to)
            })
        });
        if !is_possible || !self.keeps_topology(to, lost.iter().flatten().count()) {
            return false;
        }
        self.apply(point, to, sides);
        true
    }

    /// Maps one side of a seam, or all of a closed fan, to the triangles after a collapse to its
    /// `apex`, and returns whether these are near enough and well shaped.
    fn fits_side(&self, side: &mut Side, to: u32) -> bool {
        let spokes = &self.fan[side.spokes.clone()];
        let count = side.errors.len();
        let corner = |spoke: &Spoke, k: usize| {
            self.triangles[spoke.triangle as usize].wedges[others(spoke.corner.into())[k]]
        };
        let ends = [corner(&spokes[0], 0), corner(&spokes[spokes.len() - 1], 1)];
        let own = &self.source.vertices[spokes[0].wedge as usize];
        if count == 2 {
            // The only triangle vanishes. The one beside it takes its places.
            let Some(heir) = self.beside(to, &spokes[0]) else {
                return false;
            };
            side.heir = heir;
            let heir_slopes = self.slopes[heir as usize];
            let heir = &self.triangles[heir as usize];
            let ring = [0, 1].map(|i| self.ring[(side.spokes.start + i) % self.ring.len()]);
            let (line, share) = from_segment(ring[0], ring[1]);
            let wedges = [ends[0], ends[1], ends[1]];
            let [normal, uv] = self.differences(own, wedges, [1.0 - share, share, 0.0]);
            side.made_drift = heir.drift.max(length(side.drift, uv));
            let line = line.sqrt();
            let error = side.errors[0] + line;
            let [_, from, to] = side.slopes[0];
            let slopes = [0, 1, 2].map(|corner| {
                let slope = match heir.points[corner] {
                    point if point == spokes[0].from => (from + line) / share,
                    point if point == spokes[0].to => (to + line) / (1.0 - share),
                    _ => error,
                };
                heir_slopes[corner].max(slope)
            });
            side.made.clear();
            side.made.push(Made {
                error: heir.error.max(error),
                slopes,
            });
            let worst = side.made[0].error.max(side.made_drift).max(normal);
            return worst <= self.bound;
        }
        let Some((number, shares)) = side.locate() else {
            return false;
        };
        // The cheapest reason to fail comes first: normals are elsewhere in memory.
        let gap = side.way(number, shares);
        if gap > self.bound {
            return false;
        }
        let spoke = &spokes[number];
        let wedges = [side.replacement, corner(spoke, 0), corner(spoke, 1)];
        let [normal, uv] = self.differences(own, wedges, shares);
        side.made_drift = length(side.drift, uv);
        if normal.max(side.made_drift) > self.bound {
            return false;
        }
        side.map(number, shares, gap);
        spokes.iter().enumerate().all(|(i, spoke)| {
            let next = if i + 1 == count { 0 } else { i + 1 };
            if i == side.apex || next == side.apex {
                return true;
            }
            let at = |i: usize| self.ring[(side.spokes.start + i) % self.ring.len()];
            let place = at(side.apex);
            let edges = [subtract(at(i), place), subtract(at(next), place)];
            let wedges = [side.replacement, corner(spoke, 0), corner(spoke, 1)];
            side.made[i].error <= self.bound && self.fits(edges, wedges)
        })
    }

    /// Returns how far the normal and the texture coordinate of a vertex are from those between three
    /// others, weighted.
    fn differences(&self, own: &Vertex, wedges: [u32; 3], shares: [f32; 3]) -> [f32; 2] {
        let vertices = wedges.map(|wedge| &self.source.vertices[wedge as usize]);
        let [a, b, c] = vertices.map(|vertex| vertex.normal);
        let mean = [0, 1, 2].map(|k| shares[0] * a[k] + shares[1] * b[k] + shares[2] * c[k]);
        let normal = NORMAL_WEIGHT * norm(subtract(mean, own.normal));
        let Some(uvs) = &self.source.mesh.uvs else {
            return [normal, 0.0];
        };
        let [a, b, c] = vertices.map(|vertex| uvs.values[vertex.uv as usize]);
        let own = uvs.values[own.uv as usize];
        let off = [0, 1].map(|k| shares[0] * a[k] + shares[1] * b[k] + shares[2] * c[k] - own[k]);
        [
            normal,
            UV_WEIGHT * (off[0] * off[0] + off[1] * off[1]).sqrt(),
        ]
    }

    /// Returns the triangle that shares the edge of `ear` opposite its point, if that edge is no
    /// seam or border.
    fn beside(&self, to: u32, ear: &Spoke) -> Option<u32> {
        let end = if ear.from == to { ear.to } else { ear.from };
        let wedge = |number: u32, point: u32| {
            let triangle = &self.triangles[number as usize];
            let corner = triangle.points.iter().position(|p| *p == point)?;
            Some(triangle.wedges[corner])
        };
        let corners = &self.corners[self.nodes[to as usize].span()];
        let mut numbers = corners
            .iter()
            .take(MAX_SPOKES)
            .map(|number| split(*number).0);
        let number = numbers.find(|number| {
            *number != ear.triangle && self.triangles[*number as usize].points.contains(&end)
        })?;
        let is_smooth = [to, end].map(|point| wedge(number, point) == wedge(ear.triangle, point));
        (is_smooth == [true; 2]).then_some(number)
    }

    /// Returns whether a new triangle has an area and faces where its corners' normals point.
    fn fits(&self, edges: [Point; 2], wedges: [u32; 3]) -> bool {
        let [a, b] = edges;
        let normal = cross(a, b);
        let squared = dot(normal, normal);
        let third = subtract(b, a);
        let longest = dot(a, a).max(dot(b, b)).max(dot(third, third));
        if squared <= (MIN_AREA * longest).powi(2) {
            return false;
        }
        let [x, y, z] = wedges.map(|wedge| self.source.vertices[wedge as usize].normal);
        let sum = add(add(x, y), z);
        let along = dot(sum, normal);
        if along <= 0.0 || along * along <= MIN_AGREEMENT.powi(2) * squared * dot(sum, sum) {
            return false;
        }
        self.is_valid_in_source(squared, longest, wedges, sum)
    }

    /// Returns whether a new triangle has an area even for readers that subtract the source's
    /// coordinates in single precision, from any of its corners, and whether it faces along `normal` there:
    /// the points used here are rounded to the size of the whole mesh.
    fn is_valid_in_source(
        &self,
        squared: f32,
        longest: f32,
        wedges: [u32; 3],
        normal: Point,
    ) -> bool {
        // Neither small nor narrow.
        if longest > 1e-8 && squared > (0.02 * longest).powi(2) {
            return true;
        }
        let corners = wedges.map(|wedge| {
            self.source.mesh.points[self.source.vertices[wedge as usize].point as usize]
        });
        (0..3).all(|i| {
            let [from, to, other] = [i, (i + 1) % 3, (i + 2) % 3].map(|i| corners[i]);
            let [to, other] = [to, other].map(|end| subtract(end, from).map(f64::from));
            dot(cross(to, other), normal.map(f64::from)) > 0.0
        })
    }

    /// Returns whether a collapse keeps the surface a manifold (the link condition): the ends have
    /// no common neighbours but the `lost` corners opposite the edge.
    fn keeps_topology(&self, to: u32, lost: usize) -> bool {
        let node = &self.nodes[to as usize];
        if usize::from(node.count) > MAX_SPOKES {
            return false;
        }
        if node.state == State::Fixed {
            // A neighbour that is fixed, too, may be its neighbour outside.
            let neighbours = self.neighbours.iter().filter(|neighbour| **neighbour != to);
            let is_fixed = |point: u32| self.nodes[point as usize].state == State::Fixed;
            if neighbours.copied().any(is_fixed) {
                return false;
            }
        }
        // One bit for each neighbour of the point.
        let bit = |end: u32| {
            let place = self.neighbours.iter().position(|point| *point == end);
            place.map_or(0, |place| 1_u64 << place)
        };
        let mut common = 0;
        for number in &self.corners[node.span()] {
            let (number, corner) = split(*number);
            let points = self.triangles[number as usize].points;
            let [from, to] = others(corner).map(|corner| bit(points[corner]));
            // A triangle opposite the point: the collapse would make a second one there.
            if from != 0 && to != 0 {
                return false;
            }
            common |= from | to;
        }
        common.count_ones() as usize == lost
    }

    /// Collapses the edge from `point` to `to`.
    fn apply(&mut self, point: u32, to: u32, sides: &[Side; 2]) {
        for side in sides {
            for (i, spoke) in self.fan[side.spokes.clone()].iter().enumerate() {
                let number = spoke.triangle as usize;
                let triangle = &mut self.triangles[number];
                if spoke.from == to || spoke.to == to {
                    triangle.wedges[0] = NONE;
                    let opposite = if spoke.from == to {
                        spoke.to
                    } else {
                        spoke.from
                    };
                    let node = &mut self.nodes[opposite as usize];
                    let corners = &mut self.corners[node.span()];
                    if let Some(place) = corners.iter().position(|i| split(*i).0 == spoke.triangle)
                    {
                        corners.copy_within(place + 1.., place);
                        node.count -= 1;
                    }
                    continue;
                }
                let corner = usize::from(spoke.corner);
                triangle.points[corner] = to;
                triangle.wedges[corner] = side.replacement;
                let Made { error, slopes } = side.made[i];
                triangle.error = error;
                triangle.drift = side.made_drift;
                for point in triangle.points {
                    let node = &mut self.nodes[point as usize];
                    node.error = node.error.max(self.error_scale * error);
                }
                let [one, other] = others(corner);
                for (corner, slope) in [corner, one, other].into_iter().zip(slopes) {
                    self.slopes[number][corner] = slope;
                }
            }
            if side.errors.len() == 2 {
                let Made { error, slopes } = side.made[0];
                let heir = &mut self.triangles[side.heir as usize];
                heir.error = error;
                heir.drift = side.made_drift;
                self.slopes[side.heir as usize] = slopes;
            }
        }
        self.move_corners(point, to);
        self.nodes[point as usize].state = State::Settled;
        for neighbour in &self.neighbours {
            let node = &mut self.nodes[*neighbour as usize];
            if node.state == State::Stuck && node.retries < MAX_RETRIES {
                node.retries += 1;
                node.state = State::Waiting;
                self.queue.push(*neighbour, self.queue.bucket);
            }
        }
    }

    /// Moves the corners at `point` to its neighbour `to`, into the place of the removed ones: that keeps the
    /// order around it.
    fn move_corners(&mut self, point: u32, to: u32) {
        let start = self.fan.iter().position(|spoke| spoke.from == to);
        let (before, after) = self.fan.split_at(start.unwrap_or(0));
        let mut moved = after
            .iter()
            .chain(before)
            .filter(|spoke| spoke.from != to && spoke.to != to)
            .map(|spoke| corner_number(spoke.triangle, spoke.corner.into()));
        self.list.clear();
        for &number in &self.corners[self.nodes[to as usize].span()] {
            if self.triangles[split(number).0 as usize].wedges[0] == NONE {
                self.list.extend(moved.by_ref());
            } else {
                self.list.push(number);
            }
        }
        let count = self.list.len();
        self.nodes[point as usize].count = 0;
        let node = &mut self.nodes[to as usize];
        if count <= usize::from(node.count) {
            node.count = count as u16;
            let span = node.span();
            self.corners[span].copy_from_slice(&self.list);
            return;
        }
        node.count = 0;
        if self.corners.len() + count > self.corners.capacity() {
            self.compact();
        }
        let node = &mut self.nodes[to as usize];
        node.start = self.corners.len() as u32;
        node.count = count as u16;
        self.corners.extend_from_slice(&self.list);
    }

    /// Closes the gaps between the corners.
    fn compact(&mut self) {
        let (mut from, mut end) = (0, 0);
        while let Some(number) = self.corners.get(from) {
            let (number, corner) = split(*number);
            let point = self.triangles[number as usize].points[corner];
            let node = &mut self.nodes[point as usize];
            // All other corners are left over from earlier.
            if node.count > 0 && node.start as usize == from {
                let span = node.span();
                node.start = end as u32;
                self.corners.copy_within(span.clone(), end);
                end += span.len();
                from = span.end;
            } else {
                from += 1;
            }
        }
        self.corners.truncate(end);
    }
}

/// Numbers of points in the order of their first use.
pub(super) struct Numbers {
    /// The numbers by the points of the source.
    numbers: Vec<u32>,
    /// The points of the source that have a number, in their order.
    pub(super) points: Vec<u32>,
}

impl Numbers {
    pub(super) fn new(source: &Source<'_>) -> Self {
        Self {
            numbers: vec![NONE; source.mesh.points.len()],
            points: Vec::new(),
        }
    }

    fn number(&mut self, point: u32) -> u32 {
        let number = &mut self.numbers[point as usize];
        if *number == NONE {
            *number = self.points.len() as u32;
            self.points.push(point);
        }
        *number
    }

    /// Forgets all numbers.
    pub(super) fn clear(&mut self) {
        for point in self.points.drain(..) {
            self.numbers[point as usize] = NONE;
        }
    }
}

/// The triangles of a fan on one side of a seam, or all of a closed fan, and a map from them to the
/// triangles after a collapse.
///
/// The ring is projected to a plane as a polygon, all relative to the point. Seen along the plane's normal,
/// the old triangles, from a centre to the edges of the polygon, and the new ones, from one of its corners to
/// its edges, cover the polygon once each. The map leads from one to the other along the normal. Its distance
/// is convex where one of each overlap, so that its maximum is at the point, or where an edge of one crosses
/// an edge of the other.
///
/// A point on a seam or border is first shifted in the plane onto the line between the neighbours
/// along it, which is the edge of the polygon from its last to its first corner.
///
/// The point itself is a place of the source: its error is zero, and grows towards the ring no faster than by
/// the slope of each old triangle. So the map's maximum at the point and the maximum of the old errors do not
/// add up.
#[derive(Default)]
struct Side {
    /// The numbers of the spokes.
    spokes: Range<usize>,
    /// True if the triangles close around the point.
    is_whole: bool,
    /// The errors of the old triangles by the edge of the polygon, and the maximum of their drifts.
    errors: Vec<f32>,
    drift: f32,
    /// The slopes of the old triangles at the point and at the first and second end of the edge.
    slopes: Vec<[f32; 3]>,
    /// The share of each ray from the point to a corner that is in the point's new triangle, and the length of
    /// the map at its end.
    exits: Vec<[f32; 2]>,
    /// Positive for corners with the point to the left of the edge to them from the apex.
    lefts: Vec<f32>,
    /// The corners in space, and in the plane.
    places: Vec<Point>,
    corners: Vec<[f32; 2]>,
    /// The point in the plane, after the shift.
    centre: [f32; 2],
    /// The rounding error of a distance.
    rounding: f32,
    /// The corner that the point moves to, and the wedge there.
    apex: usize,
    replacement: u32,
    /// The errors of the new triangles by their edge, and their drift.
    made: Vec<Made>,
    /// The same without the length of the map.
    flat: Vec<Made>,
    made_drift: f32,
    /// The triangle that takes the places of a side without new triangles.
    heir: u32,
}

/// The error of a new triangle, and its slopes at the apex and the ends of its edge.
#[derive(Clone, Copy, Default)]
struct Made {
    error: f32,
    slopes: [f32; 3],
}

impl Side {
    /// Projects the polygon; false if the old triangles don't cover it once.
    fn project(&mut self) -> bool {
        let places = &self.places[..];
        let mut normal = [0.0; 3];
        let mut longest = 0_f32;
        let mut last = places[places.len() - 1];
        for next in places {
            normal = add(normal, cross(last, *next));
            longest = longest.max(dot(*next, *next));
            last = *next;
        }
        self.rounding = ROUNDING * longest.sqrt();
        let length: f32 = norm(normal);
        if length.is_nan() || length <= 1e-12 * longest {
            return false;
        }
        let [u, v, _] = basis(scale(normal, 1.0 / length));
        self.corners.clear();
        self.corners
            .extend(places.iter().map(|place| [dot(*place, u), dot(*place, v)]));
        self.centre = [0.0; 2];
        if !self.is_whole {
            let [last, first] = [self.corners.len() - 1, 0].map(|i| self.corners[i]);
            let share = along(last, first, [0.0; 2]).clamp(0.0, 1.0);
            self.centre = [0, 1].map(|k| last[k] + share * (first[k] - last[k]));
        }
        self.covers_once()
    }

    /// Returns whether the old triangles cover the polygon in the plane once.
    fn covers_once(&self) -> bool {
        let corners = &self.corners[..];
        let count = corners.len();
        let mut last = corners[count - 1];
        if self.is_whole {
            // Each triangle is seen from its front, and together they go round once.
            let mut turns = 0;
            return corners.iter().all(|next| {
                turns += u32::from(last[1] < 0.0 && next[1] >= 0.0);
                let is_ahead = turn([0.0; 2], last, *next) > 0.0;
                last = *next;
                is_ahead
            }) && turns == 1;
        }
        // NaN fails, too: the ends may be at one place.
        corners[1..count - 1]
            .iter()
            .all(|corner| turn(last, corners[0], *corner) > 0.0)
            && corners
                .windows(2)
                .all(|edge| turn(self.centre, edge[0], edge[1]) >= 0.0)
    }

    /// Returns the place of the point on the triangles from the apex: the number of the edge of the triangle and
    /// the shares of its three corners, or of the first and last corner of the polygon if the point is on a
    /// seam; `None` if a new triangle would face away.
    fn locate(&mut self) -> Option<(usize, [f32; 3])> {
        let Self {
            ref corners,
            ref mut lefts,
            centre,
            apex,
            ..
        } = *self;
        let tip = corners[apex];
        let count = corners.len();
        let after = |i: usize| if i + 1 == count { 0 } else { i + 1 };
        // The point's triangle, and the shares of its corners.
        let mut own = None;
        if !self.is_whole {
            let last = count - 1;
            let share = along(corners[last], corners[0], centre).clamp(0.0, 1.0);
            // The triangle at the line.
            own = Some(if apex == 0 {
                (last - 1, [share, 0.0, 1.0 - share])
            } else {
                (0, [1.0 - share, share, 0.0])
            });
        }
        lefts.clear();
        lefts.extend(corners.iter().map(|corner| turn(tip, *corner, centre)));
        let mut i = after(apex);
        while after(i) != apex {
            let next = after(i);
            let [a, b] = [i, next].map(|i| [corners[i][0] - tip[0], corners[i][1] - tip[1]]);
            let area = turn([0.0; 2], a, b);
            if area.is_nan() || area <= 0.0 {
                return None;
            }
            let [left, next_left] = [lefts[i], lefts[next]];
            if own.is_none() && left >= 0.0 && next_left <= 0.0 {
                let [here, there] = [-next_left / area, left / area];
                own = Some((i, [1.0 - here - there, here, there]));
            }
            i = next;
        }
        own
    }

    /// Returns the way of the point to its place on the triangles from the apex, rounded up.
    fn way(&self, number: usize, shares: [f32; 3]) -> f32 {
        let next = if number + 1 == self.places.len() {
            0
        } else {
            number + 1
        };
        let ends = [self.apex, number, next].map(|i| self.places[i]);
        let new = [0, 1, 2].map(|k| (0..3).map(|i| shares[i] * ends[i][k]).sum::<f32>());
        norm(new) + self.rounding
    }

    /// Maps the old triangles to those from the apex, and determines the errors of these. The point is at this
    /// place on them, and `gap` is its way there.
    fn map(&mut self, number: usize, shares: [f32; 3], gap: f32) {
        let Self {
            ref errors,
            ref slopes,
            ref corners,
            ref places,
            ref mut made,
            ref mut flat,
            ref mut exits,
            ref lefts,
            centre,
            rounding,
            apex,
            ..
        } = *self;
        let count = corners.len();
        let (tip, tip_place) = (corners[apex], places[apex]);
        let after = |i: usize| if i + 1 == count { 0 } else { i + 1 };
        let before = |i: usize| if i == 0 { count - 1 } else { i - 1 };
        made.clear();
        made.resize(count, Made::default());
        exits.clear();
        exits.resize(count, [1.0, 0.0]);
        let whole = errors.iter().copied().fold(0.0, f32::max);
        let offset = [0, 1].map(|k| centre[k] - tip[k]);
        if offset[0] * offset[0] + offset[1] * offset[1] <= 100.0 * rounding * rounding {
            // The point is shifted to the apex, so that no edges cross: all triangles are moved with it.
            let error = whole + norm(tip_place) + 2.0 * rounding;
            made.fill(Made {
                error,
                slopes: [f32::INFINITY; 3],
            });
            return;
        }
        // The edge from the centre to a corner crosses the new triangles from the point's to the
        // corner. So a new triangle meets the old ones that are on the other side of it, seen from
        // the point's triangle, and its own; the point's meets all.
        let mut meet = |i: usize, worst: f32, tip_slope: f32| {
            // An old triangle at a corner reaches into both new ones, or the reverse.
            let next = after(i);
            let mut here = slopes[i][1];
            if lefts[i] > 0.0 || before(i) == apex {
                here = here.max(slopes[before(i)][2]);
            }
            let mut there = slopes[i][2];
            if lefts[next] < 0.0 || after(next) == apex {
                there = there.max(slopes[next][1]);
            }
            made[i] = Made {
                error: worst,
                slopes: [tip_slope, here, there].map(|slope| slope.max(worst)),
            };
        };
        let mut worst = errors[apex];
        let mut i = after(apex);
        while i != number {
            worst = worst.max(errors[i]);
            meet(i, worst, slopes[apex][1]);
            i = after(i);
        }
        let mut worst = errors[before(apex)];
        let mut i = before(before(apex));
        while i != number {
            worst = worst.max(errors[i]);
            meet(i, worst, slopes[before(apex)][2]);
            i = before(i);
        }
        let tip_slope = slopes[apex][1].max(slopes[before(apex)][2]);
        meet(number, whole, tip_slope);
        // The slopes so far hold where the map has no length.
        flat.clone_from(made);
        // Edges inside the polygon cross those to corners beyond them.
        let mut i = after(after(apex));
        while after(i) != apex {
            let a = [corners[i][0] - tip[0], corners[i][1] - tip[1]];
            let edge = subtract(places[i], tip_place);
            let left = lefts[i];
            let inverse = 1.0 / (a[0] * a[0] + a[1] * a[1]);
            let sides = [before(i), i];
            for (j, corner) in corners.iter().enumerate() {
                let there = turn(tip, corners[i], *corner);
                // A point on the edge counts as to its right, since its triangle is the first that fits.
                let is_beyond = if left > 0.0 { there < 0.0 } else { there > 0.0 };
                if !is_beyond || j == apex || j == i {
                    continue;
                }
                let share = left / (left - there);
                let offset = [0, 1].map(|k| centre[k] + share * (corner[k] - centre[k]) - tip[k]);
                let along = (offset[0] * a[0] + offset[1] * a[1]) * inverse;
                if !(-1e-6..=1.0 + 1e-6).contains(&along) {
                    continue;
                }
                // Rounding may put a crossing at an end of the edge just beyond it.
                let along = along.clamp(0.0, 1.0);
                let new = add(tip_place, scale(edge, along));
                let gap = norm(subtract(scale(places[j], share), new)) + rounding;
                let olds = [before(j), j];
                let old = errors[j].max(errors[before(j)]);
                if sides.contains(&number) {
                    exits[j] = [share, gap];
                }
                // The error of an old triangle at a corner of both is known better by its slope.
                let at = |corner: usize| {
                    let old = olds.map(|old| match old {
                        old if old == corner => slopes[old][1],
                        old if old == before(corner) => slopes[old][2],
                        old => errors[old],
                    });
                    old[0].max(old[1]) + gap
                };
                let tip_slope = at(apex) / along;
                let slope = at(i) / (1.0 - along);
                for (new, (corner, opposite)) in sides.into_iter().zip([(2, 1), (1, 2)]) {
                    let made = &mut made[new];
                    made.error = made.error.max(old + gap);
                    made.slopes[0] = made.slopes[0].max(tip_slope);
                    made.slopes[corner] = made.slopes[corner].max(slope);
                    let slope = flat[new].slopes[opposite].max(old) + gap;
                    made.slopes[opposite] = made.slopes[opposite].max(slope);
                }
            }
            i = after(i);
        }
        // At the point, the old error is zero. It grows towards the corners by the slope up to the error, while
        // the gap shrinks.
        let own = &mut made[number];
        own.error = own.error.max(gap);
        for (i, (error, slopes)) in errors.iter().zip(slopes).enumerate() {
            let reach = if slopes[0] > *error {
                error / slopes[0]
            } else {
                1.0
            };
            for [share, end] in [exits[i], exits[after(i)]] {
                if reach < share {
                    own.error = own.error.max(error + gap + (end - gap) * reach / share);
                }
            }
        }
        for ((slope, flat), share) in own.slopes.iter_mut().zip(flat[number].slopes).zip(shares) {
            *slope = slope.max((flat.max(whole) + gap) / (1.0 - share).max(0.0));
        }
        for made in made {
            made.error += rounding;
            for slope in made.slopes {
                made.error = made.error.min(slope);
            }
        }
    }
}

/// Returns the length of a vector in the plane.
fn length(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

/// Returns twice the area of a triangle, positive if it is counter-clockwise.
fn turn(a: [f32; 2], b: [f32; 2], c: [f32; 2]) -> f32 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Returns how far along a line the place nearest to another is, from 0 to 1 between its ends.
fn along(from: [f32; 2], to: [f32; 2], place: [f32; 2]) -> f32 {
    let [along, offset] = [to, place].map(|end| [end[0] - from[0], end[1] - from[1]]);
    (offset[0] * along[0] + offset[1] * along[1]) / (along[0] * along[0] + along[1] * along[1])
}

/// Returns an orthonormal basis with a third vector of unit length (Duff et al., Building an
/// orthonormal basis, revisited, 2017).
fn basis([x, y, z]: Point) -> [Point; 3] {
    let sign = 1_f32.copysign(z);
    let a = -1.0 / (sign + z);
    let b = x * y * a;
    [
        [1.0 + sign * x * x * a, sign * b, -sign * x],
        [b, sign + y * y * a, -y],
        [x, y, z],
    ]
}

/// Returns the squared distance of the origin from a segment, and how far along it the nearest place
/// is, from 0 to 1.
fn from_segment(from: Point, to: Point) -> (f32, f32) {
    let along = subtract(to, from);
    let length = dot(along, along);
    let share = if length > 0.0 {
        (-dot(along, from) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let near = add(from, scale(along, share));
    (dot(near, near), share)
}

/// Returns the other corners of a triangle, in winding order.
fn others(corner: usize) -> [usize; 2] {
    // A branch on the corner would be mispredicted often.
    const OTHERS: [[usize; 2]; 3] = [[1, 2], [2, 0], [0, 1]];
    OTHERS[corner]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// Returns the shares of a triangle's corners at a place in its plane; `None` if it is not inside. A place on
    /// an edge has the smaller error of both triangles.
    fn shares([a, b, c]: [[f32; 2]; 3], place: [f32; 2]) -> Option<[f32; 3]> {
        let parts = [turn(b, c, place), turn(c, a, place), turn(a, b, place)];
        let area = turn(a, b, c);
        let is_inside = area > 1e-4 && parts.iter().all(|part| *part > 1e-3 * area);
        is_inside.then(|| parts.map(|part| part / area))
    }

    fn mix(shares: [f32; 3], ends: [Point; 3]) -> Point {
        [0, 1, 2].map(|k| (0..3).map(|i| shares[i] * ends[i][k]).sum())
    }

    /// Returns the error that a triangle admits at a place.
    fn admitted(error: f32, slopes: [f32; 3], shares: [f32; 3]) -> f32 {
        let nearest = (0..3)
            .filter(|i| shares[*i] < 1.0)
            .map(|i| slopes[i] * (1.0 - shares[i]));
        nearest.fold(error, f32::min)
    }

    /// Compares the errors of the new triangles with those of the old ones and the way between, at places of
    /// each new triangle.
    fn assert_bounded(side: &Side) {
        let count = side.corners.len();
        for (i, made) in side.made.iter().enumerate() {
            let next = (i + 1) % count;
            if i == side.apex || next == side.apex || !side.is_whole && i + 1 == count {
                continue;
            }
            let ends = [side.apex, i, next];
            for grid in 0..21 * 21 {
                let [one, other] = [grid / 21, grid % 21].map(|n| (n as f32 + 0.3) / 21.0);
                if one + other >= 1.0 {
                    continue;
                }
                let new_shares = [1.0 - one - other, one, other];
                let corners = ends.map(|end| side.corners[end]);
                let place = [0, 1].map(|k| (0..3).map(|i| new_shares[i] * corners[i][k]).sum());
                let new = mix(new_shares, ends.map(|end| side.places[end]));
                for j in 0..count {
                    let old_next = (j + 1) % count;
                    let triangle = [side.centre, side.corners[j], side.corners[old_next]];
                    if let Some(old_shares) = shares(triangle, place) {
                        let old = mix(
                            old_shares,
                            [[0.0; 3], side.places[j], side.places[old_next]],
                        );
                        let way = norm(subtract(new, old));
                        let error = way + admitted(side.errors[j], side.slopes[j], old_shares);
                        let limit = admitted(made.error, made.slopes, new_shares);
                        assert!(
                            error <= limit * 1.0001 + 1e-4,
                            "{error} > {limit}: {i} {j} {place:?}"
                        );
                    }
                }
            }
        }
    }

    /// Asserts that the corners listed at each point are those of the triangles that remain.
    fn assert_listed(decimation: &Decimation<'_>) {
        let mut expected = vec![Vec::new(); decimation.nodes.len()];
        for (number, triangle) in (0..).zip(&decimation.triangles) {
            for corner in 0..3 {
                if triangle.wedges[0] != NONE {
                    let vertex = &decimation.source.vertices[triangle.wedges[corner] as usize];
                    let point = triangle.points[corner] as usize;
                    assert_eq!(
                        decimation.source.position(vertex.point),
                        decimation.points[point]
                    );
                    expected[point].push(corner_number(number, corner));
                }
            }
        }
        for (node, expected) in decimation.nodes.iter().zip(expected) {
            let mut listed = decimation.corners[node.span()].to_vec();
            listed.sort_unstable();
            assert_eq!(listed, expected);
        }
    }

    #[test]
    fn points_list_their_corners() {
        let mut ball = crate::shapes::ball(60);
        let mut random = Random::new(7);
        for coordinate in ball.points.iter_mut().flatten() {
            *coordinate *= 1.0 + (random.number() % 1000) as f32 * 1e-5;
        }
        let count = ball.triangles.len();
        // Two parts, for a seam.
        let parts = [0..count / 2, count / 2..count];
        let (source, triangles) = Source::new(&ball, &parts).unwrap();
        let mut numbers = Numbers::new(&source);
        let mut decimation = Decimation::new(
            &source,
            triangles.iter().copied().map(Kept::from),
            &mut numbers,
            0.02,
        );
        assert_listed(&decimation);
        let mut left = triangles.len();
        for bound in [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02] {
            decimation.collapse(bound);
            assert_listed(&decimation);
            decimation.compact();
            assert_eq!(decimation.corners.len(), 3 * decimation.remaining().count());
            assert_listed(&decimation);
            assert!(decimation.remaining().count() < left);
            left = decimation.remaining().count();
        }
        assert!(left < count / 20, "{left}");
    }

    #[test]
    fn errors_bound_the_maps() {
        let mut random = Random::new(1);
        let mut mapped = 0;
        for round in 0..3000 {
            let mut number = |most: u64| random.number() % most;
            let is_whole = number(2) == 0;
            let count = 3 + number(5);
            // Integers, so that corners are often in line with the point.
            let places = (0..count).map(|i| {
                let angle =
                    std::f32::consts::TAU * (i as f32 + number(3) as f32 / 4.0) / count as f32;
                let angle = if is_whole { angle } else { angle / 2.0 };
                let radius = 1.0 + number(4) as f32;
                let height = (number(5) as f32 - 2.0) / 2.0;
                [
                    (radius * angle.cos()).round(),
                    (radius * angle.sin()).round(),
                    height,
                ]
            });
            let mut side = Side {
                is_whole,
                places: places.collect(),
                ..Side::default()
            };
            if !is_whole {
                // Also with borders that turn back, where the point is not between its neighbours.
                let shift = [number(9) as f32 - 4.0, number(3) as f32, 0.0];
                side.places
                    .iter_mut()
                    .for_each(|place| *place = add(*place, shift));
            }
            for _ in 0..count {
                let slopes = [0; 3].map(|_| number(5) as f32 / 2.0);
                side.errors.push(if round % 2 == 0 {
                    0.0
                } else {
                    slopes[0].max(slopes[1]).max(slopes[2]) / 2.0
                });
                side.slopes
                    .push(if round % 2 == 0 { [0.0; 3] } else { slopes });
            }
            if !side.project() {
                continue;
            }
            for apex in 0..side.places.len() {
                side.apex = apex;
                if !(is_whole || apex == 0 || apex + 1 == side.places.len()) {
                    continue;
                }
                if let Some((number, shares)) = side.locate() {
                    let gap = side.way(number, shares);
                    side.map(number, shares, gap);
                    mapped += 1;
                    assert_bounded(&side);
                }
            }
        }
        assert!(mapped > 1000, "{mapped}");
    }
}
