//! What [`check`](super::check()) reports: the codes of its rules.

use crate::diagnostic::Code;

/// All of them, in the order of the specification's table.
pub const ALL: &[&Code] = super::rules::CODES;
