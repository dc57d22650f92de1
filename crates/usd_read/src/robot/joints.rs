//! The joints of a stage: the motion they allow, the bodies they connect, and their frames.

use std::collections::HashMap;

use nalgebra::{Unit, UnitQuaternion, Vector3};

use super::links::{DraftId, Links, is_joint};
use super::scene::{self, SAME, Scene};
use super::tidy;
use crate::axis::Axis;
use crate::codes;
use urdf_usd_robot::names::unique_from;
use urdf_usd_robot::{
    Arena, Bounds, Calibration, Command, Drive, Dynamics, Gains, Handle, JointId, JointKind,
    JointProperties, Limit, Mimic, NamedPose, Pose, Robot, STATE, Safety,
};
use urdf_usd_stage::{Prim, PrimId};
use urdf_usd_usd_author::dialects::{self, Motion as Moves, Opinions, Quantity, Relation};
use urdf_usd_usd_author::layout::{DRIVE_ASSUMED, DRIVE_COMMAND};

/// Distance, in metres or radians, beyond which the bodies of a joint contradict its frames.
const APART: f64 = 1e-3;

/// Names of a drive on a revolute joint about x, y, z: that of UsdPhysics, then those after an axis.
const ANGULAR: [&[&str]; 3] = [
    &["angular", "rotX", "X"],
    &["angular", "rotY", "Y"],
    &["angular", "rotZ", "Z"],
];
/// Names of a drive on a prismatic joint along x, y, z.
const LINEAR: [&[&str]; 3] = [
    &["linear", "transX", "X"],
    &["linear", "transY", "Y"],
    &["linear", "transZ", "Z"],
];

/// Difference of positions, in radians or metres, below which the state is that of a named pose.
const SAME_STATE: f64 = 1e-5;

/// A joint of the stage, for the words of engines.
struct JointPrim<'a>(&'a Prim);

impl Opinions for JointPrim<'_> {
    fn schemas(&self) -> &[String] {
        &self.0.schemas
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.0.number(name)
    }

    fn target(&self, name: &str) -> Option<String> {
        self.0.targets(name).first().cloned()
    }

    fn is_false(&self, name: &str) -> bool {
        self.0.flag(name) == Some(false)
    }
}

/// One end of a joint.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// The attached body; `None` for the world.
    pub body: Option<DraftId>,
    /// The joint's frame relative to it.
    pub frame: Pose,
}

/// A joint of a stage.
pub(super) type FoundId = Handle<Found>;

/// A joint between two bodies, or a body and the world.
pub(super) struct Found {
    pub prim: PrimId,
    pub kind: JointKind,
    /// The axis in the joint's frame.
    pub axis: Unit<Vector3<f64>>,
    /// Limits in radians or metres.
    pub bounds: Bounds,
    /// The instance names of limits and drives for this degree of freedom, in order of precedence.
    instances: &'static [&'static str],
    /// The ends given by `physics:body0` and `physics:body1`.
    pub ends: [End; 2],
    /// True if the asset marks the joint as closing a loop.
    pub is_excluded: bool,
    /// Its name after that of the prim, if it is one of several degrees of freedom of the prim.
    pub suffix: String,
    /// Further degrees of freedom between the same bodies, from the first body to the second.
    pub more: Vec<Found>,
    /// True if it is a ball joint.
    pub is_ball: bool,
}

impl Found {
    /// Returns all degrees of freedom, from the first body to the second.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Found> {
        std::iter::once(self).chain(&self.more)
    }

    /// Returns whether it turns about one axis or slides along one.
    fn is_single(&self) -> bool {
        self.more.is_empty() && (is_angular(self.kind) || self.kind == JointKind::Prismatic)
    }

    /// Exchanges the bodies.
    fn reverse(&mut self) {
        self.ends.reverse();
        self.axis = -self.axis;
    }

    /// Returns whether it allows the same motion as another joint of the same bodies: two hinges of
    /// a door.
    fn is_redundant(&self, other: &Found) -> bool {
        let [(at, axis), (other_at, other_axis)] = [self, other].map(|found| {
            let [near, _] = &found.ends;
            (
                near.frame.translation.vector,
                near.frame.rotation * found.axis,
            )
        });
        let is_parallel = axis.cross(&other_axis).norm() < APART;
        let is_through = (other_at - at).cross(&axis).norm() < APART;
        let slides = |found: &Found| found.kind == JointKind::Prismatic;
        match (slides(self), slides(other)) {
            (true, true) => is_parallel,
            (false, false) => is_parallel && is_through,
            _ => false,
        }
    }
}

