//! Reports shortages: conversions that ran out of file descriptors, and services that the ROS
//! client can't carry.

use std::time::{Duration, Instant};

use super::Engine;
use crate::robots::{self, pair};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_ros::Node;
use urdf_usd_ros::msg::diagnostic_msgs::DiagnosticStatus;

/// Maximum number of doublings of the delay after a conversion that ran out of descriptors.
const MAX_DOUBLINGS: u32 = 6;

impl<N: Node> Engine<N> {
    /// Returns a warning about nodes whose requests the node's ROS client can't answer; `None` if
    /// there are none.
    pub(super) fn services_status(&self) -> Option<DiagnosticStatus> {
        let first: Vec<String> = self
            .unreachable_clients
            .iter()
            .take(robots::MAX_NAMED)
            .map(|(node, service)| format!("{node} ({service})"))
            .collect();
        (!first.is_empty()).then(|| DiagnosticStatus {
            level: DiagnosticStatus::WARN,
            name: format!("{}: services", self.node.name()),
            message:
                "this build cannot exchange services with nodes on Fast DDS or Connext; topics work"
                    .to_owned(),
            hardware_id: "none".to_owned(),
            values: vec![
                pair("code", urdf_usd_ros::codes::OTHER_SERVICE_WIRE.id),
                pair("clients", self.unreachable_clients.len()),
                pair("clients first", first.join(", ")),
            ],
        })
    }

    /// Records whether a conversion ran out of descriptors; a success resets the delay.
    pub(super) fn record_starvation(&mut self, key: &str, diagnostics: &[Diagnostic]) {
        let Some(robot) = self.robots.get_mut(key) else {
            return;
        };
        if !urdf_usd_convert::is_out_of_files(diagnostics) {
            robot.starved = None;
            return;
        }
        let times = robot
            .starved
            .map_or(0, |(times, _)| (times + 1).min(MAX_DOUBLINGS));
        robot.starved = Some((times, Instant::now() + Duration::from_secs(1 << times)));
        // A result that depends on other processes' descriptors must not be reused.
        robot.fingerprint = None;
    }

    /// Schedules another conversion of robots that ran out of descriptors and whose delay is over.
    pub(super) fn try_starved_again(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        for (key, robot) in &mut self.robots {
            if let Some((times, at)) = robot.starved.as_mut().filter(|(_, at)| *at <= now) {
                // The attempt sets the next delay when it ends; until then, polls must not repeat
                // it.
                *at = now + Duration::from_secs(1 << *times);
                due.push(key.clone());
            }
        }
        for key in due {
            tracing::info!("converting {key:?} again, which ran out of file descriptors");
            self.convert_again(&key);
        }
    }
}
