//! The live TF tree: the last transform heard of every frame, and where it came from.
//!
//! Plain data: it hears through [`Tree::add`] and knows no ROS client.

use std::collections::HashMap;
use std::time::Instant;

use nalgebra::{Quaternion, Translation3, UnitQuaternion};

use crate::robot::Pose;
use crate::ros::PublisherId;
use crate::ros::msg::builtin_interfaces::Time;
use crate::ros::msg::geometry_msgs::{Transform, TransformStamped};

/// The most frames that are kept: beyond it, someone is making up names.
const MOST_FRAMES: usize = 50_000;

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
    /// When it holds, by the publisher's clock.
    pub stamp: Time,
    /// When it was heard, by ours.
    pub heard: Instant,
    /// Who said it.
    pub publisher: PublisherId,
}

/// What was heard of a frame on either topic.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    moving: Option<Edge>,
    fixed: Option<Edge>,
}

impl Heard {
    /// The last transform on a topic.
    pub fn on(&self, topic: Topic) -> Option<&Edge> {
        match topic {
            Topic::Moving => self.moving.as_ref(),
            Topic::Static => self.fixed.as_ref(),
        }
    }
}

/// The live TF tree.
#[derive(Clone, Debug)]
pub struct Tree {
    frames: HashMap<String, Heard>,
    moving_topic: String,
    static_topic: String,
}

impl Tree {
    /// An empty tree that is heard on topics of these names.
    pub fn new(moving_topic: impl Into<String>, static_topic: impl Into<String>) -> Self {
        Self { frames: HashMap::new(), moving_topic: moving_topic.into(), static_topic: static_topic.into() }
    }

    /// The name of a topic.
    pub fn name(&self, topic: Topic) -> &str {
        match topic {
            Topic::Moving => &self.moving_topic,
            Topic::Static => &self.static_topic,
        }
    }

    /// Takes in what was heard on a topic. Transforms that mean nothing (no name, a frame in itself, not a number, no rotation)
    /// are passed over, as tf2 does.
    pub fn add(&mut self, topic: Topic, transforms: &[TransformStamped], publisher: PublisherId, heard: Instant) {
        for transform in transforms {
            let (parent, child) = (plain(&transform.header.frame_id), plain(&transform.child_frame_id));
            let Some(pose) = pose(&transform.transform).filter(|_| !child.is_empty() && !parent.is_empty() && child != parent)
            else {
                continue;
            };
            if !self.frames.contains_key(child) {
                if self.frames.len() >= MOST_FRAMES {
                    continue;
                }
                self.frames.insert(child.to_owned(), Heard::default());
            }
            let Some(entry) = self.frames.get_mut(child) else { continue };
            let slot = match topic {
                Topic::Moving => &mut entry.moving,
                Topic::Static => &mut entry.fixed,
            };
            match slot {
                Some(edge) => {
                    if edge.parent != parent {
                        parent.clone_into(&mut edge.parent);
                    }
                    (edge.pose, edge.stamp, edge.heard, edge.publisher) = (pose, transform.header.stamp, heard, publisher);
                }
                None => {
                    *slot = Some(Edge { parent: parent.to_owned(), pose, stamp: transform.header.stamp, heard, publisher });
                }
            }
        }
    }

    /// What was heard of a frame.
    pub fn get(&self, frame: &str) -> Option<&Heard> {
        self.frames.get(plain(frame))
    }

    /// Every frame's last transform on each topic that it was heard on, in no order.
    pub fn edges(&self) -> impl Iterator<Item = (&str, Topic, &Edge)> {
        self.frames.iter().flat_map(|(frame, heard)| {
            let on = |topic| heard.on(topic).map(|edge| (frame.as_str(), topic, edge));
            [Topic::Moving, Topic::Static].into_iter().filter_map(on)
        })
    }

    /// Whether a frame is the parent of another.
    pub fn is_parent(&self, frame: &str) -> bool {
        let frame = plain(frame);
        self.frames.values().any(|heard| [&heard.moving, &heard.fixed].into_iter().flatten().any(|edge| edge.parent == frame))
    }

    /// Whether nothing was heard yet.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

/// A frame's name without the leading slash of ROS 1, which tf2 ignores too.
pub fn plain(frame: &str) -> &str {
    frame.strip_prefix('/').unwrap_or(frame)
}

fn pose(transform: &Transform) -> Option<Pose> {
    let (t, r) = (transform.translation, transform.rotation);
    let quaternion = Quaternion::new(r.w, r.x, r.y, r.z);
    let norm = quaternion.norm();
    let finite = [t.x, t.y, t.z, norm].iter().all(|v| v.is_finite());
    (finite && norm > 1e-6)
        .then(|| Pose::from_parts(Translation3::new(t.x, t.y, t.z), UnitQuaternion::from_quaternion(quaternion)))
}

#[cfg(test)]
pub(in crate::bridge) mod tests {
    use super::*;
    use crate::ros::msg::geometry_msgs::{Quaternion, Vector3};
    use crate::ros::msg::std_msgs::Header;

    /// A transform along x.
    pub(in crate::bridge) fn transform(parent: &str, child: &str, x: f64) -> TransformStamped {
        TransformStamped {
            header: Header { frame_id: parent.to_owned(), ..Header::default() },
            child_frame_id: child.to_owned(),
            transform: Transform { translation: Vector3 { x, y: 0.0, z: 0.0 }, rotation: Quaternion::default() },
        }
    }

    fn tree(transforms: &[TransformStamped]) -> Tree {
        let mut tree = Tree::new("/tf", "/tf_static");
        tree.add(Topic::Moving, transforms, PublisherId::default(), Instant::now());
        tree
    }

    #[test]
    fn the_last_transform_of_each_topic_counts() {
        let mut tree = tree(&[transform("base", "arm", 1.0), transform("/base", "/arm", 2.0)]);
        tree.add(Topic::Static, &[transform("arm", "tool", 3.0)], PublisherId([7; 16]), Instant::now());
        let arm = tree.get("arm").and_then(|heard| heard.on(Topic::Moving)).unwrap();
        assert_eq!((arm.parent.as_str(), arm.pose.translation.x), ("base", 2.0));
        assert!(tree.get("/arm").unwrap().on(Topic::Static).is_none());
        assert_eq!(tree.get("tool").unwrap().on(Topic::Static).unwrap().publisher, PublisherId([7; 16]));
        assert!(tree.is_parent("base") && tree.is_parent("arm") && !tree.is_parent("tool"));
    }

    #[test]
    fn a_frame_can_change_its_parent() {
        let tree = tree(&[transform("left", "cup", 0.0), transform("right", "cup", 0.0)]);
        assert_eq!(tree.get("cup").unwrap().on(Topic::Moving).unwrap().parent, "right");
        assert!(!tree.is_parent("left"));
    }

    #[test]
    fn what_means_nothing_is_passed_over() {
        let mut zero = transform("a", "b", 0.0);
        zero.transform.rotation.w = 0.0;
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
        let many: Vec<_> = (0..MOST_FRAMES + 10).map(|n| transform("a", &format!("f{n}"), 0.0)).collect();
        tree.add(Topic::Moving, &many, PublisherId::default(), Instant::now());
        assert_eq!(tree.frames.len(), MOST_FRAMES);
    }
}
