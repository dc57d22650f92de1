//! The codes of what can be wrong with an SRDF. Those of texts that can't be read at all are
//! [`crate::codes`].

use urdf_usd_diagnostic::codes;

codes! {
    OTHER_ROBOT Warning "srdf-other-robot": "An SRDF is about a robot of another name.", "Goes on; it is taken for this robot's.";
    UNKNOWN_LINK Warning "srdf-unknown-link": "An SRDF names a link that the robot does not have. Each is reported once.",
        "Goes on without the pairs that it is part of.";
    NO_CHAIN Warning "srdf-no-chain": "The chain of a group of an SRDF ends at a link that does not hang on the link it begins with.",
        "Goes on; the chain of the group's states is found from their joints.";
    NO_LINK Warning "srdf-no-link": "An element of an SRDF that is about links lacks the attribute that names one.",
        "Goes on without the element.";
    SAME_LINK Warning "srdf-same-link": "A pair of links in an SRDF is one link twice.", "Goes on without the pair.";
    FRAME_IN_PAIR Info "srdf-frame-in-pair":
        "An SRDF says of a link whether it may collide that has neither mass nor geometry, or is the world: it is a frame, not a \
         body, and collides with nothing. Each is reported once.",
        "Goes on without the pairs that it is part of.";
    TOO_MANY_PAIRS Error "srdf-too-many-pairs":
        "An SRDF disables the collisions of so many links by default that there would be more than a million pairs.",
        "Goes on with the pairs up to there.";
    UNNAMED_STATE Warning "srdf-unnamed-state": "A group state of an SRDF has no name.", "Goes on without the state.";
    STATE_WITHOUT_GROUP Warning "srdf-state-without-group": "A group state of an SRDF does not say which group it is of.",
        "Goes on; the state is one of the robot.";
    UNKNOWN_GROUP Info "srdf-unknown-group": "A group state is of a group that the SRDF does not have.",
        "Goes on; the state keeps the name of its group.";
    REPEATED_STATE Warning "srdf-repeated-state": "A group has two states of one name.", "Goes on with the last, as MoveIt does.";
    EMPTY_STATE Warning "srdf-empty-state": "A group state sets no joint of the robot, or none that can be set.",
        "Goes on without the state.";
    TOO_MANY_STATES Error "srdf-too-many-states": "An SRDF has more than a thousand group states.",
        "Goes on with those up to there.";
    INCOMPLETE_JOINT Warning "srdf-incomplete-joint": "A joint of a group state lacks its name or its value.",
        "Goes on; the state goes without the joint.";
    UNKNOWN_JOINT Warning "srdf-unknown-joint":
        "A group state names a joint that the robot does not have. Each is reported once.",
        "Goes on; states go without the joint.";
    VIRTUAL_JOINT Info "srdf-virtual-joint":
        "A group state sets a virtual joint of the SRDF, which says where the robot stands in the world.",
        "Goes on; the state goes without the joint.";
    FIXED_JOINT Warning "srdf-fixed-joint": "A group state sets a joint that is fixed.",
        "Goes on; the state goes without the joint.";
    FOLLOWER Info "srdf-mimic-joint": "A group state sets a joint that follows another to where it is by that.",
        "Goes on; the state goes without the joint, which follows all the same.";
    FOLLOWER_APART Warning "srdf-mimic-joint-apart":
        "A group state sets a joint that follows another, but not that other, or to where the joint is not by following.",
        "Goes on; the state goes without the joint, which follows all the same.";
    REPEATED_JOINT Warning "srdf-repeated-joint": "A joint stands twice in a group state.", "Goes on with the first.";
    OUTSIDE_LIMITS Warning "srdf-outside-limits": "A group state puts a joint outside its limits.",
        "Goes on with the value as it is.";
    VALUE_COUNT Warning "srdf-value-count": "A joint of a group state has another count of values than its type takes.",
        "Goes on; the state goes without the joint.";
    VALUE_NOT_HELD Warning "srdf-value-not-held":
        "A group state turns a planar joint, or moves it along its axis, which URDF's planar joint can't do.",
        "Goes on with the movement across the axis.";
    NO_ROTATION Warning "srdf-no-rotation": "The quaternion that a group state gives for a floating joint is zero.",
        "Goes on; the state goes without the joint.";
}
