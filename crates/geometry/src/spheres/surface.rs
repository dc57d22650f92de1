//! Distance and winding number queries on a set of triangles.

#![allow(
    clippy::indexing_slicing,
    reason = "nodes and triangles are numbered by the tree that is built here, and coordinates have three axes"
)]

use std::ops::ControlFlow;

use wide::f32x4;

use super::{Point, Triangle};
use crate::vector::{add, cross, dot, scale, subtract};
use crate::{Bounds, BoxTree, Content};

/// A node farther away than this multiple of its radius is approximated by its moments.
const FAR: f64 = 2.5;
/// The same for a first estimate.
const ROUGHLY_FAR: f64 = 1.5;
/// Difference of a first estimate from one half that decides; by far larger than its error.
const CERTAIN: f64 = 0.3;

/// Triangles in a tree of boxes.
pub(super) struct Surface {
    tree: BoxTree<Triangle, f64, Moments>,
    near: WideTree,
}

/// The nearest triangle if there is none.
const NOWHERE: Triangle = [[f64::INFINITY; 3]; 3];

/// The triangle nearest to a point.
#[derive(Clone, Copy)]
pub(super) struct Nearest<'a> {
    pub triangle: &'a Triangle,
    pub distance: f64,
}

/// An approximation of triangles that are far away.
struct Moments {
    /// Their centroid, weighted by area.
    middle: Point,
    /// The sum of their normals, weighted by area.
    normal: Point,
    /// The radius of a sphere around the centroid that contains them.
    radius: f64,
}

impl Moments {
    fn of(triangles: &[Triangle], bounds: &Bounds<f64>) -> Self {
        let (mut middle, mut normal, mut area) = ([0.0; 3], [0.0; 3], 0.0);
        for [a, b, c] in triangles {
            let across = cross(subtract(*b, *a), subtract(*c, *a));
            let twice = dot(across, across).sqrt();
            normal = add(normal, scale(across, 0.5));
            middle = add(middle, scale(add(add(*a, *b), *c), twice / 3.0));
            area += twice;
        }
        let middle = if area > 0.0 {
            scale(middle, 1.0 / area)
        } else {
            scale(add(bounds.low, bounds.high), 0.5)
        };
        let square = |point: &Point| dot(subtract(*point, middle), subtract(*point, middle));
        let radius = triangles
            .iter()
            .flatten()
            .map(square)
            .fold(0.0, f64::max)
            .sqrt();
        Self {
            middle,
            normal,
            radius,
        }
    }
}

impl Surface {
    pub(super) fn new(triangles: Vec<Triangle>) -> Self {
        let tree = BoxTree::by_medians(
            triangles,
            |triangle| Bounds::of(*triangle),
            // Three times the centre: only the order matters.
            |[a, b, c], axis| a[axis] + b[axis] + c[axis],
            Moments::of,
        );
        Self {
            near: WideTree::of(&tree),
            tree,
        }
    }

    /// Returns the distance of a point to the nearest triangle; infinity if there is none.
    pub(super) fn distance(&self, point: Point) -> f64 {
        self.nearest(point, None, f64::NEG_INFINITY)
            .map_or(f64::INFINITY, |nearest| nearest.distance)
    }

