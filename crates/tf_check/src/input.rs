//! What is heard of running robots, as whoever hears it hands it over.

/// A transform of a frame in its parent, as one message on `/tf` or `/tf_static` has many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform<'a> {
    /// The parent frame. A leading slash means nothing.
    pub parent: &'a str,
    /// The frame. A leading slash means nothing.
    pub child: &'a str,
    /// When it holds, in ns of the publisher's clock; 0 if that is not said.
    pub stamp: i64,
    /// x, y, z of the frame's origin in the parent, metres.
    pub translation: [f64; 3],
    /// x, y, z, w of the quaternion that turns the frame in the parent; of any length but zero.
    pub rotation: [f64; 4],
}

/// The positions of joints at one moment: `sensor_msgs/msg/JointState` without velocities and
/// efforts. Of names and positions in different numbers the common part counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointPositions<'a> {
    /// When they hold, in ns of the publisher's clock; 0 if that is not said.
    pub stamp: i64,
    /// The joints.
    pub names: &'a [String],
    /// Their positions in the same order, radians or metres.
    pub positions: &'a [f64],
}

/// Who published something: unique while that publisher lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublisherId(pub [u8; 16]);
