//! Publishes revisions in the object store of the parameter `output_url`.
//!
//! A conversion never waits for it: uploads have their own threads, at most [`MAX_UPLOADS`] of them,
//! and of the revisions of a robot that wait only the last is uploaded. Each request has a time limit,
//! so a thread always ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{Done, Engine};
use crate::robots::pair;
use crate::schedule::Schedule;
use urdf_usd_convert::{REPORT, Report};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_objects::{Asset, File, Objects, codes};
use urdf_usd_ros::Node;
use urdf_usd_ros::msg::diagnostic_msgs::DiagnosticStatus;

/// Assets that are uploaded at a time.
const MAX_UPLOADS: usize = 2;
/// Time after a failure until the revision is uploaded again, if there is no newer one.
const PAUSE: Duration = Duration::from_secs(60);

/// The uploads of a node.
pub(super) struct Uploads {
    /// The address of the folder; `None`: nothing is uploaded.
    url: Option<String>,
    /// Opened by the first upload, and again after a failure.
    opened: Arc<Mutex<Option<Arc<Objects>>>>,
    waiting: Schedule<Arc<Report>>,
    /// Number of revisions that were published.
    published: u64,
    /// The last failure of each robot whose last upload failed, by key.
    failed: BTreeMap<String, Failed>,
}

struct Failed {
    report: Arc<Report>,
    why: Diagnostic,
    since: Instant,
}

impl Uploads {
    pub(super) fn new(url: Option<String>) -> Self {
        Self {
            url,
            opened: Arc::default(),
            waiting: Schedule::new(Duration::ZERO, MAX_UPLOADS, |_| 0),
            published: 0,
            failed: BTreeMap::new(),
        }
    }

    /// Schedules the upload of a revision, in place of an older one that waits.
    pub(super) fn push(&mut self, key: &str, report: &Arc<Report>) {
        if self.url.is_some() {
            self.waiting
                .replace(key.to_owned(), report.clone(), Instant::now());
        }
    }

    /// Schedules failed uploads again whose pause is over.
    pub(super) fn try_failed_again(&mut self) {
        let is_due = |(_, failed): &(&String, &Failed)| failed.since.elapsed() > PAUSE;
        let due = self.failed.iter().filter(is_due);
        let due: Vec<_> = due
            .map(|(key, failed)| (key.clone(), failed.report.clone()))
            .collect();
        for (key, report) in due {
            if let Some(failed) = self.failed.get_mut(&key) {
                failed.since = Instant::now();
            }
            self.push(&key, &report);
        }
    }

    /// Returns the state of the uploads; `None` if there are none.
    pub(super) fn status(&self, node: &str) -> Option<DiagnosticStatus> {
        let url = self.url.as_ref()?;
        let first = self.failed.iter().next();
        let (level, message) = match first {
            None => (
                DiagnosticStatus::OK,
                "all revisions are published".to_owned(),
            ),
            Some((key, failed)) => (
                DiagnosticStatus::ERROR,
                format!("{key} is not published: {}", failed.why.message),
            ),
        };
        let mut values = vec![
            pair("url", url),
            pair("published", self.published),
            pair("failed", self.failed.len()),
        ];
        values.extend(first.map(|(_, failed)| pair("code", failed.why.code)));
        Some(DiagnosticStatus {
            level,
            name: format!("{node}: output_url"),
            message,
            hardware_id: "none".to_owned(),
            values,
        })
    }
}

impl<N: Node> Engine<N> {
    /// Starts the uploads that are due.
    pub(super) fn start_uploads(&mut self, now: Instant) {
        while let Some((key, report)) = self.uploads.waiting.next(now) {
            let Some(url) = self.uploads.url.clone() else {
                return;
            };
            let (sender, result) = oneshot::channel();
            let (opened, uploaded) = (self.uploads.opened.clone(), (key.clone(), report.clone()));
            // Not one of the runtime's threads, for which it would wait at its end.
            let started = std::thread::Builder::new()
                .name("upload".to_owned())
                .spawn(move || {
                    let (key, report) = uploaded;
                    // The engine may have ended.
                    let _ = sender.send(upload(&url, &opened, &key, &report));
                });
            self.running.wait(async move {
                let result = match started {
                    Ok(_) => result
                        .await
                        .unwrap_or_else(|_| Err(ended("its thread has ended"))),
                    Err(error) => Err(ended(&error.to_string())),
                };
                Done::Uploaded {
                    key,
                    report,
                    result,
                }
            });
        }
    }

    /// Takes the result of an upload.
    pub(super) fn take_upload(
        &mut self,
        key: String,
        report: Arc<Report>,
        result: Result<(), Diagnostic>,
    ) {
        let uploads = &mut self.uploads;
        uploads.waiting.finished(&key);
        match result {
            Ok(()) => {
                tracing::debug!("{key:?}: revision {} is published", report.revision);
                uploads.published += 1;
                uploads.failed.remove(&key);
            }
            Err(why) => {
                let known = uploads.failed.get(&key).map(|failed| &failed.why);
                if known != Some(&why) {
                    tracing::error!("{key:?} is not published: {why}");
                }
                let since = Instant::now();
                uploads.failed.insert(key, Failed { report, why, since });
            }
        }
    }
}

fn ended(why: &str) -> Diagnostic {
    Diagnostic::new(
        &codes::FAILED,
        Place::default(),
        format!("the upload has failed: {why}"),
    )
}

/// Uploads a revision, and points to it.
fn upload(
    url: &str,
    opened: &Mutex<Option<Arc<Objects>>>,
    key: &str,
    report: &Report,
) -> Result<(), Diagnostic> {
    let objects = {
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        match &*opened {
            Some(objects) => objects.clone(),
            None => opened.insert(Objects::open(url)?.into()).clone(),
        }
    };
    let files = report.files.iter().map(|file| File {
        path: file.path.clone(),
        bytes: file.bytes,
        sha256: file.sha256.clone(),
    });
    let asset = Asset::new(key, &report.name, files.collect());
    let published = objects.publish(
        key,
        Some((&asset, &report.directory)),
        REPORT,
        &serde_json::Value::Null,
    );
    // New credentials may be needed.
    published.inspect_err(|_| *opened.lock().unwrap_or_else(PoisonError::into_inner) = None)
}