/// Finds all joints that connect two different bodies, in the order of the prims.
///
/// Several joints between two bodies, each with one degree of freedom, are the degrees of freedom of
/// one joint, as MuJoCo has them and converters of its files write them.
pub(super) fn find(scene: &Scene<'_>, links: &Links) -> Arena<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut by_bodies: HashMap<[Option<DraftId>; 2], usize> = HashMap::new();
    for (id, prim) in scene.prims().filter(|(_, prim)| is_joint(prim)) {
        let Some(mut joint) = one(scene, links, id, prim) else {
            continue;
        };
        let bodies = joint.ends.map(|end| end.body);
        let [first, second] = bodies;
        let known = by_bodies.get(&bodies);
        let reversed = by_bodies.get(&[second, first]);
        let index = known.or(reversed).copied();
        let is_swapped = known.is_none() && index.is_some();
        if is_swapped {
            joint.reverse();
        }
        let first = index.and_then(|index| found.get_mut(index));
        let is_single = joint.is_single() && !joint.is_excluded;
        let merges = first.filter(|first| {
            is_single
                && first.all().all(|part| {
                    let is_one = is_angular(part.kind) || part.kind == JointKind::Prismatic;
                    is_one && part.suffix.is_empty() && !part.is_redundant(&joint)
                })
        });
        match merges {
            Some(first) => first.more.push(joint),
            None => {
                if is_swapped {
                    joint.reverse();
                }
                if is_single && index.is_none() {
                    by_bodies.insert(bodies, found.len());
                }
                found.push(joint);
            }
        }
    }
    let mut arena = Arena::default();
    for joint in found {
        arena.push(joint);
    }
    arena
}

fn one(scene: &Scene<'_>, links: &Links, id: PrimId, prim: &Prim) -> Option<Found> {
    let name = prim.name();
    let left_out = |property: Option<&str>, why: &str, help: &str| {
        scene.report(
            &codes::JOINT,
            id,
            property,
            format!("joint {name:?} is left out: {why}"),
            help,
        );
    };
    if prim.flag("physics:jointEnabled") == Some(false) {
        left_out(
            Some("physics:jointEnabled"),
            "it is disabled",
            "enable the joint, if the robot has it",
        );
        return None;
    }
    let motions = motions(scene, id, prim)?;
    let [first, second] = ["0", "1"].map(|end| end_of(scene, links, id, prim, end));
    let (first, second) = (first?, second?);
    if first.body == second.body {
        let what = if first.body.is_some() {
            "both of its ends are on one body"
        } else {
            "none of its ends is on a body"
        };
        left_out(
            Some("physics:body1"),
            what,
            "let physics:body0 and physics:body1 name two bodies that move against each other",
        );
        return None;
    }
    let is_excluded = prim.flag("physics:excludeFromArticulation") == Some(true)
        || prim.type_name == "PhysicsDistanceJoint";
    let has_several = motions.len() > 1;
    let mut parts = motions.into_iter().map(|motion| Found {
        prim: id,
        kind: motion.kind,
        axis: motion.axis.direction(),
        bounds: motion.bounds,
        instances: motion.instances,
        ends: [first, second],
        is_excluded,
        suffix: match motion.instances {
            [name, ..] if has_several => format!("_{name}"),
            _ => String::new(),
        },
        more: Vec::new(),
        is_ball: false,
    });
    let mut found = parts.next()?;
    found.more = parts.collect();
    // The hinges of a driven ball have drives, which a ball joint of other formats has not.
    found.is_ball = prim.type_name == "PhysicsSphericalJoint"
        && prim.instances_of("PhysicsDriveAPI").next().is_none();
    Some(found)
}

