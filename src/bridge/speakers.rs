//! Who describes which robot, and whether they are still there.
//!
//! A publisher counts as gone once the graph has shown it and shows it no more, or has not shown it for long. It knows no transport.

use std::collections::{BTreeSet, HashMap};
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
pub(super) struct Speakers(HashMap<PublisherId, Speaker>);

impl Speakers {
    /// A publisher described a robot. It has described another one before if this is true, and describes that no more: who comes later
    /// hears only of this one.
    pub(super) fn spoke(&mut self, who: PublisherId, topic: &Arc<str>, key: &str, now: Instant) -> bool {
        let speaker = self.0.entry(who).or_insert_with(|| Speaker {
            topic: topic.clone(),
            keys: BTreeSet::new(),
            is_seen: false,
            heard: now,
        });
        speaker.heard = now;
        if speaker.keys.contains(key) {
            return false;
        }
        let is_renamed = !speaker.keys.is_empty();
        speaker.keys = BTreeSet::from([key.to_owned()]);
        is_renamed
    }

    /// What a publisher described as `expected` turned out to be the robot with this key. It may describe another one by now.
    pub(super) fn meant(&mut self, who: PublisherId, expected: &str, key: &str) {
        if let Some(speaker) = self.0.get_mut(&who)
            && speaker.keys.contains(expected)
            && !speaker.keys.contains(key)
        {
            speaker.keys.insert(key.to_owned());
        }
    }

    /// Forgets those that are gone. `publishers`: who publishes a topic, `None` for publishers that can't be told apart.
    pub(super) fn look<'a>(&mut self, publishers: impl Fn(&str) -> &'a [Option<PublisherId>], now: Instant) {
        self.0.retain(|who, speaker| {
            let there = publishers(&speaker.topic);
            if there.iter().any(|id| id.is_none_or(|id| id == *who)) {
                speaker.is_seen = true;
                return true;
            }
            !speaker.is_seen && now.saturating_duration_since(speaker.heard) < PATIENCE
        });
    }

    /// Forgets those of a topic.
    pub(super) fn forget(&mut self, topic: &str) {
        self.0.retain(|_, speaker| *speaker.topic != *topic);
    }

    /// The keys of the robots that somebody describes.
    pub(super) fn keys(&self) -> BTreeSet<&str> {
        self.0.values().flat_map(|speaker| speaker.keys.iter().map(String::as_str)).collect()
    }

    /// Whether anybody who is there was heard on a topic.
    pub(super) fn is_heard(&self, topic: &str) -> bool {
        self.0.values().any(|speaker| *speaker.topic == *topic)
    }

    /// How many describe a robot.
    pub(super) fn count(&self, key: &str) -> usize {
        self.0.values().filter(|speaker| speaker.keys.contains(key)).count()
    }

    /// Whether some may yet turn out to be gone.
    pub(super) fn is_waiting(&self) -> bool {
        self.0.values().any(|speaker| !speaker.is_seen)
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
}
