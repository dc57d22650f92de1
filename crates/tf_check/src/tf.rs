//! The live TF tree: the latest transforms of every frame, with time of arrival and publisher.
//!
//! Memory is bounded by the number of frames.

#![allow(
    clippy::indexing_slicing,
    reason = "a frame is numbered when it is first heard of; `Tree::prune` renumbers all of them at once"
)]

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use nalgebra::{Quaternion, Translation3, UnitQuaternion};

use crate::claims::{Claim, Claims, Contradiction};
use crate::diagnosis::list;
use crate::input::{PublisherId, TopicPublisher, Transform};
use crate::stream::{StampOrder, Stream};
use urdf_usd_robot::Pose;

/// Maximum number of frames, against invented names.
const MAX_FRAMES: usize = 50_000;
/// Maximum number of publishers that are remembered after they have left.
const MAX_DEPARTED: usize = 1000;
/// Grace period for a publisher whose messages arrive but which is not in the ROS graph, which may
/// lag behind.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a frame's name, in bytes.
const MAX_NAME_BYTES: usize = 1024;
/// Time without an update after which a frame on `/tf` is dropped if there are too many.
const EXPIRY: Duration = Duration::from_secs(600);
/// Minimum time between two prunings.
const PRUNE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of moments kept per moving frame.
const MAX_MOMENTS: usize = 32;
/// Minimum distance of their stamps, in ns: with it they cover the delay of late joint states.
const MIN_SPACING: i64 = 100_000_000;
/// The topic of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// `/tf`: moving frames.
    Moving,
    /// `/tf_static`: static frames.
    Static,
}

/// A frame's transform to its parent.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The parent frame.
    pub parent: String,
    /// The frame's pose in the parent.
    pub pose: Pose,
    /// Time of validity, in ns of the publisher's clock.
    pub stamp: i64,
    /// Time of arrival, by our clock.
    pub heard: Instant,
    parent_index: usize,
    stream: Stream,
    /// The transforms by publisher, if there are several.
    claims: Claims,
    /// Earlier moments under this parent, sorted by stamp and at least [`MIN_SPACING`] apart; empty
    /// for static frames.
    moments: VecDeque<Moment>,
}

/// A frame's pose in its parent at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    /// Stamp in ns of the publisher's clock.
    pub stamp: i64,
    /// Pose in the parent.
    pub pose: Pose,
    /// Time of arrival.
    pub heard: Instant,
}

impl Edge {
    /// Returns the latest moment, then earlier ones, newest first.
    pub(crate) fn moments(&self) -> impl Iterator<Item = Moment> {
        let last = self.last();
        std::iter::once(last).chain(
            self.moments
                .iter()
                .rev()
                .copied()
                .filter(move |moment| moment.stamp != last.stamp),
        )
    }

    /// Returns the publisher of the latest transform.
    pub(crate) fn publisher(&self) -> PublisherId {
        self.stream.publisher()
    }

    /// Returns whether a moment may be compared with joint states: not during the pause after a new
    /// start.
    pub(crate) fn is_settled(&self, moment: &Moment) -> bool {
        self.stream.is_settled(moment.heard)
    }

    fn last(&self) -> Moment {
        Moment {
            stamp: self.stamp,
            pose: self.pose,
            heard: self.heard,
        }
    }
}

impl Moment {
    /// Returns the moment in the frame in which the parent has the pose `above`.
    pub(crate) fn under(self, above: &Pose) -> Self {
        Self {
            pose: above * self.pose,
            ..self
        }
    }
}

/// The transforms of a frame on both topics.
#[derive(Clone, Debug, Default)]
pub struct TreeFrame {
    name: String,
    moving: Option<Edge>,
    fixed: Option<Edge>,
    /// Children in the tree, by index.
    children: Vec<usize>,
}

impl TreeFrame {
    /// Returns the latest transform on a topic.
    pub fn on(&self, topic: Topic) -> Option<&Edge> {
        match topic {
            Topic::Moving => self.moving.as_ref(),
            Topic::Static => self.fixed.as_ref(),
        }
    }

