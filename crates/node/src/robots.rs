//! The node's state of each robot, and its presentation as a diagnostic status, a message and a
//! view for the page.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::capture::Differing;
use super::description_source::{Origin, RobotNamespace};
use super::fingerprint::Fingerprint;
use super::{codes, request};
use urdf_usd_convert::codes::{CRASHED, OUT_OF_MEMORY, TIMED_OUT};
use urdf_usd_convert::{Job, Report};
use urdf_usd_diagnostic::{Diagnostic, Severity, status};
use urdf_usd_isaac::poses::stored::Listing;
use urdf_usd_messages::Asset;
use urdf_usd_ros::msg::builtin_interfaces::Time;
use urdf_usd_ros::msg::diagnostic_msgs::{DiagnosticStatus, KeyValue};
use urdf_usd_ros::msg::std_msgs::Header;
use urdf_usd_ros::{Publisher, PublisherId};
use urdf_usd_serve::{
    AssetFrameView, FrameView, FramesView, Presence, RobotState, RobotView, TransformView, redact,
    redact_finding,
};
use urdf_usd_tf_check::{self as tf, Expected, Finding, FrameCheck, FrameStatus, Topic, Tree};
use urdf_usd_usd_read::{AssetFrame, InterfaceSummary};

/// Extension of the USD entry layer.
pub(super) const ENTRY: &str = "usda";
/// Maximum number of names in a list of robots.
pub(super) const MAX_NAMED: usize = 20;

/// All state of a robot; dropping this forgets the robot.
pub(super) struct Robot {
    /// Name of the robot.
    pub name: String,
    /// Namespace of the robot.
    pub robot_namespace: RobotNamespace,
    /// Origin of its description.
    pub origin: Origin,
    /// Its departure, if no one describes it any more.
    pub gone: Option<Gone>,
    /// The source of the latest attempt.
    pub job: Arc<Job>,
    /// Number of the latest attempt, counted over all robots.
    pub attempt: u64,
    /// The inputs of the latest attempt.
    pub fingerprint: Option<Fingerprint>,
    /// Whether the latest attempt succeeded; the findings if it failed.
    pub outcome: Result<(), Vec<Diagnostic>>,
    /// End of the latest attempt.
    pub time: Time,
    /// Duration of the latest attempt.
    pub took: Duration,
    /// Publisher of the latest attempt's source, if it was published.
    pub heard_from: Option<PublisherId>,
    /// Every file that the latest attempt used.
    pub used: Vec<PathBuf>,
    /// The last asset that was written.
    pub asset: Option<Written>,
    /// The latest comparison of its frames with TF.
    pub frame_check: Option<FrameCheck>,
    /// Publisher of its asset; latched, for late subscribers.
    pub announcer: Option<Publisher<Asset>>,
    /// The interfaces that a revision of its asset declares.
    pub declared: Option<(u64, Arc<[InterfaceSummary]>)>,
    /// Differences between those and the running robot.
    pub differing: Option<Vec<Differing>>,
    /// Conflicting descriptions that were warned of.
    pub contested: BTreeSet<String>,
    /// Data that motion calls have read of its asset.
    pub motion: Motion,
    /// The number of conversions in a row that ran out of descriptors, and the time of the next
    /// try.
    pub starved: Option<(u32, Instant)>,
}

/// Data of an asset that motion calls have read, cached for later calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Motion {
    /// The robot.
    pub model: Option<Arc<MotionModel>>,
    /// Its named poses.
    pub listing: Option<Arc<Listing>>,
}

/// The departure of a robot.
#[derive(Clone, Debug)]
pub(super) struct Gone {
    /// Time of the departure.
    pub since: Time,
    /// The reason, as a sentence.
    pub why: String,
}

/// A robot read from its asset, with its kinematics.
#[derive(Debug)]
pub(super) struct MotionModel {
    /// The revision that it was read from.
    pub revision: u64,
    /// The robot.
    pub robot: urdf_usd_robot::Robot,
    /// Its kinematics.
    pub mechanism: urdf_usd_kinematics::Mechanism,
}

/// A written asset.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// The report of its conversion.
    pub report: Arc<Report>,
    /// The frames it declares.
    pub frames: Frames,
}

