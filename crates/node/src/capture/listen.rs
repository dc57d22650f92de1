//! Listens to what is published, each topic for a few seconds, and tells what was heard once it has
//! settled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Heard, Seen, is_listened_to};
use urdf_usd_ros::graph::{Graph, TopicEnd, TopicRole};
use urdf_usd_ros::{Durability, Node, PublisherId, Qos, Reliability};

/// How long a topic is listened to, from its first message on.
const WINDOW: Duration = seconds(5);
/// How many messages say enough.
const ENOUGH: usize = 300;
/// How many messages may wait to be counted.
const WAITING: usize = 200;
/// How long the graph has to rest before it is told.
const REST: Duration = seconds(1);
/// How long it may be kept back while topics are being listened to.
const PATIENCE: Duration = seconds(10);
/// By what part a rate may differ from the last one and count as the same.
const TOLERANCE: f64 = 0.15;
/// Rates that people choose.
const USUAL: [f64; 18] = [
    1.0, 1.25, 1.5, 2.0, 2.4, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 7.5, 8.0, 9.0, 9.6, 1.2, 1.8, 3.6,
];

/// Seconds, which are tenths in tests.
const fn seconds(count: u64) -> Duration {
    Duration::from_millis(count * if cfg!(test) { 100 } else { 1000 })
}

/// What is known of a topic.
#[derive(Default)]
struct Topic {
    /// Who published it when it was listened to last.
    publishers: BTreeSet<(Option<PublisherId>, Option<String>, String)>,
    heard: Heard,
}

/// Keeps `seen` current until nobody wants to know any more, or the node has left.
pub(crate) async fn listen<N: Node>(node: Arc<N>, seen: watch::Sender<Arc<Seen>>) {
    let own = node.fully_qualified_name();
    let mut changes = node.graph_changes();
    let mut topics: BTreeMap<String, Topic> = BTreeMap::new();
    let mut listening: JoinSet<Option<(String, Heard)>> = JoinSet::new();
    // Topics of which a message was heard, and not yet enough.
    let measuring = Arc::new(AtomicUsize::new(0));
    let mut graph = node.graph();
    look(&node, &own, &graph, &mut topics, &mut listening, &measuring);
    let mut news = Some((Instant::now() + REST, Instant::now() + PATIENCE));
    loop {
        let due = news.map_or_else(
            || Instant::now() + PATIENCE,
            |(rest, latest)| rest.min(latest),
        );
        tokio::select! {
            () = seen.closed() => return,
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
                graph = node.graph();
                look(&node, &own, &graph, &mut topics, &mut listening, &measuring);
                news = Some(later(news));
            }
            Some(done) = listening.join_next() => {
                if let Ok(Some((name, heard))) = done
                    && let Some(topic) = topics.get_mut(&name)
                {
                    let rate = heard.rate.map(|rate| settled(topic.heard.rate, rate));
                    topic.heard = Heard { rate, ..heard };
                    news = Some(later(news));
                }
            }
            () = sleep_until(due), if news.is_some() => {
                let is_over = news.is_some_and(|(_, latest)| Instant::now() >= latest);
                if !is_over && measuring.load(Ordering::Relaxed) > 0 {
                    news = Some(later(news));
                    continue;
                }
                news = None;
                let heard = |(name, topic): (&String, &Topic)| (name.clone(), topic.heard.clone());
                let published = graph.topics.iter().filter(|end| end.role == TopicRole::Publisher);
                let published: BTreeSet<&str> = published.map(|end| end.topic.as_str()).collect();
                let is_there = |(name, _): &(&String, &Topic)| published.contains(name.as_str());
                let now = Seen::new(graph.clone(), topics.iter().filter(is_there).map(heard).collect());
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

/// When to tell what is new: once it rests, and not much later than it was first.
fn later(news: Option<(Instant, Instant)>) -> (Instant, Instant) {
    let now = Instant::now();
    (
        now + REST,
        news.map_or_else(|| now + PATIENCE, |(_, latest)| latest),
    )
}

/// Begins to listen to topics that are new, or that others publish now.
fn look<N: Node>(
    node: &Arc<N>,
    own: &str,
    graph: &Graph,
    topics: &mut BTreeMap<String, Topic>,
    listening: &mut JoinSet<Option<(String, Heard)>>,
    measuring: &Arc<AtomicUsize>,
) {
    let mut published: BTreeMap<&str, Vec<&TopicEnd>> = BTreeMap::new();
    for end in graph.topics.iter().filter(|end| is_listened_to(end, own)) {
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

/// What every publisher of a topic will answer to; what was said before, only if all keep it.
fn qos(ends: &[&TopicEnd]) -> Qos {
    let keeps = |end: &&TopicEnd| {
        end.qos.is_some_and(|qos| {
            qos.durability == Durability::TransientLocal && qos.reliability == Reliability::Reliable
        })
    };
    if ends.iter().all(keeps) {
        Qos::latched(1)
    } else {
        Qos::best_effort(WAITING)
    }
}

/// Listens to a topic: from its first message on, for a while.
async fn observe<N: Node>(
    node: Arc<N>,
    topic: String,
    type_name: String,
    qos: Qos,
    measuring: Arc<AtomicUsize>,
) -> Option<(String, Heard)> {
    // The node's remaps are meant for its own names.
    if node
        .resolve_topic(&topic)
        .is_ok_and(|resolved| resolved != topic)
    {
        return None;
    }
    let mut messages = match node.observe(&topic, &type_name, qos) {
        Ok(messages) => messages,
        Err(error) => {
            tracing::debug!("{topic} is not listened to: {error}");
            return None;
        }
    };
    let mut message = messages.next().await?;
    let _measuring = Counted::new(&measuring);
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
        if count >= ENOUGH {
            break;
        }
        match timeout_at(first + WINDOW, messages.next()).await {
            Ok(Some(next)) => message = next,
            Ok(None) => return None,
            Err(_) => break,
        }
        last = Instant::now();
    }
    // What is kept for who comes late comes all at once, which is no rate.
    let is_rate = qos.durability == Durability::Volatile && count >= 3;
    let rate = is_rate
        .then(|| (count - 1) as f64 / last.duration_since(first).as_secs_f64())
        .filter(|rate| rate.is_finite());
    let frame = if frames.len() == 1 {
        frames.pop_first()
    } else {
        None
    };
    Some((topic, Heard { rate, frame }))
}

/// Counts itself while it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The rate in Hz that stands for a measured one: the last one if it is near, so that assets don't
/// change with every measurement; else a usual one if that is near; else two digits.
fn settled(last: Option<f64>, measured: f64) -> f64 {
    let is_near = |rate: f64, part: f64| (measured / rate - 1.0).abs() <= part;
    if let Some(last) = last.filter(|last| is_near(*last, TOLERANCE)) {
        return last;
    }
    let magnitude = 10_f64.powf(measured.log10().floor());
    let usual = USUAL
        .iter()
        .flat_map(|rate| [rate * magnitude, rate * magnitude * 10.0]);
    let nearest = usual
        .min_by(|a, b| (a - measured).abs().total_cmp(&(b - measured).abs()))
        .unwrap_or(measured);
    let rate = if is_near(nearest, 0.05) {
        nearest
    } else {
        (measured / magnitude * 10.0).round() * magnitude / 10.0
    };
    // Without the noise of binary fractions.
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
            assert_eq!(settled(None, measured), rate, "{measured}");
        }
        assert_eq!(
            (settled(Some(30.0), 27.0), settled(Some(30.0), 20.3)),
            (30.0, 20.0)
        );
    }
}
