//! Joint states: the positions of every joint over the last seconds, by stamp.
//!
//! Several publishers may each publish a part of the joints. Memory is bounded by the number of
//! joints.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use crate::input::{JointPositions, PublisherId};
use crate::stream::{StampOrder, Stream};

/// Maximum number of joints, against invented names.
const MAX_JOINTS: usize = 20_000;
/// Maximum length of a joint's name, in bytes.
const MAX_NAME_BYTES: usize = 1024;
/// Time without an update after which a joint is dropped if there are too many.
const EXPIRY: Duration = Duration::from_secs(600);
/// Maximum number of positions kept per joint.
const MAX_POSITIONS: usize = 1024;
/// Minimum distance of their stamps, in ns: with it they cover four seconds at any rate.
const MIN_SPACING: u64 = 4_000_000;
/// Maximum distance of two stamps, in ns, for an interpolation between them.
const MAX_GAP: i64 = 150_000_000;

/// Maximum age of a joint's last update for a comparison with a transform.
const MAX_SILENCE: Duration = Duration::from_secs(2);

/// The positions of all joints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joints {
    joints: HashMap<String, Joint, RandomState>,
    /// Time of the last joint states.
    heard: Option<Instant>,
    /// Time of the last joint states without a stamp.
    unstamped: Option<Instant>,
    /// Time of the last pruning.
    last_prune: Option<Instant>,
}

/// The positions of a joint.
#[derive(Clone, Debug)]
struct Joint {
    /// Sorted by stamp, without duplicates.
    positions: VecDeque<(i64, f64)>,
    heard: Instant,
    stream: Stream,
}

/// The range of positions that a joint may have had at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    /// Lower end, in rad or m.
    pub(crate) lower: f64,
    /// Upper end, in rad or m.
    pub(crate) upper: f64,
}

impl Joints {
    /// Adds joint states. Returns whether a publisher's clock was set back, which makes older
    /// positions incomparable with newer ones (see [`Joints::forget_positions`]).
    pub(crate) fn add(
        &mut self,
        state: &JointPositions<'_>,
        publisher: PublisherId,
        now: Instant,
    ) -> bool {
        let stamp = state.stamp;
        let mut was_reset = false;
        // A publisher of velocities only sends no positions; if the arrays differ in length, the
        // common part counts.
        for (name, &position) in state.names.iter().zip(state.positions) {
            if !position.is_finite() {
                continue;
            }
            self.heard = Some(now);
            let Some(joint) = self.joints.get_mut(name) else {
                // Pruning visits all joints, so it must not run for each new name.
                if self.joints.len() >= MAX_JOINTS
                    && self.last_prune.is_none_or(|at| now >= at + MAX_SILENCE)
                {
                    self.last_prune = Some(now);
                    self.joints
                        .retain(|_, joint| now.saturating_duration_since(joint.heard) < EXPIRY);
                }
                if self.joints.len() < MAX_JOINTS && name.len() <= MAX_NAME_BYTES {
                    let stream = Stream::new(publisher, stamp);
                    let mut joint = Joint {
                        positions: VecDeque::new(),
                        heard: now,
                        stream,
                    };
                    joint.insert(stamp, position);
                    self.joints.insert(name.clone(), joint);
                }
                continue;
            };
            joint.heard = now;
            match joint.stream.add(publisher, stamp, now) {
                StampOrder::InOrder => {}
                // It may date from before a reset.
                StampOrder::Late => continue,
                StampOrder::NewStart => joint.positions.clear(),
                StampOrder::ClockReset => {
                    was_reset = true;
                    joint.positions.clear();
                }
            }
            joint.insert(stamp, position);
        }
        if stamp == 0 && !state.positions.is_empty() {
            self.unstamped = Some(now);
        }
        was_reset
    }

    /// Forgets all positions.
    pub(crate) fn forget_positions(&mut self) {
        for joint in self.joints.values_mut() {
            joint.positions.clear();
        }
    }

    /// Returns the latest position of each joint, by stamp.
    pub(crate) fn newest(&self) -> impl Iterator<Item = (&str, f64)> {
        self.joints
            .iter()
            .filter_map(|(name, joint)| Some((name.as_str(), joint.positions.back()?.1)))
    }

    /// Returns the time of the last joint states.
    pub(crate) fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// Returns the time of the last joint states without a stamp.
    pub(crate) fn unstamped(&self) -> Option<Instant> {
        self.unstamped
    }

    /// Returns the time of a joint's last update.
    pub(crate) fn last_heard(&self, joint: &str) -> Option<Instant> {
        self.joints.get(joint).map(|joint| joint.heard)
    }

