//! Input types: messages as the caller passes them in.

/// A transform of a frame in its parent, as contained in messages on `/tf` and `/tf_static`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform<'a> {
    /// The parent frame. A leading slash is ignored.
    pub parent: &'a str,
    /// The frame. A leading slash is ignored.
    pub child: &'a str,
    /// Time of validity in ns of the publisher's clock; 0 if unknown.
    pub stamp: i64,
    /// x, y, z of the frame's origin in the parent, in metres.
    pub translation: [f64; 3],
    /// Quaternion x, y, z, w of the frame's orientation in the parent; of any length but zero.
    pub rotation: [f64; 4],
}

/// The positions of joints at one moment: `sensor_msgs/msg/JointState` without velocities and
/// efforts. If names and positions differ in number, the common part counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointPositions<'a> {
    /// Time of validity in ns of the publisher's clock; 0 if unknown.
    pub stamp: i64,
    /// Names of the joints.
    pub names: &'a [String],
    /// Their positions in the same order, in rad or m.
    pub positions: &'a [f64],
}

/// Identity of a publisher, unique during its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublisherId(pub [u8; 16]);

/// A publisher of a topic, as the ROS graph lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicPublisher {
    /// Its identity, if the graph has it.
    pub id: Option<PublisherId>,
    /// The name of its node, if the graph has it.
    pub node: Option<String>,
}
