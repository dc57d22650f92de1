//! Runs work without Python's global lock, so that other threads go on, signals are handled and
//! callbacks are called meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure;

/// Interval at which Python handles signals, such as Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// The progress of work, as the arguments of a callback: step, name, done, all.
pub type Event = (&'static str, String, usize, usize);

/// The threads that all calls share, with the process that started them.
static THREADS: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Returns the threads for work of this process.
///
/// The pool that rayon starts by itself does not survive a fork: in the child, such as a process
/// of Python's `multiprocessing`, its threads are missing, and work would wait for them forever.
pub fn threads() -> PyResult<Arc<ThreadPool>> {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((of, pool)) = threads.as_ref()
        && *of == process
    {
        return Ok(pool.clone());
    }
    let count = thread::available_parallelism().map_or(2, |processors| processors.get().max(2));
    let pool = ThreadPoolBuilder::new()
        .num_threads(count)
        .thread_name(|index| format!("urdf_usd-{index}"))
        .build()
        .map_err(|error| failure::failed(format!("cannot start threads: {error}")))?;
    let pool = Arc::new(pool);
    // A pool of the parent process has no threads that could end, so it must not be dropped.
    std::mem::forget(threads.replace((process, pool.clone())));
    Ok(pool)
}

/// Time that cancelled work has to end before it is abandoned.
const GRACE: Duration = Duration::from_secs(1);

/// Runs `work` on the shared threads, and calls `progress` with the events that it sends.
///
/// If Python raises an exception meanwhile, by a signal or from the callback, `cancelled` becomes
/// true, and the exception is returned once the work has ended.
pub fn run<T: Send>(
    py: Python<'_>,
    cancelled: &AtomicBool,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Option<Sender<Event>>) -> T + Send,
) -> PyResult<T> {
    let pool = threads()?;
    let (sender, events) = channel();
    let reports = progress.is_some();
    let mut outcome = None;
    let raised = pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            // The pool would pass a panic on to this thread, which holds the global lock.
            outcome = catch_unwind(AssertUnwindSafe(|| observed(sender, reports, work))).ok();
        });
        watch(py, cancelled, progress, events, None)
    });
    if let Some(raised) = raised {
        return Err(raised);
    }
    outcome.ok_or_else(|| failure::defect("internal error"))
}

/// Runs `work` as [`run`], but does not wait long for it once it is cancelled: it may wait for a
/// server. It then ends later, in the background.
pub fn run_or_abandon<T: Send + 'static>(
    py: Python<'_>,
    cancelled: &AtomicBool,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Option<Sender<Event>>) -> T + Send + 'static,
) -> PyResult<T> {
    let pool = threads()?;
    let (sender, events) = channel();
    let reports = progress.is_some();
    let working = thread::spawn(move || pool.install(|| observed(sender, reports, work)));
    if let Some(raised) = watch(py, cancelled, progress, events, Some(GRACE)) {
        return Err(raised);
    }
    let outcome = py.detach(|| working.join());
    outcome.map_err(|_| failure::defect("internal error"))
}

/// Runs `work`, which gets the sender if someone wants its events. The sender's end closes the
/// channel, which ends the loop of [`watch`].
fn observed<T>(
    sender: Sender<Event>,
    reports: bool,
    work: impl FnOnce(Option<Sender<Event>>) -> T,
) -> T {
    work(reports.then(|| sender.clone()))
}

/// Passes events on and handles signals until the work has ended, or for `grace` after an
/// exception. Returns the exception.
fn watch(
    py: Python<'_>,
    cancelled: &AtomicBool,
    progress: Option<&Bound<'_, PyAny>>,
    events: Receiver<Event>,
    grace: Option<Duration>,
) -> Option<PyErr> {
    let events = Mutex::new(events);
    let mut raised = None;
    let mut end = None;
    loop {
        let next = py.detach(|| {
            let events = events.lock().unwrap_or_else(PoisonError::into_inner);
            events.recv_timeout(SIGNAL_INTERVAL)
        });
        let called = match (next, progress) {
            (Ok(event), Some(progress)) if raised.is_none() => progress.call1(event).map(drop),
            (Err(RecvTimeoutError::Disconnected), _) => return raised,
            _ => Ok(()),
        };
        if let Err(error) = called.and_then(|()| py.check_signals()) {
            cancelled.store(true, Ordering::Relaxed);
            raised.get_or_insert(error);
            end = end.or_else(|| Some(Instant::now() + grace?));
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return raised;
        }
    }
}
