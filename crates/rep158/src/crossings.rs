//! Self-intersections of meshes.
//!
//! Two triangles cross if a translation shorter than a tolerance cannot separate them: triangles that
//! touch, overlap in a plane or end at each other within the precision of the points do not cross.
//! By the separating axis theorem, the shortest separating translation is along the normal of one of
//! the triangles, or along the cross product of an edge of each: eleven axes.
//!
//! A bounding volume hierarchy, split at the median of the longest axis, limits the pairs of
//! triangles that are tested.

#![expect(
    clippy::indexing_slicing,
    reason = "computes on triangles, whose corners are checked, and on ranges of them"
)]

use nalgebra::Vector3;
use urdf_usd_geometry::vector::norm;
use urdf_usd_geometry::{Bounds, BoxTree, Content};
use urdf_usd_stage::{Prim, vectors};

use super::meshes::{faces, weld};

/// Maximum penetration of triangles that do not count as crossing, relative to the diagonal of the
/// mesh: 0.1 mm in a metre. Mesh files often have no more than five digits, and parts that were
/// modelled as touching overlap by the last of them.
const TOLERANCE: f64 = 1e-4;
/// Maximum number of pairs of boxes that are compared in a mesh. A mesh of a million triangles needs
/// about half of them.
const MAX_COMPARISONS: usize = 40_000_000;

/// The result of a search for crossing triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// No triangles cross, or the mesh has no readable faces.
    None,
    /// These two faces cross, and possibly others.
    Faces(usize, usize),
    /// The mesh exceeds [`MAX_COMPARISONS`]; no triangles cross among those that were compared.
    TooMany,
}

/// Searches for two triangles of a mesh prim that cross.
///
/// Triangles with a common corner, faces that are not triangles and degenerate faces are ignored.
/// Takes n log n steps for n triangles of similar size, and a bounded number for any mesh.
pub fn find_crossing(mesh: &Prim) -> Crossing {
    let (Ok(faces), Some(points)) = (faces(mesh), mesh.value("points").and_then(vectors)) else {
        return Crossing::None;
    };
    let tolerance = TOLERANCE * norm(Bounds::of(points.iter().copied()).size());
    if !tolerance.is_finite() {
        return Crossing::None;
    }
    let welded = weld(&points);
    let corner = |index: i32| {
        usize::try_from(index)
            .ok()
            .and_then(|index| welded.get(index))
            .copied()
    };
    let triangles = faces.iter().enumerate().filter_map(|(face, corners)| {
        let [a, b, c] = <[i32; 3]>::try_from(*corners).ok()?;
        let corners = [corner(a)?, corner(b)?, corner(c)?];
        Triangle::new(
            face,
            corners,
            corners.map(|corner| Vector3::from(points[corner])),
            tolerance,
        )
    });
    find_among(triangles.collect(), tolerance, MAX_COMPARISONS)
}

/// A triangle that is not degenerate.
struct Triangle {
    /// The index of the face.
    face: usize,
    /// The corners, as indices of welded points.
    corners: [usize; 3],
    points: [Vector3<f64>; 3],
    /// Unit normal.
    normal: Vector3<f64>,
    bounds: Bounds<f64>,
}

impl Triangle {
    /// Returns `None` for a triangle that is narrower than the tolerance.
    fn new(
        face: usize,
        corners: [usize; 3],
        points: [Vector3<f64>; 3],
        tolerance: f64,
    ) -> Option<Self> {
        let [a, b, c] = points;
        let cross = (b - a).cross(&(c - a));
        let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
        let is_wide = cross.norm() > tolerance * longest;
        is_wide.then(|| Self {
            face,
            corners,
            points,
            normal: cross.normalize(),
            bounds: Bounds::of(points.map(Into::into)),
        })
    }

    fn edges(&self) -> [Vector3<f64>; 3] {
        let [a, b, c] = self.points;
        [b - a, c - b, a - c]
    }

    /// Projects the triangle onto an axis.
    fn project(&self, along: &Vector3<f64>) -> (f64, f64) {
        let [a, b, c] = self.points.map(|point| along.dot(&point));
        (a.min(b).min(c), a.max(b).max(c))
    }