    /// Returns the latest transform on either topic. A moving one counts unless a static one is
    /// newer.
    pub fn newest(&self) -> Option<(Topic, &Edge)> {
        match (&self.moving, &self.fixed) {
            (Some(moving), Some(fixed)) if fixed.heard > moving.heard => {
                Some((Topic::Static, fixed))
            }
            (Some(moving), _) => Some((Topic::Moving, moving)),
            (None, fixed) => fixed.as_ref().map(|fixed| (Topic::Static, fixed)),
        }
    }

    fn has_parent(&self, parent: usize) -> bool {
        [&self.moving, &self.fixed]
            .into_iter()
            .flatten()
            .any(|edge| edge.parent_index == parent)
    }
}

/// The live TF tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Every frame that is named as a parent or as a child.
    frames: Vec<TreeFrame>,
    index: HashMap<String, usize, RandomState>,
    moving_topic: String,
    static_topic: String,
    /// The publishers of both topics in the ROS graph.
    moving_publishers: Publishers,
    static_publishers: Publishers,
    /// Time of the last pruning.
    last_prune: Option<Instant>,
    /// Whether a frame was dropped for lack of room.
    is_full: bool,
}

impl Tree {
    /// Creates an empty tree for topics of these names.
    pub(crate) fn new(moving_topic: impl Into<String>, static_topic: impl Into<String>) -> Self {
        Self {
            frames: Vec::new(),
            index: HashMap::default(),
            moving_topic: moving_topic.into(),
            static_topic: static_topic.into(),
            moving_publishers: Publishers::default(),
            static_publishers: Publishers::default(),
            last_prune: None,
            is_full: false,
        }
    }

    /// Returns the name of a topic.
    pub(crate) fn name(&self, topic: Topic) -> &str {
        match topic {
            Topic::Moving => &self.moving_topic,
            Topic::Static => &self.static_topic,
        }
    }

