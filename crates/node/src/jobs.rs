//! Work for threads: a conversion, skipped if nothing changed, and reading an asset back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::codes;
use super::description_source::RobotNamespace;
use super::fingerprint::Fingerprint;
use super::parameters::Parameters;
use urdf_usd_convert::{self as convert, Failure, Job, Report, Source};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_serve::Fleet;
use urdf_usd_tf_check::Expected;
use urdf_usd_urdf::xacro;
use urdf_usd_worker::{Limits, Workers};

/// Converts a job to an asset: [`convert::convert`], or a substitute in tests.
pub(super) type Convert = dyn Fn(&Job) -> Result<Report, Failure> + Send + Sync;

/// Extension of an asset's URDF.
pub(super) const DESCRIPTION_ENDING: &str = "urdf";

/// Returns the source for the file that the node converts.
pub(super) fn file_source(path: &Path, parameters: &Parameters) -> Source {
    if parameters.asset_file.is_some() {
        return Source::File(path.to_owned());
    }
    let (file, arguments) = (path.to_owned(), parameters.xacro_args.clone());
    // Arguments imply xacro, whatever the name of the file.
    if xacro::is_xacro(path) || !arguments.is_empty() {
        Source::Xacro { file, arguments }
    } else {
        Source::File(file)
    }
}

/// Returns the job for a source under the node's parameters. `folder` is relative to the output
/// directory.
pub(super) fn job(
    parameters: &Parameters,
    source: Source,
    robot_namespace: &RobotNamespace,
    folder: &str,
) -> Job {
    let namespace = match robot_namespace {
        RobotNamespace::Own => parameters
            .conversion
            .namespace
            .clone()
            .or_else(|| parameters.node_namespace.clone()),
        // Each robot needs a namespace of its own (REP-158 §2.1.1).
        RobotNamespace::Named(_) => robot_namespace.namespace().map(str::to_owned),
    };
    let mut options = convert::Options {
        namespace,
        ..parameters.conversion.clone()
    };
    if options.cache_url.is_none() {
        let store = parameters.fleet_dir.as_deref().map(Fleet::store);
        options.cache_url = store.map(|folder| folder.to_string_lossy().into_owned());
    }
    if parameters.publish_description && source.is_file() {
        // Subscribers to the description must be able to find the meshes.
        options.formats.insert(convert::OutputFormat::Urdf);
        options.urdf.file_uris = true;
    }
    Job {
        options,
        ..Job::new(source, parameters.output_dir.join(folder))
    }
}

/// Returns the bytes of the texts in a job.
pub(super) fn text_bytes(job: &Job) -> usize {
    let source = match &job.source {
        Source::Text { text, .. } => text.len(),
        Source::Bytes { bytes, .. } => bytes.len(),
        Source::File(_) | Source::Xacro { .. } => 0,
    };
    source + job.xrdf.as_ref().map_or(0, |text| text.len())
}

/// A finished conversion.
pub(super) struct Attempt {
    pub job: Arc<Job>,
    pub result: Result<Arc<Report>, Failure>,
    pub fingerprint: Fingerprint,
    pub took: Duration,
}

/// Converts, unless nothing changed since the conversion with the fingerprint `last`: then returns
/// `None`.
pub(super) fn attempt(
    job: Arc<Job>,
    last: Option<&Fingerprint>,
    convert: &Convert,
) -> Option<Attempt> {
    if last.is_some_and(|last| last.holds(&job)) {
        return None;
    }
    // Before the conversion: the fingerprint does not trust files that change after this time.
    let (started, clock) = (SystemTime::now(), Instant::now());
    // Isolate a bug to this conversion.
    let result =
        catch_unwind(AssertUnwindSafe(|| convert(&job).map(Arc::new))).unwrap_or_else(|panic| {
            Err(Failure {
                diagnostics: vec![defect(&panic_text(&*panic))],
                used: Vec::new(),
            })
        });
    let (used, written) = match &result {
        Ok(report) => (&report.used, Some(report.directory.join(convert::REPORT))),
        Err(failure) => (&failure.used, None),
    };
    let fingerprint = Fingerprint::take(job.clone(), used, written, started);
    Some(Attempt {
        job,
        result,
        fingerprint,
        took: clock.elapsed(),
    })
}

/// Returns the diagnostic for work that panicked.
pub(super) fn defect(panic: &str) -> Diagnostic {
    Diagnostic::new(
        &codes::DEFECT,
        Place::default(),
        convert::defect_message(panic),
    )
    .help(convert::REPORT_IT)
}

pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

/// Reads the frames that an asset declares back from its entry file, which is what users open. They
/// are valid from `now` on.
pub(super) fn read_frames(
    entry: &Path,
    workers: &Workers,
    limits: Limits,
    now: impl Fn() -> Instant,
) -> Result<Expected, String> {
    Expected::new(workers.frames(entry, limits)?, now()).map_err(|error| error.to_string())
}
