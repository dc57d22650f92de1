//! A voxel grid of a body, for inside tests and depths.

#![allow(
    clippy::indexing_slicing,
    reason = "cells and nodes are numbered within the grid, and coordinates have three axes"
)]

use std::collections::HashMap;

use super::surface::{Surface, meets_box};
use super::{Point, Triangle};
use crate::Bounds;
use crate::vector::{add, norm, scale, subtract};

/// Approximate number of cells of the body's bounding box.
const CELLS: f64 = 60_000.0;
/// Maximum number of cells along the longest side.
const MOST_ALONG: f64 = 240.0;
/// Width of the margin around the bounding box, in cells.
const MARGIN: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Inside,
    Surface,
    Outside,
}

/// A body on a voxel grid.
pub(crate) struct Solid {
    pub low: Point,
    /// The length of a cell's edge.
    pub edge: f64,
    count: [usize; 3],
    cells: Vec<Cell>,
    /// All triangles.
    all: Surface,
    /// The boundary between the body and its outside: the visible triangles, and the caps that
    /// close holes.
    outer: Surface,
    /// The triangles that are visible from outside.
    pub seen: Vec<Triangle>,
}

impl Solid {
    pub fn new(triangles: &[Triangle]) -> Self {
        let bounds = Bounds::of(triangles.iter().flatten().copied());
        let size = bounds.size();
        let longest = size.iter().copied().fold(0.0, f64::max).max(1e-9);
        // Give flat bodies some thickness, so that their grids have a reasonable cell size.
        let volume: f64 = size
            .iter()
            .map(|side| side.max(longest / MOST_ALONG))
            .product();
        let edge = (volume / CELLS).cbrt().max(longest / MOST_ALONG);
        // The half puts the lower sides of the bounding box inside cells: a side on the border of
        // two cells would mark both.
        let low = subtract(bounds.low, [edge * (MARGIN as f64 + 0.5); 3]);
        let count = size.map(|side| (side / edge).ceil() as usize + 2 * MARGIN + 2);
        let mut solid = Self {
            low,
            edge,
            count,
            cells: vec![Cell::Outside; count.iter().product()],
            all: Surface::new(triangles.to_vec()),
            outer: Surface::new(Vec::new()),
            seen: Vec::new(),
        };
        let touched = solid.mark_surface(triangles);
        solid.mark_inside(is_closed(triangles));
        let mut is_seen = vec![false; triangles.len()];
        for (cell, triangle) in touched {
            let near = |step: &[i64; 3]| {
                solid
                    .neighbour(cell, *step)
                    .is_some_and(|other| solid.cells[other] == Cell::Outside)
            };
            if !is_seen[triangle] && steps().iter().any(near) {
                // Triangles inside the body don't bound it: they must not limit its depth.
                is_seen[triangle] = true;
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
    fn mark_inside(&mut self, is_closed: bool) {
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
        for (cell, is_reached) in is_reached.into_iter().enumerate() {
            if self.cells[cell] == Cell::Outside
                // The magnitude, since winding numbers are negative if the surface is inside out.
                && (!is_reached || !is_closed && self.all.winding(self.center(cell)).abs() > 0.5)
            {
                self.cells[cell] = Cell::Inside;
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

    fn center(&self, cell: usize) -> Point {
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

    fn cell_of(&self, point: Point) -> Option<usize> {
        let at: [f64; 3] = std::array::from_fn(|k| ((point[k] - self.low[k]) / self.edge).floor());
        let is_in = (0..3).all(|k| at[k] >= 0.0 && at[k] < self.count[k] as f64);
        is_in.then(|| self.index(at.map(|at| at as usize)))
    }

    /// Returns the depth of a point in the body. Outside, the result is negative and its magnitude
    /// an upper bound of the distance.
    pub fn depth(&self, point: Point) -> f64 {
        let distance = self.outer.distance(point);
        if self.contains(point) {
            distance
        } else {
            -distance
        }
    }

    /// Returns the distance of a point from the body, as [`Self::depth`] does, if it is more than
    /// `least`, otherwise `least`. That is faster for points near the surface.
    pub fn height_above(&self, point: Point, least: f64) -> f64 {
        let distance = self.outer.distance(point);
        if distance > least && !self.contains(point) {
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

    fn contains(&self, point: Point) -> bool {
        match self.cell_of(point).map(|cell| self.cells[cell]) {
            Some(Cell::Inside) => true,
            // Such a cell is partly inside, so the point itself has to be tested.
            Some(Cell::Surface) => self.all.winding(point).abs() > 0.5,
            _ => false,
        }
    }

    /// Returns points near the medial axis with their depths: cells of which no neighbour is deeper
    /// by (nearly) the distance to it.
    pub fn middles(&self) -> Vec<(Point, f64)> {
        let depths: HashMap<usize, f64> = (0..self.cells.len())
            .filter(|&cell| self.cells[cell] != Cell::Outside)
            .map(|cell| (cell, self.depth(self.center(cell))))
            .filter(|(_, depth)| *depth > 0.0)
            .collect();
        let steps = steps();
        let is_middle = |cell: usize, depth: f64| {
            !steps.iter().any(|step| {
                let length = self.edge * (step.iter().map(|k| k * k).sum::<i64>() as f64).sqrt();
                let deeper = self
                    .neighbour(cell, *step)
                    .and_then(|next| depths.get(&next));
                deeper.is_some_and(|deeper| deeper - depth > RIDGE * length)
            })
        };
        let mut middles: Vec<usize> = depths
            .iter()
            .filter(|(cell, depth)| is_middle(**cell, **depth))
            .map(|(cell, _)| *cell)
            .collect();
        // The order of a hash map differs between runs, and the cover depends on it.
        middles.sort_unstable();
        middles
            .into_iter()
            .map(|cell| self.deeper(self.center(cell), depths[&cell]))
            .collect()
    }

    /// Refines a point by a pattern search for more depth; returns the deepest with its depth.
    fn deeper(&self, start: Point, depth: f64) -> (Point, f64) {
        let (mut best, mut deepest) = (start, depth);
        for size in [0.5, 0.25, 0.125] {
            for axis in 0..3 {
                for sign in [-1.0, 1.0] {
                    let mut next = best;
                    next[axis] += sign * size * self.edge;
                    let depth = self.depth(next);
                    if depth > deepest {
                        (best, deepest) = (next, depth);
                    }
                }
            }
        }
        (best, deepest)
    }

    /// Returns points in the body, each with the radius of a ball; the balls cover all of it below
    /// depth `skin`. No radius exceeds `finest` plus half of the point's depth.
    pub fn inner_samples(&self, skin: f64, finest: f64) -> Vec<(Point, f64)> {
        let mut samples = Vec::new();
        let largest = self
            .count
            .iter()
            .copied()
            .max()
            .unwrap_or(1)
            .next_power_of_two() as f64
            * self.edge;
        let mut stack = vec![(add(self.low, [largest / 2.0; 3]), largest / 2.0)];
        while let Some((center, half)) = stack.pop() {
            // Octree: depth changes by at most the distance between points (it is 1-Lipschitz), so
            // the depth at the centre bounds that of the whole cell.
            let reach = half * 3.0_f64.sqrt();
            // Above this size the centre's depth is rarely conclusive.
            if half <= self.edge * 4.0 {
                let depth = self.depth(center);
                if depth < skin - reach {
                    continue;
                }
                if reach <= finest + depth.max(0.0) / 2.0 && (depth >= 0.0 || reach <= finest) {
                    samples.push((center, reach));
                    continue;
                }
            }
            let quarter = half / 2.0;
            stack.extend((0..8).map(|corner: u8| {
                let sign = |k: u8| {
                    if corner >> k & 1 == 0 {
                        -quarter
                    } else {
                        quarter
                    }
                };
                (add(center, [sign(0), sign(1), sign(2)]), quarter)
            }));
        }
        samples
    }
}

/// Minimum slope of depth towards a neighbour for a point not to be on the medial axis.
const RIDGE: f64 = 0.75;

/// Returns the steps to the 26 neighbours.
fn steps() -> Vec<[i64; 3]> {
    let mut steps = Vec::new();
    for x in -1..=1 {
        for y in -1..=1 {
            steps.extend((-1..=1).map(|z| [x, y, z]));
        }
    }
    steps.retain(|step| *step != [0, 0, 0]);
    steps
}

/// Returns whether every edge is used equally often in both directions.
fn is_closed(triangles: &[Triangle]) -> bool {
    let mut edges: HashMap<[[u64; 3]; 2], i64> = HashMap::new();
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
    edges.values().all(|ways| *ways == 0)
}

/// Samples triangles at a spacing of about `edge`. Returns points, each with the radius of a ball;
/// the balls cover all triangles.
pub(crate) fn surface_samples(triangles: &[Triangle], edge: f64) -> Vec<(Point, f64)> {
    let mut boxes: HashMap<[i64; 3], Bounds<f64>> = HashMap::new();
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
    // Again for a deterministic cover.
    boxes.sort_by_key(|(key, _)| *key);
    let sample = |(_, bounds): ([i64; 3], Bounds<f64>)| {
        (
            scale(add(bounds.low, bounds.high), 0.5),
            norm(bounds.size()) / 2.0,
        )
    };
    boxes.into_iter().map(sample).collect()
}