    /// Adds transforms of a topic. Returns whether a publisher's clock was set back, which
    /// makes older moments incomparable with newer ones (see [`Tree::forget_moments`]).
    ///
    /// Like tf2, it ignores invalid transforms: without a name, of a frame in itself, with a NaN or
    /// without a rotation.
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
        // Short-lived names, such as perception creates, must not block new ones for good.
        // Each transform may name two new frames.
        if self.frames.len() + 2 * transforms.len() > MAX_FRAMES
            && self
                .last_prune
                .is_none_or(|at| heard.saturating_duration_since(at) >= PRUNE_INTERVAL)
        {
            self.prune(heard);
        }
        let mut was_reset = false;
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
            if let Some(edge) = slot {
                let before = (edge.publisher(), &*edge.parent, edge.last());
                let moment = Moment { stamp, pose, heard };
                edge.claims
                    .add(before, publisher, parent, moment, topic == Topic::Static);
            }
            match slot {
                Some(edge) if edge.parent == parent => {
                    was_reset |= edge.update(topic, pose, stamp, publisher, heard);
                }
                _ => self.set_edge(
                    topic,
                    index,
                    parent,
                    Moment { stamp, pose, heard },
                    publisher,
                ),
            }
        }
        was_reset
    }

    /// Records a frame that is new or has changed its parent.
    fn set_edge(
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
        // Not searched among the children: a map may have tens of thousands.
        let is_child = frame.has_parent(parent_index);
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
        let claims = before.map(|edge| edge.claims).unwrap_or_default();
        let Moment { stamp, pose, heard } = moment;
        let parent = parent.to_owned();
        *slot = Some(Edge {
            parent,
            pose,
            stamp,
            heard,
            parent_index,
            stream,
            claims,
            moments,
        });
        if let Some(was_under) = was_under.filter(|&was_under| !frame.has_parent(was_under)) {
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
        if self.frames.len() >= MAX_FRAMES {
            self.is_full = true;
            return None;
        }
        if name.len() > MAX_NAME_BYTES {
            return None;
        }
        self.index.insert(name.to_owned(), self.frames.len());
        self.frames.push(TreeFrame {
            name: name.to_owned(),
            ..TreeFrame::default()
        });
        Some(self.frames.len() - 1)
    }

    /// Drops frames that are stale, and those that no transform names any more. Static frames stay
    /// as long as their publishers are present, though tf2 never drops them.
    ///
    /// O(n) in the number of frames.
    fn prune(&mut self, now: Instant) {
        self.last_prune = Some(now);
        self.is_full = false;
        for frame in &mut self.frames {
            frame
                .moving
                .take_if(|edge| now.saturating_duration_since(edge.heard) >= EXPIRY);
            frame.fixed.take_if(|edge| {
                self.static_publishers
                    .has_left(edge.publisher(), edge.heard, now)
            });
            // Indices change below, so children are collected again from the edges.
            frame.children.clear();
        }
        let mut is_kept = vec![false; self.frames.len()];
        for (index, frame) in self.frames.iter().enumerate() {
            for edge in [&frame.moving, &frame.fixed].into_iter().flatten() {
                (is_kept[index], is_kept[edge.parent_index]) = (true, true);
            }
        }
        // A frame's new index is the number of kept frames before it.
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
            // Both topics may name the same parent.
            parents.dedup();
            parents
                .into_iter()
                .for_each(|parent| self.frames[parent].children.push(index));
        }
    }

    /// Returns whether frames are dropped because there are too many.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Forgets all moments of moving frames except for the latest of each.
    pub(crate) fn forget_moments(&mut self) {
        for frame in &mut self.frames {
            if let Some(edge) = &mut frame.moving {
                edge.moments.clear();
                edge.claims = Claims::default();
            }
        }
    }

    fn publishers(&self, topic: Topic) -> &Publishers {
        match topic {
            Topic::Moving => &self.moving_publishers,
            Topic::Static => &self.static_publishers,
        }
    }

    /// Sets the publishers of a topic in the ROS graph.
    pub(crate) fn set_publishers(&mut self, topic: Topic, present: &[TopicPublisher]) {
        match topic {
            Topic::Moving => self.moving_publishers.set(present),
            Topic::Static => {
                self.static_publishers.set(present);
                let left = &self.static_publishers.left;
                for edge in self
                    .frames
                    .iter_mut()
                    .filter_map(|frame| frame.fixed.as_mut())
                {
                    let last = edge.publisher();
                    edge.claims.retain(|claim| {
                        claim.publisher == last || !left.contains(&claim.publisher)
                    });
                }
            }
        }
    }

    /// Returns whether a topic has no publisher; `false` if the ROS graph is not known.
    pub(crate) fn is_unpublished(&self, topic: Topic) -> bool {
        let publishers = self.publishers(topic);
        publishers.is_known && publishers.present.is_empty()
    }

    /// Returns whether a static transform outlives its publisher: a listener that runs keeps it, a
    /// new one does not get it.
    pub(crate) fn is_abandoned(&self, edge: &Edge, now: Instant) -> bool {
        let has_left = |publisher, heard| self.static_publishers.has_left(publisher, heard, now);
        has_left(edge.publisher(), edge.heard)
            && !edge.claims.iter().any(|claim| {
                claim.publisher != edge.publisher() && !has_left(claim.publisher, claim.last.heard)
            })
    }

    /// Returns a publisher of a topic for messages: the name of its node, or the nodes that it may
    /// be.
    pub(crate) fn publisher_name(&self, topic: Topic, publisher: PublisherId) -> Cow<'_, str> {
        let publishers = self.publishers(topic);
        match (publishers.names.get(&publisher), &publishers.candidates[..]) {
            (Some(name), _) | (None, [name]) => name.into(),
            (None, []) => "an unknown node".into(),
            (None, several) => format!("one of {}", list(several)).into(),
        }
    }

    /// Returns two publishers of a topic for messages, sorted, so that the text does not depend on
    /// the order of arrival. `with` adds to the name of one.
    pub(crate) fn publisher_names(
        &self,
        topic: Topic,
        pair: [PublisherId; 2],
        with: impl Fn(PublisherId, String) -> String,
    ) -> String {
        let publishers = self.publishers(topic);
        let is_unnamed = |publisher| !publishers.names.contains_key(publisher);
        if pair.iter().all(is_unnamed) && publishers.candidates.len() > 1 {
            return match &publishers.candidates[..] {
                [a, b] => format!("{a} and {b}"),
                several => format!("two of {}", list(several)),
            };
        }
        let mut names =
            pair.map(|publisher| with(publisher, self.publisher_name(topic, publisher).into()));
        names.sort();
        names.join(" and ")
    }

    /// Returns whether a publisher has left the ROS graph. `heard` is the time of its last message.
    pub(crate) fn has_left(
        &self,
        topic: Topic,
        publisher: PublisherId,
        heard: Instant,
        now: Instant,
    ) -> bool {
        self.publishers(topic).has_left(publisher, heard, now)
    }

    /// Returns how two publishers contradict each other about a frame.
    pub(crate) fn contradiction(
        &self,
        topic: Topic,
        edge: &Edge,
        now: Instant,
        timeout: Duration,
        is_exceeded: impl Fn((f64, f64)) -> bool,
    ) -> Option<(PublisherId, PublisherId, Contradiction)> {
        let is_present = |claim: &Claim| {
            let (publisher, heard) = (claim.publisher, claim.last.heard);
            !self.has_left(topic, publisher, heard, now)
        };
        match topic {
            Topic::Moving => {
                edge.claims
                    .moving_contradiction(now, timeout, is_present, is_exceeded)
            }
            // Whichever it is, all others have left.
            Topic::Static if self.static_publishers.is_one_unidentified => None,
            // The last transform counts even if its publisher has left: tf2 keeps it.
            Topic::Static => edge.claims.static_contradiction(
                |claim| claim.publisher == edge.publisher() || is_present(claim),
                is_exceeded,
            ),
        }
    }

    /// Returns the transforms of a frame, if it is a child of any.
    pub fn get(&self, frame: &str) -> Option<&TreeFrame> {
        let heard = &self.frames[*self.index.get(plain(frame))?];
        (heard.moving.is_some() || heard.fixed.is_some()).then_some(heard)
    }

    /// Returns every frame's latest transform on each topic, in no particular order.
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

    /// Returns the children of a frame.
    pub fn children(&self, frame: &str) -> impl Iterator<Item = &str> {
        let children = self
            .index
            .get(plain(frame))
            .map_or(&[][..], |&index| &self.frames[index].children);
        children
            .iter()
            .map(|&child| self.frames[child].name.as_str())
    }

    /// Returns whether a frame has children.
    pub fn is_parent(&self, frame: &str) -> bool {
        self.children(frame).next().is_some()
    }

    /// Returns whether no transform was received.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

