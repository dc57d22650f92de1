//! Supervision of the node's background parts.
//!
//! A node whose subscription task has died would look alive but hear nothing. Hence every part is
//! watched: if one ends without being stopped, because of a bug or because its source is gone, the
//! node reports it and exits cleanly, so that a supervisor can restart it. This module does not
//! depend on what the parts do.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::codes;
use super::jobs::panic_text;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// The reporting side of the supervision; cloned for each part.
#[derive(Clone, Debug)]
pub(super) struct Parts(UnboundedSender<Diagnostic>);

impl Parts {
    /// Returns the reporting side and the receiver of reports.
    pub(super) fn new() -> (Self, UnboundedReceiver<Diagnostic>) {
        let (sender, ended) = unbounded_channel();
        (Self(sender), ended)
    }

    /// Runs a part and reports its end, unless the future is dropped first.
    pub(super) async fn run(self, name: String, part: impl Future<Output = ()>) {
        let ended = match AssertUnwindSafe(part).catch_unwind().await {
            Ok(()) => ended(&name),
            Err(panic) => defect(&name, &*panic),
        };
        // The receiver is gone only when the node is shutting down.
        let _ = self.0.send(ended);
    }
}

/// Returns the diagnostic for a part that ended.
pub(super) fn ended(name: &str) -> Diagnostic {
    Diagnostic::new(&codes::ENDED, Place::default(), format!("{name} has ended"))
        .help("restart the node, or pass respawn:=true to the launch file")
}

/// Returns the diagnostic for a part that panicked.
pub(super) fn defect(name: &str, panic: &(dyn std::any::Any + Send)) -> Diagnostic {
    let message = format!(
        "{name} has ended because of a bug in urdf_usd: {}",
        panic_text(panic)
    );
    Diagnostic::new(&codes::ENDED, Place::default(), message).help(
        "please report it with the log; restart the node, or pass respawn:=true to the launch file",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ended_parts_are_reported_and_stopped_ones_are_not() {
        let (parts, mut ended) = Parts::new();
        let stopped = tokio::spawn(
            parts
                .clone()
                .run("stopped".to_owned(), std::future::pending()),
        );
        tokio::spawn(parts.clone().run("listening to /tf".to_owned(), async {}));
        assert!(
            ended
                .recv()
                .await
                .is_some_and(|report| report.message == "listening to /tf has ended")
        );
        tokio::spawn(parts.run("counting".to_owned(), async { panic!("seven") }));
        let report = ended.recv().await.expect("report");
        assert!(
            report.message.ends_with("a bug in urdf_usd: seven") && report.code == "bridge-ended",
            "{report}"
        );
        stopped.abort();
        assert!(ended.recv().await.is_none());
    }
}
