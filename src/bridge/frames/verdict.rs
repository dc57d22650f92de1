//! Whether the live TF tree holds a frame as the asset declares it (REP-158 §2.7).
//!
//! Pure: it compares an asset's frame with a tree, and knows neither topics' transport nor files.

use std::time::{Duration, Instant};

use super::live::Sources;
use super::tf::{Edge, Heard, Topic, Tree, plain};
use crate::robot::Pose;
use crate::ros::msg::urdf_usd::FrameVerdict;
use crate::usd::AssetFrame;

/// How far TF may be from the asset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Metres.
    pub position: f64,
    /// Radians.
    pub angle: f64,
    /// How long ago a moving frame may have been heard.
    pub timeout: Duration,
}

/// What is the matter with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
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

impl Verdict {
    /// Its word in `urdf_usd/msg/FrameVerdict`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => FrameVerdict::MISSING,
            Self::WrongParent => FrameVerdict::WRONG_PARENT,
            Self::WrongTopic => FrameVerdict::WRONG_TOPIC,
            Self::Off => FrameVerdict::OFF,
            Self::Stale => FrameVerdict::STALE,
            Self::Extra => FrameVerdict::EXTRA,
            Self::Ok => FrameVerdict::OK,
        }
    }
}

/// What was found about a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The frame.
    pub frame: String,
    /// The verdict.
    pub verdict: Verdict,
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
    fn new(frame: &str, verdict: Verdict, detail: impl Into<String>) -> Self {
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

impl From<Finding> for FrameVerdict {
    fn from(finding: Finding) -> Self {
        Self {
            frame_id: finding.frame,
            verdict: finding.verdict.as_str().to_owned(),
            expected_parent: finding.expected_parent.unwrap_or_default(),
            actual_parent: finding.actual_parent.unwrap_or_default(),
            expected_topic: finding.expected_topic.unwrap_or_default(),
            actual_topic: finding.actual_topic.unwrap_or_default(),
            position_error: finding.error.map_or(f64::NAN, |(position, _)| position),
            angle_error: finding.error.map_or(f64::NAN, |(_, angle)| angle),
            detail: finding.detail,
        }
    }
}

/// What was found about a robot's frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// One for each frame asked for.
    pub findings: Vec<Finding>,
    /// Why, where several findings have one reason: sentences.
    pub causes: Vec<String>,
}

/// Holds the frames of an asset against what is heard of the robot: those named in `only`, or all if it is empty. A frame that is
/// asked for and that the asset does not declare gets a verdict too.
pub fn judge(frames: &[AssetFrame], only: &[String], heard: &Sources<'_>, limits: &Limits, now: Instant) -> Judgement {
    let tree = heard.transforms.tree();
    let find = |id: &str| frames.iter().find(|frame| plain(&frame.id) == plain(id));
    let findings: Vec<Finding> = if only.is_empty() {
        frames.iter().map(|frame| judge_one(frame, tree, limits, now)).collect()
    } else {
        only.iter()
            .map(|id| find(id).map_or_else(|| undeclared(id, tree), |frame| judge_one(frame, tree, limits, now)))
            .collect()
    };
    let causes = silence(&findings, heard, limits, now).into_iter().collect();
    Judgement { findings, causes }
}

/// That moving frames are not heard because nothing moves them.
fn silence(findings: &[Finding], heard: &Sources<'_>, limits: &Limits, now: Instant) -> Option<String> {
    let is_silent = |f: &Finding| {
        matches!(f.verdict, Verdict::Missing | Verdict::Stale)
            && f.expected_topic.as_ref() == Some(&heard.transforms.topics().moving)
    };
    let is_recent = heard.joints.joints_heard().is_some_and(|heard| now.saturating_duration_since(heard) <= limits.timeout);
    (findings.iter().any(is_silent) && !is_recent).then(|| {
        format!("nothing is heard on {} either, which robot_state_publisher moves frames by", heard.joints.topics().joints)
    })
}

