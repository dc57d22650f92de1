//! A voxel grid of a body, for inside tests and depths.

#![allow(
    clippy::indexing_slicing,
    reason = "cells and nodes are numbered within the grid, and coordinates have three axes"
)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::OnceLock;

use super::surface::{Nearest, Surface, meets_box};
use super::{Point, Triangle};
use crate::Bounds;
use crate::vector::{add, cross, distance_squared, norm, scale, subtract};

/// Approximate number of cells of the body's bounding box.
const CELLS: f64 = 60_000.0;
/// Maximum number of cells along the longest side.
const MOST_ALONG: f64 = 240.0;
/// Number of cells along the longest side that a requested coarseness leaves.
const FEWEST_ALONG: f64 = 16.0;
/// Width of the margin around the bounding box, in cells.
const MARGIN: usize = 2;

/// Minimum number of triangles for each edge of a hole in a surface that is mostly closed.
const MIN_PER_CRACK: usize = 50;

/// Maximum distance of an outer cell that a point's side is found from, in cells along an axis.
const FARTHEST: isize = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    Inside,
    Surface,
    Outside,
}

/// A body on a voxel grid.
pub(crate) struct Solid {
    pub low: Point,
    /// The length of a cell's edge.
    pub edge: f64,
    pub(super) count: [usize; 3],
    pub(super) cells: Vec<Cell>,
    /// All triangles.
    all: Surface,
    /// The boundary between the body and its outside: the visible triangles, and the caps that
    /// close holes.
    pub(super) outer: Surface,
    /// The triangles that are visible from outside.
    pub seen: Vec<Triangle>,
    /// True if all triangles together have no hole.
    pub(super) is_closed: bool,
    /// The distances of the centres of cells from the outer surface, of those that were asked for.
    distances: Vec<OnceLock<f64>>,
    /// The steps to the neighbours of a cell: differences of their numbers, and distances.
    pub(super) steps: Vec<(isize, f64)>,
}

impl Solid {
    /// Builds the grid of the body that `triangles` bound. Its cells are not much finer than `finest`.
    pub fn new(triangles: &[Triangle], finest: f64) -> Self {
        let bounds = Bounds::of(triangles.iter().flatten().copied());
        let edge = edge_of_cells(&bounds, finest);
        // The half puts the lower sides of the bounding box inside cells: a side on the border of
        // two cells would mark both.
        let low = subtract(bounds.low, [edge * (MARGIN as f64 + 0.5); 3]);
        let count = bounds
            .size()
            .map(|side| (side / edge).ceil() as usize + 2 * MARGIN + 2);
        let mut solid = Self {
            low,
            edge,
            count,
            cells: vec![Cell::Outside; count.iter().product()],
            all: Surface::new(triangles.to_vec()),
            outer: Surface::new(Vec::new()),
            seen: Vec::new(),
            is_closed: open_edges(triangles).is_empty(),
            distances: vec![OnceLock::new(); count.iter().product()],
            steps: steps()
                .iter()
                .map(|step| {
                    let length = (step.iter().map(|k| k * k).sum::<i64>() as f64).sqrt();
                    let [x, y, z] = step.map(|k| k as isize);
                    let [_, rows, columns] = count.map(|count| count as isize);
                    ((x * rows + y) * columns + z, edge * length)
                })
                .collect(),
        };
        let touched = solid.mark_surface(triangles);
        solid.mark_inside();
        let mut is_seen = vec![false; triangles.len()];
        let is_beside_outside = |cell: usize| {
            // Cells of the surface are in the grid's interior, which has a margin, except where the
            // margin is lost to rounding: small bodies far from the origin.
            solid.steps.iter().any(|(step, _)| {
                let other = solid.cells.get(cell.wrapping_add_signed(*step));
                other.is_none_or(|other| *other == Cell::Outside)
            })
        };
        for &(cell, triangle) in &touched {
            if !is_seen[triangle] && is_beside_outside(cell) {
                // Triangles inside the body don't bound it: they must not limit its depth.
                is_seen[triangle] = true;
            }
        }
        // Neither are the cells of such triangles alone at the surface.
        let mut is_bounding = vec![false; solid.cells.len()];
        for &(cell, triangle) in &touched {
            is_bounding[cell] |= is_seen[triangle];
        }
        for (cell, is_bounding) in solid.cells.iter_mut().zip(is_bounding) {
            if *cell == Cell::Surface && !is_bounding {
                *cell = Cell::Inside;
            }
        }
        solid.seen = triangles
            .iter()
            .zip(&is_seen)
            .filter(|(_, seen)| **seen)
            .map(|(triangle, _)| *triangle)
            .collect();
        let mut outer = solid.seen.clone();
        outer.extend(solid.caps());
        solid.outer = Surface::new(outer);
        solid
    }