impl Edge {
    /// Adds a transform under the same parent. Returns whether the publisher's clock was set
    /// back.
    fn update(
        &mut self,
        topic: Topic,
        pose: Pose,
        stamp: i64,
        publisher: PublisherId,
        heard: Instant,
    ) -> bool {
        (self.pose, self.stamp, self.heard) = (pose, stamp, heard);
        let moment = Moment { stamp, pose, heard };
        let order = self.stream.add(publisher, moment.stamp, heard);
        if topic == Topic::Static || moment.stamp == 0 {
            return false;
        }
        if matches!(order, StampOrder::NewStart | StampOrder::ClockReset) {
            self.moments.clear();
        }
        // A late moment is not kept, nor one of a publisher with a clock behind; it is the latest
        // transform all the same.
        let is_next = self
            .moments
            .back()
            .is_none_or(|last| moment.stamp.saturating_sub(last.stamp) >= MIN_SPACING);
        if is_next && order != StampOrder::Late {
            if self.moments.len() == MAX_MOMENTS {
                self.moments.pop_front();
            }
            self.moments.push_back(moment);
        }
        order == StampOrder::ClockReset
    }
}

/// The publishers of a topic.
#[derive(Clone, Debug, Default)]
struct Publishers {
    /// Publishers in the ROS graph.
    present: HashSet<PublisherId>,
    /// Some that have left it.
    left: HashSet<PublisherId>,
    /// The names of their nodes.
    names: HashMap<PublisherId, String>,
    /// The nodes that a publisher without a name may be: those of the latest publishers that the
    /// graph listed without identities, sorted.
    candidates: Vec<String>,
    /// The graph lists exactly one publisher, without identity.
    is_one_unidentified: bool,
    /// The graph lists publishers with their identities.
    is_known: bool,
}