    /// Returns the triangle nearest to a point.
    ///
    /// `near`, a triangle near the point, makes the search faster: with the one nearest to a
    /// neighbour of the point, most boxes are too far away.
    ///
    /// # Errors
    /// Returns a triangle whose distance is at most `least`, if there is one. Finding it is faster.
    pub(super) fn nearest<'a>(
        &'a self,
        point: Point,
        near: Option<&'a Triangle>,
        least: f64,
    ) -> Result<Nearest<'a>, &'a Triangle> {
        let Some(near) = near.or_else(|| self.tree.items().first()) else {
            return Ok(Nearest {
                triangle: &NOWHERE,
                distance: f64::INFINITY,
            });
        };
        let (mut triangle, mut best) = (near, distance_square(point, near));
        if best.sqrt() <= least {
            return Err(near);
        }
        let found = self.near.search(point, best, |number| {
            let other = &self.tree.items()[number];
            let square = distance_square(point, other);
            if square < best {
                (best, triangle) = (square, other);
                if best.sqrt() <= least {
                    return ControlFlow::Break(other);
                }
            }
            ControlFlow::Continue(best)
        });
        let distance = best.sqrt();
        found.map_or(Ok(Nearest { triangle, distance }), Err)
    }

    /// Returns a triangle whose distance from a point is at most `most`, if there is one.
    pub(super) fn within(&self, point: Point, most: f64) -> Option<&Triangle> {
        let square = most * most;
        self.near.search(point, square, |number| {
            let triangle = &self.tree.items()[number];
            if distance_square(point, triangle) <= square {
                return ControlFlow::Break(triangle);
            }
            ControlFlow::Continue(square)
        })
    }

    /// Returns the difference of the winding numbers at two points, for triangles without holes: the
    /// number of those that the segment between them crosses from behind, minus the other ones.
    /// Returns `None` if it meets an edge or a corner.
    pub(super) fn crossings(&self, from: Point, to: Point) -> Option<i32> {
        let mut count = 0;
        let is_unclear = self.near.meeting(&Bounds::of([from, to]), |number| {
            match crossing(from, to, &self.tree.items()[number]) {
                Some(way) => count += way,
                None => return ControlFlow::Break(()),
            }
            ControlFlow::Continue(())
        });
        (!is_unclear).then_some(count)
    }

    /// Returns whether the triangles enclose a point: the magnitude of their winding number around it
    /// is above one half. It is negative if the surface is inside out.
    pub(super) fn encloses(&self, point: Point) -> bool {
        let estimate = self.winding(point, ROUGHLY_FAR).abs();
        if (estimate - 0.5).abs() > CERTAIN {
            return estimate > 0.5;
        }
        self.winding(point, FAR).abs() > 0.5
    }

    /// Returns the winding number of the triangles around a point: 1 inside a closed surface, 0
    /// outside, and values between near holes. Far nodes count as a dipole, as in fast winding
    /// numbers of first order (Barill et al. 2018); near triangles are exact.
    fn winding(&self, point: Point, far_from: f64) -> f64 {
        let (mut angle, mut near) = (0.0, Angle::default());
        let mut stack = vec![0_usize];
        while let Some(number) = stack.pop() {
            let far = self.tree.summary(number);
            let offset = subtract(far.middle, point);
            let distance = dot(offset, offset).sqrt();
            if distance > far_from * far.radius && distance > 0.0 {
                angle += dot(offset, far.normal) / (distance * distance * distance);
                continue;
            }
            match self.tree.content(number) {
                Content::Items(triangles) => {
                    triangles
                        .iter()
                        .for_each(|triangle| near.add(half_solid_angle(point, triangle)));
                }
                Content::Halves(halves) => stack.extend(halves),
            }
        }
        (angle + 2.0 * near.sum()) / (4.0 * std::f64::consts::PI)
    }
}

/// A tree whose nodes have four children each, with their boxes in single precision side by side,
/// so that one pass over four lanes bounds the distances of all of them (Wald et al. 2008). The
/// last children are single triangles, most of which their boxes exclude.
struct WideTree {
    nodes: Vec<WideNode>,
    /// The centre and the reciprocal of the size of the root's box, which the boxes are relative to:
    /// that bounds rounding errors, whatever the unit is.
    middle: Point,
    per_size: f64,
}

struct WideNode {
    /// By axis and child. The boxes of missing children are infinitely far away.
    low: [f32x4; 3],
    high: [f32x4; 3],
    /// The number of each child: of a node, or, from [`TRIANGLE`] on, of a triangle.
    children: [u32; LANES],
}

/// Number of children of a node.
const LANES: usize = 4;
/// Bit that marks the number of a triangle.
const TRIANGLE: u32 = 1 << 31;
/// Margin of the boxes, relative to the size of the root's: far above the rounding errors of
/// coordinates between -1 and 1.
const MARGIN: f64 = 1e-6;
/// Margin of squared distances, relative to them.
const FARTHER: f64 = 1.0 + 1e-5;

