//! Why frames are not as the asset says, where several findings have one reason.

use std::fmt;

use crate::check::{Deviation, Finding, FrameStatus, Observation, Snapshot, aliases, short};
use crate::frames::AssetFrame;
use crate::live::Live;
use crate::tf::{Topic, plain};

/// How far a calibration moves a frame at most, in m and rad: what is more is another robot.
const CALIBRATION: (f64, f64) = (0.05, 0.1);
/// How many frames must be off by a little before it is a calibration.
const CALIBRATED: usize = 3;
/// How many names a sentence lists.
const MOST_NAMES: usize = 5;

/// What may be the matter with many frames at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CauseKind {
    /// All frames have a prefix in TF.
    FramePrefix,
    /// The frames are heard on the topics of another namespace.
    OtherNamespace,
    /// The frames are those of the revision before.
    OlderDescription,
    /// Nothing is heard on the joint states' topic, so nothing moves frames.
    NoJointStates,
    /// Joint states come without a stamp, and robot_state_publisher ignores such.
    UnstampedJointStates,
    /// Joints that follow others are moved by nobody.
    UnpublishedMimics,
    /// Two publishers take turns to publish the same frames or joints.
    SecondPublisher,
    /// Static frames are published as if they moved.
    StaticAsMoving,
    /// Many frames are off by small constant offsets.
    Calibration,
    /// TF and joint states disagree about the position of joints.
    JointStates,
    /// Frames have names that no prim can have.
    EncodedNames,
}

impl CauseKind {
    /// Its word, which stays.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FramePrefix => "frame_prefix",
            Self::OtherNamespace => "other_namespace",
            Self::OlderDescription => "older_description",
            Self::NoJointStates => "no_joint_states",
            Self::UnstampedJointStates => "unstamped_joint_states",
            Self::UnpublishedMimics => "unpublished_mimics",
            Self::SecondPublisher => "second_publisher",
            Self::StaticAsMoving => "static_as_moving",
            Self::Calibration => "calibration",
            Self::JointStates => "joint_states",
            Self::EncodedNames => "encoded_names",
        }
    }
}

/// A cause of several findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Which.
    pub kind: CauseKind,
    /// In words.
    pub sentence: String,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// That frames have names in TF which no prim can have, and so others in the asset. Whoever looks
/// one of them up by the other name does not find it, so it is missing; what else is found about it
/// stays.
pub(crate) fn encoded_names(
    snapshot: &Snapshot<'_>,
    observed: &mut [Observation],
) -> Option<Cause> {
    let ok = observed
        .iter()
        .filter(|observed| !observed.finding.verdict.is_fault())
        .count();
    let mut names = Vec::new();
    for Observation { finding, .. } in observed.iter_mut() {
        let Some(name) = snapshot.aliases.get(finding.frame.as_str()) else {
            continue;
        };
        if snapshot.ignores(&finding.frame, Some(name)) {
            continue;
        }
        names.push(format!("{name:?}"));
        let known = format!("TF has it as {name:?}, which no prim can be called");
        (finding.verdict, finding.detail) = match finding.verdict {
            FrameStatus::Ok => (FrameStatus::Missing, known),
            other => (other, format!("{known}; {}", finding.detail)),
        };
    }
    let (count, all) = (names.len(), observed.len());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let apart = if ok == all {
        "all are as the asset says".to_owned()
    } else {
        format!("{ok} of {all} are as the asset says")
    };
    (count > 0).then(|| Cause {
        kind: CauseKind::EncodedNames,
        sentence: format!(
            "no prim can be called {}, as the robot calls {count} of its frames, so the asset has other names for them, and so will \
             simulators; apart from that {apart}; rename these links if both are to have the same names",
            list(&names)
        ),
    })
}

