//! Codes of findings about XRDF.
//!
//! Violations of the specification are errors: planners refuse such a file, or misread it. The robot
//! is converted with the rest.

use urdf_usd_diagnostic::codes;

codes! {
    MALFORMED Error "xrdf-malformed-yaml": "The text of an XRDF is not YAML, or is too long.",
        "Goes on without the XRDF.";
    NOT_XRDF Error "xrdf-not-xrdf": "The text does not declare that it is an XRDF (`format: xrdf`).",
        "Goes on without the XRDF.";
    VERSION Warning "xrdf-version": "The version of an XRDF (`format_version`) is unknown.",
        "Goes on; elements of versions 1.0 and 2.0 are both accepted.";
    OTHER_VERSION Warning "xrdf-other-version": "An XRDF contains an element of another version: `world_collision` and `clone` belong to 2.0, `collision` to 1.0.",
        "Goes on; the element is read nevertheless.";
    MISSING Error "xrdf-missing": "A required entry of an XRDF is missing.",
        "Goes on without the section that lacks it.";
    WRONG_FORM Error "xrdf-wrong-form": "A value has the wrong type; expected is a number, a name, a list or a map.",
        "Goes on without the value.";
    BAD_VALUE Error "xrdf-bad-value": "A value is invalid: a limit that is not positive, a quaternion of length zero, the joint of an added frame that is not fixed.",
        "Goes on without the limit or the frame; a revolute, continuous or prismatic joint is added with the axis x.";
    JOINT_TYPE_CASE Warning "xrdf-joint-type-case": "The joint type of an added frame is not written FIXED, in capital letters.",
        "Goes on; it is read as FIXED.";
    NOT_UNIT Warning "xrdf-not-unit": "The quaternion of an added frame does not have length 1.",
        "Goes on with the normalised quaternion.";
    UNKNOWN_KEY Warning "xrdf-unknown-key": "An XRDF has an entry that its specification does not define.",
        "Goes on without the entry.";
    UNKNOWN_MODIFIER Error "xrdf-unknown-modifier": "`modifiers` has an entry other than `add_frame` and `set_base_frame`.",
        "Goes on without the entry.";
    REPEATED_KEY Error "xrdf-repeated-key": "A key of a map is repeated, such as a section or a geometry group; YAML 1.2 wants unique keys.",
        "Goes on with the first one.";
    REPEATED Warning "xrdf-repeated": "A name in a list, a frame with spheres or ignored frames, or a document is repeated.",
        "Goes on with the first one; spheres and ignored frames of a repeated frame are united.";
    REPEATED_JOINT Error "xrdf-repeated-joint": "A joint is repeated in `default_joint_positions` or in the configuration space.",
        "Goes on with the first one.";
    NO_COORDINATE Error "xrdf-no-coordinate": "The configuration space lists no joint, although the robot has movable ones.",
        "Goes on without a configuration space.";
    UNKNOWN_JOINT Error "xrdf-unknown-joint": "An XRDF names a joint that the robot does not have. Each joint is reported once.",
        "Goes on without the entries for the joint.";
    JOINT_KIND Error "xrdf-joint-type": "A fixed, planar or floating joint is named where a joint with one degree of freedom is required.",
        "Goes on without the entries for the joint.";
    MIMIC_JOINT Error "xrdf-mimic-joint": "A joint that mimics another one in the robot's description is named where an independent joint is required.",
        "Goes on without the entries for the joint, which keeps mimicking.";
    OUTSIDE_LIMITS Error "xrdf-outside-limits": "The default position of a joint is outside its limits.",
        "Goes on with the nearest limit.";
    UNEQUAL_LENGTHS Error "xrdf-unequal-lengths": "The configuration space does not have exactly one limit for each of its joints.",
        "Goes on without the ambiguous limits.";
    UNKNOWN_FRAME Error "xrdf-unknown-frame": "An XRDF names a frame that is neither a link nor a frame that it adds. Each frame is reported once.",
        "Goes on without the entries for the frame.";
    CIRCULAR_FRAMES Error "xrdf-circular-frames": "Added frames are each other's parents: a cycle of frames.",
        "Goes on without these frames.";
    UNKNOWN_GEOMETRY Error "xrdf-unknown-geometry": "A collision section, or `clone` in a geometry group, names a geometry group that the XRDF does not define.",
        "Goes on without the reference.";
    CIRCULAR_CLONE Error "xrdf-circular-clone": "A geometry group clones itself, directly or through others.",
        "Goes on; the group gets the spheres of each group of the cycle once.";
    TWO_GEOMETRIES Error "xrdf-two-geometries": "Self-collision and collision use different geometry groups, which version 1.0 does not allow.",
        "Goes on.";
    SEVERAL_GEOMETRIES Warning "xrdf-several-geometries": "An XRDF of version 1.0 has several geometry groups; programs for this version use one.",
        "Goes on with all of them.";
    NO_SPHERE Info "xrdf-no-sphere": "The radius of a sphere, plus the larger buffer distance of its frame, is not positive. Each frame is reported once.",
        "Goes on; the sphere can't collide.";
    TOO_MANY_SPHERES Error "xrdf-too-many-spheres": "An XRDF has more than ten thousand spheres, cloned ones included, or more than ten thousand clones.",
        "Goes on with the first ten thousand.";
    SELF_COLLISION Error "xrdf-self-collision": "At the default joint positions, the spheres of two frames touch whose collisions are not ignored.",
        "Goes on.";
    SAME_FRAME Warning "xrdf-same-frame": "A frame ignores collisions with itself.",
        "Goes on without the pair.";
    FRAME_IN_PAIR Info "xrdf-frame-in-pair": "A pair of frames whose collisions are ignored contains a link without mass, geometry and spheres, or the world, which can't collide. Each frame is reported once.",
        "Goes on.";
    NAME_TAKEN Error "xrdf-name-taken": "An added frame, or its joint, has a name that is already in use.",
        "Goes on without the frame.";
    TOO_MANY_FRAMES Error "xrdf-too-many-frames": "An XRDF adds more than a thousand frames.",
        "Goes on with the first thousand.";
    BASE_SET Info "xrdf-base-set": "Links and joints that are not below the root that an XRDF sets (`set_base_frame`) are removed from the asset.",
        "Goes on. A base that fixed joints connect to a link named `world` stays fixed. A base that moved in the world by a joint above it is free, unless `--base fixed` is given.";
    ABOVE_BASE Error "xrdf-above-base": "An XRDF sets the root, but names a frame or joint that is not below it.",
        "Goes on without the entries for the frame or joint, which is not part of the asset.";
    BASE_ADDED Error "xrdf-base-added": "An XRDF makes a frame the root that it adds itself; only a link of the robot can be the root.",
        "Goes on with the present root.";
    TWO_BASES Error "xrdf-two-bases": "An XRDF sets two different roots.",
        "Goes on with the first one.";
    LEADER_GONE Warning "xrdf-leader-gone": "A joint mimics a joint that is removed, because it is not below the new root.",
        "Goes on; the joint moves independently.";
    FRAMES_ADDED Info "xrdf-frames-added": "An XRDF adds frames (`add_frame`); each becomes a link with a fixed joint.",
        "Goes on. Their transforms are missing from /tf unless another node publishes them: robot_state_publisher only knows the URDF.";
    MORE_FINDINGS Info "xrdf-more-findings": "The limit of 1000 findings is reached.",
        "Goes on; further findings are only counted.";
}
