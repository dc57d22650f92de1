//! Threads for conversions: each has a pool of its own while it runs.
//!
//! In one pool for all, a conversion that never comes back would hold up the others: their threads take each other's work on. Once there was
//! no conversion for a while, the memory that they had goes back to the system.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::ReleaseMemory;

/// How many threads all pools have together, about; each has two at least.
const MOST_THREADS: usize = 256;

/// For how long nothing is converted before the memory is given back: the next conversion would have to get it again.
const REST: Duration = Duration::from_secs(1);

/// Pools that are made when they are needed, and used again.
pub(super) struct Pools {
    free: Mutex<Vec<ThreadPool>>,
    threads: usize,
    rest: Arc<Rest>,
}

/// Waits until nothing is converted any more.
struct Rest {
    release_memory: ReleaseMemory,
    running: AtomicUsize,
    /// How many conversions ended.
    ended: AtomicUsize,
    is_awaited: AtomicBool,
}

/// A conversion that runs.
struct Running(Arc<Rest>);

impl Running {
    fn new(rest: &Arc<Rest>) -> Self {
        rest.running.fetch_add(1, Ordering::SeqCst);
        Self(rest.clone())
    }
}

impl Drop for Running {
    /// Has memory given back once nothing was converted for a while.
    fn drop(&mut self) {
        let rest = self.0.clone();
        rest.ended.fetch_add(1, Ordering::SeqCst);
        rest.running.fetch_sub(1, Ordering::SeqCst);
        if rest.is_awaited.swap(true, Ordering::SeqCst) {
            return;
        }
        let wait = move || {
            loop {
                let before = rest.ended.load(Ordering::SeqCst);
                std::thread::sleep(REST);
                if rest.running.load(Ordering::SeqCst) == 0 && rest.ended.load(Ordering::SeqCst) == before {
                    break;
                }
            }
            rest.is_awaited.store(false, Ordering::SeqCst);
            (rest.release_memory)();
        };
        // Without a thread it waits for the next conversion.
        if std::thread::Builder::new().name("rest".to_owned()).spawn(wait).is_err() {
            self.0.is_awaited.store(false, Ordering::SeqCst);
        }
    }
}

impl Pools {
    /// For so many conversions at a time. `release_memory` is called when nothing was converted for a while.
    pub(super) fn new(workers: usize, release_memory: ReleaseMemory) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let rest = Rest {
            release_memory,
            running: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            is_awaited: AtomicBool::new(false),
        };
        Self { free: Mutex::default(), threads: (MOST_THREADS / workers.max(1)).min(processors).max(2), rest: Arc::new(rest) }
    }

    /// Does something in a pool. One in which it panics is not used again.
    pub(super) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let _running = Running::new(&self.rest);
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || ThreadPoolBuilder::new().num_threads(self.threads).thread_name(|n| format!("convert {n}")).build().ok();
        let known = free().pop();
        // Where the system gives no more threads, the common ones have to do.
        let Some(pool) = known.or_else(made) else { return work() };
        let result = pool.install(work);
        free().push(pool);
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use rayon::prelude::*;

    use super::*;

    #[test]
    fn one_that_never_comes_back_holds_up_nobody() {
        let pools = Arc::new(Pools::new(1, || ()));
        let (begun, end) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let (stuck, begin, ending) = (pools.clone(), begun.clone(), end.clone());
        let thread = std::thread::spawn(move || {
            stuck.run(|| {
                rayon::join(|| begin.wait(), || ());
                ending.wait();
            });
        });
        begun.wait();
        for _ in 0..10 {
            assert_eq!(pools.run(|| (0..1000).into_par_iter().map(|n| n % 7).sum::<i32>()), 2997);
        }
        assert_eq!(pools.free.lock().unwrap().len(), 1);
        end.wait();
        thread.join().unwrap();
        assert_eq!(pools.free.lock().unwrap().len(), 2);
    }

    #[test]
    fn memory_is_released_once_nothing_is_converted_any_more() {
        static RELEASED: AtomicUsize = AtomicUsize::new(0);
        let pools = Pools::new(1, || {
            RELEASED.fetch_add(1, Ordering::SeqCst);
        });
        (0..3).for_each(|_| pools.run(|| ()));
        assert_eq!(RELEASED.load(Ordering::SeqCst), 0, "another conversion may follow");
        let deadline = std::time::Instant::now() + 20 * REST;
        while RELEASED.load(Ordering::SeqCst) == 0 && std::time::Instant::now() < deadline {
            std::thread::sleep(REST / 20);
        }
        assert_eq!(RELEASED.load(Ordering::SeqCst), 1);
    }
}
