//! Diagnosis of common causes of findings.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::check::{Deviation, Finding, FrameStatus, Observation, Snapshot, aliases, short};
use crate::frames::AssetFrame;
use crate::live::Live;
use crate::tf::{Topic, plain};

/// Maximum offset of a frame by calibration, in m and rad: a larger one means another robot.
const MAX_CALIBRATION: (f64, f64) = (0.05, 0.1);
/// Minimum number of frames with a small offset for a calibration.
const MIN_CALIBRATED_FRAMES: usize = 3;
/// Maximum number of names in a sentence.
const MAX_NAMES: usize = 5;

/// The kind of a common cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CauseKind {
    /// All frames have a prefix in TF.
    FramePrefix,
    /// The frames are on the topics of another namespace.
    OtherNamespace,
    /// The frames are those of the previous revision.
    OlderDescription,
    /// No joint states are published, so nothing moves frames.
    NoJointStates,
    /// Joint states have no stamp, so robot_state_publisher ignores them.
    UnstampedJointStates,
    /// Joint states go on, but no node publishes the frames that they move.
    NoStatePublisher,
    /// Joints are missing from joint states.
    MissingJoints,
    /// Mimic joints are not published.
    UnpublishedMimics,
    /// No node publishes transforms.
    NoTransforms,
    /// Two publishers contradict each other about frames, or alternate in publishing joints.
    SecondPublisher,
    /// The publishers of static frames have left.
    DepartedPublisher,
    /// Static frames are published on the topic of moving ones.
    StaticAsMoving,
    /// Many frames are off by small constant offsets.
    Calibration,
    /// TF and joint states disagree about joint positions.
    JointStates,
    /// Frames have names that are not valid prim names.
    EncodedNames,
    /// Frames have other names at the same pose.
    RenamedFrames,
    /// `/clock` stands still, or nothing publishes it.
    StoppedClock,
    /// The check itself stood still, and may not have received messages since.
    Standstill,
}

impl CauseKind {
    /// Returns its keyword, which is part of the public contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FramePrefix => "frame_prefix",
            Self::OtherNamespace => "other_namespace",
            Self::OlderDescription => "older_description",
            Self::NoJointStates => "no_joint_states",
            Self::UnstampedJointStates => "unstamped_joint_states",
            Self::NoStatePublisher => "no_state_publisher",
            Self::MissingJoints => "missing_joints",
            Self::UnpublishedMimics => "unpublished_mimics",
            Self::NoTransforms => "no_transforms",
            Self::SecondPublisher => "second_publisher",
            Self::DepartedPublisher => "departed_publisher",
            Self::StaticAsMoving => "static_as_moving",
            Self::Calibration => "calibration",
            Self::JointStates => "joint_states",
            Self::EncodedNames => "encoded_names",
            Self::RenamedFrames => "renamed_frames",
            Self::StoppedClock => "stopped_clock",
            Self::Standstill => "standstill",
        }
    }
}

/// A common cause of several findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The kind of cause.
    pub kind: CauseKind,
    /// The explanation as a sentence.
    pub sentence: String,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Reports frames whose name in TF is not a valid prim name, so that the asset has another one.
///
/// A look-up by the other name fails, so such a frame counts as missing unless it has a worse
/// finding.
pub(crate) fn encoded_names(
    snapshot: &Snapshot<'_>,
    observed: &mut [Observation],
    encoded: &HashMap<&str, &str>,
) -> Option<Cause> {
    let ok = observed
        .iter()
        .filter(|observed| !observed.finding.verdict.is_fault())
        .count();
    let mut names = Vec::new();
    for Observation { finding, .. } in observed.iter_mut() {
        let Some(name) = encoded.get(finding.frame.as_str()) else {
            continue;
        };
        if snapshot.ignores(&finding.frame, Some(name)) {
            continue;
        }
        names.push(format!("{name:?}"));
        let known = format!("TF has it as {name:?}, which is not a valid prim name");
        (finding.verdict, finding.detail) = match finding.verdict {
            FrameStatus::Ok => (FrameStatus::Missing, known),
            other => (other, format!("{known}; {}", finding.detail)),
        };
    }
    let (count, all) = (names.len(), observed.len());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let apart = if ok == all {
        "all match the asset".to_owned()
    } else {
        format!("{ok} of {all} match the asset")
    };
    (count > 0).then(|| Cause {
        kind: CauseKind::EncodedNames,
        sentence: format!(
            "{} are not valid prim names ({count} of the robot's frames), so the asset and simulators use other \
             names; apart from that, {apart}; rename these links to have the same names in both",
            list(&names)
        ),
    })
}

