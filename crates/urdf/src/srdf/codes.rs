//! The codes of what can be wrong with an SRDF. Those of texts that can't be read at all are [`crate::codes`].

use urdf_usd_diagnostic::{Code, Severity};

/// It is about a robot of another name.
pub const OTHER_ROBOT: Code = Code {
    id: "srdf-other-robot",
    severity: Severity::Warning,
    meaning: "An SRDF is about a robot of another name.",
    outcome: "Goes on; it is taken for this robot's.",
};
/// It names a link that is not there.
pub const UNKNOWN_LINK: Code = Code {
    id: "srdf-unknown-link",
    severity: Severity::Warning,
    meaning: "An SRDF names a link that the robot does not have. Each is reported once.",
    outcome: "Goes on without the pairs that it is part of.",
};
/// It does not say which link.
pub const NO_LINK: Code = Code {
    id: "srdf-no-link",
    severity: Severity::Warning,
    meaning: "An element of an SRDF that is about links lacks the attribute that names one.",
    outcome: "Goes on without the element.",
};
/// A pair of one link.
pub const SAME_LINK: Code = Code {
    id: "srdf-same-link",
    severity: Severity::Warning,
    meaning: "A pair of links in an SRDF is one link twice.",
    outcome: "Goes on without the pair.",
};
/// A pair of something that has no collisions.
pub const FRAME_IN_PAIR: Code = Code {
    id: "srdf-frame-in-pair",
    severity: Severity::Info,
    meaning: "An SRDF says of a link whether it may collide that has neither mass nor geometry, or is the world: it is a frame, not a body, and collides with nothing. Each is reported once.",
    outcome: "Goes on without the pairs that it is part of.",
};
/// More than anyone could check.
pub const TOO_MANY_PAIRS: Code = Code {
    id: "srdf-too-many-pairs",
    severity: Severity::Error,
    meaning: "An SRDF disables the collisions of so many links by default that there would be more than a million pairs.",
    outcome: "Goes on with the pairs up to there.",
};

