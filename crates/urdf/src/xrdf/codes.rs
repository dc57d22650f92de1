//! The codes of what can be wrong with an XRDF.

use urdf_usd_diagnostic::codes;

codes! {
    MALFORMED Error "xrdf-malformed-yaml": "The text of an XRDF is not YAML, or is too long.",
        "Goes on without the XRDF.";
    NOT_XRDF Error "xrdf-not-xrdf": "The text does not say that it is an XRDF (`format: xrdf`).",
        "Goes on without the XRDF.";
    VERSION Warning "xrdf-version": "The version of an XRDF (`format_version`) is not known.",
        "Goes on; it is read as version 1.0 or 2.0, whatever it has.";
    OTHER_VERSION Warning "xrdf-other-version": "Something in an XRDF is of another version than it says: `world_collision` and `clone` are of 2.0, `collision` of 1.0.",
        "Goes on; it is read all the same.";
    MISSING Error "xrdf-missing": "Something that every XRDF must have, or every part of this kind, is missing.",
        "Goes on without the part that lacks it.";
    WRONG_FORM Warning "xrdf-wrong-form": "A value is of another form than it should be: a number, a name, a list or a map.",
        "Goes on without the value.";
    BAD_VALUE Warning "xrdf-bad-value": "A number is not one that can stand there: a limit that is not positive, a quaternion that is no rotation.",
        "Goes on without the part that it is in; a quaternion that is not of unit length is made so.";
    UNKNOWN_KEY Info "xrdf-unknown-key": "An XRDF has an entry that its specification does not know.",
        "Goes on without the entry.";
    REPEATED Warning "xrdf-repeated": "Something stands twice where it may stand once: an entry, a name in a list, a document.",
        "Goes on with the first.";
    UNKNOWN_JOINT Warning "xrdf-unknown-joint": "An XRDF names a joint that the robot does not have. Each is reported once.",
        "Goes on without what is said of the joint.";
    JOINT_KIND Warning "xrdf-joint-type": "A joint that is fixed, planar or floating stands where only one can that has a single position.",
        "Goes on without what is said of the joint.";
    MIMIC_JOINT Warning "xrdf-mimic-joint": "A joint that follows another stands where only one can that moves by itself.",
        "Goes on without what is said of the joint, which follows all the same.";
    OUTSIDE_LIMITS Warning "xrdf-outside-limits": "The default position of a joint is outside its limits.",
        "Goes on with the limit that is next to it.";
    UNEQUAL_LENGTHS Warning "xrdf-unequal-lengths": "The configuration space has not one limit for each of its joints.",
        "Goes on without the limits that are not those of one joint for sure.";
    UNKNOWN_FRAME Warning "xrdf-unknown-frame": "An XRDF names a frame that is neither a link nor a frame that it adds. Each is reported once.",
        "Goes on without what is said of the frame.";
    UNKNOWN_GEOMETRY Warning "xrdf-unknown-geometry": "A collision section, or a geometry group that clones others, names a geometry group that the XRDF does not have.",
        "Goes on without it.";
    CIRCULAR_CLONE Error "xrdf-circular-clone": "A geometry group clones itself, by way of others or not.",
        "Goes on; it has the spheres of each group of the circle once.";
    TWO_GEOMETRIES Warning "xrdf-two-geometries": "Self-collision and collision use different geometry groups, which version 1.0 does not allow.",
        "Goes on.";
    SEVERAL_GEOMETRIES Warning "xrdf-several-geometries": "An XRDF has several geometry groups, of which programs for version 1.0 use one.",
        "Goes on with all of them.";
    NO_SPHERE Info "xrdf-no-sphere": "A sphere has no radius above zero, with the larger of the buffer distances of its frame. Each frame is reported once.",
        "Goes on with it; it is held off nothing.";
    TOO_MANY_SPHERES Error "xrdf-too-many-spheres": "An XRDF has more than ten thousand spheres, those that groups have of others included, or its groups clone others more than ten thousand times.",
        "Goes on with those up to there.";
    SELF_COLLISION Warning "xrdf-self-collision": "At the default joint positions spheres of two frames touch that are to be held off each other.",
        "Goes on.";
    SAME_FRAME Warning "xrdf-same-frame": "A frame is told to ignore collisions with itself.",
        "Goes on without the pair.";
    FRAME_IN_PAIR Info "xrdf-frame-in-pair": "A pair of frames whose collisions are to be ignored names a link without mass, geometry and spheres, or the world: it collides with nothing. Each is reported once.",
        "Goes on.";
    NAME_TAKEN Warning "xrdf-name-taken": "A frame that is to be added, or its joint, has a name that is taken.",
        "Goes on without the frame.";
    TOO_MANY_FRAMES Error "xrdf-too-many-frames": "An XRDF adds more than a thousand frames.",
        "Goes on with those up to there.";
    BASE_SET Info "xrdf-base-set": "What is not below the frame that an XRDF makes the root (`set_base_frame`) is not part of the asset.",
        "Goes on. A base that fixed joints hold to a link named `world` is held as before. One that moves in the world by a joint above it is free, unless `--base fixed` says otherwise.";
    ABOVE_BASE Warning "xrdf-above-base": "An XRDF makes a frame the root, and yet names a frame or joint that is not below it.",
        "Goes on without what is said of it, which is not part of the asset.";
    BASE_ADDED Warning "xrdf-base-added": "The frame that is to be the root is one that the XRDF adds; only a link of the robot can be.",
        "Goes on with the root that there is.";
    TWO_BASES Warning "xrdf-two-bases": "An XRDF makes two frames the root.",
        "Goes on with the first.";
    LEADER_GONE Warning "xrdf-leader-gone": "A joint follows another that is gone, since it is not below the new root.",
        "Goes on with a joint that moves by itself.";
    FRAMES_ADDED Info "xrdf-frames-added": "Frames of an XRDF (`add_frame`) are part of the asset, each a link with a fixed joint.",
        "Goes on. Their transforms are not on /tf unless something publishes them: robot_state_publisher only knows the URDF.";
    MORE_FINDINGS Info "xrdf-more-findings": "There are more findings than are reported (1000).",
        "Goes on.";
}
