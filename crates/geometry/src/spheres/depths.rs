//! Depths of the cells of a body, for points of the medial axis and samples of the volume.

#![allow(
    clippy::indexing_slicing,
    reason = "cells are numbered within the grid, and coordinates have three axes"
)]

use std::collections::HashMap;

use super::solid::{Cell, Place, Solid};
use super::surface::distance_square;
use super::{Point, Triangle};
use crate::vector::{add, cross, dot, norm, scale, subtract};

/// Minimum slope of depth towards a neighbour for a point not to be on the medial axis.
const RIDGE: f64 = 0.75;

/// Returns the point that is a depth below the plane of a triangle, seen from a point over it, or from
/// outside if the point is in the plane.
fn beyond(point: Point, [a, b, c]: &Triangle, depth: f64) -> Point {
    let across = cross(subtract(*b, *a), subtract(*c, *a));
    let normal = scale(across, 1.0 / norm(across));
    let height = dot(subtract(point, *a), normal);
    let below = if height < -1e-6 * depth {
        depth
    } else {
        -depth
    };
    add(point, scale(normal, below - height))
}

/// The distances of the cells of a body from its outer surface.
pub(super) struct Depths<'a> {
    solid: &'a Solid,
    /// The triangles nearest to the centres of inner cells and cells of the surface; a few are
    /// slightly farther than the nearest one.
    near: Vec<Option<&'a Triangle>>,
    /// The distances to these triangles: upper bounds of the distances from the surface.
    distances: Vec<f64>,
}

impl<'a> Depths<'a> {
    /// Computes the distances: those of the surface's cells by search, those of inner cells from
    /// the nearest triangles of their neighbours, in two passes over the grid (as the vector
    /// distance transform of Danielsson 1980, with triangles instead of points).
    pub fn new(solid: &'a Solid) -> Self {
        let cells = solid.cells.len();
        let (mut near, mut squares) = (vec![None; cells], vec![f64::INFINITY; cells]);
        // Adopts the triangle of a neighbour that is nearer.
        let adopt =
            |near: &[Option<&'a Triangle>], squares: &[f64], cell: usize, is_before: bool| {
                let center = solid.center(cell);
                let (mut best, mut square) = (near[cell], squares[cell]);
                for (step, _) in &solid.steps {
                    let next = cell.wrapping_add_signed(*step);
                    if (*step < 0) == is_before
                        && let Some(triangle) = near.get(next).copied().flatten()
                        && !best.is_some_and(|best| std::ptr::eq(best, triangle))
                    {
                        let found = distance_square(center, triangle);
                        if found < square {
                            (best, square) = (Some(triangle), found);
                        }
                    }
                }
                (best, square)
            };
        for cell in 0..cells {
            if solid.cells[cell] == Cell::Outside {
                continue;
            }
            let (mut best, mut square) = adopt(&near, &squares, cell, true);
            if solid.cells[cell] == Cell::Surface
                && let Ok(nearest) =
                    solid
                        .outer
                        .nearest(solid.center(cell), best, f64::NEG_INFINITY)
            {
                (best, square) = (Some(nearest.triangle), nearest.distance.powi(2));
            }
            (near[cell], squares[cell]) = (best, square);
        }
        for cell in (0..cells).rev() {
            if solid.cells[cell] == Cell::Inside {
                (near[cell], squares[cell]) = adopt(&near, &squares, cell, false);
            }
        }
        let distances = squares.into_iter().map(f64::sqrt).collect();
        Self {
            solid,
            near,
            distances,
        }
    }