/// It has no name.
pub const UNNAMED_STATE: Code = Code {
    id: "srdf-unnamed-state",
    severity: Severity::Warning,
    meaning: "A group state of an SRDF has no name.",
    outcome: "Goes on without the state.",
};
/// Nobody knows which group it is of.
pub const STATE_WITHOUT_GROUP: Code = Code {
    id: "srdf-state-without-group",
    severity: Severity::Warning,
    meaning: "A group state of an SRDF does not say which group it is of.",
    outcome: "Goes on; the state is one of the robot.",
};
/// Its group is not there.
pub const UNKNOWN_GROUP: Code = Code {
    id: "srdf-unknown-group",
    severity: Severity::Info,
    meaning: "A group state is of a group that the SRDF does not have.",
    outcome: "Goes on; the state keeps the name of its group.",
};
/// Its name is taken.
pub const REPEATED_STATE: Code = Code {
    id: "srdf-repeated-state",
    severity: Severity::Warning,
    meaning: "A group has two states of one name.",
    outcome: "Goes on with the last, as MoveIt does.",
};
/// It sets nothing.
pub const EMPTY_STATE: Code = Code {
    id: "srdf-empty-state",
    severity: Severity::Warning,
    meaning: "A group state sets no joint of the robot, or none that can be set.",
    outcome: "Goes on without the state.",
};
/// More than anyone could use.
pub const TOO_MANY_STATES: Code = Code {
    id: "srdf-too-many-states",
    severity: Severity::Error,
    meaning: "An SRDF has more than a thousand group states.",
    outcome: "Goes on with those up to there.",
};
/// A joint of it is nothing.
pub const INCOMPLETE_JOINT: Code = Code {
    id: "srdf-incomplete-joint",
    severity: Severity::Warning,
    meaning: "A joint of a group state lacks its name or its value.",
    outcome: "Goes on; the state goes without the joint.",
};
/// A joint of it is not there.
pub const UNKNOWN_JOINT: Code = Code {
    id: "srdf-unknown-joint",
    severity: Severity::Warning,
    meaning: "A group state names a joint that the robot does not have. Each is reported once.",
    outcome: "Goes on; states go without the joint.",
};
/// A joint of it is between the robot and the world.
pub const VIRTUAL_JOINT: Code = Code {
    id: "srdf-virtual-joint",
    severity: Severity::Info,
    meaning: "A group state sets a virtual joint of the SRDF, which says where the robot stands in the world.",
    outcome: "Goes on; the state goes without the joint.",
};
/// A joint of it can't move.
pub const FIXED_JOINT: Code = Code {
    id: "srdf-fixed-joint",
    severity: Severity::Warning,
    meaning: "A group state sets a joint that is fixed.",
    outcome: "Goes on; the state goes without the joint.",
};
/// A joint of it follows another.
pub const FOLLOWER: Code = Code {
    id: "srdf-mimic-joint",
    severity: Severity::Info,
    meaning: "A group state sets a joint that follows another to where it is by that.",
    outcome: "Goes on; the state goes without the joint, which follows all the same.",
};
/// A joint of it should follow another and does not.
pub const FOLLOWER_APART: Code = Code {
    id: "srdf-mimic-joint-apart",
    severity: Severity::Warning,
    meaning: "A group state sets a joint that follows another, but not that other, or to where the joint is not by following.",
    outcome: "Goes on; the state goes without the joint, which follows all the same.",
};
/// A joint stands in it twice.
pub const REPEATED_JOINT: Code = Code {
    id: "srdf-repeated-joint",
    severity: Severity::Warning,
    meaning: "A joint stands twice in a group state.",
    outcome: "Goes on with the first.",
};
/// A joint of it is beyond its limits.
pub const OUTSIDE_LIMITS: Code = Code {
    id: "srdf-outside-limits",
    severity: Severity::Warning,
    meaning: "A group state puts a joint outside its limits.",
    outcome: "Goes on with the value as it is.",
};
/// Too many or too few values.
pub const VALUE_COUNT: Code = Code {
    id: "srdf-value-count",
    severity: Severity::Warning,
    meaning: "A joint of a group state has another count of values than its type takes.",
    outcome: "Goes on; the state goes without the joint.",
};
/// A value that URDF's joint can't have.
pub const VALUE_NOT_HELD: Code = Code {
    id: "srdf-value-not-held",
    severity: Severity::Warning,
    meaning: "A group state turns a planar joint, or moves it along its axis, which URDF's planar joint can't do.",
    outcome: "Goes on with the movement across the axis.",
};
/// A quaternion of zero.
pub const NO_ROTATION: Code = Code {
    id: "srdf-no-rotation",
    severity: Severity::Warning,
    meaning: "The quaternion that a group state gives for a floating joint is zero.",
    outcome: "Goes on; the state goes without the joint.",
};

/// All codes of this module.
pub const ALL: &[&Code] = &[
    &OTHER_ROBOT,
    &UNKNOWN_LINK,
    &NO_LINK,
    &SAME_LINK,
    &FRAME_IN_PAIR,
    &TOO_MANY_PAIRS,
    &UNNAMED_STATE,
    &STATE_WITHOUT_GROUP,
    &UNKNOWN_GROUP,
    &REPEATED_STATE,
    &EMPTY_STATE,
    &TOO_MANY_STATES,
    &INCOMPLETE_JOINT,
    &UNKNOWN_JOINT,
    &VIRTUAL_JOINT,
    &FIXED_JOINT,
    &FOLLOWER,
    &FOLLOWER_APART,
    &REPEATED_JOINT,
    &OUTSIDE_LIMITS,
    &VALUE_COUNT,
    &VALUE_NOT_HELD,
    &NO_ROTATION,
];