/// A frame that the asset does not declare.
fn undeclared(id: &str, tree: &Tree) -> Finding {
    let id = plain(id);
    let heard = tree.get(id).and_then(|heard| {
        [Topic::Static, Topic::Moving].into_iter().find_map(|topic| heard.on(topic).map(|edge| (topic, edge.parent.clone())))
    });
    match heard {
        Some((topic, parent)) => Finding {
            actual_parent: Some(parent),
            actual_topic: Some(tree.name(topic).to_owned()),
            ..Finding::new(id, Verdict::Extra, "the asset does not declare this frame")
        },
        None => Finding::new(id, Verdict::Missing, "neither the asset nor TF has this frame"),
    }
}

/// Holds one frame against the tree.
fn judge_one(frame: &AssetFrame, tree: &Tree, limits: &Limits, now: Instant) -> Finding {
    let id = plain(&frame.id);
    let heard = tree.get(id);
    match frame.parent.as_deref() {
        None => judge_root(id, heard, tree),
        Some(parent) => judge_child(frame, id, plain(parent), heard, tree, limits, now),
    }
}

/// The robot's root may hang on anything (`odom`, `map`, `world`) or on nothing.
fn judge_root(id: &str, heard: Option<&Heard>, tree: &Tree) -> Finding {
    let above = heard.and_then(|heard| {
        [Topic::Moving, Topic::Static].into_iter().find_map(|topic| heard.on(topic).map(|edge| (topic, edge.parent.clone())))
    });
    match above {
        Some((topic, parent)) => Finding {
            actual_topic: Some(tree.name(topic).to_owned()),
            ..with_parent(Finding::new(id, Verdict::Ok, format!("the robot's root, under {parent:?}")), &parent)
        },
        None if tree.is_parent(id) => Finding::new(id, Verdict::Ok, "the robot's root, and the root of its tree in TF"),
        None => Finding::new(id, Verdict::Missing, "no transform names this frame"),
    }
}

fn with_parent(finding: Finding, parent: &str) -> Finding {
    Finding { actual_parent: Some(parent.to_owned()), ..finding }
}

fn judge_child(
    frame: &AssetFrame,
    id: &str,
    parent: &str,
    heard: Option<&Heard>,
    tree: &Tree,
    limits: &Limits,
    now: Instant,
) -> Finding {
    let (topic, other) = if frame.is_static { (Topic::Static, Topic::Moving) } else { (Topic::Moving, Topic::Static) };
    let expected = Finding {
        expected_parent: Some(parent.to_owned()),
        expected_topic: Some(tree.name(topic).to_owned()),
        ..Finding::new(id, Verdict::Missing, "no transform names this frame")
    };
    let (right, wrong) = (heard.and_then(|h| h.on(topic)), heard.and_then(|h| h.on(other)));
    let Some((edge, on)) = right.map(|edge| (edge, topic)).or(wrong.map(|edge| (edge, other))) else {
        return if frame.from_sensor { unheard_sensor(expected) } else { expected };
    };
    let found = Finding { actual_parent: Some(edge.parent.clone()), actual_topic: Some(tree.name(on).to_owned()), ..expected };
    let say = |verdict, detail: String| Finding { verdict, detail, ..found.clone() };
    if edge.parent != parent {
        return say(Verdict::WrongParent, format!("under {:?}, the asset says {parent:?}", edge.parent));
    }
    // Two topics at once is as wrong as the wrong one: who listens gets one or the other.
    if wrong.is_some() {
        let also = if right.is_some() { "also " } else { "" };
        let kind = if frame.is_static { "does not move" } else { "moves" };
        return say(
            Verdict::WrongTopic,
            format!("{also}on {}, but the asset says that it {kind}: {}", tree.name(other), tree.name(topic)),
        );
    }
    if frame.is_static { judge_pose(frame, edge, limits, found) } else { judge_age(edge, limits, now, found) }
}

/// A camera's optical frame that is in the asset only: who runs the robot without the asset has no way to broadcast it.
fn unheard_sensor(expected: Finding) -> Finding {
    let detail = "a camera's own frame: simulators broadcast it, robot_state_publisher does not know it".to_owned();
    Finding { verdict: Verdict::Ok, detail, ..expected }
}

