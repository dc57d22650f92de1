//! The live TF tree: what was heard of every frame, when, and from whom.
//!
//! Its memory is bounded by the number of frames.

#![allow(
    clippy::indexing_slicing,
    reason = "a frame is numbered when it is first heard of; `Tree::make_room` renumbers all of them at once"
)]

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use nalgebra::{Quaternion, Translation3, UnitQuaternion};

use crate::input::{PublisherId, Transform};
use crate::stream::{StampOrder, Stream};
use urdf_usd_robot::Pose;

/// The most frames that are kept: beyond it, someone is making up names.
const MOST_FRAMES: usize = 50_000;
/// Of how many publishers that left that is remembered.
const MOST_LEFT: usize = 1000;
/// How long a publisher that was heard may not be there before it ever was: the ROS graph may lag
/// behind.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest name of a frame, in bytes.
const LONGEST_NAME: usize = 1024;
/// How long a frame on `/tf` was not heard that makes room where there are too many.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// How long to wait until room is made once more.
const MADE_ROOM: Duration = Duration::from_secs(10);
/// How many moments of a moving frame are kept.
const MOST_MOMENTS: usize = 32;
/// How far apart they are at least, by their stamps, in ns: so they reach back for as long as joint
/// states may be late.
const SPACING: i64 = 100_000_000;
/// Which of the two topics a transform came on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// `/tf`: frames that move.
    Moving,
    /// `/tf_static`: frames that do not.
    Static,
}

/// A frame's transform to its parent.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The parent frame.
    pub parent: String,
    /// The frame's pose in the parent.
    pub pose: Pose,
    /// When it holds, in ns of the publisher's clock.
    pub stamp: i64,
    /// When it was heard, by ours.
    pub heard: Instant,
    parent_index: usize,
    stream: Stream,
    /// What the publisher that spoke before said last.
    other: Option<(String, Moment)>,
    /// Earlier moments under this parent, by stamp, not closer than [`SPACING`]; of static frames
    /// none.
    moments: VecDeque<Moment>,
}

/// A frame's pose in its parent at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    /// Nanoseconds of the publisher's clock.
    pub stamp: i64,
    /// The pose.
    pub pose: Pose,
    /// When it was heard.
    pub heard: Instant,
}

impl Edge {
    /// The last moment, then earlier ones, the newest first.
    pub(crate) fn moments(&self) -> impl Iterator<Item = Moment> {
        let last = Moment {
            stamp: self.stamp,
            pose: self.pose,
            heard: self.heard,
        };
        std::iter::once(last).chain(
            self.moments
                .iter()
                .rev()
                .copied()
                .filter(move |moment| moment.stamp != last.stamp),
        )
    }

    /// Who said it.
    pub(crate) fn publisher(&self) -> PublisherId {
        self.stream.publisher()
    }

    /// Whether a moment of it may be compared with joint states: not while its publishers may have
    /// begun anew.
    pub(crate) fn is_calm(&self, moment: &Moment) -> bool {
        self.stream.is_calm(moment.heard)
    }

    /// What another publisher says of the same frame, its parent and the moment, if the two took
    /// turns within `timeout`.
    pub(crate) fn rival(&self, now: Instant, timeout: Duration) -> Option<(&str, Moment)> {
        let (parent, moment) = self.other.as_ref()?;
        self.stream
            .take_turns(now, timeout)
            .then_some((parent.as_str(), *moment))
    }
}

impl Moment {
    /// The same, in what the parent is in at `above`.
    pub(crate) fn under(self, above: &Pose) -> Self {
        Self {
            pose: above * self.pose,
            ..self
        }
    }
}

/// What was heard of a frame on either topic.
#[derive(Clone, Debug, Default)]
pub struct TreeFrame {
    name: String,
    moving: Option<Edge>,
    fixed: Option<Edge>,
    /// Frames under it, by index.
    children: Vec<usize>,
}

impl TreeFrame {
    /// The last transform on a topic.
    pub fn on(&self, topic: Topic) -> Option<&Edge> {
        match topic {
            Topic::Moving => self.moving.as_ref(),
            Topic::Static => self.fixed.as_ref(),
        }
    }

