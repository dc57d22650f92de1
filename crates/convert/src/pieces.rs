//! Detects robots whose parts lie far apart although joints connect them: [`hint`].
//!
//! The usual cause are mesh files in other axes than the robot's, which no single file reveals.

use nalgebra::{Point3, Vector3};

use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_mesh::UpAxis;
use urdf_usd_robot::{ArenaMap, Geometry, Link, LinkId, Pose, Robot, Shape};

use super::codes;

/// Maximum gap between connected parts, relative to the diagonal of the larger part's box.
const MAX_RELATIVE_GAP: f64 = 0.25;
/// Minimum share of pairs that must be apart to report the robot.
const MIN_APART_SHARE: f64 = 0.5;
/// Minimum number of pairs that must be apart to report the robot.
const MIN_APART_PAIRS: usize = 2;

/// An axis-aligned box.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    low: Vector3<f64>,
    high: Vector3<f64>,
}

impl Bounds {
    fn around(points: impl IntoIterator<Item = Vector3<f64>>) -> Option<Self> {
        let mut points = points
            .into_iter()
            .filter(|point| point.iter().all(|x| x.is_finite()));
        let first = points.next()?;
        let all = points.fold(
            Self {
                low: first,
                high: first,
            },
            |all, point| Self {
                low: all.low.inf(&point),
                high: all.high.sup(&point),
            },
        );
        Some(all)
    }

    fn with(self, other: Self) -> Self {
        Self {
            low: self.low.inf(&other.low),
            high: self.high.sup(&other.high),
        }
    }

    fn size(self) -> f64 {
        (self.high - self.low).norm()
    }

    fn corners(self) -> [Vector3<f64>; 8] {
        std::array::from_fn(|corner| {
            let side = |axis: usize, low, high| if corner >> axis & 1 == 0 { low } else { high };
            Vector3::new(
                side(0, self.low.x, self.high.x),
                side(1, self.low.y, self.high.y),
                side(2, self.low.z, self.high.z),
            )
        })
    }

    /// Returns the bounding box in the frame in which the box's own frame is at `pose`.
    fn seen_from(self, pose: &Pose) -> Option<Self> {
        Self::around(
            self.corners()
                .map(|corner| pose.transform_point(&Point3::from(corner)).coords),
        )
    }

    /// Returns a lower bound of the distance between two boxes of one frame.
    fn gap(self, other: Self) -> f64 {
        let apart = (other.low - self.high).sup(&(self.low - other.high));
        apart.map(|distance| distance.max(0.0)).norm()
    }
}

/// The assumed axes of mesh files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MeshAxes {
    /// As they were read.
    AsRead,
    /// glTF files without their rotation from y up.
    GltfAsStored,
}

/// Reports that the robot is in pieces, with the likely remedy.
///
/// This is a heuristic: it compares bounding boxes with all joints at zero, in time linear in the
/// number of shapes, and stays silent unless at least half of the pairs are apart, so that a single
/// odd link is not reported.
pub(super) fn hint(robot: &Robot, up_axis: UpAxis) -> Option<Diagnostic> {
    // A missing mesh can't be placed.
    if robot
        .links()
        .values()
        .flat_map(|link| &link.visuals)
        .any(|shape| matches!(shape.geometry, Geometry::Missing { .. }))
    {
        return None;
    }
    let pairs = pairs(robot, MeshAxes::AsRead);
    let apart: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_apart()).collect();
    if apart.len() < MIN_APART_PAIRS || (apart.len() as f64) < MIN_APART_SHARE * pairs.len() as f64
    {
        return None;
    }
    let names: Vec<String> = apart
        .iter()
        .take(2)
        .map(|pair| {
            format!(
                "{:?} and {:?}",
                robot.links()[pair.above].name(),
                robot.links()[pair.below].name()
            )
        })
        .collect();
    let ends = |ending: &str| {
        robot
            .meshes()
            .values()
            .any(|mesh| mesh.uri.to_ascii_lowercase().ends_with(ending))
    };
    let mut help = "compare it with RViz or the CAD program: are the meshes in the axes and units of their links?".to_owned();
    if up_axis != UpAxis::Z && (ends(".gltf") || ends(".glb")) {
        let as_stored = self::pairs(robot, MeshAxes::GltfAsStored);
        if 2 * as_stored.iter().filter(|pair| pair.is_apart()).count() <= apart.len() {
            help = "its glTF files seem to have the axes of their links already: try --mesh-up-axis z (mesh_up_axis: z)"
                .to_owned();
        }
    } else if up_axis != UpAxis::Honor && ends(".dae") {
        help.push_str(" Try --mesh-up-axis honor (mesh_up_axis: honor)");
    }
    let message = format!(
        "the robot seems to be in pieces: {} of {} parts are far from their parent parts, such as {}",
        apart.len(),
        pairs.len(),
        names.join(", ")
    );
    Some(Diagnostic::new(&codes::IN_PIECES, robot.place.clone(), message).help(help))
}

