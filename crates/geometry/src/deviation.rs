//! Tests whether points are within a bound of a surface.
//!
//! That is cheaper than to compute the distance, since the search ends at the first triangle that
//! is near enough.

#![allow(clippy::indexing_slicing, reason = "coordinates have three axes")]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::BoxTree;
use crate::vector::{dot, subtract};

type Point = [f32; 3];

/// A tree of triangles. It stores their indices only: the corners would take as much memory as the
/// mesh.
pub(crate) struct Surface {
    tree: BoxTree<u32, f32>,
    /// The number of boxes opened so far.
    steps: AtomicUsize,
    /// The number of boxes that may be opened: where large triangles overlap, a search can rule
    /// none out.
    max_steps: usize,
}

/// Maximum number of boxes to open, per triangle of the tree and point of the mesh.
const MAX_STEPS: usize = 200;

impl Surface {
    /// Every index of a triangle is one of `points`.
    pub(crate) fn new(points: &[Point], triangles: &[[u32; 3]]) -> Self {
        Self {
            tree: BoxTree::of_triangles(points, triangles),
            steps: AtomicUsize::new(0),
            max_steps: MAX_STEPS.saturating_mul(triangles.len().saturating_add(points.len())),
        }
    }

    /// Returns whether the budget is exhausted; no query is answered any more.
    pub(crate) fn is_spent(&self) -> bool {
        self.steps.load(Ordering::Relaxed) > self.max_steps
    }

    /// Returns the number of a triangle within `distance` of `point`; `corners` returns the corners
    /// of a triangle that the tree was built from. The result does not depend on earlier searches.
    pub(crate) fn find(
        &self,
        point: Point,
        distance: f32,
        corners: impl Fn(usize) -> [Point; 3],
    ) -> Option<usize> {
        if self.is_spent() {
            return None;
        }
        let limit = distance * distance;
        let (found, steps) = self.tree.search(point, limit, |numbers| {
            let mut numbers = numbers.iter().map(|number| *number as usize);
            match numbers.find(|number| distance_squared(point, &corners(*number)) <= limit) {
                Some(found) => ControlFlow::Break(found),
                None => ControlFlow::Continue(limit),
            }
        });
        // Relaxed: whether the budget gets exhausted depends on the sum, not on the order of
        // searches.
        self.steps.fetch_add(steps, Ordering::Relaxed);
        found
    }
}

/// Returns the squared distance of a point from a triangle, by the Voronoi region of its
/// projection: a corner, an edge or the face (Ericson, Real-Time Collision Detection, §5.1.5).
pub(crate) fn distance_squared(point: Point, &[a, b, c]: &[Point; 3]) -> f32 {
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
    // If `c` equals `a`, the triangle is a segment. `over_c` is then zero, so that a projection
    // between the ends returns here, before any division by zero.
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

    /// Computes the distance by brute force: the minimum over a fine grid on the triangle.
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
}
