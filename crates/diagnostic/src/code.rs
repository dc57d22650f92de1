//! Codes of findings, and the macro with which a module declares its own.

use super::Severity;

/// A kind of finding. Codes are part of the contract: once published they keep their meaning.
///
/// Every module declares its own with [`codes!`](super::codes); `docs/diagnostics.md` is generated
/// from them.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Identifier in kebab-case, unique in the project: `urdf-unknown-link`.
    pub id: &'static str,
    /// Severity of every finding of this kind.
    pub severity: Severity,
    /// One sentence that says what is wrong.
    pub meaning: &'static str,
    /// What the conversion does about it: how it goes on, or that it stops.
    pub outcome: &'static str,
}

/// Declares the codes of a module (exported as `diagnostic::codes!`).
///
/// Each code becomes a constant that is documented by its meaning. `ALL` lists them in the order
/// given.
///
/// ```
/// urdf_usd_diagnostic::codes! {
///     UNKNOWN_LINK Error "example-unknown-link": "A joint names a link that the robot does not have.", "Goes on without the joint.";
///     NO_NAME Info "example-no-name": "The robot has no name.", "Goes on with `robot`.";
/// }
/// assert_eq!(ALL.len(), 2);
/// assert_eq!(UNKNOWN_LINK.id, "example-unknown-link");
/// ```
#[macro_export]
macro_rules! diagnostic_codes {
    ($($name:ident $severity:ident $id:literal: $meaning:literal, $outcome:expr;)*) => {
        $(
            #[doc = $meaning]
            pub const $name: $crate::Code = $crate::Code {
                id: $id,
                severity: $crate::Severity::$severity,
                meaning: $meaning,
                outcome: $outcome,
            };
        )*
        /// All codes of this module.
        pub const ALL: &[&$crate::Code] = &[$(&$name),*];
    };
}
