//! What clients say when something fails.

use super::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// The network or the client refused.
pub(super) fn transport(what: &str, why: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(
        &codes::TRANSPORT,
        Place::default(),
        format!("{what}: {why}"),
    )
}

/// It is too late for that.
pub(super) fn ended() -> Diagnostic {
    Diagnostic::new(
        &codes::TRANSPORT,
        Place::default(),
        "the node has shut down",
    )
}

/// A call that came to nothing.
pub(super) fn no_answer(service: &str, patience: std::time::Duration, why: &str) -> Diagnostic {
    let message = format!("{service} does not answer within {patience:?}: {why}");
    Diagnostic::new(&codes::NO_ANSWER, Place::default(), message)
        .help("is its node running, in this ROS_DOMAIN_ID and with the same RMW_IMPLEMENTATION?")
}

/// A service between this node and one on Fast DDS or Connext, which this build can't carry in
/// either direction.
pub(super) fn other_wire(service: &str) -> Diagnostic {
    let message = format!(
        "{service}: services can't be exchanged with nodes on Fast DDS or Connext by this build; topics can"
    );
    Diagnostic::new(&codes::OTHER_SERVICE_WIRE, Place::default(), message).help(
        "build the node in a ROS 2 workspace, where it runs on rcl with any RMW (docs/ros.md), or start the other node with \
         RMW_IMPLEMENTATION=rmw_cyclonedds_cpp",
    )
}

/// Tells of something that may recur without end: of the 1st, 2nd, 4th, 8th … time only.
#[derive(Default)]
pub(super) struct Recurring(u64);

impl Recurring {
    pub(super) fn tell(&mut self, tell: impl FnOnce(u64)) {
        self.0 += 1;
        if self.0.is_power_of_two() {
            tell(self.0);
        }
    }
}

/// What goes wrong with the calls of one service.
pub(super) struct Troubles {
    /// The service.
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
        self.unreadable
            .tell(|n| tracing::warn!("{service}: {n} call(s) could not be read; the last: {why}"));
    }

    /// After a call was queued, and maybe pushed another one out.
    pub(super) fn queued<T>(&mut self, lost: Option<T>) {
        let service = &self.service;
        if lost.is_some() {
            self.lost
                .tell(|n| tracing::warn!("{service}: too many calls at once; {n} got no answer"));
        }
    }
}
