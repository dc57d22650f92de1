//! What the HTTP side shows: written by the node, read by requests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use serde::Serialize;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::joints::{AllStates, States};
use urdf_usd_convert::{Counts, FileInfo, file_name};
use urdf_usd_diagnostic::Diagnostic;

/// How many events a slow reader may be behind before it is told to read everything anew.
const BACKLOG: usize = 256;

/// How a robot's last conversion went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RobotState {
    /// Without a finding.
    Ok,
    /// With warnings.
    Warning,
    /// With errors, or not at all.
    Error,
}

/// Whether a robot is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Somebody describes it.
    Live,
    /// Nobody describes it any more; its asset stays.
    Gone,
}

/// A robot as the page shows it and `/api/robots` tells it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RobotView {
    /// The robot's name.
    pub name: String,
    /// Where its asset is below `/assets/`: the name of its directory, or a path with forward
    /// slashes.
    pub key: String,
    /// The ROS namespace that it was heard in, absolute: `/` or `/r1`.
    pub namespace: String,
    /// Whether it is there.
    pub presence: Presence,
    /// How the last conversion went.
    pub state: RobotState,
    /// The same in a sentence.
    pub message: String,
    /// The revision of the asset; `None` if there is none yet.
    pub revision: Option<u64>,
    /// Seconds since 1970 of the last conversion.
    pub time: f64,
    /// The asset's directory. Where that is on this machine is nobody else's business.
    #[serde(skip)]
    pub directory: Option<PathBuf>,
    /// Its files.
    pub files: Vec<FileInfo>,
    /// What the robot consists of.
    pub counts: Option<Counts>,
    /// What the last conversion found.
    pub diagnostics: Vec<Diagnostic>,
    /// Its frames against TF, once they were checked.
    pub frames: Option<FramesView>,
    /// Whether no other file of the directory than `files` is served.
    #[serde(skip)]
    pub only_listed: bool,
}

impl RobotView {
    /// The entry layer of its OpenUSD asset, if it has one.
    pub(super) fn entry(&self) -> Option<PathBuf> {
        let name = format!("{}.usda", file_name(&self.name));
        let is_listed = self.files.iter().any(|file| file.path == name);
        self.directory
            .as_ref()
            .filter(|_| is_listed)
            .map(|directory| directory.join(name))
    }
}

/// The verdicts on a robot's frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FramesView {
    /// How many are as the asset says.
    pub ok: usize,
    /// How many there are.
    pub total: usize,
    /// Those that are not.
    pub findings: Vec<FrameView>,
    /// Why, where several have one reason: sentences.
    pub causes: Vec<String>,
}

/// A frame that is not as the asset says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameView {
    /// The frame.
    pub frame: String,
    /// The verdict's word.
    pub verdict: &'static str,
    /// The finding in a sentence.
    pub detail: String,
}

/// A frame of an asset and how it stands against TF.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AssetFrameView {
    /// The frame.
    pub name: String,
    /// What the robot calls it, where no prim can have that name.
    pub alias: Option<String>,
    /// Its parent; `None` for a root.
    pub parent: Option<String>,
    /// Whether it does not move in its parent.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// The verdict's word; `None` while nothing was heard to check it against.
    pub verdict: Option<&'static str>,
    /// The verdict in a sentence.
    pub detail: String,
}

/// A frame of the live TF tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransformView {
    /// The frame.
    pub frame: String,
    /// Its parent.
    pub parent: String,
    /// Whether it was heard as one that does not move.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// Seconds since it was heard.
    pub age: f64,
}

/// What `/api/frames/KEY` tells.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Frames {
    frames: Arc<[AssetFrameView]>,
    causes: Vec<String>,
    tf: Vec<TransformView>,
}

/// Where the live TF tree of the robot with a key comes from when someone asks for it.
type Transforms = dyn Fn(&str) -> Vec<TransformView> + Send + Sync;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// `revision`, `diagnostics`, `frames`, `poses`.
    pub kind: &'static str,
    /// JSON.
    pub data: Arc<str>,
}

/// What is shown.
pub struct Site {
    robots: RwLock<BTreeMap<String, Shown>>,
    transforms: RwLock<Option<Arc<Transforms>>>,
    events: broadcast::Sender<Event>,
    joints: watch::Sender<AllStates>,
    /// Woken whenever a robot is shown, or no longer.
    shown: watch::Sender<()>,
}

/// A robot that is shown.
struct Shown {
    robot: Arc<RobotView>,
    frames: Arc<[AssetFrameView]>,
}

impl Default for Site {
    fn default() -> Self {
        Self {
            robots: RwLock::default(),
            transforms: RwLock::default(),
            events: broadcast::channel(BACKLOG).0,
            joints: watch::Sender::default(),
            shown: watch::Sender::default(),
        }
    }
}

impl Site {
    /// Shows a robot and all frames of its asset, in place of the one with the same key.
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

    /// Shows a robot no longer.
    pub fn hide(&self, key: &str) {
        self.robots
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
        self.shown.send_replace(());
    }

    /// Has the live TF tree that a robot (its key) is held against read from `transforms` whenever
    /// someone asks for it.
    pub fn follow_transforms(
        &self,
        transforms: impl Fn(&str) -> Vec<TransformView> + Send + Sync + 'static,
    ) {
        *self
            .transforms
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(transforms));
    }

    /// Takes newly heard joint positions (rad or m) in, stamped in seconds, of the robot with a key
    /// or of every robot that has such joints; whether there were any. Those who read them are not
    /// waited for. Call it in a tokio runtime.
    pub fn hear_joints<'a>(
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

    /// Notes that joint positions are not heard any more; the last ones stay.
    pub fn end_joints(&self, robot: Option<&str>) {
        self.joints
            .send_if_modified(|states| states.change(robot, States::end));
    }

    /// Forgets a robot's joint positions.
    pub fn forget_joints(&self, robot: &str) {
        self.joints.send_if_modified(|states| states.forget(robot));
    }

    /// Tells those who listen to `/events`.
    pub fn tell(&self, kind: &'static str, data: &impl Serialize) {
        if let Ok(data) = serde_json::to_string(data) {
            // Without listeners there is nobody to tell.
            let _ = self.events.send(Event {
                kind,
                data: data.into(),
            });
        }
    }

    /// What happens from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// All robots, by key.
    pub fn robots(&self) -> Vec<Arc<RobotView>> {
        self.robots
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .map(|shown| shown.robot.clone())
            .collect()
    }

    /// The robot with this key.
    pub fn robot(&self, key: &str) -> Option<Arc<RobotView>> {
        self.robots
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .map(|shown| shown.robot.clone())
    }

    /// The frames of the robot with this key, and the live TF tree.
    pub(super) fn frames(&self, key: &str) -> Option<Frames> {
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

    /// Tells from now on that another robot is shown, or one no longer, or another revision of one.
    pub(super) fn shown(&self) -> watch::Receiver<()> {
        self.shown.subscribe()
    }

    /// The newest joint positions, from now on.
    pub(super) fn joints(&self) -> watch::Receiver<AllStates> {
        self.joints.subscribe()
    }
}
