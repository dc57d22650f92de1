//! The parts of the node that run beside its engine, and whose end would leave a node that is there
//! and deaf.
//!
//! Each is watched: when one ends that nobody told to, by a defect or because what it listened to
//! is gone, that is told, and the node ends in good order, so that it can be started again. It must
//! not know what the parts do.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::codes;
use super::jobs::panic_text;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// Where parts tell that they ended.
#[derive(Clone, Debug)]
pub(super) struct Parts(UnboundedSender<Diagnostic>);

impl Parts {
    /// And where it is heard.
    pub(super) fn new() -> (Self, UnboundedReceiver<Diagnostic>) {
        let (sender, ended) = unbounded_channel();
        (Self(sender), ended)
    }

    /// Runs a part. That it ended is told, unless it was dropped before.
    pub(super) async fn run(self, name: String, part: impl Future<Output = ()>) {
        let ended = match AssertUnwindSafe(part).catch_unwind().await {
            Ok(()) => ended(&name),
            Err(panic) => defect(&name, &*panic),
        };
        // Nobody listens any more when the node ends.
        let _ = self.0.send(ended);
    }
}

/// That a part ended.
pub(super) fn ended(name: &str) -> Diagnostic {
    Diagnostic::new(&codes::ENDED, Place::default(), format!("{name} has ended"))
        .help("start the node again; respawn:=true in the launch file does so by itself")
}

/// That a part ended by a defect.
pub(super) fn defect(name: &str, panic: &(dyn std::any::Any + Send)) -> Diagnostic {
    let message = format!(
        "{name} has ended by a defect of urdf_usd: {}",
        panic_text(panic)
    );
    Diagnostic::new(&codes::ENDED, Place::default(), message)
        .help("report it with the log; start the node again, as respawn:=true in the launch file does by itself")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_part_is_told_but_not_that_it_was_stopped() {
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
                .is_some_and(|told| told.message == "listening to /tf has ended")
        );
        tokio::spawn(parts.run("counting".to_owned(), async { panic!("seven") }));
        let told = ended.recv().await.expect("told");
        assert!(
            told.message.ends_with("a defect of urdf_usd: seven") && told.code == "bridge-ended",
            "{told}"
        );
        stopped.abort();
        assert!(ended.recv().await.is_none());
    }
}
