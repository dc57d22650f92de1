//! What a conversion has at hand beside its job, and whom it tells how far it is. Nothing of it
//! changes the outcome.

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

/// Shows a text.
pub type Show = dyn Fn(&str) + Send + Sync;

/// Tells how far a conversion is.
pub type Tell = dyn Fn(Progress<'_>) + Send + Sync;

/// What a conversion has at hand.
#[derive(Default)]
pub struct Context {
    /// Where work that takes time is kept from one conversion to the next.
    pub store: Store,
    /// Called before the work of a conversion begins; not if nothing has to be done.
    pub begin: Option<fn()>,
    /// Called from several threads as the work goes on.
    pub progress: Option<Box<Tell>>,
    /// Called with what xacro made of the source, if it is xacro: the text that places with
    /// [`expanded`] are in.
    ///
    /// [`expanded`]: urdf_usd_diagnostic::Place::expanded
    pub expanded: Option<Box<Show>>,
    /// Becomes true when nobody wants the outcome any more: the conversion then ends with
    /// `convert-cancelled` as soon as it can.
    pub cancelled: Arc<AtomicBool>,
}

/// What the parts of one conversion work with.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) job: &'a Job,
    pub(super) context: &'a Context,
    pub(super) files: &'a Arc<Files>,
    /// [`Context::store`], or one that stands in for it after an eviction ([`retry_if_evicted`]).
    pub(super) store: &'a Store,
    pub(super) limit: &'a TimeLimit,
}

/// Items to work on, all cores at once.
pub(super) struct Batch<'a, T, Size, Name> {
    pub(super) step: Step,
    pub(super) items: &'a [T],
    /// What progress is counted in.
    pub(super) size: Size,
    /// Tells items apart for users.
    pub(super) name: Name,
}

/// How far a conversion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// What is being done.
    pub step: Step,
    /// With what: the largest of what is being worked on. Empty if it can't be told.
    pub name: &'a str,
    /// How much of it is done …
    pub done: usize,
    /// … of how much, in the same measure; 0 if that is not known.
    pub all: usize,
}

/// What takes time in a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Step {
    /// Waiting for the program xacro; not counted.
    Expand,
    /// Loading meshes; counted in bytes.
    Load,
    /// Simplifying meshes and making their hulls; counted in triangles.
    Derive,
    /// Covering links with spheres; counted in links.
    Cover,
    /// Looking in random configurations which links touch; not counted.
    Touch,
    /// Writing the files; not counted.
    Write,
}

impl Step {
    /// What is being done, in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expand => "expanding the xacro file",
            Self::Load => "loading meshes",
            Self::Derive => "simplifying meshes and making hulls",
            Self::Cover => "covering links with spheres",
            Self::Touch => "looking which links can touch",
            Self::Write => "writing files",
        }
    }
}

/// What took longest of a step, for the message that the time is up.
#[derive(Default)]
struct Longest(Mutex<Option<(Duration, String)>>);

impl Longest {
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
    /// Something is wrong with the job, or the time is up.
    Found(Vec<Diagnostic>),
    /// The cache lost what the conversion had found in it: it starts over without the cache.
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
    /// The same with what was `found` before it, as `told` says it.
    pub(super) fn after(
        self,
        found: Vec<Diagnostic>,
        told: impl FnOnce(Vec<Diagnostic>) -> Vec<Diagnostic>,
    ) -> Self {
        match self {
            Self::Found(stop) => Self::Found(told(found.into_iter().chain(stop).collect())),
            Self::Evicted(evicted) => Self::Evicted(evicted),
        }
    }
}

/// Does `work` with a store. If the store evicts what it gave, `work` starts over with one that
/// gives nothing and keeps all in memory.
///
/// # Errors
/// What stopped `work`.
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
    /// Tells that a step begins whose progress is not counted.
    pub(super) fn begin_step(&self, step: Step) {
        self.tell(Progress {
            step,
            name: "",
            done: 0,
            all: 0,
        });
    }

    /// Says how far the conversion is.
    pub(super) fn tell(&self, now: Progress<'_>) {
        self.progress.iter().for_each(|progress| progress(now));
    }

    /// `work` on each item of a batch, all cores at once, the largest first so that none is left
    /// alone with it at the end. The results are in the order of the items; if the time is up, they
    /// are not all there, and `limit` says so.
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
        let (finished, longest) = (AtomicUsize::new(0), Longest::default());
        // What is being worked on, by its place in the order.
        let active: Mutex<BTreeSet<usize>> = Mutex::default();
        let tell = |begun: Option<usize>, ended: Option<usize>| {
            let Some(progress) = &self.progress else {
                return;
            };
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
                    tell(Some(rank), None);
                    let started = Instant::now();
                    result.get_or_init(|| work(item));
                    finished.fetch_add(1, Ordering::Relaxed);
                    longest.note(started.elapsed(), || name(item));
                    done.fetch_add(size(item), Ordering::Relaxed);
                    tell(None, Some(rank));
                }
            });
        results
            .into_iter()
            .filter_map(OnceLock::into_inner)
            .collect()
    }
}
