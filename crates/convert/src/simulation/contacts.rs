//! Finds pairs of links that touch at the start, or in every sampled configuration: they would push each
//! other apart when a simulation starts.

use std::collections::BTreeSet;

use nalgebra::{Point3, Vector3};
use urdf_usd_geometry::convex_hull;
use urdf_usd_kinematics::{Mechanism, Random};
use urdf_usd_robot::{
    ArenaMap, CacheEvicted, Geometry, JointKind, Link, LinkId, LinkPairs, NamedPose, Pose, Robot,
    Shape,
};

use super::convex::Convex;

/// Maximum distance of shapes that touch, metres.
const TOUCHING: f64 = 1e-3;
/// Number of sampled configurations.
const SAMPLES: usize = 32;
/// Maximum number of tested pairs of shapes, so that the time is bounded whatever the robot.
const MAX_TESTS: usize = 1_000_000;

/// A collider: a convex shape, its pose in the link, and the radius of its bounding ball.
struct Collider {
    shape: Convex,
    pose: Pose,
    /// Centre of the bounding ball in the link.
    centre: Point3<f64>,
    radius: f64,
}

/// A link with colliders.
struct Body {
    link: LinkId,
    colliders: Vec<Collider>,
}

/// The pairs of links found.
#[derive(Default)]
pub(super) struct Touching {
    pub(super) pairs: LinkPairs,
    /// Whether some pairs were not tested.
    pub(super) is_partial: bool,
}

/// Finds the pairs of links whose colliders touch at the start, or in all sampled configurations. Meshes
/// count as their convex hulls. Pairs that a joint connects, or that the source disables, are left out, and
/// so is the world's own link: what stands on the ground must not fall through it.
///
/// # Errors
/// If a mesh is no longer in the cache.
pub(super) fn find(
    robot: &Robot,
    mechanism: &Mechanism,
    start: Option<&NamedPose>,
) -> Result<Touching, CacheEvicted> {
    let mut bodies = Vec::new();
    for (link, properties) in robot.links().iter() {
        if robot.world_root() == Some(link) {
            continue;
        }
        let shapes = properties.collisions.iter();
        let colliders = shapes.map(|shape| collider(robot, shape));
        let colliders: Vec<Collider> = colliders
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?;
        if !colliders.is_empty() {
            bodies.push(Body { link, colliders });
        }
    }
    let known = neighbours(robot);
    let is_open = |a: LinkId, b: LinkId| {
        !known.contains(&(a.min(b), a.max(b))) && !robot.disabled_collisions().contains(a, b)
    };
    let mut tests = 0;
    let mut touch = |poses: &[Pose], one: &Body, other: &Body| {
        let (Some(pose), Some(other_pose)) =
            (poses.get(one.link.index()), poses.get(other.link.index()))
        else {
            return false;
        };
        let between = pose.inverse() * other_pose;
        one.colliders.iter().any(|a| {
            other.colliders.iter().any(|b| {
                let reach = a.radius + b.radius + TOUCHING;
                if tests >= MAX_TESTS || (a.centre - between * b.centre).norm() > reach {
                    return false;
                }
                tests += 1;
                a.shape
                    .distance(&b.shape, &(a.pose.inverse() * between * b.pose))
                    <= TOUCHING
            })
        })
    };
    let mut q = mechanism.rest();
    super::set(
        mechanism,
        &mut q,
        start.into_iter().flat_map(|pose| &pose.positions),
    );
    let mut positions = vec![0.0; mechanism.position_count()];
    let mut poses = vec![Pose::identity(); robot.links().len()];
    mechanism.poses(&q, &mut positions, &mut poses);
    let mut pairs = LinkPairs::default();
    let mut apart = Vec::new();
    for (index, one) in bodies.iter().enumerate() {
        for other in bodies
            .iter()
            .skip(index + 1)
            .filter(|other| is_open(one.link, other.link))
        {
            if touch(&poses, one, other) {
                pairs.insert(one.link, other.link);
            } else {
                apart.push((one, other));
            }
        }
    }
    // Nearly all pairs are apart in the first configuration, and are not tested again.
    let mut random = Random::new(0);
    for _ in 0..SAMPLES {
        if apart.is_empty() {
            break;
        }
        mechanism.random_configuration(&mut random, &mut q);
        mechanism.poses(&q, &mut positions, &mut poses);
        apart.retain(|(one, other)| touch(&poses, one, other));
    }
    pairs.extend(apart.into_iter().map(|(one, other)| (one.link, other.link)));
    Ok(Touching {
        pairs,
        is_partial: tests >= MAX_TESTS,
    })
}

/// Returns the convex shape of a collider; `None` if it has no extent or was not read.
fn collider(robot: &Robot, shape: &Shape) -> Result<Option<Collider>, CacheEvicted> {
    let convex = match &shape.geometry {
        Geometry::Box { size } => Convex::Box(size.abs() / 2.0),
        Geometry::Sphere { radius } => Convex::Ball { radius: *radius },
        Geometry::Cylinder { radius, length } => Convex::Cylinder {
            radius: *radius,
            half: length / 2.0,
        },
        Geometry::Capsule { radius, length } => Convex::Capsule {
            radius: *radius,
            half: length / 2.0,
        },
        Geometry::Mesh { mesh, scale } => {
            let source = &robot.meshes()[*mesh];
            let arrays = match &source.hull {
                Some(hull) => hull.arrays()?,
                None => source.mesh.arrays()?,
            };
            let hull = source
                .hull
                .is_none()
                .then(|| convex_hull(&arrays.points).ok())
                .flatten();
            let points = hull.as_ref().map_or(&arrays.points, |hull| &hull.points);
            let points = points
                .iter()
                .map(|point| Vector3::from(point.map(f64::from)).component_mul(scale));
            Convex::Hull(points.collect())
        }
        Geometry::Missing { .. } => return Ok(None),
    };
    let (centre, radius) = convex.bounding_ball();
    let is_sound = radius > 0.0 && radius.is_finite();
    Ok(is_sound.then(|| Collider {
        centre: shape.origin * centre,
        shape: convex,
        pose: shape.origin,
        radius,
    }))
}

/// Returns the pairs of links that engines never let collide: those connected by a joint, through links
/// that are only frames.
fn neighbours(robot: &Robot) -> BTreeSet<(LinkId, LinkId)> {
    let tree = robot.tree();
    let mut carrier: ArenaMap<Link, LinkId> = ArenaMap::new(robot.links(), |link, _| link);
    for &link in tree.order() {
        let above = tree.parent_joint(link).map(|joint| &robot.joints()[joint]);
        let is_frame = robot.links()[link].is_empty();
        if let Some(joint) = above.filter(|joint| is_frame && joint.kind() == JointKind::Fixed) {
            carrier[link] = carrier[joint.parent()];
        }
    }
    let joints = robot
        .joints()
        .values()
        .filter(|joint| joint.kind() != JointKind::Floating);
    joints
        .map(|joint| (carrier[joint.parent()], joint.child()))
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect()
}
