//! The state that the server shows: written by the node, read by requests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::joints::{AllStates, Bases, States};
use urdf_usd_convert::{Counts, FileInfo, Report, Status, file_name};
use urdf_usd_diagnostic::Diagnostic;

/// Number of events that a slow client may lag behind before it has to read everything again.
const MAX_EVENT_LAG: usize = 256;

/// Result of a robot's last conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RobotState {
    /// No findings.
    Ok,
    /// Warnings only.
    Warning,
    /// Errors, or no asset.
    Error,
}

impl RobotState {
    /// Returns the state of an asset with these findings.
    fn of(findings: &[Diagnostic]) -> Self {
        match Status::from_findings(findings) {
            Status::Errors => Self::Error,
            Status::Warnings => Self::Warning,
            Status::Ok => Self::Ok,
        }
    }
}

/// Presence of a robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// It is described.
    Live,
    /// It is no longer described; its asset stays.
    Gone,
}

/// A robot as shown on the page and by `/api/robots`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RobotView {
    /// The robot's name.
    pub name: String,
    /// Path of its asset below `/assets/`: the name of its directory, or several segments with
    /// forward slashes.
    pub key: String,
    /// Absolute ROS namespace of its description: `/` or `/r1`.
    pub namespace: String,
    /// Whether it is still described.
    pub presence: Presence,
    /// Result of the last conversion.
    pub state: RobotState,
    /// The result as a sentence.
    pub message: String,
    /// True if the last conversion failed, so that the files are those of an earlier description.
    #[serde(rename = "outdated")]
    pub is_outdated: bool,
    /// SHA-256 of the description that the asset was converted from.
    pub sha256: Option<String>,
    /// The revision of the asset; `None` if there is none yet.
    pub revision: Option<u64>,
    /// End of the last conversion, in seconds since 1970.
    pub time: f64,
    /// The asset's directory. Not serialised: the page must not reveal paths of this machine.
    #[serde(skip)]
    pub directory: Option<PathBuf>,
    /// Files of the asset.
    pub files: Vec<FileInfo>,
    /// Numbers of links, joints and so on.
    pub counts: Option<Counts>,
    /// Findings of the last conversion.
    pub diagnostics: Vec<Diagnostic>,
    /// Comparison of its frames with TF, once there was one.
    pub frames: Option<FramesView>,
    /// Whether only `files` are served, no other file of the directory.
    #[serde(skip)]
    pub only_listed: bool,
}

impl RobotView {
    /// Returns the entry layer of its OpenUSD asset, if it has one.
    pub(super) fn entry(&self) -> Option<PathBuf> {
        let name = format!("{}.usda", file_name(&self.name));
        let is_listed = self.files.iter().any(|file| file.path == name);
        self.directory
            .as_ref()
            .filter(|_| is_listed)
            .map(|directory| directory.join(name))
    }

    /// Returns the view of a converted asset; `key` is its path below `/assets/`.
    pub fn of_report(report: Report, key: &str, message: String) -> Self {
        Self {
            name: report.robot,
            key: key.to_owned(),
            namespace: "/".to_owned(),
            presence: Presence::Live,
            state: RobotState::of(&report.diagnostics),
            message,
            is_outdated: false,
            sha256: Some(report.source.sha256),
            revision: Some(report.revision),
            time: seconds(SystemTime::now()),
            directory: Some(report.directory),
            files: report.files,
            counts: Some(report.counts),
            diagnostics: report.diagnostics,
            frames: None,
            only_listed: false,
        }
    }

    /// Returns this view, which stays, with the reasons why there is no new revision.
    #[must_use]
    pub fn outdated(&self, message: String, diagnostics: &[Diagnostic]) -> Self {
        Self {
            state: RobotState::Error,
            is_outdated: true,
            message,
            diagnostics: diagnostics.to_vec(),
            ..self.clone()
        }
    }
}

/// Returns a time in seconds since 1970; 0 if it is earlier.
pub fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0.0, |time| time.as_secs_f64())
}

