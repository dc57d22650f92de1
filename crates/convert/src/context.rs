//! The environment of a conversion beside its job: cache, callbacks, cancellation.
//!
//! Nothing in it affects the outcome.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::{Job, REPORT_IT, codes};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_resolve::Files;
use urdf_usd_robot::CacheEvicted;
use urdf_usd_store::Store;
use urdf_usd_store::time_limit::TimeLimit;

/// Callback that receives a text.
pub type OnText = dyn Fn(&str) + Send + Sync;

/// Callback that receives the progress of a conversion.
pub type OnProgress = dyn Fn(Progress<'_>) + Send + Sync;

/// The environment of a conversion.
#[derive(Default)]
pub struct Context {
    /// Cache that conversions share.
    pub store: Store,
    /// Called before the work of a conversion begins; not if the result is already current.
    pub begin: Option<fn()>,
    /// Called from several threads with the progress of the work.
    pub progress: Option<Box<OnProgress>>,
    /// Called with xacro's output if the source is a xacro file; places with [`expanded`] refer to
    /// that text.
    ///
    /// [`expanded`]: urdf_usd_diagnostic::Place::expanded
    pub expanded: Option<Box<OnText>>,
    /// Set to true to cancel: the conversion then ends with `convert-cancelled` as soon as it can.
    pub cancelled: Arc<AtomicBool>,
}

/// The environment that all steps of one conversion share.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) job: &'a Job,
    pub(super) context: &'a Context,
    pub(super) files: &'a Arc<Files>,
    /// [`Context::store`], or its replacement after an eviction ([`retry_if_evicted`]).
    pub(super) store: &'a Store,
    pub(super) limit: &'a TimeLimit,
}

/// Items to process in parallel.
pub(super) struct Batch<'a, T, Size, Name> {
    pub(super) step: Step,
    pub(super) items: &'a [T],
    /// Returns the size of an item, the unit of progress.
    pub(super) size: Size,
    /// Returns the name of an item, for users.
    pub(super) name: Name,
}

/// The progress of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The current step.
    pub step: Step,
    /// The largest item in progress; empty if unknown.
    pub name: &'a str,
    /// The amount that is done.
    pub done: usize,
    /// The total amount, in the same unit; 0 if unknown.
    pub all: usize,
}

/// The steps of a conversion that take time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Step {
    /// Running the program xacro; not counted.
    Expand,
    /// Loading meshes; counted in bytes.
    Load,
    /// Simplifying meshes and computing their hulls; counted in triangles.
    Derive,
    /// Covering links with spheres; counted in links.
    Cover,
    /// Testing in random configurations which links touch; not counted.
    Touch,
    /// Writing the files; not counted.
    Write,
}

impl Step {
    /// Describes the step for users.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expand => "expanding the xacro file",
            Self::Load => "loading meshes",
            Self::Derive => "simplifying meshes and making colliders",
            Self::Cover => "covering links with spheres",
            Self::Touch => "looking which links can touch",
            Self::Write => "writing files",
        }
    }
}

/// The slowest item of a step, for the message about exceeded time limits.
#[derive(Default)]
struct SlowestItem(Mutex<Option<(Duration, String)>>);

impl SlowestItem {
    fn note(&self, took: Duration, name: impl FnOnce() -> String) {
        let mut longest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if longest.as_ref().is_none_or(|(before, _)| *before < took) {
            *longest = Some((took, name()));
        }
    }

    fn to_sentence(&self) -> String {
        let longest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        longest.as_ref().map_or_else(String::new, |(took, name)| {
            format!("; {name} took longest, {:.1} s", took.as_secs_f64())
        })
    }
}

/// The reason why a conversion ends early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The job is faulty, or the time limit is exceeded.
    Found(Vec<Diagnostic>),
    /// The cache evicted an entry that the conversion depends on: it must start over without the
    /// cache.
    Evicted(CacheEvicted),
}

impl From<Diagnostic> for Stop {
    fn from(found: Diagnostic) -> Self {
        Self::Found(vec![found])
    }
}

impl From<Vec<Diagnostic>> for Stop {
    fn from(found: Vec<Diagnostic>) -> Self {
        Self::Found(found)
    }
}

impl From<CacheEvicted> for Stop {
    fn from(evicted: CacheEvicted) -> Self {
        Self::Evicted(evicted)
    }
}

