//! Whether the live TF tree holds a frame as the asset declares it (REP-158 §2.7).
//!
//! Pure: it compares an asset's frames with what was heard.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::diagnosis::{self, Cause};
use crate::expected::{self, Expected};
use crate::frames::{AssetFrame, AssetJoint, FrameKind};
use crate::joints::Bounds;
use crate::live::Sources;
use crate::tf::{Edge, Moment, Topic, Tree, plain};
use urdf_usd_robot::names::is_identifier;
use urdf_usd_robot::{JointKind, Pose};

/// How many moments of a moving frame are compared.
const MOMENTS: usize = 8;
/// How long before the last one they may have been heard, unless they are among the last [`PROOF`].
const WINDOW: Duration = Duration::from_secs(2);
/// At how many moments a frame must be away from where its joint state puts it.
const PROOF: usize = 3;
/// How many extra frames are reported.
const MOST_EXTRA: usize = 200;

/// How far TF may be from the asset, and what is not looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Metres.
    pub position: f64,
    /// Radians.
    pub angle: f64,
    /// How long ago a moving frame may have been heard.
    pub timeout: Duration,
    /// Patterns of frames that are not looked at: `*` stands for any characters, `?` for one.
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

    fn exceeded(&self, (position, angle): (f64, f64)) -> bool {
        position > self.position || angle > self.angle
    }
}

/// Whether `text` is what `pattern` says: `*` stands for any characters, `?` for one.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the last star was, and what it stood for up to now.
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

/// How a frame of the running robot stands to the asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameStatus {
    /// On no TF topic.
    Missing,
    /// Under another parent.
    WrongParent,
    /// On `/tf` where the asset says `/tf_static`, or the other way round.
    WrongTopic,
    /// Not where the asset says.
    Off,
    /// Not heard for longer than the timeout.
    Stale,
    /// In TF but not in the asset.
    Extra,
    /// As the asset says.
    Ok,
}

impl FrameStatus {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Missing,
        Self::WrongParent,
        Self::WrongTopic,
        Self::Off,
        Self::Stale,
        Self::Extra,
        Self::Ok,
    ];

    /// Its word, which stays.
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

    /// Whether the robot and the asset disagree. What others hang on the robot is no fault.
    pub fn is_fault(self) -> bool {
        !matches!(self, Self::Ok | Self::Extra)
    }
}

/// What was found about a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The frame.
    pub frame: String,
    /// The status: the field `verdict` of `urdf_usd/msg/FrameVerdict`.
    pub verdict: FrameStatus,
    /// The parent the asset says; `None` for a root.
    pub expected_parent: Option<String>,
    /// The parent in TF.
    pub actual_parent: Option<String>,
    /// The topic the asset says; `None` for a root.
    pub expected_topic: Option<String>,
    /// The topic it was heard on.
    pub actual_topic: Option<String>,
    /// Metres and radians from where the asset says, where they were compared.
    pub error: Option<(f64, f64)>,
    /// The finding in a sentence.
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

/// What was found about a robot's frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameCheck {
    /// One for each frame of the asset in its order, or for each asked for; then what TF has beyond
    /// them.
    pub findings: Vec<Finding>,
    /// Why, where several findings have one reason.
    pub causes: Vec<Cause>,
}

impl FrameCheck {
    /// Whether all frames of the asset are as it says.
    pub fn is_ok(&self) -> bool {
        !self
            .findings
            .iter()
            .any(|finding| finding.verdict.is_fault())
    }
}

/// Compares the frames of an asset with what is heard of the robot: those named in `only`, or all
/// if it is empty, and those that are heard under the robot beyond them. A frame that is asked for
/// and that the asset does not declare gets a finding too.
pub fn check_frames(
    expected: &Expected,
    only: &[String],
    heard: &Sources<'_>,
    limits: &Limits,
    now: Instant,
) -> FrameCheck {
    let aliases = aliases(expected, heard.transforms.tree(), "");
    let snapshot = Snapshot {
        expected,
        heard,
        limits,
        now,
        prefix: "",
        aliases: &aliases,
    };
    let mut observed = snapshot.all();
    let extra = snapshot.extra();
    let mut causes = diagnosis::causes(&snapshot, &mut observed, &extra);
    causes.extend(diagnosis::encoded_names(&snapshot, &mut observed));
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

/// What TF calls frames whose names in ROS no prim can have, behind a prefix: by their names in the
/// asset.
pub(crate) fn aliases<'a>(
    expected: &'a Expected,
    tree: &Tree,
    prefix: &str,
) -> HashMap<&'a str, &'a str> {
    let is_there = |name: &str| {
        let name = format!("{prefix}{name}");
        tree.get(&name).is_some() || tree.is_parent(&name)
    };
    let names = expected
        .iter()
        .filter_map(|frame| Some((plain(&frame.id), plain(frame.display_name.as_deref()?))));
    // A name that a prim can have is one that is shown to people and nothing else.
    names
        .filter(|(id, name)| !is_identifier(name) && !is_there(id) && is_there(name))
        .collect()
}

