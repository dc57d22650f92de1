//! The codes of invalid queries about a robot's joints and links.

use urdf_usd_diagnostic::codes;

codes! {
    UNKNOWN_JOINT Error "pose-unknown-joint": "An option or a pose names a joint that the robot does not have.", "Nothing is worked out; the pose is not stored.";
    UNKNOWN_LINK Error "pose-unknown-link": "An option or a pose names a link that the robot does not have.", "Nothing is worked out; the pose is not stored.";
    UNKNOWN_POSE Error "pose-unknown": "An option names a pose that neither the robot nor its SRDF has, or that several groups have.", "Nothing is worked out.";
    POSITIONS Error "pose-positions":
        "A joint is given another number of positions than it has: one, but none for a fixed joint, two for a planar and six for a floating one.",
        "Nothing is worked out.";
    FOLLOWS Error "pose-follows": "A position is given for a joint that follows another, that only closes a loop, or that no pose can set.", "Nothing is worked out; the pose is not stored.";
    OUT_OF_LIMITS Warning "pose-out-of-limits": "A joint is put where its limits, or those of a joint that follows it, do not let it be.",
        "Poses of links are those for the position as it is given; inverse kinematics starts from the limit; a pose is stored and marked as not valid.";
    NO_WAY Error "pose-no-way": "No joints lead from one link to another: they are in two trees.", "Nothing is worked out.";
    NO_MOTION Error "ik-no-motion": "Nothing between two links moves, or all of it is held.", "Nothing is solved.";
    NOT_REACHED Error "ik-not-reached":
        "No joint positions within limits were found that bring every link to its target: it is out of reach, or more attempts are needed.",
        "The joint positions that come nearest are printed, with how far off they are.";
}
