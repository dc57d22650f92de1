//! How far two surfaces are from each other.
//!
//! Distances are asked one way round: whether points of one surface lie within a bound of the
//! other. That is cheaper than the distance itself, since the search ends at the first triangle
//! that is near enough. This module knows nothing but triangles.

#![allow(
    clippy::indexing_slicing,
    reason = "nodes and triangles of a tree of boxes are numbered here"
)]

use std::sync::atomic::{AtomicUsize, Ordering};

/// Triangles in a box of the tree.
const LEAF: usize = 4;

type Point = [f32; 3];

/// A tree of boxes around triangles, to search these. It has their numbers alone: they are as much
/// as the mesh.
pub(super) struct Surface {
    /// Their numbers, in the order of the tree's leaves.
    numbers: Vec<u32>,
    /// The children of node `i` are `2 i + 1` and `2 i + 2`; the leaves are the nodes without
    /// children.
    boxes: Vec<Bounds>,
    /// How many boxes have been looked into.
    steps: AtomicUsize,
    /// How many boxes may be looked into: where big triangles lie close to each other, none can be
    /// ruled out.
    most_steps: usize,
}

/// The boxes that may be looked into, per triangle of the tree and point that is asked about.
const MOST_STEPS: usize = 200;

#[derive(Clone, Copy)]
struct Bounds {
    low: Point,
    high: Point,
}

impl Bounds {
    const EMPTY: Self = Self {
        low: [f32::INFINITY; 3],
        high: [f32::NEG_INFINITY; 3],
    };

    fn add(&mut self, point: Point) {
        for (k, x) in point.into_iter().enumerate() {
            self.low[k] = self.low[k].min(x);
            self.high[k] = self.high[k].max(x);
        }
    }

    fn with(self, other: Self) -> Self {
        let [low, high] = [[self.low, other.low], [self.high, other.high]];
        Self {
            low: [0, 1, 2].map(|k| low[0][k].min(low[1][k])),
            high: [0, 1, 2].map(|k| high[0][k].max(high[1][k])),
        }
    }

    fn longest_axis(&self) -> usize {
        let size = subtract(self.high, self.low);
        (0..3).fold(0, |best, k| if size[k] > size[best] { k } else { best })
    }

    /// The square of the distance of a point, 0 inside.
    fn distance_squared(&self, point: Point) -> f32 {
        let outside = |k: usize| {
            (self.low[k] - point[k])
                .max(point[k] - self.high[k])
                .max(0.0)
        };
        let offset = [outside(0), outside(1), outside(2)];
        dot(offset, offset)
    }
}

/// So many triangles at most are arranged by one core.
const TOGETHER: usize = 4096;

/// Orders triangles by their middles so that those of each of `leaves` leaves, and of each of its
/// halves and so on, lie together.
fn arrange(order: &mut [(Point, u32)], leaves: usize) {
    if leaves <= 1 {
        return;
    }
    // Along the axis that tells middles apart best: the sides of a cylinder lie far along its own,
    // and all at one place.
    let mut middles = Bounds::EMPTY;
    order.iter().for_each(|(middle, _)| middles.add(*middle));
    let axis = middles.longest_axis();
    let half = order.len() / 2;
    if half > 0 {
        order.select_nth_unstable_by(half, |a, b| a.0[axis].total_cmp(&b.0[axis]));
    }
    let count = order.len();
    let (left, right) = order.split_at_mut(half);
    if count > TOGETHER {
        rayon::join(|| arrange(left, leaves / 2), || arrange(right, leaves / 2));
    } else {
        arrange(left, leaves / 2);
        arrange(right, leaves / 2);
    }
}

/// The middle of a triangle, three times as far from the origin.
fn middle(points: &[Point], triangle: &[u32; 3]) -> Point {
    let [a, b, c] = triangle.map(|i| points[i as usize]);
    [0, 1, 2].map(|k| a[k] + b[k] + c[k])
}

/// The numbers of triangles in such an order that those that follow each other mostly lie together:
/// along Morton's curve, on which places that share the first bits of all their coordinates follow
/// each other. To take them apart by their middles makes better boxes, and takes five times as
/// long.
fn along_a_curve(points: &[Point], triangles: &[[u32; 3]]) -> impl Iterator<Item = u32> {
    /// Of each coordinate.
    const BITS: u32 = 20;
    let mut bounds = Bounds::EMPTY;
    let middles = || triangles.iter().map(|triangle| middle(points, triangle));
    middles().for_each(|middle| bounds.add(middle));
    let longest = bounds.longest_axis();
    let size = bounds.high[longest] - bounds.low[longest];
    let scale = if size > 0.0 {
        (1_u32 << BITS) as f32 / size
    } else {
        0.0
    };
    // Puts two zeros behind each bit.
    let spread = |x: f32| {
        let mut bits = u64::from((x as u32).min((1 << BITS) - 1));
        for (shift, mask) in [
            (32, 0x001f_0000_0000_ffff),
            (16, 0x001f_0000_ff00_00ff),
            (8, 0x100f_00f0_0f00_f00f),
            (4, 0x10c3_0c30_c30c_30c3),
            (2, 0x1249_2492_4924_9249),
        ] {
            bits = (bits | bits << shift) & mask;
        }
        bits
    };
    let code = |middle: &Point| {
        (0..3).fold(0, |code, k| {
            code << 1 | spread((middle[k] - bounds.low[k]) * scale)
        })
    };
    let mut order: Vec<(u64, u32)> = middles().map(|middle| code(&middle)).zip(0..).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, number)| number)
}