/// Two links with visuals that are neighbours among such links.
struct Pair {
    above: LinkId,
    below: LinkId,
    gap: f64,
    size: f64,
}

impl Pair {
    fn is_apart(&self) -> bool {
        self.gap > MAX_RELATIVE_GAP * self.size
    }
}

/// Returns neighbouring links with visuals, with all joints at zero.
fn pairs(robot: &Robot, turned: MeshAxes) -> Vec<Pair> {
    let boxes = ArenaMap::new(robot.links(), |_, link| {
        visual_bounds(robot, &link.visuals, turned)
    });
    // For each link, the nearest link with visuals at or above it, and the pose of the link in
    // that.
    let mut holder: ArenaMap<Link, Option<(LinkId, Pose)>> = ArenaMap::filled(robot.links(), None);
    let mut pairs = Vec::new();
    let tree = robot.tree();
    for &link in tree.order() {
        let joint = tree.parent_joint(link).map(|joint| &robot.joints()[joint]);
        let above = joint.and_then(|joint| {
            holder[joint.parent()].map(|(above, pose)| (above, pose * joint.origin))
        });
        if let (Some((above, pose)), Some(own)) = (above, boxes[link])
            && let Some(other) = boxes[above]
            && let (Some(own_there), Some(other_here)) =
                (own.seen_from(&pose), other.seen_from(&pose.inverse()))
        {
            // A box of rotated axes is too large, and its gap too small, so the larger of both gaps
            // is nearer to the truth.
            let gap = own_there.gap(other).max(other_here.gap(own));
            pairs.push(Pair {
                above,
                below: link,
                gap,
                size: own.size().max(other.size()),
            });
        }
        holder[link] = if boxes[link].is_some() {
            Some((link, Pose::identity()))
        } else {
            above
        };
    }
    pairs
}

/// Returns the bounding box of a link's visuals, in its frame.
fn visual_bounds(robot: &Robot, shapes: &[Shape], turned: MeshAxes) -> Option<Bounds> {
    let of = |shape: &Shape| {
        let half = |x: f64, y: f64, z: f64| {
            Some(Bounds {
                low: -Vector3::new(x, y, z),
                high: Vector3::new(x, y, z),
            })
        };
        let own = match &shape.geometry {
            Geometry::Box { size } => half(size.x / 2.0, size.y / 2.0, size.z / 2.0),
            Geometry::Sphere { radius } => half(*radius, *radius, *radius),
            Geometry::Cylinder { radius, length } => half(*radius, *radius, length / 2.0),
            Geometry::Capsule { radius, length } => half(*radius, *radius, length / 2.0 + radius),
            Geometry::Mesh { mesh, scale } => {
                let source = &robot.meshes()[*mesh];
                let (low, high) = source.mesh.bounds()?;
                let (low, high) = (
                    Vector3::from(low.map(f64::from)),
                    Vector3::from(high.map(f64::from)),
                );
                let uri = source.uri.to_ascii_lowercase();
                let bounds = if turned == MeshAxes::GltfAsStored
                    && (uri.ends_with(".gltf") || uri.ends_with(".glb"))
                {
                    // Undoes the rotation of (x, y, z) to (x, -z, y).
                    Bounds {
                        low: Vector3::new(low.x, low.z, -high.y),
                        high: Vector3::new(high.x, high.z, -low.y),
                    }
                } else {
                    Bounds { low, high }
                };
                Bounds::around(bounds.corners().map(|corner| corner.component_mul(scale)))
            }
            Geometry::Missing { .. } => None,
        };
        own?.seen_from(&shape.origin)
    };
    shapes.iter().filter_map(of).reduce(Bounds::with)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a chain of boxes at this distance from each other.
    fn chain(step: f64) -> Robot {
        let link = |i: usize| {
            format!(
                "<link name='l{i}'><visual><geometry><box size='0.1 0.1 0.1'/></geometry></visual></link><link name='f{i}'/>"
            )
        };
        let joint = |i: usize| {
            format!(
                "<joint name='j{i}' type='fixed'><parent link='l{i}'/><child link='f{i}'/></joint><joint name='k{i}' type='continuous'>\
                 <origin xyz='{step} 0 0' rpy='0 0 0.5'/><parent link='f{i}'/><child link='l{}'/></joint>",
                i + 1
            )
        };
        let text: String = (0..4).map(link).chain((0..3).map(joint)).collect();
        urdf_usd_urdf::read(&format!("<robot name='r'>{text}</robot>"), None)
            .robot
            .unwrap()
    }

    #[test]
    fn parts_that_are_far_apart_are_reported() {
        for step in [0.05, 0.1, 0.12] {
            assert!(hint(&chain(step), UpAxis::Ignore).is_none(), "{step}");
        }
        let found = hint(&chain(0.3), UpAxis::Ignore).unwrap();
        assert!(
            found.message.contains("3 of 3 parts") && found.message.contains("\"l0\" and \"l1\""),
            "{found}"
        );
    }
}
