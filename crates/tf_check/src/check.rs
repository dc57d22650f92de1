//! Comparison of the live TF tree with the frames that an asset declares (REP-158 §2.7).
//!
//! Pure functions of the asset's frames and of the messages received.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::claims::Contradiction;
use crate::diagnosis::{self, Cause};
use crate::expected::{self, Expected};
use crate::frames::{AssetFrame, AssetJoint, FrameKind};
use crate::joints::Bounds;
use crate::live::Sources;
use crate::renames;
use crate::tf::{Edge, Moment, Topic, Tree, plain};
use urdf_usd_robot::names::is_identifier;
use urdf_usd_robot::{JointKind, Pose};

/// Maximum number of moments of a moving frame that are compared.
const MAX_COMPARED_MOMENTS: usize = 8;
/// Maximum age of a moment relative to the latest one, unless it is among the last
/// [`MIN_MOMENTS_OFF`].
const WINDOW: Duration = Duration::from_secs(2);
/// Minimum number of moments at which a frame must deviate from the joint states to be off.
const MIN_MOMENTS_OFF: usize = 3;
/// Maximum number of extra frames that are reported.
const MAX_EXTRA: usize = 200;

/// Tolerances of the comparison, and frames to ignore.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Maximum position error, in metres.
    pub position: f64,
    /// Maximum angular error, in radians.
    pub angle: f64,
    /// Maximum age of a moving frame.
    pub timeout: Duration,
    /// Patterns of frames to ignore: `*` matches any characters, `?` matches one.
    pub ignore: Vec<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            position: 1e-3,
            angle: 1e-2,
            timeout: Duration::from_secs(5),
            ignore: Vec::new(),
        }
    }
}

impl Limits {
    pub(crate) fn ignores(&self, frame: &str) -> bool {
        self.ignore
            .iter()
            .any(|pattern| matches(plain(pattern), frame))
    }

    pub(crate) fn exceeded(&self, (position, angle): (f64, f64)) -> bool {
        position > self.position || angle > self.angle
    }
}

/// Returns whether `pattern` matches all of `text`: `*` matches any characters, `?` matches one.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The last star, and the end of its match so far. Backtracking to the last star is enough: an
    // earlier one could only match what this one can. O(pattern × text), without recursion.
    let mut star = None;
    while let Some(&next) = text.get(t) {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == next => (p, t) = (p + 1, t + 1),
            _ => {
                let Some((at, until)) = star else {
                    return false;
                };
                star = Some((at, until + 1));
                (p, t) = (at + 1, until + 1);
            }
        }
    }
    pattern.iter().skip(p).all(|&c| c == '*')
}

/// Verdict on a frame of the running robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameStatus {
    /// Not in TF.
    Missing,
    /// Under another parent than in the asset.
    WrongParent,
    /// On `/tf` but static in the asset, or on `/tf_static` but moving in the asset.
    WrongTopic,
    /// Not at the pose that the asset or the joint states give.
    Off,
    /// Not updated within the timeout.
    Stale,
    /// Below the robot in TF, but not in the asset.
    Extra,
    /// Matches the asset.
    Ok,
}

impl FrameStatus {
    /// All verdicts.
    pub const ALL: [Self; 7] = [
        Self::Missing,
        Self::WrongParent,
        Self::WrongTopic,
        Self::Off,
        Self::Stale,
        Self::Extra,
        Self::Ok,
    ];

    /// Returns its keyword, which is part of the public contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::WrongParent => "wrong_parent",
            Self::WrongTopic => "wrong_topic",
            Self::Off => "off",
            Self::Stale => "stale",
            Self::Extra => "extra",
            Self::Ok => "ok",
        }
    }

    /// Returns whether the robot and the asset disagree. Frames that others add to the robot are no
    /// fault.
    pub fn is_fault(self) -> bool {
        !matches!(self, Self::Ok | Self::Extra)
    }
}