/// Returns the body at an end of a joint, and the joint's frame there.
fn end_of(scene: &Scene<'_>, links: &Links, id: PrimId, prim: &Prim, end: &str) -> Option<End> {
    let relationship = format!("physics:body{end}");
    let target = match prim.targets(&relationship) {
        [] => None,
        [target, more @ ..] => {
            let Some(found) = scene
                .stage
                .at(target)
                .filter(|target| scene.is_part[*target])
            else {
                let message = format!(
                    "joint {:?} is left out: there is no prim {target} in the robot",
                    prim.name()
                );
                scene.report(
                    &codes::JOINT,
                    id,
                    Some(&relationship),
                    message,
                    "let the relationship name a rigid body",
                );
                return None;
            };
            if !more.is_empty() {
                let message = format!(
                    "joint {:?}: {relationship} names several prims; the first counts",
                    prim.name()
                );
                scene.report(
                    &codes::JOINT_KIND,
                    id,
                    Some(&relationship),
                    message,
                    "name one prim",
                );
            }
            Some(found)
        }
    };
    let point = scene::vector(prim, &format!("physics:localPos{end}")).unwrap_or_default();
    let turn = scene::rotation(prim, &format!("physics:localRot{end}"))
        .unwrap_or_else(UnitQuaternion::identity);
    let local = Pose::from_parts(point.into(), turn);
    let body = target.and_then(|target| links.body_of(target));
    let frame = scene.joint_frame(body.map(|body| links.drafts[body].prim), target, &local);
    let frame = body.map_or(frame, |body| links.drafts[body].pose.inverse() * frame);
    Some(End { body, frame })
}

/// The motion that a joint allows.
#[derive(Clone, Copy)]
struct Motion {
    kind: JointKind,
    axis: Axis,
    bounds: Bounds,
    instances: &'static [&'static str],
}

impl Motion {
    /// Returns a motion without limits and drives.
    fn free(kind: JointKind, axis: Axis) -> Self {
        Self {
            kind,
            axis,
            bounds: Bounds::NONE,
            instances: &[],
        }
    }
}

/// Returns the degrees of freedom of a joint, from its first body to its second; `None` for unknown
/// types.
fn motions(scene: &Scene<'_>, id: PrimId, prim: &Prim) -> Option<Vec<Motion>> {
    let axis = Axis::named(prim.text("physics:axis")).unwrap_or(Axis::X);
    let approximated = |message: String| {
        let help = "the robot model has no such joint; change it by hand where that matters";
        scene.report(&codes::JOINT_KIND, id, None, message, help);
    };
    let name = prim.name();
    let single = |kind: JointKind, instances: &'static [&'static str]| {
        let unit = unit_of(scene, kind);
        let side = |name: &str| prim.number(name).map(|limit| limit * unit);
        let (lower, upper) = (side("physics:lowerLimit"), side("physics:upperLimit"));
        if lower.zip(upper).is_some_and(|(lower, upper)| lower > upper) {
            approximated(format!(
                "joint {name:?} is locked: its lower limit is above its upper one; it is read as fixed"
            ));
            return Motion {
                instances,
                ..Motion::free(JointKind::Fixed, axis)
            };
        }
        Motion {
            kind,
            axis,
            bounds: Bounds::between(lower, upper),
            instances,
        }
    };
    let motion = match prim.type_name.as_str() {
        "PhysicsFixedJoint" => Motion::free(JointKind::Fixed, Axis::X),
        "PhysicsRevoluteJoint" => {
            let mut found = single(JointKind::Revolute, axis.of(ANGULAR));
            // A revolute joint of a URDF may be unlimited too, so its authored type decides.
            let says = prim.text("urdf:type");
            let is_continuous = found.bounds == Bounds::NONE && says != Some("revolute")
                || says == Some("continuous");
            if found.kind == JointKind::Revolute && is_continuous {
                found.kind = JointKind::Continuous;
            }
            found
        }
        "PhysicsPrismaticJoint" => single(JointKind::Prismatic, axis.of(LINEAR)),
        "PhysicsSphericalJoint" => return Some(ball(prim, axis)),
        "PhysicsDistanceJoint" => {
            approximated(format!(
                "joint {name:?} keeps a distance; it is read as floating, without that distance"
            ));
            Motion::free(JointKind::Floating, Axis::X)
        }
        "PhysicsJoint" => return Some(six_axes(scene, prim)),
        other => {
            let message =
                format!("joint {name:?} is left out: {other} is no type of joint that is read");
            scene.report(
                &codes::JOINT,
                id,
                None,
                message,
                "use a joint type of UsdPhysics",
            );
            return None;
        }
    };
    Some(vec![motion])
}

