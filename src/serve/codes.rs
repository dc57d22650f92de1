//! The findings of this module.

use crate::diagnostic::{Code, Severity};

/// The HTTP address cannot be used.
pub const ADDRESS: Code = Code {
    id: "serve-address",
    severity: Severity::Error,
    meaning: "The HTTP address and port cannot be listened on.",
    outcome: "The node does not start.",
};

/// All of them.
pub const ALL: &[&Code] = &[&ADDRESS];
