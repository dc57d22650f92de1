//! The findings of this module.

use crate::diagnostic::{Code, Severity};

/// The HTTP address cannot be used.
pub const ADDRESS: Code = Code {
    id: "serve-address",
    severity: Severity::Error,
    meaning: "The HTTP address and port cannot be listened on.",
    outcome: "The node does not start.",
};

/// What `urdf_usd view` is given cannot be shown.
pub const VIEW: Code = Code {
    id: "serve-view",
    severity: Severity::Error,
    meaning: "What `urdf_usd view` is given is no asset with a glTF, or cannot be read.",
    outcome: "The command ends; if it was shown before, that stays.",
};

/// All of them.
pub const ALL: &[&Code] = &[&ADDRESS, &VIEW];