    /// The last transform of all, and its topic: a moving one counts while it is heard, and where
    /// there is no other.
    pub fn newest(&self) -> Option<(Topic, &Edge)> {
        match (&self.moving, &self.fixed) {
            (Some(moving), Some(fixed)) if fixed.heard > moving.heard => {
                Some((Topic::Static, fixed))
            }
            (Some(moving), _) => Some((Topic::Moving, moving)),
            (None, fixed) => fixed.as_ref().map(|fixed| (Topic::Static, fixed)),
        }
    }

    fn hangs_on(&self, parent: usize) -> bool {
        [&self.moving, &self.fixed]
            .into_iter()
            .flatten()
            .any(|edge| edge.parent_index == parent)
    }
}

/// The live TF tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Every frame named, as a parent or as a child.
    frames: Vec<TreeFrame>,
    index: HashMap<String, usize, RandomState>,
    moving_topic: String,
    static_topic: String,
    /// Publishers that were known to be there.
    present: HashSet<PublisherId>,
    /// Publishers of `/tf_static` that were heard, and when last, but not known to be there so far:
    /// the news of them may lag behind, or one was there only between two looks.
    unseen: HashMap<PublisherId, Instant>,
    /// Whether anybody tells who is there.
    is_told: bool,
    /// Publishers that were there and left, a few: a message of theirs may still wait to be read.
    left: HashSet<PublisherId>,
    /// Whether such a message was read since.
    is_late: bool,
    /// When room was made last.
    made_room: Option<Instant>,
    /// Whether a frame was left out since there was no room.
    is_full: bool,
}

impl Tree {
    /// An empty tree that is heard on topics of these names.
    pub(crate) fn new(moving_topic: impl Into<String>, static_topic: impl Into<String>) -> Self {
        Self {
            frames: Vec::new(),
            index: HashMap::default(),
            moving_topic: moving_topic.into(),
            static_topic: static_topic.into(),
            present: HashSet::new(),
            unseen: HashMap::new(),
            is_told: false,
            left: HashSet::new(),
            is_late: false,
            made_room: None,
            is_full: false,
        }
    }

    /// The name of a topic.
    pub(crate) fn name(&self, topic: Topic) -> &str {
        match topic {
            Topic::Moving => &self.moving_topic,
            Topic::Static => &self.static_topic,
        }
    }