fn judge_pose(frame: &AssetFrame, edge: &Edge, limits: &Limits, found: Finding) -> Finding {
    let (position, angle) = distance(&frame.pose, &edge.pose);
    let found = Finding { error: Some((position, angle)), ..found };
    if position > limits.position || angle > limits.angle {
        let detail = format!(
            "{} m and {} rad from where the asset says; the tolerances are {} m and {} rad",
            short(position),
            short(angle),
            limits.position,
            limits.angle
        );
        return Finding { verdict: Verdict::Off, detail, ..found };
    }
    Finding { verdict: Verdict::Ok, detail: "where the asset says".to_owned(), ..found }
}

fn judge_age(edge: &Edge, limits: &Limits, now: Instant, found: Finding) -> Finding {
    let age = now.saturating_duration_since(edge.heard);
    if age > limits.timeout {
        let detail = format!("last heard {:.1} s ago; the timeout is {} s", age.as_secs_f64(), limits.timeout.as_secs_f64());
        return Finding { verdict: Verdict::Stale, detail, ..found };
    }
    Finding { verdict: Verdict::Ok, detail: "under the right parent, on the right topic".to_owned(), ..found }
}

/// Metres and radians between two poses.
fn distance(a: &Pose, b: &Pose) -> (f64, f64) {
    ((a.translation.vector - b.translation.vector).norm(), a.rotation.angle_to(&b.rotation))
}

/// Four digits that count.
fn short(value: f64) -> String {
    if value == 0.0 || (1e-3..1e4).contains(&value) { format!("{value:.4}") } else { format!("{value:.1e}") }
}

#[cfg(test)]
mod tests {
    use super::super::tf::tests::transform;
    use super::*;
    use crate::bridge::frames::live::{Live, Topics};
    use crate::ros::PublisherId;
    use crate::usd::FrameKind;
    use nalgebra::{Translation3, UnitQuaternion};

    const LIMITS: Limits = Limits { position: 1e-3, angle: 1e-2, timeout: Duration::from_secs(1) };

    fn frame(id: &str, parent: Option<&str>, is_static: bool, x: f64) -> AssetFrame {
        AssetFrame {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            is_static,
            pose: Pose::translation(x, 0.0, 0.0),
            kind: FrameKind::Body,
            from_sensor: false,
        }
    }

    /// A tree with `base → arm` on /tf and `arm → tool` on /tf_static.
    fn tree(now: Instant) -> Tree {
        let mut tree = Tree::new("/tf", "/tf_static");
        tree.add(Topic::Moving, &[transform("base", "arm", 1.0)], PublisherId::default(), now);
        tree.add(Topic::Static, &[transform("arm", "tool", 0.5)], PublisherId::default(), now);
        tree
    }

    fn verdict(frame: &AssetFrame) -> Verdict {
        let now = Instant::now();
        judge_one(frame, &tree(now), &LIMITS, now).verdict
    }

    #[test]
    fn an_honest_robot_is_ok() {
        for frame in
            [frame("base", None, true, 0.0), frame("arm", Some("base"), false, 0.0), frame("tool", Some("arm"), true, 0.5)]
        {
            assert_eq!(verdict(&frame), Verdict::Ok, "{}", frame.id);
        }
    }

    #[test]
    fn each_fault_has_its_verdict() {
        for (frame, expected) in [
            (frame("camera", Some("arm"), true, 0.0), Verdict::Missing),
            (frame("elsewhere", None, true, 0.0), Verdict::Missing),
            (frame("tool", Some("base"), true, 0.5), Verdict::WrongParent),
            (frame("tool", Some("arm"), false, 0.5), Verdict::WrongTopic),
            (frame("arm", Some("base"), true, 1.0), Verdict::WrongTopic),
            (frame("tool", Some("arm"), true, 0.502), Verdict::Off),
        ] {
            assert_eq!(verdict(&frame), expected, "{}", frame.id);
        }
    }

    #[test]
    fn a_cameras_own_frame_may_be_unheard_but_not_elsewhere() {
        let own = |frame: AssetFrame| AssetFrame { from_sensor: true, kind: FrameKind::Frame, ..frame };
        assert_eq!(verdict(&own(frame("optical", Some("arm"), true, 0.0))), Verdict::Ok);
        assert_eq!(verdict(&own(frame("tool", Some("arm"), true, 0.5))), Verdict::Ok);
        assert_eq!(verdict(&own(frame("tool", Some("arm"), true, 0.6))), Verdict::Off);
        assert_eq!(verdict(&own(frame("tool", Some("base"), true, 0.5))), Verdict::WrongParent);
    }

