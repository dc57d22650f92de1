//! What can be the matter with the process itself.

use crate::diagnostic::{Code, Severity};

/// A folder cannot be watched for changes.
pub const WATCH: Code = Code {
    id: "bridge-watch",
    severity: Severity::Warning,
    meaning: "A folder cannot be watched for changes.",
    outcome: "The files in it are looked at every few seconds instead.",
};
/// The system refuses threads or signals.
pub const SYSTEM: Code = Code {
    id: "bridge-system",
    severity: Severity::Error,
    meaning: "The system refuses threads or signals.",
    outcome: "The node does not start.",
};
/// All of them.
pub const ALL: &[&Code] = &[&WATCH, &SYSTEM];
