//! Diagnostics that all clients report.

use super::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// Returns the diagnostic for an operation that the network or the client refused.
pub(super) fn transport(what: &str, why: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(
        &codes::TRANSPORT,
        Place::default(),
        format!("{what}: {why}"),
    )
}

/// Returns the diagnostic for an operation after shutdown.
pub(super) fn ended() -> Diagnostic {
    Diagnostic::new(
        &codes::TRANSPORT,
        Place::default(),
        "the node has shut down",
    )
}

/// Returns the diagnostic for a call without an answer.
pub(super) fn no_answer(service: &str, patience: std::time::Duration, why: &str) -> Diagnostic {
    let message = format!("{service} does not answer within {patience:?}: {why}");
    Diagnostic::new(&codes::NO_ANSWER, Place::default(), message)
        .help("is its node running, in this ROS_DOMAIN_ID and with the same RMW_IMPLEMENTATION?")
}

/// Returns the diagnostic for a service between this node and one on Fast DDS or Connext, which
/// this build can't carry in either direction.
pub(super) fn other_wire(service: &str) -> Diagnostic {
    let message = format!(
        "{service}: this build can't exchange services with nodes on Fast DDS or Connext; topics work"
    );
    Diagnostic::new(&codes::OTHER_SERVICE_WIRE, Place::default(), message).help(
        "build the node in a ROS 2 workspace, where it runs on rcl with any RMW (docs/ros.md), or start the other node with \
         RMW_IMPLEMENTATION=rmw_cyclonedds_cpp",
    )
}

/// A counter for recurring faults that reports only the 1st, 2nd, 4th, 8th … of them.
#[derive(Default)]
pub(super) struct Recurring(u64);

impl Recurring {
    pub(super) fn report(&mut self, report: impl FnOnce(u64)) {
        self.0 += 1;
        if self.0.is_power_of_two() {
            report(self.0);
        }
    }
}

/// Faults in the calls of one service, for the log.
pub(super) struct Troubles {
    /// The name of the service.
    pub(super) service: String,
    unreadable: Recurring,
    lost: Recurring,
}

impl Troubles {
    pub(super) fn new(service: String) -> Self {
        Self {
            service,
            unreadable: Recurring::default(),
            lost: Recurring::default(),
        }
    }

    pub(super) fn unreadable(&mut self, why: impl std::fmt::Display) {
        let service = &self.service;
        self.unreadable.report(|n| {
            tracing::warn!("{service}: {n} call(s) could not be read; the last: {why}")
        });
    }

    /// Records that a call was queued; `lost` is the call that it pushed out of the queue, if any.
    pub(super) fn queued<T>(&mut self, lost: Option<T>) {
        let service = &self.service;
        if lost.is_some() {
            self.lost
                .report(|n| tracing::warn!("{service}: too many calls at once; {n} got no answer"));
        }
    }
}
