//! The signals that end a process.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// A handler of SIGINT and SIGTERM that replaces the default of ending the process.
pub struct Interrupted {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupted {
    /// Installs the handler. Must be called in a runtime.
    ///
    /// # Errors
    /// Fails if the handler cannot be installed.
    pub fn new() -> Result<Self, Diagnostic> {
        let take = |kind| {
            signal(kind).map_err(|error| {
                Diagnostic::new(
                    &codes::SYSTEM,
                    Place::default(),
                    format!("cannot handle signals: {error}"),
                )
            })
        };
        Ok(Self {
            interrupt: take(SignalKind::interrupt())?,
            terminate: take(SignalKind::terminate())?,
        })
    }

    /// Waits for a signal and returns its name as a word for messages.
    pub async fn wait(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "interrupted",
            _ = self.terminate.recv() => "terminated",
        }
    }
}