    /// Marks the cells that triangles intersect; returns pairs of a cell and a triangle.
    fn mark_surface(&mut self, triangles: &[Triangle]) -> Vec<(usize, usize)> {
        let mut touched = Vec::new();
        // A triangle on the border of two cells marks both.
        let half = self.edge * (0.5 + 1e-6);
        for (index, triangle) in triangles.iter().enumerate() {
            let side = |k: usize, pick: fn(f64, f64) -> f64| {
                pick(pick(triangle[0][k], triangle[1][k]), triangle[2][k])
            };
            let cell = |at: f64, k: usize| {
                (((at - self.low[k]) / self.edge).floor().max(0.0) as usize).min(self.count[k] - 1)
            };
            let slack = 1e-6 * self.edge;
            let from: [usize; 3] = std::array::from_fn(|k| cell(side(k, f64::min) - slack, k));
            let to: [usize; 3] = std::array::from_fn(|k| cell(side(k, f64::max) + slack, k));
            for x in from[0]..=to[0] {
                for y in from[1]..=to[1] {
                    for z in from[2]..=to[2] {
                        let cell = self.index([x, y, z]);
                        if meets_box(triangle, self.center(cell), half) {
                            self.cells[cell] = Cell::Surface;
                            touched.push((cell, index));
                        }
                    }
                }
            }
        }
        touched
    }

    /// Marks the inner cells: those that a flood fill from the border does not reach, and, if the
    /// surface has holes, those with a winding number above one half.
    fn mark_inside(&mut self) {
        let mut is_reached = vec![false; self.cells.len()];
        let mut stack = vec![0_usize];
        // The first cell is in the margin, hence outside.
        is_reached[0] = true;
        while let Some(cell) = stack.pop() {
            for step in [
                [1, 0, 0],
                [-1, 0, 0],
                [0, 1, 0],
                [0, -1, 0],
                [0, 0, 1],
                [0, 0, -1],
            ] {
                if let Some(next) = self.neighbour(cell, step)
                    && self.cells[next] == Cell::Outside
                    && !std::mem::replace(&mut is_reached[next], true)
                {
                    stack.push(next);
                }
            }
        }
        for (cell, is_reached) in is_reached.iter().enumerate() {
            if self.cells[cell] == Cell::Outside && !is_reached {
                self.cells[cell] = Cell::Inside;
            }
        }
        if !self.is_closed {
            self.mark_enclosed();
        }
    }

    /// Marks outer cells as inner ones that a surface with holes encloses.
    ///
    /// Away from the surface the winding number is a harmonic function, which is largest at the border
    /// of a region: the search begins at the surface, and goes on from cells that it encloses.
    ///
    /// The margin stays outside: a surface that is stored several times has larger winding numbers,
    /// which exceed one half even beyond the bounding box.
    fn mark_enclosed(&mut self) {
        let mut is_tested = vec![false; self.cells.len()];
        let is_surface = |cell: &usize| self.cells[*cell] == Cell::Surface;
        let mut stack: Vec<usize> = (0..self.cells.len()).filter(is_surface).collect();
        while let Some(cell) = stack.pop() {
            for step in steps() {
                if let Some(next) = self.neighbour(cell, step)
                    && self.cells[next] == Cell::Outside
                    && !std::mem::replace(&mut is_tested[next], true)
                    && !self.is_margin(next)
                    && self.all.encloses(self.center(next))
                {
                    self.cells[next] = Cell::Inside;
                    stack.push(next);
                }
            }
        }
    }

