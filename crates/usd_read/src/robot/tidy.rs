//! Recovers the intended decimals of numbers: OpenUSD stores many in single precision and in
//! degrees, and frames are computed from other frames.
//!
//! Each number becomes the shortest decimal that is written as the same bits, so that a robot that
//! is written and read again is identical to the last digit.

use nalgebra::{Point3, Quaternion, Unit, UnitQuaternion, Vector3};

use super::scene::Scene;
use urdf_usd_robot::{
    ArenaMap, Bounds, Geometry, InvalidRobot, JointKind, LightKind, Pose, Robot, Shape, decimal,
};
use urdf_usd_usd_author::numbers::{degrees, joint_axis, vec3f};

/// Upper bound of the rounding error of double-precision arithmetic, for positions of some metres.
const NOISE: f64 = 1e-13;
/// Maximum number of rounding rounds until a rotation is stable.
const ROUNDS: usize = 8;

/// Tidies all numbers of a robot.
pub(super) fn robot(scene: &Scene<'_>, robot: &mut Robot) {
    if let Err(error) = shapes_and_lights(robot) {
        scene.push(error.to_diagnostic(robot.place.clone()));
    }
    for (_, link) in robot.links_mut() {
        if let Some(inertial) = &mut link.inertial {
            pose(&mut inertial.origin);
            inertial.mass = number(inertial.mass);
            inertial
                .inertia
                .iter_mut()
                .for_each(|moment| *moment = number(*moment));
        }
    }
    let kinds = ArenaMap::new(robot.joints(), |_, joint| joint.kind());
    for (id, joint) in robot.joints_mut() {
        pose(&mut joint.origin);
        joint.axis = axis(&joint.axis);
        let position = |at: f64| position(kinds[id], at);
        if let Some(limit) = &mut joint.limit {
            let (lower, upper) = limit.bounds.sides();
            limit.bounds = Bounds::between(lower.map(position), upper.map(position));
            for most in limit.effort.iter_mut().chain(&mut limit.velocity) {
                *most = number(*most);
            }
        }
        if let Some(drive) = &mut joint.commanded {
            drive.initial_position = drive.initial_position.map(position);
            if let Some(gains) = &mut drive.gains {
                for value in [&mut gains.stiffness, &mut gains.damping]
                    .into_iter()
                    .chain(&mut gains.max_force)
                {
                    *value = number(*value);
                }
                for target in gains
                    .target_position
                    .iter_mut()
                    .chain(&mut gains.target_velocity)
                {
                    *target = position(*target);
                }
            }
        }
    }
}

fn shapes_and_lights(robot: &mut Robot) -> Result<(), InvalidRobot> {
    for id in robot.links().handles() {
        let link = &robot.links()[id];
        let (mut visuals, mut collisions) = (link.visuals.clone(), link.collisions.clone());
        visuals.iter_mut().chain(&mut collisions).for_each(shape);
        robot.set_visuals(id, visuals)?;
        robot.set_collisions(id, collisions)?;
    }
    let mut lights = robot.lights().to_vec();
    for light in &mut lights {
        pose(&mut light.origin);
        light.intensity = number(light.intensity);
        match &mut light.kind {
            LightKind::Directional { angle: wide } => *wide = angle(*wide),
            LightKind::Point { radius } => *radius = number(*radius),
            LightKind::Spot {
                radius,
                inner,
                outer,
            } => {
                (*radius, *inner, *outer) = (number(*radius), angle(*inner), angle(*outer));
            }
        }
    }
    robot.set_lights(lights)
}

fn shape(shape: &mut Shape) {
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
    lengths
        .iter_mut()
        .for_each(|length| *length = number(*length));
}

/// Tidies a position of a joint of this kind.
pub(super) fn position(kind: JointKind, position: f64) -> f64 {
    match kind {
        JointKind::Revolute | JointKind::Continuous => angle(position),
        _ => number(position),
    }
}

/// Returns the shortest decimal of a number that is single-precision up to rounding noise; removes
/// the noise alone from other numbers.
pub(super) fn number(number: f64) -> f64 {
    let single = number as f32;
    let is_near = |other: f64| (other - number).abs() <= NOISE * number.abs();
    if is_near(f64::from(single)) || is_near(decimal::of_single(single)) {
        return decimal::of_single(single);
    }
    decimal::shortest(number, |other| {
        (other - number).abs() <= 4.0 * f64::EPSILON * number.abs()
    })
}

/// Tidies a length computed from a chain of frames.
fn distance(distance: f64) -> f64 {
    let short = decimal::shortest(distance, |other| {
        (other - distance).abs() <= NOISE.min(1e-4 * distance.abs())
    });
    if distance.abs() <= NOISE { 0.0 } else { short }
}

/// Tidies an angle in radians that is stored as single-precision degrees.
fn angle(radians: f64) -> f64 {
    let single = degrees(radians);
    let is_same = |other: f64| degrees(other) == single;
    match decimal::step_near(radians).filter(|step| is_same(*step)) {
        Some(step) => step,
        None => decimal::shortest(radians, is_same),
    }
}

