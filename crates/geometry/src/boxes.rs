//! Trees of bounding boxes, for searches among many items.

#![allow(
    clippy::indexing_slicing,
    reason = "nodes and items are numbered by the tree that is built here, and coordinates have three axes"
)]

use std::ops::ControlFlow;

use num_traits::Float;

use crate::vector::{dot, subtract};

/// Maximum number of items in a leaf.
const LEAF: usize = 4;

/// Maximum depth of a tree: nodes have 32-bit numbers, and both builders balance the tree.
const MAX_DEPTH: usize = u32::BITS as usize;

/// Value of a node's `end` that marks an inner node.
const INNER: u32 = u32::MAX;

/// An axis-aligned box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds<T> {
    /// The smallest coordinates.
    pub low: [T; 3],
    /// The largest coordinates.
    pub high: [T; 3],
}

impl<T: Float> Bounds<T> {
    /// Returns a box that contains nothing.
    pub fn empty() -> Self {
        Self {
            low: [T::infinity(); 3],
            high: [T::neg_infinity(); 3],
        }
    }

    /// Returns the bounding box of points.
    pub fn of(points: impl IntoIterator<Item = [T; 3]>) -> Self {
        let mut bounds = Self::empty();
        points.into_iter().for_each(|point| bounds.add(point));
        bounds
    }

    /// Extends the box to contain a point.
    pub fn add(&mut self, point: [T; 3]) {
        for (k, x) in point.into_iter().enumerate() {
            self.low[k] = self.low[k].min(x);
            self.high[k] = self.high[k].max(x);
        }
    }

    /// Returns the bounding box of two boxes.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            low: [0, 1, 2].map(|k| self.low[k].min(other.low[k])),
            high: [0, 1, 2].map(|k| self.high[k].max(other.high[k])),
        }
    }

    /// Returns the extent along each axis.
    pub fn size(&self) -> [T; 3] {
        subtract(self.high, self.low)
    }

    /// Returns the axis along which the box is longest; the first of several.
    pub fn longest_axis(&self) -> usize {
        let size = self.size();
        (0..3).fold(0, |best, k| if size[k] > size[best] { k } else { best })
    }

    /// Returns the squared distance of a point, 0 inside.
    pub fn distance_squared(&self, point: [T; 3]) -> T {
        // Without `max`, which is slower since it respects values that are not numbers.
        let larger = |a: T, b: T| if a > b { a } else { b };
        let outside = |k: usize| {
            let beyond = larger(self.low[k] - point[k], point[k] - self.high[k]);
            larger(beyond, T::zero())
        };
        let offset = [outside(0), outside(1), outside(2)];
        dot(offset, offset)
    }

    /// Returns whether the boxes overlap along every axis by more than `tolerance`.
    pub fn overlaps(&self, other: &Self, tolerance: T) -> bool {
        (0..3).all(|k| (self.high[k] - other.low[k]).min(other.high[k] - self.low[k]) > tolerance)
    }
}

/// A binary tree of bounding boxes. It owns its items of type `I` in the order of the leaves. Every
/// box has a summary `S` of its items. The root is number 0.
#[derive(Clone, Debug)]
pub struct BoxTree<I, T, S = ()> {
    items: Vec<I>,
    /// The two children of a node are neighbours.
    nodes: Vec<Node<T, S>>,
}

#[derive(Clone, Debug)]
struct Node<T, S> {
    bounds: Bounds<T>,
    summary: S,
    /// The first of the items, or of the children.
    first: u32,
    /// The end of the items, or [`INNER`].
    end: u32,
}

/// The content of a box.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a, I> {
    /// The items of a leaf.
    Items(&'a [I]),
    /// The numbers of its two halves.
    Halves([usize; 2]),
}

impl<I, T: Float, S> BoxTree<I, T, S> {
    /// Returns the box with a number.
    pub fn bounds(&self, number: usize) -> &Bounds<T> {
        &self.nodes[number].bounds
    }

    /// Returns the items in the order of the leaves.
    pub fn items(&self) -> &[I] {
        &self.items
    }

    /// Returns the number of the first item in a leaf.
    pub fn first_item(&self, leaf: usize) -> usize {
        self.nodes[leaf].first as usize
    }

