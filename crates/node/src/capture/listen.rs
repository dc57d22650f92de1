//! Subscribes to each published topic for a few seconds and reports measurements once they have
//! settled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Measurement, Snapshot, is_measurable};
use urdf_usd_ros::graph::{Graph, TopicEnd, TopicRole};
use urdf_usd_ros::{Durability, Node, PublisherId, Qos, Reliability};

/// Duration of a measurement, from the first message on.
const WINDOW: Duration = seconds(5);
/// Number of messages after which a measurement ends early.
const MAX_MESSAGES: usize = 300;
/// Queue depth of the subscriptions.
const QUEUE_DEPTH: usize = 200;
/// Duration without changes after which the graph is reported.
const QUIET_TIME: Duration = seconds(1);
/// Maximum delay of a report while topics are being measured.
const MAX_DELAY: Duration = seconds(10);
/// Relative change of a rate that is attributed to noise.
const TOLERANCE: f64 = 0.15;
/// Mantissas of rates that people choose.
const COMMON_RATES: [f64; 18] = [
    1.0, 1.25, 1.5, 2.0, 2.4, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 7.5, 8.0, 9.0, 9.6, 1.2, 1.8, 3.6,
];

/// Seconds; tenths of a second in tests.
const fn seconds(count: u64) -> Duration {
    Duration::from_millis(count * if cfg!(test) { 100 } else { 1000 })
}

/// Knowledge of a topic.
#[derive(Default)]
struct Topic {
    /// The publishers at the time of the last measurement.
    publishers: BTreeSet<(Option<PublisherId>, Option<String>, String)>,
    heard: Measurement,
}

/// Keeps `seen` current until all its receivers are dropped or the node has shut down.
pub(crate) async fn listen<N: Node>(node: Arc<N>, seen: watch::Sender<Arc<Snapshot>>) {
    let own = node.fully_qualified_name();
    // Before the first look at the graph, so that no change after it is missed.
    let mut changes = node.graph_changes();
    let mut topics: BTreeMap<String, Topic> = BTreeMap::new();
    let mut listening: JoinSet<Option<(String, Measurement)>> = JoinSet::new();
    // Topics with a measurement in progress.
    let measuring = Arc::new(AtomicUsize::new(0));
    let mut graph = node.graph();
    measure_new_topics(&node, &own, &graph, &mut topics, &mut listening, &measuring);
    let mut pending = Some((Instant::now() + QUIET_TIME, Instant::now() + MAX_DELAY));
    loop {
        let due = pending.map_or_else(
            || Instant::now() + MAX_DELAY,
            |(rest, latest)| rest.min(latest),
        );
        tokio::select! {
            () = seen.closed() => return,
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
                graph = node.graph();
                measure_new_topics(&node, &own, &graph, &mut topics, &mut listening, &measuring);
                pending = Some(postpone(pending));
            }
            Some(done) = listening.join_next() => {
                if let Ok(Some((name, heard))) = done
                    && let Some(topic) = topics.get_mut(&name)
                {
                    let rate = heard.rate.map(|rate| stable_rate(topic.heard.rate, rate));
                    topic.heard = Measurement { rate, ..heard };
                    pending = Some(postpone(pending));
                }
            }
            () = sleep_until(due), if pending.is_some() => {
                let is_over = pending.is_some_and(|(_, latest)| Instant::now() >= latest);
                // Its result would otherwise change the assets a second time.
                if !is_over && measuring.load(Ordering::Relaxed) > 0 {
                    pending = Some(postpone(pending));
                    continue;
                }
                pending = None;
                let heard = |(name, topic): (&String, &Topic)| (name.clone(), topic.heard.clone());
                let published = graph.topics.iter().filter(|end| end.role == TopicRole::Publisher);
                let published: BTreeSet<&str> = published.map(|end| end.topic.as_str()).collect();
                let is_published = |(name, _): &(&String, &Topic)| published.contains(name.as_str());
                let now = Snapshot::new(graph.clone(), topics.iter().filter(is_published).map(heard).collect());
                // Each new snapshot is compared with every asset, so equal ones are not sent.
                seen.send_if_modified(|before| {
                    let is_new = **before != now;
                    if is_new {
                        *before = Arc::new(now);
                    }
                    is_new
                });
            }
        }
    }
}

/// Postpones a report until the graph is quiet, up to a limit counted from the first change.
fn postpone(pending: Option<(Instant, Instant)>) -> (Instant, Instant) {
    let now = Instant::now();
    (
        now + QUIET_TIME,
        pending.map_or_else(|| now + MAX_DELAY, |(_, latest)| latest),
    )
}