    /// Takes in what was heard on a topic, and tells whether a publisher's clock went back: then
    /// moments heard before say nothing about what comes ([`Tree::forget_moments`]). Transforms
    /// that mean nothing (no name, a frame in itself, not a number, no rotation) are passed over,
    /// as tf2 does.
    pub(crate) fn add<'a, T>(
        &mut self,
        topic: Topic,
        transforms: T,
        publisher: PublisherId,
        heard: Instant,
    ) -> bool
    where
        T: ExactSizeIterator<Item = Transform<'a>>,
    {
        // Names that come and go, as perception makes them, must not end hearing of new ones after
        // a year.
        if self.frames.len() + 2 * transforms.len() > MOST_FRAMES
            && self
                .made_room
                .is_none_or(|at| heard.saturating_duration_since(at) >= MADE_ROOM)
        {
            self.make_room(heard);
        }
        if topic == Topic::Static {
            self.note_static_publisher(publisher, heard);
        }
        let mut went_back = false;
        for transform in transforms {
            let (parent, child) = (plain(transform.parent), plain(transform.child));
            let Some(pose) = pose(&transform)
                .filter(|_| !child.is_empty() && !parent.is_empty() && child != parent)
            else {
                continue;
            };
            let Some(index) = self.intern(child) else {
                continue;
            };
            let stamp = transform.stamp;
            let slot = match topic {
                Topic::Moving => &mut self.frames[index].moving,
                Topic::Static => &mut self.frames[index].fixed,
            };
            match slot {
                Some(edge) if edge.parent == parent => {
                    went_back |= edge.update(topic, pose, stamp, publisher, heard);
                }
                _ => self.hang(
                    topic,
                    index,
                    parent,
                    Moment { stamp, pose, heard },
                    publisher,
                ),
            }
        }
        went_back
    }

    fn note_static_publisher(&mut self, publisher: PublisherId, heard: Instant) {
        if self.left.contains(&publisher) {
            self.is_late = true;
        } else if !self.present.contains(&publisher)
            && (self.unseen.len() < MOST_LEFT || self.unseen.contains_key(&publisher))
        {
            self.unseen.insert(publisher, heard);
        }
    }

    /// A frame is heard under another parent than before, or for the first time.
    fn hang(
        &mut self,
        topic: Topic,
        index: usize,
        parent: &str,
        moment: Moment,
        publisher: PublisherId,
    ) {
        let Some(parent_index) = self.intern(parent) else {
            return;
        };
        let frame = &mut self.frames[index];
        // Not looked for among the children: a map may have tens of thousands.
        let is_child = frame.hangs_on(parent_index);
        let slot = match topic {
            Topic::Moving => &mut frame.moving,
            Topic::Static => &mut frame.fixed,
        };
        let before = slot.take();
        let mut stream = before
            .as_ref()
            .map_or_else(|| Stream::new(publisher, moment.stamp), |edge| edge.stream);
        let mut moments = VecDeque::new();
        if before.is_some() {
            stream.add(publisher, moment.stamp, moment.heard);
        }
        if topic == Topic::Moving && moment.stamp != 0 {
            moments.push_back(moment);
        }
        let was_under = before.as_ref().map(|edge| edge.parent_index);
        let other = before.map(|edge| {
            let last = Moment {
                stamp: edge.stamp,
                pose: edge.pose,
                heard: edge.heard,
            };
            (edge.parent, last)
        });
        let Moment { stamp, pose, heard } = moment;
        let parent = parent.to_owned();
        *slot = Some(Edge {
            parent,
            pose,
            stamp,
            heard,
            parent_index,
            stream,
            other,
            moments,
        });
        if let Some(was_under) = was_under.filter(|&was_under| !frame.hangs_on(was_under)) {
            self.frames[was_under]
                .children
                .retain(|&child| child != index);
        }
        if !is_child {
            self.frames[parent_index].children.push(index);
        }
    }

    fn intern(&mut self, name: &str) -> Option<usize> {
        if let Some(&index) = self.index.get(name) {
            return Some(index);
        }
        if self.frames.len() >= MOST_FRAMES {
            self.is_full = true;
            return None;
        }
        if name.len() > LONGEST_NAME {
            return None;
        }
        self.index.insert(name.to_owned(), self.frames.len());
        self.frames.push(TreeFrame {
            name: name.to_owned(),
            ..TreeFrame::default()
        });
        Some(self.frames.len() - 1)
    }

    /// Forgets frames that were not heard for long, and those that nothing hangs on any more.
    /// Frames on `/tf_static` hold as long as their publishers are there.
    fn make_room(&mut self, now: Instant) {
        self.made_room = Some(now);
        self.is_full = false;
        for frame in &mut self.frames {
            frame
                .moving
                .take_if(|edge| now.saturating_duration_since(edge.heard) >= FORGOTTEN);
            frame.children.clear();
        }
        let mut is_kept = vec![false; self.frames.len()];
        for (index, frame) in self.frames.iter().enumerate() {
            for edge in [&frame.moving, &frame.fixed].into_iter().flatten() {
                (is_kept[index], is_kept[edge.parent_index]) = (true, true);
            }
        }
        let before = is_kept.iter().scan(0, |kept, is_kept| {
            let index = *kept;
            *kept += usize::from(*is_kept);
            Some(index)
        });
        let new_index: Vec<usize> = before.collect();
        let frames = std::mem::take(&mut self.frames);
        self.frames = frames
            .into_iter()
            .zip(&is_kept)
            .filter(|(_, is_kept)| **is_kept)
            .map(|(frame, _)| frame)
            .collect();
        self.index = self
            .frames
            .iter()
            .enumerate()
            .map(|(index, frame)| (frame.name.clone(), index))
            .collect();
        for index in 0..self.frames.len() {
            let frame = &mut self.frames[index];
            let mut parents = Vec::new();
            for edge in [&mut frame.moving, &mut frame.fixed].into_iter().flatten() {
                edge.parent_index = new_index[edge.parent_index];
                parents.push(edge.parent_index);
            }
            parents.dedup();
            parents
                .into_iter()
                .for_each(|parent| self.frames[parent].children.push(index));
        }
    }

    /// Whether frames are left out since there are too many.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Forgets all moments of moving frames but the last of each.
    pub(crate) fn forget_moments(&mut self) {
        for frame in &mut self.frames {
            if let Some(edge) = &mut frame.moving {
                edge.moments.clear();
            }
        }
    }

    /// Whether [`Tree::set_static_publishers`] may have something to forget, though nobody leaves:
    /// something was heard of a publisher after it had left, or of one that is not known to be
    /// there yet.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_late || (self.is_told && !self.unseen.is_empty())
    }

    /// Takes in which publishers of `/tf_static` are there. What one said that has left is
    /// forgotten, as it is for whoever starts to listen now; so is what one said that was not there
    /// for [`PATIENCE`] after it was heard.
    pub(crate) fn set_static_publishers(&mut self, present: &[PublisherId], now: Instant) {
        let present: HashSet<PublisherId> = present.iter().copied().collect();
        let mut gone: Vec<PublisherId> = self.present.difference(&present).copied().collect();
        self.is_told = true;
        self.unseen.retain(|publisher, heard| {
            let is_missed =
                !present.contains(publisher) && now.saturating_duration_since(*heard) >= PATIENCE;
            gone.extend(is_missed.then_some(*publisher));
            !is_missed && !present.contains(publisher)
        });
        if self.left.len() + gone.len() > MOST_LEFT {
            self.left.clear();
        }
        self.left.retain(|publisher| !present.contains(publisher));
        let is_late = std::mem::take(&mut self.is_late);
        if gone.is_empty() && !is_late {
            self.present = present;
            return;
        }
        self.left.extend(gone);
        self.present.clone_from(&present);
        for index in 0..self.frames.len() {
            let frame = &mut self.frames[index];
            let Some(edge) = frame
                .fixed
                .take_if(|edge| self.left.contains(&edge.publisher()))
            else {
                continue;
            };
            if !frame.hangs_on(edge.parent_index) {
                self.frames[edge.parent_index]
                    .children
                    .retain(|&child| child != index);
            }
            // Another that told the same frame before and is still there does not say it again: it
            // is latched.
            let other = edge
                .other
                .zip(edge.stream.other())
                .filter(|(_, other)| present.contains(other));
            if let Some(((parent, moment), other)) = other {
                self.hang(Topic::Static, index, &parent, moment, other);
            }
        }
    }

    /// What was heard of a frame.
    pub fn get(&self, frame: &str) -> Option<&TreeFrame> {
        let heard = &self.frames[*self.index.get(plain(frame))?];
        (heard.moving.is_some() || heard.fixed.is_some()).then_some(heard)
    }

    /// Every frame's last transform on each topic that it was heard on, in no order.
    pub fn edges(&self) -> impl Iterator<Item = (&str, Topic, &Edge)> {
        self.frames.iter().flat_map(|heard| {
            let on = |topic| {
                heard
                    .on(topic)
                    .map(|edge| (heard.name.as_str(), topic, edge))
            };
            [Topic::Moving, Topic::Static].into_iter().filter_map(on)
        })
    }

    /// The frames right under a frame.
    pub fn children(&self, frame: &str) -> impl Iterator<Item = &str> {
        let children = self
            .index
            .get(plain(frame))
            .map_or(&[][..], |&index| &self.frames[index].children);
        children
            .iter()
            .map(|&child| self.frames[child].name.as_str())
    }

    /// Whether a frame is the parent of another.
    pub fn is_parent(&self, frame: &str) -> bool {
        self.children(frame).next().is_some()
    }

    /// Whether nothing was heard yet.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

