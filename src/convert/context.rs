//! What a conversion has at hand beside its job, and whom it tells how far it is. Nothing of it changes the outcome.

use std::cmp::Reverse;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::store::Store;

/// Shows a text.
pub type Show = dyn Fn(&str) + Send + Sync;

/// What a conversion has at hand.
#[derive(Default)]
pub struct Context {
    /// Where work that takes time is kept from one conversion to the next.
    pub store: Store,
    /// Called from several threads as the work goes on.
    pub progress: Option<Box<dyn Fn(Progress) + Send + Sync>>,
    /// Called with what xacro made of the source, if it is xacro: the text that places with [`expanded`] are in.
    ///
    /// [`expanded`]: crate::diagnostic::Place::expanded
    pub expanded: Option<Box<Show>>,
}

/// How far a conversion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub step: Step,
    /// How much of it is done …
    pub done: usize,
    /// … of how much, in the same measure.
    pub all: usize,
}

/// What takes time in a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Loading meshes; counted in bytes.
    Load,
    /// Simplifying meshes and making their hulls; counted in triangles.
    Derive,
}

impl Context {
    /// `work` on each of `items`, all cores at once, the largest first so that none is left alone with it at the end. `size` is what
    /// progress is counted in. The results are in the order of the items.
    pub(super) fn all<T: Sync, R: Send + Sync>(
        &self,
        step: Step,
        items: &[T],
        size: impl Fn(&T) -> usize + Sync,
        work: impl Fn(&T) -> R + Sync,
    ) -> Vec<R> {
        let all = items.iter().map(&size).sum();
        let tell = |done| self.progress.iter().for_each(|progress| progress(Progress { step, done, all }));
        tell(0);
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|&index| Reverse(size(&items[index])));
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
        (0..rayon::current_num_threads().min(items.len())).into_par_iter().for_each(|_| {
            while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let item = &items[index];
                results[index].get_or_init(|| work(item));
                tell(done.fetch_add(size(item), Ordering::Relaxed) + size(item));
            }
        });
        results.into_iter().filter_map(OnceLock::into_inner).collect()
    }
}