impl Publishers {
    fn set(&mut self, listed: &[TopicPublisher]) {
        self.is_one_unidentified = matches!(listed, [TopicPublisher { id: None, .. }]);
        let unidentified = listed.iter().filter(|publisher| publisher.id.is_none());
        let candidates: BTreeSet<&String> = unidentified
            .filter_map(|publisher| publisher.node.as_ref())
            .collect();
        if !candidates.is_empty() {
            self.candidates = candidates.into_iter().take(MAX_DEPARTED).cloned().collect();
        }
        let present: Option<HashSet<PublisherId>> =
            listed.iter().map(|publisher| publisher.id).collect();
        // Without an identity, it may be any that seems to have left.
        let Some(present) = present else {
            self.is_known = false;
            return;
        };
        self.is_known = true;
        let gone: Vec<PublisherId> = self.present.difference(&present).copied().collect();
        if self.left.len() + gone.len() > MAX_DEPARTED {
            self.left.clear();
            let last = &self.present;
            self.names
                .retain(|publisher, _| present.contains(publisher) || last.contains(publisher));
        }
        self.left.extend(gone);
        self.left.retain(|publisher| !present.contains(publisher));
        for publisher in listed {
            if let (Some(id), Some(node)) = (publisher.id, &publisher.node) {
                self.names.insert(id, node.clone());
            }
        }
        self.present = present;
    }

    fn has_left(&self, publisher: PublisherId, heard: Instant, now: Instant) -> bool {
        self.is_known
            && !self.present.contains(&publisher)
            && (self.left.contains(&publisher)
                // It existed only between two updates of the graph.
                || now.saturating_duration_since(heard) >= DISCOVERY_TIMEOUT)
    }
}

