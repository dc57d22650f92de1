//! Plays a robot: publishes its description, joint states that swing within their limits, and the
//! resulting transforms; a robot with wheels drives in the frame of its odometry.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::{Sample, fault};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::{Joint, JointKind, Pose, Robot, kinematics};
use urdf_usd_ros::msg::builtin_interfaces::Time;
use urdf_usd_ros::msg::geometry_msgs::{Quaternion, Transform, TransformStamped, Vector3};
use urdf_usd_ros::msg::sensor_msgs::JointState;
use urdf_usd_ros::msg::std_msgs::{self, Header};
use urdf_usd_ros::msg::tf2_msgs::TFMessage;
use urdf_usd_ros::{Node, Publisher, Qos};
use urdf_usd_urdf as urdf;

/// Rate of joint states and transforms, in Hz.
const RATE: f64 = 30.0;

/// A simulated robot that moves.
pub(super) struct Player {
    robot: Robot,
    joint_states: Publisher<JointState>,
    moving: Publisher<TFMessage>,
    // Kept alive for their latched messages.
    _description: Publisher<std_msgs::String>,
    _fixed: Publisher<TFMessage>,
}

impl Player {
    /// Publishes the description and the static transforms.
    ///
    /// # Errors
    /// Fails if the sample cannot be read, or the transport refuses.
    pub(super) fn new(node: &impl Node, sample: &Sample) -> Result<Self, Diagnostic> {
        let text = std::fs::read_to_string(&sample.urdf).map_err(|error| {
            fault(format!(
                "the sample robot {} cannot be read: {error}",
                sample.urdf.display()
            ))
        })?;
        let outcome = urdf::read(&text, Some(&sample.urdf));
        let Some(robot) = outcome.robot else {
            return Err(outcome
                .diagnostics
                .into_iter()
                .next()
                .unwrap_or_else(|| fault("the sample robot cannot be read")));
        };
        let description = node.advertise("robot_description", Qos::latched(1))?;
        description.publish(std_msgs::String { data: text })?;
        let fixed = node.advertise("/tf_static", Qos::latched(1))?;
        fixed.publish(transforms(&robot, &[], node.now(), |joint| {
            joint.kind() == JointKind::Fixed
        }))?;
        Ok(Self {
            robot,
            joint_states: node.advertise("joint_states", Qos::reliable(10))?,
            moving: node.advertise("/tf", Qos::reliable(100))?,
            _description: description,
            _fixed: fixed,
        })
    }

