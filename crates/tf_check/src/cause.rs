//! Why frames are not as the asset says, where several findings have one reason.

use std::fmt;

use crate::live::Live;
use crate::tf::{Topic, plain};
use crate::verdict::{Deviation, Finding, Look, Seen, Verdict, aliases, short};
use urdf_usd_robot::frames::AssetFrame;

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
    /// Two publishers take turns to tell the same frames or joints.
    SecondPublisher,
    /// Static frames are told as if they moved.
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

/// A cause, as it is told.
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

/// That frames have names in TF which no prim can have, and so others in the asset. Whoever looks one of them up by the other name does not
/// find it, so it is missing; what else is found about it stays.
pub(crate) fn encoded_names(look: &Look<'_>, seen: &mut [Seen]) -> Option<Cause> {
    let ok = seen.iter().filter(|seen| !seen.finding.verdict.is_fault()).count();
    let mut names = Vec::new();
    for Seen { finding, .. } in seen.iter_mut() {
        let Some(name) = look.aliases.get(finding.frame.as_str()) else { continue };
        if look.ignores(&finding.frame, Some(name)) {
            continue;
        }
        names.push(format!("{name:?}"));
        let known = format!("TF has it as {name:?}, which no prim can be called");
        (finding.verdict, finding.detail) = match finding.verdict {
            Verdict::Ok => (Verdict::Missing, known),
            other => (other, format!("{known}; {}", finding.detail)),
        };
    }
    let (count, all) = (names.len(), seen.len());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let apart = if ok == all { "all are as the asset says".to_owned() } else { format!("{ok} of {all} are as the asset says") };
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
pub(crate) fn of(look: &Look<'_>, seen: &mut [Seen], extra: &[Finding]) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut add = |kind, sentence: Option<String>| causes.extend(sentence.map(|sentence| Cause { kind, sentence }));
    add(CauseKind::SecondPublisher, second_publisher(look));
    if !seen.iter().any(|seen| seen.finding.verdict.is_fault()) {
        return causes;
    }
    let prefix = prefix(look, seen);
    let is_elsewhere = if prefix.is_none() { other_namespace(look, seen) } else { None };
    let is_heard_otherwise = prefix.is_some() || is_elsewhere.is_some();
    add(CauseKind::FramePrefix, prefix.map(|prefix| tell_prefix(look, seen, &prefix)));
    add(CauseKind::OtherNamespace, is_elsewhere);
    if is_heard_otherwise {
        return causes;
    }
    add(CauseKind::OlderDescription, older_description(look, seen, extra));
    if is_unmoved(look, seen) {
        let unstamped = unstamped(look);
        add(CauseKind::NoJointStates, if unstamped.is_none() { no_joint_states(look) } else { None });
        add(CauseKind::UnstampedJointStates, unstamped);
        add(CauseKind::UnpublishedMimics, unpublished_mimics(look, seen));
    }
    add(CauseKind::StaticAsMoving, static_as_moving(look, seen));
    let calibration = calibration(seen);
    let is_calibrated = calibration.is_some();
    add(CauseKind::Calibration, calibration);
    add(CauseKind::JointStates, if is_calibrated { None } else { joint_states(look, seen) });
    causes
}

/// Frames that an asset's user would miss: neither ignored nor a camera's own.
fn missing<'a>(look: &'a Look<'_>, seen: &'a [Seen]) -> impl Iterator<Item = &'a AssetFrame> {
    let frames = look.expected.iter().zip(seen);
    frames.filter(|(_, seen)| seen.finding.verdict == Verdict::Missing).map(|(frame, _)| frame)
}

fn is_most(part: usize, of: usize) -> bool {
    part > 0 && 2 * part >= of
}

/// What stands in front of every frame's name in TF, if most frames are missing and are there with it.
fn prefix(look: &Look<'_>, seen: &[Seen]) -> Option<String> {
    let missing: Vec<&str> = missing(look, seen).map(|frame| plain(&frame.id)).collect();
    if !is_most(missing.len(), seen.len()) {
        return None;
    }
    let tree = look.tree();
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
    // Of many robots with prefixes in one TF each has its own, which is most likely its namespace; it spares looking at the others.
    let namespace = look.expected.asset().context.namespace.trim_matches('/');
    let own = prefixes.iter().find(|prefix| prefix.trim_matches(['/', '_']) == namespace).map(|own| (there(own), *own));
    let own = own.filter(|(count, _)| *count == missing.len());
    let best = || prefixes.iter().rev().map(|prefix| (there(prefix), *prefix)).max_by_key(|(count, _)| *count);
    let (count, prefix) = own.or_else(best)?;
    // One name that ends like another is no prefix.
    let is_one = missing.len() == 1 && prefix.ends_with('/');
    ((count >= 2 || is_one) && is_most(count, missing.len())).then(|| prefix.to_owned())
}

