//! The codes of what can go wrong with xacro. Those of the URDF that it makes are [`crate::codes`].

use urdf_usd_diagnostic::{Code, Severity};

/// The program is not there.
pub const NOT_INSTALLED: Code = Code {
    id: "xacro-not-installed",
    severity: Severity::Error,
    meaning: "The input is xacro, and no program named xacro is in PATH.",
    outcome: "Nothing is converted.",
};
/// The program says that something is wrong.
pub const FAILED: Code = Code {
    id: "xacro-failed",
    severity: Severity::Error,
    meaning: "The program xacro could not expand the input. The message is its own; the line is where it says, or where the only text \
        that fits stands.",
    outcome: "Nothing is converted.",
};
/// The program does not end.
pub const TIMEOUT: Code = Code {
    id: "xacro-timeout",
    severity: Severity::Error,
    meaning: "The program xacro did not end within a minute.",
    outcome: "It is ended; nothing is converted.",
};
/// The program warns.
pub const WARNING: Code = Code {
    id: "xacro-warning",
    severity: Severity::Warning,
    meaning: "The program xacro expanded the input, and warns of something in it.",
    outcome: "Goes on with what it made.",
};

/// All of them.
pub const ALL: &[&Code] = &[&NOT_INSTALLED, &FAILED, &TIMEOUT, &WARNING];