/// Returns the common causes of the findings, most likely first, and adds an explanation to the
/// findings.
pub(crate) fn causes(
    snapshot: &Snapshot<'_>,
    observed: &mut [Observation],
    extra: &[Finding],
    renamed: &HashMap<&str, &str>,
) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut add = |kind, sentence: Option<String>| {
        causes.extend(sentence.map(|sentence| Cause { kind, sentence }))
    };
    // Two publishers of joint states may alternate while the frames match, and static frames may
    // match although their publisher has left.
    add(CauseKind::SecondPublisher, second_publisher(snapshot));
    add(CauseKind::DepartedPublisher, departed_publisher(snapshot));
    let has_fault = observed
        .iter()
        .any(|observed| observed.finding.verdict.is_fault());
    if !has_fault && renamed.is_empty() {
        return causes;
    }
    let prefix = prefix(snapshot, observed);
    let is_elsewhere = if prefix.is_none() {
        other_namespace(snapshot, observed)
    } else {
        None
    };
    let is_heard_otherwise = prefix.is_some() || is_elsewhere.is_some();
    add(
        CauseKind::FramePrefix,
        prefix.map(|prefix| explain_prefix(snapshot, observed, &prefix)),
    );
    add(CauseKind::OtherNamespace, is_elsewhere);
    // Either explains all missing frames; further causes would be guesses.
    if is_heard_otherwise {
        return causes;
    }
    add(
        CauseKind::OlderDescription,
        older_description(snapshot, observed, extra, renamed),
    );
    add(CauseKind::NoTransforms, no_transforms(snapshot, observed));
    // Joint states can explain only frames that should move.
    if is_unmoved(snapshot, observed) {
        let unstamped = unstamped(snapshot);
        add(
            CauseKind::NoJointStates,
            if unstamped.is_none() {
                no_joint_states(snapshot)
            } else {
                None
            },
        );
        let is_unstamped = unstamped.is_some();
        add(CauseKind::UnstampedJointStates, unstamped);
        if !is_unstamped {
            add(
                CauseKind::NoStatePublisher,
                no_state_publisher(snapshot, observed),
            );
            add(CauseKind::MissingJoints, missing_joints(snapshot, observed));
        }
        add(
            CauseKind::UnpublishedMimics,
            unpublished_mimics(snapshot, observed),
        );
    }
    add(
        CauseKind::StaticAsMoving,
        static_as_moving(snapshot, observed),
    );
    let calibration = calibration(observed);
    // A calibration moves frames away from the joint states as well: report it once.
    let is_calibrated = calibration.is_some();
    add(CauseKind::Calibration, calibration);
    add(
        CauseKind::JointStates,
        if is_calibrated {
            None
        } else {
            joint_states(snapshot, observed)
        },
    );
    causes
}

/// Returns the missing frames, except for ignored ones and optical frames of cameras.
fn missing<'a>(
    snapshot: &'a Snapshot<'_>,
    observed: &'a [Observation],
) -> impl Iterator<Item = &'a AssetFrame> {
    let frames = snapshot.expected.iter().zip(observed);
    frames
        .filter(|(_, observed)| observed.finding.verdict == FrameStatus::Missing)
        .map(|(frame, _)| frame)
}

fn is_most(part: usize, whole: usize) -> bool {
    part > 0 && 2 * part >= whole
}