/// Returns the three hinges of a ball joint. The first two swing the axis within its cone, the last
/// one twists about it.
fn ball(prim: &Prim, axis: Axis) -> Vec<Motion> {
    const NAMES: [&[&str]; 3] = [&["rotX"], &["rotY"], &["rotZ"]];
    let hinge = |axis: Axis, cone: Option<&str>| {
        // The schema has a negative angle for no limit.
        let limit = cone
            .and_then(|name| prim.number(name))
            .filter(|limit| *limit >= 0.0)
            .map(f64::to_radians);
        Motion {
            kind: if limit.is_some() {
                JointKind::Revolute
            } else {
                JointKind::Continuous
            },
            axis,
            bounds: Bounds::between(limit.map(|limit| -limit), limit),
            instances: axis.of(NAMES),
        }
    };
    // The first angle is towards the next axis, which is a rotation about the one after it.
    let next = axis.next();
    vec![
        hinge(next.next(), Some("physics:coneAngle0Limit")),
        hinge(next, Some("physics:coneAngle1Limit")),
        hinge(axis, None),
    ]
}

/// Returns the factor from USD's unit of position to the model's: degrees to radians, or stage
/// units to metres.
fn unit_of(scene: &Scene<'_>, kind: JointKind) -> f64 {
    if is_angular(kind) {
        1.0_f64.to_radians()
    } else {
        scene.metre
    }
}

fn is_angular(kind: JointKind) -> bool {
    matches!(kind, JointKind::Revolute | JointKind::Continuous)
}

/// Classifies a six-axis joint. Axes with a low limit above the high one are locked
/// (PhysicsLimitAPI).
fn six_axes(scene: &Scene<'_>, prim: &Prim) -> Vec<Motion> {
    use Axis::{X, Y, Z};

    /// A degree of freedom: the joint kind that has it alone, its axis, and the names of its schema
    /// instances.
    struct Freedom {
        kind: JointKind,
        axis: Axis,
        instance: &'static str,
        instances: &'static [&'static str],
    }

    const fn freedom(
        kind: JointKind,
        axis: Axis,
        instances: &'static [&'static str; 2],
    ) -> Freedom {
        let [instance, _] = instances;
        Freedom {
            kind,
            axis,
            instance,
            instances,
        }
    }

    const FREEDOMS: [Freedom; 6] = [
        freedom(JointKind::Prismatic, X, &["transX", "linear"]),
        freedom(JointKind::Prismatic, Y, &["transY", "linear"]),
        freedom(JointKind::Prismatic, Z, &["transZ", "linear"]),
        freedom(JointKind::Revolute, X, &["rotX", "angular"]),
        freedom(JointKind::Revolute, Y, &["rotY", "angular"]),
        freedom(JointKind::Revolute, Z, &["rotZ", "angular"]),
    ];
    let sides = |instance: &str| {
        let side = |side: &str| prim.number(&format!("limit:{instance}:physics:{side}"));
        let is_limited = prim.has(&format!("PhysicsLimitAPI:{instance}"));
        (
            side("low").filter(|_| is_limited),
            side("high").filter(|_| is_limited),
        )
    };
    let is_locked = |instance: &str| {
        let (low, high) = sides(instance);
        low.unwrap_or(f64::NEG_INFINITY) > high.unwrap_or(f64::INFINITY)
    };
    let free: Vec<&Freedom> = FREEDOMS
        .iter()
        .filter(|freedom| !is_locked(freedom.instance))
        .collect();
    let slides: Vec<Axis> = free
        .iter()
        .filter(|freedom| freedom.kind == JointKind::Prismatic)
        .map(|freedom| freedom.axis)
        .collect();
    let single = |freedom: &Freedom, instances: &'static [&'static str]| {
        let unit = unit_of(scene, freedom.kind);
        let (low, high) = sides(freedom.instance);
        let bounds = Bounds::between(low.map(|side| side * unit), high.map(|side| side * unit));
        let kind = match freedom.kind {
            JointKind::Revolute if bounds == Bounds::NONE => JointKind::Continuous,
            kind => kind,
        };
        Motion {
            kind,
            axis: freedom.axis,
            bounds,
            instances,
        }
    };
    match (&free[..], &slides[..]) {
        ([], _) => vec![Motion::free(JointKind::Fixed, X)],
        ([only], _) => vec![single(only, only.instances)],
        // Two directions, with or without rotation about their normal, make a planar joint.
        ([_, _, turn @ ..], [a, b])
            if turn.len() < 2 && turn.iter().all(|turn| turn.axis == Axis::across(*a, *b)) =>
        {
            vec![Motion::free(JointKind::Planar, Axis::across(*a, *b))]
        }
        _ if free.len() == FREEDOMS.len() => vec![Motion::free(JointKind::Floating, X)],
        // The drives of several axes are named after these only.
        _ => free
            .iter()
            .map(|freedom| single(freedom, freedom.instances.get(..1).unwrap_or_default()))
            .collect(),
    }
}