    /// Returns the caps of holes: the faces between inner and outer cells.
    fn caps(&self) -> Vec<Triangle> {
        let mut caps = Vec::new();
        for cell in 0..self.cells.len() {
            for axis in 0..3 {
                let step: [i64; 3] = std::array::from_fn(|k| i64::from(k == axis));
                let Some(next) = self.neighbour(cell, step) else {
                    continue;
                };
                if !matches!(
                    (self.cells[cell], self.cells[next]),
                    (Cell::Inside, Cell::Outside) | (Cell::Outside, Cell::Inside)
                ) {
                    continue;
                }
                let half = self.edge / 2.0;
                let corner = |one: f64, other: f64| {
                    let mut offset = [0.0; 3];
                    (offset[axis], offset[(axis + 1) % 3], offset[(axis + 2) % 3]) =
                        (half, one * half, other * half);
                    add(self.center(cell), offset)
                };
                let [a, b, c, d] = [
                    corner(-1.0, -1.0),
                    corner(1.0, -1.0),
                    corner(1.0, 1.0),
                    corner(-1.0, 1.0),
                ];
                caps.extend([[a, b, c], [a, c, d]]);
            }
        }
        caps
    }

    fn index(&self, at: [usize; 3]) -> usize {
        (at[0] * self.count[1] + at[1]) * self.count[2] + at[2]
    }

    fn place(&self, cell: usize) -> [usize; 3] {
        [
            cell / (self.count[1] * self.count[2]),
            cell / self.count[2] % self.count[1],
            cell % self.count[2],
        ]
    }

    /// Returns whether a cell is outside the bounding box.
    fn is_margin(&self, cell: usize) -> bool {
        let is_beyond = |(at, count): (usize, usize)| at < MARGIN || at + MARGIN + 1 >= count;
        self.place(cell).into_iter().zip(self.count).any(is_beyond)
    }

    pub(super) fn center(&self, cell: usize) -> Point {
        add(
            self.low,
            self.place(cell).map(|at| (at as f64 + 0.5) * self.edge),
        )
    }

    fn neighbour(&self, cell: usize, step: [i64; 3]) -> Option<usize> {
        let place = self.place(cell);
        let mut next = [0; 3];
        for k in 0..3 {
            next[k] = usize::try_from(place[k] as i64 + step[k])
                .ok()
                .filter(|at| *at < self.count[k])?;
        }
        Some(self.index(next))
    }

    pub(super) fn cell_of(&self, point: Point) -> Option<usize> {
        let at: [f64; 3] = std::array::from_fn(|k| ((point[k] - self.low[k]) / self.edge).floor());
        let is_in = (0..3).all(|k| at[k] >= 0.0 && at[k] < self.count[k] as f64);
        is_in.then(|| self.index(at.map(|at| at as usize)))
    }

    /// Returns the depth of a point in the body. Outside, the result is negative and its magnitude
    /// an upper bound of the distance.
    pub fn depth(&self, point: Point) -> f64 {
        let distance = self.outer.distance(point);
        if self.is_inside(point, None, distance) {
            distance
        } else {
            -distance
        }
    }

    /// Returns the distance of a point from the body, as [`Self::depth`] does, if it is more than
    /// `least`, otherwise `least`. That is faster for points near the surface.
    pub fn height_above(&self, point: Point, least: f64) -> f64 {
        let distance = self.outer.distance(point);
        if distance > least && !self.is_inside(point, None, distance) {
            distance
        } else {
            least
        }
    }

    /// Returns an upper bound of the distance of a point from the body; negative if it is certainly
    /// inside.
    pub fn max_height(&self, point: Point) -> f64 {
        let distance = self.outer.distance(point);
        match self.cell_of(point).map(|cell| self.cells[cell]) {
            Some(Cell::Inside) => -distance,
            _ => distance,
        }
    }

