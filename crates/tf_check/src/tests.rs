//! Tests that provoke every status and every cause.

mod random_robots;

use std::sync::Arc;
use std::time::{Duration, Instant};

use nalgebra::{Translation3, UnitQuaternion, Vector3};

use super::*;
use crate::frames::{AssetFrame, AssetFrames, AssetJoint, AssetMimic, FrameKind, RosContext};
use crate::joints::tests::state;
use crate::tf::Topic;
use urdf_usd_robot::kinematics::moved;
use urdf_usd_robot::{JointKind, Pose};

const ID: PublisherId = PublisherId([1; 16]);
const OTHER: PublisherId = PublisherId([2; 16]);

pub(super) fn topics(namespace: &str) -> Topics {
    let name = |topic: &str| format!("{namespace}/{topic}");
    Topics {
        moving: name("tf"),
        fixed: name("tf_static"),
        joints: name("joint_states"),
    }
}

pub(super) fn only_here(live: &Live) -> Sources<'_> {
    Sources {
        transforms: live,
        joints: live,
        elsewhere: &[],
    }
}

/// An owned transform.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) parent: String,
    pub(super) child: String,
    pub(super) stamp: i64,
    pub(super) translation: [f64; 3],
    pub(super) rotation: [f64; 4],
}

impl Said {
    pub(super) fn borrowed(&self) -> Transform<'_> {
        let Self {
            parent,
            child,
            stamp,
            translation,
            rotation,
        } = self;
        Transform {
            parent,
            child,
            stamp: *stamp,
            translation: *translation,
            rotation: *rotation,
        }
    }
}

pub(super) fn transform(parent: &str, child: &str, pose: &Pose, stamp: i64) -> Said {
    let (t, q) = (pose.translation, pose.rotation);
    Said {
        parent: parent.to_owned(),
        child: child.to_owned(),
        stamp,
        translation: [t.x, t.y, t.z],
        rotation: [q.i, q.j, q.k, q.w],
    }
}

pub(super) fn hear(
    live: &mut Live,
    topic: Topic,
    said: &[Said],
    publisher: PublisherId,
    now: Instant,
) {
    live.add_transforms(topic, said.iter().map(Said::borrowed), publisher, now);
}

fn frame(id: &str, parent: Option<&str>, x: f64) -> AssetFrame {
    AssetFrame {
        id: id.to_owned(),
        display_name: None,
        parent: parent.map(str::to_owned),
        is_static: true,
        pose: Pose::translation(x, 0.0, 0.0),
        kind: FrameKind::Body,
        from_sensor: false,
        is_root: parent.is_none(),
        is_apart: false,
        joint: None,
    }
}

fn moving(id: &str, parent: &str, joint: usize) -> AssetFrame {
    AssetFrame {
        is_static: false,
        joint: Some(joint),
        ..frame(id, Some(parent), 0.0)
    }
}

fn joint(name: &str, kind: JointKind) -> AssetJoint {
    AssetJoint {
        name: name.to_owned(),
        kind,
        origin: Pose::translation(0.0, 0.0, 0.5),
        tail: Pose::identity(),
        axis: Vector3::z_axis(),
        mimic: None,
    }
}

/// Returns the asset base → (turn) arm → (slide) hand → tool, and hand → (mimic, twice the slide)
/// finger, and arm → camera.
fn asset() -> AssetFrames {
    let mimic = Some(AssetMimic {
        joint: 1,
        multiplier: 2.0,
        offset: 0.01,
    });
    AssetFrames {
        context: RosContext {
            namespace: "/".to_owned(),
            root: Some("robot".to_owned()),
            ..RosContext::default()
        },
        frames: vec![
            frame("base", None, 0.0),
            moving("arm", "base", 0),
            moving("hand", "arm", 1),
            frame("tool", Some("hand"), 0.2),
            moving("finger", "hand", 2),
            frame("camera", Some("arm"), 0.3),
        ],
        joints: vec![
            joint("turn", JointKind::Revolute),
            joint("slide", JointKind::Prismatic),
            AssetJoint {
                mimic,
                ..joint("follow", JointKind::Prismatic)
            },
        ],
    }
}

/// Maps a true transform to the published ones.
type Bend = dyn Fn(Said, Topic) -> Vec<(Said, Topic, PublisherId)>;

/// A simulated robot whose transforms can be falsified.
struct Player {
    live: Live,
    start: Instant,
    /// Milliseconds since the start.
    at: u32,
    asset: AssetFrames,
    /// Whether joint states are published.
    joints: bool,
    /// The falsification of transforms.
    bend: Box<Bend>,
}

impl Player {
    fn new() -> Self {
        let start = Instant::now();
        Self {
            live: Live::new(topics("")),
            start,
            at: 0,
            asset: asset(),
            joints: true,
            bend: Box::new(|t, topic| vec![(t, topic, ID)]),
        }
    }

    fn bent(bend: impl Fn(Said, Topic) -> Vec<(Said, Topic, PublisherId)> + 'static) -> Self {
        Self {
            bend: Box::new(bend),
            ..Self::new()
        }
    }

    fn now(&self) -> Instant {
        self.start + Duration::from_millis(u64::from(self.at))
    }

    fn positions(&self) -> [f64; 3] {
        let t = f64::from(self.at) * 1e-3;
        let slide = 0.05 * (3.0 * t).sin();
        [0.8 * (2.0 * t).sin(), slide, 2.0 * slide + 0.01]
    }

    /// Plays for the given time, in ms.
    fn play(mut self, milliseconds: u32) -> Self {
        let until = self.at + milliseconds;
        while self.at < until {
            self.at += 10;
            let (now, positions) = (self.now(), self.positions());
            if self.joints {
                self.live.add_joint_positions(
                    &state(
                        1000 + self.at,
                        &[("turn", positions[0]), ("slide", positions[1])],
                    )
                    .borrowed(),
                    ID,
                    now,
                );
            }
            let stamp = 1_000_000 * i64::from(1000 + self.at);
            for frame in self.asset.frames.clone() {
                let Some(parent) = &frame.parent else {
                    continue;
                };
                let (pose, topic) = match frame.joint {
                    Some(index) => {
                        let joint = &self.asset.joints[index];
                        let motion = moved(joint.kind, &joint.axis, &[positions[index]]);
                        (joint.origin * motion * joint.tail, Topic::Moving)
                    }
                    None => (frame.pose, Topic::Static),
                };
                for (bent, topic, publisher) in
                    (self.bend)(transform(parent, &frame.id, &pose, stamp), topic)
                {
                    hear(&mut self.live, topic, &[bent], publisher, now);
                }
            }
        }
        self
    }