/// The frames of an asset, as read back from it.
#[derive(Clone, Debug)]
pub(super) enum Frames {
    /// The asset has no USD that could declare any.
    None,
    /// Being read; holds the frames of the previous revision, if there are any.
    Pending(Option<Arc<Expected>>),
    /// The frames, or why they can't be read.
    Read(Result<Arc<Expected>, String>),
}

/// Name of the output directory on the page.
pub(super) const OUTPUT: &str = "output_dir";

impl Robot {
    /// Creates a robot without any attempt.
    pub(super) fn new(
        name: String,
        job: Arc<Job>,
        robot_namespace: RobotNamespace,
        origin: Origin,
        heard_from: Option<PublisherId>,
    ) -> Self {
        Self {
            name,
            robot_namespace,
            origin,
            gone: None,
            job,
            attempt: 0,
            fingerprint: None,
            outcome: Ok(()),
            time: Time::default(),
            took: Duration::ZERO,
            heard_from,
            used: Vec::new(),
            asset: None,
            frame_check: None,
            announcer: None,
            declared: None,
            differing: None,
            contested: BTreeSet::new(),
            motion: Motion::default(),
            starved: None,
        }
    }

    /// Returns the findings of the latest attempt.
    pub(super) fn diagnostics(&self) -> &[Diagnostic] {
        match (&self.outcome, &self.asset) {
            (Err(diagnostics), _) => diagnostics,
            (Ok(()), Some(asset)) => &asset.report.diagnostics,
            (Ok(()), None) => &[],
        }
    }

    fn count(&self, severity: Severity) -> usize {
        self.diagnostics()
            .iter()
            .filter(|d| d.severity == severity)
            .count()
    }

    /// Returns the state after the latest attempt.
    pub(super) fn state(&self) -> RobotState {
        if self.outcome.is_err() || self.count(Severity::Error) > 0 {
            RobotState::Error
        } else if self.count(Severity::Warning) > 0 {
            RobotState::Warning
        } else {
            RobotState::Ok
        }
    }

    /// Returns whether the robot is supposed to run: it is described, and not only by a call.
    pub(super) fn runs(&self) -> bool {
        self.gone.is_none() && self.origin != Origin::Call
    }

    /// Returns whether the robot is still described.
    pub(super) fn presence(&self) -> Presence {
        if self.gone.is_some() {
            Presence::Gone
        } else {
            Presence::Live
        }
    }

    /// Explains why the robot counts as gone.
    pub(super) fn why_gone(&self) -> String {
        let stays = self.asset.as_ref().map_or(String::new(), |asset| {
            format!("; revision {} is kept", asset.report.revision)
        });
        let why = self.gone.as_ref().map_or("", |gone| &gone.why);
        format!("{why}{stays}")
    }

    /// Summarises the robot's state in a sentence: the revision, or the first error with its place.
    pub(super) fn message(&self) -> String {
        if self.gone.is_some() {
            return format!("gone: {}", self.why_gone());
        }
        match (&self.outcome, &self.asset) {
            (Err(diagnostics), None) => request::first_error(diagnostics),
            (Err(diagnostics), Some(asset)) => {
                format!(
                    "{} (revision {} is kept)",
                    request::first_error(diagnostics),
                    asset.report.revision
                )
            }
            (Ok(()), Some(asset)) if self.state() == RobotState::Ok => {
                format!(
                    "revision {} in {}",
                    asset.report.revision,
                    asset.report.directory.display()
                )
            }
            (Ok(()), Some(asset)) => {
                format!(
                    "revision {}; {}",
                    asset.report.revision,
                    status(&asset.report.diagnostics)
                )
            }
            (Ok(()), None) => "not converted yet".to_owned(),
        }
    }

