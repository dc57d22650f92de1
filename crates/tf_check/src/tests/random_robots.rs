//! Property tests: a robot that matches its asset never gets a fault, and one with wrong joint
//! states always does.
//!
//! Random trees move at random; messages are late, lost or overtaken, stamps jitter, publishers
//! send a part of the joints each or restart, and clocks differ or are reset.

use std::time::{Duration, Instant};

use nalgebra::{Translation3, Unit, UnitQuaternion, Vector3};
use proptest::prelude::*;

use super::{Said, hear, only_here, topics, transform};
use crate::frames::{AssetFrame, AssetFrames, AssetJoint, AssetMimic, FrameKind, RosContext};
use crate::joints::tests::State;
use crate::tf::Topic;
use crate::*;
use urdf_usd_robot::kinematics::Model;
use urdf_usd_robot::{JointKind, Pose};

/// Duration of a run, in s.
const LENGTH: f64 = 8.0;

/// The parameters of a case.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    frames: usize,
    /// Number of publishers of joint states.
    parts: usize,
    /// Rate in Hz.
    rate: f64,
    /// Maximum delay of a message, in s.
    delay: f64,
    /// Probability that a message is lost.
    loss: f64,
    /// Whether transforms have the joint states' stamps, as from robot_state_publisher, or their
    /// own, as from a simulator.
    follows: bool,
    /// Probability that a message has an earlier stamp, and by how much at most, in s.
    jitter: (f64, f64),
    /// Time of a clock reset, if any, and whether the publishers are new.
    reset: Option<(f64, bool)>,
    /// Time from which the publisher of transforms is another one.
    restart: Option<f64>,
    /// Error of all joint states, in rad or m.
    lie: f64,
}

/// Cases of robots that match their asset.
fn honest() -> impl Strategy<Value = Case> {
    let parts = (
        any::<u64>(),
        2..12_usize,
        1..4_usize,
        20.0..200.0_f64,
        0.0..0.8_f64,
        0.0..0.4_f64,
        any::<bool>(),
    );
    let jitter = prop_oneof![Just((0.0, 0.0)), (0.0..0.5_f64, 0.0..0.45_f64)];
    let events = (
        prop::option::of((0.3..6.0_f64, any::<bool>())),
        prop::option::of(0.5..7.0_f64),
    );
    (parts, jitter, events).prop_map(
        |((seed, frames, parts, rate, delay, loss, follows), jitter, (reset, restart))| {
            // A simulator publishes everything from one source.
            let parts = if follows { parts } else { 1 };
            Case {
                seed,
                frames,
                parts,
                rate,
                delay,
                loss,
                follows,
                jitter,
                reset,
                restart,
                lie: 0.0,
            }
        },
    )
}

/// Cases of wrong joint states, with enough time after the last event to be detected.
fn liar() -> impl Strategy<Value = Case> {
    let events = (
        prop::option::of((0.3..3.0_f64, any::<bool>())),
        prop::option::of(0.5..3.0_f64),
    );
    (honest(), events, 0.0..0.05_f64, 0.1..1.0_f64).prop_map(
        |(case, (reset, restart), late, lie)| {
            // Between two joint states anything near counts, so use the same stamps.
            Case {
                follows: true,
                loss: 0.5 * case.loss,
                jitter: (late, case.jitter.1),
                reset,
                restart,
                lie,
                ..case
            }
        },
    )
}

/// A seeded generator of random numbers.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 31)
    }

    fn from(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count - 1)
    }

    fn pose(&mut self) -> Pose {
        let at = Translation3::new(
            self.from(-1.0, 1.0),
            self.from(-1.0, 1.0),
            self.from(-1.0, 1.0),
        );
        let turn = UnitQuaternion::from_euler_angles(
            self.from(-3.0, 3.0),
            self.from(-1.5, 1.5),
            self.from(-3.0, 3.0),
        );
        Pose::from_parts(at, turn)
    }
}

fn asset(count: usize, random: &mut Random) -> AssetFrames {
    let mut asset = AssetFrames {
        context: RosContext {
            namespace: "/".into(),
            ..RosContext::default()
        },
        ..AssetFrames::default()
    };
    for index in 0..count {
        let parent = (index > 0).then(|| random.below(index));
        let moves = index > 0 && random.unit() < 0.7;
        let frame = AssetFrame {
            id: format!("f{index}"),
            display_name: None,
            parent: parent.map(|parent| format!("f{parent}")),
            is_static: !moves,
            pose: random.pose(),
            kind: FrameKind::Body,
            from_sensor: false,
            is_root: index == 0,
            is_apart: false,
            joint: moves.then_some(asset.joints.len()),
        };
        if moves {
            let axis = Vector3::new(
                random.from(-1.0, 1.0),
                random.from(-1.0, 1.0),
                random.from(0.2, 1.0),
            );
            let kinds = [
                JointKind::Revolute,
                JointKind::Continuous,
                JointKind::Prismatic,
            ];
            let leader = (!asset.joints.is_empty() && random.unit() < 0.2)
                .then(|| random.below(asset.joints.len()));
            asset.joints.push(AssetJoint {
                name: format!("j{index}"),
                kind: kinds[random.below(3)],
                origin: random.pose(),
                tail: random.pose(),
                axis: Unit::new_normalize(axis),
                mimic: leader.map(|joint| AssetMimic {
                    joint,
                    multiplier: random.from(-2.0, 2.0),
                    offset: random.from(-1.0, 1.0),
                }),
            });
        }
        asset.frames.push(frame);
    }
    asset
}

