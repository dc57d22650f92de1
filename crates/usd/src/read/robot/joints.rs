//! The joints of a stage: what motion they allow, between which bodies, and where.

use std::collections::HashMap;

use nalgebra::{Unit, UnitQuaternion, Vector3};

use super::links::{Links, is_joint};
use super::scene::{self, SAME, Scene};
use crate::codes;
use urdf_usd_robot::{
    Bounds, Calibration, Command, Drive, Dynamics, Joint, JointId, JointKind, Limit, Mimic, Pose,
    Robot, Safety,
};
use urdf_usd_stage::{Prim, PrimId};

/// Beyond this many metres or radians the bodies of a joint stand otherwise than it says.
const APART: f64 = 1e-3;

/// One end of a joint: the body that it is on (`None`: the world), and the joint's frame in it.
pub(super) type End = (Option<usize>, Pose);

/// A joint between two bodies, or a body and the world.
pub(super) struct Found {
    pub prim: PrimId,
    pub kind: JointKind,
    /// Which axis of the joint's frame: 0 to 2.
    pub axis: usize,
    /// In radians or metres.
    pub bounds: Bounds,
    /// The instance names that limits and drives of this degree of freedom have, the first that is
    /// there counts.
    instances: &'static [&'static str],
    /// Those of `physics:body0` and `physics:body1`.
    pub ends: [End; 2],
    /// Whether the asset says that it closes a loop.
    pub is_excluded: bool,
}

impl Found {
    /// The axis in the joint's frame.
    pub fn direction(&self) -> Unit<Vector3<f64>> {
        [Vector3::x_axis(), Vector3::y_axis(), Vector3::z_axis()][self.axis.min(2)]
    }
}

/// Every joint that connects two things, in the order of the prims.
pub(super) fn find(scene: &Scene<'_>, links: &Links) -> Vec<Found> {
    let joints = scene.prims().filter(|(_, prim)| is_joint(prim));
    joints
        .filter_map(|(id, prim)| one(scene, links, id, prim))
        .collect()
}

