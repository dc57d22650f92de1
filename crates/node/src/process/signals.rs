//! The signals that end a process.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// SIGINT and SIGTERM, which no longer end the process by themselves.
pub struct Interrupted {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupted {
    /// Takes the signals over, in a runtime.
    ///
    /// # Errors
    /// If the system delivers none.
    pub fn new() -> Result<Self, Diagnostic> {
        let take = |kind| {
            signal(kind).map_err(|error| {
                Diagnostic::new(
                    &codes::SYSTEM,
                    Place::default(),
                    format!("the system delivers no signals: {error}"),
                )
            })
        };
        Ok(Self {
            interrupt: take(SignalKind::interrupt())?,
            terminate: take(SignalKind::terminate())?,
        })
    }

    /// Waits for one and tells its name.
    pub async fn wait(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "interrupted",
            _ = self.terminate.recv() => "terminated",
        }
    }
}
