//! Transforms and joint states of running robots in one namespace.

use std::time::Instant;

use crate::input::{JointPositions, PublisherId, TopicPublisher, Transform};
use crate::joints::Joints;
use crate::tf::{Topic, Tree};

/// Absolute names of the topics of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topics {
    /// Moving frames: `/tf`.
    pub moving: String,
    /// Static frames: `/tf_static`.
    pub fixed: String,
    /// Joint states: `/joint_states`.
    pub joints: String,
}

/// The messages that an asset is compared with. Transforms and joint states may come from different
/// namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// Source of transforms.
    pub transforms: &'a Live,
    /// Source of joint states.
    pub joints: &'a Live,
    /// A few other namespaces, in which a missing robot is looked for.
    pub elsewhere: &'a [&'a Live],
}

/// The state of a namespace's topics.
#[derive(Clone, Debug)]
pub struct Live {
    topics: Topics,
    tree: Tree,
    joints: Joints,
    /// Number of times that the clock was set back.
    clock_resets: u64,
}

impl Live {
    /// Creates the state without any message.
    pub fn new(topics: Topics) -> Self {
        Self {
            tree: Tree::new(&*topics.moving, &*topics.fixed),
            joints: Joints::default(),
            clock_resets: 0,
            topics,
        }
    }

    /// Returns the topics.
    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    /// Returns the TF tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the joint states.
    pub(crate) fn joints(&self) -> &Joints {
        &self.joints
    }

    /// Returns the latest position of each joint, in rad or m.
    pub fn joint_positions(&self) -> impl Iterator<Item = (&str, f64)> {
        self.joints.newest()
    }

    /// Returns the time of the last joint states.
    pub fn joints_heard(&self) -> Option<Instant> {
        self.joints.heard()
    }

    /// Adds transforms. `now` is their time of arrival, by a monotonic clock.
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
            // The transforms of this message are from after the reset: add them again.
            self.tree.add(topic, transforms, publisher, now);
        }
    }

    /// Adds joint states. `now` is their time of arrival, by a monotonic clock.
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

    /// Sets the publishers of a topic, as the ROS graph has them.
    ///
    /// Messages name them, and a static transform whose publisher has left is reported. If this is
    /// never called, all publishers count as present.
    pub fn set_publishers(&mut self, topic: Topic, present: &[TopicPublisher]) {
        self.tree.set_publishers(topic, present);
    }

    /// Sets how often the clock of the robot was set back so far: after another reset, old moments
    /// are not compared with new ones.
    ///
    /// Messages tell of a reset, too, but only once they go on.
    pub fn set_clock_resets(&mut self, count: u64) {
        if std::mem::replace(&mut self.clock_resets, count) != count {
            self.forget();
        }
    }

    /// Forgets old moments after a clock was set back: a simulation was reset, or a recording
    /// restarted. Equal stamps from before and after mean different moments. As in tf2, static
    /// transforms stay.
    fn forget(&mut self) {
        self.tree.forget_moments();
        self.joints.forget_positions();
    }
}