    fn checked(&self) -> FrameCheck {
        let expected = Expected::new(asset(), self.start).expect("a model");
        check_frames(
            &expected,
            &[],
            &only_here(&self.live),
            &Limits::default(),
            self.now(),
        )
    }
}

fn faults(check: &FrameCheck) -> Vec<(&str, FrameStatus)> {
    let faults = check
        .findings
        .iter()
        .filter(|finding| finding.verdict != FrameStatus::Ok);
    faults
        .map(|finding| (finding.frame.as_str(), finding.verdict))
        .collect()
}

fn kinds(check: &FrameCheck) -> Vec<CauseKind> {
    check.causes.iter().map(|cause| cause.kind).collect()
}

/// Falsifies one frame only.
fn only(
    frame: &'static str,
    bend: impl Fn(Said, Topic) -> Vec<(Said, Topic, PublisherId)> + 'static,
) -> Player {
    Player::bent(move |t, topic| {
        if t.child == frame {
            bend(t, topic)
        } else {
            vec![(t, topic, ID)]
        }
    })
}

fn shifted(mut t: Said, x: f64) -> Said {
    t.translation[0] += x;
    t
}

#[test]
fn an_honest_robot_is_ok() {
    let check = Player::new().play(3000).checked();
    assert_eq!(
        (faults(&check), kinds(&check)),
        (vec![], vec![]),
        "{check:?}"
    );
    let finger = &check.findings[4];
    assert!(
        finger.detail.starts_with("at the pose by the joint state"),
        "{finger:?}"
    );
    assert!(finger.error.unwrap().0 < 1e-9);
}

#[test]
fn a_shifted_static_frame_is_off() {
    let check = only("tool", |t, topic| vec![(shifted(t, 0.1), topic, ID)])
        .play(100)
        .checked();
    assert_eq!(faults(&check), [("tool", FrameStatus::Off)]);
    let tool = &check.findings[3];
    let (position, angle) = tool.error.unwrap();
    assert!((position - 0.1).abs() < 1e-12 && angle.abs() < 1e-9);
    assert!(tool.detail.contains("0.1000 m"), "{}", tool.detail);
    assert_eq!(
        (
            tool.expected_parent.as_deref(),
            tool.actual_parent.as_deref()
        ),
        (Some("hand"), Some("hand"))
    );
    assert_eq!(
        (tool.expected_topic.as_deref(), tool.actual_topic.as_deref()),
        (Some("/tf_static"), Some("/tf_static"))
    );
}

#[test]
fn the_sign_of_a_quaternion_means_nothing() {
    let alternated = |mut t: Said, topic| {
        t.rotation = t.rotation.map(|q| -q);
        vec![(t, topic, ID)]
    };
    assert_eq!(faults(&Player::bent(alternated).play(2000).checked()), []);
}

#[test]
fn a_moving_frame_that_leaves_its_joint_is_off_even_without_joint_states() {
    let mut player = only("arm", |t, topic| vec![(shifted(t, 0.01), topic, ID)]);
    player.joints = false;
    let check = player.play(1000).checked();
    assert_eq!(faults(&check), [("arm", FrameStatus::Off)]);
    assert!(
        check.findings[1].detail.contains("\"turn\""),
        "{}",
        check.findings[1].detail
    );
}

#[test]
fn without_joint_states_any_motion_of_the_joint_is_ok() {
    let mut player = Player::new();
    player.joints = false;
    let check = player.play(1000).checked();
    assert_eq!(faults(&check), []);
    assert!(
        check.findings[1].detail.contains("no joint state"),
        "{:?}",
        check.findings[1]
    );
}

#[test]
fn a_lying_joint_is_off_and_named() {
    let lie = |mut t: Said, topic| {
        t.translation[2] += 0.03;
        vec![(t, topic, ID)]
    };
    let check = only("hand", lie).play(2000).checked();
    assert_eq!(faults(&check), [("hand", FrameStatus::Off)]);
    assert_eq!(kinds(&check), [CauseKind::JointStates]);
    assert!(
        check.causes[0].sentence.contains("\"slide\""),
        "{}",
        check.causes[0]
    );
    assert!((check.findings[2].error.unwrap().0 - 0.03).abs() < 1e-6);
}

#[test]
fn a_follower_that_does_not_follow_is_off() {
    let still = |mut t: Said, topic| {
        t.translation[2] = 0.5;
        vec![(t, topic, ID)]
    };
    assert_eq!(
        faults(&only("finger", still).play(2000).checked()),
        [("finger", FrameStatus::Off)]
    );
}

#[test]
fn a_frame_on_the_wrong_topic() {
    let check = only("tool", |t, _| vec![(t, Topic::Moving, ID)])
        .play(100)
        .checked();
    assert_eq!(faults(&check), [("tool", FrameStatus::WrongTopic)]);
    let check = only("arm", |t, _| vec![(t, Topic::Static, ID)])
        .play(100)
        .checked();
    assert_eq!(faults(&check), [("arm", FrameStatus::WrongTopic)]);
    let both = only("tool", |t, _| {
        vec![(t.clone(), Topic::Moving, ID), (t, Topic::Static, ID)]
    })
    .play(100);
    assert_eq!(faults(&both.checked()), [("tool", FrameStatus::WrongTopic)]);
    assert!(
        both.checked().findings[3]
            .detail
            .starts_with("also on /tf,")
    );
    // It was fixed: the old moving transform is stale.
    let mut later = both;
    later.bend = Box::new(|t, topic| vec![(t, topic, ID)]);
    assert_eq!(faults(&later.play(6000).checked()), []);
}

#[test]
fn every_static_frame_on_the_moving_topic_has_one_cause() {
    let check = Player::bent(|t, _| vec![(t, Topic::Moving, ID)])
        .play(100)
        .checked();
    assert_eq!(
        faults(&check),
        [
            ("tool", FrameStatus::WrongTopic),
            ("camera", FrameStatus::WrongTopic)
        ]
    );
    assert_eq!(kinds(&check), [CauseKind::StaticAsMoving]);
}