impl WideTree {
    fn of<S>(tree: &BoxTree<Triangle, f64, S>) -> Self {
        let around = tree.bounds(0);
        let size = around.size().into_iter().fold(0.0, f64::max);
        let mut wide = Self {
            nodes: Vec::new(),
            middle: scale(add(around.low, around.high), 0.5),
            per_size: if size > 0.0 { size.recip() } else { 1.0 },
        };
        wide.add(tree, 0);
        wide
    }

    /// Adds a node of a tree, with its grandchildren as children; returns its number.
    fn add<S>(&mut self, tree: &BoxTree<Triangle, f64, S>, number: usize) -> u32 {
        let own = self.nodes.len();
        self.nodes.push(WideNode {
            low: [f32x4::splat(f32::INFINITY); 3],
            high: [f32x4::splat(f32::NEG_INFINITY); 3],
            children: [0; LANES],
        });
        match tree.content(number) {
            Content::Items(triangles) => {
                for (lane, triangle) in triangles.iter().enumerate() {
                    let first = tree.first_item(number);
                    self.set(
                        own,
                        lane,
                        &Bounds::of(*triangle),
                        TRIANGLE | (first + lane) as u32,
                    );
                }
            }
            Content::Halves(halves) => {
                let parts = halves
                    .into_iter()
                    .flat_map(|half| match tree.content(half) {
                        Content::Items(_) => [Some(half), None],
                        Content::Halves(quarters) => quarters.map(Some),
                    });
                for (lane, part) in parts.flatten().enumerate() {
                    let child = self.add(tree, part);
                    self.set(own, lane, tree.bounds(part), child);
                }
            }
        }
        own as u32
    }

    fn set(&mut self, node: usize, lane: usize, bounds: &Bounds<f64>, child: u32) {
        let [low, high] = [bounds.low, bounds.high].map(|corner| self.inside(corner));
        let node = &mut self.nodes[node];
        for axis in 0..3 {
            node.low[axis].as_mut_array()[lane] = (low[axis] - MARGIN) as f32;
            node.high[axis].as_mut_array()[lane] = (high[axis] + MARGIN) as f32;
        }
        node.children[lane] = child;
    }

    /// Returns a point relative to the root's box.
    fn inside(&self, point: Point) -> Point {
        scale(subtract(point, self.middle), self.per_size)
    }

    /// Visits the numbers of triangles near a point, most of them in the order of their distance,
    /// until `visit` breaks. Skips those whose squared distance exceeds `limit`; `visit` returns the
    /// limit for the rest of the search.
    fn search<R>(
        &self,
        point: Point,
        limit: f64,
        mut visit: impl FnMut(usize) -> ControlFlow<R, f64>,
    ) -> Option<R> {
        let relative = |square: f64| (square * self.per_size * self.per_size * FARTHER) as f32;
        let mut limit = relative(limit);
        let point = self.inside(point).map(|at| f32x4::splat(at as f32));
        let mut waiting = [(0.0_f32, 0_u32); WAITING];
        let mut count = 1;
        while count > 0 {
            count -= 1;
            let (square, number) = waiting[count];
            if square > limit {
                continue;
            }
            if number & TRIANGLE != 0 {
                match visit((number ^ TRIANGLE) as usize) {
                    ControlFlow::Continue(new) => limit = relative(new),
                    ControlFlow::Break(found) => return Some(found),
                }
                continue;
            }
            let node = &self.nodes[number as usize];
            let beyond = |axis: usize| {
                let outside =
                    (node.low[axis] - point[axis]).fast_max(point[axis] - node.high[axis]);
                outside.fast_max(f32x4::ZERO)
            };
            let [x, y, z] = [beyond(0), beyond(1), beyond(2)];
            let squares = x * x + y * y + z * z;
            // Insertion sort of the children that are near enough, the nearest last: it is popped first.
            let first = count;
            for (square, child) in squares.to_array().into_iter().zip(node.children) {
                if square <= limit && square < f32::INFINITY {
                    let mut place = count;
                    while place > first && waiting[place - 1].0 < square {
                        waiting[place] = waiting[place - 1];
                        place -= 1;
                    }
                    waiting[place] = (square, child);
                    count += 1;
                }
            }
        }
        None
    }
}

