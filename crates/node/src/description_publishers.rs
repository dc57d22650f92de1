//! Tracks which publisher describes which robot, and which publishers have left.
//!
//! A publisher has left once the graph has shown it and no longer does, or has not shown it for
//! [`PATIENCE`]. If the graph lists publishers without identities, it has left once there are fewer
//! of them than publishers that were received from more recently. If messages carry no identity,
//! each robot counts as one publisher. This module does not depend on a transport.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use urdf_usd_ros::PublisherId;

/// Grace period for a publisher whose messages arrive but which is not in the graph: discovery may
/// lag behind the first message.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of publishers whose messages carry no identity.
const MAX_UNIDENTIFIED: usize = 1000;

/// A publisher, as far as its messages tell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Source {
    Identified(PublisherId),
    /// The publisher of the robot under this key: the ROS client passes messages without their
    /// publishers.
    Of(String),
}

impl Source {
    fn new(id: PublisherId, key: &str) -> Self {
        if id == PublisherId::UNKNOWN {
            Self::Of(key.to_owned())
        } else {
            Self::Identified(id)
        }
    }

    fn is_in(&self, known: &HashSet<PublisherId>) -> bool {
        matches!(self, Self::Identified(id) if known.contains(id))
    }
}

#[derive(Debug)]
struct DescriptionPublisher {
    topic: Arc<str>,
    /// The robot that it described last: the key before its conversion, and the one after.
    keys: BTreeSet<String>,
    /// Whether the graph has ever shown it.
    is_seen: bool,
    heard: Instant,
}

/// The publishers of a topic in the graph.
struct Present {
    known: HashSet<PublisherId>,
    /// Number of publishers without an identity.
    unknown: usize,
    /// When publishers that may be one of these were received from, the latest first.
    heard: Vec<Instant>,
}

/// The publishers whose descriptions were received.
#[derive(Debug, Default)]
pub(super) struct DescriptionPublishers {
    publishers: HashMap<Source, DescriptionPublisher>,
    /// Counts per robot, per topic, and of publishers that the graph has not shown yet. They keep
    /// the cost of one more description independent of the number of publishers.
    by_key: HashMap<String, usize>,
    by_topic: HashMap<Arc<str>, usize>,
    unseen: usize,
}

impl DescriptionPublishers {
    /// Records that a publisher described a robot.
    ///
    /// Returns whether it described another robot before. A latched publisher keeps only its last
    /// message, so it no longer describes that one to late subscribers.
    pub(super) fn record(
        &mut self,
        id: PublisherId,
        topic: &Arc<str>,
        key: &str,
        now: Instant,
    ) -> bool {
        let source = Source::new(id, key);
        if matches!(source, Source::Of(_)) && !self.publishers.contains_key(&source) {
            self.make_room();
        }
        let publisher = self.publishers.entry(source).or_insert_with(|| {
            *self.by_topic.entry(topic.clone()).or_default() += 1;
            self.unseen += 1;
            DescriptionPublisher {
                topic: topic.clone(),
                keys: BTreeSet::new(),
                is_seen: false,
                heard: now,
            }
        });
        publisher.heard = now;
        if publisher.keys.contains(key) {
            return false;
        }
        let before = std::mem::replace(&mut publisher.keys, BTreeSet::from([key.to_owned()]));
        *self.by_key.entry(key.to_owned()).or_default() += 1;
        before
            .iter()
            .for_each(|key| decrement(&mut self.by_key, key));
        !before.is_empty()
    }

    /// Records that the description under the key `expected` became the robot with this key, unless
    /// the publisher describes another robot by now.
    pub(super) fn record_key(&mut self, id: PublisherId, expected: &str, key: &str) {
        if let Some(publisher) = self.publishers.get_mut(&Source::new(id, expected))
            && publisher.keys.contains(expected)
            && !publisher.keys.contains(key)
        {
            publisher.keys.insert(key.to_owned());
            *self.by_key.entry(key.to_owned()).or_default() += 1;
        }
    }

