//! Numbers as they were meant: OpenUSD holds many in single precision and in degrees, and frames are reckoned from others.
//!
//! Each becomes the shortest decimal that is written as the same bits again, so that a robot that is written and read again is the same
//! to the last digit.

use nalgebra::{Quaternion, Unit, UnitQuaternion, Vector3};

use crate::numbers::{degrees, joint_axis, quatf};
use urdf_usd_robot::{Bounds, Geometry, JointKind, LightKind, Pose, Robot, decimal};

/// How far reckoning in double precision may be off, for positions of some metres.
const NOISE: f64 = 1e-13;
/// How often a rotation is rounded until it stays.
const ROUNDS: usize = 8;

/// Tidies all numbers of a robot.
pub(super) fn robot(robot: &mut Robot) {
    for link in &mut robot.links {
        if let Some(inertial) = &mut link.inertial {
            pose(&mut inertial.origin);
            inertial.mass = number(inertial.mass);
            inertial.inertia.iter_mut().for_each(|moment| *moment = number(*moment));
        }
        for shape in link.visuals.iter_mut().chain(&mut link.collisions) {
            pose(&mut shape.origin);
            let lengths: &mut [f64] = match &mut shape.geometry {
                Geometry::Box { size: lengths }
                | Geometry::Mesh { scale: lengths, .. }
                | Geometry::Missing { scale: lengths } => lengths.as_mut_slice(),
                Geometry::Sphere { radius } => std::slice::from_mut(radius),
                Geometry::Cylinder { radius, length } | Geometry::Capsule { radius, length } => {
                    (*radius, *length) = (number(*radius), number(*length));
                    &mut []
                }
            };
            lengths.iter_mut().for_each(|length| *length = number(*length));
        }
    }
    for light in &mut robot.lights {
        pose(&mut light.origin);
        light.intensity = number(light.intensity);
        match &mut light.kind {
            LightKind::Directional { angle: wide } => *wide = angle(*wide),
            LightKind::Point { radius } => *radius = number(*radius),
            LightKind::Spot { radius, inner, outer } => {
                (*radius, *inner, *outer) = (number(*radius), angle(*inner), angle(*outer));
            }
        }
    }
    for joint in &mut robot.joints {
        pose(&mut joint.origin);
        joint.axis = axis(&joint.axis);
        let is_angular = matches!(joint.kind, JointKind::Revolute | JointKind::Continuous);
        let position = |position: f64| if is_angular { angle(position) } else { number(position) };
        if let Some(limit) = &mut joint.limit {
            let (lower, upper) = limit.bounds.sides();
            limit.bounds = Bounds::between(lower.map(position), upper.map(position));
            for most in limit.effort.iter_mut().chain(&mut limit.velocity) {
                *most = number(*most);
            }
        }
        if let Some(mimic) = &mut joint.mimic {
            mimic.multiplier = number(mimic.multiplier);
            mimic.offset = position(mimic.offset);
        }
        if let Some(drive) = &mut joint.drive {
            drive.initial_position = drive.initial_position.map(position);
        }
    }
}

/// A number that is one of single precision but for noise, as the shortest decimal of that; of others the noise alone goes.
fn number(number: f64) -> f64 {
    let single = number as f32;
    let is_near = |other: f64| (other - number).abs() <= NOISE * number.abs();
    if is_near(f64::from(single)) || is_near(decimal::of_single(single)) {
        return decimal::of_single(single);
    }
    decimal::shortest(number, |other| (other - number).abs() <= 4.0 * f64::EPSILON * number.abs())
}

/// A length on the way from one frame to another.
fn distance(distance: f64) -> f64 {
    let short = decimal::shortest(distance, |other| (other - distance).abs() <= NOISE.min(1e-4 * distance.abs()));
    if distance.abs() <= NOISE { 0.0 } else { short }
}

