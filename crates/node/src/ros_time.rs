//! The time of frame checks: ROS time, which stands still while a simulation is paused.

use std::time::{Duration, Instant};

use urdf_usd_ros::graph::TopicRole;
use urdf_usd_ros::{Graph, Node, Simulated};
use urdf_usd_tf_check::{Cause, CauseKind};

/// The topic of simulated time.
const CLOCK: &str = "/clock";
/// Time for which `/clock` may stand still before it is reported.
const MIN_STILL: Duration = Duration::from_secs(2);

/// The time of a check.
pub(super) struct CheckTime {
    /// The time that ages are measured at.
    pub now: Instant,
    /// The explanation if the clock does not run.
    pub cause: Option<Cause>,
}

/// Returns whether a node publishes `/clock`. Without a known graph, one may do so.
pub(super) fn has_clock(node: &impl Node, graph: &Graph) -> bool {
    let topic = node.resolve_topic(CLOCK);
    let topic = topic.as_deref().unwrap_or(CLOCK);
    graph.topics.is_empty()
        || graph
            .topics
            .iter()
            .any(|end| end.topic == topic && end.role == TopicRole::Publisher)
}

/// Returns the time of a check. `has_clock` says whether a node publishes `/clock`.
pub(super) fn check_time(node: &impl Node, has_clock: bool) -> CheckTime {
    let timeline = node.timeline();
    let now = timeline.at;
    let Some(Simulated {
        still_for,
        has_ticked,
    }) = timeline.simulated
    else {
        return CheckTime { now, cause: None };
    };
    let seconds = still_for.as_secs();
    let sentence = match (has_clock, has_ticked) {
        (true, true) => format!(
            "{CLOCK} has stood still for {seconds} s: the simulation is paused, so that no transform ages"
        ),
        (true, false) => format!(
            "nothing was received on {CLOCK} for {seconds} s, though use_sim_time is true: no transform ages until the simulation runs"
        ),
        (false, _) => format!(
            "no node publishes {CLOCK}, for {seconds} s, though use_sim_time is true: start the simulation, or set use_sim_time to false"
        ),
    };
    CheckTime {
        // No simulation is paused if none is there: then its transforms age by the system's clock.
        now: if has_clock { now } else { now + still_for },
        cause: (still_for >= MIN_STILL).then_some(Cause {
            kind: CauseKind::StoppedClock,
            sentence,
        }),
    }
}