    /// Returns whether a point is inside, given its distance from the outer surface, and a place
    /// near it.
    pub(super) fn is_inside(&self, point: Point, near: Option<&Place<'_>>, distance: f64) -> bool {
        let Some(cell) = self.cell_of(point) else {
            return false;
        };
        if self.cells[cell] != Cell::Surface {
            return self.cells[cell] == Cell::Inside;
        }
        // A surface without holes is not between points that are nearer to each other than to it.
        if self.is_closed
            && let Some(near) = near
            && let Some(is_inside) = near.is_inside
            && norm(subtract(point, near.point)) < near.nearest.distance
        {
            return is_inside;
        }
        let beside = |side: Cell| {
            let next = |(step, _): &(isize, f64)| cell.wrapping_add_signed(*step);
            let is_there = move |next: &usize| self.cells.get(*next) == Some(&side);
            self.steps.iter().map(next).filter(is_there)
        };
        // Neither is it in a ball around the point that no triangle meets, or one around a cell's centre.
        // Caps of holes are such triangles: there the body is known to one cell.
        let own = distance.powi(2);
        for side in [Cell::Inside, Cell::Outside] {
            if beside(side).any(|next| distance_squared(point, self.center(next)) < own) {
                return side == Cell::Inside;
            }
        }
        let is_in_ball = |next: usize| {
            let center = self.center(next);
            let known = self.distances[next].get_or_init(|| {
                let near = near.map(|near| near.nearest.triangle);
                let nearest = self.outer.nearest(center, near, f64::NEG_INFINITY);
                nearest.map_or(0.0, |nearest| nearest.distance)
            });
            distance_squared(point, center) < known.powi(2)
        };
        // Around an outer cell a surface without holes winds zero times. Deep in a wall of many triangles
        // there is none beside.
        let outside = |times: isize| {
            let next = move |(step, _): &(isize, f64)| cell.wrapping_add_signed(times * step);
            let is_there = |next: &usize| self.cells.get(*next) == Some(&Cell::Outside);
            let centers = self.steps.iter().map(next).filter(is_there);
            let centers = centers.map(|next| self.center(next));
            centers
                .min_by(|a, b| distance_squared(point, *a).total_cmp(&distance_squared(point, *b)))
        };
        if self.is_closed
            && let Some(center) = (1..=FARTHEST).find_map(outside)
            && let Some(count) = self.all.crossings(point, center)
        {
            // A cavity that can't be seen is part of the body.
            return count != 0 || beside(Cell::Inside).any(is_in_ball);
        }
        for side in [Cell::Inside, Cell::Outside] {
            if beside(side).any(is_in_ball) {
                return side == Cell::Inside;
            }
        }
        self.all.encloses(point)
    }
}

/// Returns the edge of the cells of a body within `bounds`: not much less than `finest`.
pub(super) fn edge_of_cells(bounds: &Bounds<f64>, finest: f64) -> f64 {
    let size = bounds.size();
    let longest = size.iter().copied().fold(0.0, f64::max).max(1e-9);
    // Give flat bodies some thickness, so that their grids have a reasonable cell size.
    let volume: f64 = size
        .iter()
        .map(|side| side.max(longest / MOST_ALONG))
        .product();
    (volume / CELLS)
        .cbrt()
        .max(longest / MOST_ALONG)
        .max(finest.min(longest / FEWEST_ALONG))
}

/// A point with its nearest triangle.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub point: Point,
    pub nearest: Nearest<'a>,
    /// True if it is inside; `None` if that is unknown.
    pub is_inside: Option<bool>,
}

/// Returns the steps to the 26 neighbours.
pub(super) fn steps() -> Vec<[i64; 3]> {
    let mut steps = Vec::new();
    for x in -1..=1 {
        for y in -1..=1 {
            steps.extend((-1..=1).map(|z| [x, y, z]));
        }
    }
    steps.retain(|step| *step != [0, 0, 0]);
    steps
}

