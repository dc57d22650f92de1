//! Diagnostic codes of [`check`](super::check()): one per rule.

use urdf_usd_diagnostic::Code;

/// All codes, in the order of the specification's table.
pub const ALL: &[&Code] = super::rules::CODES;
