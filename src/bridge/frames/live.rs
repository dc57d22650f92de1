//! What is heard of running robots in one namespace: transforms and joint states.

use std::time::Instant;

use super::tf::{Topic, Tree};
use crate::ros::PublisherId;
use crate::ros::msg::geometry_msgs::TransformStamped;
use crate::ros::msg::sensor_msgs::JointState;

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

/// What a robot is held against. Its transforms and its joint states may be heard in different namespaces.
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
    /// When joint states were heard last.
    joints: Option<Instant>,
}

impl Live {
    /// Nothing heard yet.
    pub fn new(topics: Topics) -> Self {
        Self { tree: Tree::new(&*topics.moving, &*topics.fixed), joints: None, topics }
    }

    /// The topics.
    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    /// The transforms heard.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// When joint states were heard last.
    pub fn joints_heard(&self) -> Option<Instant> {
        self.joints
    }

    /// Takes in transforms.
    pub fn hear_transforms(&mut self, topic: Topic, transforms: &[TransformStamped], publisher: PublisherId, now: Instant) {
        self.tree.add(topic, transforms, publisher, now);
    }

    /// Takes in joint states.
    pub fn hear_joints(&mut self, _state: &JointState, _publisher: PublisherId, now: Instant) {
        self.joints = Some(now);
    }
}