fn one(scene: &Scene<'_>, links: &Links, id: PrimId, prim: &Prim) -> Option<Found> {
    let name = prim.name();
    let left_out = |property: Option<&str>, why: &str, help: &str| {
        scene.report(
            &codes::READ_JOINT,
            (id, property),
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
    let (kind, axis, bounds, instances) = motion(scene, id, prim)?;
    let [first, second] = ["0", "1"].map(|end| end_of(scene, links, id, prim, end));
    let (first, second) = (first?, second?);
    if first.0 == second.0 {
        let what = if first.0.is_some() {
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
    Some(Found {
        prim: id,
        kind,
        axis,
        bounds,
        instances,
        ends: [first, second],
        is_excluded,
    })
}

/// The body that an end is on, and the joint's frame there.
fn end_of(scene: &Scene<'_>, links: &Links, id: PrimId, prim: &Prim, end: &str) -> Option<End> {
    let relationship = format!("physics:body{end}");
    let target = match prim.targets(&relationship) {
        [] => None,
        [target, more @ ..] => {
            let Some(found) = scene
                .stage
                .at(target)
                .filter(|target| scene.is_part[target.0])
            else {
                let message = format!(
                    "joint {:?} is left out: there is no prim {target} in the robot",
                    prim.name()
                );
                scene.report(
                    &codes::READ_JOINT,
                    (id, Some(&relationship)),
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
                    &codes::READ_JOINT_KIND,
                    (id, Some(&relationship)),
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
    let frame = scene.frame_in(target, &point, &turn);
    let body = target.and_then(|target| links.body_of(target));
    Some((
        body,
        body.map_or(frame, |body| links.drafts[body].pose.inverse() * frame),
    ))
}

type Motion = (JointKind, usize, Bounds, &'static [&'static str]);

/// What a joint allows; `None` of a type that is not known.
fn motion(scene: &Scene<'_>, id: PrimId, prim: &Prim) -> Option<Motion> {
    let axis = scene::axis(prim.text("physics:axis"), 0);
    let approximated = |message: String| {
        let help = "the robot model has no such joint; change it by hand where that matters";
        scene.report(&codes::READ_JOINT_KIND, (id, None), message, help);
    };
    let name = prim.name();
    let single = |kind: JointKind, instance: &'static [&'static str]| {
        let unit = unit_of(scene, kind);
        let side = |name: &str| prim.number(name).map(|limit| limit * unit);
        let (lower, upper) = (side("physics:lowerLimit"), side("physics:upperLimit"));
        if lower.zip(upper).is_some_and(|(lower, upper)| lower > upper) {
            approximated(format!(
                "joint {name:?} is locked: its lower limit is above its upper one; it is read as fixed"
            ));
            return (JointKind::Fixed, axis, Bounds::NONE, instance);
        }
        (kind, axis, Bounds::between(lower, upper), instance)
    };
    Some(match prim.type_name.as_str() {
        "PhysicsFixedJoint" => (JointKind::Fixed, 0, Bounds::NONE, &[]),
        "PhysicsRevoluteJoint" => {
            let found = single(JointKind::Revolute, &["angular"]);
            let says = prim.text("urdf:type");
            let is_continuous =
                found.2 == Bounds::NONE && says != Some("revolute") || says == Some("continuous");
            if found.0 == JointKind::Revolute && is_continuous {
                (JointKind::Continuous, found.1, found.2, found.3)
            } else {
                found
            }
        }
        "PhysicsPrismaticJoint" => single(JointKind::Prismatic, &["linear"]),
        "PhysicsSphericalJoint" => {
            approximated(format!(
                "joint {name:?} is a ball joint; it is read as floating, which also lets the body move away"
            ));
            (JointKind::Floating, 0, Bounds::NONE, &[])
        }
        "PhysicsDistanceJoint" => {
            approximated(format!(
                "joint {name:?} keeps a distance; it is read as floating, without that distance"
            ));
            (JointKind::Floating, 0, Bounds::NONE, &[])
        }
        "PhysicsJoint" => six_axes(scene, prim, approximated),
        other => {
            let message =
                format!("joint {name:?} is left out: {other} is no type of joint that is read");
            scene.report(
                &codes::READ_JOINT,
                (id, None),
                message,
                "use a joint type of UsdPhysics",
            );
            return None;
        }
    })
}

/// Radians in a degree, or metres in a unit of length.
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

/// A joint of six axes: those are locked whose low limit is above the high one (PhysicsLimitAPI).
fn six_axes(scene: &Scene<'_>, prim: &Prim, approximated: impl Fn(String)) -> Motion {
    const INSTANCES: [&[&str]; 6] = [
        &["transX", "linear"],
        &["transY", "linear"],
        &["transZ", "linear"],
        &["rotX", "angular"],
        &["rotY", "angular"],
        &["rotZ", "angular"],
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
    let free: Vec<usize> = (0..6)
        .filter(|&axis| !is_locked(INSTANCES[axis][0]))
        .collect();
    let single = |kind: JointKind, axis: usize| {
        let unit = unit_of(scene, kind);
        let (low, high) = sides(INSTANCES[axis][0]);
        Bounds::between(low.map(|side| side * unit), high.map(|side| side * unit))
    };
    match free[..] {
        [] => (JointKind::Fixed, 0, Bounds::NONE, &[]),
        [axis] if axis < 3 => (
            JointKind::Prismatic,
            axis,
            single(JointKind::Prismatic, axis),
            INSTANCES[axis],
        ),
        [axis] => {
            let bounds = single(JointKind::Revolute, axis);
            let kind = if bounds == Bounds::NONE {
                JointKind::Continuous
            } else {
                JointKind::Revolute
            };
            (kind, axis - 3, bounds, INSTANCES[axis])
        }
        // Two directions, and perhaps about their normal.
        [a, b] | [a, b, _] if b < 3 && free.get(2).is_none_or(|&turn| turn == 3 + (3 - a - b)) => {
            (JointKind::Planar, 3 - a - b, Bounds::NONE, &[])
        }
        [0, 1, 2, 3, 4, 5] => (JointKind::Floating, 0, Bounds::NONE, &[]),
        _ => {
            let names: Vec<&str> = free.iter().map(|&axis| INSTANCES[axis][0]).collect();
            approximated(format!(
                "joint {:?} is free in {}, for which the model has no kind; it is read as floating",
                prim.name(),
                names.join(", ")
            ));
            (JointKind::Floating, 0, Bounds::NONE, &[])
        }
    }
}

/// Reports a joint whose bodies stand where it does not allow them, or away from its zero.
pub(super) fn check_assembled(scene: &Scene<'_>, links: &Links, found: &Found) {
    let world = |(body, frame): &End| body.map_or(*frame, |body| links.drafts[body].pose * frame);
    let apart = world(&found.ends[0]).inverse() * world(&found.ends[1]);
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
        scene.report(&codes::READ_APART, (found.prim, None), message, help);
    }
}

/// Whether a joint that turns does so about a line that misses the moved body's origin, so that a
/// link has to stand on it.
pub(super) fn needs_pivot(kind: JointKind, axis: &Unit<Vector3<f64>>, far: &Pose) -> bool {
    let offset = far.translation.vector;
    let across = offset - axis.into_inner() * axis.dot(&offset);
    is_angular(kind) && across.norm() > SAME
}

/// The numbers of a joint: limits, what it does by itself, how it is driven.
pub(super) fn fill(scene: &Scene<'_>, found: &Found, joint: &mut Joint) {
    let prim = &scene.stage[found.prim];
    let is_angular = is_angular(found.kind);
    let unit = unit_of(scene, found.kind);
    // Of a force or a torque, in SI units.
    let force = scene.kilogram * scene.metre * if is_angular { scene.metre } else { 1.0 };
    let number = |name: &str| prim.number(name).filter(|number| number.is_finite());
    let drive = found
        .instances
        .iter()
        .find(|instance| prim.has(&format!("PhysicsDriveAPI:{instance}")));
    let of_drive = |name: &str| number(&format!("drive:{}:physics:{name}", drive?));
    let effort = number("urdf:limit:effort").or_else(|| Some(of_drive("maxForce")? * force));
    let velocity = number("urdf:limit:velocity");
    let velocity = velocity.or_else(|| Some(number("newton:velocityLimit")? * unit));
    let velocity = velocity.or_else(|| {
        Some(number("physxJoint:maxJointVelocity").filter(|speed| *speed < 1e6)? * unit)
    });
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
    let per_second = |value: f64| value * force / unit;
    let damping =
        number("urdf:dynamics:damping").or_else(|| Some(per_second(number("newton:damping")?)));
    let friction =
        number("urdf:dynamics:friction").or_else(|| Some(number("newton:friction")? * force));
    if damping.is_some() || friction.is_some() {
        joint.dynamics = Some(Dynamics { damping, friction });
    }
    if drive.is_some() {
        let gain = |name: &str| of_drive(name).is_some_and(|gain| gain > 0.0);
        let command = match (gain("stiffness"), gain("damping")) {
            (true, _) => Command::Position,
            (false, true) => Command::Velocity,
            (false, false) => Command::Effort,
        };
        joint.drive = Some(Drive {
            command,
            initial_position: of_drive("targetPosition").map(|target| target * unit),
        });
    }
    words(prim, "urdf", joint);
}

/// What only a URDF says of a joint, below a prefix.
pub(super) fn words(prim: &Prim, prefix: &str, joint: &mut Joint) {
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

/// How a joint follows another, in the words of the asset: the leader's prim, factor and offset in
/// USD's units.
struct Following {
    property: String,
    leader: Option<PrimId>,
    multiplier: f64,
    offset: f64,
}

/// Sets how joints follow others. `by_prim` has the joints of the robot by their prims.
pub(super) fn follow(scene: &Scene<'_>, robot: &mut Robot, by_prim: &HashMap<PrimId, JointId>) {
    let mut joints: Vec<(PrimId, JointId)> = by_prim
        .iter()
        .map(|(prim, joint)| (*prim, *joint))
        .collect();
    joints.sort();
    for (prim, id) in joints {
        let Some(following) = following(scene, prim) else {
            continue;
        };
        let name = robot.joints[id.0].name.clone();
        let refuse = |why: String| {
            let message = format!("joint {name:?} follows no other: {why}");
            let help = "let it follow a joint that turns or slides, not itself and not in a circle";
            scene.report(
                &codes::READ_MIMIC,
                (prim, Some(&following.property)),
                message,
                help,
            );
        };
        let Some(&leader) = following.leader.and_then(|leader| by_prim.get(&leader)) else {
            refuse("what it is to follow is no joint of the robot".to_owned());
            continue;
        };
        let kinds = [id, leader].map(|joint| robot.joints[joint.0].kind);
        let has_one = |kind: JointKind| is_angular(kind) || kind == JointKind::Prismatic;
        if !kinds.into_iter().all(has_one) {
            refuse("one of the two has not exactly one degree of freedom".to_owned());
            continue;
        }
        let [follower, led_by] = kinds.map(|kind| unit_of(scene, kind));
        // Positions are USD's, in degrees where they are angles.
        let multiplier = following.multiplier * follower / led_by;
        if circular(robot, id, leader) {
            refuse("it would follow itself".to_owned());
            continue;
        }
        let joint = &mut robot.joints[id.0];
        joint.mimic = Some(Mimic {
            joint: leader,
            multiplier,
            offset: following.offset * follower,
        });
        joint.drive = None;
    }
}

/// Whether the chain of what `leader` follows comes to `id`.
fn circular(robot: &Robot, id: JointId, leader: JointId) -> bool {
    let mut at = Some(leader);
    for _ in 0..=robot.joints.len() {
        match at {
            Some(joint) if joint == id => return true,
            Some(joint) => at = robot.joints[joint.0].mimic.map(|mimic| mimic.joint),
            None => return false,
        }
    }
    true
}

/// ExtendedPhysicsMimicAPI (REP-158 §4.2.2), NewtonMimicAPI, PhysxMimicJointAPI: the first that is
/// there.
fn following(scene: &Scene<'_>, id: PrimId) -> Option<Following> {
    let prim = &scene.stage[id];
    let found = |property: &str, multiplier: f64, offset: f64| {
        let leader = prim
            .targets(property)
            .first()
            .and_then(|target| scene.stage.at(target));
        Following {
            property: property.to_owned(),
            leader,
            multiplier,
            offset,
        }
    };
    let number = |name: &str, otherwise: f64| {
        prim.number(name)
            .filter(|number| number.is_finite())
            .unwrap_or(otherwise)
    };
    if !prim.targets("ext_physics:mimic:joint").is_empty() {
        let (multiplier, offset) = (
            number("ext_physics:mimic:multiplier", 1.0),
            number("ext_physics:mimic:offset", 0.0),
        );
        return Some(found("ext_physics:mimic:joint", multiplier, offset));
    }
    if !prim.targets("newton:mimicJoint").is_empty()
        && prim.flag("newton:mimicEnabled") != Some(false)
    {
        let (multiplier, offset) = (
            number("newton:mimicCoef1", 1.0),
            number("newton:mimicCoef0", 0.0),
        );
        return Some(found("newton:mimicJoint", multiplier, offset));
    }
    // PhysX: position + gearing · leader's position + offset = 0.
    let instance = prim.instances_of("PhysxMimicJointAPI").next()?;
    let name = |name: &str| format!("physxMimicJoint:{instance}:{name}");
    Some(found(
        &name("referenceJoint"),
        -number(&name("gearing"), 1.0),
        -number(&name("offset"), 0.0),
    ))
}