    /// Forgets publishers that have left. `publishers` returns those of a topic in the graph, with
    /// `None` for each that has no identity.
    pub(super) fn update<'a>(
        &mut self,
        publishers: impl Fn(&str) -> &'a [Option<PublisherId>],
        now: Instant,
    ) {
        let mut present: HashMap<Arc<str>, Present> = HashMap::new();
        for topic in self.by_topic.keys() {
            let listed = publishers(topic);
            let known = listed.iter().flatten().copied().collect();
            let unknown = listed.iter().filter(|id| id.is_none()).count();
            present.insert(
                topic.clone(),
                Present {
                    known,
                    unknown,
                    heard: Vec::new(),
                },
            );
        }
        for (id, publisher) in &self.publishers {
            if let Some(present) = present.get_mut(&publisher.topic)
                && !id.is_in(&present.known)
            {
                present.heard.push(publisher.heard);
            }
        }
        for present in present.values_mut() {
            present.heard.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.forget_if(|id, publisher| {
            let Some(present) = present.get(&publisher.topic) else {
                return false;
            };
            // A publisher without an identity may be this one, if none of the others is newer.
            let is_among_unknown = present
                .unknown
                .checked_sub(1)
                .and_then(|last| present.heard.get(last).or(present.heard.last()))
                .is_some_and(|last| publisher.heard >= *last);
            if id.is_in(&present.known) || is_among_unknown {
                publisher.is_seen = true;
                return false;
            }
            if let Some(newest) = present.heard.first().filter(|_| present.unknown > 0) {
                // Until discovery has caught up with the newest, there may be one more.
                publisher.is_seen = false;
                return now.saturating_duration_since(*newest) >= PATIENCE;
            }
            publisher.is_seen || now.saturating_duration_since(publisher.heard) >= PATIENCE
        });
    }

    /// Forgets the publisher received from the longest time ago if there are too many without an
    /// identity: one that invents names is as many as its robots.
    fn make_room(&mut self) {
        if self.publishers.len() >= MAX_UNIDENTIFIED
            && let Some(oldest) = self.publishers.values().map(|p| p.heard).min()
        {
            self.forget_if(|_, publisher| publisher.heard == oldest);
        }
    }

    /// Forgets all publishers of a topic.
    pub(super) fn forget(&mut self, topic: &str) {
        if self.by_topic.contains_key(topic) {
            self.forget_if(|_, publisher| *publisher.topic == *topic);
        }
    }

    fn forget_if(&mut self, mut is_gone: impl FnMut(&Source, &mut DescriptionPublisher) -> bool) {
        let Self {
            publishers,
            by_key,
            by_topic,
            unseen,
        } = self;
        publishers.retain(|id, publisher| {
            let is_gone = is_gone(id, publisher);
            if is_gone {
                publisher.keys.iter().for_each(|key| decrement(by_key, key));
                decrement(by_topic, &publisher.topic);
            }
            !is_gone
        });
        *unseen = publishers
            .values()
            .filter(|publisher| !publisher.is_seen)
            .count();
    }

    /// Returns the keys of the robots with a publisher.
    pub(super) fn keys(&self) -> BTreeSet<&str> {
        self.by_key.keys().map(String::as_str).collect()
    }

    /// Returns whether a present publisher of a topic was received from.
    pub(super) fn is_heard(&self, topic: &str) -> bool {
        self.by_topic.contains_key(topic)
    }

    /// Returns the number of publishers that describe a robot.
    pub(super) fn count(&self, key: &str) -> usize {
        self.by_key.get(key).copied().unwrap_or_default()
    }

    /// Returns the numbers of publishers, robots and topics.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 3] {
        [
            self.publishers.len(),
            self.by_key.len(),
            self.by_topic.len(),
        ]
    }

    /// Returns whether some publishers have not appeared in the graph yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.unseen > 0
    }
}