/// Reports a joint whose bodies violate its constraint, or are not at its zero position.
pub(super) fn check_assembled(scene: &Scene<'_>, links: &Links, found: &Found) {
    let [near, far] = found.ends.map(|end| links.pose(end.body) * end.frame);
    let apart = near.inverse() * far;
    let (distance, angle) = (apart.translation.vector.norm(), apart.rotation.angle());
    let is_apart = distance > APART || angle > APART;
    if is_apart && found.kind != JointKind::Floating {
        let message = format!(
            "joint {:?} is not at its zero in the stage: its two frames are {distance:.4} m and {:.2} degrees apart",
            scene.stage[found.prim].name(),
            angle.to_degrees()
        );
        let help =
            "nothing need be done: bodies are placed by the frames of their joints, all at zero";
        scene.report(&codes::APART, found.prim, None, message, help);
    }
}

/// Returns whether an angular joint's axis misses the moved body's origin, so that an intermediate
/// link on the axis is needed.
pub(super) fn needs_pivot(kind: JointKind, axis: &Unit<Vector3<f64>>, far: &Pose) -> bool {
    let offset = far.translation.vector;
    let across = offset - axis.into_inner() * axis.dot(&offset);
    is_angular(kind) && across.norm() > SAME
}

/// Reads the parameters of a joint: limits, dynamics and drives.
pub(super) fn fill(scene: &Scene<'_>, found: &Found, joint: &mut JointProperties) {
    let prim = &scene.stage[found.prim];
    let is_angular = is_angular(found.kind);
    let unit = unit_of(scene, found.kind);
    // Factor from USD's unit of force or torque to SI.
    let force = scene.kilogram * scene.metre * if is_angular { scene.metre } else { 1.0 };
    let number = |name: &str| prim.number(name).filter(|number| number.is_finite());
    let drive = drive_of(prim, found);
    // The URDF's own values come before those derived from them, such as the maxForce of a drive.
    let of_drive = |name: &str| number(&format!("drive:{}:physics:{name}", drive?));
    let effort = number("urdf:limit:effort").or_else(|| Some(of_drive("maxForce")? * force));
    let of_engine = |quantity| engine_value(scene, found, quantity);
    let velocity = number("urdf:limit:velocity").or_else(|| of_engine(Quantity::VelocityLimit));
    let mut bounds = found.bounds;
    if bounds == Bounds::NONE {
        bounds = Bounds::between(number("urdf:limit:lower"), number("urdf:limit:upper"));
    }
    if bounds != Bounds::NONE || effort.is_some() || velocity.is_some() {
        joint.limit = Some(Limit {
            bounds,
            effort,
            velocity,
        });
    }
    let damping = number("urdf:dynamics:damping").or_else(|| of_engine(Quantity::Damping));
    let friction = number("urdf:dynamics:friction").or_else(|| of_engine(Quantity::Friction));
    joint.armature = of_engine(Quantity::Armature).filter(|armature| *armature > 0.0);
    if damping.is_some() || friction.is_some() {
        joint.dynamics = Some(Dynamics { damping, friction });
    }
    if let Some(instance) = drive {
        let is_acceleration =
            prim.text(&format!("drive:{instance}:physics:type")) == Some("acceleration");
        // Gains are per degree or per unit of length. Those of an acceleration have no unit of
        // force, and none of length: it cancels.
        let gain = match (is_acceleration, is_angular) {
            (false, _) => force / unit,
            (true, true) => 1.0 / unit,
            (true, false) => 1.0,
        };
        let target = |name: &str| of_drive(name).map(|target| target * unit);
        let gains = Gains {
            stiffness: of_drive("stiffness").unwrap_or(0.0) * gain,
            damping: of_drive("damping").unwrap_or(0.0) * gain,
            target_position: target("targetPosition"),
            target_velocity: target("targetVelocity"),
            max_force: of_drive("maxForce").map(|most| most * force),
            is_acceleration,
        };
        // A drive's stiffness acts on the position error, its damping on the velocity error.
        let command = match (gains.stiffness > 0.0, gains.damping > 0.0) {
            (true, _) => Command::Position,
            (false, true) => Command::Velocity,
            (false, false) => Command::Effort,
        };
        // This program's own assets: a drive without gains in the source, whose gains are missing or
        // assumed.
        let is_assumed = prim.flag(DRIVE_ASSUMED) == Some(true);
        let of_source = prim.text(DRIVE_COMMAND).and_then(Command::named);
        let has_gains = of_drive("stiffness").or(of_drive("damping")).is_some() && !is_assumed;
        let initial_position = state(scene, found).or(gains.target_position);
        joint.commanded = match of_source {
            Some(command) if !has_gains => Some(Drive {
                command,
                initial_position,
                gains: None,
            }),
            None if is_assumed => None,
            _ => Some(Drive {
                command,
                initial_position,
                gains: Some(gains),
            }),
        };
    }
    words(prim, "urdf", joint);
}