#[test]
fn a_wrong_parent() {
    let moved = |mut t: Said, topic| {
        t.parent = "base".to_owned();
        vec![(t, topic, ID)]
    };
    let check = only("camera", moved).play(100).checked();
    assert_eq!(faults(&check), [("camera", FrameStatus::WrongParent)]);
    assert_eq!(
        check.findings[5].detail,
        "under \"base\", while the asset declares \"arm\""
    );
}

/// Tests the asset base → mount, an empty link → (turn) arm: with flat bodies the asset declares
/// the base as the arm's parent.
#[test]
fn a_flat_body_may_hang_on_any_frame_that_is_rigid_in_the_body_that_its_joint_names() {
    let mount = Pose::from_parts(
        Translation3::new(0.1, 0.2, 0.3),
        UnitQuaternion::from_euler_angles(0.4, 0.5, 0.6),
    );
    let mut flat = asset();
    let explicit = AssetFrame {
        pose: mount,
        kind: FrameKind::Frame,
        ..frame("mount", Some("base"), 0.0)
    };
    flat.frames.extend([
        explicit,
        AssetFrame {
            kind: FrameKind::Frame,
            ..frame("plate", Some("mount"), 0.05)
        },
    ]);
    flat.frames[1].is_apart = true;
    // The tool is a body on a fixed joint, which fixes its parent.
    flat.frames[3].is_apart = true;
    let plate = mount * Pose::translation(0.05, 0.0, 0.0);
    let checked = |under: &'static str, pose: Pose, asset: &AssetFrames| {
        let mut player = only("arm", move |mut t, topic| {
            let ([x, y, z], [i, j, k, w]) = (t.translation, t.rotation);
            let turn = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(w, i, j, k));
            let is = pose.inverse() * Pose::from_parts(Translation3::new(x, y, z), turn);
            t = transform(under, "arm", &is, t.stamp);
            vec![(t, topic, ID)]
        });
        player.asset.frames.clone_from(&asset.frames);
        player = player.play(2000);
        let expected = Expected::new(asset.clone(), player.start).expect("a model");
        check_frames(
            &expected,
            &[],
            &only_here(&player.live),
            &Limits::default(),
            player.now(),
        )
    };
    for (under, pose) in [
        ("base", Pose::identity()),
        ("mount", mount),
        ("plate", plate),
    ] {
        let check = checked(under, pose, &flat);
        assert_eq!(faults(&check), [], "{under}");
        let arm = &check.findings[1];
        assert!(
            arm.detail.starts_with("at the pose by the joint state") && arm.error.unwrap().0 < 1e-9,
            "{arm:?}"
        );
        assert_eq!(
            arm.detail.contains("which is rigid in \"base\""),
            under != "base",
            "{arm:?}"
        );
        assert_eq!(
            (arm.expected_parent.as_deref(), arm.actual_parent.as_deref()),
            (Some("base"), Some(under))
        );
    }
    // It must still be within the reach of its joint.
    assert_eq!(
        faults(&checked("mount", Pose::identity(), &flat)),
        [("arm", FrameStatus::Off)]
    );
    assert_eq!(
        faults(&checked("camera", mount, &flat))[0],
        ("arm", FrameStatus::WrongParent)
    );
    let mut nested = flat;
    nested.frames[1].is_apart = false;
    assert_eq!(
        faults(&checked("mount", mount, &nested)),
        [("arm", FrameStatus::WrongParent)],
        "it lies in the base"
    );
}

/// Tests `/x` under `y`, which is under `x`.
#[test]
fn names_with_and_without_a_slash_may_lead_round_in_a_circle() {
    let mut flat = asset();
    flat.frames[1].is_apart = true;
    let explicit = |id, parent| AssetFrame {
        kind: FrameKind::Frame,
        ..frame(id, Some(parent), 0.1)
    };
    flat.frames
        .extend([explicit("/x", "y"), explicit("y", "x")]);
    let moved = |mut t: Said, topic| {
        t.parent = "x".to_owned();
        vec![(t, topic, ID)]
    };
    let player = only("arm", moved).play(100);
    let expected = Expected::new(flat, player.start).expect("a model");
    let check = check_frames(
        &expected,
        &["arm".to_owned()],
        &only_here(&player.live),
        &Limits::default(),
        player.now(),
    );
    assert_eq!(check.findings[0].verdict, FrameStatus::WrongParent);
}

#[test]
fn unpublished_frames_are_missing_and_silent_ones_stale() {
    let check = only("hand", |_, _| vec![]).play(100).checked();
    assert_eq!(faults(&check), [("hand", FrameStatus::Missing)]);
    let mut player = Player::new().play(1000);
    player.at += 6000;
    let check = player.checked();
    assert_eq!(
        faults(&check),
        [
            ("arm", FrameStatus::Stale),
            ("hand", FrameStatus::Stale),
            ("finger", FrameStatus::Stale)
        ]
    );
    assert_eq!(kinds(&check), [CauseKind::NoJointStates]);
    assert!(check.causes[0].to_string().contains("/joint_states"));
}

#[test]
fn joint_states_without_a_stamp_are_named() {
    let mut player = Player::bent(|t, topic| {
        if topic == Topic::Static {
            vec![(t, topic, ID)]
        } else {
            vec![]
        }
    });
    player.joints = false;
    let mut player = player.play(100);
    let now = player.now();
    player
        .live
        .add_joint_positions(&state(0, &[("turn", 0.0)]).borrowed(), ID, now);
    assert_eq!(kinds(&player.checked()), [CauseKind::UnstampedJointStates]);
}

#[test]
fn unpublished_mimics_are_named() {
    let check = only("finger", |_, _| vec![]).play(1000).checked();
    assert_eq!(faults(&check), [("finger", FrameStatus::Missing)]);
    assert_eq!(kinds(&check), [CauseKind::UnpublishedMimics]);
    assert!(
        check.causes[0].sentence.contains("follow"),
        "{}",
        check.causes[0]
    );
}