    /// Returns whether two publishers of a joint have alternated within `timeout`.
    pub(crate) fn is_contested(&self, joint: &str, now: Instant, timeout: Duration) -> bool {
        self.joints
            .get(joint)
            .is_some_and(|joint| joint.stream.is_alternating(now, timeout))
    }

    /// Returns the positions that a joint may have had at `stamp` (ns), for a transform received at
    /// `heard`; `None` if that is unknown.
    ///
    /// For a stamp that was received, the range is that position. Otherwise it spans the two
    /// positions around the stamp, widened by the largest of the steps between them and to their
    /// neighbours: a bound for smooth motion, which prefers a missed fault to a false one.
    pub(crate) fn at(&self, joint: &str, stamp: i64, heard: Instant) -> Option<Bounds> {
        let joint = self.joints.get(joint)?;
        // After a silence, or with a new publisher, the positions may date from another run of the
        // robot.
        if heard.saturating_duration_since(joint.heard) > MAX_SILENCE
            || !joint.stream.is_settled(heard)
        {
            return None;
        }
        let positions = &joint.positions;
        let after = match positions.binary_search_by_key(&stamp, |(at, _)| *at) {
            Ok(exact) => {
                return positions.get(exact).map(|&(_, position)| Bounds {
                    lower: position,
                    upper: position,
                });
            }
            Err(after) => after,
        };
        let get = |index: Option<usize>| index.and_then(|index| positions.get(index)).copied();
        let ((from, a), (to, b)) = (get(after.checked_sub(1))?, get(Some(after))?);
        if to.saturating_sub(from) > MAX_GAP {
            return None;
        }
        let step = (b - a).abs();
        // Without a neighbour on one side, the joint may have moved twice as far there.
        let beyond = |outer: Option<(i64, f64)>, inner: f64| {
            outer.map_or(2.0 * step, |(_, position)| (position - inner).abs())
        };
        let slack = step
            .max(beyond(get(after.checked_sub(2)), a))
            .max(beyond(get(Some(after + 1)), b));
        Some(Bounds {
            lower: a.min(b) - slack,
            upper: a.max(b) + slack,
        })
    }
}