impl Edge {
    /// Takes in what is said under the same parent; tells whether the publisher's clock went back.
    fn update(
        &mut self,
        topic: Topic,
        pose: Pose,
        stamp: i64,
        publisher: PublisherId,
        heard: Instant,
    ) -> bool {
        if publisher != self.publisher() {
            let last = Moment {
                stamp: self.stamp,
                pose: self.pose,
                heard: self.heard,
            };
            match &mut self.other {
                Some((parent, moment)) => {
                    self.parent.clone_into(parent);
                    *moment = last;
                }
                other => *other = Some((self.parent.clone(), last)),
            }
        }
        (self.pose, self.stamp, self.heard) = (pose, stamp, heard);
        let moment = Moment { stamp, pose, heard };
        let order = self.stream.add(publisher, moment.stamp, heard);
        if topic == Topic::Static || moment.stamp == 0 {
            return false;
        }
        if matches!(order, StampOrder::NewStart | StampOrder::ClockReset) {
            self.moments.clear();
        }
        // One that is late goes without, and of another publisher whose clock is behind: it is the
        // last one all the same.
        let is_next = self
            .moments
            .back()
            .is_none_or(|last| moment.stamp.saturating_sub(last.stamp) >= SPACING);
        if is_next && order != StampOrder::Late {
            if self.moments.len() == MOST_MOMENTS {
                self.moments.pop_front();
            }
            self.moments.push_back(moment);
        }
        order == StampOrder::ClockReset
    }
}

