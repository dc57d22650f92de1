//! Conversions between ROS messages and the types of the TF check, which does not depend on ROS.

use urdf_usd_messages::FrameVerdict;
use urdf_usd_ros::graph::TopicEnd;
use urdf_usd_ros::msg::builtin_interfaces::Time;
use urdf_usd_ros::msg::geometry_msgs::TransformStamped;
use urdf_usd_ros::msg::sensor_msgs::JointState;
use urdf_usd_ros::msg::tf2_msgs::TFMessage;
use urdf_usd_ros::{PublisherId, Sample, Timeline};
use urdf_usd_tf_check::{
    self as tf_check, Finding, JointPositions, Live, Topic, TopicPublisher, Topics, Transform,
};

/// Converts a time to nanoseconds.
fn nanoseconds(time: Time) -> i64 {
    i64::from(time.sec) * 1_000_000_000 + i64::from(time.nanosec)
}

fn transform(stamped: &TransformStamped) -> Transform<'_> {
    let (t, r) = (stamped.transform.translation, stamped.transform.rotation);
    Transform {
        parent: &stamped.header.frame_id,
        child: &stamped.child_frame_id,
        stamp: nanoseconds(stamped.header.stamp),
        translation: [t.x, t.y, t.z],
        rotation: [r.x, r.y, r.z, r.w],
    }
}

/// Converts a publisher's identity to that of the TF check.
fn publisher(id: PublisherId) -> tf_check::PublisherId {
    tf_check::PublisherId(id.0)
}

/// Sets the publishers of transforms in the ROS graph, which `publishers` returns for a topic.
pub(super) fn set_publishers<'a>(
    live: &mut Live,
    topics: &Topics,
    publishers: impl Fn(&str) -> &'a [&'a TopicEnd],
) {
    for (topic, name) in [
        (Topic::Moving, &topics.moving),
        (Topic::Static, &topics.fixed),
    ] {
        let present: Vec<TopicPublisher> = publishers(name)
            .iter()
            .map(|end| TopicPublisher {
                id: end.id.map(publisher),
                node: end.node.clone(),
            })
            .collect();
        live.set_publishers(topic, &present);
    }
}

/// Adds the transforms of a message received on `topic`.
pub(super) fn add_transforms(
    live: &mut Live,
    topic: Topic,
    heard: &Sample<TFMessage>,
    now: Timeline,
) {
    live.set_clock_resets(now.resets);
    live.add_transforms(
        topic,
        heard.message.transforms.iter().map(transform),
        publisher(heard.publisher),
        now.at,
    );
}

/// Adds the positions of a joint state message.
pub(super) fn add_joint_positions(live: &mut Live, heard: &Sample<JointState>, now: Timeline) {
    live.set_clock_resets(now.resets);
    let JointState {
        header,
        name,
        position,
        ..
    } = &heard.message;
    let positions = JointPositions {
        stamp: nanoseconds(header.stamp),
        names: name,
        positions: position,
    };
    live.add_joint_positions(&positions, publisher(heard.publisher), now.at);
}

/// Converts a finding to a message.
pub fn verdict(finding: Finding) -> FrameVerdict {
    FrameVerdict {
        frame_id: finding.frame,
        verdict: finding.verdict.as_str().to_owned(),
        expected_parent: finding.expected_parent.unwrap_or_default(),
        actual_parent: finding.actual_parent.unwrap_or_default(),
        expected_topic: finding.expected_topic.unwrap_or_default(),
        actual_topic: finding.actual_topic.unwrap_or_default(),
        position_error: finding.error.map_or(f64::NAN, |(position, _)| position),
        angle_error: finding.error.map_or(f64::NAN, |(_, angle)| angle),
        detail: finding.detail,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use urdf_usd_ros::msg::geometry_msgs::{self, Quaternion, Vector3};
    use urdf_usd_ros::msg::std_msgs::Header;
    use urdf_usd_tf_check::{FrameStatus, Topics};

    /// Returns a transform message with a translation along x.
    pub(crate) fn transform(parent: &str, child: &str, x: f64) -> TransformStamped {
        TransformStamped {
            header: Header {
                frame_id: parent.to_owned(),
                ..Header::default()
            },
            child_frame_id: child.to_owned(),
            transform: geometry_msgs::Transform {
                translation: Vector3 { x, y: 0.0, z: 0.0 },
                rotation: Quaternion::default(),
            },
        }
    }

    #[test]
    fn every_status_has_its_constant_in_the_message() {
        let words = [
            FrameVerdict::MISSING,
            FrameVerdict::WRONG_PARENT,
            FrameVerdict::WRONG_TOPIC,
            FrameVerdict::OFF,
            FrameVerdict::STALE,
            FrameVerdict::EXTRA,
            FrameVerdict::OK,
        ];
        assert_eq!(FrameStatus::ALL.map(FrameStatus::as_str), words);
    }

    #[test]
    fn a_transform_is_taken_in_as_it_is() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let mut said = transform("base", "tool", 1.0);
        said.header.stamp = Time { sec: 3, nanosec: 5 };
        said.transform.translation = Vector3 {
            x: 1.0,
            y: 2.0,
            z: 3.0,
        };
        said.transform.rotation = Quaternion {
            x: 0.0,
            y: 0.0,
            z: half,
            w: half,
        };
        let topics = Topics {
            moving: "/tf".into(),
            fixed: "/tf_static".into(),
            joints: "/joint_states".into(),
        };
        let mut live = Live::new(topics);
        let message = TFMessage {
            transforms: vec![said],
        };
        add_transforms(
            &mut live,
            Topic::Moving,
            &Sample {
                message,
                publisher: PublisherId([7; 16]),
            },
            Timeline {
                at: std::time::Instant::now(),
                resets: 0,
                simulated: None,
            },
        );
        let edge = live
            .tree()
            .get("tool")
            .and_then(|heard| heard.on(Topic::Moving))
            .unwrap();
        assert_eq!((edge.parent.as_str(), edge.stamp), ("base", 3_000_000_005));
        assert_eq!(edge.pose.translation.vector.as_slice(), [1.0, 2.0, 3.0]);
        assert!((edge.pose.rotation.euler_angles().2 - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
    }
}