/// Returns the prefix of the frames' names in TF, if most frames are missing without it and exist
/// with it.
fn prefix(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    let missing: Vec<&str> = missing(snapshot, observed)
        .map(|frame| plain(&frame.id))
        .collect();
    if !is_most(missing.len(), observed.len()) {
        return None;
    }
    let tree = snapshot.tree();
    // Search with the longest names, which are least likely to be the suffix of an unrelated one.
    let mut longest = missing.clone();
    longest.sort_by_key(|id| std::cmp::Reverse(id.len()));
    longest.truncate(3);
    let mut prefixes: Vec<&str> = tree
        .edges()
        .flat_map(|(name, _, edge)| [name, edge.parent.as_str()])
        .flat_map(|name| longest.iter().filter_map(move |id| name.strip_suffix(id)))
        .filter(|prefix| !prefix.is_empty())
        .collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    let count_present = |prefix: &str| {
        let exists = |id: &&&str| {
            let name = format!("{prefix}{id}");
            tree.get(&name).is_some() || tree.is_parent(&name)
        };
        missing.iter().filter(exists).count()
    };
    // If many robots share TF, each has its own prefix, usually its namespace: try that first,
    // which saves counting the others.
    let namespace = snapshot
        .expected
        .asset()
        .context
        .namespace
        .trim_matches('/');
    let own = prefixes
        .iter()
        .find(|prefix| prefix.trim_matches(['/', '_']) == namespace)
        .map(|own| (count_present(own), *own));
    let own = own.filter(|(count, _)| *count == missing.len());
    let best = || {
        prefixes
            .iter()
            .rev()
            .map(|prefix| (count_present(prefix), *prefix))
            // `max_by_key` returns the last of equal counts; in reverse that is the first prefix.
            .max_by_key(|(count, _)| *count)
    };
    let (count, prefix) = own.or_else(best)?;
    // A single name with a matching suffix proves no prefix.
    let is_one = missing.len() == 1 && prefix.ends_with('/');
    ((count >= 2 || is_one) && is_most(count, missing.len())).then(|| prefix.to_owned())
}

fn explain_prefix(snapshot: &Snapshot<'_>, observed: &mut [Observation], prefix: &str) -> String {
    let aliases = aliases(snapshot.expected, snapshot.tree(), prefix);
    let prefixed = Snapshot {
        prefix,
        aliases: &aliases,
        ..*snapshot
    };
    let mut ok = 0;
    for (index, observed) in observed.iter_mut().enumerate() {
        let Some(found) = prefixed.frame(index).map(|observed| observed.finding) else {
            break;
        };
        ok += usize::from(found.verdict == FrameStatus::Ok);
        if observed.finding.verdict == FrameStatus::Missing && found.verdict != FrameStatus::Missing
        {
            observed.finding.detail = match found.verdict {
                FrameStatus::Ok => format!("TF has it as \"{prefix}{}\"", observed.finding.frame),
                other => format!(
                    "TF has it as \"{prefix}{}\", {}: {}",
                    observed.finding.frame,
                    other.as_str(),
                    found.detail
                ),
            };
        }
    }
    let all = observed.len();
    let apart = if ok == all {
        "apart from that, all match the asset".to_owned()
    } else {
        format!("with it, {ok} of {all} match the asset")
    };
    format!(
        "the frames have the prefix {prefix:?} in TF, as set by the parameter frame_prefix of robot_state_publisher; {apart}"
    )
}

/// Returns an explanation if another namespace has most of the missing frames.
fn other_namespace(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    let missing: Vec<&AssetFrame> = missing(snapshot, observed).collect();
    if !is_most(missing.len(), observed.len()) {
        return None;
    }
    let count_present = |live: &Live| {
        missing
            .iter()
            .filter(|frame| live.tree().get(&frame.id).is_some())
            .count()
    };
    let (count, live) = snapshot
        .heard
        .elsewhere
        .iter()
        .map(|live| (count_present(live), *live))
        .max_by_key(|(count, _)| *count)?;
    let topics = snapshot.heard.transforms.topics();
    (is_most(count, missing.len()) && live.topics() != topics).then(|| {
        let other = live.topics();
        format!(
            "{count} of the {} missing frames are published on {} and {} instead of {} and {}",
            missing.len(),
            other.moving,
            other.fixed,
            topics.moving,
            topics.fixed
        )
    })
}

/// Returns an explanation if TF matches the previous revision of the asset.
fn older_description(
    snapshot: &Snapshot<'_>,
    observed: &[Observation],
    extra: &[Finding],
    renamed: &HashMap<&str, &str>,
) -> Option<String> {
    let previous = snapshot.expected.previous()?;
    let before = Snapshot {
        expected: previous,
        ..*snapshot
    };
    let mut proofs = 0;
    for observed in observed
        .iter()
        .filter(|observed| observed.finding.verdict.is_fault())
    {
        let verdict = previous
            .find(&observed.finding.frame)
            .and_then(|index| before.frame(index))
            .map(|observed| observed.finding.verdict);
        match (observed.finding.verdict, verdict) {
            // A stale frame is stale with either revision.
            (FrameStatus::Stale, _) => {}
            // A frame that is missing now must not have existed then; otherwise it is missing for
            // another reason.
            (FrameStatus::Missing, None) => {}
            (_, Some(FrameStatus::Ok)) => proofs += 1,
            _ => return None,
        }
    }
    proofs += extra
        .iter()
        .map(|finding| finding.frame.as_str())
        .chain(renamed.values().copied())
        .filter(|name| previous.find(name).is_some())
        .count();
    (proofs > 0).then(|| {
        "TF matches the asset's previous revision: the robot's publishers still use the older description; restart them"
            .to_owned()
    })
}