/// Radians, of degrees in single precision.
fn angle(radians: f64) -> f64 {
    let single = degrees(radians);
    let is_same = |other: f64| degrees(other) == single;
    match decimal::step_near(radians).filter(|step| is_same(*step)) {
        Some(step) => step,
        None => decimal::shortest(radians, is_same),
    }
}

fn pose(pose: &mut Pose) {
    pose.translation.vector.iter_mut().for_each(|length| *length = distance(*length));
    pose.rotation = rotation(&pose.rotation);
}

/// A rotation by the shortest angles that are the same in single precision.
fn rotation(rotation: &UnitQuaternion<f64>) -> UnitQuaternion<f64> {
    let single = settled(rotation, quatf, |single| unit(single).unwrap_or(*rotation));
    let is_same = |other: &UnitQuaternion<f64>| canonical(quatf(&without_noise(other))) == single;
    let [roll, pitch, yaw] = decimal::roll_pitch_yaw(&unit(single).unwrap_or(*rotation), is_same);
    let tidy = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
    // The sign says nothing; this one is the usual.
    if tidy.w < 0.0 { UnitQuaternion::new_unchecked(-tidy.into_inner()) } else { tidy }
}

/// What stays of a rotation that is rounded to single precision again and again.
fn settled(
    rotation: &UnitQuaternion<f64>,
    round: impl Fn(&UnitQuaternion<f64>) -> [f32; 4],
    widen: impl Fn([f32; 4]) -> UnitQuaternion<f64>,
) -> [f32; 4] {
    let mut single = canonical(round(&without_noise(rotation)));
    for _ in 0..ROUNDS {
        let next = canonical(round(&without_noise(&widen(single))));
        if next == single {
            break;
        }
        single = next;
    }
    single
}

/// Components that are nothing but noise are zero.
fn without_noise(rotation: &UnitQuaternion<f64>) -> UnitQuaternion<f64> {
    let coords = rotation.coords.map(|c| if c.abs() < 1e-12 { 0.0 } else { c });
    UnitQuaternion::new_unchecked(Quaternion::from(coords))
}

/// The one of the two quaternions of a rotation whose first component that is not zero is positive.
fn canonical(single: [f32; 4]) -> [f32; 4] {
    let is_negative = single.iter().find(|c| **c != 0.0).is_some_and(|c| *c < 0.0);
    if is_negative { single.map(|c| 0.0 - c) } else { single.map(|c| c + 0.0) }
}

fn unit([w, x, y, z]: [f32; 4]) -> Option<UnitQuaternion<f64>> {
    UnitQuaternion::try_new(Quaternion::new(f64::from(w), f64::from(x), f64::from(y), f64::from(z)), 1e-9)
}

/// A direction in the shortest decimals that are the same rotation of USD's axis in single precision.
fn axis(axis: &Unit<Vector3<f64>>) -> Unit<Vector3<f64>> {
    let (token, turn) = joint_axis(axis);
    if turn == UnitQuaternion::identity() {
        return Unit::new_unchecked(axis.map(f64::round));
    }
    let from = match token {
        "X" => Vector3::x(),
        "Y" => Vector3::y(),
        _ => Vector3::z(),
    };
    if (axis.into_inner() + from).norm() < 1e-9 {
        return Unit::new_unchecked(from.map(|c| 0.0 - c));
    }
    let round = |turn: &UnitQuaternion<f64>| quatf(&joint_axis(&Unit::new_normalize(turn * from)).1);
    let single = settled(&turn, round, |single| unit(single).unwrap_or(turn));
    let direction = unit(single).unwrap_or(turn) * from;
    let of_turn = |direction: &Vector3<f64>| canonical(quatf(&joint_axis(&Unit::new_normalize(*direction)).1));
    let same = of_turn(&direction);
    let rounded = (1..17).map(|decimals| direction.map(|c| format!("{c:.decimals$}").parse().unwrap_or(c) + 0.0));
    let short = rounded.into_iter().find(|rounded| rounded.norm() > 0.5 && of_turn(rounded) == same);
    Unit::new_normalize(short.unwrap_or(direction))
}