/// The numbers of triangles, in order, in groups that lie together, of no more than `size`. Every
/// index of a triangle is one of `points`.
pub(super) fn clusters(points: &[Point], triangles: &[[u32; 3]], size: usize) -> Vec<Vec<u32>> {
    let count = triangles.len().div_ceil(size.max(1)).next_power_of_two();
    let mut order: Vec<(Point, u32)> = triangles
        .iter()
        .map(|triangle| middle(points, triangle))
        .zip(0..)
        .collect();
    arrange(&mut order, count);
    let clusters = (0..count).map(|i| {
        let [from, to] = [i, i + 1].map(|i| order.len() * i / count);
        let mut numbers: Vec<u32> = order[from..to].iter().map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        numbers
    });
    clusters.collect()
}

impl Surface {
    /// Every index of a triangle is one of `points`.
    pub(super) fn new(points: &[Point], triangles: &[[u32; 3]]) -> Self {
        let leaves = triangles.len().div_ceil(LEAF).next_power_of_two();
        let numbers: Vec<u32> = along_a_curve(points, triangles).collect();
        let most_steps = MOST_STEPS.saturating_mul(triangles.len().saturating_add(points.len()));
        let boxes = vec![Bounds::EMPTY; 2 * leaves - 1];
        let mut surface = Self {
            numbers,
            boxes,
            steps: AtomicUsize::new(0),
            most_steps,
        };
        for leaf in 0..leaves {
            let mut bounds = Bounds::EMPTY;
            let corners = surface
                .leaf(leaf)
                .iter()
                .flat_map(|&number| triangles[number as usize]);
            corners.for_each(|corner| bounds.add(points[corner as usize]));
            surface.boxes[leaves - 1 + leaf] = bounds;
        }
        for node in (0..leaves - 1).rev() {
            let [left, right] = [surface.boxes[2 * node + 1], surface.boxes[2 * node + 2]];
            surface.boxes[node] = left.with(right);
        }
        surface
    }

    /// Whether so much was asked that there are no answers any more.
    pub(super) fn is_spent(&self) -> bool {
        self.steps.load(Ordering::Relaxed) > self.most_steps
    }

    /// How many leaves there are.
    fn leaves(&self) -> usize {
        self.boxes.len().div_ceil(2)
    }

    /// The numbers of the triangles of a leaf.
    fn leaf(&self, leaf: usize) -> &[u32] {
        let first = |leaf: usize| self.numbers.len() * leaf / self.leaves();
        &self.numbers[first(leaf)..first(leaf + 1)]
    }

    /// The number of a triangle that is at most `distance` away from `point`; `corners` gives those
    /// of the triangles that it was made of. Which one does not depend on what was asked before.
    pub(super) fn find(
        &self,
        point: Point,
        distance: f32,
        corners: impl Fn(usize) -> [Point; 3],
    ) -> Option<usize> {
        if self.is_spent() {
            return None;
        }
        let mut steps = 0;
        let found = self.found(point, distance, corners, &mut steps);
        self.steps.fetch_add(steps, Ordering::Relaxed);
        found
    }

    /// The same; counts in `steps` the boxes that are looked into.
    fn found(
        &self,
        point: Point,
        distance: f32,
        corners: impl Fn(usize) -> [Point; 3],
        steps: &mut usize,
    ) -> Option<usize> {
        let limit = distance * distance;
        // Of each level at most one box waits: the farther of two.
        let mut waiting = [0_u32; u32::BITS as usize];
        let mut count = 1;
        while count > 0 {
            count -= 1;
            *steps += 1;
            let node = waiting[count] as usize;
            let child = 2 * node + 1;
            let Some(&[left, right]) = self
                .boxes
                .get(child..child + 2)
                .and_then(<[Bounds]>::first_chunk)
            else {
                let leaf = node + 1 - self.leaves();
                let mut numbers = self.leaf(leaf).iter().map(|number| *number as usize);
                match numbers.find(|number| distance_squared(point, &corners(*number)) <= limit) {
                    None => continue,
                    found => return found,
                }
            };
            let (left, right) = (left.distance_squared(point), right.distance_squared(point));
            let near = usize::from(left > right);
            if left.max(right) <= limit {
                waiting[count] = (child + 1 - near) as u32;
                count += 1;
            }
            if left.min(right) <= limit {
                waiting[count] = (child + near) as u32;
                count += 1;
            }
        }
        None
    }
}