    /// Returns points near the medial axis with their depths: cells of which no neighbour is deeper
    /// by (nearly) the distance to it. In bodies of a mean thickness below two cells also points below
    /// the surface next to cells whose centre is outside: there may be no others. Of more than `most`,
    /// every second, third … is returned.
    pub fn middles(&self, most: usize, thickness: f64) -> Vec<(Point, f64)> {
        let is_thin = thickness < 2.0 * self.solid.edge;
        // The side of a cell of the surface is expensive to know, and rarely needed.
        let mut known: HashMap<usize, bool> = HashMap::new();
        let mut is_inside = |cell: usize| match self.solid.cells[cell] {
            Cell::Inside => true,
            Cell::Outside => false,
            Cell::Surface => *known.entry(cell).or_insert_with(|| {
                self.solid
                    .is_inside(self.solid.center(cell), None, self.distances[cell])
            }),
        };
        let mut middles = Vec::new();
        for (cell, distance) in self.distances.iter().enumerate() {
            if self.solid.cells[cell] == Cell::Outside || (*distance <= 0.0 && !is_thin) {
                continue;
            }
            let deeper = || {
                self.solid.steps.iter().filter_map(|(step, length)| {
                    let next = cell.checked_add_signed(*step)?;
                    let is_inner = *self.solid.cells.get(next)? != Cell::Outside;
                    (is_inner && self.distances[next] - distance > RIDGE * length).then_some(next)
                })
            };
            if deeper().any(|next| self.solid.cells[next] == Cell::Inside)
                || deeper().any(&mut is_inside)
            {
                continue;
            }
            let center = self.solid.center(cell);
            if *distance > 0.0 && is_inside(cell) {
                middles.push((center, true));
            } else if is_thin && *distance < self.solid.edge {
                let depth = self.solid.edge.min(thickness) / 2.0;
                middles.extend(self.near[cell].map(|near| (beyond(center, near, depth), false)));
            }
        }
        let stride = middles.len().div_ceil(most).max(1);
        let mut near = Near::default();
        let inside =
            |(point, is_known): &&(Point, bool)| *is_known || self.solid.depth(*point) > 0.0;
        let deeper = |(start, _): &(Point, bool)| self.deeper(*start, &mut near);
        middles
            .iter()
            .step_by(stride)
            .filter(inside)
            .filter_map(deeper)
            .collect()
    }

    /// Refines a point inside by a pattern search for more depth; returns the deepest with its depth.
    ///
    /// `near` are triangles near the point; those that limit the depth are added.
    fn deeper(&self, start: Point, near: &mut Near<'a>) -> Option<(Point, f64)> {
        let nearest = self
            .solid
            .outer
            .nearest(start, near.nearest(start), 0.0)
            .ok()?;
        near.add(nearest.triangle);
        let mut best = Place {
            point: start,
            nearest,
            is_inside: Some(true),
        };
        for size in [0.5, 0.25, 0.125] {
            for axis in 0..3 {
                for sign in [-1.0, 1.0] {
                    let mut next = best.point;
                    next[axis] += sign * size * self.solid.edge;
                    let least = best.nearest.distance;
                    match self.solid.outer.nearest(next, near.nearest(next), least) {
                        Ok(nearest)
                            if self.solid.is_inside(next, Some(&best), nearest.distance) =>
                        {
                            near.add(nearest.triangle);
                            best = Place {
                                point: next,
                                nearest,
                                is_inside: Some(true),
                            };
                        }
                        Ok(_) => {}
                        Err(triangle) => near.add(triangle),
                    }
                }
            }
        }
        Some((best.point, best.nearest.distance))
    }

    /// Returns points in the body, each with the radius of a ball; the balls cover all of it below
    /// depth `skin`. No radius exceeds `finest` plus half of the point's depth.
    pub fn inner_samples(&self, skin: f64, finest: f64) -> Vec<(Point, f64)> {
        let mut samples = Vec::new();
        // The smallest cubes are as large as they may be.
        let longest = self.solid.count.iter().copied().max().unwrap_or(1) as f64 * self.solid.edge;
        let smallest = finest / 3.0_f64.sqrt() * (1.0 - 1e-9);
        let halvings = (longest / 2.0 / smallest).log2().ceil().max(0.0);
        let root = smallest * halvings.exp2();
        let start = add(self.solid.low, [longest / 2.0; 3]);
        let mut stack: Vec<Cube<'_>> = vec![(start, root, None)];
        while let Some((center, half, above)) = stack.pop() {
            // Octree: depth changes by at most the distance between points (it is 1-Lipschitz), so
            // the depth at the centre bounds that of the whole cell.
            let reach = half * 3.0_f64.sqrt();
            let mut place = None;
            // Above this size the centre's depth is rarely conclusive.
            if half <= self.solid.edge * 4.0 || reach <= finest {
                let cell = self.solid.cell_of(center);
                // A depth nearby bounds that of the centre: no search for most cells inside.
                if let Some(cell) = cell
                    && self.solid.cells[cell] == Cell::Inside
                {
                    let offset = norm(subtract(center, self.solid.center(cell)));
                    let least = (self.distances[cell] - offset).max(0.0);
                    if reach <= finest + least / 2.0 {
                        samples.push((center, reach));
                        continue;
                    }
                    if reach > finest + (self.distances[cell] + offset) / 2.0 {
                        stack.extend(octants(center, half, above));
                        continue;
                    }
                }
                if let Some(above) = &above
                    && self.solid.is_closed
                    && above.is_inside == Some(false)
                    && norm(subtract(center, above.point)) + reach - skin < above.nearest.distance
                {
                    continue;
                }
                let near = cell
                    .and_then(|cell| self.near[cell])
                    .or_else(|| above.as_ref().map(|above| above.nearest.triangle));
                // The cube holds a part of the body, whatever its centre is.
                let partly = reach - skin;
                if reach <= finest {
                    let is_near =
                        |triangle: &Triangle| distance_square(center, triangle) <= partly * partly;
                    let is_kept = near.is_some_and(is_near)
                        || self.solid.outer.within(center, partly).is_some()
                        || self.solid.is_inside(center, above.as_ref(), partly);
                    if is_kept {
                        samples.push((center, reach));
                    }
                    continue;
                }
                let split = partly.min(2.0 * (reach - finest)).min(reach / 2.0);
                // Nearer to the surface the cube has to be split, and its place shows no side of its parts.
                if let Ok(nearest) = self.solid.outer.nearest(center, near, split) {
                    let distance = nearest.distance;
                    let is_inside = self.solid.is_inside(center, above.as_ref(), distance);
                    if distance > partly && !is_inside {
                        continue;
                    }
                    if is_inside && reach <= finest + distance / 2.0 {
                        samples.push((center, reach));
                        continue;
                    }
                    place = Some(Place {
                        point: center,
                        nearest,
                        is_inside: Some(is_inside),
                    });
                }
            }
            stack.extend(octants(center, half, place));
        }
        samples
    }
}