#[test]
fn a_prefix_is_said_once() {
    let prefixed = |mut t: Said, topic| {
        t.child.insert_str(0, "r1/");
        t.parent.insert_str(0, "r1/");
        vec![(t, topic, ID)]
    };
    let check = Player::bent(prefixed).play(1000).checked();
    assert_eq!(kinds(&check), [CauseKind::FramePrefix]);
    let cause = &check.causes[0].sentence;
    assert!(
        cause.contains("\"r1/\"") && cause.contains("all match the asset"),
        "{cause}"
    );
    assert!(
        check
            .findings
            .iter()
            .all(|f| f.verdict == FrameStatus::Missing),
        "{check:?}"
    );
    assert_eq!(check.findings[1].detail, "TF has it as \"r1/arm\"");
}

#[test]
fn names_that_no_prim_can_have_are_said() {
    let renamed = |mut t: Said, topic| {
        for name in [&mut t.child, &mut t.parent] {
            if name == "arm" || name == "camera" {
                name.insert_str(0, "r1/");
            }
        }
        let below = Said {
            parent: t.child.clone(),
            child: "r1/lens".to_owned(),
            ..t.clone()
        };
        let lens = (t.child == "r1/camera").then_some((below, topic, ID));
        [(t, topic, ID)].into_iter().chain(lens).collect()
    };
    let named = || {
        let mut asset = asset();
        for index in [1, 5] {
            asset.frames[index].display_name = Some(format!("r1/{}", asset.frames[index].id));
        }
        asset
    };
    let checked = |player: &Player, asset: AssetFrames, only: &[&str]| {
        let only: Vec<String> = only.iter().map(|id| (*id).to_owned()).collect();
        let expected = Expected::new(asset, player.start).expect("a model");
        check_frames(
            &expected,
            &only,
            &only_here(&player.live),
            &Limits::default(),
            player.now(),
        )
    };
    let player = Player::bent(renamed).play(1000);
    let check = checked(&player, named(), &[]);
    // Frames below them match the asset, and missing ones below them are found.
    assert_eq!(
        faults(&check),
        [
            ("arm", FrameStatus::Missing),
            ("camera", FrameStatus::Missing),
            ("r1/lens", FrameStatus::Extra)
        ]
    );
    assert_eq!(kinds(&check), [CauseKind::EncodedNames]);
    let cause = &check.causes[0].sentence;
    assert!(
        cause.contains("\"r1/arm\", \"r1/camera\"") && cause.contains("all match the asset"),
        "{cause}"
    );
    assert!(check.findings[1].detail.contains("\"r1/arm\""), "{check:?}");
    assert_eq!(
        checked(&player, named(), &["r1/arm"]).findings,
        [check.findings[1].clone()]
    );

    // Other faults of them are found.
    let mut shifted = named();
    shifted.frames[5].pose = Pose::translation(0.4, 0.0, 0.0);
    let check = checked(&player, shifted, &["camera"]);
    assert_eq!(faults(&check), [("camera", FrameStatus::Off)]);
    assert!(
        check.findings[0].detail.contains("\"r1/camera\""),
        "{check:?}"
    );

    // Either name is ignored, whatever the fault.
    for pattern in ["camera", "r1/cam*"] {
        let limits = Limits {
            ignore: vec![pattern.to_owned()],
            ..Limits::default()
        };
        let mut shifted = named();
        shifted.frames[5].pose = Pose::translation(0.4, 0.0, 0.0);
        let expected = Expected::new(shifted, player.start).expect("a model");
        let check = check_frames(
            &expected,
            &["camera".to_owned()],
            &only_here(&player.live),
            &limits,
            player.now(),
        );
        assert!(check.is_ok(), "{pattern}: {check:?}");
    }

    // A display name that is a valid prim name is no alias.
    let mut shown = named();
    shown.frames[3].display_name = Some("hand".to_owned());
    let player = Player::bent(|t, topic| {
        if t.child == "tool" {
            vec![]
        } else {
            vec![(t, topic, ID)]
        }
    })
    .play(1000);
    assert_eq!(
        faults(&checked(&player, shown, &["tool"])),
        [("tool", FrameStatus::Missing)]
    );

    // With a prefix too.
    let prefixed = move |t, topic| {
        let mut bent: Vec<(Said, Topic, PublisherId)> = renamed(t, topic);
        for (t, ..) in &mut bent {
            t.child.insert_str(0, "p/");
            t.parent.insert_str(0, "p/");
        }
        bent
    };
    let check = checked(&Player::bent(prefixed).play(1000), named(), &[]);
    let cause = &check.causes[0];
    assert!(
        cause.kind == CauseKind::FramePrefix && cause.sentence.contains("all match the asset"),
        "{check:?}"
    );

    // A robot with the asset's names, as in simulation, matches it.
    let check = checked(&Player::new().play(1000), named(), &[]);
    assert!(check.is_ok() && check.causes.is_empty(), "{check:?}");
}

#[test]
fn each_of_many_robots_has_its_own_prefix() {
    let mut player = Player::new();
    for robot in ["r1", "r2", "r3"] {
        player.bend = Box::new(move |mut t, topic| {
            t.child.insert_str(0, &format!("{robot}/"));
            t.parent.insert_str(0, &format!("{robot}/"));
            vec![(t, topic, ID)]
        });
        player = player.play(100);
    }
    let checked = |namespace: &str| {
        let mut robot = asset();
        robot.context.namespace = namespace.to_owned();
        let expected = Expected::new(robot, player.start).expect("a model");
        check_frames(
            &expected,
            &[],
            &only_here(&player.live),
            &Limits::default(),
            player.now(),
        )
    };
    // Among equals the first by name, so that the result is stable.
    for (namespace, prefix) in [
        ("/r1", "r1/"),
        ("/r2", "r2/"),
        ("/r3", "r3/"),
        ("/", "r1/"),
        ("/r4", "r1/"),
    ] {
        let check = checked(namespace);
        assert_eq!(kinds(&check), [CauseKind::FramePrefix], "{namespace}");
        let cause = &check.causes[0].sentence;
        assert!(
            cause.contains(&format!("{prefix:?}")),
            "{namespace}: {cause}"
        );
        assert_eq!(
            check.findings[3].detail,
            format!("TF has it as \"{prefix}tool\"")
        );
    }
}