/// A finding, with what it was made from.
pub(crate) struct Observation {
    pub(crate) finding: Finding,
    pub(crate) deviation: Option<Deviation>,
}

/// How a frame that is off is off.
pub(crate) enum Deviation {
    /// It is not where it is fixed, or where its joint can't take it; the same at all moments or
    /// not.
    Place { is_constant: bool },
    /// It is where its joint can take it, but not where the joint state puts it: radians or metres,
    /// by either.
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

/// What is known of a robot when its frames are checked.
pub(crate) struct Snapshot<'a> {
    pub(crate) expected: &'a Expected,
    pub(crate) heard: &'a Sources<'a>,
    pub(crate) limits: &'a Limits,
    pub(crate) now: Instant,
    /// What stands in front of every name in TF.
    pub(crate) prefix: &'a str,
    /// Frames that TF calls otherwise.
    pub(crate) aliases: &'a HashMap<&'a str, &'a str>,
}

/// A frame that a joint moves, as it is in TF.
struct Moved<'a> {
    /// Of the frame in the asset.
    index: usize,
    /// Of the joint in the asset.
    number: usize,
    joint: &'a AssetJoint,
    edge: &'a Edge,
    /// Where what it hangs on in TF is in what it hangs on in the asset.
    above: &'a Pose,
    /// The last moment from another publisher.
    rival: Option<Moment>,
}

