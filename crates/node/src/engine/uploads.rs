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
use urdf_usd_objects::{Asset, File, Objects, codes, without_secrets};
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
        if self.url.is_none() {
            return;
        }
        // The failure stays in the state until the robot is published.
        if let Some(failed) = self.failed.get_mut(key) {
            failed.report = report.clone();
        }
        self.waiting
            .replace(key.to_owned(), report.clone(), Instant::now());
    }

    /// Schedules failed uploads again whose pause is over, unless the robot has one that waits or is
    /// in progress: that is the newer one, and publishing the older one after it would undo it.
    pub(super) fn retry_failed(&mut self, now: Instant) {
        for (key, failed) in &mut self.failed {
            let is_due = now.saturating_duration_since(failed.since) > PAUSE;
            if is_due && !self.waiting.is_busy(key) {
                failed.since = now;
                self.waiting.ensure(key, || failed.report.clone(), now);
            }
        }
    }

    /// Forgets the failure of a robot. An upload that waits is still made, since its asset stays.
    pub(super) fn forget(&mut self, key: &str) {
        self.failed.remove(key);
    }

    /// Takes the result of an upload. A failure is repeated only if `is_known`: the node still has
    /// the robot.
    fn take(
        &mut self,
        key: String,
        report: Arc<Report>,
        result: Result<(), Diagnostic>,
        is_known: bool,
    ) {
        self.waiting.finished(&key);
        let why = match result {
            Ok(()) => {
                tracing::debug!("{key:?}: revision {} is published", report.revision);
                self.published += 1;
                self.failed.remove(&key);
                return;
            }
            Err(why) => why,
        };
        // The newer revision has replaced the files of this one while they were read.
        if why.code == codes::CONTENT.id && self.waiting.is_waiting(&key) {
            tracing::debug!("{key:?}: revision {} was replaced", report.revision);
            return;
        }
        let known = self.failed.get(&key).map(|failed| &failed.why);
        if known != Some(&why) {
            tracing::error!("{key:?} is not published: {why}");
        }
        if is_known {
            let since = Instant::now();
            self.failed.insert(key, Failed { report, why, since });
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
            pair("url", without_secrets(url)),
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
        let is_known = self.robots.contains_key(&key);
        self.uploads.take(key, report, result, is_known);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn report(revision: u64) -> Arc<Report> {
        let text = serde_json::json!({ "robot": "arm", "revision": revision });
        Arc::new(serde_json::from_value(text).expect("a report"))
    }

    fn failed() -> Result<(), Diagnostic> {
        Err(ended("for a test"))
    }

    /// Returns the revision of the next upload.
    fn next(uploads: &mut Uploads, now: Instant) -> Option<Arc<Report>> {
        uploads.waiting.next(now).map(|(_, report)| report)
    }

    #[test]
    fn a_retry_never_replaces_or_follows_a_newer_revision() {
        let mut uploads = Uploads::new(Some("s3://b/x".to_owned()));
        let later = Instant::now() + PAUSE * 2;
        uploads.push("arm", &report(1));
        let first = next(&mut uploads, later).expect("the first");
        uploads.take("arm".to_owned(), first, failed(), true);
        uploads.push("arm", &report(2));
        // The newer one waits, then is in progress.
        uploads.retry_failed(later);
        let second = next(&mut uploads, later).expect("the second");
        assert_eq!(second.revision, 2);
        uploads.retry_failed(later + PAUSE * 2);
        assert!(!uploads.waiting.is_waiting("arm"));
        uploads.take("arm".to_owned(), second, failed(), true);
        let again = Instant::now() + PAUSE * 2;
        uploads.retry_failed(again);
        let second = next(&mut uploads, again).expect("again");
        assert_eq!(second.revision, 2);
        uploads.take("arm".to_owned(), second, Ok(()), true);
        uploads.retry_failed(again + PAUSE * 2);
        assert!(uploads.failed.is_empty() && !uploads.waiting.is_waiting("arm"));
    }

    #[test]
    fn robots_that_are_gone_and_files_that_a_newer_revision_replaced_are_no_failures() {
        let mut uploads = Uploads::new(Some("s3://b/x".to_owned()));
        let now = Instant::now();
        let fail = |uploads: &mut Uploads, code, is_known| {
            uploads.push("arm", &report(1));
            let one = next(uploads, now + PAUSE).expect("the first");
            uploads.push("arm", &report(2));
            let why = Diagnostic::new(code, Place::default(), "for a test");
            uploads.take("arm".to_owned(), one, Err(why), is_known);
            let count = uploads.failed.len();
            *uploads = Uploads::new(Some("s3://b/x".to_owned()));
            count
        };
        assert_eq!(fail(&mut uploads, &codes::CONTENT, true), 0);
        assert_eq!(fail(&mut uploads, &codes::FAILED, true), 1);
        assert_eq!(fail(&mut uploads, &codes::FAILED, false), 0);
        uploads.push("arm", &report(1));
        let one = next(&mut uploads, now + PAUSE).expect("the first");
        uploads.take("arm".to_owned(), one, failed(), true);
        uploads.forget("arm");
        assert!(uploads.failed.is_empty());
    }
}