/// Strips the leading slash of ROS 1 from a frame's name; tf2 ignores it too.
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

    /// Returns a transform along x.
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
            "no transform has it as its child"
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
    fn invalid_transforms_are_ignored() {
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
        let names: Vec<String> = (0..MAX_FRAMES + 10).map(|n| format!("f{n}")).collect();
        let many: Vec<_> = names.iter().map(|name| transform("a", name, 0.0)).collect();
        add(
            &mut tree,
            Topic::Moving,
            &many,
            PublisherId::default(),
            Instant::now(),
        );
        assert!(tree.frames.len() == MAX_FRAMES && tree.is_full());
        let long = "x".repeat(MAX_NAME_BYTES + 1);
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
        // The test adds 150 000 names in 1500 s; those of the last ten minutes are kept, with their
        // tree.
        assert!(tree.frames.len() <= MAX_FRAMES && tree.index.len() == tree.frames.len());
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
        assert_eq!(moments.len(), MAX_MOMENTS + 1);
        assert!(
            moments
                .windows(2)
                .skip(1)
                .all(|pair| pair[0] - pair[1] >= MIN_SPACING)
                && moments[0] > moments[1]
        );
    }

    #[test]
    fn clock_resets_are_reported() {
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
        assert!(!say(4600, 0), "a small step back concerns this frame only");
        assert!(say(3000, 0));
        assert!(!say(2000, 1), "another publisher has its own clock");
        assert!(!say(2000, 1), "the same again");
        assert!(say(1000, 1));
    }

    fn node(n: u8) -> TopicPublisher {
        TopicPublisher {
            id: Some(PublisherId([n; 16])),
            node: Some(format!("/node_{n}")),
        }
    }

    #[test]
    fn static_transforms_outlive_their_publishers() {
        let (mut tree, now) = (Tree::new("/tf", "/tf_static"), Instant::now());
        let id = |n| PublisherId([n; 16]);
        let said = |tree: &mut Tree, child, n| {
            add(
                tree,
                Topic::Static,
                &[transform("a", child, 0.0)],
                id(n),
                now,
            )
        };
        said(&mut tree, "b", 1);
        said(&mut tree, "c", 2);
        let is_abandoned = |tree: &Tree, frame, now| {
            let edge = tree.get(frame).unwrap().on(Topic::Static).unwrap();
            tree.is_abandoned(edge, now)
        };
        assert!(!is_abandoned(&tree, "b", now), "the publishers are unknown");
        tree.set_publishers(Topic::Static, &[node(1)]);
        assert!(
            !is_abandoned(&tree, "c", now),
            "it may still appear in the graph"
        );
        tree.set_publishers(Topic::Static, &[]);
        assert!(is_abandoned(&tree, "b", now) && !is_abandoned(&tree, "c", now));
        // It existed only between two updates of the graph.
        assert!(is_abandoned(&tree, "c", now + DISCOVERY_TIMEOUT));
        // A message that was still queued when its publisher left.
        said(&mut tree, "b", 1);
        assert!(is_abandoned(&tree, "b", now));
        assert_eq!(tree.publisher_name(Topic::Static, id(1)), "/node_1");
        assert_eq!(tree.publisher_name(Topic::Static, id(2)), "an unknown node");
        // Another publisher says the same.
        tree.set_publishers(Topic::Static, &[node(3)]);
        said(&mut tree, "b", 3);
        assert!(!is_abandoned(&tree, "b", now));
        // Without an identity, any publisher may be present.
        let anonymous = TopicPublisher {
            id: None,
            node: Some("/node_4".to_owned()),
        };
        tree.set_publishers(Topic::Static, &[anonymous]);
        assert!(!is_abandoned(&tree, "c", now + DISCOVERY_TIMEOUT));
    }

    #[test]
    fn publishers_without_identity_are_named_by_the_nodes_that_they_may_be() {
        let (mut tree, now) = (Tree::new("/tf", "/tf_static"), Instant::now());
        let id = |n: u8| PublisherId([n; 16]);
        for (n, x) in [(1, 0.0), (2, 0.5)] {
            add(
                &mut tree,
                Topic::Static,
                &[transform("a", "b", x)],
                id(n),
                now,
            );
        }
        let listed = |nodes: &[u8]| -> Vec<TopicPublisher> {
            let anonymous = |n: &u8| TopicPublisher {
                id: None,
                node: Some(format!("/node_{n}")),
            };
            nodes.iter().map(anonymous).collect()
        };
        let contradiction = |tree: &Tree| {
            let edge = tree.get("b").unwrap().on(Topic::Static).unwrap();
            let is_exceeded = |(metres, _): (f64, f64)| metres > 0.1;
            let pair = tree.contradiction(
                Topic::Static,
                edge,
                now,
                Duration::from_secs(1),
                is_exceeded,
            );
            pair.map(|(a, b, _)| tree.publisher_names(Topic::Static, [a, b], |_, name| name))
        };
        for (nodes, names) in [
            (&[4, 3][..], Some("/node_3 and /node_4")),
            (&[5, 4, 3], Some("two of /node_3, /node_4, /node_5")),
            // The other one has left.
            (&[3], None),
        ] {
            tree.set_publishers(Topic::Static, &listed(nodes));
            assert_eq!(contradiction(&tree).as_deref(), names);
        }
        assert_eq!(tree.publisher_name(Topic::Static, id(1)), "/node_3");
    }

    #[test]
    fn publishers_that_come_and_go_leave_no_state() {
        let (mut tree, now) = (Tree::new("/tf", "/tf_static"), Instant::now());
        for n in 0..3000_u32 {
            let mut id = PublisherId::default();
            id.0[..4].copy_from_slice(&n.to_le_bytes());
            let listed = TopicPublisher {
                id: Some(id),
                node: Some(format!("/node_{n}")),
            };
            tree.set_publishers(Topic::Static, &[listed]);
            add(
                &mut tree,
                Topic::Static,
                &[transform("a", "b", f64::from(n))],
                id,
                now,
            );
        }
        let Publishers {
            present,
            left,
            names,
            ..
        } = &tree.static_publishers;
        assert!(
            present.len() == 1 && left.len() <= MAX_DEPARTED && names.len() <= MAX_DEPARTED + 2
        );
        let edge = tree.get("b").unwrap().on(Topic::Static).unwrap();
        assert!(edge.claims.iter().count() <= 8);
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
