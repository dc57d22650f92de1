//! Motion planning data of a robot beyond its kinematics.

use nalgebra::{Point3, Vector3};

use super::{JointId, LinkId, LinkPairs, NamedPose, Pose, Robot};
use crate::kinematics::{Model, position_count};

/// Name of the default pose of a planner, for the robot as a whole.
pub const DEFAULT_POSE: &str = "default";

/// Name of the pose that is the state of the joints in the source.
pub const STATE: &str = "initial_state";

/// Motion planning data of a robot beyond its kinematics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planning {
    /// The coordinates of the configuration space in their order, each joint once. Each joint has
    /// one position and follows no other.
    pub coordinates: Vec<Coordinate>,
    /// The links whose motion is planned, the most important first, each once.
    pub tool_frames: Vec<LinkId>,
    /// Collision spheres, in groups with unique names.
    pub groups: Vec<SphereGroup>,
    /// Collision avoidance with obstacles.
    pub collision: Option<PlanningCollision>,
    /// Collision avoidance between links of the robot.
    pub self_collision: Option<PlanningCollision>,
    /// Pairs of links that are excluded from self-collision checks. They can include links that are
    /// only frames, since spheres may be on any frame.
    pub ignored: LinkPairs,
}

/// A coordinate of the configuration space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinate {
    /// The joint.
    pub joint: JointId,
    /// Maximum magnitude of the acceleration, rad/s² or m/s²; above zero. `None` if the source
    /// gives none.
    pub acceleration: Option<f64>,
    /// Maximum magnitude of the jerk, rad/s³ or m/s³; above zero. `None` if the source gives none.
    pub jerk: Option<f64>,
}

/// A named set of spheres.
#[derive(Clone, Debug, PartialEq)]
pub struct SphereGroup {
    /// The name in the source; not empty.
    pub name: String,
    /// The spheres of each link, each link once, in the source's order.
    pub spheres: Vec<(LinkId, Vec<Sphere>)>,
}

/// A ball in the frame of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Metres, in the link's frame.
    pub center: Point3<f64>,
    /// Metres. It may be negative: then the sphere exists only with a buffer distance.
    pub radius: f64,
}

/// Spheres for collision avoidance.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanningCollision {
    /// The index of the spheres in [`Planning::groups`].
    pub group: usize,
    /// Buffer distances, which are added to the radii of all spheres of a link, metres; may be
    /// negative. Each link once, in the source's order; zero for others.
    pub buffers: Vec<(LinkId, f64)>,
}

/// Spheres of two links that touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// The link that is before the other in [`Robot::links`].
    pub first: LinkId,
    /// The other.
    pub second: LinkId,
    /// Maximum penetration depth of their spheres, metres, buffer distances included. Not negative.
    pub depth: f64,
}

impl Planning {
    /// Returns whether there are no data.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns every link that it refers to.
    pub(crate) fn links(&self) -> impl Iterator<Item = LinkId> {
        let of_spheres = self.groups.iter().flat_map(|group| &group.spheres);
        let collisions = self.collision.iter().chain(&self.self_collision);
        let of_buffers = collisions.flat_map(|collision| &collision.buffers);
        let pairs = self.ignored.iter().flat_map(<[LinkId; 2]>::from);
        let links = self.tool_frames.iter().copied();
        links
            .chain(of_spheres.map(|(link, _)| *link))
            .chain(of_buffers.map(|(link, _)| *link))
            .chain(pairs)
    }

    /// Returns the spheres for self-collision checks by link, enlarged by their buffer distances.
    /// Spheres without a positive radius are left out.
    pub fn self_collision_spheres(&self) -> Vec<(LinkId, Vec<Sphere>)> {
        let Some(collision) = &self.self_collision else {
            return Vec::new();
        };
        let Some(group) = self.groups.get(collision.group) else {
            return Vec::new();
        };
        let with_buffer = |(link, spheres): &(LinkId, Vec<Sphere>)| {
            let buffer = collision
                .buffers
                .iter()
                .find(|(of, _)| of == link)
                .map_or(0.0, |(_, buffer)| *buffer);
            let spheres = spheres.iter().map(|sphere| Sphere {
                radius: sphere.radius + buffer,
                ..*sphere
            });
            (
                *link,
                spheres.filter(|sphere| sphere.radius > 0.0).collect(),
            )
        };
        group
            .spheres
            .iter()
            .map(with_buffer)
            .filter(|(_, spheres): &(_, Vec<_>)| !spheres.is_empty())
            .collect()
    }
}