/// Returns the value of a quantity by the attributes of engines, in SI units.
fn engine_value(scene: &Scene<'_>, found: &Found, quantity: Quantity) -> Option<f64> {
    let prim = &scene.stage[found.prim];
    let moves = moves(found.kind);
    match dialects::value(&JointPrim(prim), quantity, moves, found.instances) {
        Ok(value) => {
            let (_, value) = value?;
            Some(value * quantity.scale(moves, scene.metre, scene.kilogram))
        }
        Err(contradiction) => {
            let names = contradiction.names;
            let message = format!(
                "joint {:?}: {} differ; a robot has one {} for each joint, so they are left out",
                prim.name(),
                names.join(" and "),
                quantity.name()
            );
            let help = "give them the same value, if the joint is to have it";
            let property = names.first().map(String::as_str);
            scene.report(&codes::ATTRIBUTES, found.prim, property, message, help);
            None
        }
    }
}

/// Returns how a joint with one degree of freedom moves.
fn moves(kind: JointKind) -> Moves {
    if is_angular(kind) {
        Moves::Angular
    } else {
        Moves::Linear
    }
}

/// Returns the position of a degree of freedom in the state of its joint, as PhysX
/// (`PhysicsJointStateAPI`) and Newton have it.
pub(super) fn state(scene: &Scene<'_>, found: &Found) -> Option<f64> {
    let prim = &scene.stage[found.prim];
    let of_instance = |instance: &&str| {
        let names = [
            format!("state:{instance}:physics:position"),
            format!("newton:{instance}:position"),
        ];
        let mut values = names.iter().filter_map(|name| prim.number(name));
        values.find(|value| value.is_finite())
    };
    let position = found.instances.iter().find_map(of_instance)?;
    Some(tidy::position(
        found.kind,
        position * unit_of(scene, found.kind),
    ))
}

/// Returns whether the state of a joint has a velocity.
fn has_speed(prim: &Prim) -> bool {
    let is_speed = |name: &str| {
        name.starts_with("state:") && name.ends_with(":physics:velocity")
            || name.starts_with("newton:") && name.ends_with(":velocity")
    };
    prim.attributes
        .keys()
        .any(|name| is_speed(name) && prim.number(name).is_some_and(|speed| speed != 0.0))
}