/// The causes of what was found, the most likely first. Findings that a cause explains say so.
pub(crate) fn causes(
    snapshot: &Snapshot<'_>,
    observed: &mut [Observation],
    extra: &[Finding],
) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut add = |kind, sentence: Option<String>| {
        causes.extend(sentence.map(|sentence| Cause { kind, sentence }))
    };
    add(CauseKind::SecondPublisher, second_publisher(snapshot));
    if !observed
        .iter()
        .any(|observed| observed.finding.verdict.is_fault())
    {
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
        prefix.map(|prefix| tell_prefix(snapshot, observed, &prefix)),
    );
    add(CauseKind::OtherNamespace, is_elsewhere);
    if is_heard_otherwise {
        return causes;
    }
    add(
        CauseKind::OlderDescription,
        older_description(snapshot, observed, extra),
    );
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
        add(CauseKind::UnstampedJointStates, unstamped);
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

/// Frames that an asset's user would miss: neither ignored nor a camera's own.
fn missing<'a>(
    snapshot: &'a Snapshot<'_>,
    observed: &'a [Observation],
) -> impl Iterator<Item = &'a AssetFrame> {
    let frames = snapshot.expected.iter().zip(observed);
    frames
        .filter(|(_, observed)| observed.finding.verdict == FrameStatus::Missing)
        .map(|(frame, _)| frame)
}

fn is_most(part: usize, of: usize) -> bool {
    part > 0 && 2 * part >= of
}

/// What stands in front of every frame's name in TF, if most frames are missing and are there with
/// it.
fn prefix(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    let missing: Vec<&str> = missing(snapshot, observed)
        .map(|frame| plain(&frame.id))
        .collect();
    if !is_most(missing.len(), observed.len()) {
        return None;
    }
    let tree = snapshot.tree();
    // The longest names are the least likely to be another's ending.
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
    let there = |prefix: &str| {
        let is_there = |id: &&&str| {
            let name = format!("{prefix}{id}");
            tree.get(&name).is_some() || tree.is_parent(&name)
        };
        missing.iter().filter(is_there).count()
    };
    // Of many robots with prefixes in one TF each has its own, which is most likely its namespace;
    // it spares looking at the others.
    let namespace = snapshot
        .expected
        .asset()
        .context
        .namespace
        .trim_matches('/');
    let own = prefixes
        .iter()
        .find(|prefix| prefix.trim_matches(['/', '_']) == namespace)
        .map(|own| (there(own), *own));
    let own = own.filter(|(count, _)| *count == missing.len());
    let best = || {
        prefixes
            .iter()
            .rev()
            .map(|prefix| (there(prefix), *prefix))
            .max_by_key(|(count, _)| *count)
    };
    let (count, prefix) = own.or_else(best)?;
    // One name that ends like another is no prefix.
    let is_one = missing.len() == 1 && prefix.ends_with('/');
    ((count >= 2 || is_one) && is_most(count, missing.len())).then(|| prefix.to_owned())
}

fn tell_prefix(snapshot: &Snapshot<'_>, observed: &mut [Observation], prefix: &str) -> String {
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
        "apart from that all are as the asset says".to_owned()
    } else {
        format!("with it {ok} of {all} are as the asset says")
    };
    format!(
        "TF has the frames with the prefix {prefix:?}, as by the parameter frame_prefix of robot_state_publisher; {apart}"
    )
}

/// Where else most of the missing frames are heard.
fn other_namespace(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    let missing: Vec<&AssetFrame> = missing(snapshot, observed).collect();
    if !is_most(missing.len(), observed.len()) {
        return None;
    }
    let there = |live: &Live| {
        missing
            .iter()
            .filter(|frame| live.tree().get(&frame.id).is_some())
            .count()
    };
    let (count, live) = snapshot
        .heard
        .elsewhere
        .iter()
        .map(|live| (there(live), *live))
        .max_by_key(|(count, _)| *count)?;
    let topics = snapshot.heard.transforms.topics();
    (is_most(count, missing.len()) && live.topics() != topics).then(|| {
        let other = live.topics();
        format!(
            "{count} of the {} missing frames are heard on {} and {} instead of {} and {}",
            missing.len(),
            other.moving,
            other.fixed,
            topics.moving,
            topics.fixed
        )
    })
}