/// Finds the pairs of links whose spheres touch, except those in `ignored`; sorted.
///
/// `spheres` has each link once; `poses` are indexed by link.
pub fn touches(
    spheres: &[(LinkId, Vec<Sphere>)],
    poses: &[Pose],
    ignored: &LinkPairs,
) -> Vec<Touch> {
    let placed = spheres.iter().filter_map(|(link, spheres)| {
        let pose = poses.get(link.index())?;
        Some((*link, PlacedSpheres::new(spheres, pose)))
    });
    let placed: Vec<(LinkId, PlacedSpheres)> = placed.collect();
    let mut found = Vec::new();
    for (index, (one, balls)) in placed.iter().enumerate() {
        for (other, others) in placed.iter().skip(index + 1) {
            let (first, second) = (*one.min(other), *one.max(other));
            if ignored.contains(first, second) {
                continue;
            }
            let deepest = balls.depths(others).fold(f64::NEG_INFINITY, f64::max);
            if deepest >= 0.0 {
                found.push(Touch {
                    first,
                    second,
                    depth: deepest,
                });
            }
        }
    }
    // Spheres may be in another order than links.
    found.sort_by_key(|touch| (touch.first, touch.second));
    found
}

/// The spheres of a link, to be tested for contact in many configurations.
#[derive(Clone, Debug)]
pub struct LinkSpheres(PlacedSpheres);

impl LinkSpheres {
    /// Creates the spheres of a link in its frame.
    pub fn new(spheres: &[Sphere]) -> Self {
        Self(PlacedSpheres::new(spheres, &Pose::identity()))
    }

    /// Returns whether any sphere touches one of another link, at their poses.
    pub fn touch(&self, pose: &Pose, other: &Self, other_pose: &Pose) -> bool {
        let (around, other_around) = (&self.0.around, &other.0.around);
        let place = |pose: &Pose, ball: &Ball| (pose * Point3::from(ball.0)).coords;
        // Bounding balls first: most pairs of links are far apart.
        let gap = (place(pose, around) - place(other_pose, other_around)).norm_squared();
        if !reaches(gap, around.1 + other_around.1) {
            return false;
        }
        let relative = pose.inv_mul(other_pose);
        other.0.balls.iter().any(|ball| {
            let center = place(&relative, ball);
            let touches = |own: &Ball| reaches((own.0 - center).norm_squared(), own.1 + ball.1);
            touches(around) && self.0.balls.iter().any(touches)
        })
    }
}

/// Returns whether a distance, given as its square, is at most `reach`.
fn reaches(square: f64, reach: f64) -> bool {
    reach >= 0.0 && square <= reach * reach
}

/// The spheres of a link at its pose.
#[derive(Clone, Debug)]
struct PlacedSpheres {
    around: Ball,
    balls: Vec<Ball>,
}

impl PlacedSpheres {
    /// Transforms `spheres` from the frame of a link to the frame that its `pose` is in.
    fn new(spheres: &[Sphere], pose: &Pose) -> Self {
        let balls: Vec<Ball> = spheres
            .iter()
            .map(|sphere| ((pose * sphere.center).coords, sphere.radius))
            .collect();
        Self {
            around: around(&balls),
            balls,
        }
    }

    /// Returns the penetration depths of all pairs that may touch; negative for a gap.
    fn depths(&self, others: &Self) -> impl Iterator<Item = f64> {
        // Bounding balls first: most pairs of links are far apart.
        let is_near = depth(&self.around, &others.around) >= 0.0;
        let near = self
            .balls
            .iter()
            .filter(move |ball| is_near && depth(ball, &others.around) >= 0.0);
        near.flat_map(|ball| others.balls.iter().map(move |other| depth(ball, other)))
    }
}

/// Centre and radius.
type Ball = (Vector3<f64>, f64);

/// Returns the penetration depth of two spheres; negative for a gap.
fn depth(a: &Ball, b: &Ball) -> f64 {
    a.1 + b.1 - (a.0 - b.0).norm()
}

/// Returns a bounding sphere of spheres.
fn around(balls: &[Ball]) -> Ball {
    let center = balls.iter().map(|ball| ball.0).sum::<Vector3<f64>>() / balls.len().max(1) as f64;
    (
        center,
        balls
            .iter()
            .map(|ball| (ball.0 - center).norm() + ball.1)
            .fold(0.0, f64::max),
    )
}

impl Robot {
    /// Returns the default pose of a planner ([`DEFAULT_POSE`]), if the robot has one.
    pub fn default_pose(&self) -> Option<&NamedPose> {
        self.named_poses()
            .iter()
            .find(|pose| pose.name == DEFAULT_POSE && pose.group.is_none())
    }

    /// Returns the positions of all joints in a pose, laid out as in [`Model`]. Joints that the
    /// pose does not set are at zero or the limit nearest to it; followers follow.
    pub fn positions(&self, model: &Model, pose: Option<&NamedPose>) -> Vec<f64> {
        let mut positions = vec![0.0; model.positions()];
        let set = |positions: &mut Vec<f64>, joint: usize, to: &[f64]| {
            positions
                .get_mut(model.range(joint))
                .into_iter()
                .flatten()
                .zip(to)
                .for_each(|(at, to)| *at = *to);
        };
        for (id, joint) in self.joints().iter() {
            set(
                &mut positions,
                id.index(),
                &vec![joint.bounds().nearest(0.0); position_count(joint.kind())],
            );
        }
        for (joint, to) in pose.into_iter().flat_map(|pose| &pose.positions) {
            set(&mut positions, joint.index(), to);
        }
        // Last, since followers depend on all positions set before.
        model.follow(&mut positions);
        positions
    }
}