/// Returns whether moving frames are missing or stale.
fn is_unmoved(snapshot: &Snapshot<'_>, observed: &[Observation]) -> bool {
    unmoved(snapshot, observed).next().is_some()
}

fn unmoved<'a>(
    snapshot: &'a Snapshot<'_>,
    observed: &'a [Observation],
) -> impl Iterator<Item = &'a AssetFrame> {
    let is_unmoved = |(frame, observed): &(&AssetFrame, &Observation)| {
        !frame.is_static
            && !frame.is_root
            && matches!(
                observed.finding.verdict,
                FrameStatus::Missing | FrameStatus::Stale
            )
    };
    snapshot
        .expected
        .iter()
        .zip(observed)
        .filter(is_unmoved)
        .map(|(frame, _)| frame)
}

fn is_recent(snapshot: &Snapshot<'_>, heard: Option<std::time::Instant>) -> bool {
    heard.is_some_and(|heard| {
        snapshot.now.saturating_duration_since(heard) <= snapshot.limits.timeout
    })
}

fn no_joint_states(snapshot: &Snapshot<'_>) -> Option<String> {
    let topic = &snapshot.heard.joints.topics().joints;
    (!is_recent(snapshot, snapshot.heard.joints.joints_heard())).then(|| {
        format!("nothing is published on {topic}, from which robot_state_publisher computes moving frames")
    })
}

fn unstamped(snapshot: &Snapshot<'_>) -> Option<String> {
    let topic = &snapshot.heard.joints.topics().joints;
    is_recent(snapshot, snapshot.heard.joints.joints().unstamped()).then(|| {
        format!("the messages on {topic} have no stamp, so robot_state_publisher ignores them")
    })
}

/// Returns the joint of which joint states move a frame: its own, or the one that it mimics.
fn driver<'a>(snapshot: &'a Snapshot<'_>, frame: &AssetFrame) -> Option<&'a str> {
    let (index, joint) = snapshot.expected.joint(frame)?;
    let leader = snapshot.expected.leader(index);
    Some(leader.map_or(&*joint.name, |(leader, ..)| &*leader.name))
}

/// Returns whether joint states move a frame.
fn is_stated(snapshot: &Snapshot<'_>, frame: &AssetFrame) -> bool {
    let joints = snapshot.heard.joints.joints();
    let own = snapshot.expected.joint(frame);
    [own.map(|(_, joint)| &*joint.name), driver(snapshot, frame)]
        .into_iter()
        .flatten()
        .any(|joint| is_recent(snapshot, joints.last_heard(joint)))
}

fn no_transforms(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    let is_missing = |topic| {
        missing(snapshot, observed).any(|frame| {
            !frame.is_root && !frame.from_sensor && (topic == Topic::Static) == frame.is_static
        })
    };
    let topics: Vec<&str> = [Topic::Moving, Topic::Static]
        .into_iter()
        .filter(|topic| snapshot.tree().is_unpublished(*topic) && is_missing(*topic))
        .map(|topic| snapshot.tree().name(topic))
        .collect();
    (!topics.is_empty()).then(|| {
        format!(
            "no node publishes on {}: start robot_state_publisher",
            topics.join(" and ")
        )
    })
}