    /// Returns the conversion's status for `/diagnostics`.
    pub(super) fn conversion_status(&self, node: &str, key: &str) -> DiagnosticStatus {
        let mut values = vec![pair("robot", &self.name)];
        if let Some(Written { report, .. }) = &self.asset {
            values.push(pair("revision", report.revision));
            values.push(pair("directory", report.directory.display()));
            if let Some(entry) = report.file(ENTRY) {
                values.push(pair("entry", entry.display()));
            }
            values.push(pair("links", report.counts.links));
            values.push(pair("joints", report.counts.joints));
        }
        values.push(pair("errors", self.count(Severity::Error)));
        values.push(pair("warnings", self.count(Severity::Warning)));
        values.push(pair("source", source(&self.job)));
        values.push(pair("from", &self.origin));
        if let Some(gone) = &self.gone {
            values.push(pair("gone", format!("{:.3}", gone.since.seconds())));
        }
        values.push(pair("converted", format!("{:.3}", self.time.seconds())));
        values.push(pair("milliseconds", self.took.as_millis()));
        DiagnosticStatus {
            level: match self.state() {
                _ if self.gone.is_some() => DiagnosticStatus::STALE,
                // The caller has the findings; nothing that runs is at fault.
                _ if self.origin == Origin::Call => DiagnosticStatus::OK,
                RobotState::Ok => DiagnosticStatus::OK,
                RobotState::Warning => DiagnosticStatus::WARN,
                RobotState::Error => DiagnosticStatus::ERROR,
            },
            name: format!("{node}: conversion of {key}"),
            message: self.message(),
            hardware_id: self.name.clone(),
            values,
        }
    }

    /// Returns whether the latest attempt ended without reporting its inputs. Then only a new
    /// description, or a change of earlier inputs, justifies another one.
    pub(super) fn is_set_aside(&self) -> bool {
        let silent = [
            codes::TIME_LIMIT.id,
            codes::DEFECT.id,
            OUT_OF_MEMORY.id,
            CRASHED.id,
            TIMED_OUT.id,
        ];
        let is_ours = |d: &Diagnostic| silent.contains(&d.code);
        self.outcome
            .as_ref()
            .is_err_and(|diagnostics| diagnostics.iter().any(is_ours))
    }

    /// Returns the view for the page. `own` is the node's namespace; the path `output_dir` is
    /// replaced, so that the page does not reveal it.
    pub(super) fn view(
        &self,
        key: &str,
        own: &str,
        frames: Option<FramesView>,
        output_dir: &Path,
    ) -> RobotView {
        let report = self.asset.as_ref().map(|asset| &asset.report);
        RobotView {
            name: self.name.clone(),
            key: key.to_owned(),
            namespace: match &self.robot_namespace {
                RobotNamespace::Own => own.to_owned(),
                RobotNamespace::Named(namespace) => namespace.to_string(),
            },
            presence: self.presence(),
            state: self.state(),
            message: redact(output_dir, OUTPUT, &self.message()),
            is_outdated: self.outcome.is_err() && report.is_some(),
            sha256: report.map(|report| report.source.sha256.clone()),
            revision: report.map(|report| report.revision),
            time: self.time.seconds(),
            directory: report.map(|report| report.directory.clone()),
            files: report.map_or_else(Vec::new, |report| report.files.clone()),
            counts: report.map(|report| report.counts),
            diagnostics: self
                .diagnostics()
                .iter()
                .map(|finding| redact_finding(output_dir, OUTPUT, finding))
                .collect(),
            frames,
            only_listed: false,
        }
    }
}

/// Returns the message that announces a revision.
pub(super) fn announcement(report: &Report, stamp: Time) -> Asset {
    let count = |severity| u32::try_from(report.count(severity)).unwrap_or(u32::MAX);
    let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let path = |file: Option<PathBuf>| {
        file.map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    Asset {
        header: Header {
            stamp,
            frame_id: report.root.clone(),
        },
        robot: report.robot.clone(),
        ros_namespace: report.namespace.trim_matches('/').to_owned(),
        revision: report.revision,
        directory: report.directory.to_string_lossy().into_owned(),
        entry: path(report.file(ENTRY)),
        glb: path(report.file("glb")),
        files: report.files.iter().map(|file| file.path.clone()).collect(),
        sha256: report
            .files
            .iter()
            .map(|file| file.sha256.clone())
            .collect(),
        links: small(report.counts.links),
        joints: small(report.counts.joints),
        meshes: small(report.counts.meshes),
        triangles: report.counts.triangles as u64,
        materials: small(report.counts.materials),
        warnings: count(Severity::Warning),
        errors: count(Severity::Error),
        report: serde_json::to_string(report).unwrap_or_default(),
    }
}

fn source(job: &Job) -> String {
    match &job.source {
        urdf_usd_convert::Source::File(path) => path.display().to_string(),
        urdf_usd_convert::Source::Xacro { file, arguments } => {
            let arguments: String = arguments
                .iter()
                .map(|argument| format!(" {argument}"))
                .collect();
            format!("{}{arguments}", file.display())
        }
        urdf_usd_convert::Source::Text { text, .. } => {
            format!("description of {}", request::size(text.len() as u64))
        }
        urdf_usd_convert::Source::Bytes { bytes, .. } => {
            format!("asset of {}", request::size(bytes.len() as u64))
        }
    }
}

/// Returns the approximate size of a status on the wire, in bytes.
pub(super) fn size(status: &DiagnosticStatus) -> usize {
    let values: usize = status
        .values
        .iter()
        // CDR adds to each text a length of four bytes, a NUL and padding.
        .map(|pair| pair.key.len() + pair.value.len() + 16)
        .sum();
    status.name.len() + status.message.len() + status.hardware_id.len() + values + 40
}

pub(super) fn pair(key: &str, value: impl ToString) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: value.to_string(),
    }
}