    fn crosses(&self, other: &Self, tolerance: f64) -> bool {
        if self
            .corners
            .iter()
            .any(|corner| other.corners.contains(corner))
        {
            return false;
        }
        // Length of the shortest translation along an axis that separates the triangles.
        let depth = |along: &Vector3<f64>| {
            let ((from, to), (other_from, other_to)) = (self.project(along), other.project(along));
            (to - other_from).min(other_to - from)
        };
        if depth(&self.normal) <= tolerance || depth(&other.normal) <= tolerance {
            return false;
        }
        let edges = other.edges();
        self.edges()
            .iter()
            .flat_map(|edge| edges.iter().map(move |other| (edge, other)))
            .all(|(edge, other)| {
                let across = edge.cross(other);
                let length = across.norm();
                // Parallel edges have no common perpendicular. The triangles are then separated
                // along another axis, if at all.
                length <= 1e-9 * edge.norm() * other.norm() || depth(&(across / length)) > tolerance
            })
    }
}

/// Searches for a crossing with at most `max_comparisons` comparisons of boxes.
fn find_among(triangles: Vec<Triangle>, tolerance: f64, max_comparisons: usize) -> Crossing {
    let tree = BoxTree::by_medians(
        triangles,
        |triangle| triangle.bounds,
        |triangle, axis| triangle.bounds.low[axis] + triangle.bounds.high[axis],
        |triangles, _| triangles.len(),
    );
    let mut compared = 0;
    let mut pairs = vec![(0, 0)];
    while let Some((a, b)) = pairs.pop() {
        compared += 1;
        if compared > max_comparisons {
            return Crossing::TooMany;
        }
        if !tree.bounds(a).overlaps(tree.bounds(b), tolerance) {
            continue;
        }
        match (tree.content(a), tree.content(b)) {
            (Content::Halves([left, right]), _) if a == b => {
                pairs.extend([(left, left), (right, right), (left, right)]);
            }
            // Descend into the larger of the two.
            (Content::Halves(_), Content::Halves([left, right]))
                if tree.summary(a) < tree.summary(b) =>
            {
                pairs.extend([(a, left), (a, right)]);
            }
            (Content::Halves([left, right]), _) => pairs.extend([(left, b), (right, b)]),
            (Content::Items(_), Content::Halves([left, right])) => {
                pairs.extend([(a, left), (a, right)]);
            }
            (Content::Items(ones), Content::Items(twos)) => {
                for (index, one) in ones.iter().enumerate() {
                    let rest = if a == b { &twos[index + 1..] } else { twos };
                    let crossed = rest.iter().find(|two| {
                        one.bounds.overlaps(&two.bounds, tolerance) && one.crosses(two, tolerance)
                    });
                    if let Some(two) = crossed {
                        return Crossing::Faces(one.face.min(two.face), one.face.max(two.face));
                    }
                }
            }
        }
    }
    Crossing::None
}

#[cfg(test)]
mod tests {
    use urdf_usd_geometry::{Random, shapes};

    use super::*;