/// The corner of an edge: the bits of its coordinates.
type Corner = [u64; 3];

/// Returns the edges that are used more often in one direction than in the other, with the
/// difference; none if the surface has no holes.
fn open_edges(triangles: &[Triangle]) -> Vec<([Corner; 2], i32)> {
    let mut edges: HashMap<[Corner; 2], i32, foldhash::fast::FixedState> =
        HashMap::with_capacity_and_hasher(triangles.len() * 3 / 2, Default::default());
    for triangle in triangles {
        // Adding zero turns -0.0 into 0.0, so that both have the same bits.
        let corners = triangle.map(|corner| corner.map(|at| (at + 0.0).to_bits()));
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            let (from, to) = (corners[a], corners[b]);
            if from != to {
                let (edge, way) = if from < to {
                    ([from, to], 1)
                } else {
                    ([to, from], -1)
                };
                *edges.entry(edge).or_default() += way;
            }
        }
    }
    edges.retain(|_, ways| *ways != 0);
    edges.into_iter().collect()
}

/// Adds triangles that close holes narrower than `width`, if all holes are and the surface is mostly
/// closed: cracks between patches that don't quite meet, and missing small triangles.
///
/// Each hole is bounded by edges that lead around it: the boundary of triangles is a cycle.
pub(super) fn close_cracks(triangles: &mut Vec<Triangle>, width: f64) {
    let mut open = open_edges(triangles);
    if open.len() > triangles.len() / MIN_PER_CRACK {
        return;
    }
    // The order of a hash map is arbitrary.
    open.sort_unstable();
    let mut next: BTreeMap<Corner, Vec<Corner>> = BTreeMap::new();
    for ([from, to], ways) in open {
        // Opposite to the triangle beside the hole.
        let (from, to) = if ways > 0 { (to, from) } else { (from, to) };
        let ends = next.entry(from).or_default();
        ends.extend((0..ways.unsigned_abs()).map(|_| to));
    }
    let mut filled = Vec::new();
    while let Some((start, _)) = next.first_key_value() {
        let mut path = vec![*start];
        let mut places = BTreeMap::from([(*start, 0)]);
        while let Some(last) = path.last()
            && let Some(ends) = next.get_mut(last)
        {
            let end = ends.pop();
            if ends.is_empty() {
                next.remove(last);
            }
            let Some(end) = end else { break };
            let Some(&first) = places.get(&end) else {
                places.insert(end, path.len());
                path.push(end);
                continue;
            };
            let cycle: Vec<Point> = path[first..]
                .iter()
                .map(|corner| corner.map(f64::from_bits))
                .collect();
            for corner in path.drain(first + 1..) {
                places.remove(&corner);
            }
            fill(&cycle, &mut filled);
        }
    }
    let is_narrow = |[a, b, c]: &Triangle| {
        let sides = [subtract(*b, *a), subtract(*c, *b), subtract(*a, *c)];
        let longest = sides.map(norm).into_iter().fold(0.0, f64::max);
        norm(cross(sides[0], sides[1])) <= width * longest
    };
    if filled.iter().all(is_narrow) {
        triangles.extend(filled);
    }
}

/// Fills the hole inside of a cycle with triangles. The shortest diagonal that cuts off one corner comes first: a
/// narrow hole gets narrow triangles along it, however it bends, and a wide one some that are not narrow.
fn fill(cycle: &[Point], triangles: &mut Vec<Triangle>) {
    let count = cycle.len();
    // The corners beside each one that is left.
    let mut beside: Vec<[usize; 2]> = (0..count)
        .map(|i| [(i + count - 1) % count, (i + 1) % count])
        .collect();
    let diagonal = |corner: usize, [before, after]: [usize; 2]| {
        let square = distance_squared(cycle[before], cycle[after]);
        // Bits of positive floats are in order.
        Reverse((square.to_bits(), corner, [before, after]))
    };
    let all = beside.iter().enumerate();
    let mut waiting: BinaryHeap<_> = all.map(|(corner, ends)| diagonal(corner, *ends)).collect();
    let mut left = count;
    while left > 2
        && let Some(Reverse((_, corner, ends))) = waiting.pop()
    {
        // A neighbour was cut off, or the corner itself.
        if beside[corner] != ends {
            continue;
        }
        let [before, after] = ends;
        triangles.push([cycle[before], cycle[corner], cycle[after]]);
        left -= 1;
        beside[corner] = [count; 2];
        beside[before][1] = after;
        beside[after][0] = before;
        waiting.extend([before, after].map(|corner| diagonal(corner, beside[corner])));
    }
}