fn decrement<K: std::borrow::Borrow<Q> + std::hash::Hash + Eq, Q: std::hash::Hash + Eq + ?Sized>(
    counts: &mut HashMap<K, usize>,
    key: &Q,
) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: [PublisherId; 2] = [PublisherId([1; 16]), PublisherId([2; 16])];

    #[test]
    fn a_publisher_that_leaves_the_graph_is_gone() {
        let (mut publishers, topic, now) = (
            DescriptionPublishers::default(),
            Arc::from("/a"),
            Instant::now(),
        );
        publishers.record(WHO[0], &topic, "arm", now);
        publishers.record(WHO[1], &topic, "arm", now);
        // Discovery lags behind.
        publishers.update(|_| &[], now);
        assert!(publishers.count("arm") == 2 && publishers.is_waiting());
        publishers.update(|_| &[Some(WHO[0]), Some(WHO[1])], now);
        assert!(!publishers.is_waiting());
        publishers.update(|_| &[Some(WHO[1])], now);
        assert_eq!(
            (publishers.count("arm"), publishers.keys()),
            (1, ["arm"].into())
        );
        publishers.update(|_| &[], now);
        assert!(publishers.keys().is_empty());
    }

    #[test]
    fn a_publisher_describes_only_its_latest_robot() {
        let (mut publishers, topic, now) = (
            DescriptionPublishers::default(),
            Arc::from("/a"),
            Instant::now(),
        );
        assert!(!publishers.record(WHO[0], &topic, "my", now));
        // Its asset has another name; the next messages arrive under either.
        publishers.record_key(WHO[0], "my", "arm");
        assert!(
            !publishers.record(WHO[0], &topic, "my", now)
                && !publishers.record(WHO[0], &topic, "arm", now)
        );
        assert_eq!(publishers.keys(), ["arm", "my"].into());
        publishers.record(WHO[1], &topic, "arm", now);
        assert!(publishers.record(WHO[0], &topic, "dog", now));
        assert_eq!(
            (publishers.keys(), publishers.count("arm")),
            (["arm", "dog"].into(), 1)
        );
        // The last conversion under the previous name completes.
        publishers.record_key(WHO[0], "my", "arm");
        assert_eq!(publishers.count("arm"), 1);
    }

    #[test]
    fn publishers_missing_from_the_graph_expire_unless_anonymous() {
        let (mut publishers, now) = (DescriptionPublishers::default(), Instant::now());
        publishers.record(WHO[0], &"/a".into(), "arm", now);
        publishers.record(WHO[1], &"/b".into(), "dog", now);
        let graph = |topic: &str| if topic == "/b" { &[None][..] } else { &[] };
        publishers.update(graph, now + PATIENCE / 2);
        assert_eq!(publishers.keys(), ["arm", "dog"].into());
        publishers.update(graph, now + PATIENCE);
        assert_eq!(publishers.keys(), ["dog"].into());
        publishers.forget("/b");
        assert!(publishers.keys().is_empty());
    }

    #[test]
    fn an_anonymous_publisher_that_is_replaced_is_gone() {
        let (mut publishers, topic, now) = (
            DescriptionPublishers::default(),
            Arc::from("/a"),
            Instant::now(),
        );
        publishers.record(WHO[0], &topic, "arm", now);
        publishers.update(|_| &[None], now);
        let later = now + Duration::from_secs(60);
        publishers.record(WHO[1], &topic, "dog", later);
        // There may be two, of which discovery has found one.
        publishers.update(|_| &[None], later);
        assert!(publishers.keys() == ["arm", "dog"].into() && publishers.is_waiting());
        publishers.update(|_| &[None, None], later + PATIENCE);
        assert!(publishers.keys() == ["arm", "dog"].into() && !publishers.is_waiting());
        publishers.update(|_| &[None], later + PATIENCE);
        assert!(publishers.keys() == ["dog"].into() && !publishers.is_waiting());
    }

    #[test]
    fn robots_stand_for_publishers_without_identity() {
        let (mut publishers, topic, now) = (
            DescriptionPublishers::default(),
            Arc::from("/a"),
            Instant::now(),
        );
        let record = |publishers: &mut DescriptionPublishers, key: &str, seconds: u64| -> bool {
            let now = now + Duration::from_secs(seconds);
            publishers.record(PublisherId::UNKNOWN, &topic, key, now)
        };
        assert!(!record(&mut publishers, "my", 0));
        publishers.record_key(PublisherId::UNKNOWN, "my", "arm");
        publishers.update(|_| &[None], now);
        assert!(!record(&mut publishers, "dog", 60));
        let later = now + Duration::from_secs(60);
        publishers.update(|_| &[None, None], later + PATIENCE);
        assert_eq!(publishers.keys(), ["arm", "dog", "my"].into());
        publishers.update(|_| &[None], later + PATIENCE);
        assert_eq!(publishers.keys(), ["dog"].into());
        for n in 0..2 * MAX_UNIDENTIFIED {
            record(&mut publishers, &format!("r{n}"), 100 + n as u64);
        }
        assert_eq!(publishers.sizes(), [MAX_UNIDENTIFIED, MAX_UNIDENTIFIED, 1]);
    }

    #[test]
    fn departed_publishers_leave_no_state() {
        let (mut publishers, now) = (DescriptionPublishers::default(), Instant::now());
        for n in 0..10_000_u32 {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&n.to_le_bytes());
            let topic = format!("/r{n}/robot_description").into();
            publishers.record(PublisherId(id), &topic, &format!("r{n}"), now);
            publishers.record(PublisherId(id), &topic, &format!("s{n}"), now);
            publishers.record_key(PublisherId(id), &format!("s{n}"), &format!("t{n}"));
            publishers.forget(&topic);
        }
        publishers.update(|_| &[], now);
        let DescriptionPublishers {
            publishers,
            by_key,
            by_topic,
            unseen,
        } = publishers;
        assert_eq!(
            (publishers.len(), by_key.len(), by_topic.len(), unseen),
            (0, 0, 0, 0)
        );
    }
}