    /// Returns the summary of the items in a box.
    pub fn summary(&self, number: usize) -> &S {
        &self.nodes[number].summary
    }

    /// Returns the content of a box.
    pub fn content(&self, number: usize) -> Content<'_, I> {
        let Node { first, end, .. } = self.nodes[number];
        if end == INNER {
            Content::Halves([first as usize, first as usize + 1])
        } else {
            Content::Items(&self.items[first as usize..end as usize])
        }
    }

    /// Visits leaves near a point, the nearer of two boxes first, until `visit` breaks.
    ///
    /// Skips boxes whose squared distance exceeds `limit`; `visit` returns the limit for the rest
    /// of the search. Returns the value that `visit` broke with, and the number of boxes opened.
    pub fn search<'a, R>(
        &'a self,
        point: [T; 3],
        mut limit: T,
        mut visit: impl FnMut(&'a [I]) -> ControlFlow<R, T>,
    ) -> (Option<R>, usize) {
        // At most one box per level is waiting, the farther of two: a fixed stack suffices.
        let mut waiting = [(T::zero(), 0_u32); MAX_DEPTH];
        let (mut count, mut opened) = (1, 0);
        while count > 0 {
            count -= 1;
            let (distance, number) = waiting[count];
            if distance > limit {
                continue;
            }
            opened += 1;
            match self.content(number as usize) {
                Content::Items(items) => match visit(items) {
                    ControlFlow::Continue(new) => limit = new,
                    ControlFlow::Break(found) => return (Some(found), opened),
                },
                Content::Halves(halves) => {
                    let [left, right] =
                        halves.map(|half| self.nodes[half].bounds.distance_squared(point));
                    let [left, right] = [(left, halves[0] as u32), (right, halves[1] as u32)];
                    let (near, far) = if left.0 > right.0 {
                        (right, left)
                    } else {
                        (left, right)
                    };
                    // The nearer one last, since the last is popped first.
                    for half in [far, near] {
                        if half.0 <= limit {
                            waiting[count] = half;
                            count += 1;
                        }
                    }
                }
            }
        }
        (None, opened)
    }
}

impl<I, S> BoxTree<I, f64, S> {
    /// Builds a tree top-down: splits the items of each box at the median of `place` along the
    /// box's longest axis. `summary` receives the items of a box in their order before the split.
    pub fn by_medians(
        mut items: Vec<I>,
        bounds: impl Fn(&I) -> Bounds<f64>,
        place: impl Fn(&I, usize) -> f64,
        summary: impl Fn(&[I], &Bounds<f64>) -> S,
    ) -> Self {
        let node = |items: &[I], first: usize, end: usize| {
            let items = &items[first..end];
            let around = items
                .iter()
                .map(&bounds)
                .fold(Bounds::empty(), Bounds::with);
            Node {
                bounds: around,
                summary: summary(items, &around),
                first: first as u32,
                end: end as u32,
            }
        };
        let mut nodes = vec![node(&items, 0, items.len())];
        let mut next = 0;
        while next < nodes.len() {
            let (first, end) = (nodes[next].first as usize, nodes[next].end as usize);
            if end - first > LEAF {
                let axis = nodes[next].bounds.longest_axis();
                let middle = first.midpoint(end);
                // Selection is linear, so the whole tree takes O(n log n) without sorting.
                items[first..end].select_nth_unstable_by(middle - first, |a, b| {
                    place(a, axis).total_cmp(&place(b, axis))
                });
                (nodes[next].first, nodes[next].end) = (nodes.len() as u32, INNER);
                nodes.push(node(&items, first, middle));
                nodes.push(node(&items, middle, end));
            }
            next += 1;
        }
        Self { items, nodes }
    }
}

