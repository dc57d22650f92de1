//! Times the comparison of frames with TF: a message of 100 transforms, joint states, and a check
//! of 100 frames.
//!
//! The target is 5 % of a core at 1000 messages a second: 50 µs per message.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // a test or benchmark that fails may panic

use std::hint::black_box;
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;
use nalgebra::Vector3;
use urdf_usd::robot::kinematics::moved;
use urdf_usd::robot::{JointKind, Pose};
use urdf_usd::tf_check::{
    Expected, JointPositions, Limits, Live, PublisherId, Sources, Topic, Topics, Transform,
    check_frames,
};
use urdf_usd::usd::{AssetFrame, AssetFrames, AssetJoint, FrameKind, RosContext};

const FRAMES: usize = 100;

fn main() {
    divan::main();
}

/// Returns a chain of frames, each moved by a joint.
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
    let context = RosContext {
        namespace: "/".to_owned(),
        ..RosContext::default()
    };
    AssetFrames {
        context,
        frames: (0..=FRAMES).map(frame).collect(),
        joints: (0..FRAMES).map(joint).collect(),
    }
}

/// The messages of one millisecond.
struct Heard {
    stamp: i64,
    names: Vec<String>,
    positions: Vec<f64>,
    poses: Vec<Pose>,
}

impl Heard {
    fn new(asset: &AssetFrames, tick: u64) -> Self {
        let positions: Vec<f64> = (0..FRAMES)
            .map(|joint| (tick as f64 * 1e-3 + joint as f64).sin())
            .collect();
        let joints = asset.joints.iter().zip(&positions);
        let poses = joints
            .map(|(joint, position)| joint.origin * moved(joint.kind, &joint.axis, &[*position]))
            .collect();
        let names = asset
            .joints
            .iter()
            .map(|joint| joint.name.clone())
            .collect();
        Self {
            stamp: stamp(tick),
            names,
            positions,
            poses,
        }
    }

    fn joints(&self) -> JointPositions<'_> {
        JointPositions {
            stamp: self.stamp,
            names: &self.names,
            positions: &self.positions,
        }
    }

    fn transforms<'a>(
        &'a self,
        asset: &'a AssetFrames,
    ) -> impl ExactSizeIterator<Item = Transform<'a>> + Clone {
        asset.frames[1..]
            .iter()
            .zip(&self.poses)
            .map(|(frame, pose)| {
                let (t, q) = (pose.translation, pose.rotation);
                Transform {
                    parent: frame.parent.as_deref().unwrap_or_default(),
                    child: &frame.id,
                    stamp: self.stamp,
                    translation: [t.x, t.y, t.z],
                    rotation: [q.i, q.j, q.k, q.w],
                }
            })
    }
}

/// Nanoseconds.
fn stamp(tick: u64) -> i64 {
    (1000 + tick as i64) * 1_000_000
}

fn live() -> Live {
    Live::new(Topics {
        moving: "/tf".to_owned(),
        fixed: "/tf_static".to_owned(),
        joints: "/joint_states".to_owned(),
    })
}

/// One message of 100 transforms, at 1 kHz by its stamps.
#[divan::bench]
fn hear_transforms(bencher: Bencher) {
    let (asset, mut live, mut tick) = (asset(), live(), 0);
    let mut heard = Heard::new(&asset, 0);
    let start = Instant::now();
    bencher.counter(ItemsCount::new(FRAMES)).bench_local(|| {
        tick += 1;
        heard.stamp = stamp(tick);
        let now = start + Duration::from_millis(tick);
        live.add_transforms(
            Topic::Moving,
            black_box(&heard).transforms(&asset),
            PublisherId::default(),
            now,
        );
    });
}

/// One message of 100 joint states, at 1 kHz by its stamps.
#[divan::bench]
fn hear_joints(bencher: Bencher) {
    let (asset, mut live, mut tick) = (asset(), live(), 0);
    let mut heard = Heard::new(&asset, 0);
    let start = Instant::now();
    bencher.counter(ItemsCount::new(FRAMES)).bench_local(|| {
        tick += 1;
        heard.stamp = stamp(tick);
        live.add_joint_positions(
            black_box(&heard.joints()),
            PublisherId::default(),
            start + Duration::from_millis(tick),
        );
    });
}

/// Checks 100 moving frames with full histories.
#[divan::bench]
fn check_all(bencher: Bencher) {
    let (asset, mut live, start) = (asset(), live(), Instant::now());
    let ticks = 5000;
    for tick in 0..ticks {
        let heard = Heard::new(&asset, tick);
        let now = start + Duration::from_millis(tick);
        live.add_joint_positions(&heard.joints(), PublisherId::default(), now);
        live.add_transforms(
            Topic::Moving,
            heard.transforms(&asset),
            PublisherId::default(),
            now,
        );
    }
    let expected = Expected::new(asset, start).expect("a chain is a model");
    let (limits, now) = (Limits::default(), start + Duration::from_millis(ticks));
    let heard = Sources {
        transforms: &live,
        joints: &live,
        elsewhere: &[],
    };
    let check = check_frames(&expected, &[], &heard, &limits, now);
    assert!(
        check.is_ok() && check.findings.len() == FRAMES + 1,
        "{check:?}"
    );
    bencher
        .counter(ItemsCount::new(FRAMES))
        .bench_local(|| check_frames(black_box(&expected), &[], &heard, &limits, now));
}

/// Times forward kinematics of a chain of 100 joints.
#[divan::bench]
fn forward(bencher: Bencher) {
    let model = asset().model().expect("a chain is a model");
    let (positions, mut poses) = (
        vec![0.3; model.positions()],
        vec![Pose::identity(); model.frames()],
    );
    bencher
        .counter(ItemsCount::new(FRAMES))
        .bench_local(|| model.forward(black_box(&positions), &mut poses));
}