fn no_state_publisher(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    let mut movable = snapshot
        .expected
        .iter()
        .zip(observed)
        .filter(|(frame, _)| !frame.is_static && !frame.is_root && frame.joint.is_some());
    let is_silent = |(_, observed): (&AssetFrame, &Observation)| {
        matches!(
            observed.finding.verdict,
            FrameStatus::Missing | FrameStatus::Stale
        )
    };
    let is_any_stated = unmoved(snapshot, observed).any(|frame| is_stated(snapshot, frame));
    if !movable.all(is_silent) || !is_any_stated {
        return None;
    }
    let tree = snapshot.tree();
    let topics = (
        &snapshot.heard.joints.topics().joints,
        tree.name(Topic::Moving),
    );
    let last = unmoved(snapshot, observed)
        .filter_map(|frame| snapshot.edges(&frame.id).0)
        .max_by_key(|edge| edge.heard);
    let Some(edge) = last else {
        // Without any publisher, that is the cause, which is reported.
        return (!tree.is_unpublished(Topic::Moving)).then(|| {
            format!(
                "joint states arrive on {}, but nobody publishes the frames that they move on {}: start robot_state_publisher",
                topics.0, topics.1
            )
        });
    };
    let has_left = tree.has_left(Topic::Moving, edge.publisher(), edge.heard, snapshot.now);
    let who = tree.publisher_name(Topic::Moving, edge.publisher());
    let state = if has_left {
        "has left"
    } else {
        "publishes them no more"
    };
    Some(format!(
        "joint states go on on {}, but {who}, which published the frames that they move on {}, {state}: restart robot_state_publisher",
        topics.0, topics.1
    ))
}

fn missing_joints(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    if !is_recent(snapshot, snapshot.heard.joints.joints_heard()) {
        return None;
    }
    let mut joints: Vec<&str> = unmoved(snapshot, observed)
        .filter(|frame| !is_stated(snapshot, frame))
        .filter_map(|frame| driver(snapshot, frame))
        .collect();
    joints.sort_unstable();
    joints.dedup();
    let (what, verb) = match joints.len() {
        1 => ("joint", "is"),
        _ => ("joints", "are"),
    };
    (!joints.is_empty()).then(|| {
        format!(
            "{what} {} {verb} missing from the messages on {}: robot_state_publisher publishes only frames whose joints it receives",
            list(&joints),
            snapshot.heard.joints.topics().joints
        )
    })
}

/// Returns an explanation if the publishers of static frames have left.
fn departed_publisher(snapshot: &Snapshot<'_>) -> Option<String> {
    let tree = snapshot.tree();
    let mut frames: Vec<&str> = Vec::new();
    let mut publishers: Vec<Cow<'_, str>> = Vec::new();
    for frame in snapshot.expected.iter() {
        let id = plain(&frame.id);
        if let Some(edge) = snapshot.abandoned(id)
            && !snapshot.ignores(id, frame.display_name.as_deref())
        {
            frames.push(id);
            publishers.push(tree.publisher_name(Topic::Static, edge.publisher()));
        }
    }
    publishers.sort_unstable();
    publishers.dedup();
    let has = if publishers.len() == 1 { "has" } else { "have" };
    (!frames.is_empty()).then(|| {
        format!(
            "{}, which published {} on {}, {has} left: listeners that run keep these transforms, new ones do not get them until they are published again",
            list(&publishers),
            list(&frames),
            tree.name(Topic::Static)
        )
    })
}

fn unpublished_mimics(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    let mimic = |frame: &AssetFrame| {
        snapshot
            .expected
            .joint(frame)
            .filter(|(_, joint)| joint.mimic.is_some())
            .map(|(_, joint)| joint)
    };
    // `None` as soon as some other frame is missing: then mimic joints are not the cause.
    let unmoved: Option<Vec<&str>> = unmoved(snapshot, observed)
        .map(|frame| mimic(frame).map(|joint| joint.name.as_str()))
        .collect();
    let mut frames = snapshot.expected.iter().zip(observed);
    let is_moved = |(frame, observed): (&AssetFrame, &Observation)| {
        !frame.is_static
            && frame.joint.is_some()
            && mimic(frame).is_none()
            && observed.finding.verdict == FrameStatus::Ok
    };
    let joints = unmoved?;
    let is_unpublished =
        |joint: &&str| !is_recent(snapshot, snapshot.heard.joints.joints().last_heard(joint));
    let unpublished = if joints.iter().all(is_unpublished) {
        format!(
            "; {} does not have them either",
            snapshot.heard.joints.topics().joints
        )
    } else {
        String::new()
    };
    frames.any(is_moved).then(|| {
        format!(
            "only mimic joints are missing ({}): no node publishes their motion{unpublished}",
            list(&joints)
        )
    })
}