impl BoxTree<u32, f32> {
    /// Builds a tree of triangle indices bottom-up: five times as fast as by medians, with looser
    /// boxes. Every index of a triangle is one of `points`.
    pub fn of_triangles(points: &[[f32; 3]], triangles: &[[u32; 3]]) -> Self {
        let items: Vec<u32> = along_a_curve(points, triangles).collect();
        // A complete tree: the children of node `i` are `2 i + 1` and `2 i + 2`.
        let leaves = triangles.len().div_ceil(LEAF).next_power_of_two();
        let mut nodes = Vec::with_capacity(2 * leaves - 1);
        nodes.extend((0..leaves - 1).map(|node| Node {
            bounds: Bounds::empty(),
            summary: (),
            first: 2 * node as u32 + 1,
            end: INNER,
        }));
        for leaf in 0..leaves {
            let [first, end] = [leaf, leaf + 1].map(|leaf| items.len() * leaf / leaves);
            let corners = items[first..end]
                .iter()
                .flat_map(|&number| triangles[number as usize]);
            nodes.push(Node {
                bounds: Bounds::of(corners.map(|corner| points[corner as usize])),
                summary: (),
                first: first as u32,
                end: end as u32,
            });
        }
        for node in (0..leaves - 1).rev() {
            nodes[node].bounds = nodes[2 * node + 1].bounds.with(nodes[2 * node + 2].bounds);
        }
        Self { items, nodes }
    }
}

/// Returns three times the centroid of a triangle; orders are the same without the division.
pub(crate) fn middle(points: &[[f32; 3]], triangle: &[u32; 3]) -> [f32; 3] {
    let [a, b, c] = triangle.map(|i| points[i as usize]);
    [0, 1, 2].map(|k| a[k] + b[k] + c[k])
}

/// Returns the numbers of triangles in Morton order of their centroids, in which neighbours are
/// mostly close to each other. Splitting at medians gives tighter boxes, but takes five times as
/// long.
fn along_a_curve(points: &[[f32; 3]], triangles: &[[u32; 3]]) -> impl Iterator<Item = u32> {
    /// Bits per coordinate.
    const BITS: u32 = 20;
    let mut bounds = Bounds::empty();
    let middles = || triangles.iter().map(|triangle| middle(points, triangle));
    middles().for_each(|middle| bounds.add(middle));
    let longest = bounds.longest_axis();
    let size = bounds.size()[longest];
    let scale = if size > 0.0 {
        (1_u32 << BITS) as f32 / size
    } else {
        0.0
    };
    // Inserts two zeros after each bit.
    let spread = |x: f32| {
        // The largest coordinate itself would need one bit more.
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
    let code = |middle: &[f32; 3]| {
        (0..3).fold(0, |code, k| {
            code << 1 | spread((middle[k] - bounds.low[k]) * scale)
        })
    };
    let mut order: Vec<(u64, u32)> = middles().map(|middle| code(&middle)).zip(0..).collect();
    // Numbers break ties, so an unstable sort is deterministic.
    order.sort_unstable();
    order.into_iter().map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::Random;
    use crate::vector::distance_squared;

    #[test]
    fn every_item_is_in_the_boxes_above_it_and_found() {
        let mut random = Random::new(1);
        for count in [0, 1, 4, 5, 17, 300] {
            let points: Vec<[f64; 3]> = (0..count)
                .map(|_| std::array::from_fn(|_| random.unit()))
                .collect();
            let tree = BoxTree::by_medians(
                points.clone(),
                |point| Bounds::of([*point]),
                |point, axis| point[axis],
                |points, _| points.len(),
            );
            let (mut found, mut waiting) = (0, vec![0]);
            while let Some(number) = waiting.pop() {
                match tree.content(number) {
                    Content::Items(items) => {
                        assert!(items.len() <= LEAF && items.len() == *tree.summary(number));
                        let bounds = tree.bounds(number);
                        assert!(items.iter().all(|p| bounds.distance_squared(*p) == 0.0));
                        found += items.len();
                    }
                    Content::Halves(halves) => {
                        let [left, right] = halves.map(|half| *tree.bounds(half));
                        assert_eq!(left.with(right), *tree.bounds(number));
                        waiting.extend(halves);
                    }
                }
            }
            assert_eq!(found, count);
            let at = [0.5, 0.2, 0.7];
            let mut nearest = f64::INFINITY;
            tree.search(at, nearest, |points| {
                nearest = points
                    .iter()
                    .map(|point| distance_squared(at, *point))
                    .fold(nearest, f64::min);
                ControlFlow::<(), f64>::Continue(nearest)
            });
            let all = points.iter().map(|point| distance_squared(at, *point));
            assert_eq!(nearest, all.fold(f64::INFINITY, f64::min));
        }
    }
}