impl WideTree {
    /// Visits the numbers of the triangles whose boxes meet `bounds`, until `visit` breaks; returns whether
    /// it did.
    fn meeting(
        &self,
        bounds: &Bounds<f64>,
        mut visit: impl FnMut(usize) -> ControlFlow<()>,
    ) -> bool {
        let [low, high] = [bounds.low, bounds.high]
            .map(|corner| self.inside(corner).map(|at| f32x4::splat(at as f32)));
        let mut waiting = [0_u32; WAITING];
        let mut count = 1;
        while count > 0 {
            count -= 1;
            let number = waiting[count];
            if number & TRIANGLE != 0 {
                if visit((number ^ TRIANGLE) as usize).is_break() {
                    return true;
                }
                continue;
            }
            let node = &self.nodes[number as usize];
            let gap =
                |axis: usize| (node.low[axis] - high[axis]).fast_max(low[axis] - node.high[axis]);
            let gaps = gap(0).fast_max(gap(1)).fast_max(gap(2));
            for (gap, child) in gaps.to_array().into_iter().zip(node.children) {
                if gap <= 0.0 {
                    waiting[count] = child;
                    count += 1;
                }
            }
        }
        false
    }
}

/// Returns 1 if a segment crosses a triangle from behind, -1 if it does from the front, 0 if it
/// doesn't; `None` if it meets an edge or a corner, or ends in the triangle's plane.
fn crossing(from: Point, to: Point, [a, b, c]: &Triangle) -> Option<i32> {
    let coord = |[x, y, z]: Point| robust::Coord3D { x, y, z };
    let side = |a: Point, b: Point, c: Point, d: Point| {
        let volume = robust::orient3d(coord(a), coord(b), coord(c), coord(d));
        (volume != 0.0).then_some(volume > 0.0)
    };
    let (start, end) = (side(*a, *b, *c, from), side(*a, *b, *c, to));
    if start.is_some() && start == end {
        return Some(0);
    }
    let edges = [
        side(from, to, *a, *b),
        side(from, to, *b, *c),
        side(from, to, *c, *a),
    ];
    // Past one edge on one side, and another edge on the other: beside the triangle.
    if edges.contains(&Some(true)) && edges.contains(&Some(false)) {
        return Some(0);
    }
    let (start, _) = (start?, end?);
    edges
        .iter()
        .all(Option::is_some)
        .then_some(if start { 1 } else { -1 })
}

/// Maximum number of waiting nodes: three on each of at most 16 levels, since a tree of 2³¹
/// triangles has 32 and is balanced, and those of the last.
const WAITING: usize = 64;

/// A sum of angles as the product of complex numbers, which needs one arc tangent.
struct Angle {
    /// The real and the imaginary part of the product.
    product: (f64, f64),
    /// Number of full turns that the product lacks.
    turns: f64,
}

impl Default for Angle {
    fn default() -> Self {
        Self {
            product: (1.0, 0.0),
            turns: 0.0,
        }
    }
}

impl Angle {
    /// Adds the angle of a complex number, from minus to plus half a turn.
    fn add(&mut self, (x, y): (f64, f64)) {
        // A point on a corner or an edge of a triangle sees no angle.
        if x == 0.0 && y == 0.0 {
            return;
        }
        let (re, im) = self.product;
        let (mut to_re, mut to_im) = (re * x - im * y, re * y + im * x);
        // Two angles of the same sign whose sum has the other one passed half a turn.
        if im >= 0.0 && y >= 0.0 && to_im < 0.0 {
            self.turns += 1.0;
        } else if im < 0.0 && y < 0.0 && to_im >= 0.0 {
            self.turns -= 1.0;
        }
        let size = to_re.abs() + to_im.abs();
        if !(1e-100..1e100).contains(&size) {
            (to_re, to_im) = (to_re / size, to_im / size);
        }
        self.product = (to_re, to_im);
    }

