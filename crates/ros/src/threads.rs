//! The threads that run a client's tasks, independent of the caller's runtime.

use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::AbortHandle;

use super::faults::transport;
use urdf_usd_diagnostic::Diagnostic;

/// Time limit for tasks to end at shutdown.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(1);

/// Two threads for the tasks of one node.
///
/// Dropping them, for instance after a failed start, ends them without waiting: the caller may be
/// asynchronous code, which must not block.
pub struct Threads {
    handle: Handle,
    /// `None` after the end.
    runtime: Option<Runtime>,
}

impl Threads {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`].
    pub(super) fn new() -> Result<Self, Diagnostic> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("ros")
            // No I/O driver: sockets belong to the networks, which have threads of their own.
            .enable_time()
            .build();
        let runtime = runtime.map_err(|error| transport("can't start threads", error))?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    /// Returns the handle to spawn tasks with.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends all tasks and waits briefly for that. Must not be called from asynchronous code.
    pub(super) fn end(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(SHUTDOWN_PATIENCE);
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Aborts its task when dropped.
pub(super) struct Task(pub(super) AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn threads_can_be_dropped_in_asynchronous_code() {
        let threads = Threads::new().expect("threads");
        let task = threads.handle().spawn(std::future::pending::<()>());
        drop(threads);
        assert!(
            task.await
                .expect_err("it never ends by itself")
                .is_cancelled()
        );
    }
}
