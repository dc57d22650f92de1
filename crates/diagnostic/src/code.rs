//! What a code is, and how a module declares its own.

use super::Severity;

/// A kind of finding. Codes are part of the contract: once published they keep their meaning.
///
/// Every module declares its own with [`codes!`](super::codes); `docs/diagnostics.md` is made from
/// them.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Kebab-case, unique in the project: `urdf-unknown-link`.
    pub id: &'static str,
    /// The severity it is reported with.
    pub severity: Severity,
    /// What it means, in a sentence.
    pub meaning: &'static str,
    /// What the conversion does about it: how it goes on, or that it stops.
    pub outcome: &'static str,
}

/// Declares the codes of a module, by the name `diagnostic::codes!`: each as a constant, documented
/// by its meaning, and all of them as `ALL`, in the order given.
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