fn tell_prefix(look: &Look<'_>, seen: &mut [Seen], prefix: &str) -> String {
    let aliases = aliases(look.expected, look.tree(), prefix);
    let prefixed = Look { prefix, aliases: &aliases, ..*look };
    let mut ok = 0;
    for (index, seen) in seen.iter_mut().enumerate() {
        let found = prefixed.frame(index).finding;
        ok += usize::from(found.verdict == Verdict::Ok);
        if seen.finding.verdict == Verdict::Missing && found.verdict != Verdict::Missing {
            seen.finding.detail = match found.verdict {
                Verdict::Ok => format!("TF has it as \"{prefix}{}\"", seen.finding.frame),
                other => format!("TF has it as \"{prefix}{}\", {}: {}", seen.finding.frame, other.as_str(), found.detail),
            };
        }
    }
    let all = seen.len();
    let apart = if ok == all {
        "apart from that all are as the asset says".to_owned()
    } else {
        format!("with it {ok} of {all} are as the asset says")
    };
    format!("TF has the frames with the prefix {prefix:?}, as by the parameter frame_prefix of robot_state_publisher; {apart}")
}

/// Where else most of the missing frames are heard.
fn other_namespace(look: &Look<'_>, seen: &[Seen]) -> Option<String> {
    let missing: Vec<&AssetFrame> = missing(look, seen).collect();
    if !is_most(missing.len(), seen.len()) {
        return None;
    }
    let there = |live: &Live| missing.iter().filter(|frame| live.tree().get(&frame.id).is_some()).count();
    let (count, live) = look.heard.elsewhere.iter().map(|live| (there(live), *live)).max_by_key(|(count, _)| *count)?;
    let topics = look.heard.transforms.topics();
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
fn older_description(look: &Look<'_>, seen: &[Seen], extra: &[Finding]) -> Option<String> {
    let previous = look.expected.previous()?;
    let before = Look { expected: previous, ..*look };
    let mut proofs = 0;
    for seen in seen.iter().filter(|seen| seen.finding.verdict.is_fault()) {
        let verdict = previous.find(&seen.finding.frame).map(|index| before.frame(index).finding.verdict);
        match (seen.finding.verdict, verdict) {
            // It falls silent with either.
            (Verdict::Stale, _) => {}
            // It did not exist then; or it was the same then and is missing now, which is another matter.
            (Verdict::Missing, None) => {}
            (_, Some(Verdict::Ok)) => proofs += 1,
            _ => return None,
        }
    }
    proofs += extra.iter().filter(|finding| previous.find(&finding.frame).is_some()).count();
    (proofs > 0).then(|| {
        "TF is as the asset's previous revision says: the robot's publishers still run with the older description; restart them"
            .to_owned()
    })
}

/// Whether frames that should move are not heard.
fn is_unmoved(look: &Look<'_>, seen: &[Seen]) -> bool {
    unmoved(look, seen).next().is_some()
}

fn unmoved<'a>(look: &'a Look<'_>, seen: &'a [Seen]) -> impl Iterator<Item = &'a AssetFrame> {
    let is_unmoved = |(frame, seen): &(&AssetFrame, &Seen)| {
        !frame.is_static && !frame.is_root && matches!(seen.finding.verdict, Verdict::Missing | Verdict::Stale)
    };
    look.expected.iter().zip(seen).filter(is_unmoved).map(|(frame, _)| frame)
}

fn is_recent(look: &Look<'_>, heard: Option<std::time::Instant>) -> bool {
    heard.is_some_and(|heard| look.now.saturating_duration_since(heard) <= look.limits.timeout)
}

fn no_joint_states(look: &Look<'_>) -> Option<String> {
    let topic = &look.heard.joints.topics().joints;
    (!is_recent(look, look.heard.joints.joints_heard()))
        .then(|| format!("nothing is heard on {topic} either, which robot_state_publisher moves frames by"))
}

fn unstamped(look: &Look<'_>) -> Option<String> {
    let topic = &look.heard.joints.topics().joints;
    is_recent(look, look.heard.joints.joints().unstamped())
        .then(|| format!("the messages on {topic} have no stamp, and robot_state_publisher moves no frame by such"))
}