#[test]
fn positions_beyond_all_measure_leave_nothing_to_compare_with() {
    let mut player = Player::new();
    player.asset.joints[2].mimic = Some(AssetMimic {
        joint: 1,
        multiplier: 0.0,
        offset: 0.0,
    });
    let expected = Expected::new(player.asset.clone(), player.start).expect("a model");
    player.joints = false;
    // Between two of them the joint may have been anywhere, and no factor changes that.
    for n in 0..100 {
        player = player.play(10);
        let position = if n % 2 == 0 { f64::MAX } else { f64::MIN };
        let now = player.now();
        player.live.add_joint_positions(
            &state(
                1000 + player.at - 5,
                &[("turn", position), ("slide", position)],
            )
            .borrowed(),
            ID,
            now,
        );
    }
    let check = check_frames(
        &expected,
        &[],
        &only_here(&player.live),
        &Limits::default(),
        player.now(),
    );
    assert_eq!(faults(&check), []);
    for moving in [1, 2, 4] {
        assert!(
            check.findings[moving].detail.contains("no joint state"),
            "{:?}",
            check.findings[moving]
        );
    }
}

#[test]
fn another_namespace_is_said() {
    let player = Player::new().play(1000);
    let (mut there, expected) = (
        Live::new(topics("/r1")),
        Expected::new(asset(), player.start).unwrap(),
    );
    let stamp = 0;
    for frame in asset().frames {
        let Some(parent) = frame.parent else { continue };
        let topic = if frame.is_static {
            Topic::Static
        } else {
            Topic::Moving
        };
        hear(
            &mut there,
            topic,
            &[transform(&parent, &frame.id, &frame.pose, stamp)],
            ID,
            player.now(),
        );
    }
    let here = Live::new(topics(""));
    let check = check_frames(
        &expected,
        &[],
        &Sources {
            elsewhere: &[&there],
            ..only_here(&here)
        },
        &Limits::default(),
        player.now(),
    );
    assert_eq!(kinds(&check), [CauseKind::OtherNamespace]);
    let cause = &check.causes[0].sentence;
    assert!(
        cause.contains("/r1/tf_static") && cause.contains("instead of /tf "),
        "{cause}"
    );
}

#[test]
fn an_older_description_is_recognised() {
    let player = Player::new().play(2000);
    let mut newer = asset();
    newer.frames[3].pose = Pose::translation(0.3, 0.0, 0.0);
    newer.frames[5].parent = Some("hand".to_owned());
    newer.frames.push(frame("new", Some("tool"), 0.1));
    let older = Arc::new(Expected::new(asset(), player.start).unwrap());
    let expected = Expected::new(newer.clone(), player.start)
        .unwrap()
        .after(Some(older));
    let checked = |expected: &Expected| {
        check_frames(
            expected,
            &[],
            &only_here(&player.live),
            &Limits::default(),
            player.now(),
        )
    };
    let check = checked(&expected);
    assert_eq!(
        faults(&check),
        [
            ("tool", FrameStatus::Off),
            ("camera", FrameStatus::WrongParent),
            ("new", FrameStatus::Missing)
        ]
    );
    assert_eq!(kinds(&check), [CauseKind::OlderDescription]);
    assert_eq!(
        kinds(&checked(&Expected::new(newer, player.start).unwrap())),
        []
    );
}

fn publisher(id: PublisherId, node: &str) -> TopicPublisher {
    TopicPublisher {
        id: Some(id),
        node: Some(node.to_owned()),
    }
}

#[test]
fn a_second_publisher_is_recognised() {
    // They are in step, so the kept moments may all be the first one's.
    let twice = |t: Said, topic| vec![(t.clone(), topic, ID), (shifted(t, 0.2), topic, OTHER)];
    for (name, topic) in [("arm", Topic::Moving), ("tool", Topic::Static)] {
        let mut player = only(name, twice).play(3000);
        let both = [publisher(ID, "/rsp"), publisher(OTHER, "/stranger")];
        player.live.set_publishers(topic, &both);
        let check = player.checked();
        assert_eq!(faults(&check), [(name, FrameStatus::Off)]);
        assert_eq!(kinds(&check), [CauseKind::SecondPublisher]);
        let both = "/rsp and /stranger contradict each other";
        let finding = check.findings.iter().find(|f| f.frame == name).unwrap();
        assert!(
            check.causes[0].sentence.starts_with(both) && finding.detail.contains(both),
            "{check:?}"
        );
        assert!(check.causes[0].sentence.contains(name));
    }
    let elsewhere = |t: Said, topic| {
        let mut other = t.clone();
        other.parent = "base".to_owned();
        vec![(other, topic, OTHER), (t, topic, ID)]
    };
    let check = only("hand", elsewhere).play(3000).checked();
    assert_eq!(
        (faults(&check), kinds(&check)),
        (
            vec![("hand", FrameStatus::WrongParent)],
            vec![CauseKind::SecondPublisher]
        )
    );
}

/// Returns a robot with a second publisher of the arm, which sends a changed transform in each
/// period, in ms.
fn contested(period: i64, change: impl Fn(Said) -> Said + 'static) -> Player {
    only("arm", move |t, topic| {
        let is_turn = t.stamp / 1_000_000 % period == 0;
        let other = is_turn.then(|| (change(t.clone()), topic, OTHER));
        [(t, topic, ID)].into_iter().chain(other).collect()
    })
}

fn turned(mut t: Said, angle: f64) -> Said {
    let [i, j, k, w] = t.rotation;
    let turn = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(w, i, j, k));
    let turn = turn * UnitQuaternion::from_axis_angle(&Vector3::z_axis(), angle);
    t.rotation = [turn.i, turn.j, turn.k, turn.w];
    t
}

#[test]
fn while_two_publishers_contradict_each_other_no_check_passes() {
    let still = |mut t: Said| {
        t.rotation = [0.0, 0.0, 0.0, 1.0];
        t
    };
    let unstamped = |t: Said| Said {
        stamp: 0,
        ..turned(t, 0.3)
    };
    let elsewhere = |t: Said| Said {
        parent: "camera".to_owned(),
        ..t
    };
    // The changed poses are within the reach of the joint, and the still one is right at times.
    type Change = fn(Said) -> Said;
    let changes: [(&str, Change); 4] = [
        ("turned", |t| turned(t, 0.3)),
        ("still", still),
        ("unstamped", unstamped),
        ("elsewhere", elsewhere),
    ];
    for (name, change) in changes {
        for period in [10, 20, 100, 1000, 4000, 12_000] {
            if name == "unstamped" && period > 100 {
                // Between its messages the arm is everywhere.
                continue;
            }
            let mut player = contested(period, change);
            // The second publisher is heard twice.
            player = player.play(2 * u32::try_from(period).unwrap() + 2000);
            for round in 0..300 {
                player = player.play(70);
                let check = player.checked();
                assert!(
                    !check.is_ok() && kinds(&check).contains(&CauseKind::SecondPublisher),
                    "{name} every {period} ms, round {round}: {check:?}"
                );
            }
        }
    }
}

