//! Who describes which robot, and whether they are still there.
//!
//! A publisher counts as gone once the graph has shown it and shows it no more, or has not shown it
//! for long. It knows no transport.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use urdf_usd_ros::PublisherId;

/// How long a publisher that was heard may be missing in the graph before it ever was there:
/// discovery may lag behind.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct DescriptionPublisher {
    topic: Arc<str>,
    /// The robot that it described last: the keys under which it was expected and found.
    keys: BTreeSet<String>,
    /// Whether the graph has shown it.
    is_seen: bool,
    heard: Instant,
}

/// The publishers of descriptions that were heard.
#[derive(Debug, Default)]
pub(super) struct DescriptionPublishers {
    publishers: HashMap<PublisherId, DescriptionPublisher>,
    /// How many describe each robot, speak on each topic, and were not seen yet: one more
    /// description costs the same however many were heard before.
    by_key: HashMap<String, usize>,
    by_topic: HashMap<Arc<str>, usize>,
    unseen: usize,
}

impl DescriptionPublishers {
    /// A publisher described a robot. It has described another one before if this is true, and
    /// describes that no more: who comes later hears only of this one.
    pub(super) fn record(
        &mut self,
        who: PublisherId,
        topic: &Arc<str>,
        key: &str,
        now: Instant,
    ) -> bool {
        let publisher = self.publishers.entry(who).or_insert_with(|| {
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
            .for_each(|key| one_less(&mut self.by_key, key));
        !before.is_empty()
    }

    /// What a publisher described as `expected` turned out to be the robot with this key. It may
    /// describe another one by now.
    pub(super) fn meant(&mut self, who: PublisherId, expected: &str, key: &str) {
        if let Some(publisher) = self.publishers.get_mut(&who)
            && publisher.keys.contains(expected)
            && !publisher.keys.contains(key)
        {
            publisher.keys.insert(key.to_owned());
            *self.by_key.entry(key.to_owned()).or_default() += 1;
        }
    }

    /// Forgets those that are gone. `publishers`: who publishes a topic, `None` for publishers that
    /// can't be told apart.
    pub(super) fn look<'a>(
        &mut self,
        publishers: impl Fn(&str) -> &'a [Option<PublisherId>],
        now: Instant,
    ) {
        let mut there: HashMap<Arc<str>, HashSet<Option<PublisherId>>> = HashMap::new();
        for topic in self.by_topic.keys() {
            there.insert(topic.clone(), publishers(topic).iter().copied().collect());
        }
        self.forget_if(|who, publisher| {
            let there = there.get(&publisher.topic);
            if there.is_some_and(|there| there.contains(&Some(*who)) || there.contains(&None)) {
                publisher.is_seen = true;
                return false;
            }
            publisher.is_seen || now.saturating_duration_since(publisher.heard) >= PATIENCE
        });
    }

    /// Forgets those of a topic.
    pub(super) fn forget(&mut self, topic: &str) {
        if self.by_topic.contains_key(topic) {
            self.forget_if(|_, publisher| *publisher.topic == *topic);
        }
    }

    fn forget_if(
        &mut self,
        mut is_gone: impl FnMut(&PublisherId, &mut DescriptionPublisher) -> bool,
    ) {
        let Self {
            publishers,
            by_key,
            by_topic,
            unseen,
        } = self;
        publishers.retain(|who, publisher| {
            let is_gone = is_gone(who, publisher);
            if is_gone {
                publisher.keys.iter().for_each(|key| one_less(by_key, key));
                one_less(by_topic, &publisher.topic);
            }
            !is_gone
        });
        *unseen = publishers
            .values()
            .filter(|publisher| !publisher.is_seen)
            .count();
    }

    /// The keys of the robots that somebody describes.
    pub(super) fn keys(&self) -> BTreeSet<&str> {
        self.by_key.keys().map(String::as_str).collect()
    }

    /// Whether anybody who is there was heard on a topic.
    pub(super) fn is_heard(&self, topic: &str) -> bool {
        self.by_topic.contains_key(topic)
    }

    /// How many describe a robot.
    pub(super) fn count(&self, key: &str) -> usize {
        self.by_key.get(key).copied().unwrap_or_default()
    }

    /// How many there are, and how many robots and topics they speak of.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 3] {
        [
            self.publishers.len(),
            self.by_key.len(),
            self.by_topic.len(),
        ]
    }

    /// Whether some may yet turn out to be gone.
    pub(super) fn is_waiting(&self) -> bool {
        self.unseen > 0
    }
}

fn one_less<K: std::borrow::Borrow<Q> + std::hash::Hash + Eq, Q: std::hash::Hash + Eq + ?Sized>(
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
    fn who_was_there_and_is_not_is_gone() {
        let (mut publishers, topic, now) = (
            DescriptionPublishers::default(),
            Arc::from("/a"),
            Instant::now(),
        );
        publishers.record(WHO[0], &topic, "arm", now);
        publishers.record(WHO[1], &topic, "arm", now);
        // Discovery lags behind.
        publishers.look(|_| &[], now);
        assert!(publishers.count("arm") == 2 && publishers.is_waiting());
        publishers.look(|_| &[Some(WHO[0]), Some(WHO[1])], now);
        assert!(!publishers.is_waiting());
        publishers.look(|_| &[Some(WHO[1])], now);
        assert_eq!(
            (publishers.count("arm"), publishers.keys()),
            (1, ["arm"].into())
        );
        publishers.look(|_| &[], now);
        assert!(publishers.keys().is_empty());
    }

    #[test]
    fn who_describes_another_robot_describes_the_first_no_more() {
        let (mut publishers, topic, now) = (
            DescriptionPublishers::default(),
            Arc::from("/a"),
            Instant::now(),
        );
        assert!(!publishers.record(WHO[0], &topic, "my", now));
        // Its asset is called otherwise, and so is what is heard next.
        publishers.meant(WHO[0], "my", "arm");
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
        // The last conversion of what it was called before comes to its end.
        publishers.meant(WHO[0], "my", "arm");
        assert_eq!(publishers.count("arm"), 1);
    }

    #[test]
    fn who_never_shows_up_is_gone_in_the_end_and_who_cannot_be_told_apart_stays() {
        let (mut publishers, now) = (DescriptionPublishers::default(), Instant::now());
        publishers.record(WHO[0], &"/a".into(), "arm", now);
        publishers.record(WHO[1], &"/b".into(), "dog", now);
        let graph = |topic: &str| if topic == "/b" { &[None][..] } else { &[] };
        publishers.look(graph, now + PATIENCE / 2);
        assert_eq!(publishers.keys(), ["arm", "dog"].into());
        publishers.look(graph, now + PATIENCE);
        assert_eq!(publishers.keys(), ["dog"].into());
        publishers.forget("/b");
        assert!(publishers.keys().is_empty());
    }

    #[test]
    fn who_comes_and_goes_without_end_leaves_nothing() {
        let (mut publishers, now) = (DescriptionPublishers::default(), Instant::now());
        for n in 0..10_000_u32 {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&n.to_le_bytes());
            let topic = format!("/r{n}/robot_description").into();
            publishers.record(PublisherId(id), &topic, &format!("r{n}"), now);
            publishers.record(PublisherId(id), &topic, &format!("s{n}"), now);
            publishers.meant(PublisherId(id), &format!("s{n}"), &format!("t{n}"));
            publishers.forget(&topic);
        }
        publishers.look(|_| &[], now);
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