fn second_publisher(snapshot: &Snapshot<'_>) -> Option<String> {
    let (now, timeout) = (snapshot.now, snapshot.limits.timeout);
    let mut frames: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for frame in snapshot.expected.iter() {
        let id = plain(&frame.id);
        if !snapshot.ignores(id, frame.display_name.as_deref())
            && let Some((publishers, _)) = snapshot.contradiction(id)
        {
            frames.entry(publishers).or_default().push(id);
        }
    }
    let is_contested = |joint: &&str| {
        snapshot
            .heard
            .joints
            .joints()
            .is_contested(joint, now, timeout)
    };
    let joints: Vec<&str> = snapshot
        .expected
        .asset()
        .joints
        .iter()
        .map(|joint| joint.name.as_str())
        .filter(is_contested)
        .collect();
    let mut sentences: Vec<String> = frames
        .iter()
        .map(|(publishers, frames)| format!("{publishers} about {}", list(frames)))
        .collect();
    if !joints.is_empty() {
        sentences.push(format!(
            "two publishers alternate in publishing joint {} on {}",
            list(&joints),
            snapshot.heard.joints.topics().joints
        ));
    }
    (!sentences.is_empty()).then(|| format!("{}: stop one of them", sentences.join(", and ")))
}

fn static_as_moving(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    let of_static: Vec<(&AssetFrame, &Observation)> = snapshot
        .expected
        .iter()
        .zip(observed)
        .filter(|(frame, _)| frame.is_static && !frame.is_root && !frame.from_sensor)
        .collect();
    let is_moving = |(frame, observed): &(&AssetFrame, &Observation)| {
        observed.finding.verdict == FrameStatus::WrongTopic && snapshot.edges(&frame.id).1.is_none()
    };
    // One frame alone would show no pattern.
    (of_static.len() >= 2 && of_static.iter().all(is_moving)).then(|| {
        let topic = snapshot.tree().name(Topic::Moving);
        format!(
            "every static frame is published on {topic}, as by a publisher that does not know {}",
            snapshot.tree().name(Topic::Static)
        )
    })
}

fn calibration(observed: &[Observation]) -> Option<String> {
    let mut off = observed
        .iter()
        .filter(|observed| observed.finding.verdict == FrameStatus::Off)
        .peekable();
    off.peek()?;
    let (mut count, mut most) = (0, (0.0_f64, 0.0_f64));
    for observed in off {
        let (Some((position, angle)), Some(deviation)) =
            (observed.finding.error, &observed.deviation)
        else {
            return None;
        };
        let (Deviation::Place { is_constant } | Deviation::Joint { is_constant, .. }) = deviation;
        // A single frame that is farther off, or not by a constant offset, rules out a calibration.
        if !is_constant || position > MAX_CALIBRATION.0 || angle > MAX_CALIBRATION.1 {
            return None;
        }
        count += 1;
        most = (most.0.max(position), most.1.max(angle));
    }
    (count >= MIN_CALIBRATED_FRAMES).then(|| {
        format!(
            "{count} frames are off by small constant offsets (up to {} m and {} rad): TF shows a calibrated robot, as drivers with a \
             kinematics calibration publish it, while the description is not calibrated; publish the calibrated description",
            short(most.0),
            short(most.1)
        )
    })
}

fn joint_states(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    let mut names = Vec::new();
    for (frame, observed) in snapshot.expected.iter().zip(observed) {
        if let (
            Some(Deviation::Joint {
                by_tf,
                by_joint_state,
                ..
            }),
            Some((_, joint)),
        ) = (&observed.deviation, snapshot.expected.joint(frame))
        {
            names.push(format!(
                "{:?} (TF {}, joint state {})",
                joint.name,
                short(*by_tf),
                short(*by_joint_state)
            ));
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| {
        let (tf, joint_states) = (
            &snapshot.heard.transforms.topics().moving,
            &snapshot.heard.joints.topics().joints,
        );
        format!(
            "{tf} and {joint_states} disagree about the position of {}",
            list(&names)
        )
    })
}

pub(crate) fn list(names: &[impl AsRef<str>]) -> String {
    let shown = names
        .iter()
        .take(MAX_NAMES)
        .map(AsRef::as_ref)
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MAX_NAMES {
        format!("{shown} and {} more", names.len() - MAX_NAMES)
    } else {
        shown
    }
}