impl Stop {
    /// Prepends what was `found` before; `finish` completes the list.
    pub(super) fn after(
        self,
        found: Vec<Diagnostic>,
        finish: impl FnOnce(Vec<Diagnostic>) -> Vec<Diagnostic>,
    ) -> Self {
        match self {
            Self::Found(stop) => Self::Found(finish(found.into_iter().chain(stop).collect())),
            Self::Evicted(evicted) => Self::Evicted(evicted),
        }
    }
}

/// Runs `work` with a store. If the store evicts an entry that it handed out, runs it once more
/// with a store that keeps everything in memory.
///
/// A handle from the cache is a promise that a trim by another process can break, and copying every
/// entry up front would cost what the cache saves. Starting over is safe because nothing is
/// published before the end.
///
/// # Errors
/// Returns the reason why `work` stopped.
pub(super) fn retry_if_evicted<T>(
    store: &Store,
    work: impl Fn(&Store) -> Result<T, Stop>,
) -> Result<T, Vec<Diagnostic>> {
    let done = work(store).or_else(|stop| match stop {
        Stop::Evicted(_) => work(&store.write_only()),
        stop => Err(stop),
    });
    done.map_err(|stop| match stop {
        Stop::Found(found) => found,
        Stop::Evicted(evicted) => {
            vec![
                Diagnostic::new(&codes::INTERNAL, Place::default(), evicted.to_string())
                    .help(REPORT_IT),
            ]
        }
    })
}

impl Context {
    /// Reports the start of a step whose progress is not counted.
    pub(super) fn begin_step(&self, step: Step) {
        self.report_progress(Progress {
            step,
            name: "",
            done: 0,
            all: 0,
        });
    }

    /// Reports progress.
    pub(super) fn report_progress(&self, now: Progress<'_>) {
        self.progress.iter().for_each(|progress| progress(now));
    }

    /// Runs `work` on each item of a batch, on all cores.
    ///
    /// The largest items go first: in arbitrary order, one core could start the largest last and
    /// work alone at the end (longest-processing-time scheduling, Graham 1969). Results are in the
    /// order of the items. If the time limit is exceeded, results are missing, and `limit` reports
    /// it.
    pub(super) fn all<T: Sync, R: Send + Sync>(
        &self,
        limit: &TimeLimit,
        batch: Batch<'_, T, impl Fn(&T) -> usize + Sync, impl Fn(&T) -> String + Sync>,
        work: impl Fn(&T) -> R + Sync,
    ) -> Vec<R> {
        let Batch {
            step,
            items,
            size,
            name,
        } = batch;
        let all = items.iter().map(&size).sum();
        let results: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
        let mut order: Vec<(&T, &OnceLock<R>)> = items.iter().zip(&results).collect();
        order.sort_by_key(|(item, _)| Reverse(size(item)));
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (finished, longest) = (AtomicUsize::new(0), SlowestItem::default());
        // Items in progress, by their rank in the order.
        let active: Mutex<BTreeSet<usize>> = Mutex::default();
        let report = |begun: Option<usize>, ended: Option<usize>| {
            let Some(progress) = &self.progress else {
                return;
            };
            // The callback runs under this lock, so that its calls do not overlap.
            let mut active = active.lock().unwrap_or_else(PoisonError::into_inner);
            active.retain(|rank| Some(*rank) != ended);
            active.extend(begun);
            let largest = active
                .first()
                .and_then(|&rank| order.get(rank))
                .map(|(item, _)| name(item));
            let done = done.load(Ordering::Relaxed);
            progress(Progress {
                step,
                name: largest.as_deref().unwrap_or_default(),
                done,
                all,
            });
        };
        // Each thread takes the next item itself: rayon's own splitting does not keep the order.
        (0..rayon::current_num_threads().min(items.len()))
            .into_par_iter()
            .for_each(|_| {
                loop {
                    let rank = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&(item, result)) = order.get(rank) else {
                        break;
                    };
                    let part = || {
                        let finished = finished.load(Ordering::Relaxed);
                        format!(
                            "{} ({finished} of {} done{})",
                            step.as_str(),
                            items.len(),
                            longest.to_sentence()
                        )
                    };
                    if limit.is_over(part) {
                        break;
                    }
                    report(Some(rank), None);
                    let started = Instant::now();
                    result.get_or_init(|| work(item));
                    finished.fetch_add(1, Ordering::Relaxed);
                    longest.note(started.elapsed(), || name(item));
                    done.fetch_add(size(item), Ordering::Relaxed);
                    report(None, Some(rank));
                }
            });
        results
            .into_iter()
            .filter_map(OnceLock::into_inner)
            .collect()
    }
}