/// Returns the status of something that was not received yet.
pub(super) fn silent_status(node: &str, what: &str, message: String) -> DiagnosticStatus {
    DiagnosticStatus {
        level: DiagnosticStatus::STALE,
        name: format!("{node}: {what}"),
        message,
        hardware_id: "none".to_owned(),
        values: Vec::new(),
    }
}

/// Returns the diagnostic status of an asset whose frames can't be read back.
pub(super) fn unreadable_frames(
    node: &str,
    key: &str,
    robot: &Robot,
    reason: &str,
) -> DiagnosticStatus {
    DiagnosticStatus {
        level: DiagnosticStatus::ERROR,
        name: format!("{node}: frames of {key}"),
        message: format!("the frames cannot be read back from the asset: {reason}"),
        hardware_id: robot.name.clone(),
        values: vec![pair("robot", &robot.name)],
    }
}

/// Returns the frames' status for `/diagnostics`.
pub(super) fn frames_status(
    node: &str,
    key: &str,
    robot: &Robot,
    check: &FrameCheck,
) -> DiagnosticStatus {
    let findings = &check.findings;
    let wrong: Vec<&Finding> = findings
        .iter()
        .filter(|finding| level(finding.verdict) > DiagnosticStatus::OK)
        .collect();
    let worst = wrong.iter().max_by_key(|finding| level(finding.verdict));
    let all = findings
        .iter()
        .filter(|finding| finding.verdict != FrameStatus::Extra)
        .count();
    let cause: String = check
        .causes
        .iter()
        .map(|cause| format!("; {cause}"))
        .collect();
    let message = match worst {
        None => format!("all {all} frames match the asset{cause}"),
        Some(worst) => {
            let count = format!("{} of {all} frames differ from the asset", wrong.len());
            format!(
                "{count}: {:?} is {}: {}{cause}",
                worst.frame,
                worst.verdict.as_str().replace('_', " "),
                worst.detail
            )
        }
    };
    let mut values = vec![
        pair("robot", &robot.name),
        pair("frames", all),
        pair("ok", all - wrong.len()),
    ];
    values.extend(
        check
            .causes
            .iter()
            .map(|cause| pair(&format!("cause {}", cause.kind.as_str()), cause)),
    );
    // A sample; `~/check_frames` returns all.
    values.extend(
        wrong
            .iter()
            .take(20)
            .map(|f| pair(&f.frame, format!("{}: {}", f.verdict.as_str(), f.detail))),
    );
    DiagnosticStatus {
        level: worst.map_or(DiagnosticStatus::OK, |finding| level(finding.verdict)),
        name: format!("{node}: frames of {key}"),
        message,
        hardware_id: robot.name.clone(),
        values,
    }
}

fn level(verdict: FrameStatus) -> u8 {
    match verdict {
        FrameStatus::Ok | FrameStatus::Extra => DiagnosticStatus::OK,
        // The robot may not be running yet.
        FrameStatus::Missing | FrameStatus::Stale => DiagnosticStatus::WARN,
        FrameStatus::WrongParent | FrameStatus::WrongTopic | FrameStatus::Off => {
            DiagnosticStatus::ERROR
        }
    }
}