/// A finding about one frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Name of the frame.
    pub frame: String,
    /// The verdict: the field `verdict` of `urdf_usd/msg/FrameVerdict`.
    pub verdict: FrameStatus,
    /// The parent in the asset; `None` for a root.
    pub expected_parent: Option<String>,
    /// The parent in TF.
    pub actual_parent: Option<String>,
    /// The topic according to the asset; `None` for a root.
    pub expected_topic: Option<String>,
    /// The topic that it was received on.
    pub actual_topic: Option<String>,
    /// Position error in metres and angular error in radians, if they were compared.
    pub error: Option<(f64, f64)>,
    /// The finding as a sentence.
    pub detail: String,
}

impl Finding {
    pub(crate) fn new(frame: &str, verdict: FrameStatus, detail: impl Into<String>) -> Self {
        Self {
            frame: frame.to_owned(),
            verdict,
            expected_parent: None,
            actual_parent: None,
            expected_topic: None,
            actual_topic: None,
            error: None,
            detail: detail.into(),
        }
    }
}

/// The findings about a robot's frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameCheck {
    /// One for each frame of the asset, in its order, or for each requested frame; then the extra
    /// frames of TF.
    pub findings: Vec<Finding>,
    /// Common causes of several findings.
    pub causes: Vec<Cause>,
}

impl FrameCheck {
    /// Returns whether all frames match the asset.
    pub fn is_ok(&self) -> bool {
        !self
            .findings
            .iter()
            .any(|finding| finding.verdict.is_fault())
    }
}

/// Compares the frames of an asset with TF and joint states.
///
/// `only` restricts the findings to these frames, including ones that the asset does not declare;
/// if it is empty, there is a finding for each frame of the asset, and for each further frame below
/// the robot.
pub fn check_frames(
    expected: &Expected,
    only: &[String],
    heard: &Sources<'_>,
    limits: &Limits,
    now: Instant,
) -> FrameCheck {
    let encoded = aliases(expected, heard.transforms.tree(), "");
    let named = Snapshot {
        expected,
        heard,
        limits,
        now,
        prefix: "",
        aliases: &encoded,
    };
    let renamed = renames::find(&named);
    let mut aliases = encoded.clone();
    aliases.extend(&renamed);
    let snapshot = Snapshot {
        aliases: &aliases,
        ..named
    };
    let mut observed = snapshot.all();
    let extra = snapshot.extra();
    let mut causes = diagnosis::causes(&snapshot, &mut observed, &extra, &renamed);
    // Last, since these make frames with other names missing, which other causes would count.
    causes.extend(renames::report(&snapshot, &mut observed, &renamed));
    causes.extend(diagnosis::encoded_names(&snapshot, &mut observed, &encoded));
    let mut findings: Vec<Finding> = observed
        .into_iter()
        .map(|observed| observed.finding)
        .collect();
    if only.is_empty() {
        findings.extend(snapshot.ros_root());
        findings.extend(extra);
    } else {
        let asked = |id: &String| {
            let declared = snapshot.find(plain(id));
            declared
                .and_then(|index| findings.get(index).cloned())
                .unwrap_or_else(|| snapshot.undeclared(id))
        };
        findings = only.iter().map(asked).collect();
    }
    FrameCheck { findings, causes }
}

/// Returns the names in TF, by the names in the asset, of frames whose ROS name is not a valid prim
/// name. `prefix` precedes all names in TF.
pub(crate) fn aliases<'a>(
    expected: &'a Expected,
    tree: &Tree,
    prefix: &str,
) -> HashMap<&'a str, &'a str> {
    let exists = |name: &str| {
        let name = format!("{prefix}{name}");
        tree.get(&name).is_some() || tree.is_parent(&name)
    };
    let names = expected
        .iter()
        .filter_map(|frame| Some((plain(&frame.id), plain(frame.display_name.as_deref()?))));
    // A valid prim name is only a display name.
    names
        .filter(|(id, name)| !is_identifier(name) && !exists(id) && exists(name))
        .collect()
}

/// A finding, with the deviation for the diagnosis of causes.
pub(crate) struct Observation {
    pub(crate) finding: Finding,
    pub(crate) deviation: Option<Deviation>,
}

