//! The codes of what can be wrong with an SRDF. Those of texts that can't be read at all are [`crate::urdf::codes`].

use crate::diagnostic::{Code, Severity};

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
/// More than anyone could check.
pub const TOO_MANY_PAIRS: Code = Code {
    id: "srdf-too-many-pairs",
    severity: Severity::Error,
    meaning: "An SRDF disables the collisions of so many links by default that there would be more than a million pairs.",
    outcome: "Goes on with the pairs up to there.",
};

/// All codes of this module.
pub const ALL: &[&Code] = &[&OTHER_ROBOT, &UNKNOWN_LINK, &NO_LINK, &SAME_LINK, &TOO_MANY_PAIRS];