#[test]
fn two_publishers_that_agree_are_no_fault() {
    for period in [10, 30, 1000] {
        for late in [0, 40_000_000] {
            let mut player = contested(period, move |t| Said {
                // Some are computed from older joint states, at their stamps.
                stamp: t.stamp - late,
                ..t
            });
            if late > 0 {
                player = contested(period, |t| t);
            }
            for _ in 0..100 {
                player = player.play(70);
                let check = player.checked();
                assert!(
                    !kinds(&check).contains(&CauseKind::SecondPublisher),
                    "{period}: {check:?}"
                );
            }
        }
    }
}

#[test]
fn a_publisher_that_is_replaced_contradicts_nobody() {
    // The new one is another robot; for half a second messages of both arrive.
    let replaced = |t: Said, topic| {
        let at = t.stamp / 1_000_000 - 1000;
        let old = (at < 3500).then(|| (t.clone(), topic, ID));
        let new = (at > 3000).then(|| (turned(t, 0.3), topic, OTHER));
        old.into_iter().chain(new).collect()
    };
    let mut player = only("arm", replaced);
    for _ in 0..200 {
        player = player.play(50);
        let check = player.checked();
        assert!(
            !kinds(&check).contains(&CauseKind::SecondPublisher),
            "{}: {check:?}",
            player.at
        );
    }
}

#[test]
fn static_publishers_contradict_each_other_whoever_was_last_and_after_they_left() {
    let wrong = || {
        shifted(
            transform("hand", "tool", &Pose::translation(0.2, 0.0, 0.0), 0),
            0.1,
        )
    };
    let both = [publisher(ID, "/rsp"), publisher(OTHER, "/stranger")];
    for is_wrong_last in [true, false] {
        let mut player = Player::new().play(100);
        let now = player.now();
        player.live.set_publishers(Topic::Static, &both);
        hear(&mut player.live, Topic::Static, &[wrong()], OTHER, now);
        if !is_wrong_last {
            player = player.play(100);
        }
        let check = player.checked();
        assert_eq!(faults(&check), [("tool", FrameStatus::Off)]);
        assert_eq!(kinds(&check), [CauseKind::SecondPublisher]);
        let cause = &check.causes[0].sentence;
        assert!(
            cause.starts_with("/rsp and /stranger contradict each other on /tf_static about tool"),
            "{cause}"
        );

        // The wrong one leaves: tf2 keeps its transform if it was the last.
        player.live.set_publishers(Topic::Static, &both[..1]);
        let check = player.checked();
        if is_wrong_last {
            assert_eq!(faults(&check), [("tool", FrameStatus::Off)]);
            assert!(
                check.causes[0]
                    .sentence
                    .contains("/stranger (which has left"),
                "{check:?}"
            );
            // It is published again.
            assert_eq!(faults(&player.play(100).checked()), []);
        } else {
            assert_eq!((faults(&check), kinds(&check)), (vec![], vec![]));
        }
    }
}

#[test]
fn a_static_transform_stays_without_its_publisher_and_is_reported() {
    let mut player = Player::new().play(100);
    player
        .live
        .set_publishers(Topic::Static, &[publisher(ID, "/rsp")]);
    player.live.set_publishers(Topic::Static, &[]);
    let check = player.checked();
    assert_eq!(
        (faults(&check), kinds(&check)),
        (vec![], vec![CauseKind::DepartedPublisher])
    );
    assert!(
        check.causes[0]
            .sentence
            .starts_with("/rsp, which published tool, camera on /tf_static, has left")
            && check.findings[3]
                .detail
                .contains("/rsp, which published it, has left"),
        "{check:?}"
    );
    // A new robot moves the frame.
    let mut other = Player::new().play(100);
    let now = other.now();
    let was_static = transform("base", "arm", &Pose::translation(0.0, 0.0, 0.5), 0);
    hear(&mut other.live, Topic::Static, &[was_static], OTHER, now);
    assert_eq!(faults(&other.checked()), [("arm", FrameStatus::WrongTopic)]);
    let both = [publisher(ID, "/rsp"), publisher(OTHER, "/before")];
    other.live.set_publishers(Topic::Static, &both);
    other.live.set_publishers(Topic::Static, &both[..1]);
    assert_eq!(faults(&other.checked()), []);
    // It is published again.
    let again = [publisher(OTHER, "/rsp")];
    player.live.set_publishers(Topic::Static, &again);
    player.bend = Box::new(|t, topic| vec![(t, topic, OTHER)]);
    assert_eq!(kinds(&player.play(3000).checked()), []);
}