    fn sum(&self) -> f64 {
        self.product.1.atan2(self.product.0) + self.turns * std::f64::consts::TAU
    }
}

/// Returns a complex number whose angle is half the solid angle of a triangle as seen from a point,
/// positive from behind (van Oosterom and Strackee 1983).
fn half_solid_angle(point: Point, triangle: &Triangle) -> (f64, f64) {
    let [a, b, c] = triangle.map(|corner| subtract(corner, point));
    let [length_a, length_b, length_c] = [a, b, c].map(|offset| dot(offset, offset).sqrt());
    let volume = dot(a, cross(b, c));
    let below = length_a * length_b * length_c
        + dot(a, b) * length_c
        + dot(b, c) * length_a
        + dot(c, a) * length_b;
    (below, volume)
}

/// Returns the squared distance of a point to a triangle (Ericson 2005, section 5.1.5).
pub(super) fn distance_square(point: Point, [a, b, c]: &Triangle) -> f64 {
    let (ab, ac, ap) = (subtract(*b, *a), subtract(*c, *a), subtract(point, *a));
    let square = |offset: Point| dot(offset, offset);
    // At a distance along an edge, from its first corner.
    let beside = |from: Point, along: Point, part: f64| square(subtract(from, scale(along, part)));
    let (d1, d2) = (dot(ab, ap), dot(ac, ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return square(ap);
    }
    let bp = subtract(point, *b);
    let (d3, d4) = (dot(ab, bp), dot(ac, bp));
    if d3 >= 0.0 && d4 <= d3 {
        return square(bp);
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return beside(ap, ab, part(d1, d1 - d3));
    }
    let cp = subtract(point, *c);
    let (d5, d6) = (dot(ab, cp), dot(ac, cp));
    if d6 >= 0.0 && d5 <= d6 {
        return square(cp);
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return beside(ap, ac, part(d2, d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        let along = subtract(*c, *b);
        return beside(bp, along, part(d4 - d3, (d4 - d3) + (d5 - d6)));
    }
    let across = cross(ab, ac);
    let height = dot(ap, across);
    let area = square(across);
    // Only a triangle without area comes here by rounding errors.
    if area > 0.0 {
        height * height / area
    } else {
        square(ap).min(square(bp)).min(square(cp))
    }
}

/// Returns a quotient; zero if there is none, as along an edge without length.
fn part(of: f64, whole: f64) -> f64 {
    if whole > 0.0 { of / whole } else { 0.0 }
}

/// Returns whether a triangle and a box intersect, by the separating axis test (Akenine-Möller
/// 2001).
pub(super) fn meets_box(triangle: &Triangle, center: Point, half: f64) -> bool {
    let corners = triangle.map(|corner| subtract(corner, center));
    let edges = [
        subtract(corners[1], corners[0]),
        subtract(corners[2], corners[1]),
        subtract(corners[0], corners[2]),
    ];
    let is_between = |axis: Point| {
        let along = corners.map(|corner| dot(corner, axis));
        let reach = half * (axis[0].abs() + axis[1].abs() + axis[2].abs());
        along.iter().all(|at| *at > reach) || along.iter().all(|at| *at < -reach)
    };
    // The 13 axes: normals of the box, normal of the triangle, cross products of their edges.
    let units = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let across = edges
        .iter()
        .flat_map(|edge| units.map(|unit| cross(*edge, unit)));
    !units
        .into_iter()
        .chain([cross(edges[0], edges[1])])
        .chain(across)
        .any(is_between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::norm;
    use crate::{Random, shapes};

    fn random_point(random: &mut Random) -> Point {
        std::array::from_fn(|_| random.between(-1.0, 1.0))
    }

    #[test]
    fn the_nearest_triangle_is_found() {
        let mut random = Random::new(11);
        let triangles: Vec<Triangle> = (0..60)
            .map(|index| {
                let [a, b, c] = [(); 3].map(|()| random_point(&mut random));
                // Some without area, and some without length.
                match index % 6 {
                    0 => [a, b, scale(add(a, b), 0.5)],
                    1 => [a, a, a],
                    _ => [a, b, c],
                }
            })
            .collect();
        // Points all over a triangle, without a formula for distances.
        const STEPS: usize = 60;
        let around = |[a, b, c]: &Triangle, point: Point| {
            let places = (0..=STEPS).flat_map(|i| (0..=STEPS - i).map(move |j| (i, j)));
            places
                .map(|(i, j)| {
                    let [v, w] = [i, j].map(|at| at as f64 / STEPS as f64);
                    let along = add(scale(subtract(*b, *a), v), scale(subtract(*c, *a), w));
                    norm(subtract(point, add(*a, along)))
                })
                .fold(f64::INFINITY, f64::min)
        };
        let surface = Surface::new(triangles.clone());
        for _ in 0..60 {
            let point = random_point(&mut random);
            let sampled = |triangle| around(triangle, point);
            let expected = triangles.iter().map(sampled).fold(f64::INFINITY, f64::min);
            // The same whatever the search starts from, and wherever it may stop.
            for near in [None, triangles.first(), triangles.get(7)] {
                let nearest = surface
                    .nearest(point, near, f64::NEG_INFINITY)
                    .ok()
                    .unwrap();
                assert!(
                    nearest.distance <= expected + 1e-12 && nearest.distance > expected - 0.05,
                    "{} {expected}",
                    nearest.distance
                );
                assert_eq!(
                    distance_square(point, nearest.triangle).sqrt(),
                    nearest.distance
                );
                let farther = nearest.distance * 1.01;
                let found = surface.nearest(point, near, farther).err().unwrap();
                assert!(distance_square(point, found).sqrt() <= farther);
                assert!(
                    surface
                        .nearest(point, near, nearest.distance * 0.99)
                        .is_ok()
                );
            }
        }
    }

    #[test]
    fn crossings_are_differences_of_winding_numbers() {
        let (corners, sides) = shapes::cuboid([-0.5; 3], [0.5; 3]);
        let outer = sides
            .iter()
            .flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]])
            .map(|triangle| triangle.map(|corner| corners[corner]));
        // A cavity in the cube: its triangles face the other way.
        let triangles: Vec<Triangle> = outer
            .flat_map(|[a, b, c]| {
                let [a2, b2, c2] = [a, b, c].map(|corner| scale(corner, 0.4));
                [[a, b, c], [a2, c2, b2]]
            })
            .collect();
        let surface = Surface::new(triangles);
        let mut random = Random::new(7);
        let is_full = |point: Point| {
            let far = point
                .into_iter()
                .fold(0.0, |far: f64, at| far.max(at.abs()));
            far < 0.5 && far > 0.2
        };
        let mut changes = 0;
        for _ in 0..500 {
            let [from, to] = [(); 2].map(|()| random_point(&mut random));
            let expected = i32::from(is_full(from)) - i32::from(is_full(to));
            assert_eq!(
                surface.crossings(from, to),
                Some(expected),
                "{from:?} {to:?}"
            );
            changes += expected.abs();
        }
        assert!(changes > 50, "{changes}");
        // Through a corner, along a side, and to a point of one.
        for (from, to) in [
            ([1.0; 3], [0.45; 3]),
            ([0.5, 0.1, 0.0], [0.5, 0.3, 0.1]),
            ([0.5, 0.1, 0.0], [0.9, 0.1, 0.0]),
        ] {
            assert_eq!(surface.crossings(from, to), None, "{from:?} {to:?}");
        }
    }

    #[test]
    fn angles_add_up_without_arc_tangents() {
        let mut random = Random::new(3);
        let (mut sum, mut expected) = (Angle::default(), 0.0);
        for _ in 0..10_000 {
            // More often to the left than to the right, so that there are many turns.
            let (sine, cosine) = random.between(-1.0, 2.5).sin_cos();
            let length = 10.0_f64.powf(random.between(-30.0, 20.0));
            sum.add((cosine * length, sine * length));
            expected += sine.atan2(cosine);
        }
        sum.add((0.0, 0.0));
        assert!(expected > 1000.0 && (sum.sum() - expected).abs() < 1e-6);
    }
}
