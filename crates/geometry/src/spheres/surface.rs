//! Distance and winding number queries on a set of triangles.

#![allow(
    clippy::indexing_slicing,
    reason = "nodes and triangles are numbered by the tree that is built here, and coordinates have three axes"
)]

use std::ops::ControlFlow;

use super::{Point, Triangle};
use crate::vector::{add, cross, dot, scale, subtract};
use crate::{Bounds, BoxTree, Content};

/// A node farther away than this multiple of its radius is approximated by its moments.
const FAR: f64 = 2.5;

/// Triangles in a tree of boxes.
pub(super) struct Surface(BoxTree<Triangle, f64, Moments>);

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
        Self(BoxTree::by_medians(
            triangles,
            |triangle| Bounds::of(*triangle),
            // Three times the centre: only the order matters.
            |[a, b, c], axis| a[axis] + b[axis] + c[axis],
            Moments::of,
        ))
    }

    /// Returns the distance of a point to the nearest triangle; infinity if there is none.
    pub(super) fn distance(&self, point: Point) -> f64 {
        let mut best = f64::INFINITY;
        self.0.search(point, best, |triangles| {
            best = triangles
                .iter()
                .map(|triangle| distance_square(point, triangle))
                .fold(best, f64::min);
            ControlFlow::<(), f64>::Continue(best)
        });
        best.sqrt()
    }

    /// Returns the winding number of the triangles around a point: 1 inside a closed surface, 0
    /// outside, and values between near holes. Far nodes count as a dipole, as in fast winding
    /// numbers of first order (Barill et al. 2018); near triangles are exact.
    pub(super) fn winding(&self, point: Point) -> f64 {
        let mut angle = 0.0;
        let mut stack = vec![0_usize];
        while let Some(number) = stack.pop() {
            let far = self.0.summary(number);
            let offset = subtract(far.middle, point);
            let distance = dot(offset, offset).sqrt();
            if distance > FAR * far.radius && distance > 0.0 {
                angle += dot(offset, far.normal) / (distance * distance * distance);
                continue;
            }
            match self.0.content(number) {
                Content::Items(triangles) => {
                    angle += triangles
                        .iter()
                        .map(|triangle| solid_angle(point, triangle))
                        .sum::<f64>();
                }
                Content::Halves(halves) => stack.extend(halves),
            }
        }
        angle / (4.0 * std::f64::consts::PI)
    }
}

/// Returns the solid angle of a triangle as seen from a point, positive from behind (van Oosterom
/// and Strackee 1983).
fn solid_angle(point: Point, triangle: &Triangle) -> f64 {
    let [a, b, c] = triangle.map(|corner| subtract(corner, point));
    let [length_a, length_b, length_c] = [a, b, c].map(|offset| dot(offset, offset).sqrt());
    let volume = dot(a, cross(b, c));
    let below = length_a * length_b * length_c
        + dot(a, b) * length_c
        + dot(b, c) * length_a
        + dot(c, a) * length_b;
    2.0 * volume.atan2(below)
}

/// Returns the squared distance of a point to a triangle.
fn distance_square(point: Point, [a, b, c]: &Triangle) -> f64 {
    let (ab, ac, ap) = (subtract(*b, *a), subtract(*c, *a), subtract(point, *a));
    let across = cross(ab, ac);
    let square = dot(across, across);
    if square > 0.0 {
        // Barycentric coordinates of the point's projection on the plane.
        let v = dot(cross(ap, ac), across) / square;
        let w = dot(cross(ab, ap), across) / square;
        if v >= 0.0 && w >= 0.0 && v + w <= 1.0 {
            let height = dot(ap, across);
            return height * height / square;
        }
    }
    let edge = |from: Point, to: Point| {
        let (along, offset) = (subtract(to, from), subtract(point, from));
        let length = dot(along, along);
        let at = if length > 0.0 {
            (dot(offset, along) / length).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let rest = subtract(offset, scale(along, at));
        dot(rest, rest)
    };
    edge(*a, *b).min(edge(*b, *c)).min(edge(*c, *a))
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