/// The deviation of a frame that is off.
pub(crate) enum Deviation {
    /// The frame is not at its fixed pose, or not within the reach of its joint; `is_constant` if
    /// the offset is the same at all moments.
    Place { is_constant: bool },
    /// The frame is within the reach of its joint, but not at the position (rad or m) of the joint
    /// state.
    Joint {
        by_tf: f64,
        by_joint_state: f64,
        is_constant: bool,
    },
}

impl From<Finding> for Observation {
    fn from(finding: Finding) -> Self {
        Self {
            finding,
            deviation: None,
        }
    }
}

/// The state that frames are checked against.
pub(crate) struct Snapshot<'a> {
    pub(crate) expected: &'a Expected,
    pub(crate) heard: &'a Sources<'a>,
    pub(crate) limits: &'a Limits,
    pub(crate) now: Instant,
    /// Prefix of every name in TF.
    pub(crate) prefix: &'a str,
    /// Names in TF of frames with another name in the asset.
    pub(crate) aliases: &'a HashMap<&'a str, &'a str>,
}

/// A frame with a joint, as observed in TF.
struct Moved<'a> {
    /// Index of the frame in the asset.
    index: usize,
    /// Index of the joint in the asset.
    number: usize,
    joint: &'a AssetJoint,
    edge: &'a Edge,
    /// Pose of the parent in TF, in the frame of the parent in the asset.
    above: &'a Pose,
}

/// Returns the asset's declaration as a verb phrase.
fn motion(frame: &AssetFrame) -> &'static str {
    if frame.is_static {
        "does not move"
    } else {
        "moves"
    }
}