/// A frame's name without the leading slash of ROS 1, which tf2 ignores too.
pub fn plain(frame: &str) -> &str {
    frame.strip_prefix('/').unwrap_or(frame)
}

fn pose(transform: &Transform<'_>) -> Option<Pose> {
    let [x, y, z] = transform.translation;
    let [i, j, k, w] = transform.rotation;
    let quaternion = Quaternion::new(w, i, j, k);
    let norm = quaternion.norm();
    let finite = [x, y, z, norm].iter().all(|v| v.is_finite());
    (finite && norm > 1e-6).then(|| {
        Pose::from_parts(
            Translation3::new(x, y, z),
            UnitQuaternion::from_quaternion(quaternion),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transform along x.
    fn transform<'a>(parent: &'a str, child: &'a str, x: f64) -> Transform<'a> {
        Transform {
            parent,
            child,
            stamp: 0,
            translation: [x, 0.0, 0.0],
            rotation: [0.0, 0.0, 0.0, 1.0],
        }
    }

    fn stamped<'a>(parent: &'a str, child: &'a str, milliseconds: i64) -> Transform<'a> {
        Transform {
            stamp: (7000 + milliseconds) * 1_000_000,
            ..transform(parent, child, 0.0)
        }
    }

    fn add(
        tree: &mut Tree,
        topic: Topic,
        transforms: &[Transform<'_>],
        publisher: PublisherId,
        heard: Instant,
    ) -> bool {
        tree.add(topic, transforms.iter().copied(), publisher, heard)
    }

    fn tree(transforms: &[Transform<'_>]) -> Tree {
        let mut tree = Tree::new("/tf", "/tf_static");
        add(
            &mut tree,
            Topic::Moving,
            transforms,
            PublisherId::default(),
            Instant::now(),
        );
        tree
    }

    #[test]
    fn the_last_transform_of_each_topic_counts() {
        let mut tree = tree(&[
            transform("base", "arm", 1.0),
            transform("/base", "/arm", 2.0),
        ]);
        add(
            &mut tree,
            Topic::Static,
            &[transform("arm", "tool", 3.0)],
            PublisherId([7; 16]),
            Instant::now(),
        );
        let arm = tree
            .get("arm")
            .and_then(|heard| heard.on(Topic::Moving))
            .unwrap();
        assert_eq!((arm.parent.as_str(), arm.pose.translation.x), ("base", 2.0));
        assert!(tree.get("/arm").unwrap().on(Topic::Static).is_none());
        assert_eq!(
            tree.get("tool")
                .unwrap()
                .on(Topic::Static)
                .unwrap()
                .publisher(),
            PublisherId([7; 16])
        );
        assert!(tree.is_parent("base") && tree.is_parent("arm") && !tree.is_parent("tool"));
        assert!(
            tree.get("base").is_none(),
            "no transform names it as its child"
        );
    }

    #[test]
    fn a_frame_can_change_its_parent() {
        let tree = tree(&[
            transform("left", "cup", 0.0),
            transform("right", "cup", 0.0),
        ]);
        assert_eq!(
            tree.get("cup").unwrap().on(Topic::Moving).unwrap().parent,
            "right"
        );
        assert!(!tree.is_parent("left"));
        assert_eq!(tree.children("right").collect::<Vec<_>>(), ["cup"]);
    }

    #[test]
    fn what_means_nothing_is_passed_over() {
        let mut zero = transform("a", "b", 0.0);
        zero.rotation = [0.0; 4];
        let tree = tree(&[
            transform("a", "a", 0.0),
            transform("", "b", 0.0),
            transform("a", "", 0.0),
            transform("a", "b", f64::NAN),
            zero,
        ]);
        assert!(tree.is_empty());
    }

    #[test]
    fn made_up_names_do_not_fill_the_memory() {
        let mut tree = Tree::new("/tf", "/tf_static");
        let names: Vec<String> = (0..MOST_FRAMES + 10).map(|n| format!("f{n}")).collect();
        let many: Vec<_> = names.iter().map(|name| transform("a", name, 0.0)).collect();
        add(
            &mut tree,
            Topic::Moving,
            &many,
            PublisherId::default(),
            Instant::now(),
        );
        assert!(tree.frames.len() == MOST_FRAMES && tree.is_full());
        let long = "x".repeat(LONGEST_NAME + 1);
        let mut tree = Tree::new("/tf", "/tf_static");
        add(
            &mut tree,
            Topic::Moving,
            &[transform("a", &long, 0.0)],
            PublisherId::default(),
            Instant::now(),
        );
        assert!(tree.get(&long).is_none());
    }

    #[test]
    fn names_that_come_and_go_leave_room_for_new_ones() {
        let (mut tree, start) = (Tree::new("/tf", "/tf_static"), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        add(
            &mut tree,
            Topic::Static,
            &[transform("arm", "tool", 3.0)],
            PublisherId::default(),
            start,
        );
        for second in 0..1500 {
            let names: Vec<String> = (0..100).map(|n| format!("seen_{second}_{n}")).collect();
            let mut said: Vec<_> = names
                .iter()
                .map(|name| transform("map", name, 0.0))
                .collect();
            said.push(transform("base", "arm", 1.0));
            add(
                &mut tree,
                Topic::Moving,
                &said,
                PublisherId::default(),
                at(second),
            );
        }
        // 150 000 names in 1500 s: those of ten minutes are there, and what hangs on what.
        assert!(tree.frames.len() <= MOST_FRAMES && tree.index.len() == tree.frames.len());
        assert!(tree.get("seen_1499_99").is_some() && tree.get("seen_0_0").is_none());
        assert_eq!(tree.children("base").collect::<Vec<_>>(), ["arm"]);
        assert_eq!(tree.children("arm").collect::<Vec<_>>(), ["tool"]);
        assert_eq!(
            tree.get("tool")
                .and_then(TreeFrame::newest)
                .map(|(_, edge)| edge.parent.as_str()),
            Some("arm")
        );
        let observed = tree.children("map").count();
        assert!(
            observed == tree.frames.len() - 4,
            "{observed} of {}",
            tree.frames.len()
        );
    }

    #[test]
    fn moments_are_few_and_apart() {
        let mut tree = Tree::new("/tf", "/tf_static");
        for n in 0..10_000 {
            assert!(!add(
                &mut tree,
                Topic::Moving,
                &[stamped("a", "b", 10 * n)],
                PublisherId::default(),
                Instant::now()
            ));
        }
        let moments: Vec<i64> = tree
            .get("b")
            .unwrap()
            .on(Topic::Moving)
            .unwrap()
            .moments()
            .map(|m| m.stamp)
            .collect();
        assert_eq!(moments.len(), MOST_MOMENTS + 1);
        assert!(
            moments
                .windows(2)
                .skip(1)
                .all(|pair| pair[0] - pair[1] >= SPACING)
                && moments[0] > moments[1]
        );
    }

    #[test]
    fn a_clock_that_goes_back_is_told() {
        let mut tree = tree(&[stamped("a", "b", 5000)]);
        let mut say = |at, publisher| {
            add(
                &mut tree,
                Topic::Moving,
                &[stamped("a", "b", at)],
                PublisherId([publisher; 16]),
                Instant::now(),
            )
        };
        assert!(!say(4600, 0), "a little is of this frame only");
        assert!(say(3000, 0));
        assert!(!say(2000, 1), "another one's clock is its own");
        assert!(!say(2000, 1), "the same again");
        assert!(say(1000, 1));
    }

    #[test]
    fn what_a_publisher_that_left_said_for_good_is_forgotten() {
        let (mut tree, now) = (Tree::new("/tf", "/tf_static"), Instant::now());
        let id = |n| PublisherId([n; 16]);
        add(
            &mut tree,
            Topic::Static,
            &[transform("a", "b", 0.0)],
            id(1),
            now,
        );
        add(
            &mut tree,
            Topic::Static,
            &[transform("a", "c", 0.0)],
            id(2),
            now,
        );
        assert!(!tree.is_waiting(), "nobody tells who is there");
        tree.set_static_publishers(&[id(1)], now);
        assert!(
            tree.get("c").is_some() && tree.is_waiting(),
            "it may yet be told of"
        );
        tree.set_static_publishers(&[], now);
        assert!(tree.get("b").is_none() && tree.get("c").is_some());
        assert_eq!(tree.children("a").collect::<Vec<_>>(), ["c"]);
        // It was there only between two looks.
        tree.set_static_publishers(&[], now + PATIENCE);
        assert!(tree.get("c").is_none() && !tree.is_waiting());
        // A message that still waited when it left.
        add(
            &mut tree,
            Topic::Static,
            &[transform("a", "b", 0.0)],
            id(1),
            now,
        );
        assert!(tree.is_waiting());
        tree.set_static_publishers(&[], now);
        assert!(tree.get("b").is_none() && !tree.is_waiting());
        // It is back.
        add(
            &mut tree,
            Topic::Static,
            &[transform("a", "b", 0.0)],
            id(1),
            now,
        );
        tree.set_static_publishers(&[id(1)], now);
        add(
            &mut tree,
            Topic::Static,
            &[transform("a", "d", 0.0)],
            id(1),
            now,
        );
        assert!(tree.get("b").is_some() && tree.get("d").is_some() && !tree.is_waiting());
    }

    #[test]
    fn who_told_it_before_and_is_still_there_tells_it_again() {
        let (mut tree, now) = (Tree::new("/tf", "/tf_static"), Instant::now());
        let id = |n| PublisherId([n; 16]);
        add(
            &mut tree,
            Topic::Static,
            &[transform("a", "b", 0.5)],
            id(1),
            now,
        );
        for x in [1.0, 2.0] {
            add(
                &mut tree,
                Topic::Static,
                &[transform("other", "b", x)],
                id(2),
                now,
            );
        }
        tree.set_static_publishers(&[id(1), id(2)], now);
        tree.set_static_publishers(&[id(1)], now);
        let (_, edge) = tree.get("b").unwrap().newest().unwrap();
        assert_eq!(
            (
                edge.parent.as_str(),
                edge.pose.translation.x,
                edge.publisher()
            ),
            ("a", 0.5, id(1))
        );
        assert_eq!(
            (tree.children("a").count(), tree.children("other").count()),
            (1, 0)
        );
        tree.set_static_publishers(&[], now);
        assert!(tree.get("b").is_none());
    }

    #[test]
    fn stamps_may_be_any_numbers() {
        let mut tree = Tree::new("/tf", "/tf_static");
        for stamp in [i64::MAX, i64::MIN, -1, i64::MAX, 0, i64::MIN] {
            let said = Transform {
                stamp,
                ..transform("a", "b", 0.0)
            };
            add(
                &mut tree,
                Topic::Moving,
                &[said],
                PublisherId::default(),
                Instant::now(),
            );
        }
        assert_eq!(
            tree.get("b").unwrap().on(Topic::Moving).unwrap().stamp,
            i64::MIN
        );
    }
}