/// Adds the state of joints as a named pose, unless all of them are at zero, or at those of a pose of the
/// robot.
pub(super) fn pose(scene: &Scene<'_>, robot: &mut Robot, states: &[(JointId, PrimId, f64)]) {
    let moving = states
        .iter()
        .find(|(_, prim, at)| *at != 0.0 || has_speed(&scene.stage[*prim]));
    let Some(&(_, prim, _)) = moving else {
        return;
    };
    let mut positions: Vec<(JointId, Vec<f64>)> = states
        .iter()
        .filter(|(joint, ..)| robot.joints()[*joint].mimic().is_none())
        .map(|(joint, _, at)| (*joint, vec![*at]))
        .collect();
    positions.sort_by_key(|(joint, _)| *joint);
    // Single precision, of degrees.
    let is_same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < SAME_STATE);
    let is_known = robot.named_poses().iter().any(|pose| {
        let of_pose = |joint: JointId| pose.positions.iter().find(|(of, _)| *of == joint);
        positions.iter().all(|(joint, at)| {
            of_pose(*joint).map_or(is_same(at, &[0.0]), |(_, known)| is_same(at, known))
        })
    });
    if is_known {
        return;
    }
    let is_free = |name: &str| robot.named_poses().iter().all(|pose| pose.name != name);
    let name = unique_from(STATE, "_", 2, is_free);
    let speeds = states
        .iter()
        .filter(|(_, prim, _)| has_speed(&scene.stage[*prim]))
        .count();
    let left_out = match speeds {
        0 => String::new(),
        speeds => format!("; the velocities of {speeds} are left out"),
    };
    let message = format!(
        "the state of {} joints is the named pose {name:?}{left_out}",
        positions.len()
    );
    let help = "nothing need be done; all joints are at zero where the robot itself is written";
    scene.report(&codes::STATE, prim, None, message, help);
    let pose = NamedPose {
        name,
        group: None,
        chain: None,
        positions,
        fixed: Vec::new(),
        place: scene.place(prim, None),
    };
    scene.accept(robot.add_named_pose(pose), prim);
}

/// Returns the instance name of the drive of a degree of freedom.
fn drive_of(prim: &Prim, found: &Found) -> Option<&'static str> {
    let mut names = found.instances.iter().copied();
    names.find(|instance| prim.has(&format!("PhysicsDriveAPI:{instance}")))
}

/// Reports the drives of joints that are not read, and those that are read under a name that
/// UsdPhysics does not give them.
pub(super) fn report_drives(scene: &Scene<'_>, found: &Found) {
    let mut reported = Vec::new();
    for part in found.all() {
        if reported.contains(&part.prim) {
            continue;
        }
        reported.push(part.prim);
        let prim = &scene.stage[part.prim];
        let of_prim = found.all().filter(|other| other.prim == part.prim);
        let read: Vec<&str> = of_prim.filter_map(|part| drive_of(prim, part)).collect();
        report_drives_of(scene, part.prim, &read);
    }
}

/// Reports the drives of a prim. `read`: those that are read.
fn report_drives_of(scene: &Scene<'_>, id: PrimId, read: &[&str]) {
    let prim = &scene.stage[id];
    let name = prim.name();
    let expected = match prim.type_name.as_str() {
        "PhysicsRevoluteJoint" => Some("angular"),
        "PhysicsPrismaticJoint" => Some("linear"),
        _ => None,
    };
    for instance in prim.instances_of("PhysicsDriveAPI") {
        let kind = &prim.type_name;
        let message = if !read.contains(&instance) {
            format!(
                "joint {name:?}: the drive {instance:?} is left out, because a {kind} has no such degree of freedom, or another drive for it"
            )
        } else if let Some(expected) = expected.filter(|expected| *expected != instance) {
            format!(
                "joint {name:?}: the drive {instance:?} is read as {expected:?}, but engines ignore that name on a {kind}"
            )
        } else {
            continue;
        };
        let help = match expected {
            Some(expected) => format!("apply PhysicsDriveAPI:{expected} instead"),
            None => "apply PhysicsDriveAPI for a free axis of the joint, transX to rotZ".to_owned(),
        };
        let property = format!("drive:{instance}:physics:stiffness");
        let property = prim.value(&property).map(|_| property.as_str());
        scene.report(&codes::DRIVE, id, property, message, &help);
    }
}

