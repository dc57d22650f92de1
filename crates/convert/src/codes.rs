//! The findings of the pipeline itself.

use urdf_usd_diagnostic::{Code, Severity};

pub const SOURCE_KIND: Code = Code {
    id: "source-kind",
    severity: Severity::Error,
    meaning: "The input is of a kind that cannot be converted.",
    outcome: "Nothing is converted.",
};
pub const TEXTURE_WITHOUT_COORDINATES: Code = Code {
    id: "texture-without-coordinates",
    severity: Severity::Warning,
    meaning: "A texture is given for a shape that has no texture coordinates: a primitive, or a mesh without any.",
    outcome: "The shape shows the mean colour of the picture; how it would lie on it is not defined.",
};
pub const CONTROLLER_FILE: Code = Code {
    id: "controller-file-unread",
    severity: Severity::Warning,
    meaning: "A file that says which controllers the robot has can't be read.",
    outcome: "Goes on; if no other names any, the robot has controllers by convention.",
};
pub const STAND_IN: Code = Code {
    id: "stand-in",
    severity: Severity::Info,
    meaning: "A box stands in for a visual mesh that can't be read, as was asked for: around the link's colliders, or with its mass \
        and inertia.",
    outcome: "The visual shows the box, under its own name and with its own material; other lost meshes of the link show nothing.",
};
pub const NO_STAND_IN: Code = Code {
    id: "stand-in-none",
    severity: Severity::Info,
    meaning: "A box was asked for in place of a visual mesh that can't be read, but nothing says how large the link is.",
    outcome: "The visual shows nothing.",
};
pub const OUTPUT: Code = Code {
    id: "output-unwritable",
    severity: Severity::Error,
    meaning: "The asset cannot be written.",
    outcome: "Nothing is published; the last revision stays.",
};
pub const SIMREADY_INCOMPLETE: Code = Code {
    id: "simready-incomplete",
    severity: Severity::Warning,
    meaning: "SimReady's metadata is asked for, and something that it must say is not known: who made the robot, or its licence.",
    outcome: "The field is left out of the metadata; SimReady's validation will name it.",
};
pub const TYPE_MISSING: Code = Code {
    id: "ros-type-missing",
    severity: Severity::Warning,
    meaning: "A ROS workspace is sourced (AMENT_PREFIX_PATH), and it does not have the type of a topic, service or action of the asset.",
    outcome: "The interface is in the asset all the same. A simulator that does not find the type leaves it out (REP-158 §2.3).",
};
pub const TOO_MUCH_MESH: Code = Code {
    id: "convert-too-much-mesh",
    severity: Severity::Error,
    meaning: "The meshes of a robot together have more than 16 Mi triangles, or their files more than 2 GiB.",
    outcome: "Nothing is published; the last revision stays.",
};
pub const TIMED_OUT: Code = Code {
    id: "convert-timed-out",
    severity: Severity::Error,
    meaning: "The conversion took longer than its time limit.",
    outcome: "Nothing is published; the last revision stays.",
};
pub const CANCELLED: Code = Code {
    id: "convert-cancelled",
    severity: Severity::Error,
    meaning: "The conversion was called off before it was done.",
    outcome: "Nothing is published; the last revision stays.",
};
pub const INTERNAL: Code = Code {
    id: "internal-error",
    severity: Severity::Error,
    meaning: "A defect of urdf_usd.",
    outcome: "Nothing is published; the last revision stays.",
};

/// All codes of this module.
pub const ALL: &[&Code] = &[
    &SOURCE_KIND,
    &TEXTURE_WITHOUT_COORDINATES,
    &CONTROLLER_FILE,
    &STAND_IN,
    &NO_STAND_IN,
    &OUTPUT,
    &SIMREADY_INCOMPLETE,
    &TYPE_MISSING,
    &TOO_MUCH_MESH,
    &TIMED_OUT,
    &CANCELLED,
    &INTERNAL,
];
