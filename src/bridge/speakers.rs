//! Who describes which robot, and whether they are still there.
//!
//! A publisher counts as gone once the graph has shown it and shows it no more, or has not shown it for long. It knows no transport.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ros::PublisherId;

/// How long a publisher that was heard may be missing in the graph before it ever was there: discovery may lag behind.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Speaker {
    topic: Arc<str>,
    /// The robot that it described last: the keys under which it was expected and found.
    keys: BTreeSet<String>,
    /// Whether the graph has shown it.
    is_seen: bool,
    heard: Instant,
}

/// The publishers of descriptions that were heard.
#[derive(Debug, Default)]
pub(super) struct Speakers {
    speakers: HashMap<PublisherId, Speaker>,
    /// How many describe each robot, speak on each topic, and were not seen yet: one more description costs the same however many
    /// were heard before.
    by_key: HashMap<String, usize>,
    by_topic: HashMap<Arc<str>, usize>,
    unseen: usize,
}

impl Speakers {
    /// A publisher described a robot. It has described another one before if this is true, and describes that no more: who comes later
    /// hears only of this one.
    pub(super) fn spoke(&mut self, who: PublisherId, topic: &Arc<str>, key: &str, now: Instant) -> bool {
        let speaker = self.speakers.entry(who).or_insert_with(|| {
            *self.by_topic.entry(topic.clone()).or_default() += 1;
            self.unseen += 1;
            Speaker { topic: topic.clone(), keys: BTreeSet::new(), is_seen: false, heard: now }
        });
        speaker.heard = now;
        if speaker.keys.contains(key) {
            return false;
        }
        let before = std::mem::replace(&mut speaker.keys, BTreeSet::from([key.to_owned()]));
        *self.by_key.entry(key.to_owned()).or_default() += 1;
        before.iter().for_each(|key| one_less(&mut self.by_key, key));
        !before.is_empty()
    }

    /// What a publisher described as `expected` turned out to be the robot with this key. It may describe another one by now.
    pub(super) fn meant(&mut self, who: PublisherId, expected: &str, key: &str) {
        if let Some(speaker) = self.speakers.get_mut(&who)
            && speaker.keys.contains(expected)
            && !speaker.keys.contains(key)
        {
            speaker.keys.insert(key.to_owned());
            *self.by_key.entry(key.to_owned()).or_default() += 1;
        }
    }

    /// Forgets those that are gone. `publishers`: who publishes a topic, `None` for publishers that can't be told apart.
    pub(super) fn look<'a>(&mut self, publishers: impl Fn(&str) -> &'a [Option<PublisherId>], now: Instant) {
        let mut there: HashMap<Arc<str>, HashSet<Option<PublisherId>>> = HashMap::new();
        for topic in self.by_topic.keys() {
            there.insert(topic.clone(), publishers(topic).iter().copied().collect());
        }
        self.forget_if(|who, speaker| {
            let there = there.get(&speaker.topic);
            if there.is_some_and(|there| there.contains(&Some(*who)) || there.contains(&None)) {
                speaker.is_seen = true;
                return false;
            }
            speaker.is_seen || now.saturating_duration_since(speaker.heard) >= PATIENCE
        });
    }

    /// Forgets those of a topic.
    pub(super) fn forget(&mut self, topic: &str) {
        if self.by_topic.contains_key(topic) {
            self.forget_if(|_, speaker| *speaker.topic == *topic);
        }
    }

    fn forget_if(&mut self, mut is_gone: impl FnMut(&PublisherId, &mut Speaker) -> bool) {
        let Self { speakers, by_key, by_topic, unseen } = self;
        speakers.retain(|who, speaker| {
            let is_gone = is_gone(who, speaker);
            if is_gone {
                speaker.keys.iter().for_each(|key| one_less(by_key, key));
                one_less(by_topic, &speaker.topic);
            }
            !is_gone
        });
        *unseen = speakers.values().filter(|speaker| !speaker.is_seen).count();
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
        [self.speakers.len(), self.by_key.len(), self.by_topic.len()]
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
        let (mut speakers, topic, now) = (Speakers::default(), Arc::from("/a"), Instant::now());
        speakers.spoke(WHO[0], &topic, "arm", now);
        speakers.spoke(WHO[1], &topic, "arm", now);
        // Discovery lags behind.
        speakers.look(|_| &[], now);
        assert!(speakers.count("arm") == 2 && speakers.is_waiting());
        speakers.look(|_| &[Some(WHO[0]), Some(WHO[1])], now);
        assert!(!speakers.is_waiting());
        speakers.look(|_| &[Some(WHO[1])], now);
        assert_eq!((speakers.count("arm"), speakers.keys()), (1, ["arm"].into()));
        speakers.look(|_| &[], now);
        assert!(speakers.keys().is_empty());
    }

    #[test]
    fn who_describes_another_robot_describes_the_first_no_more() {
        let (mut speakers, topic, now) = (Speakers::default(), Arc::from("/a"), Instant::now());
        assert!(!speakers.spoke(WHO[0], &topic, "my", now));
        // Its asset is called otherwise, and so is what is heard next.
        speakers.meant(WHO[0], "my", "arm");
        assert!(!speakers.spoke(WHO[0], &topic, "my", now) && !speakers.spoke(WHO[0], &topic, "arm", now));
        assert_eq!(speakers.keys(), ["arm", "my"].into());
        speakers.spoke(WHO[1], &topic, "arm", now);
        assert!(speakers.spoke(WHO[0], &topic, "dog", now));
        assert_eq!((speakers.keys(), speakers.count("arm")), (["arm", "dog"].into(), 1));
        // The last conversion of what it was called before comes to its end.
        speakers.meant(WHO[0], "my", "arm");
        assert_eq!(speakers.count("arm"), 1);
    }

    #[test]
    fn who_never_shows_up_is_gone_in_the_end_and_who_cannot_be_told_apart_stays() {
        let (mut speakers, now) = (Speakers::default(), Instant::now());
        speakers.spoke(WHO[0], &"/a".into(), "arm", now);
        speakers.spoke(WHO[1], &"/b".into(), "dog", now);
        let graph = |topic: &str| if topic == "/b" { &[None][..] } else { &[] };
        speakers.look(graph, now + PATIENCE / 2);
        assert_eq!(speakers.keys(), ["arm", "dog"].into());
        speakers.look(graph, now + PATIENCE);
        assert_eq!(speakers.keys(), ["dog"].into());
        speakers.forget("/b");
        assert!(speakers.keys().is_empty());
    }

    #[test]
    fn who_comes_and_goes_without_end_leaves_nothing() {
        let (mut speakers, now) = (Speakers::default(), Instant::now());
        for n in 0..10_000_u32 {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&n.to_le_bytes());
            let topic = format!("/r{n}/robot_description").into();
            speakers.spoke(PublisherId(id), &topic, &format!("r{n}"), now);
            speakers.spoke(PublisherId(id), &topic, &format!("s{n}"), now);
            speakers.meant(PublisherId(id), &format!("s{n}"), &format!("t{n}"));
            speakers.forget(&topic);
        }
        speakers.look(|_| &[], now);
        let Speakers { speakers, by_key, by_topic, unseen } = speakers;
        assert_eq!((speakers.len(), by_key.len(), by_topic.len(), unseen), (0, 0, 0, 0));
    }
}