/// Whether the asset says that a frame moves, in words.
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

    /// What was found about every frame of the asset.
    pub(crate) fn all(&self) -> Vec<Observation> {
        (0..self.expected.len())
            .filter_map(|index| self.frame(index))
            .collect()
    }

    fn name(&self, id: &str) -> String {
        format!("{}{}", self.prefix, self.alias(id))
    }

    fn alias<'a>(&'a self, id: &'a str) -> &'a str {
        self.aliases.get(plain(id)).copied().unwrap_or(plain(id))
    }

    /// The frame of the asset that has this name in TF.
    fn find(&self, name: &str) -> Option<usize> {
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

    /// The last transform of a frame on a topic, if it still counts: what moves is current or it is
    /// nothing, if the other topic has the frame too.
    pub(crate) fn edges(&self, id: &str) -> (Option<&Edge>, Option<&Edge>) {
        let Some(heard) = self.tree().get(&self.name(id)) else {
            return (None, None);
        };
        let (moving, fixed) = (heard.on(Topic::Moving), heard.on(Topic::Static));
        (
            moving.filter(|edge| fixed.is_none() || !self.is_silent(edge)),
            fixed,
        )
    }

    pub(crate) fn is_silent(&self, edge: &Edge) -> bool {
        self.now.saturating_duration_since(edge.heard) > self.limits.timeout
    }

    /// Whether a frame is not looked at, by its name or by what the robot calls it.
    pub(crate) fn ignores(&self, id: &str, display_name: Option<&str>) -> bool {
        self.limits.ignores(id) || display_name.is_some_and(|name| self.limits.ignores(plain(name)))
    }

    /// Compares the frame of the asset that has this index with the tree.
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
                "not looked at: a pattern of frames to ignore fits it",
            )
            .into();
        }
        if frame.is_root {
            self.root(frame, id).into()
        } else {
            self.child(index, frame, id)
        }
    }

    /// A root of the robot may hang on anything (`odom`, `map`, `world`) or on nothing, unless the
    /// asset says what; where it is, and on which topic, is not for the asset to say.
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
                    "the robot's root, and the root of its tree in TF",
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
                    "the robot's root is under {:?}, the asset says {parent:?}",
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

    /// Whether a parent in TF is the one that the asset says. The ROS root stands for what it hangs
    /// on: its frame lies there.
    fn is_parent(&self, says: &str, is: &str) -> bool {
        let context = &self.expected.asset().context;
        let is_world = context.parent_frame.as_deref().map(plain) == Some(says);
        is == self.name(says)
            || is_world && (is == says || context.root.as_deref().map(plain) == Some(is))
    }

    /// Where what a frame hangs on in TF is in what the asset says that it hangs on, if the two go
    /// together: they are the same; or the asset says only which body its joint names, and in TF it
    /// hangs on one of the frames that are rigid in that body, as it does by robot_state_publisher
    /// where an empty link is between two bodies.
    fn above(&self, frame: &AssetFrame, says: &str, is: &str) -> Option<Pose> {
        if self.is_parent(says, is) {
            return Some(Pose::identity());
        }
        let (mut at, mut pose) = (self.find(is).filter(|_| frame.is_apart)?, Pose::identity());
        let mut frames_left = self.expected.len();
        loop {
            let between = self.expected.get(at)?;
            if plain(&between.id) == says {
                break;
            }
            // Frames whose names differ by a leading slash may lead round in a circle.
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

    /// What is heard of a frame that the asset has in another.
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
        let (above, rival) = match self.placed(frame, parent, edge) {
            Ok(placed) => placed,
            Err(detail) => return found.says(FrameStatus::WrongParent, detail),
        };
        // Two topics at once is as wrong as the wrong one: who listens gets one or the other.
        if wrong.is_some() {
            let also = if right.is_some() { "also " } else { "" };
            let kind = motion(frame);
            let (is, says) = (tree.name(other), tree.name(topic));
            let detail = format!("{also}on {is}, but the asset says that it {kind}: {says}");
            return found.says(FrameStatus::WrongTopic, detail);
        }
        if !frame.is_static && self.is_silent(edge) {
            let age = self.now.saturating_duration_since(edge.heard).as_secs_f64();
            let timeout = self.limits.timeout.as_secs_f64();
            let detail = format!("last heard {age:.1} s ago; the timeout is {timeout} s");
            return found.says(FrameStatus::Stale, detail);
        }
        let mut observed = match self.expected.joint(frame) {
            _ if frame.is_static => self.fixed(frame, &(above * edge.pose), rival, found),
            Some((number, joint)) => {
                let moved = Moved {
                    index,
                    number,
                    joint,
                    edge,
                    above: &above,
                    rival,
                };
                self.moving(moved, found)
            }
            // Animated, or moved by something that the asset does not describe.
            None => found.says(
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

    /// Where the parent that is heard of stands in the one that the asset says, and where a second
    /// publisher has the frame in that, if there is one.
    ///
    /// # Errors
    /// What is wrong if one of them stands in none of its frames.
    fn placed(
        &self,
        frame: &AssetFrame,
        parent: &str,
        edge: &Edge,
    ) -> Result<(Pose, Option<Moment>), String> {
        let above = self
            .above(frame, parent, &edge.parent)
            .ok_or_else(|| format!("under {:?}, the asset says {parent:?}", edge.parent))?;
        let Some((other, moment)) = edge.rival(self.now, self.limits.timeout) else {
            return Ok((above, None));
        };
        let of_other = self.above(frame, parent, other).ok_or_else(|| {
            format!("a second publisher has it under {other:?}, the asset says {parent:?}")
        })?;
        Ok((above, Some(moment.under(&of_other))))
    }

    fn fixed(
        &self,
        frame: &AssetFrame,
        pose: &Pose,
        rival: Option<Moment>,
        found: Finding,
    ) -> Observation {
        let error = distance(&frame.pose, pose);
        let others = rival.map(|moment| distance(&frame.pose, &moment.pose));
        let found = Finding {
            error: Some(error),
            ..found
        };
        match others.filter(|&others| self.limits.exceeded(others)) {
            _ if self.limits.exceeded(error) => self.off(error, "where the asset says", found),
            Some(others) => self.off(
                others,
                "where the asset says, as a second publisher has it",
                found,
            ),
            None => {
                return Finding {
                    verdict: FrameStatus::Ok,
                    detail: "where the asset says".to_owned(),
                    ..found
                }
                .into();
            }
        }
        .with(Deviation::Place { is_constant: true })
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

    /// A frame that a joint moves: it must be where the joint can take it, and where the joint
    /// state of the same moment puts it.
    fn moving(&self, moved: Moved<'_>, found: Finding) -> Observation {
        let Moved {
            index,
            number,
            joint,
            edge,
            above,
            rival,
        } = moved;
        let newest = edge.heard;
        let is_recent = |(count, moment): &(usize, Moment)| {
            *count < PROOF || newest.saturating_duration_since(moment.heard) <= WINDOW
        };
        let counts = |moment: &Moment| moment.heard >= self.expected.since();
        let moments = edge.moments().take(MOMENTS).enumerate().filter(is_recent);
        let moments = moments.map(|(_, moment)| moment.under(above)).chain(rival);
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
            let position = position.filter(|_| edge.is_calm(&moment));
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
        if let Some(worst) = free.iter().find(exceeded) {
            let detail = format!("where its joint {:?} can take it", joint.name);
            return self
                .off(worst.error, &detail, found)
                .with(Deviation::Place {
                    is_constant: is_constant(&stated, &free),
                });
        }
        let off: Vec<&MomentError> = stated.iter().filter(exceeded).collect();
        if let [first, ..] = off[..]
            && off.len() >= PROOF
        {
            let (by_tf, at) = (first.by_tf, first.by_joint_state);
            let unit = if joint.kind == JointKind::Prismatic {
                "m"
            } else {
                "rad"
            };
            let detail = format!(
                "where the joint state of the same moment puts it (joint {:?}: TF {} {unit}, joint state {} {unit})",
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
                "where the joint state of the same moment puts it",
            ),
            (None, Some(away)) => (
                Some(away.error),
                "where its joint can take it; no joint state tells of the same moment",
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

    /// What positions a joint may have had at a moment: by its own joint state, or by that of the
    /// joint that it follows.
    fn bounds(&self, number: usize, joint: &AssetJoint, moment: &Moment) -> Option<Bounds> {
        // Without a stamp there is no moment.
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
        // Positions beyond all measure leave nothing to compare with.
        .filter(|bounds| bounds.lower.is_finite() && bounds.upper.is_finite())
    }

    /// What is heard under the robot that the asset does not declare.
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
                && names.len() < MOST_EXTRA
                && is_heard()
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

    /// A frame that the asset does not declare.
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

    /// The ROS root, where it is no body: only if something broadcasts it, as a simulator does.
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
        self.tree().get(id).is_some().then(|| self.root(&frame, id))
    }
}

impl Finding {
    fn says(self, verdict: FrameStatus, detail: String) -> Observation {
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
    /// The position within that is nearest to one; turns of whole circles are one position.
    fn nearest(self, position: f64, kind: JointKind) -> f64 {
        let Self { lower, upper } = self;
        let middle = 0.5 * (lower + upper);
        let is_turn = matches!(kind, JointKind::Revolute | JointKind::Continuous);
        let turn = std::f64::consts::TAU;
        let around = if is_turn {
            position + ((middle - position) / turn).round() * turn
        } else {
            position
        };
        around.clamp(lower, upper)
    }
}

/// How far a frame is from where it should be at a moment.
struct MomentError {
    error: (f64, f64),
    /// What takes it from where it should be to where it is.
    offset: Pose,
    by_tf: f64,
    by_joint_state: f64,
}

/// Whether a frame is away by the same offset at all moments: by its joint states where there are
/// some.
fn is_constant(stated: &[MomentError], free: &[MomentError]) -> bool {
    let all = if stated.len() >= PROOF { stated } else { free };
    let Some(first) = all.first() else {
        return true;
    };
    let size = first.error.0 + first.error.1;
    all.iter().all(|away| {
        let (position, angle) = distance(&first.offset, &away.offset);
        position + angle <= 0.25 * size + 1e-6
    })
}

/// A camera's optical frame that is in the asset only: who runs the robot without the asset has no
/// way to broadcast it.
fn unheard_sensor(expected: Finding) -> Finding {
    let detail =
        "a camera's own frame: simulators broadcast it, robot_state_publisher does not know it"
            .to_owned();
    Finding {
        verdict: FrameStatus::Ok,
        detail,
        ..expected
    }
}

/// Metres and radians between two poses.
pub(crate) fn distance(a: &Pose, b: &Pose) -> (f64, f64) {
    (
        (a.translation.vector - b.translation.vector).norm(),
        a.rotation.angle_to(&b.rotation),
    )
}

/// Four digits that count.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || (1e-3..1e4).contains(&value.abs()) {
        format!("{value:.4}")
    } else {
        format!("{value:.1e}")
    }
}