/// Replaces the path of a folder by `name` in a text, so that the page does not reveal paths of this
/// machine.
pub fn redact(folder: &Path, name: &str, text: &str) -> String {
    // With `/`, every slash of the text would be replaced.
    match folder.to_str().filter(|folder| folder.len() > 1) {
        Some(folder) => text.replace(folder, name),
        None => text.to_owned(),
    }
}

/// Returns a finding with the path of a folder replaced by `name`.
pub fn redact_finding(folder: &Path, name: &str, finding: &Diagnostic) -> Diagnostic {
    let mut place = finding.place.clone();
    let below = place
        .file
        .as_deref()
        .and_then(|file| file.strip_prefix(folder).ok());
    if let Some(below) = below {
        place.file = Some(Path::new(name).join(below).into());
    }
    Diagnostic {
        message: redact(folder, name, &finding.message),
        help: redact(folder, name, &finding.help),
        place,
        ..finding.clone()
    }
}

/// The verdicts on a robot's frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FramesView {
    /// Number of frames that match the asset.
    pub ok: usize,
    /// Number of frames.
    pub total: usize,
    /// The frames that do not match.
    pub findings: Vec<FrameView>,
    /// Common causes of several findings, as sentences.
    pub causes: Vec<String>,
}

/// A frame that does not match the asset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameView {
    /// Name of the frame.
    pub frame: String,
    /// Keyword of the verdict.
    pub verdict: &'static str,
    /// The finding as a sentence.
    pub detail: String,
}

/// A frame of an asset with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AssetFrameView {
    /// Name of the frame.
    pub name: String,
    /// Name in the robot description, if it is not a valid prim name.
    pub alias: Option<String>,
    /// Its parent; `None` for a root.
    pub parent: Option<String>,
    /// Whether it is fixed in its parent.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// Keyword of the verdict; `None` while nothing was received to compare with.
    pub verdict: Option<&'static str>,
    /// The verdict as a sentence.
    pub detail: String,
}

/// A frame of the live TF tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransformView {
    /// Name of the frame.
    pub frame: String,
    /// Its parent.
    pub parent: String,
    /// Whether it came from the static topic.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// Seconds since its last update.
    pub age: f64,
}

/// Response of `/api/frames/KEY`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Frames {
    frames: Arc<[AssetFrameView]>,
    causes: Vec<String>,
    tf: Vec<TransformView>,
}

/// Returns the live TF tree for the robot with a key.
type Transforms = dyn Fn(&str) -> Vec<TransformView> + Send + Sync;

/// A server-sent event.
#[derive(Clone, Debug)]
pub struct Event {
    /// `revision`, `diagnostics`, `frames`, `poses`.
    pub kind: &'static str,
    /// JSON.
    pub data: Arc<str>,
}

/// The state that the server shows.
pub struct Site {
    robots: RwLock<BTreeMap<String, Shown>>,
    transforms: RwLock<Option<Arc<Transforms>>>,
    events: broadcast::Sender<Event>,
    joints: watch::Sender<AllStates>,
    /// Notified when a robot is shown, updated or hidden.
    shown: watch::Sender<()>,
}

/// A robot with the frames of its asset.
struct Shown {
    robot: Arc<RobotView>,
    frames: Arc<[AssetFrameView]>,
}

impl Default for Site {
    fn default() -> Self {
        Self {
            robots: RwLock::default(),
            transforms: RwLock::default(),
            events: broadcast::channel(MAX_EVENT_LAG).0,
            joints: watch::Sender::default(),
            shown: watch::Sender::default(),
        }
    }
}

impl Site {
    /// Shows a robot and the frames of its asset, replacing one with the same key.
    pub fn show(&self, robot: RobotView, frames: Vec<AssetFrameView>) {
        let mut robots = self.robots.write().unwrap_or_else(PoisonError::into_inner);
        robots.insert(
            robot.key.clone(),
            Shown {
                robot: Arc::new(robot),
                frames: frames.into(),
            },
        );
        drop(robots);
        self.shown.send_replace(());
    }