/// The square of the distance between two points.
pub(super) fn squared_distance(a: Point, b: Point) -> f32 {
    let offset = subtract(a, b);
    dot(offset, offset)
}

/// Whether the triangle is at most `distance` away from `point`.
pub(super) fn is_near(point: Point, triangle: &[Point; 3], distance: f32) -> bool {
    distance_squared(point, triangle) <= distance * distance
}

fn subtract(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Point, b: Point) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The square of the distance of a point from a triangle, by the region of the triangle's plane
/// that it lies over: a corner's, an edge's or the inside.
pub(super) fn distance_squared(point: Point, &[a, b, c]: &[Point; 3]) -> f32 {
    let (ab, ac, ap) = (subtract(b, a), subtract(c, a), subtract(point, a));
    let (d1, d2) = (dot(ab, ap), dot(ac, ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return dot(ap, ap);
    }
    let bp = subtract(point, b);
    let (d3, d4) = (dot(ab, bp), dot(ac, bp));
    if d3 >= 0.0 && d4 <= d3 {
        return dot(bp, bp);
    }
    let cp = subtract(point, c);
    let (d5, d6) = (dot(ab, cp), dot(ac, cp));
    if d6 >= 0.0 && d5 <= d6 {
        return dot(cp, cp);
    }
    let along = |from: Point, edge: Point, t: f32| {
        let offset = subtract(from, edge.map(|x| x * t));
        dot(offset, offset)
    };
    let over_c = d1 * d4 - d3 * d2;
    if over_c <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return along(ap, ab, d1 / (d1 - d3));
    }
    let over_b = d5 * d2 - d1 * d6;
    if over_b <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return along(ap, ac, d2 / (d2 - d6));
    }
    let over_a = d3 * d6 - d5 * d4;
    if over_a <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        return along(bp, subtract(c, b), (d4 - d3) / ((d4 - d3) + (d5 - d6)));
    }
    let inside = 1.0 / (over_a + over_b + over_c);
    let offset = [0, 1, 2].map(|k| ap[k] - ab[k] * over_b * inside - ac[k] * over_c * inside);
    dot(offset, offset)
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;
    use proptest::prelude::*;

    use super::*;

    /// The distance by brute force: the least over a fine grid of the triangle.
    fn sampled(point: Point, [a, b, c]: [Point; 3]) -> f32 {
        const N: usize = 200;
        let at = Vector3::from(point);
        let [a, b, c] = [a, b, c].map(Vector3::from);
        let distances = (0..=N)
            .flat_map(|i| (0..=N - i).map(move |j| (i as f32 / N as f32, j as f32 / N as f32)));
        distances
            .map(|(s, t)| (a + (b - a) * s + (c - a) * t - at).norm())
            .fold(f32::INFINITY, f32::min)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn distance_of_a_point(point in prop::array::uniform3(-2.0_f32..2.0), triangle in prop::array::uniform3(prop::array::uniform3(-1.0_f32..1.0))) {
            let [a, b, c] = triangle.map(Vector3::from);
            prop_assume!((b - a).cross(&(c - a)).norm() > 1e-2);
            let (exact, near) = (distance_squared(point, &triangle).sqrt(), sampled(point, triangle));
            prop_assert!(exact <= near + 1e-4 && near <= exact + 0.02, "{exact} {near}");
        }

        #[test]
        fn the_tree_finds_what_all_triangles_show(
            points in prop::collection::vec(prop::array::uniform3(-1.0_f32..1.0), 3..60),
            at in prop::array::uniform3(-2.0_f32..2.0),
            distance in 0.01_f32..1.0,
        ) {
            let triangles: Vec<[u32; 3]> = (0..points.len() as u32 - 2).map(|i| [i, i + 1, i + 2]).collect();
            let all = triangles.iter().map(|t| distance_squared(at, &t.map(|i| points[i as usize]))).fold(f32::INFINITY, f32::min);
            let corners = |number: usize| triangles[number].map(|i| points[i as usize]);
            let found = Surface::new(&points, &triangles).find(at, distance, corners);
            prop_assert_eq!(found.is_some(), all <= distance * distance);
        }
    }

    #[test]
    fn clusters_hold_each_triangle_once() {
        let points: Vec<Point> = (0..300_u16)
            .map(|i| [f32::from(i % 17), f32::from(i % 31), f32::from(i)])
            .collect();
        let triangles: Vec<[u32; 3]> = (0..298).map(|i| [i, i + 1, i + 2]).collect();
        for size in [1, 10, 100, 1000] {
            let clusters = clusters(&points, &triangles, size);
            assert!(
                clusters
                    .iter()
                    .all(|cluster| cluster.len() <= size && cluster.is_sorted()),
                "{size}"
            );
            let mut all = clusters.concat();
            all.sort_unstable();
            assert_eq!(all, (0..298).collect::<Vec<_>>());
        }
    }
}
