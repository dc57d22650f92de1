//! What [`check`](super::check()) reports: the codes of its rules.

use urdf_usd_diagnostic::Code;

/// All of them, in the order of the specification's table.
pub const ALL: &[&Code] = super::rules::CODES;