/// Starts to measure topics that are new or whose publishers changed.
fn measure_new_topics<N: Node>(
    node: &Arc<N>,
    own: &str,
    graph: &Graph,
    topics: &mut BTreeMap<String, Topic>,
    listening: &mut JoinSet<Option<(String, Measurement)>>,
    measuring: &Arc<AtomicUsize>,
) {
    let mut published: BTreeMap<&str, Vec<&TopicEnd>> = BTreeMap::new();
    for end in graph.topics.iter().filter(|end| is_measurable(end, own)) {
        published.entry(&end.topic).or_default().push(end);
    }
    for (name, ends) in published {
        let publishers = ends
            .iter()
            .map(|end| (end.id, end.node.clone(), end.type_name.clone()))
            .collect();
        let topic = topics.entry(name.to_owned()).or_default();
        if topic.publishers == publishers {
            continue;
        }
        topic.publishers = publishers;
        let Some(first) = ends.first() else { continue };
        listening.spawn(observe(
            node.clone(),
            name.to_owned(),
            first.type_name.clone(),
            qos(&ends),
            measuring.clone(),
        ));
    }
}

/// Returns the QoS that every publisher of a topic is compatible with; latched only if all
/// publishers are.
fn qos(ends: &[&TopicEnd]) -> Qos {
    let keeps = |end: &&TopicEnd| {
        end.qos.is_some_and(|qos| {
            qos.durability == Durability::TransientLocal && qos.reliability == Reliability::Reliable
        })
    };
    // By DDS's rule of offered and requested QoS, a best-effort volatile subscription matches every
    // publisher, and a latched one only latched publishers.
    if ends.iter().all(keeps) {
        Qos::latched(1)
    } else {
        Qos::best_effort(QUEUE_DEPTH)
    }
}

/// Measures a topic, from its first message on.
async fn observe<N: Node>(
    node: Arc<N>,
    topic: String,
    type_name: String,
    qos: Qos,
    measuring: Arc<AtomicUsize>,
) -> Option<(String, Measurement)> {
    // Remaps are meant for the node's own names; don't follow one for a name seen in the graph.
    if node
        .resolve_topic(&topic)
        .is_ok_and(|resolved| resolved != topic)
    {
        return None;
    }
    let mut messages = match node.observe(&topic, &type_name, qos) {
        Ok(messages) => messages,
        Err(error) => {
            tracing::debug!("{topic} cannot be measured: {error}");
            return None;
        }
    };
    let mut message = messages.next().await?;
    let _measuring = CountGuard::new(&measuring);
    let first = Instant::now();
    let (mut last, mut count, mut frames) = (first, 0, BTreeSet::new());
    loop {
        let header = message.message.header;
        frames.extend(
            header
                .map(|header| header.frame_id)
                .filter(|frame| !frame.is_empty()),
        );
        count += 1;
        if count >= MAX_MESSAGES {
            break;
        }
        match timeout_at(first + WINDOW, messages.next()).await {
            Ok(Some(next)) => message = next,
            Ok(None) => return None,
            Err(_) => break,
        }
        last = Instant::now();
    }
    // Latched messages arrive all at once, so their timing is not a rate.
    let is_rate = qos.durability == Durability::Volatile && count >= 3;
    let rate = is_rate
        .then(|| (count - 1) as f64 / last.duration_since(first).as_secs_f64())
        .filter(|rate| rate.is_finite());
    let frame = if frames.len() == 1 {
        frames.pop_first()
    } else {
        None
    };
    Some((topic, Measurement { rate, frame }))
}

/// A guard that counts itself while it exists.
struct CountGuard(Arc<AtomicUsize>);

impl CountGuard {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Rounds a measured rate in Hz so that an asset does not change with every measurement: to the
/// last rate if it is near, else to a common rate if one is near, else to two digits.
fn stable_rate(last: Option<f64>, measured: f64) -> f64 {
    let is_near = |rate: f64, part: f64| (measured / rate - 1.0).abs() <= part;
    if let Some(last) = last.filter(|last| is_near(*last, TOLERANCE)) {
        return last;
    }
    let magnitude = 10_f64.powf(measured.log10().floor());
    let usual = COMMON_RATES
        .iter()
        // The next decade, too: 9.9 Hz is nearest to 10.
        .flat_map(|rate| [rate * magnitude, rate * magnitude * 10.0]);
    let nearest = usual
        .min_by(|a, b| (a - measured).abs().total_cmp(&(b - measured).abs()))
        .unwrap_or(measured);
    let rate = if is_near(nearest, 0.05) {
        nearest
    } else {
        (measured / magnitude * 10.0).round() * magnitude / 10.0
    };
    // Remove the noise of binary fractions.
    (rate * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_settle_on_what_people_choose() {
        for (measured, rate) in [
            (9.83, 10.0),
            (29.6, 30.0),
            (14.9, 15.0),
            (12.6, 12.5),
            (49.2, 50.0),
            (99.3, 100.0),
            (0.98, 1.0),
            (0.2, 0.2),
            (217.0, 220.0),
            (1003.0, 1000.0),
        ] {
            assert_eq!(stable_rate(None, measured), rate, "{measured}");
        }
        assert_eq!(
            (stable_rate(Some(30.0), 27.0), stable_rate(Some(30.0), 20.3)),
            (30.0, 20.0)
        );
    }
}