fn pose(pose: &mut Pose) {
    pose.translation
        .vector
        .iter_mut()
        .for_each(|length| *length = distance(*length));
    pose.rotation = rotation(&pose.rotation);
}

/// Returns a tidy pose in a link, computed from `of_body`, the pose in the link's body. `to_link`:
/// the transform from the body to the link.
pub(super) fn moved(of_body: &Pose, to_link: &Pose) -> Pose {
    let (mut pose, to_body) = (to_link * of_body, to_link.inverse());
    let single = vec3f(&of_body.translation.vector);
    let is_same =
        |at: &Vector3<f64>| vec3f(&(to_body * Point3::from(*at)).coords.map(distance)) == single;
    let at = pose.translation.vector;
    let rounded =
        (1..17).map(|decimals| at.map(|c| format!("{c:.decimals$}").parse().unwrap_or(c) + 0.0));
    pose.translation.vector = rounded.into_iter().find(is_same).unwrap_or(at);
    let single = settled(&of_body.rotation, |rotation| *rotation);
    pose.rotation = by_angles(&pose.rotation, |other| {
        is_single(&(to_body.rotation * other), single)
    });
    pose
}

/// Returns the rotation with the shortest angles that is the same in single precision.
fn rotation(rotation: &UnitQuaternion<f64>) -> UnitQuaternion<f64> {
    let single = settled(rotation, |rotation| *rotation);
    by_angles(&unit(single).unwrap_or(*rotation), |other| {
        is_single(other, single)
    })
}

fn by_angles(
    rotation: &UnitQuaternion<f64>,
    is_same: impl Fn(&UnitQuaternion<f64>) -> bool,
) -> UnitQuaternion<f64> {
    let [roll, pitch, yaw] = decimal::roll_pitch_yaw(rotation, is_same);
    let tidy = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
    // q and −q are the same rotation; w ≥ 0 is the convention.
    if tidy.w < 0.0 {
        UnitQuaternion::new_unchecked(-tidy.into_inner())
    } else {
        tidy
    }
}

/// Quantum of small quaternion components: finer digits of a single-precision quaternion are noise.
const STEP: f64 = 1.0 / (1_u64 << 36) as f64;
/// Magnitude below which a component is small.
const SMALL: f64 = 1e-5;

/// Returns a quaternion w, x, y, z as it is written. Of q and −q, the one whose first nonzero
/// component is positive.
fn single(rotation: &UnitQuaternion<f64>) -> [f64; 4] {
    let q = rotation.quaternion();
    let component = |c: f64| {
        if c.abs() < SMALL {
            (c / STEP).round() * STEP
        } else {
            f64::from(c as f32)
        }
    };
    let single = [q.w, q.i, q.j, q.k].map(component);
    let is_negative = single.iter().find(|c| **c != 0.0).is_some_and(|c| *c < 0.0);
    single.map(|c| if is_negative { 0.0 - c } else { c + 0.0 })
}

/// Returns the fixed point of `made` under repeated rounding of a rotation to single precision.
fn settled(
    rotation: &UnitQuaternion<f64>,
    made: impl Fn(&UnitQuaternion<f64>) -> UnitQuaternion<f64>,
) -> [f64; 4] {
    let mut rounded = single(&made(rotation));
    for _ in 0..ROUNDS {
        let Some(next) = unit(rounded)
            .map(|widened| single(&made(&widened)))
            .filter(|next| *next != rounded)
        else {
            break;
        };
        rounded = next;
    }
    rounded
}

/// Returns whether a rotation is written as `rounded` with its small components within the quantum.
fn is_single(rotation: &UnitQuaternion<f64>, rounded: [f64; 4]) -> bool {
    let q = rotation.quaternion();
    let is_near = |sign: f64| {
        let components = [q.w, q.i, q.j, q.k].into_iter().zip(rounded);
        components
            .into_iter()
            // Stricter than half a step, so that noise can't round a component to the next step.
            .all(|(c, to)| c.abs() >= SMALL || (sign * c - to).abs() < 0.3 * STEP)
    };
    single(rotation) == rounded && (is_near(1.0) || is_near(-1.0))
}

fn unit([w, x, y, z]: [f64; 4]) -> Option<UnitQuaternion<f64>> {
    UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-9)
}

/// Returns the direction in the shortest decimals that give the same rotation of USD's axis in
/// single precision.
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
    let of_turn = |turn: &UnitQuaternion<f64>| joint_axis(&Unit::new_normalize(turn * from)).1;
    let rounded = settled(&turn, of_turn);
    let direction = unit(rounded).unwrap_or(turn) * from;
    let is_same = |direction: &Vector3<f64>| {
        is_single(&joint_axis(&Unit::new_normalize(*direction)).1, rounded)
    };
    let shorter = (1..17)
        .map(|decimals| direction.map(|c| format!("{c:.decimals$}").parse().unwrap_or(c) + 0.0));
    let short = shorter
        .into_iter()
        .find(|shorter| shorter.norm() > 0.5 && is_same(shorter));
    Unit::new_normalize(short.unwrap_or(direction))
}