impl Snapshot<'_> {
    pub(crate) fn tree(&self) -> &Tree {
        self.heard.transforms.tree()
    }

    /// Checks every frame of the asset.
    pub(crate) fn all(&self) -> Vec<Observation> {
        (0..self.expected.len())
            .filter_map(|index| self.frame(index))
            .collect()
    }

    pub(crate) fn name(&self, id: &str) -> String {
        format!("{}{}", self.prefix, self.alias(id))
    }

    fn alias<'a>(&'a self, id: &'a str) -> &'a str {
        self.aliases.get(plain(id)).copied().unwrap_or(plain(id))
    }

    /// Returns the index of the asset's frame with this name in TF.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let name = name.strip_prefix(self.prefix)?;
        let alias = || {
            self.aliases
                .iter()
                .find(|(_, alias)| **alias == name)
                .map(|(id, _)| *id)
        };
        self.expected
            .find(name)
            .or_else(|| self.expected.find(alias()?))
    }

    /// Returns the frame's latest transforms on `/tf` and `/tf_static`. If it is on both, a moving
    /// one that is stale does not count, nor a static one whose publisher has left.
    pub(crate) fn edges(&self, id: &str) -> (Option<&Edge>, Option<&Edge>) {
        let Some(heard) = self.tree().get(&self.name(id)) else {
            return (None, None);
        };
        let (moving, fixed) = (heard.on(Topic::Moving), heard.on(Topic::Static));
        let moving = moving.filter(|edge| fixed.is_none() || !self.is_silent(edge));
        let is_abandoned = |edge: &Edge| self.tree().is_abandoned(edge, self.now);
        let fixed = fixed.filter(|edge| moving.is_none() || !is_abandoned(edge));
        (moving, fixed)
    }

    pub(crate) fn is_silent(&self, edge: &Edge) -> bool {
        self.now.saturating_duration_since(edge.heard) > self.limits.timeout
    }

    /// Returns whether a frame is ignored, by its name in the asset or in the robot description.
    pub(crate) fn ignores(&self, id: &str, display_name: Option<&str>) -> bool {
        self.limits.ignores(id) || display_name.is_some_and(|name| self.limits.ignores(plain(name)))
    }

    /// Checks the frame with this index.
    pub(crate) fn frame(&self, index: usize) -> Option<Observation> {
        let frame = self.expected.get(index)?;
        Some(self.compare(index, frame))
    }

    fn compare(&self, index: usize, frame: &AssetFrame) -> Observation {
        let id = plain(&frame.id);
        if self.ignores(id, frame.display_name.as_deref()) {
            return Finding::new(
                id,
                FrameStatus::Ok,
                "ignored: it matches a pattern of frames to ignore",
            )
            .into();
        }
        let observed = if frame.is_root {
            self.root(frame, id).into()
        } else {
            self.child(index, frame, id)
        };
        let observed = self.with_contradiction(observed, id);
        self.with_abandonment(observed, id)
    }

    /// Returns how two publishers contradict each other about a frame: a sentence without the frame,
    /// and the contradiction.
    pub(crate) fn contradiction(&self, id: &str) -> Option<(String, Contradiction)> {
        let (moving, fixed) = self.edges(id);
        let on = |topic, edge: Option<&Edge>| {
            let (edge, tree) = (edge?, self.tree());
            let is_exceeded = |by| self.limits.exceeded(by);
            let timeout = self.limits.timeout;
            let (a, b, contradiction) =
                tree.contradiction(topic, edge, self.now, timeout, is_exceeded)?;
            let names = tree.publisher_names(topic, [a, b], |publisher, name| {
                // Among publishers that have left, only the last one of a static transform counts.
                if topic == Topic::Static && tree.has_left(topic, publisher, edge.heard, self.now) {
                    format!("{name} (which has left; listeners that run keep its transform until another is published)")
                } else {
                    name
                }
            });
            let text = format!("{names} contradict each other on {}", tree.name(topic));
            Some((text, contradiction))
        };
        on(Topic::Moving, moving).or_else(|| on(Topic::Static, fixed))
    }

    /// Makes a frame about which two publishers contradict each other a fault: the last transform is
    /// right by chance, and the next one is not.
    fn with_contradiction(&self, observed: Observation, id: &str) -> Observation {
        let Some((publishers, contradiction)) = self.contradiction(id) else {
            return observed;
        };
        let Observation { finding, deviation } = observed;
        let (verdict, error, what) = match contradiction {
            Contradiction::Parents(a, b) => (
                FrameStatus::WrongParent,
                finding.error,
                format!("parents {a:?} and {b:?}"),
            ),
            Contradiction::Poses(position, angle) => (
                FrameStatus::Off,
                Some((position, angle)),
                format!("{} m and {} rad apart", short(position), short(angle)),
            ),
        };
        let text = format!("{publishers}: {what}");
        if finding.verdict.is_fault() {
            let detail = format!("{}; {text}", finding.detail);
            let finding = Finding { detail, ..finding };
            return Observation { finding, deviation };
        }
        Finding {
            verdict,
            error,
            detail: text,
            ..finding
        }
        .into()
    }

    /// Returns the static transform of a frame if its publisher has left.
    pub(crate) fn abandoned(&self, id: &str) -> Option<&Edge> {
        let (moving, fixed) = self.edges(id);
        fixed.filter(|edge| moving.is_none() && self.tree().is_abandoned(edge, self.now))
    }

    /// Adds to the finding of a static frame that its publisher has left. The verdict stays, since
    /// tf2 keeps the transform.
    fn with_abandonment(&self, mut observed: Observation, id: &str) -> Observation {
        if let Some(edge) = self.abandoned(id) {
            let name = self.tree().publisher_name(Topic::Static, edge.publisher());
            let _ = write!(
                observed.finding.detail,
                "; {name}, which published it, has left: listeners that run keep the transform until it is published again, new ones do not get it"
            );
        }
        observed
    }

    /// Checks a root of the robot. It may be under any frame (`odom`, `map`, `world`) or none,
    /// unless the asset declares a parent; its pose and its topic are free.
    fn root(&self, frame: &AssetFrame, id: &str) -> Finding {
        let parent = frame.parent.as_deref().map(plain);
        let found = Finding {
            expected_parent: parent.map(str::to_owned),
            ..Finding::new(id, FrameStatus::Ok, "")
        };
        let above = self
            .tree()
            .get(&self.name(id))
            .and_then(|heard| heard.newest());
        let Some((topic, edge)) = above else {
            let (verdict, detail) = if self.tree().is_parent(&self.name(id)) {
                (
                    FrameStatus::Ok,
                    "the robot's root, also the root of its tree in TF",
                )
            } else {
                (FrameStatus::Missing, "no transform names this frame")
            };
            return Finding {
                verdict,
                detail: detail.to_owned(),
                ..found
            };
        };
        let found = Finding {
            actual_parent: Some(edge.parent.clone()),
            actual_topic: Some(self.tree().name(topic).to_owned()),
            detail: format!("the robot's root, under {:?}", edge.parent),
            ..found
        };
        match parent {
            Some(parent) if !self.is_parent(parent, &edge.parent) => {
                let detail = format!(
                    "the robot's root is under {:?}, while the asset declares {parent:?}",
                    edge.parent
                );
                Finding {
                    verdict: FrameStatus::WrongParent,
                    detail,
                    ..found
                }
            }
            _ => found,
        }
    }

    /// Returns whether a parent in TF is the one in the asset. The frame of the ROS root coincides
    /// with the frame that it is under, so either is accepted.
    fn is_parent(&self, declared: &str, actual: &str) -> bool {
        let context = &self.expected.asset().context;
        let is_world = context.parent_frame.as_deref().map(plain) == Some(declared);
        actual == self.name(declared)
            || is_world
                && (actual == declared || context.root.as_deref().map(plain) == Some(actual))
    }

    /// Returns the pose of the parent in TF relative to the parent in the asset; `None` if they
    /// don't fit.
    ///
    /// They fit if they are the same. They also fit if the joint in the asset names only a body,
    /// and the parent in TF is a frame that is rigid in that body: robot_state_publisher uses that
    /// frame if an empty link is between two bodies.
    fn above(&self, frame: &AssetFrame, declared: &str, actual: &str) -> Option<Pose> {
        if self.is_parent(declared, actual) {
            return Some(Pose::identity());
        }
        let (mut at, mut pose) = (
            self.find(actual).filter(|_| frame.is_apart)?,
            Pose::identity(),
        );
        let mut frames_left = self.expected.len();
        loop {
            let between = self.expected.get(at)?;
            if plain(&between.id) == declared {
                break;
            }
            // Names that differ by a leading slash may form a cycle.
            frames_left = frames_left.checked_sub(1)?;
            if between.kind != FrameKind::Frame || !between.is_static {
                return None;
            }
            (at, pose) = (
                self.expected.find(between.parent.as_deref()?)?,
                between.pose * pose,
            );
        }
        Some(pose)
    }

    /// Checks a frame with a parent in the asset.
    fn child(&self, index: usize, frame: &AssetFrame, id: &str) -> Observation {
        let parent = frame.parent.as_deref().map_or("", plain);
        let (topic, other) = if frame.is_static {
            (Topic::Static, Topic::Moving)
        } else {
            (Topic::Moving, Topic::Static)
        };
        let tree = self.tree();
        let found = Finding {
            expected_parent: Some(parent.to_owned()),
            expected_topic: Some(tree.name(topic).to_owned()),
            ..Finding::new(id, FrameStatus::Missing, "no transform names this frame")
        };
        let (moving, fixed) = self.edges(id);
        let (right, wrong) = if frame.is_static {
            (fixed, moving)
        } else {
            (moving, fixed)
        };
        let Some((edge, on)) = right
            .map(|edge| (edge, topic))
            .or(wrong.map(|edge| (edge, other)))
        else {
            return if frame.from_sensor {
                unheard_sensor(found).into()
            } else {
                found.into()
            };
        };
        let found = Finding {
            actual_parent: Some(edge.parent.clone()),
            actual_topic: Some(tree.name(on).to_owned()),
            ..found
        };
        let Some(above) = self.above(frame, parent, &edge.parent) else {
            let detail = format!(
                "under {:?}, while the asset declares {parent:?}",
                edge.parent
            );
            return found.with_verdict(FrameStatus::WrongParent, detail);
        };
        // Being on both topics is as wrong as being on the wrong one: which transform a listener
        // gets is undefined.
        if wrong.is_some() {
            let also = if right.is_some() { "also " } else { "" };
            let kind = motion(frame);
            let (actual, declared) = (tree.name(other), tree.name(topic));
            let detail =
                format!("{also}on {actual}, but the asset declares that it {kind}: {declared}");
            return found.with_verdict(FrameStatus::WrongTopic, detail);
        }
        if !frame.is_static && self.is_silent(edge) {
            let age = self.now.saturating_duration_since(edge.heard).as_secs_f64();
            let timeout = self.limits.timeout.as_secs_f64();
            let detail = format!("last received {age:.1} s ago; the timeout is {timeout} s");
            return found.with_verdict(FrameStatus::Stale, detail);
        }
        let mut observed = match self.expected.joint(frame) {
            _ if frame.is_static => self.fixed(frame, &(above * edge.pose), found),
            Some((number, joint)) => {
                let moved = Moved {
                    index,
                    number,
                    joint,
                    edge,
                    above: &above,
                };
                self.moving(moved, found)
            }
            // Animated, or moved by a joint that the asset does not describe.
            None => found.with_verdict(
                FrameStatus::Ok,
                "under the right parent, on the right topic".to_owned(),
            ),
        };
        if !self.is_parent(parent, &edge.parent) {
            let _ = write!(
                observed.finding.detail,
                "; under {:?}, which is rigid in {parent:?}",
                edge.parent
            );
        }
        observed
    }

    fn fixed(&self, frame: &AssetFrame, pose: &Pose, found: Finding) -> Observation {
        let error = distance(&frame.pose, pose);
        let found = Finding {
            error: Some(error),
            ..found
        };
        if self.limits.exceeded(error) {
            return self
                .off(error, "its pose in the asset", found)
                .with(Deviation::Place { is_constant: true });
        }
        Finding {
            verdict: FrameStatus::Ok,
            detail: "at its pose in the asset".to_owned(),
            ..found
        }
        .into()
    }

    fn off(&self, error: (f64, f64), from: &str, found: Finding) -> Finding {
        let (position, angle) = error;
        let detail = format!(
            "{} m and {} rad from {from}; the tolerances are {} m and {} rad",
            short(position),
            short(angle),
            self.limits.position,
            self.limits.angle
        );
        Finding {
            verdict: FrameStatus::Off,
            error: Some(error),
            detail,
            ..found
        }
    }

    /// Checks a frame with a joint: it must be within the reach of the joint, and at the position
    /// of the joint state at the same stamp.
    ///
    /// The two tests are separate, since the first needs no joint states: projecting the pose onto
    /// the joint gives its position in TF, and what remains is an error whatever the position is. A
    /// fault by the second test needs [`MIN_MOMENTS_OFF`] moments.
    fn moving(&self, moved: Moved<'_>, found: Finding) -> Observation {
        let Moved {
            index,
            number,
            joint,
            edge,
            above,
        } = moved;
        let newest = edge.heard;
        let is_recent = |(count, moment): &(usize, Moment)| {
            *count < MIN_MOMENTS_OFF || newest.saturating_duration_since(moment.heard) <= WINDOW
        };
        // Moments from before the asset was written belong to an older description.
        let counts = |moment: &Moment| moment.heard >= self.expected.since();
        let moments = edge
            .moments()
            .take(MAX_COMPARED_MOMENTS)
            .enumerate()
            .filter(is_recent);
        let moments = moments.map(|(_, moment)| moment.under(above));
        let (mut free, mut stated): (Vec<MomentError>, Vec<MomentError>) = (Vec::new(), Vec::new());
        for moment in moments.filter(counts) {
            let position = expected::position(joint, &moment.pose);
            let reachable = match position {
                Some(position) => self.expected.place(index, position),
                None => expected::nearest(joint, &moment.pose),
            };
            let (by_tf, rest) = (position.unwrap_or(0.0), moment.pose * reachable.inverse());
            free.push(MomentError {
                error: distance(&reachable, &moment.pose),
                offset: rest,
                by_tf,
                by_joint_state: by_tf,
            });
            // After a reset or a change of publisher, old and new messages may be interleaved.
            let position = position.filter(|_| edge.is_settled(&moment));
            let bounds = position
                .and_then(|position| Some((position, self.bounds(number, joint, &moment)?)));
            if let Some((position, bounds)) = bounds {
                let nearest = bounds.nearest(position, joint.kind);
                let pose = self.expected.place(index, nearest);
                let offset = moment.pose * pose.inverse();
                stated.push(MomentError {
                    error: distance(&pose, &moment.pose),
                    offset,
                    by_tf,
                    by_joint_state: nearest,
                });
            }
        }
        let exceeded = |away: &&MomentError| self.limits.exceeded(away.error);
        // Beside the axis of a revolute joint, say, the frame is off whatever the position.
        if let Some(worst) = free.iter().find(exceeded) {
            let detail = format!("the reach of its joint {:?}", joint.name);
            return self
                .off(worst.error, &detail, found)
                .with(Deviation::Place {
                    is_constant: is_constant(&stated, &free),
                });
        }
        // The newest moment comes first, so the error reported is the current one.
        let off: Vec<&MomentError> = stated.iter().filter(exceeded).collect();
        if let [first, ..] = off[..]
            && off.len() >= MIN_MOMENTS_OFF
        {
            let (by_tf, at) = (first.by_tf, first.by_joint_state);
            let unit = if joint.kind == JointKind::Prismatic {
                "m"
            } else {
                "rad"
            };
            let detail = format!(
                "the pose by the joint state of the same stamp (joint {:?}: TF {} {unit}, joint state {} {unit})",
                joint.name,
                short(by_tf),
                short(at)
            );
            let deviation = Deviation::Joint {
                by_tf,
                by_joint_state: at,
                is_constant: is_constant(&stated, &free),
            };
            return self.off(first.error, &detail, found).with(deviation);
        }
        let (error, detail) = match (stated.iter().find(|away| !exceeded(away)), free.first()) {
            (Some(away), _) => (
                Some(away.error),
                "at the pose by the joint state of the same stamp",
            ),
            (None, Some(away)) => (
                Some(away.error),
                "within the reach of its joint; there is no joint state of the same stamp",
            ),
            (None, None) => (None, "under the right parent, on the right topic"),
        };
        Finding {
            verdict: FrameStatus::Ok,
            error,
            detail: detail.to_owned(),
            ..found
        }
        .into()
    }

    /// Returns the range of positions that a joint may have had at a moment, by its own joint state
    /// or by that of the joint that it mimics.
    fn bounds(&self, number: usize, joint: &AssetJoint, moment: &Moment) -> Option<Bounds> {
        // A transform without a stamp can't be related to joint states.
        if moment.stamp == 0 {
            return None;
        }
        let joints = self.heard.joints.joints();
        let own = joints.at(&joint.name, moment.stamp, moment.heard);
        own.or_else(|| {
            let (leader, multiplier, offset) = self.expected.leader(number)?;
            let Bounds { lower, upper } = joints.at(&leader.name, moment.stamp, moment.heard)?;
            let (a, b) = (multiplier * lower + offset, multiplier * upper + offset);
            Some(Bounds {
                lower: a.min(b),
                upper: a.max(b),
            })
        })
        // Multipliers may overflow; an infinite range proves nothing.
        .filter(|bounds| bounds.lower.is_finite() && bounds.upper.is_finite())
    }

    /// Returns the frames below the robot that the asset does not declare.
    fn extra(&self) -> Vec<Finding> {
        let tree = self.tree();
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let mut below: Vec<&str> = self
            .expected
            .iter()
            .flat_map(|frame| tree.children(self.alias(&frame.id)))
            .collect();
        let root = self.expected.asset().context.root.as_deref().map(plain);
        while let Some(name) = below.pop() {
            let is_known = self.find(name).is_some() || root == Some(name);
            let is_heard = || match tree.get(name).and_then(|heard| heard.newest()) {
                Some((Topic::Moving, edge)) => !self.is_silent(edge),
                other => other.is_some(),
            };
            if !is_known
                && !self.limits.ignores(name)
                && names.len() < MAX_EXTRA
                && is_heard()
                // Each frame is followed once, so that a cycle in TF ends.
                && names.insert(name)
            {
                below.extend(tree.children(name));
            }
        }
        names
            .into_iter()
            .map(|name| self.undeclared(name))
            .collect()
    }

    /// Returns a finding for a frame that the asset does not declare.
    fn undeclared(&self, id: &str) -> Finding {
        let id = plain(id);
        match self.tree().get(id).and_then(|heard| heard.newest()) {
            Some((topic, edge)) => Finding {
                actual_parent: Some(edge.parent.clone()),
                actual_topic: Some(self.tree().name(topic).to_owned()),
                ..Finding::new(
                    id,
                    FrameStatus::Extra,
                    "the asset does not declare this frame",
                )
            },
            None => Finding::new(
                id,
                FrameStatus::Missing,
                "neither the asset nor TF has this frame",
            ),
        }
    }

    /// Checks the frame of the ROS root, unless a body declares it.
    ///
    /// Returns `None` if TF does not have it, because only simulators broadcast it.
    fn ros_root(&self) -> Option<Finding> {
        let context = &self.expected.asset().context;
        let id = context
            .root
            .as_deref()
            .map(plain)
            .filter(|id| self.expected.find(id).is_none())?;
        let frame = AssetFrame {
            id: id.to_owned(),
            display_name: None,
            parent: context.parent_frame.clone(),
            is_static: false,
            pose: Pose::identity(),
            kind: FrameKind::Frame,
            from_sensor: false,
            is_root: true,
            is_apart: false,
            joint: None,
        };
        self.tree().get(id).is_some().then(|| {
            let observed = self.root(&frame, id).into();
            self.with_contradiction(observed, id).finding
        })
    }
}

