//! The findings of the USD writer.

use urdf_usd_diagnostic::{Code, Severity};

pub const NAME_ENCODED: Code = Code {
    id: "usd-name-encoded",
    severity: Severity::Warning,
    meaning: "USD cannot hold the name of a link that becomes a rigid body, or a sibling has it already.",
    outcome: "The prim gets the nearest name that USD can hold and the original as displayName. Simulators take a body's TF frame \
              from the prim's name (REP-158 §2.7), so they publish the encoded one.",
};
pub const FRAME_ID: Code = Code {
    id: "usd-frame-id",
    severity: Severity::Warning,
    meaning: "The name of a link that is a TF frame is none that ROS allows: it has other characters than letters, digits and \
              underscores of ASCII, or a digit in front. tf2 takes it, but REP-158 (§2.7) does not.",
    outcome: "The frame keeps its name in the asset (`ros:frame:id`, or the prim's name). The REP-158 checker finds fault with it, and \
              simulators may publish the frame under another name.",
};
pub const MASS_MISSING: Code = Code {
    id: "link-without-mass",
    severity: Severity::Warning,
    meaning: "A link that must be a rigid body has no mass, or none above zero.",
    outcome: "It gets the mass and inertia of a ball of 1 g and 5 cm radius, and never one computed from a density.",
};
pub const INERTIA_REPAIRED: Code = Code {
    id: "inertia-repaired",
    severity: Severity::Info,
    meaning: "A link has a mass, but an inertia tensor that no body has: a principal moment that is not above zero, or one that \
              is above the sum of the other two.",
    outcome: "A moment that is not above zero becomes a thousandth of the largest one. If the largest is then above the sum of \
              the others, each of these gets half of what lacks. If none is above zero, they become those \
              of a ball of the same mass and 5 cm radius.",
};
pub const NEWTON_MIMIC: Code = Code {
    id: "newton-mimic-left-out",
    severity: Severity::Warning,
    meaning: "The overlay newton is asked for, and a joint follows another in a way that Newton cannot express: one turns and the \
              other slides, one has not exactly one degree of freedom, or they are in different trees.",
    outcome: "In Newton the joint moves freely. The neutral layers say that it follows.",
};
pub const TOO_MANY_PAIRS: Code = Code {
    id: "usd-too-many-pairs",
    severity: Severity::Warning,
    meaning: "The pairs of links that need no collision check take more than 64 MiB of paths.",
    outcome: "Those of the links up to there are written.",
};
pub const BODIES_FLAT: Code = Code {
    id: "usd-bodies-flat",
    severity: Severity::Warning,
    meaning: "The links are nested so deeply (more than 64), or have so long names, that paths through all of them would be written again \
              and again.",
    outcome: "The prims of all bodies stand in the default prim, as with --bodies flat, and their joints beside them. Joints and TF \
              frames are the same (docs/frames.md says what is different for a body that hangs on a frame); the asset no longer nests links \
              as REP-158 has it.",
};
pub const FRAMES_FLAT: Code = Code {
    id: "usd-frames-flat",
    severity: Severity::Warning,
    meaning: "Links that are only frames hang on each other so deeply (more than 64) that paths through all of them would be written again \
              and again.",
    outcome: "The prim of each frame stands in the body that it is rigid in, in its place; bodies stand in the default prim. A frame's \
              parent in TF is then that body, not the frame before it.",
};
pub const RIGID_LOOP: Code = Code {
    id: "usd-loop-in-body",
    severity: Severity::Warning,
    meaning: "A joint that moves closes a loop between two links of one rigid body, so it cannot move.",
    outcome: "The joint has no prim. Its words stay with the link that it leads to.",
};
pub const INTERNAL: Code = Code {
    id: "usd-internal-error",
    severity: Severity::Error,
    meaning: "A layer could not be authored: a defect of urdf_usd.",
    outcome: "The layer is left out.",
};

/// All codes of this module.
pub const ALL: &[&Code] = &[
    &NAME_ENCODED,
    &FRAME_ID,
    &MASS_MISSING,
    &INERTIA_REPAIRED,
    &NEWTON_MIMIC,
    &TOO_MANY_PAIRS,
    &BODIES_FLAT,
    &FRAMES_FLAT,
    &RIGID_LOOP,
    &INTERNAL,
];