/// Samples triangles at a spacing of about `edge`. Returns points, each with the radius of a ball;
/// the balls cover all triangles.
pub(super) fn surface_samples(triangles: &[Triangle], edge: f64) -> Vec<(Point, f64)> {
    // The bounds of the triangles' parts in each cell of a grid.
    let mut boxes: HashMap<[i64; 3], Bounds<f64>, foldhash::fast::FixedState> = HashMap::default();
    let mut stack = Vec::new();
    for triangle in triangles {
        let bounds = Bounds::of(*triangle);
        let [low, high] = [bounds.low, bounds.high].map(|at| at.map(|at| floor(at / edge)));
        if low == high {
            let whole = boxes.entry(low).or_insert(bounds);
            *whole = whole.with(bounds);
            continue;
        }
        stack.push((triangle.to_vec(), low, high));
        while let Some((polygon, low, high)) = stack.pop() {
            let bounds = Bounds::of(polygon.iter().copied());
            // The part may be in fewer cells than the range that it was cut from.
            let cell = |at: f64, k: usize| floor(at / edge).clamp(low[k], high[k]);
            let from: [i64; 3] = std::array::from_fn(|k| cell(bounds.low[k], k));
            let to: [i64; 3] = std::array::from_fn(|k| cell(bounds.high[k], k));
            let axis = (0..3).fold(0, |best, k| {
                if to[k] - from[k] > to[best] - from[best] {
                    k
                } else {
                    best
                }
            });
            if from[axis] == to[axis] {
                let whole = boxes.entry(from).or_insert(bounds);
                *whole = whole.with(bounds);
                continue;
            }
            let middle = from[axis] + (to[axis] - from[axis]) / 2;
            let [below, above] = cut(&polygon, axis, (middle + 1) as f64 * edge);
            let with = |range: [i64; 3], at: i64| {
                let mut range = range;
                range[axis] = at;
                range
            };
            let parts = [
                (below, from, with(to, middle)),
                (above, with(from, middle + 1), to),
            ];
            stack.extend(parts.into_iter().filter(|(part, ..)| !part.is_empty()));
        }
    }
    let mut boxes: Vec<_> = boxes.into_iter().collect();
    // The order of a hash map is arbitrary, and the cover depends on it.
    boxes.sort_unstable_by_key(|(key, _)| *key);
    let sample = |(_, bounds): ([i64; 3], Bounds<f64>)| {
        (
            scale(add(bounds.low, bounds.high), 0.5),
            norm(bounds.size()) / 2.0,
        )
    };
    boxes.into_iter().map(sample).collect()
}