#[test]
fn a_renamed_frame_is_one_finding() {
    /// Returns a robot that publishes frames under other names.
    fn named(names: &'static [(&'static str, &'static str)]) -> Player {
        let other = |name: &mut String| {
            if let Some((_, other)) = names.iter().find(|(old, _)| old == name) {
                *name = (*other).to_owned();
            }
        };
        Player::bent(move |mut t, topic| {
            other(&mut t.child);
            other(&mut t.parent);
            vec![(t, topic, ID)]
        })
    }
    type Renamed = &'static [(&'static str, &'static str)];
    let cases: [(Renamed, &[&str]); 4] = [
        (&[("tool", "tcp")], &["tool"]),
        // With its children, whose parents are right.
        (&[("hand", "wrist"), ("tool", "tcp")], &["hand", "tool"]),
        (&[("base", "pedestal")], &["base"]),
        (&[("arm", "boom"), ("camera", "eye")], &["arm", "camera"]),
    ];
    for (names, missing) in cases {
        let check = named(names).play(2000).checked();
        let found: Vec<&str> = faults(&check)
            .iter()
            .map(|(frame, verdict)| {
                assert_eq!(*verdict, FrameStatus::Missing, "{check:?}");
                *frame
            })
            .collect();
        assert_eq!(found, missing, "{check:?}");
        assert_eq!(kinds(&check), [CauseKind::RenamedFrames], "{check:?}");
        for (old, new) in names {
            let pair = format!("{old:?} as {new:?}");
            assert!(check.causes[0].sentence.contains(&pair), "{check:?}");
            let finding = check.findings.iter().find(|f| f.frame == *old).unwrap();
            assert_eq!(finding.detail, format!("TF has {new:?} in its place"));
        }
    }
    // At another pose it is another frame.
    let away = |mut t: Said, topic| {
        if t.child == "tool" {
            t = shifted(t, 0.05);
            t.child = "tcp".to_owned();
        }
        vec![(t, topic, ID)]
    };
    let check = Player::bent(away).play(100).checked();
    assert_eq!(
        (faults(&check), kinds(&check)),
        (
            vec![("tool", FrameStatus::Missing), ("tcp", FrameStatus::Extra)],
            vec![]
        )
    );
    // The robot runs with the previous revision, in which the frame has that name.
    let player = named(&[("tool", "tcp")]).play(1000);
    let mut older = asset();
    older.frames[3].id = "tcp".to_owned();
    let older = Arc::new(Expected::new(older, player.start).unwrap());
    let expected = Expected::new(asset(), player.start)
        .unwrap()
        .after(Some(older));
    let check = check_frames(
        &expected,
        &[],
        &only_here(&player.live),
        &Limits::default(),
        player.now(),
    );
    assert_eq!(
        kinds(&check),
        [CauseKind::OlderDescription, CauseKind::RenamedFrames]
    );
}

#[test]
fn a_state_publisher_that_ends_while_joint_states_go_on_is_named() {
    let until = |t: Said, topic| {
        let is_over = topic == Topic::Moving && t.stamp > 2_000_000_000;
        if is_over {
            vec![]
        } else {
            vec![(t, topic, ID)]
        }
    };
    let mut player = Player::bent(until).play(1000);
    player
        .live
        .set_publishers(Topic::Moving, &[publisher(ID, "/rsp")]);
    player
        .live
        .set_publishers(Topic::Moving, &[publisher(OTHER, "/odometry")]);
    let player = player.play(6000);
    let check = player.checked();
    let stale = ["arm", "hand", "finger"].map(|frame| (frame, FrameStatus::Stale));
    assert_eq!(faults(&check), stale);
    assert_eq!(kinds(&check), [CauseKind::NoStatePublisher]);
    let cause = &check.causes[0].sentence;
    assert!(
        cause.contains("joint states go on on /joint_states")
            && cause.contains("/rsp, which published the frames that they move on /tf, has left"),
        "{cause}"
    );
}

#[test]
fn a_joint_that_joint_states_lack_is_named() {
    let mut player = only("arm", |_, _| vec![]);
    player.joints = false;
    for _ in 0..100 {
        player = player.play(10);
        let (now, positions) = (player.now(), player.positions());
        let said = state(1000 + player.at, &[("slide", positions[1])]);
        player.live.add_joint_positions(&said.borrowed(), ID, now);
    }
    let check = player.checked();
    // Nothing else names the root.
    assert_eq!(
        faults(&check),
        [
            ("base", FrameStatus::Missing),
            ("arm", FrameStatus::Missing)
        ]
    );
    assert_eq!(kinds(&check), [CauseKind::MissingJoints]);
    let cause = &check.causes[0].sentence;
    assert!(
        cause.starts_with("joint turn is missing from the messages on /joint_states"),
        "{cause}"
    );
}

#[test]
fn a_topic_that_nobody_publishes_is_named() {
    let mut player = Player::bent(|_, _| vec![]).play(100);
    for topic in [Topic::Moving, Topic::Static] {
        player.live.set_publishers(topic, &[]);
    }
    let check = player.checked();
    assert_eq!(kinds(&check), [CauseKind::NoTransforms]);
    let cause = &check.causes[0].sentence;
    assert!(
        cause.starts_with("no node publishes on /tf and /tf_static"),
        "{cause}"
    );
    let one = [publisher(ID, "/rsp")];
    player.live.set_publishers(Topic::Static, &one);
    let check = player.checked();
    assert!(
        check.causes[0]
            .sentence
            .starts_with("no node publishes on /tf:"),
        "{check:?}"
    );
}

#[test]
fn nothing_is_compared_across_a_reset_of_the_clock() {
    let mut player = Player::new().play(1000);
    player.live.set_clock_resets(1);
    let check = player.checked();
    assert_eq!(faults(&check), []);
    assert!(
        check.findings[1].detail.contains("no joint state"),
        "{check:?}"
    );
}

#[test]
fn a_second_publisher_of_a_joint_is_recognised() {
    let mut player = Player::new();
    for _ in 0..300 {
        player = player.play(10);
        let (now, positions) = (player.now(), player.positions());
        player.live.add_joint_positions(
            &state(1000 + player.at, &[("turn", positions[0] + 0.5)]).borrowed(),
            OTHER,
            now,
        );
    }
    let check = player.checked();
    assert!(
        kinds(&check).contains(&CauseKind::SecondPublisher),
        "{:?}",
        check.causes
    );
}

#[test]
fn a_calibrated_robot_is_recognised() {
    let bend = |mut t: Said, topic| {
        if topic == Topic::Moving {
            (t.translation[0], t.translation[1]) = (0.002, -0.003);
        }
        vec![(t, topic, ID)]
    };
    let check = Player::bent(bend).play(2000).checked();
    assert_eq!(
        faults(&check),
        [
            ("arm", FrameStatus::Off),
            ("hand", FrameStatus::Off),
            ("finger", FrameStatus::Off)
        ]
    );
    assert_eq!(kinds(&check), [CauseKind::Calibration]);
}

#[test]
fn frames_added_to_the_robot_are_extra_and_no_fault() {
    let mut player = Player::new().play(500);
    let now = player.now();
    let more = [
        ("tool", "gripper"),
        ("gripper", "jaw"),
        ("map", "base"),
        ("map", "table"),
        ("robot", "odd"),
    ];
    let more = more.map(|(parent, child)| transform(parent, child, &Pose::identity(), 0));
    hear(&mut player.live, Topic::Static, &more, OTHER, now);
    let check = player.checked();
    assert_eq!(
        faults(&check),
        [("gripper", FrameStatus::Extra), ("jaw", FrameStatus::Extra)]
    );
    assert!(check.is_ok() && check.findings[0].actual_parent.as_deref() == Some("map"));
    let expected = Expected::new(asset(), player.start).unwrap();
    let limits = Limits {
        ignore: vec!["grip*".to_owned(), "t??l".to_owned()],
        ..Limits::default()
    };
    let check = check_frames(&expected, &[], &only_here(&player.live), &limits, now);
    assert_eq!(faults(&check), []);
    assert!(check.findings[3].detail.starts_with("ignored"));
}