/// The motion of a joint.
struct Motion {
    size: f64,
    pace: f64,
    phase: f64,
    /// Continuous rotation in rad/s; published within one turn.
    spin: Option<f64>,
}

impl Motion {
    fn at(&self, t: f64) -> f64 {
        match self.spin {
            Some(spin) => {
                (self.phase + spin * t).rem_euclid(std::f64::consts::TAU) - std::f64::consts::PI
            }
            None => self.size * (self.pace * t + self.phase).sin(),
        }
    }
}

enum Message {
    Joints(State),
    Transforms(Topic, Vec<Said>),
}

/// Converts seconds to nanoseconds.
fn time(seconds: f64) -> i64 {
    seconds.floor() as i64 * 1_000_000_000 + (seconds.fract() * 1e9) as i64
}

/// Returns the messages in order of arrival: time, publisher, content.
fn play(
    case: &Case,
    asset: &AssetFrames,
    model: &Model,
    random: &mut Random,
) -> Vec<(f64, PublisherId, Message)> {
    // The robot moves differently in each run.
    let mut motions = || -> Vec<Motion> {
        let motion = |joint: &AssetJoint| Motion {
            size: random.from(0.1, 2.0),
            pace: random.from(0.5, 6.0),
            phase: random.from(-3.0, 3.0),
            spin: (joint.kind == JointKind::Continuous && joint.mimic.is_none())
                .then(|| random.from(-8.0, 8.0)),
        };
        asset.joints.iter().map(motion).collect()
    };
    let lives = [motions(), motions()];
    let leaders: Vec<usize> = (0..asset.joints.len())
        .filter(|&joint| asset.joints[joint].mimic.is_none())
        .collect();
    let of_part: Vec<usize> = leaders.iter().map(|_| random.below(case.parts)).collect();
    // A simulator has one clock.
    let skews: Vec<f64> = (0..case.parts)
        .map(|_| {
            if case.follows {
                random.from(-0.2, 0.2)
            } else {
                0.0
            }
        })
        .collect();
    let positions = |life: usize, t: f64| {
        let mut positions: Vec<f64> = lives[life].iter().map(|motion| motion.at(t)).collect();
        model.follow(&mut positions);
        positions
    };
    // The joints that move with those of a part.
    let led = |joint: usize| {
        let mut at = joint;
        while let Some(mimic) = asset.joints[at].mimic {
            at = mimic.joint;
        }
        leaders
            .iter()
            .position(|&leader| leader == at)
            .map(|index| of_part[index])
    };
    let transforms = |life: usize, t: f64, stamp: f64, part: Option<usize>| -> Vec<Said> {
        let positions = positions(life, t);
        let is_moved = |frame: &AssetFrame| {
            frame
                .joint
                .is_some_and(|joint| part.is_none() || led(joint) == part)
        };
        let frames = asset
            .frames
            .iter()
            .enumerate()
            .filter(|(_, frame)| is_moved(frame));
        frames
            .map(|(index, frame)| {
                let parent = frame.parent.as_deref().unwrap_or_default();
                transform(
                    parent,
                    &frame.id,
                    &model.local(index, &positions),
                    time(stamp),
                )
            })
            .collect()
    };
    let fixed: Vec<Said> = asset
        .frames
        .iter()
        .filter(|frame| frame.is_static && !frame.is_root)
        .map(|frame| {
            transform(
                frame.parent.as_deref().unwrap_or_default(),
                &frame.id,
                &frame.pose,
                time(5.0),
            )
        })
        .collect();
    let id = |kind: u8, number: usize, life: u8| {
        PublisherId(
            [[kind, number as u8, life, 0]; 4]
                .concat()
                .try_into()
                .expect("16 bytes"),
        )
    };
    let mut heard = vec![(0.0, id(0, 0, 0), Message::Transforms(Topic::Static, fixed))];
    // Messages of one publisher never overtake each other.
    let mut last: std::collections::HashMap<PublisherId, f64> = std::collections::HashMap::new();
    let mut send = |t: f64, publisher: PublisherId, message: Message, random: &mut Random| {
        let arrival =
            (t + random.from(0.0, case.delay)).max(last.get(&publisher).copied().unwrap_or(0.0));
        if random.unit() >= case.loss {
            last.insert(publisher, arrival);
            heard.push((arrival, publisher, message));
        }
    };
    let mut offsets: Vec<f64> = (0..case.parts)
        .map(|_| random.from(0.0, 1.0 / case.rate))
        .collect();
    offsets.sort_by(f64::total_cmp);
    for tick in 0..(LENGTH * case.rate) as usize {
        for (part, offset) in offsets.iter().enumerate() {
            let t = offset + tick as f64 / case.rate;
            let (life, sim) = match case.reset {
                Some((at, _)) if t >= at => (1, t - at),
                _ => (0, t),
            };
            let generation = u8::from(life == 1 && case.reset.is_some_and(|(_, renewed)| renewed));
            let restarted = u8::from(case.restart.is_some_and(|at| t >= at)) * 2;
            let back = if random.unit() < case.jitter.0 {
                random.from(0.0, case.jitter.1)
            } else {
                0.0
            };
            let sim = (sim - back).max(0.0);
            let stamp = 10.0 + sim + skews[part];
            let positions = positions(life, sim);
            let mut state = State {
                stamp: time(stamp),
                names: Vec::new(),
                positions: Vec::new(),
            };
            for (joint, _) in leaders.iter().zip(&of_part).filter(|(_, of)| **of == part) {
                state.names.push(asset.joints[*joint].name.clone());
                state.positions.push(positions[*joint] + case.lie);
            }
            send(t, id(1, part, generation), Message::Joints(state), random);
            if case.follows {
                let moved = transforms(life, sim, stamp, Some(part));
                send(
                    t,
                    id(2, 0, generation + restarted),
                    Message::Transforms(Topic::Moving, moved),
                    random,
                );
            } else if part == 0 {
                let between = sim + random.from(0.0, 0.9 / case.rate);
                let moved = transforms(life, between, 10.0 + between, None);
                send(
                    t,
                    id(2, 0, generation + restarted),
                    Message::Transforms(Topic::Moving, moved),
                    random,
                );
            }
        }
    }
    heard.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    heard
}