/// A cube with its centre and half its edge, and the place of the one that it was split from.
type Cube<'a> = (Point, f64, Option<Place<'a>>);

/// Splits a cube into eight.
fn octants<'a>(
    center: Point,
    half: f64,
    place: Option<Place<'a>>,
) -> impl Iterator<Item = Cube<'a>> {
    let quarter = half / 2.0;
    (0..8).map(move |corner: u8| {
        let sign = |k: u8| {
            if corner >> k & 1 == 0 {
                -quarter
            } else {
                quarter
            }
        };
        (add(center, [sign(0), sign(1), sign(2)]), quarter, place)
    })
}

/// Triangles that were the nearest ones of points near each other.
#[derive(Default)]
struct Near<'a> {
    triangles: [Option<&'a Triangle>; 8],
    /// Number of triangles added so far.
    count: usize,
}

impl<'a> Near<'a> {
    fn add(&mut self, triangle: &'a Triangle) {
        let mut known = self.triangles.iter().flatten();
        if known.all(|known| !std::ptr::eq(*known, triangle)) {
            self.triangles[self.count % self.triangles.len()] = Some(triangle);
            self.count += 1;
        }
    }

    /// Returns the one nearest to a point.
    fn nearest(&self, point: Point) -> Option<&'a Triangle> {
        let known = self.triangles.iter().flatten().copied();
        known.min_by(|a, b| distance_square(point, a).total_cmp(&distance_square(point, b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn depths_from_neighbours_are_nearly_those_of_a_search() {
        // A body of random corners, whose triangles are seen from its middle.
        let mut random = Random::new(5);
        let steps: usize = 12;
        let mut ring = || -> Vec<Point> {
            let angles = (0..steps).map(|step| step as f64 / steps as f64 * std::f64::consts::TAU);
            let corner = |angle: f64| {
                let radius = random.between(0.5, 1.0);
                [radius * angle.cos(), radius * angle.sin(), 0.0]
            };
            angles.map(corner).collect()
        };
        let [low, high] = [-0.6, 0.6].map(|z| {
            ring()
                .into_iter()
                .map(|[x, y, _]| [x, y, z])
                .collect::<Vec<_>>()
        });
        let triangles: Vec<Triangle> = (0..steps)
            .flat_map(|step| {
                let next = (step + 1) % steps;
                let [a, b, c, d] = [low[step], low[next], high[next], high[step]];
                [
                    [a, b, c],
                    [a, c, d],
                    [[0.0, 0.0, -0.9], b, a],
                    [[0.0, 0.0, 0.9], d, c],
                ]
            })
            .collect();
        let solid = Solid::new(&triangles, 0.0);
        let depths = Depths::new(&solid);
        let (mut count, mut off) = (0, 0);
        for (cell, &found) in depths.distances.iter().enumerate() {
            if solid.cells[cell] == Cell::Outside {
                assert!(found.is_infinite());
                continue;
            }
            let exact = solid.outer.distance(solid.center(cell));
            assert!(
                found >= exact - 1e-12 && found < exact + 0.25 * solid.edge,
                "{found} {exact}"
            );
            count += 1;
            off += usize::from(found > exact + 1e-12);
        }
        assert!(count > 10_000 && off * 20 < count, "{off} of {count}");
    }
}