impl Joint {
    fn insert(&mut self, stamp: i64, position: f64) {
        if stamp == 0 {
            return;
        }
        match self.positions.binary_search_by_key(&stamp, |(at, _)| *at) {
            Ok(same) => {
                if let Some((_, known)) = self.positions.get_mut(same) {
                    *known = position;
                }
            }
            Err(after) => {
                let is_near = |index: usize| {
                    self.positions
                        .get(index)
                        .is_some_and(|(at, _)| stamp.abs_diff(*at) < MIN_SPACING)
                };
                // Denser positions would only shorten the time that is covered.
                if is_near(after) || after.checked_sub(1).is_some_and(is_near) {
                    return;
                }
                if self.positions.len() == MAX_POSITIONS {
                    // It is older than all that are kept, and the newest count.
                    if after == 0 {
                        return;
                    }
                    self.positions.pop_front();
                    self.positions.insert(after - 1, (stamp, position));
                } else {
                    self.positions.insert(after, (stamp, position));
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Owned joint positions.
    pub(crate) struct State {
        pub(crate) stamp: i64,
        pub(crate) names: Vec<String>,
        pub(crate) positions: Vec<f64>,
    }

    impl State {
        pub(crate) fn borrowed(&self) -> JointPositions<'_> {
            JointPositions {
                stamp: self.stamp,
                names: &self.names,
                positions: &self.positions,
            }
        }
    }

    pub(crate) fn state(milliseconds: u32, joints: &[(&str, f64)]) -> State {
        State {
            stamp: i64::from(milliseconds) * MS,
            names: joints.iter().map(|(name, _)| (*name).to_owned()).collect(),
            positions: joints.iter().map(|(_, position)| *position).collect(),
        }
    }

    fn heard(states: &[(u32, f64)]) -> Joints {
        let mut joints = Joints::default();
        for (at, position) in states {
            joints.add(
                &state(*at, &[("j", *position)]).borrowed(),
                PublisherId::default(),
                Instant::now(),
            );
        }
        joints
    }

    const MS: i64 = 1_000_000;

    #[test]
    fn a_moment_that_was_heard_is_exact() {
        let joints = heard(&[(1000, 0.0), (1010, 0.1), (1020, 0.3)]);
        assert_eq!(
            joints.at("j", 1010 * MS, Instant::now()),
            Some(Bounds {
                lower: 0.1,
                upper: 0.1
            })
        );
        assert_eq!(
            [("other", 1010), ("j", 999), ("j", 1021)].map(|(joint, at)| joints.at(
                joint,
                at * MS,
                Instant::now()
            )),
            [None; 3]
        );
    }

    #[test]
    fn between_two_moments_it_may_be_anywhere_near() {
        let joints = heard(&[(1000, 0.0), (1010, 0.1), (1020, 0.3), (1030, 0.35)]);
        let Bounds { lower, upper } = joints.at("j", 1015 * MS, Instant::now()).unwrap();
        assert!(
            (lower + 0.1).abs() < 1e-12 && (upper - 0.5).abs() < 1e-12,
            "{lower} {upper}"
        );
    }

    #[test]
    fn a_long_silence_says_nothing() {
        assert_eq!(
            heard(&[(1000, 0.0), (2000, 0.1)]).at("j", 1500 * MS, Instant::now()),
            None
        );
    }

    #[test]
    fn moments_are_few_and_late_ones_go_without() {
        let mut joints = heard(&[(1000, 0.0), (1001, 5.0), (1020, 0.2), (1010, 0.1)]);
        assert_eq!(
            joints.joints["j"].positions,
            [(1000 * MS, 0.0), (1020 * MS, 0.2)]
        );
        for at in 0..20_000 {
            joints.add(
                &state(2000 + at, &[("j", 0.0)]).borrowed(),
                PublisherId::default(),
                Instant::now(),
            );
        }
        assert_eq!(joints.joints["j"].positions.len(), MAX_POSITIONS);
    }

    #[test]
    fn moments_of_two_publishers_come_in_any_order() {
        let (mut joints, start) = (heard(&[(1000, 0.0)]), Instant::now());
        for (at, who) in [(1010, 1), (1030, 0), (1020, 1), (1040, 0)] {
            assert!(!joints.add(
                &state(at, &[("j", f64::from(at))]).borrowed(),
                PublisherId([who; 16]),
                start
            ));
        }
        let positions: Vec<i64> = joints.joints["j"]
            .positions
            .iter()
            .map(|(at, _)| at / MS)
            .collect();
        assert_eq!(
            positions,
            [1010, 1020, 1030, 1040],
            "from the first message of the second on"
        );
    }

    #[test]
    fn comparisons_pause_after_a_new_publisher() {
        let (mut joints, start) = (heard(&[(1000, 0.0)]), Instant::now());
        let other = PublisherId([1; 16]);
        for (at, milliseconds) in [(1010, 0), (3500, 2490), (3520, 2510)] {
            joints.add(
                &state(at, &[("j", 0.5)]).borrowed(),
                other,
                start + Duration::from_millis(milliseconds),
            );
        }
        let at = |heard| joints.at("j", 3520 * MS, start + Duration::from_millis(heard));
        assert_eq!(
            (at(2499), at(2510)),
            (
                None,
                Some(Bounds {
                    lower: 0.5,
                    upper: 0.5
                })
            )
        );
    }

    #[test]
    fn clock_resets_and_missing_stamps_are_reported() {
        let mut joints = heard(&[(1000, 0.0), (1010, 0.0)]);
        assert!(joints.add(
            &state(400, &[("j", 0.0)]).borrowed(),
            PublisherId::default(),
            Instant::now()
        ));
        assert!(
            joints.at("j", 1000 * MS, Instant::now()).is_none() && joints.unstamped().is_none()
        );
        assert!(!joints.add(
            &state(0, &[("j", 0.0)]).borrowed(),
            PublisherId::default(),
            Instant::now()
        ));
        assert!(joints.unstamped().is_some());
    }

    #[test]
    fn names_that_come_and_go_leave_room_for_new_ones() {
        let (mut joints, start) = (Joints::default(), Instant::now());
        for second in 0..600 {
            let names: Vec<String> = (0..100).map(|n| format!("j_{second}_{n}")).collect();
            let positions: Vec<(&str, f64)> =
                names.iter().map(|name| (name.as_str(), 0.0)).collect();
            // When there are too many, the first are old enough to be dropped.
            joints.add(
                &state(second, &positions).borrowed(),
                PublisherId::default(),
                start + Duration::from_secs(10 * u64::from(second)),
            );
        }
        assert!(joints.joints.len() <= MAX_JOINTS, "{}", joints.joints.len());
        assert!(joints.last_heard("j_599_99").is_some() && joints.last_heard("j_0_0").is_none());
        joints.add(
            &state(700, &[("x".repeat(2000).as_str(), 0.0)]).borrowed(),
            PublisherId::default(),
            start,
        );
        assert!(joints.last_heard(&"x".repeat(2000)).is_none());
    }

    #[test]
    fn stamps_may_be_any_numbers() {
        let mut joints = Joints::default();
        let names = ["j".to_owned()];
        for stamp in [i64::MAX, i64::MIN, -1, 1, i64::MAX] {
            joints.add(
                &JointPositions {
                    stamp,
                    names: &names,
                    positions: &[0.5],
                },
                PublisherId::default(),
                Instant::now(),
            );
        }
        assert_eq!(joints.at("j", 5, Instant::now()), None);
    }
}
