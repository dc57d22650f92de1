//! Codes of findings about SRDF. Those of unreadable text are in [`crate::codes`].

use urdf_usd_diagnostic::codes;

codes! {
    OTHER_ROBOT Warning "srdf-other-robot": "An SRDF describes a robot with another name.", "Goes on; the SRDF is applied to this robot.";
    UNKNOWN_LINK Warning "srdf-unknown-link": "An SRDF names a link that the robot does not have. Each link is reported once.",
        "Goes on without the pairs that contain it.";
    NO_CHAIN Warning "srdf-no-chain": "The chain of a group in an SRDF ends at a link that is not a descendant of its base link.",
        "Goes on; the chain of the group's states is derived from their joints.";
    NO_LINK Warning "srdf-no-link": "An element of an SRDF lacks the attribute that names a link.",
        "Goes on without the element.";
    SAME_LINK Warning "srdf-same-link": "A pair of links in an SRDF names the same link twice.", "Goes on without the pair.";
    FRAME_IN_PAIR Info "srdf-frame-in-pair":
        "An SRDF pairs a link that has neither mass nor geometry, or is the world: it is a frame, not a body, and can't collide. Each \
         link is reported once.",
        "Goes on without the pairs that contain it.";
    TOO_MANY_PAIRS Error "srdf-too-many-pairs":
        "The links whose collisions an SRDF disables by default form more than a million pairs.",
        "Goes on with the first million.";
    UNNAMED_STATE Warning "srdf-unnamed-state": "A group state of an SRDF has no name.", "Goes on without the state.";
    STATE_WITHOUT_GROUP Warning "srdf-state-without-group": "A group state of an SRDF names no group.",
        "Goes on; the state belongs to the whole robot.";
    UNKNOWN_GROUP Info "srdf-unknown-group": "A group state names a group that the SRDF does not define.",
        "Goes on; the state keeps the name of its group.";
    REPEATED_STATE Warning "srdf-repeated-state": "A group has two states with the same name.", "Goes on with the last one, as MoveIt does.";
    EMPTY_STATE Warning "srdf-empty-state": "A group state sets no joint of the robot that can be set.",
        "Goes on without the state.";
    TOO_MANY_STATES Error "srdf-too-many-states": "An SRDF has more than a thousand group states.",
        "Goes on with the first thousand.";
    INCOMPLETE_JOINT Warning "srdf-incomplete-joint": "A joint of a group state lacks its name or its value.",
        "Goes on; the joint is left out of the state.";
    UNKNOWN_JOINT Warning "srdf-unknown-joint":
        "A group state names a joint that the robot does not have. Each joint is reported once.",
        "Goes on; the joint is left out of all states.";
    VIRTUAL_JOINT Info "srdf-virtual-joint":
        "A group state sets a virtual joint of the SRDF, which places the robot in the world.",
        "Goes on; the joint is left out of the state.";
    FIXED_JOINT Warning "srdf-fixed-joint": "A group state sets a fixed joint.",
        "Goes on; the joint is left out of the state.";
    FOLLOWER Info "srdf-mimic-joint": "A group state sets a mimic joint to the position that follows from its leader.",
        "Goes on; the joint is left out of the state and keeps mimicking.";
    FOLLOWER_APART Warning "srdf-mimic-joint-apart":
        "A group state sets a mimic joint without its leader, or to a position that does not follow from its leader.",
        "Goes on; the joint is left out of the state and keeps mimicking.";
    REPEATED_JOINT Warning "srdf-repeated-joint": "A group state sets a joint twice.", "Goes on with the first.";
    OUTSIDE_LIMITS Warning "srdf-outside-limits": "A group state sets a joint outside its limits.",
        "Goes on with the value as given.";
    VALUE_COUNT Warning "srdf-value-count": "A group state gives a joint the wrong number of values for its type.",
        "Goes on; the joint is left out of the state.";
    VALUE_NOT_HELD Warning "srdf-value-not-held":
        "A group state rotates a planar joint, or moves it along its axis; URDF's planar joint does neither.",
        "Goes on with the translation in the plane.";
    NO_ROTATION Warning "srdf-no-rotation": "The quaternion that a group state gives for a floating joint is zero.",
        "Goes on; the joint is left out of the state.";
}
