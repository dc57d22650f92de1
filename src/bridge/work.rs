//! One conversion on a worker thread: skip it if nothing changed, convert, read the asset back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::codes;
use super::fingerprint::Fingerprint;
use super::parameters::Parameters;
use super::robots::{self, Written};
use crate::convert::{self, Failure, Job, Report, Source};
use crate::diagnostic::{Diagnostic, Place};
use crate::usd;

/// How a job becomes an asset: [`convert::convert`], or what a test puts in its place.
pub(super) type Convert = dyn Fn(&Job) -> Result<Report, Failure> + Send + Sync;

/// The job for a source under the node's parameters.
pub(super) fn job(parameters: &Parameters, source: Source) -> Job {
    Job {
        source,
        output_dir: parameters.output_dir.clone(),
        formats: parameters.formats,
        resolve: parameters.resolve(),
        namespace: parameters.ros_namespace.clone(),
        base: parameters.base,
        bodies: parameters.bodies,
        strict: parameters.strict,
    }
}

/// A conversion that was tried.
pub(super) struct Attempt {
    pub job: Arc<Job>,
    pub result: Result<Written, Failure>,
    pub fingerprint: Fingerprint,
    pub took: Duration,
}

/// Converts, unless `last` says that nothing changed: then `None`.
pub(super) fn attempt(job: Arc<Job>, last: Option<&Fingerprint>, convert: &Convert) -> Option<Attempt> {
    if last.is_some_and(|last| last.holds(&job)) {
        return None;
    }
    let (started, clock) = (SystemTime::now(), Instant::now());
    // A defect costs this conversion, not the node.
    let result =
        catch_unwind(AssertUnwindSafe(|| convert(&job).map(read_back(&job)))).unwrap_or_else(|panic| Err(defect(&*panic)));
    let (used, written) = match &result {
        Ok(written) => (&written.report.used, Some(written.report.directory.join(convert::REPORT))),
        Err(failure) => (&failure.used, None),
    };
    let fingerprint = Fingerprint::take(job.clone(), used, written, started);
    Some(Attempt { job, result, fingerprint, took: clock.elapsed() })
}

fn defect(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    let diagnostic =
        Diagnostic::new(&codes::DEFECT, Place::default(), format!("the conversion failed for a reason of its own: {text}"))
            .help("this is a defect of urdf_usd: report it with the description");
    Failure { diagnostics: vec![diagnostic], used: Vec::new() }
}

/// Reads the frames back from what was written, which is what people will open.
fn read_back(job: &Job) -> impl FnOnce(Report) -> Written {
    |report| {
        let entry = robots::entry(&report);
        let entry = entry.as_deref().map(Path::new);
        let frames = match entry {
            Some(entry) => usd::read_frames(entry).map(Arc::from).map_err(|error| error.to_string()),
            None => Err("the asset has no USD".to_owned()),
        };
        let read = entry.and_then(|entry| usd::inspect(entry).ok()).map(|summary| summary.namespace);
        let namespace = read.or_else(|| job.namespace.clone()).unwrap_or_default();
        Written { report: Arc::new(report), namespace: namespace.trim_matches('/').to_owned(), frames }
    }
}