/// Returns points at a spacing of about `edge` near triangles. They are nearer to these than the
/// samples of [`surface_samples`], of which some are off a slanted surface at the corners of cells.
pub(crate) fn surface_points(triangles: &[Triangle], edge: f64) -> Vec<Point> {
    let mut boxes: HashMap<[i64; 3], Bounds<f64>, foldhash::fast::FixedState> = HashMap::default();
    // Split triangles at their longest edge until they are smaller than the spacing, and take the
    // bounding sphere of the pieces in each cell of a hash grid.
    let mut stack = Vec::new();
    for triangle in triangles {
        stack.push(*triangle);
        while let Some(piece) = stack.pop() {
            let [a, b, c] = piece;
            let sides = [(a, b, c), (b, c, a), (c, a, b)];
            let length = |(from, to, _): &(Point, Point, Point)| norm(subtract(*to, *from));
            let longest = sides.iter().fold(&sides[0], |best, side| {
                if length(side) > length(best) {
                    side
                } else {
                    best
                }
            });
            if length(longest) > edge / 2.0 {
                let (from, to, tip) = *longest;
                let half = scale(add(from, to), 0.5);
                stack.extend([[from, half, tip], [half, to, tip]]);
                continue;
            }
            let middle = scale(add(add(a, b), c), 1.0 / 3.0);
            let key = middle.map(|at| (at / edge).floor() as i64);
            let bounds = boxes.entry(key).or_insert_with(Bounds::empty);
            piece.into_iter().for_each(|point| bounds.add(point));
        }
    }
    let mut boxes: Vec<_> = boxes.into_iter().collect();
    // The order of a hash map is arbitrary.
    boxes.sort_by_key(|(key, _)| *key);
    let middle = |(_, bounds): ([i64; 3], Bounds<f64>)| scale(add(bounds.low, bounds.high), 0.5);
    boxes.into_iter().map(middle).collect()
}

/// Returns the largest integer that is not above a number. `f64::floor` is a function on processors whose
/// baseline has no instruction for it.
fn floor(at: f64) -> i64 {
    let whole = at as i64;
    whole.saturating_sub(i64::from(whole as f64 > at))
}