    /// Returns the twelve triangles of a box between two corners, and appends its points to `points`.
    fn cuboid(points: &mut Vec<Vector3<f64>>, low: [f64; 3], high: [f64; 3]) -> Vec<[usize; 3]> {
        let first = points.len();
        let (corners, sides) = shapes::cuboid(low, high);
        points.extend(corners.map(Vector3::from));
        sides
            .iter()
            .flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]])
            .map(|triangle| triangle.map(|corner| first + corner))
            .collect()
    }

    fn triangles(points: &[Vector3<f64>], faces: &[[usize; 3]]) -> (Vec<Triangle>, f64) {
        let around = Bounds::of(points.iter().map(|point| (*point).into()));
        let tolerance = TOLERANCE * norm(around.size());
        let triangle = |(face, corners): (usize, &[usize; 3])| {
            Triangle::new(face, *corners, corners.map(|c| points[c]), tolerance)
        };
        (
            faces.iter().enumerate().filter_map(triangle).collect(),
            tolerance,
        )
    }

    /// Searches a mesh of two boxes for a crossing: a unit cube, and a box between `low` and `high`.
    /// The mesh is rotated, so that no face is parallel to an axis.
    fn two_boxes(low: [f64; 3], high: [f64; 3]) -> Crossing {
        let mut points = Vec::new();
        let mut faces = cuboid(&mut points, [0.0; 3], [1.0; 3]);
        faces.extend(cuboid(&mut points, low, high));
        let turn = nalgebra::Rotation3::from_euler_angles(0.3, 1.1, -0.7);
        let points: Vec<_> = points
            .iter()
            .map(|point| (turn * point).map(|c| f64::from(c as f32)))
            .collect();
        let (triangles, tolerance) = triangles(&points, &faces);
        find_among(triangles, tolerance, MAX_COMPARISONS)
    }

    #[test]
    fn touching_boxes_do_not_cross_and_overlapping_boxes_do() {
        // Touching a side, an edge, a corner, a side from inside, a whole side, contained, and
        // disjoint.
        for (low, high) in [
            ([0.2, 0.2, 1.0], [0.8, 0.7, 2.0]),
            ([0.2, 1.0, 1.0], [0.7, 2.0, 2.0]),
            ([1.0; 3], [2.0; 3]),
            ([0.2, 0.3, 0.0], [0.6, 0.7, 0.5]),
            ([0.0, 0.0, 1.0], [1.0, 1.0, 3.0]),
            ([0.25; 3], [0.75; 3]),
            ([0.3, 1.5, 0.3], [0.7, 2.0, 0.7]),
            // Overlapping by a rounding error.
            ([0.2, 0.2, 0.9999], [0.8, 0.7, 2.0]),
        ] {
            assert_eq!(two_boxes(low, high), Crossing::None, "{low:?} to {high:?}");
        }
        for (low, high) in [
            ([0.2, 0.2, 0.9], [0.8, 0.7, 2.0]),
            ([0.5; 3], [1.5; 3]),
            ([0.2, 0.2, 0.99], [0.8, 0.7, 2.0]),
            // A bar through the cube.
            ([-1.0, 0.4, 0.4], [2.0, 0.6, 0.6]),
        ] {
            assert!(
                matches!(two_boxes(low, high), Crossing::Faces(..12, 12..)),
                "{low:?} to {high:?}"
            );
        }
    }

    #[test]
    fn the_hierarchy_agrees_with_all_pairs() {
        // Random triangles, few of which cross.
        let mut random = Random::new(1);
        let mut random = || random.unit();
        let mut crossing = 0;
        for _ in 0..60 {
            let mut points = Vec::new();
            for _ in 0..40 {
                let middle = Vector3::from_fn(|_, _| random());
                points.extend((0..3).map(|_| middle + 0.2 * Vector3::from_fn(|_, _| random())));
            }
            let faces: Vec<[usize; 3]> = (0..40)
                .map(|face| [3 * face, 3 * face + 1, 3 * face + 2])
                .collect();
            let (all, tolerance) = triangles(&points, &faces);
            let pairs = || {
                all.iter()
                    .enumerate()
                    .flat_map(|(index, a)| all[index + 1..].iter().map(move |b| (a, b)))
            };
            let expected: Vec<_> = pairs()
                .filter(|(a, b)| a.crosses(b, tolerance))
                .map(|(a, b)| (a.face, b.face))
                .collect();
            match find_among(triangles(&points, &faces).0, tolerance, MAX_COMPARISONS) {
                Crossing::Faces(one, two) => {
                    assert!(expected.contains(&(one, two)), "{one} {two} {expected:?}");
                    crossing += 1;
                }
                found => assert!(
                    found == Crossing::None && expected.is_empty(),
                    "{found:?} {expected:?}"
                ),
            }
        }
        assert!((5..55).contains(&crossing), "{crossing}");
    }

    #[test]
    fn the_number_of_comparisons_is_limited() {
        // Long parallel triangles, whose boxes all overlap.
        let mut points = Vec::new();
        let mut faces = Vec::new();
        for index in 0..300 {
            let across = f64::from(index) * 0.01;
            points.extend(
                [
                    [across, -across, 0.0],
                    [10.0 + across, 10.0 - across, 10.0],
                    [across + 0.005, -across, 0.1],
                ]
                .map(Vector3::from),
            );
            faces.push([3 * faces.len(), 3 * faces.len() + 1, 3 * faces.len() + 2]);
        }
        let (all, tolerance) = triangles(&points, &faces);
        assert_eq!(find_among(all, tolerance, 1000), Crossing::TooMany);
        let (all, tolerance) = triangles(&points, &faces);
        assert_eq!(find_among(all, tolerance, MAX_COMPARISONS), Crossing::None);
    }
}