    #[test]
    fn the_finding_tells_what_was_expected_and_what_is() {
        let now = Instant::now();
        let finding = judge_one(&frame("tool", Some("arm"), true, 0.6), &tree(now), &LIMITS, now);
        let message = FrameVerdict::from(finding);
        assert_eq!((message.expected_parent.as_str(), message.actual_parent.as_str()), ("arm", "arm"));
        assert_eq!((message.expected_topic.as_str(), message.actual_topic.as_str()), ("/tf_static", "/tf_static"));
        assert!((message.position_error - 0.1).abs() < 1e-12 && message.angle_error.abs() < 1e-9);
        assert!(message.detail.contains("0.1000 m"), "{}", message.detail);
    }

    #[test]
    fn the_sign_of_a_quaternion_means_nothing() {
        let now = Instant::now();
        let mut tree = Tree::new("/tf", "/tf_static");
        let turn = UnitQuaternion::from_euler_angles(0.1, 0.2, 3.0);
        let mut said = transform("arm", "tool", 0.0);
        let q = -turn.into_inner();
        (said.transform.rotation.x, said.transform.rotation.y) = (q.i, q.j);
        (said.transform.rotation.z, said.transform.rotation.w) = (q.k, q.w);
        tree.add(Topic::Static, &[said], PublisherId::default(), now);
        let frame =
            AssetFrame { pose: Pose::from_parts(Translation3::identity(), turn), ..frame("tool", Some("arm"), true, 0.0) };
        assert_eq!(judge_one(&frame, &tree, &LIMITS, now).verdict, Verdict::Ok);
    }

    #[test]
    fn a_moving_frame_gets_stale_and_a_static_one_does_not() {
        let now = Instant::now();
        let (tree, later) = (tree(now), now + Duration::from_secs(5));
        assert_eq!(judge_one(&frame("arm", Some("base"), false, 0.0), &tree, &LIMITS, later).verdict, Verdict::Stale);
        assert_eq!(judge_one(&frame("tool", Some("arm"), true, 0.5), &tree, &LIMITS, later).verdict, Verdict::Ok);
    }

    #[test]
    fn on_both_topics_is_wrong_too() {
        let now = Instant::now();
        let mut tree = tree(now);
        tree.add(Topic::Moving, &[transform("arm", "tool", 0.5)], PublisherId::default(), now);
        let finding = judge_one(&frame("tool", Some("arm"), true, 0.5), &tree, &LIMITS, now);
        assert_eq!((finding.verdict, finding.actual_topic.as_deref()), (Verdict::WrongTopic, Some("/tf_static")));
        assert!(finding.detail.starts_with("also on /tf,"), "{}", finding.detail);
    }

    #[test]
    fn only_the_frames_asked_for() {
        let now = Instant::now();
        let frames = [frame("base", None, true, 0.0), frame("arm", Some("base"), false, 0.0)];
        let only = ["arm".to_owned(), "tool".to_owned(), "nowhere".to_owned()];
        let mut live = Live::new(Topics { moving: "/tf".into(), fixed: "/tf_static".into(), joints: "/joint_states".into() });
        live.hear_transforms(Topic::Moving, &[transform("base", "arm", 1.0)], PublisherId::default(), now);
        live.hear_transforms(Topic::Static, &[transform("arm", "tool", 0.5)], PublisherId::default(), now);
        let heard = Sources { transforms: &live, joints: &live, elsewhere: &[] };
        let findings = judge(&frames, &only, &heard, &LIMITS, now).findings;
        let verdicts: Vec<_> = findings.iter().map(|f| (f.frame.as_str(), f.verdict)).collect();
        assert_eq!(verdicts, [("arm", Verdict::Ok), ("tool", Verdict::Extra), ("nowhere", Verdict::Missing)]);
        assert_eq!(judge(&frames, &[], &heard, &LIMITS, now).findings.len(), 2);
    }
}
