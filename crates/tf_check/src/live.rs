//! What is heard of running robots in one namespace: transforms and joint states.

use std::time::Instant;

use crate::input::{JointPositions, PublisherId, Transform};
use crate::joints::Joints;
use crate::tf::{Topic, Tree};

/// The topics that are heard together, absolute names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topics {
    /// Frames that move: `/tf`.
    pub moving: String,
    /// Frames that do not: `/tf_static`.
    pub fixed: String,
    /// Joint states: `/joint_states`.
    pub joints: String,
}

/// What a robot's asset is compared with. Its transforms and its joint states may be heard in
/// different namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// Where its transforms are heard.
    pub transforms: &'a Live,
    /// Where its joint states are heard.
    pub joints: &'a Live,
    /// What else is heard, a few at most.
    pub elsewhere: &'a [&'a Live],
}

/// What was heard on a namespace's topics.
#[derive(Clone, Debug)]
pub struct Live {
    topics: Topics,
    tree: Tree,
    joints: Joints,
}

impl Live {
    /// Nothing heard yet.
    pub fn new(topics: Topics) -> Self {
        Self {
            tree: Tree::new(&*topics.moving, &*topics.fixed),
            joints: Joints::default(),
            topics,
        }
    }

    /// The topics.
    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    /// The transforms heard.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The joint states heard.
    pub(crate) fn joints(&self) -> &Joints {
        &self.joints
    }

    /// The position of each joint that was heard, as it was told last: radians, metres.
    pub fn joint_positions(&self) -> impl Iterator<Item = (&str, f64)> {
        self.joints.newest()
    }

    /// When joint states were heard last.
    pub fn joints_heard(&self) -> Option<Instant> {
        self.joints.heard()
    }

    /// Takes in transforms. `now` is when they arrived, by a clock that never goes back.
    pub fn add_transforms<'a, T>(
        &mut self,
        topic: Topic,
        transforms: T,
        publisher: PublisherId,
        now: Instant,
    ) where
        T: IntoIterator<Item = Transform<'a>, IntoIter: ExactSizeIterator + Clone>,
    {
        let transforms = transforms.into_iter();
        if self.tree.add(topic, transforms.clone(), publisher, now) {
            self.forget();
            // What came with the message counts again.
            self.tree.add(topic, transforms, publisher, now);
        }
    }

    /// Takes in joint states. `now` is when they arrived, by a clock that never goes back.
    pub fn add_joint_positions(
        &mut self,
        state: &JointPositions<'_>,
        publisher: PublisherId,
        now: Instant,
    ) {
        if self.joints.add(state, publisher, now) {
            self.forget();
            self.joints.add(state, publisher, now);
        }
    }

    /// Takes in who publishes on `/tf_static`, as the ROS graph has it. Whoever starts to listen
    /// now does not hear what one said that has left; nor does it count here any more. Without ever
    /// being told, everything heard counts. `now` is by the clock of [`Live::add_transforms`].
    pub fn set_static_publishers(&mut self, present: &[PublisherId], now: Instant) {
        self.tree.set_static_publishers(present, now);
    }

    /// Whether a static transform was heard of a publisher that had left, since a message may wait
    /// to be read while its publisher leaves, or of one that was not told of yet. A
    /// [`Live::set_static_publishers`] to come forgets it, or keeps it if the publisher is there.
    pub fn is_waiting(&self) -> bool {
        self.tree.is_waiting()
    }

    /// A clock went back: a simulation was reset, or a recording starts again. Stamps from before
    /// mean other moments than the same stamps from now on.
    fn forget(&mut self) {
        self.tree.forget_moments();
        self.joints.forget_positions();
    }
}
