//! What the HTTP side shows: written by the node, read by requests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use serde::Serialize;
use tokio::sync::broadcast;

use crate::convert::Counts;
use crate::diagnostic::Diagnostic;

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

/// A robot as the page shows it and `/api/robots` tells it.
#[derive(Clone, Debug, Serialize)]
pub struct RobotView {
    /// The robot's name.
    pub name: String,
    /// Where its asset is below `/assets/`: the name of its directory, or a path with forward slashes.
    pub key: String,
    /// How the last conversion went.
    pub state: RobotState,
    /// The same in a sentence.
    pub message: String,
    /// The revision of the asset; `None` if there is none yet.
    pub revision: Option<u64>,
    /// Seconds since 1970 of the last conversion.
    pub time: f64,
    /// The asset's directory.
    pub directory: Option<PathBuf>,
    /// Its files.
    pub files: Vec<FileView>,
    /// What the robot consists of.
    pub counts: Option<Counts>,
    /// What the last conversion found.
    pub diagnostics: Vec<Diagnostic>,
    /// Its frames against TF, once they were checked.
    pub frames: Option<FramesView>,
}

/// A file of an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileView {
    /// Relative to the asset's directory, with forward slashes.
    pub path: String,
    /// Length.
    pub bytes: u64,
    /// Of the content, lower-case hex.
    pub sha256: String,
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

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// `revision`, `diagnostics`, `frames`.
    pub kind: &'static str,
    /// JSON.
    pub data: Arc<str>,
}

/// What is shown.
#[derive(Debug)]
pub struct Site {
    robots: RwLock<BTreeMap<String, Arc<RobotView>>>,
    events: broadcast::Sender<Event>,
}

impl Default for Site {
    fn default() -> Self {
        Self { robots: RwLock::default(), events: broadcast::channel(BACKLOG).0 }
    }
}

impl Site {
    /// Shows a robot, in place of the one with the same key.
    pub fn show(&self, robot: RobotView) {
        let mut robots = self.robots.write().unwrap_or_else(PoisonError::into_inner);
        robots.insert(robot.key.clone(), Arc::new(robot));
    }

    /// Shows a robot no longer.
    pub fn hide(&self, key: &str) {
        self.robots.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Tells those who listen to `/events`.
    pub fn tell(&self, kind: &'static str, data: &impl Serialize) {
        if let Ok(data) = serde_json::to_string(data) {
            // Without listeners there is nobody to tell.
            let _ = self.events.send(Event { kind, data: data.into() });
        }
    }

    /// What happens from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// All robots, by key.
    pub fn robots(&self) -> Vec<Arc<RobotView>> {
        self.robots.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The directory of the asset with this key.
    pub(super) fn directory(&self, key: &str) -> Option<PathBuf> {
        self.robots.read().unwrap_or_else(PoisonError::into_inner).get(key)?.directory.clone()
    }
}