/// Reads the joint attributes that only URDF has, with a prefix.
pub(super) fn words(prim: &Prim, prefix: &str, joint: &mut JointProperties) {
    let number = |name: &str| {
        prim.number(&format!("{prefix}:{name}"))
            .filter(|number| number.is_finite())
    };
    let safety = Safety {
        soft_lower_limit: number("safety_controller:soft_lower_limit"),
        soft_upper_limit: number("safety_controller:soft_upper_limit"),
        k_position: number("safety_controller:k_position"),
        k_velocity: number("safety_controller:k_velocity"),
    };
    let calibration = Calibration {
        rising: number("calibration:rising"),
        falling: number("calibration:falling"),
        reference_position: number("calibration:reference_position"),
    };
    joint.safety = (safety != Safety::default()).then_some(safety);
    joint.calibration = (calibration != Calibration::default()).then_some(calibration);
    if prefix != "urdf" {
        let bounds = Bounds::between(number("limit:lower"), number("limit:upper"));
        let limit = Limit {
            bounds,
            effort: number("limit:effort"),
            velocity: number("limit:velocity"),
        };
        joint.limit = (limit != Limit::default()).then_some(limit);
        let dynamics = Dynamics {
            damping: number("dynamics:damping"),
            friction: number("dynamics:friction"),
        };
        joint.dynamics = (dynamics != Dynamics::default()).then_some(dynamics);
    }
}

/// Sets the mimic relations of joints. `by_prim`: the joints of the robot by prim.
pub(super) fn follow(scene: &Scene<'_>, robot: &mut Robot, by_prim: &HashMap<PrimId, JointId>) {
    let mut joints: Vec<(PrimId, JointId)> = by_prim
        .iter()
        .map(|(prim, joint)| (*prim, *joint))
        .collect();
    // A hash map has no order: sorted, a cycle is broken at the same joint in each run.
    joints.sort();
    for (prim, id) in joints {
        let relations = dialects::relations(&JointPrim(&scene.stage[prim]));
        let Some(relation) = relations.first() else {
            continue;
        };
        let name = robot.joints()[id].name().to_owned();
        let refuse = |why: &str, help: &str| {
            let message = format!("joint {name:?} follows no other: {why}");
            let property = Some(relation.relationship.as_str());
            scene.report(&codes::MIMIC, prim, property, message, help);
        };
        let help = "let it follow a joint that turns or slides, not itself and not in a circle";
        if relation.is_polynomial {
            let why = "the relation is a polynomial, of which a robot has only the linear part";
            refuse(why, "set mjc:coef2, mjc:coef3 and mjc:coef4 to 0");
            continue;
        }
        let leader = relation
            .leader
            .as_ref()
            .and_then(|leader| scene.stage.at(leader));
        let Some(&leader) = leader.and_then(|leader| by_prim.get(&leader)) else {
            refuse("what it is to follow is no joint of the robot", help);
            continue;
        };
        let kinds = [id, leader].map(|joint| robot.joints()[joint].kind());
        let has_one = |kind: JointKind| is_angular(kind) || kind == JointKind::Prismatic;
        if !kinds.into_iter().all(has_one) {
            refuse("one of the two has not exactly one degree of freedom", help);
            continue;
        }
        let (multiplier, offset) = in_si(scene, relation, kinds);
        let mimic = Mimic {
            joint: leader,
            multiplier: tidy::number(multiplier),
            offset: tidy::position(kinds[0], offset),
        };
        match robot.set_mimic(id, Some(mimic)) {
            // A follower takes no command.
            Ok(()) => {
                let drive = robot.joint_mut(id).commanded.take();
                let words = drive
                    .and_then(|drive| drive.gains)
                    .map(|gains| gains.to_words());
                if let Some(words) = words.filter(|words| !words.is_empty()) {
                    let message = format!(
                        "joint {name:?} follows another: {words} of its drive are left out"
                    );
                    let help = "drive the joint that it follows";
                    scene.report(&codes::DRIVE, prim, None, message, help);
                }
            }
            Err(_) => refuse("it would follow itself", help),
        }
    }
}

/// Returns multiplier and offset of a mimic relation. `kinds`: those of the follower and the leader.
fn in_si(scene: &Scene<'_>, relation: &Relation, kinds: [JointKind; 2]) -> (f64, f64) {
    let [follower, leader] = kinds.map(moves);
    let (multiplier, offset) = relation.in_si(follower, leader);
    let length = |moves| Quantity::Offset.scale(moves, scene.metre, scene.kilogram);
    (
        multiplier * length(follower) / length(leader),
        offset * length(follower),
    )
}