    /// Hides a robot.
    pub fn hide(&self, key: &str) {
        self.robots
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
        self.shown.send_replace(());
    }

    /// Sets the function that returns the live TF tree for a robot's key; it is called on each
    /// request.
    pub fn set_transforms_source(
        &self,
        transforms: impl Fn(&str) -> Vec<TransformView> + Send + Sync + 'static,
    ) {
        *self
            .transforms
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(transforms));
    }

    /// Stores joint positions (rad or m) with a stamp in seconds, for one robot or for every
    /// robot with such joints; returns whether there were any.
    ///
    /// Never waits for clients. Must be called in a tokio runtime.
    pub fn update_joints<'a>(
        &self,
        robot: Option<&str>,
        stamp: f64,
        positions: impl Iterator<Item = (&'a str, f64)>,
    ) -> bool {
        self.joints.send_if_modified(|states| {
            states.change(robot, |states| {
                states.take(stamp, positions, Instant::now())
            })
        })
    }

    /// Stores the poses of robots' roots in the frames above them, as heard in the scope of one
    /// robot or of all.
    pub fn update_bases(&self, robot: Option<&str>, bases: Bases) {
        self.joints
            .send_if_modified(|states| states.change(robot, |states| states.place(bases)));
    }

    /// Returns the names of all robots' root frames, in OpenUSD and in the description.
    pub fn roots(&self) -> BTreeSet<String> {
        let robots = self.robots.read().unwrap_or_else(PoisonError::into_inner);
        robots
            .values()
            .flat_map(|shown| shown.frames.iter())
            .filter(|frame| frame.parent.is_none())
            .flat_map(|frame| std::iter::once(&frame.name).chain(&frame.alias))
            .cloned()
            .collect()
    }

    /// Records that joint positions are no longer published; the last ones stay.
    pub fn stop_joints(&self, robot: Option<&str>) {
        self.joints
            .send_if_modified(|states| states.change(robot, States::end));
    }

    /// Forgets a robot's joint positions.
    pub fn forget_joints(&self, robot: &str) {
        self.joints.send_if_modified(|states| states.forget(robot));
    }

    /// Sends an event to the clients of `/events`.
    pub fn publish(&self, kind: &'static str, data: &impl Serialize) {
        if let Ok(data) = serde_json::to_string(data) {
            // An error only means that there are no clients.
            let _ = self.events.send(Event {
                kind,
                data: data.into(),
            });
        }
    }

    /// Subscribes to events.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Returns all robots, by key.
    pub fn robots(&self) -> Vec<Arc<RobotView>> {
        self.robots
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .map(|shown| shown.robot.clone())
            .collect()
    }

    /// Returns the robot with this key.
    pub fn robot(&self, key: &str) -> Option<Arc<RobotView>> {
        self.robots
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .map(|shown| shown.robot.clone())
    }

    /// Returns the frames of the robot with this key, and the live TF tree.
    pub(super) fn frames(&self, key: &str) -> Option<Frames> {
        // The lock is released before `transforms` runs, which takes locks of the node.
        let (frames, causes) = {
            let robots = self.robots.read().unwrap_or_else(PoisonError::into_inner);
            let shown = robots.get(key)?;
            (
                shown.frames.clone(),
                shown
                    .robot
                    .frames
                    .as_ref()
                    .map_or_else(Vec::new, |frames| frames.causes.clone()),
            )
        };
        let transforms = self
            .transforms
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Some(Frames {
            frames,
            causes,
            tf: transforms.map_or_else(Vec::new, |transforms| transforms(key)),
        })
    }

    /// Subscribes to changes of the shown robots.
    pub(super) fn shown(&self) -> watch::Receiver<()> {
        self.shown.subscribe()
    }

    /// Subscribes to joint positions.
    pub(super) fn joints(&self) -> watch::Receiver<AllStates> {
        self.joints.subscribe()
    }
}