/// Cuts a convex polygon at a plane across an axis; returns the parts below and above.
fn cut(polygon: &[Point], axis: usize, at: f64) -> [Vec<Point>; 2] {
    let [mut below, mut above] = [(); 2].map(|()| Vec::with_capacity(polygon.len() + 1));
    let next = polygon.iter().cycle().skip(1);
    for (from, to) in polygon.iter().zip(next) {
        if from[axis] <= at {
            below.push(*from);
        }
        if from[axis] >= at {
            above.push(*from);
        }
        let (start, end) = (from[axis], to[axis]);
        if start < at && end > at || start > at && end < at {
            let part = (at - start) / (end - start);
            let mut point = add(*from, scale(subtract(*to, *from), part));
            point[axis] = at;
            below.push(point);
            above.push(point);
        }
    }
    [below, above]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn cracks_are_closed_and_openings_are_not() {
        let (corners, sides) = crate::shapes::cuboid([-0.5; 3], [0.5; 3]);
        let mut triangles: Vec<Triangle> = sides
            .iter()
            .flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]])
            .map(|triangle| triangle.map(|corner| corners[corner]))
            .collect();
        for _ in 0..3 {
            let middle = |a: Point, b: Point| scale(add(a, b), 0.5);
            let quarters = triangles.iter().flat_map(|&[a, b, c]| {
                let [d, e, f] = [middle(a, b), middle(b, c), middle(c, a)];
                [[a, d, f], [d, b, e], [f, e, c], [d, e, f]]
            });
            triangles = quarters.collect();
        }
        let whole = triangles.clone();
        close_cracks(&mut triangles, 0.01);
        assert_eq!(triangles, whole);
        // Two triangles whose common corner is slightly off their neighbour's edge.
        let [a, b, c] = triangles.swap_remove(100);
        let off = add(scale(add(a, b), 0.5), [2e-3, 1e-3, 1e-3]);
        triangles.extend([[a, off, c], [off, b, c]]);
        let with_crack = triangles.clone();
        assert_eq!(open_edges(&triangles).len(), 3);
        close_cracks(&mut triangles, 0.01);
        assert_eq!(open_edges(&triangles), []);
        let surface = Surface::new(triangles);
        assert!(surface.encloses([0.4, 0.1, -0.2]) && !surface.encloses([0.6, 0.1, -0.2]));
        // Too wide.
        let mut triangles = with_crack.clone();
        close_cracks(&mut triangles, 1e-4);
        assert_eq!(triangles, with_crack);
        // A crack, and an opening that is none.
        let mut triangles = with_crack;
        triangles.truncate(triangles.len() - 20);
        let is_left = |[a, b, c]: &Triangle| [a, b, c].iter().any(|at| at[0] < 0.4);
        triangles.retain(is_left);
        let open = triangles.clone();
        close_cracks(&mut triangles, 0.01);
        assert_eq!(triangles, open);
    }

    #[test]
    fn bent_slits_are_closed_and_finely_meshed_openings_are_not() {
        let counts = [200, 100];
        let corner = |i: usize, j: usize| {
            let turn = |i: usize, count| (i % count) as f64 / count as f64 * std::f64::consts::TAU;
            let (around, across) = (turn(i, counts[0]), turn(j, counts[1]));
            let radius = 1.0 + 0.3 * across.cos();
            [
                radius * around.cos(),
                radius * around.sin(),
                0.3 * across.sin(),
            ]
        };
        // A torus without some pairs of triangles.
        let torus = |is_hole: &dyn Fn(usize, usize) -> bool| -> Vec<Triangle> {
            (0..counts[0] * counts[1])
                .map(|number| (number / counts[1], number % counts[1]))
                .filter(|(i, j)| !is_hole(*i, *j))
                .flat_map(|(i, j)| {
                    let [a, b] = [corner(i, j), corner(i + 1, j)];
                    let [c, d] = [corner(i + 1, j + 1), corner(i, j + 1)];
                    [[a, b, c], [a, c, d]]
                })
                .collect()
        };
        let mut slit = torus(&|i, j| j == 5 && i < 190);
        let count = slit.len();
        close_cracks(&mut slit, 0.05);
        assert_eq!(
            (slit.len() - count, open_edges(&slit)),
            (2 * 190, Vec::new())
        );
        let lengths = slit[count..]
            .iter()
            .flat_map(|[a, b, c]| [[a, b], [b, c], [c, a]])
            .map(|[a, b]| norm(subtract(*a, *b)));
        assert!(lengths.fold(0.0, f64::max) < 0.1);
        let mut window = torus(&|i, j| i < 20 && j < 20);
        let count = window.len();
        close_cracks(&mut window, 0.05);
        assert_eq!(window.len(), count);
    }

    #[test]
    fn samples_far_away_are_numbered() {
        let far = [[[-1e18, 0.0, 0.0]; 3]];
        assert_eq!(surface_samples(&far, 1e-3), [([-1e18, 0.0, 0.0], 0.0)]);
    }

    #[test]
    fn samples_of_the_surface_cover_it() {
        let triangles = [
            [[-0.31, 0.2, 0.1], [0.45, -0.37, 0.2], [0.1, 0.3, -0.4]],
            // Long and thin, and on the border of cells.
            [[-0.5, 0.1, 0.1], [0.5, 0.101, 0.1], [0.5, 0.1, 0.1]],
            [[0.2, 0.2, 0.2], [0.2, 0.2, 0.2], [0.2, 0.2, 0.2]],
        ];
        let edge = 0.05;
        let samples = surface_samples(&triangles, edge);
        let is_small = |(_, reach): &(Point, f64)| *reach <= edge * 0.75_f64.sqrt() + 1e-12;
        assert!(samples.iter().all(is_small));
        // About as many as the triangles cross cells.
        assert!((100..400).contains(&samples.len()), "{}", samples.len());
        let mut random = Random::new(5);
        for [a, b, c] in triangles {
            for _ in 0..2000 {
                let (v, w) = (random.unit(), random.unit());
                let (v, w) = if v + w > 1.0 {
                    (1.0 - v, 1.0 - w)
                } else {
                    (v, w)
                };
                let along = add(scale(subtract(b, a), v), scale(subtract(c, a), w));
                let point = add(a, along);
                let is_in = |(center, reach): &(Point, f64)| {
                    norm(subtract(point, *center)) <= reach + 1e-12
                };
                assert!(samples.iter().any(is_in), "{point:?}");
            }
        }
    }
}
