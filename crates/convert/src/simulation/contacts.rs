//! Finds pairs of links that touch at the start, or in every sampled configuration: they would push each
//! other apart when a simulation starts.

use std::cell::OnceCell;
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
/// Maximum number of pairs whose bounding balls are compared, so that time and memory are bounded whatever
/// the robot.
const MAX_COMPARISONS: usize = 4_000_000;
/// Maximum number of pairs of shapes whose distance is computed.
const MAX_DISTANCES: usize = 200_000;

/// Maximum number of pairs for each link, so that outputs grow linearly with the robot.
const MAX_PAIRS_PER_LINK: usize = 8;

/// A collider. Its convex shape is loaded only if another collider is near.
struct Collider<'a> {
    robot: &'a Robot,
    shape: &'a Shape,
    convex: OnceCell<Convex>,
    /// Centre of the bounding ball in the link.
    centre: Point3<f64>,
    radius: f64,
}

/// A link with colliders.
struct Body<'a> {
    link: LinkId,
    colliders: Vec<Collider<'a>>,
}

/// The pairs of links found.
#[derive(Default)]
pub(super) struct Touching {
    pub(super) pairs: LinkPairs,
    /// True if some pairs were not tested.
    pub(super) is_partial: bool,
}

/// Numbers of tests so far.
#[derive(Default)]
struct Tests {
    comparisons: usize,
    distances: usize,
}

impl Tests {
    fn is_over(&self) -> bool {
        self.comparisons >= MAX_COMPARISONS || self.distances >= MAX_DISTANCES
    }

    /// Returns whether two bodies touch, with links at `poses`.
    fn touch(
        &mut self,
        poses: &[Pose],
        one: &Body<'_>,
        other: &Body<'_>,
    ) -> Result<bool, CacheEvicted> {
        let poses = (poses.get(one.link.index()), poses.get(other.link.index()));
        let (Some(pose), Some(other_pose)) = poses else {
            return Ok(false);
        };
        let between = pose.inverse() * other_pose;
        for a in &one.colliders {
            for b in &other.colliders {
                if self.is_over() {
                    return Ok(false);
                }
                self.comparisons += 1;
                let reach = a.radius + b.radius + TOUCHING;
                if (a.centre - between * b.centre).norm() > reach {
                    continue;
                }
                self.distances += 1;
                let pose = a.shape.origin.inverse() * between * b.shape.origin;
                if a.convex()?.is_within(b.convex()?, &pose, TOUCHING) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Finds the pairs of links whose colliders touch at the start, or in all sampled configurations. Meshes
/// count as their convex hulls. Pairs that a joint connects, or that the source disables, are left out. The
/// link of the world is left out, too: a robot would fall through the ground.
///
/// # Errors
/// If a mesh is no longer in the cache.
pub(super) fn find(
    robot: &Robot,
    mechanism: &Mechanism,
    start: Option<&NamedPose>,
) -> Result<Touching, CacheEvicted> {
    let links = robot
        .links()
        .iter()
        .filter(|(link, _)| robot.world_root() != Some(*link));
    let bodies: Vec<Body<'_>> = links
        .map(|(link, properties)| Body {
            link,
            colliders: properties
                .collisions
                .iter()
                .filter_map(|shape| Collider::new(robot, shape))
                .collect(),
        })
        .filter(|body| !body.colliders.is_empty())
        .collect();
    let known = neighbours(robot);
    let is_open = |a: LinkId, b: LinkId| {
        !known.contains(&(a.min(b), a.max(b))) && !robot.disabled_collisions().contains(a, b)
    };
    let mut tests = Tests::default();
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
    let max_pairs = MAX_PAIRS_PER_LINK * bodies.len();
    'all: for (index, one) in bodies.iter().enumerate() {
        for other in bodies.iter().skip(index + 1) {
            if tests.is_over() || pairs.len() >= max_pairs {
                break 'all;
            }
            if !is_open(one.link, other.link) {
                continue;
            }
            if tests.touch(&poses, one, other)? {
                pairs.insert(one.link, other.link);
            } else {
                apart.push((one, other));
            }
        }
    }
    // Nearly all pairs are apart in the first configuration, and are not tested again.
    let mut random = Random::new(0);
    for _ in 0..SAMPLES {
        mechanism.random_configuration(&mut random, &mut q);
        mechanism.poses(&q, &mut positions, &mut poses);
        let mut still = Vec::new();
        for (one, other) in apart {
            if tests.touch(&poses, one, other)? {
                still.push((one, other));
            }
        }
        apart = still;
        if apart.is_empty() {
            break;
        }
    }
    let always = apart.into_iter().map(|(one, other)| (one.link, other.link));
    pairs.extend(always.take(max_pairs - pairs.len()));
    Ok(Touching {
        is_partial: tests.is_over() || pairs.len() >= max_pairs && max_pairs > 0,
        pairs,
    })
}

impl<'a> Collider<'a> {
    /// Returns the collider of a shape; `None` if that has no extent or was not read.
    fn new(robot: &'a Robot, shape: &'a Shape) -> Option<Self> {
        let (centre, radius) = match &shape.geometry {
            Geometry::Mesh { mesh, scale } => {
                let outline = robot.meshes()[*mesh].mesh.outline().scaled(*scale);
                let (low, high) = outline.bounds?;
                let [low, high] = [low, high].map(|end| Vector3::from(end.map(f64::from)));
                (Point3::from((low + high) / 2.0), (high - low).norm() / 2.0)
            }
            Geometry::Missing { .. } => return None,
            geometry => (
                Point3::origin(),
                Convex::of_primitive(geometry)?.bounding_radius(),
            ),
        };
        (radius > 0.0 && radius.is_finite()).then(|| Self {
            robot,
            shape,
            convex: OnceCell::new(),
            centre: shape.origin * centre,
            radius,
        })
    }

    /// Returns the convex shape, about the origin of the collider.
    fn convex(&self) -> Result<&Convex, CacheEvicted> {
        if let Some(convex) = self.convex.get() {
            return Ok(convex);
        }
        let convex = match &self.shape.geometry {
            Geometry::Mesh { mesh, scale } => {
                let source = &self.robot.meshes()[*mesh];
                let arrays = match &source.hull {
                    Some(hull) => hull.arrays()?,
                    None => source.mesh.arrays()?,
                };
                let is_hull = source.hull.is_some();
                let hull = if is_hull {
                    None
                } else {
                    convex_hull(&arrays.points).ok()
                };
                let points = hull.as_ref().map_or(&arrays.points, |hull| &hull.points);
                let scaled =
                    |point: &[f32; 3]| Vector3::from(point.map(f64::from)).component_mul(scale);
                let mut corners: Vec<Vector3<f64>> = points.iter().map(scaled).collect();
                // Hulls have few corners, so that parts may protrude from the whole one.
                for part in &source.convex_parts {
                    corners.extend(part.arrays()?.points.iter().map(scaled));
                }
                Convex::Hull(corners)
            }
            geometry => Convex::of_primitive(geometry).unwrap_or(Convex::Ball { radius: 0.0 }),
        };
        Ok(self.convex.get_or_init(|| convex))
    }
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