/// Returns the verdicts of frames for the viewer's page.
pub(super) fn frames_view(FrameCheck { findings, causes }: &FrameCheck) -> FramesView {
    let wrong = findings
        .iter()
        .filter(|finding| finding.verdict != FrameStatus::Ok);
    let view = |f: &Finding| FrameView {
        frame: f.frame.clone(),
        verdict: f.verdict.as_str(),
        detail: f.detail.clone(),
    };
    let findings_view: Vec<FrameView> = wrong.map(view).collect();
    FramesView {
        ok: findings.len() - findings_view.len(),
        total: findings.len(),
        findings: findings_view,
        causes: causes.iter().map(ToString::to_string).collect(),
    }
}

/// Returns all frames of an asset in order, with their verdicts if there was a check.
pub(super) fn all_frames(
    frames: &[AssetFrame],
    findings: Option<&[Finding]>,
) -> Vec<AssetFrameView> {
    let finding = |index: usize| findings.and_then(|findings| findings.get(index));
    let view = |(index, frame): (usize, &AssetFrame)| AssetFrameView {
        name: tf::plain(&frame.id).to_owned(),
        alias: frame
            .display_name
            .as_deref()
            .map(|name| tf::plain(name).to_owned())
            .filter(|name| name != tf::plain(&frame.id)),
        parent: frame
            .parent
            .as_deref()
            .map(|parent| tf::plain(parent).to_owned()),
        is_static: frame.is_static,
        verdict: finding(index).map(|finding| finding.verdict.as_str()),
        detail: finding(index).map_or_else(String::new, |finding| finding.detail.clone()),
    };
    frames.iter().enumerate().map(view).collect()
}

/// Returns the live TF tree sorted by name; a frame on both topics is listed twice.
pub(super) fn transforms(tree: &Tree, now: Instant) -> Vec<TransformView> {
    let view = |(frame, topic, edge): (&str, Topic, &tf::Edge)| TransformView {
        frame: frame.to_owned(),
        parent: edge.parent.clone(),
        is_static: topic == Topic::Static,
        age: now.saturating_duration_since(edge.heard).as_secs_f64(),
    };
    let mut views: Vec<TransformView> = tree.edges().map(view).collect();
    views.sort_by(|a, b| (&a.frame, a.is_static).cmp(&(&b.frame, b.is_static)));
    views
}

#[cfg(test)]
mod tests {
    use super::*;
    use urdf_usd_robot::Pose;
    use urdf_usd_tf_check::{Limits, Live, Sources, Topics, check_frames};
    use urdf_usd_usd_read::{AssetFrames, FrameKind};

    #[test]
    fn every_frame_is_listed_with_or_without_a_verdict() {
        let frame = |id: &str, parent: Option<&str>| AssetFrame {
            id: id.to_owned(),
            display_name: None,
            parent: parent.map(str::to_owned),
            is_static: true,
            pose: Pose::identity(),
            kind: FrameKind::Body,
            from_sensor: false,
            is_root: parent.is_none(),
            is_apart: false,
            joint: None,
        };
        let (frames, now) = (
            vec![frame("/base", None), frame("tool", Some("/base"))],
            Instant::now(),
        );
        let frames = Expected::new(
            AssetFrames {
                frames,
                ..AssetFrames::default()
            },
            now,
        )
        .unwrap();
        let silent = all_frames(&frames, None);
        assert!(
            silent
                .iter()
                .all(|frame| frame.verdict.is_none() && frame.detail.is_empty()),
            "{silent:?}"
        );
        assert_eq!(
            (silent[0].name.as_str(), silent[1].parent.as_deref()),
            ("base", Some("base"))
        );
        let topics = Topics {
            moving: "/tf".into(),
            fixed: "/tf_static".into(),
            joints: "/joint_states".into(),
        };
        let mut live = Live::new(topics);
        let rotation = [0.0, 0.0, 0.0, 1.0];
        let tool = tf::Transform {
            parent: "base",
            child: "tool",
            stamp: 0,
            translation: [0.0; 3],
            rotation,
        };
        live.add_transforms(Topic::Static, [tool], tf::PublisherId::default(), now);
        let limits = Limits::default();
        let heard = Sources {
            transforms: &live,
            joints: &live,
            elsewhere: &[],
        };
        let checked = all_frames(
            &frames,
            Some(&check_frames(&frames, &[], &heard, &limits, now).findings),
        );
        assert_eq!(
            checked
                .iter()
                .map(|frame| frame.verdict)
                .collect::<Vec<_>>(),
            [Some("ok"), Some("ok")]
        );
        assert!(!checked[1].detail.is_empty());
    }
}