/// Plays a case and checks the robot periodically; returns the findings with their times.
fn play_and_check(
    case: &Case,
    mut each: impl FnMut(f64, &FrameCheck) -> Result<(), TestCaseError>,
) -> Result<Expected, TestCaseError> {
    let mut random = Random(case.seed);
    let asset = asset(case.frames, &mut random);
    let model = asset.model().expect("a tree");
    let heard = play(case, &asset, &model, &mut random);
    let (mut live, start) = (Live::new(topics("")), Instant::now());
    let expected = Expected::new(asset, start).expect("a tree");
    let mut due = 0.0;
    for (arrival, publisher, message) in heard {
        let now = start + Duration::from_secs_f64(arrival);
        match message {
            Message::Joints(state) => live.add_joint_positions(&state.borrowed(), publisher, now),
            Message::Transforms(topic, transforms) => {
                hear(&mut live, topic, &transforms, publisher, now)
            }
        }
        if arrival >= due {
            due = arrival + 0.02;
            each(
                arrival,
                &check_frames(&expected, &[], &only_here(&live), &Limits::default(), now),
            )?;
        }
    }
    Ok(expected)
}

/// The number of cases is PROPTEST_CASES, or else small.
fn config() -> ProptestConfig {
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        ProptestConfig::default().cases
    } else {
        48
    };
    ProptestConfig {
        failure_persistence: None,
        cases,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_robot_as_its_asset_says_has_no_fault(case in honest()) {
        let mut compared = 0;
        let expected = play_and_check(&case, |arrival, check| {
            compared += check.findings.iter().filter(|f| f.detail.starts_with("at the pose by the joint state")).count();
            for finding in &check.findings {
                let is_heard = arrival > 2.5;
                let is_bad = match finding.verdict {
                    FrameStatus::Ok => false,
                    FrameStatus::Missing | FrameStatus::Stale => is_heard,
                    _ => true,
                };
                prop_assert!(!is_bad, "at {arrival}: {finding:?} of {case:?}");
            }
            if arrival > 2.5 {
                prop_assert_eq!(&check.causes, &[]);
            }
            Ok(())
        })?;
        // The frames were really compared.
        let moves = expected.iter().any(|frame| frame.joint.is_some());
        prop_assert!(!moves || compared > 0 || !case.follows || case.jitter.0 > 0.2);
    }

    #[test]
    fn wrong_joint_states_are_found(case in liar()) {
        let mut found = false;
        let expected = play_and_check(&case, |_, check| {
            found |= check.findings.iter().any(|f| f.verdict == FrameStatus::Off);
            Ok(())
        })?;
        let moves = expected.iter().any(|frame| frame.joint.is_some());
        prop_assert_eq!(found, moves, "{:?}", case);
    }
}
