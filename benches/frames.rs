//! What holding frames against TF costs: hearing a message of 100 transforms, hearing joint states, and judging 100 frames.
//!
//! At 1000 messages a second the aim is 5 % of a core: 50 µs for a message.

use std::hint::black_box;
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;
use nalgebra::Vector3;
use urdf_usd::bridge::frames::tf::Topic;
use urdf_usd::bridge::frames::{Expected, Limits, Live, Sources, Topics, judge};
use urdf_usd::robot::kinematics::{Model, Twist, moved};
use urdf_usd::robot::{JointKind, Pose};
use urdf_usd::ros::PublisherId;
use urdf_usd::ros::msg::builtin_interfaces::Time;
use urdf_usd::ros::msg::geometry_msgs::{self, Quaternion, Transform, TransformStamped};
use urdf_usd::ros::msg::sensor_msgs::JointState;
use urdf_usd::ros::msg::std_msgs::Header;
use urdf_usd::usd::{AssetFrame, AssetFrames, AssetJoint, FrameKind, RosContext};

const FRAMES: usize = 100;

fn main() {
    divan::main();
}

/// A chain of frames, each moved by a joint.
fn asset() -> AssetFrames {
    let frame = |index: usize| AssetFrame {
        display_name: None,
        is_apart: false,
        id: format!("link_{index}"),
        parent: index.checked_sub(1).map(|above| format!("link_{above}")),
        is_static: index == 0,
        pose: Pose::translation(0.0, 0.0, 0.1),
        kind: FrameKind::Body,
        from_sensor: false,
        is_root: index == 0,
        joint: index.checked_sub(1),
    };
    let joint = |index: usize| AssetJoint {
        name: format!("joint_{index}"),
        kind: JointKind::Revolute,
        origin: Pose::translation(0.0, 0.0, 0.1),
        tail: Pose::identity(),
        axis: Vector3::y_axis(),
        mimic: None,
    };
    let context = RosContext { namespace: "/".to_owned(), ..RosContext::default() };
    AssetFrames { context, frames: (0..=FRAMES).map(frame).collect(), joints: (0..FRAMES).map(joint).collect() }
}

fn stamp(tick: u64) -> Time {
    Time { sec: (1 + tick / 1000) as i32, nanosec: (tick % 1000 * 1_000_000) as u32 }
}

/// The messages of one millisecond.
fn messages(asset: &AssetFrames, tick: u64) -> (JointState, Vec<TransformStamped>) {
    let positions: Vec<f64> = (0..FRAMES).map(|joint| (tick as f64 * 1e-3 + joint as f64).sin()).collect();
    let transforms = asset.frames[1..].iter().zip(&asset.joints).zip(&positions).map(|((frame, joint), position)| {
        let pose = joint.origin * moved(joint.kind, &joint.axis, &[*position]);
        let (t, q) = (pose.translation, pose.rotation);
        TransformStamped {
            header: Header { stamp: stamp(tick), frame_id: frame.parent.clone().unwrap_or_default() },
            child_frame_id: frame.id.clone(),
            transform: Transform {
                translation: geometry_msgs::Vector3 { x: t.x, y: t.y, z: t.z },
                rotation: Quaternion { x: q.i, y: q.j, z: q.k, w: q.w },
            },
        }
    });
    let transforms = transforms.collect();
    let name = asset.joints.iter().map(|joint| joint.name.clone()).collect();
    let header = Header { stamp: stamp(tick), ..Header::default() };
    (JointState { header, name, position: positions, ..JointState::default() }, transforms)
}

fn live() -> Live {
    Live::new(Topics { moving: "/tf".to_owned(), fixed: "/tf_static".to_owned(), joints: "/joint_states".to_owned() })
}

/// One message of 100 transforms, at 1 kHz by its stamps.
#[divan::bench]
fn hear_transforms(bencher: Bencher) {
    let (asset, mut live, mut tick) = (asset(), live(), 0);
    let (_, mut transforms) = messages(&asset, 0);
    let start = Instant::now();
    bencher.counter(ItemsCount::new(FRAMES)).bench_local(|| {
        tick += 1;
        for transform in &mut transforms {
            transform.header.stamp = stamp(tick);
        }
        live.hear_transforms(
            Topic::Moving,
            black_box(&transforms),
            PublisherId::default(),
            start + Duration::from_millis(tick),
        );
    });
}

/// One message of 100 joint states, at 1 kHz by its stamps.
#[divan::bench]
fn hear_joints(bencher: Bencher) {
    let (asset, mut live, mut tick) = (asset(), live(), 0);
    let (mut state, _) = messages(&asset, 0);
    let start = Instant::now();
    bencher.counter(ItemsCount::new(FRAMES)).bench_local(|| {
        tick += 1;
        state.header.stamp = stamp(tick);
        live.hear_joints(black_box(&state), PublisherId::default(), start + Duration::from_millis(tick));
    });
}

/// A judgement of 100 frames that move, with full histories.
#[divan::bench]
fn judge_all(bencher: Bencher) {
    let (asset, mut live, start) = (asset(), live(), Instant::now());
    let ticks = 5000;
    for tick in 0..ticks {
        let (state, transforms) = messages(&asset, tick);
        let now = start + Duration::from_millis(tick);
        live.hear_joints(&state, PublisherId::default(), now);
        live.hear_transforms(Topic::Moving, &transforms, PublisherId::default(), now);
    }
    let expected = Expected::new(asset, start).expect("a chain is a model");
    let (limits, now) = (Limits::default(), start + Duration::from_millis(ticks));
    let heard = Sources { transforms: &live, joints: &live, elsewhere: &[] };
    let judgement = judge(&expected, &[], &heard, &limits, now);
    assert!(judgement.is_ok() && judgement.findings.len() == FRAMES + 1, "{judgement:?}");
    bencher.counter(ItemsCount::new(FRAMES)).bench_local(|| judge(black_box(&expected), &[], &heard, &limits, now));
}

/// Forward kinematics of a chain of 100 joints.
#[divan::bench]
fn forward(bencher: Bencher) {
    let model = asset().model().expect("a chain is a model");
    let (positions, mut poses) = (vec![0.3; model.positions()], vec![Pose::identity(); model.frames()]);
    bencher.counter(ItemsCount::new(FRAMES)).bench_local(|| model.forward(black_box(&positions), &mut poses));
}

/// The spatial Jacobian of a chain of 100 joints.
#[divan::bench]
fn jacobian(bencher: Bencher) {
    let model: Model = asset().model().expect("a chain is a model");
    let positions = vec![0.3; model.positions()];
    let (poses, mut columns) = (model.poses(&positions), vec![Twist::zeros(); model.positions()]);
    bencher
        .counter(ItemsCount::new(FRAMES))
        .bench_local(|| model.jacobian(0, FRAMES, black_box(&positions), &poses, &mut columns));
}