fn unpublished_mimics(look: &Look<'_>, seen: &[Seen]) -> Option<String> {
    let mimic =
        |frame: &AssetFrame| look.expected.joint(frame).filter(|(_, joint)| joint.mimic.is_some()).map(|(_, joint)| joint);
    let unmoved: Option<Vec<&str>> = unmoved(look, seen).map(|frame| mimic(frame).map(|joint| joint.name.as_str())).collect();
    let mut frames = look.expected.iter().zip(seen);
    let is_moved = |(frame, seen): (&AssetFrame, &Seen)| {
        !frame.is_static && frame.joint.is_some() && mimic(frame).is_none() && seen.finding.verdict == Verdict::Ok
    };
    let joints = unmoved?;
    let is_untold = |joint: &&str| !is_recent(look, look.heard.joints.joints().heard_of(joint));
    let untold = if joints.iter().all(is_untold) {
        format!("; {} does not tell them either", look.heard.joints.topics().joints)
    } else {
        String::new()
    };
    frames
        .any(is_moved)
        .then(|| format!("only joints that follow another are not heard ({}): nobody moves them along{untold}", list(&joints)))
}

fn second_publisher(look: &Look<'_>) -> Option<String> {
    let (now, timeout) = (look.now, look.limits.timeout);
    let mut frames: Vec<&str> = Vec::new();
    for frame in look.expected.iter() {
        let (moving, fixed) = look.edges(&frame.id);
        if [moving, fixed].into_iter().flatten().any(|edge| edge.rival(now, timeout).is_some()) {
            frames.push(plain(&frame.id));
        }
    }
    let is_contested = |joint: &&str| look.heard.joints.joints().is_contested(joint, now, timeout);
    let joints: Vec<&str> = look.expected.asset().joints.iter().map(|joint| joint.name.as_str()).filter(is_contested).collect();
    let of = |what: &str, names: &[&str], on: &str| {
        (!names.is_empty()).then(|| format!("two publishers take turns to tell {what} {} on {on}", list(names)))
    };
    let (tf, joint_states) = (&look.heard.transforms.topics().moving, &look.heard.joints.topics().joints);
    let told: Vec<String> = [of("frame", &frames, tf), of("joint", &joints, joint_states)].into_iter().flatten().collect();
    (!told.is_empty()).then(|| format!("{}: stop one of them", told.join(", and ")))
}

fn static_as_moving(look: &Look<'_>, seen: &[Seen]) -> Option<String> {
    let of_static: Vec<(&AssetFrame, &Seen)> =
        look.expected.iter().zip(seen).filter(|(frame, _)| frame.is_static && !frame.is_root && !frame.from_sensor).collect();
    let is_moving =
        |(frame, seen): &(&AssetFrame, &Seen)| seen.finding.verdict == Verdict::WrongTopic && look.edges(&frame.id).1.is_none();
    (of_static.len() >= 2 && of_static.iter().all(is_moving)).then(|| {
        let topic = look.tree().name(Topic::Moving);
        format!(
            "every static frame is told on {topic}, as by a publisher that does not know {}",
            look.tree().name(Topic::Static)
        )
    })
}

fn calibration(seen: &[Seen]) -> Option<String> {
    let mut off = seen.iter().filter(|seen| seen.finding.verdict == Verdict::Off).peekable();
    off.peek()?;
    let (mut count, mut most) = (0, (0.0_f64, 0.0_f64));
    for seen in off {
        let (Some((position, angle)), Some(deviation)) = (seen.finding.error, &seen.deviation) else { return None };
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

fn joint_states(look: &Look<'_>, seen: &[Seen]) -> Option<String> {
    let mut names = Vec::new();
    for (frame, seen) in look.expected.iter().zip(seen) {
        if let (Some(Deviation::Joint { by_tf, told, .. }), Some((_, joint))) = (&seen.deviation, look.expected.joint(frame)) {
            names.push(format!("{:?} (TF {}, joint state {})", joint.name, short(*by_tf), short(*told)));
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| {
        let (tf, joint_states) = (&look.heard.transforms.topics().moving, &look.heard.joints.topics().joints);
        format!("{tf} and {joint_states} disagree about the position of {}", list(&names))
    })
}

fn list(names: &[&str]) -> String {
    let shown = names.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MOST_NAMES { format!("{shown} and {} more", names.len() - MOST_NAMES) } else { shown }
}