impl Finding {
    fn with_verdict(self, verdict: FrameStatus, detail: String) -> Observation {
        Observation::from(Self {
            verdict,
            detail,
            ..self
        })
    }

    fn with(self, deviation: Deviation) -> Observation {
        Observation {
            finding: self,
            deviation: Some(deviation),
        }
    }
}

impl Bounds {
    /// Returns the position in the range that is nearest to `position`, modulo whole turns.
    fn nearest(self, position: f64, kind: JointKind) -> f64 {
        let Self { lower, upper } = self;
        let middle = 0.5 * (lower + upper);
        let is_turn = matches!(kind, JointKind::Revolute | JointKind::Continuous);
        let turn = std::f64::consts::TAU;
        // The number of whole turns that brings it nearest to the middle of the range.
        let around = if is_turn {
            position + ((middle - position) / turn).round() * turn
        } else {
            position
        };
        around.clamp(lower, upper)
    }
}

/// Deviation of a frame from its expected pose at one moment.
struct MomentError {
    error: (f64, f64),
    /// Transform from the expected to the observed pose.
    offset: Pose,
    by_tf: f64,
    by_joint_state: f64,
}

/// Returns whether a frame has the same offset at all moments; by the joint states if there are
/// enough.
fn is_constant(stated: &[MomentError], free: &[MomentError]) -> bool {
    let all = if stated.len() >= MIN_MOMENTS_OFF {
        stated
    } else {
        free
    };
    let Some(first) = all.first() else {
        return true;
    };
    let size = first.error.0 + first.error.1;
    all.iter().all(|away| {
        let (position, angle) = distance(&first.offset, &away.offset);
        position + angle <= 0.25 * size + 1e-6
    })
}

/// Makes a finding of a camera's optical frame that only the asset has: a robot that runs without
/// the asset can't broadcast it.
fn unheard_sensor(expected: Finding) -> Finding {
    let detail =
        "a camera's optical frame: simulators broadcast it, while robot_state_publisher does not know it"
            .to_owned();
    Finding {
        verdict: FrameStatus::Ok,
        detail,
        ..expected
    }
}

/// Returns the distance in metres and the angle in radians between two poses.
pub(crate) fn distance(a: &Pose, b: &Pose) -> (f64, f64) {
    (
        (a.translation.vector - b.translation.vector).norm(),
        a.rotation.angle_to(&b.rotation),
    )
}

/// Formats a number with four significant decimals.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || (1e-3..1e4).contains(&value.abs()) {
        format!("{value:.4}")
    } else {
        format!("{value:.1e}")
    }
}