/// That the robot still runs with the description of the revision before.
fn older_description(
    snapshot: &Snapshot<'_>,
    observed: &[Observation],
    extra: &[Finding],
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
            // It falls silent with either.
            (FrameStatus::Stale, _) => {}
            // It did not exist then; or it was the same then and is missing now, which is another
            // matter.
            (FrameStatus::Missing, None) => {}
            (_, Some(FrameStatus::Ok)) => proofs += 1,
            _ => return None,
        }
    }
    proofs += extra
        .iter()
        .filter(|finding| previous.find(&finding.frame).is_some())
        .count();
    (proofs > 0).then(|| {
        "TF is as the asset's previous revision says: the robot's publishers still run with the older description; restart them"
            .to_owned()
    })
}

/// Whether frames that should move are not heard.
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
        format!("nothing is heard on {topic} either, which robot_state_publisher moves frames by")
    })
}

fn unstamped(snapshot: &Snapshot<'_>) -> Option<String> {
    let topic = &snapshot.heard.joints.topics().joints;
    is_recent(snapshot, snapshot.heard.joints.joints().unstamped())
        .then(|| format!("the messages on {topic} have no stamp, and robot_state_publisher moves no frame by such"))
}

fn unpublished_mimics(snapshot: &Snapshot<'_>, observed: &[Observation]) -> Option<String> {
    let mimic = |frame: &AssetFrame| {
        snapshot
            .expected
            .joint(frame)
            .filter(|(_, joint)| joint.mimic.is_some())
            .map(|(_, joint)| joint)
    };
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
    let is_untold =
        |joint: &&str| !is_recent(snapshot, snapshot.heard.joints.joints().heard_of(joint));
    let untold = if joints.iter().all(is_untold) {
        format!(
            "; {} does not tell them either",
            snapshot.heard.joints.topics().joints
        )
    } else {
        String::new()
    };
    frames.any(is_moved).then(|| {
        format!(
            "only joints that follow another are not heard ({}): nobody moves them along{untold}",
            list(&joints)
        )
    })
}

fn second_publisher(snapshot: &Snapshot<'_>) -> Option<String> {
    let (now, timeout) = (snapshot.now, snapshot.limits.timeout);
    let mut frames: Vec<&str> = Vec::new();
    for frame in snapshot.expected.iter() {
        let (moving, fixed) = snapshot.edges(&frame.id);
        if [moving, fixed]
            .into_iter()
            .flatten()
            .any(|edge| edge.rival(now, timeout).is_some())
        {
            frames.push(plain(&frame.id));
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
    let of = |what: &str, names: &[&str], on: &str| {
        (!names.is_empty()).then(|| {
            format!(
                "two publishers take turns to tell {what} {} on {on}",
                list(names)
            )
        })
    };
    let (tf, joint_states) = (
        &snapshot.heard.transforms.topics().moving,
        &snapshot.heard.joints.topics().joints,
    );
    let sentences: Vec<String> = [of("frame", &frames, tf), of("joint", &joints, joint_states)]
        .into_iter()
        .flatten()
        .collect();
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
    (of_static.len() >= 2 && of_static.iter().all(is_moving)).then(|| {
        let topic = snapshot.tree().name(Topic::Moving);
        format!(
            "every static frame is told on {topic}, as by a publisher that does not know {}",
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
        if !is_constant || position > CALIBRATION.0 || angle > CALIBRATION.1 {
            return None;
        }
        count += 1;
        most = (most.0.max(position), most.1.max(angle));
    }
    (count >= CALIBRATED).then(|| {
        format!(
            "{count} frames are off by small constant offsets (up to {} m and {} rad): TF has a calibrated robot, as drivers with a \
             kinematics calibration do, and the description does not; publish the calibrated description",
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

fn list(names: &[&str]) -> String {
    let shown = names
        .iter()
        .take(MOST_NAMES)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MOST_NAMES {
        format!("{shown} and {} more", names.len() - MOST_NAMES)
    } else {
        shown
    }
}
