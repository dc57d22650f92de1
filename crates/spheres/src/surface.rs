//! Triangles to ask for distances and for what is inside of them.

#![allow(
    clippy::indexing_slicing,
    reason = "nodes and triangles are numbered by the tree that is built here, and coordinates have three axes"
)]

use crate::{Point, Triangle, add, dot, scale, subtract};

/// Triangles in a leaf of the tree.
const LEAF: usize = 4;
/// A node that is so many of its radii away counts as one triangle in its middle.
const FAR: f64 = 2.5;

/// Triangles in a tree of boxes.
pub(crate) struct Surface {
    triangles: Vec<Triangle>,
    nodes: Vec<Node>,
}

struct Node {
    low: Point,
    high: Point,
    /// The triangles, if it is a leaf.
    start: usize,
    end: usize,
    /// The second child; the first is the next node. Zero in leaves.
    second: usize,
    /// The middle of the triangles by their areas, their normals times their areas, and the radius
    /// around the middle.
    middle: Point,
    normal: Point,
    radius: f64,
}

impl Surface {
    pub fn new(triangles: Vec<Triangle>) -> Self {
        let mut surface = Self {
            triangles,
            nodes: Vec::new(),
        };
        if !surface.triangles.is_empty() {
            surface.build(0, surface.triangles.len());
        }
        surface
    }

    /// Adds the node of the triangles from `start` to `end`; gives its number. No deeper than the
    /// logarithm of their count.
    fn build(&mut self, start: usize, end: usize) -> usize {
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let (mut middle, mut normal, mut area) = ([0.0; 3], [0.0; 3], 0.0);
        let triangles = &mut self.triangles[start..end];
        for [a, b, c] in triangles.iter() {
            for point in [a, b, c] {
                low = std::array::from_fn(|k| low[k].min(point[k]));
                high = std::array::from_fn(|k| high[k].max(point[k]));
            }
            let across = cross(subtract(*b, *a), subtract(*c, *a));
            let twice = dot(across, across).sqrt();
            normal = add(normal, scale(across, 0.5));
            middle = add(middle, scale(add(add(*a, *b), *c), twice / 3.0));
            area += twice;
        }
        let middle = if area > 0.0 {
            scale(middle, 1.0 / area)
        } else {
            scale(add(low, high), 0.5)
        };
        let square = |point: &Point| dot(subtract(*point, middle), subtract(*point, middle));
        let radius = triangles
            .iter()
            .flatten()
            .map(square)
            .fold(0.0, f64::max)
            .sqrt();
        let node = self.nodes.len();
        self.nodes.push(Node {
            low,
            high,
            start,
            end,
            second: 0,
            middle,
            normal,
            radius,
        });
        if end - start > LEAF {
            let size = subtract(high, low);
            let axis = (0..3).fold(0, |best, k| if size[k] > size[best] { k } else { best });
            let key = |[a, b, c]: &Triangle| a[axis] + b[axis] + c[axis];
            let half = (end - start) / 2;
            self.triangles[start..end]
                .select_nth_unstable_by(half, |a, b| key(a).total_cmp(&key(b)));
            self.build(start, start + half);
            let second = self.build(start + half, end);
            self.nodes[node].second = second;
        }
        node
    }

    /// The distance of a point to the nearest triangle; infinity if there is none nearer than
    /// `most`.
    pub fn distance(&self, point: Point, most: f64) -> f64 {
        let mut best = most * most;
        let mut is_found = false;
        let mut stack = vec![0_usize];
        while let Some(index) = stack.pop() {
            let Some(node) = self.nodes.get(index) else {
                continue;
            };
            if outside_square(node, point) > best {
                continue;
            }
            if node.second == 0 {
                for triangle in &self.triangles[node.start..node.end] {
                    let square = distance_square(point, triangle);
                    if square <= best {
                        (best, is_found) = (square, true);
                    }
                }
                continue;
            }
            let (first, second) = (index + 1, node.second);
            let near = |child: usize| {
                self.nodes
                    .get(child)
                    .map_or(f64::INFINITY, |node| outside_square(node, point))
            };
            let (near_first, near_second) = (near(first), near(second));
            let order = if near_first <= near_second {
                [second, first]
            } else {
                [first, second]
            };
            stack.extend(order);
        }
        if is_found { best.sqrt() } else { f64::INFINITY }
    }

    /// How often the triangles go around a point: 1 inside of a closed surface, 0 outside, and
    /// something between where it has holes.
    pub fn winding(&self, point: Point) -> f64 {
        let mut angle = 0.0;
        let mut stack = vec![0_usize];
        while let Some(index) = stack.pop() {
            let Some(node) = self.nodes.get(index) else {
                continue;
            };
            let offset = subtract(node.middle, point);
            let distance = dot(offset, offset).sqrt();
            if distance > FAR * node.radius && distance > 0.0 {
                angle += dot(offset, node.normal) / (distance * distance * distance);
            } else if node.second == 0 {
                angle += self.triangles[node.start..node.end]
                    .iter()
                    .map(|triangle| solid_angle(point, triangle))
                    .sum::<f64>();
            } else {
                stack.extend([index + 1, node.second]);
            }
        }
        angle / (4.0 * std::f64::consts::PI)
    }
}

pub(crate) fn cross(a: Point, b: Point) -> Point {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn outside_square(node: &Node, point: Point) -> f64 {
    let outside = |k: usize| {
        (node.low[k] - point[k])
            .max(point[k] - node.high[k])
            .max(0.0)
    };
    let offset = [outside(0), outside(1), outside(2)];
    dot(offset, offset)
}

/// The angle under which a point sees a triangle, positive from behind (van Oosterom and Strackee 1983).
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

/// The square of the distance of a point to a triangle.
fn distance_square(point: Point, [a, b, c]: &Triangle) -> f64 {
    let (ab, ac, ap) = (subtract(*b, *a), subtract(*c, *a), subtract(point, *a));
    let across = cross(ab, ac);
    let square = dot(across, across);
    if square > 0.0 {
        // The barycentric coordinates of the point's foot in the plane.
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

/// Whether a triangle and a box have a point in common: no axis that could be between them is
/// (Akenine-Möller 2001).
pub(crate) fn meets_box(triangle: &Triangle, center: Point, half: f64) -> bool {
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