#[test]
fn patterns() {
    let ignores = |pattern: &str, frame: &str| {
        Limits {
            ignore: vec![pattern.to_owned()],
            ..Limits::default()
        }
        .ignores(frame)
    };
    for (pattern, frame, fits) in [
        ("*", "", true),
        ("tag_*", "tag_7", true),
        ("tag_*", "stag_7", false),
        ("*/tool?", "left/tool0", true),
        ("*/tool?", "left/tool", false),
        ("/a*b*c", "axxbyyc", true),
        ("a*b*c", "axxbyy", false),
        ("", "", true),
        ("", "a", false),
    ] {
        assert_eq!(ignores(pattern, frame), fits, "{pattern} {frame}");
    }
}

#[test]
fn the_root_hangs_on_anything_unless_the_asset_says_what() {
    let mut player = Player::new().play(100);
    let now = player.now();
    hear(
        &mut player.live,
        Topic::Moving,
        &[transform("odom", "base", &Pose::identity(), 0)],
        ID,
        now,
    );
    assert_eq!(faults(&player.checked()), []);
    let mut held = asset();
    held.context.parent_frame = Some("world".to_owned());
    held.frames[0].parent = Some("world".to_owned());
    let checked = |asset: &AssetFrames| {
        check_frames(
            &Expected::new(asset.clone(), player.start).unwrap(),
            &[],
            &only_here(&player.live),
            &Limits::default(),
            now,
        )
    };
    assert_eq!(
        faults(&checked(&held)),
        [("base", FrameStatus::WrongParent)]
    );
    held.frames[0].parent = Some("odom".to_owned());
    assert_eq!(faults(&checked(&held)), []);
}

#[test]
fn the_ros_root_is_reported_only_if_it_is_broadcast() {
    let mut player = Player::new().play(100);
    assert_eq!(player.checked().findings.len(), 6);
    let now = player.now();
    let both =
        [("world", "robot"), ("robot", "base")].map(|(p, c)| transform(p, c, &Pose::identity(), 0));
    hear(&mut player.live, Topic::Static, &both, ID, now);
    let check = player.checked();
    assert_eq!((faults(&check), check.findings.len()), (vec![], 7));
    assert_eq!(check.findings[6].frame, "robot");
}

#[test]
fn a_cameras_own_frame_may_be_unheard_but_not_elsewhere() {
    let mut own = asset();
    own.frames[3].from_sensor = true;
    let checked = |player: &Player| {
        check_frames(
            &Expected::new(own.clone(), player.start).unwrap(),
            &[],
            &only_here(&player.live),
            &Limits::default(),
            player.now(),
        )
    };
    assert_eq!(faults(&checked(&only("tool", |_, _| vec![]).play(100))), []);
    let off = only("tool", |t, topic| vec![(shifted(t, 0.1), topic, ID)]).play(100);
    assert_eq!(faults(&checked(&off)), [("tool", FrameStatus::Off)]);
}

#[test]
fn only_the_frames_asked_for() {
    let mut player = Player::new().play(100);
    let now = player.now();
    hear(
        &mut player.live,
        Topic::Static,
        &[transform("tool", "more", &Pose::identity(), 0)],
        ID,
        now,
    );
    let expected = Expected::new(asset(), player.start).unwrap();
    let only = ["/arm".to_owned(), "more".to_owned(), "nowhere".to_owned()];
    let check = check_frames(
        &expected,
        &only,
        &only_here(&player.live),
        &Limits::default(),
        now,
    );
    let found: Vec<_> = check
        .findings
        .iter()
        .map(|f| (f.frame.as_str(), f.verdict))
        .collect();
    assert_eq!(
        found,
        [
            ("arm", FrameStatus::Ok),
            ("more", FrameStatus::Extra),
            ("nowhere", FrameStatus::Missing)
        ]
    );
}

#[test]
fn a_planar_joint_may_slide_and_turn_in_its_plane_and_nothing_else() {
    let mut planar = asset();
    planar.joints[0].kind = JointKind::Planar;
    let expected = Expected::new(planar, Instant::now()).unwrap();
    let checked = |pose: Pose| {
        let (mut live, now) = (Live::new(topics("")), Instant::now());
        hear(
            &mut live,
            Topic::Moving,
            &[transform("base", "arm", &pose, 0)],
            ID,
            now,
        );
        check_frames(
            &expected,
            &["arm".to_owned()],
            &only_here(&live),
            &Limits::default(),
            now,
        )
        .findings[0]
            .verdict
    };
    let at = |x, y, z, rpy: [f64; 3]| {
        Pose::from_parts(
            Translation3::new(x, y, z),
            UnitQuaternion::from_euler_angles(rpy[0], rpy[1], rpy[2]),
        )
    };
    assert_eq!(
        checked(at(3.0, -2.0, 0.5, [0.0, 0.0, 2.0])),
        FrameStatus::Ok
    );
    assert_eq!(checked(at(3.0, -2.0, 0.6, [0.0; 3])), FrameStatus::Off);
    assert_eq!(
        checked(at(0.0, 0.0, 0.5, [0.1, 0.0, 0.0])),
        FrameStatus::Off
    );
}

#[test]
fn older_transforms_do_not_count() {
    let lie = |mut t: Said, topic| {
        t.translation[2] += 0.03;
        vec![(t, topic, ID)]
    };
    let mut player = only("arm", lie).play(1000);
    player.bend = Box::new(|t, topic| vec![(t, topic, ID)]);
    let since = player.now();
    let player = player.play(50);
    let checked = |since| {
        check_frames(
            &Expected::new(asset(), since).unwrap(),
            &[],
            &only_here(&player.live),
            &Limits::default(),
            player.now(),
        )
    };
    assert_eq!(faults(&checked(since)), []);
    assert_eq!(faults(&checked(player.start)), [("arm", FrameStatus::Off)]);
}