    /// Publishes motion until the future is dropped.
    pub(super) async fn play(&self, node: Arc<impl Node>) {
        let mut period = tokio::time::interval(Duration::from_secs_f64(1.0 / RATE));
        period.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let start = tokio::time::Instant::now();
        loop {
            period.tick().await;
            let positions = positions(&self.robot, start.elapsed().as_secs_f64());
            let stamp = node.now();
            let sent = self
                .joint_states
                .publish(joint_state(&self.robot, &positions, stamp))
                .and_then(|()| {
                    let mut moving = transforms(&self.robot, &positions, stamp, |joint| {
                        joint.kind() != JointKind::Fixed
                    });
                    moving
                        .transforms
                        .extend(odometry(&self.robot, &positions, stamp));
                    self.moving.publish(moving)
                });
            if sent.is_err() {
                // The node is shutting down; this future is dropped next.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Amplitude of the wheels, in rad.
const DRIVE: f64 = 12.0;
/// Amplitude of the casters' swivels, in rad.
const STEER: f64 = 0.7;

/// Frame of the odometry.
const ODOMETRY: &str = "odom";

/// Returns the transform of the root in the frame of the odometry, if the robot has wheels: the
/// largest one rolls on the ground, straight forward and back.
fn odometry(robot: &Robot, positions: &[Vec<f64>], stamp: Time) -> Option<TransformStamped> {
    let model = kinematics::Model::of(robot);
    let places = model.poses(&model.flat(positions));
    let height = |joint: &Joint| {
        let link = places.get(joint.child().index());
        link.map_or(0.0, |place| place.translation.z)
    };
    let wheels = robot
        .joints()
        .iter()
        .filter(|(_, joint)| joint.kind() == JointKind::Continuous && !is_swivel(robot, joint));
    let (id, wheel) = wheels.max_by(|(_, a), (_, b)| height(a).total_cmp(&height(b)))?;
    let angle = positions.get(id.index())?.first()?;
    let root = robot.tree().roots().first()?;
    let forward = Pose::translation(height(wheel) * angle, 0.0, 0.0);
    Some(TransformStamped {
        header: Header {
            stamp,
            frame_id: ODOMETRY.to_owned(),
        },
        child_frame_id: robot.links()[*root].name().to_owned(),
        transform: transform(&forward),
    })
}

/// Returns the positions of all joints at a time, in rad or m.
///
/// Each joint swings through the middle half of its range at its own pace; wheels drive forward and
/// back, and swivels steer.
fn positions(robot: &Robot, seconds: f64) -> Vec<Vec<f64>> {
    let positions: Vec<Vec<f64>> = robot
        .joints()
        .iter()
        .map(|(id, joint)| match joint.kind() {
            JointKind::Continuous if is_swivel(robot, joint) => vec![STEER * (0.5 * seconds).sin()],
            JointKind::Continuous => vec![DRIVE * (0.25 * seconds).sin()],
            JointKind::Revolute | JointKind::Prismatic => vec![swing(joint, id.index(), seconds)],
            kind => vec![0.0; kinematics::position_count(kind)],
        })
        .collect();
    let model = kinematics::Model::of(robot);
    let mut flat = model.flat(&positions);
    model.follow(&mut flat);
    (0..positions.len())
        .map(|joint| flat.get(model.range(joint)).unwrap_or_default().to_vec())
        .collect()
}

/// Returns whether a continuous joint carries a wheel: its child link has another continuous joint
/// about another axis.
fn is_swivel(robot: &Robot, joint: &Joint) -> bool {
    let is_continuous = |joint: &Joint| joint.kind() == JointKind::Continuous;
    let mut carried = robot
        .joints()
        .values()
        .filter(|other| is_continuous(other) && other.parent() == joint.child());
    is_continuous(joint)
        // Axes that differ by more than 60 degrees: a wheel turns across its swivel.
        && carried.any(|wheel| (wheel.origin.rotation * wheel.axis).dot(&joint.axis).abs() < 0.5)
}

fn swing(joint: &Joint, index: usize, seconds: f64) -> f64 {
    let (lower, upper) = joint.bounds().sides();
    let (lower, upper) = (lower.unwrap_or(0.0), upper.unwrap_or(0.0));
    #[allow(clippy::cast_precision_loss)] // a few joints
    let phase = index as f64;
    let pace = 0.6 + 0.1 * (phase % 5.0);
    0.5 * (lower + upper) + 0.25 * (upper - lower) * (pace * seconds + phase).sin()
}

fn joint_state(robot: &Robot, positions: &[Vec<f64>], stamp: Time) -> JointState {
    let mut state = JointState {
        header: Header {
            stamp,
            ..Header::default()
        },
        ..JointState::default()
    };
    for (joint, position) in robot.joints().values().zip(positions) {
        if let [position] = position[..] {
            state.name.push(joint.name().to_owned());
            state.position.push(position);
        }
    }
    state
}

/// Returns the transforms of the joints for which `wanted` holds.
fn transforms(
    robot: &Robot,
    positions: &[Vec<f64>],
    stamp: Time,
    wanted: impl Fn(&Joint) -> bool,
) -> TFMessage {
    let joints = robot
        .joints()
        .iter()
        .filter(|(_, joint)| wanted(joint) && !joint.closes_loop());
    let transforms = joints
        .map(|(id, joint)| {
            let pose = joint.origin
                * kinematics::motion(joint, positions.get(id.index()).map_or(&[], Vec::as_slice));
            TransformStamped {
                header: Header {
                    stamp,
                    frame_id: robot.links()[joint.parent()].name().to_owned(),
                },
                child_frame_id: robot.links()[joint.child()].name().to_owned(),
                transform: transform(&pose),
            }
        })
        .collect();
    TFMessage { transforms }
}

fn transform(pose: &Pose) -> Transform {
    let (t, q) = (pose.translation, pose.rotation);
    Transform {
        translation: Vector3 {
            x: t.x,
            y: t.y,
            z: t.z,
        },
        rotation: Quaternion {
            x: q.i,
            y: q.j,
            z: q.k,
            w: q.w,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (tempfile::TempDir, Robot) {
        let folder = tempfile::tempdir().unwrap();
        let sample = super::super::sample::unpack(folder.path()).unwrap();
        let text = std::fs::read_to_string(&sample.urdf).unwrap();
        let robot = urdf::read(&text, Some(&sample.urdf)).robot.unwrap();
        (folder, robot)
    }

    #[test]
    fn joints_stay_within_their_limits_and_followers_follow() {
        let (_folder, robot) = sample();
        for tick in 0..2000 {
            let positions = positions(&robot, f64::from(tick) * 0.05);
            for (joint, at) in robot.joints().values().zip(&positions) {
                if let (JointKind::Revolute | JointKind::Prismatic, None, [at]) =
                    (joint.kind(), joint.mimic(), &at[..])
                {
                    assert!(
                        joint.bounds().sides().0.is_some() && joint.bounds().contains(*at),
                        "{} at {at}",
                        joint.name()
                    );
                }
                if let (Some(mimic), [at]) = (joint.mimic(), &at[..]) {
                    let leader = positions[mimic.joint.index()][0];
                    assert!(
                        (mimic.multiplier * leader + mimic.offset - at).abs() < 1e-12,
                        "{}",
                        joint.name()
                    );
                }
            }
        }
    }

    #[test]
    fn wheels_drive_forward_and_back_and_the_caster_steers() {
        let (_folder, robot) = sample();
        let at = |name: &str, seconds: f64| {
            let joint = robot.joint_named(name).unwrap();
            positions(&robot, seconds)[joint.index()][0]
        };
        let swivels: Vec<&str> = robot
            .joints()
            .values()
            .filter(|joint| is_swivel(&robot, joint))
            .map(|joint| joint.name())
            .collect();
        let [swivel] = swivels[..] else {
            panic!("{swivels:?}")
        };
        let wheels = robot
            .joints()
            .values()
            .filter(|joint| joint.kind() == JointKind::Continuous && joint.name() != swivel);
        for seconds in (0..6000).map(|tick| f64::from(tick) * 0.1) {
            assert!(at(swivel, seconds).abs() <= STEER);
            assert!(
                wheels
                    .clone()
                    .all(|wheel| at(wheel.name(), seconds).abs() <= DRIVE)
            );
        }
        assert!(at(swivel, 3.0) > 0.5 && at(swivel, 9.0) < -0.5);
    }

    #[test]
    fn the_rover_drives_as_far_as_its_wheels_roll() {
        let (_folder, robot) = sample();
        let at = |seconds: f64| {
            let positions = positions(&robot, seconds);
            let sent = odometry(&robot, &positions, Time::default()).unwrap();
            assert_eq!(sent.header.frame_id, "odom");
            assert_eq!(
                sent.child_frame_id,
                robot.links()[robot.tree().roots()[0]].name()
            );
            sent.transform.translation.x
        };
        assert!(at(0.0).abs() < 1e-12);
        let farthest = at(std::f64::consts::TAU);
        assert!((0.5..3.0).contains(&farthest), "{farthest} m");
        let back = at(3.0 * std::f64::consts::TAU);
        assert!((farthest + back).abs() < 1e-9, "{back} m");
    }

    #[test]
    fn every_link_but_the_root_has_one_transform() {
        let (_folder, robot) = sample();
        let positions = positions(&robot, 1.0);
        let fixed = transforms(&robot, &positions, Time::default(), |joint| {
            joint.kind() == JointKind::Fixed
        });
        let moving = transforms(&robot, &positions, Time::default(), |joint| {
            joint.kind() != JointKind::Fixed
        });
        let mut children: Vec<_> = fixed
            .transforms
            .iter()
            .chain(&moving.transforms)
            .map(|t| t.child_frame_id.clone())
            .collect();
        children.sort();
        children.dedup();
        assert_eq!(
            children.len(),
            robot.links().len() - robot.tree().roots().len()
        );
        assert!(!fixed.transforms.is_empty() && !moving.transforms.is_empty());
    }
}
