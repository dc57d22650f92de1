//! The codes of everything that can be wrong with a reference to a file.

use crate::diagnostic::{Code, Severity};

/// The shorthand of this list: all of them are errors with the same outcome.
const fn code(id: &'static str, meaning: &'static str) -> Code {
    Code {
        id,
        severity: Severity::Error,
        meaning,
        outcome: "The file is left out, and so is what needs it; the rest still converts. If it is the input itself, the conversion stops.",
    }
}

/// See its `meaning`.
pub const MALFORMED_URI: Code =
    code("resolve-malformed-uri", "A reference to a file is empty or breaks the rules of its scheme, so it names no file.");
/// See its `meaning`.
pub const UNSUPPORTED_SCHEME: Code =
    code("resolve-unsupported-scheme", "A reference has a scheme other than package:// and file://.");
/// See its `meaning`.
pub const UNKNOWN_PACKAGE: Code =
    code("resolve-unknown-package", "No place that was looked at has the ROS package of a package:// reference.");
/// See its `meaning`.
pub const NO_BASE: Code = code(
    "resolve-no-base",
    "A relative reference stands in a text that has no folder, as on a topic, so it can't be resolved.",
);
/// See its `meaning`.
pub const ESCAPE: Code = code("resolve-escape", "The \"..\" of a package:// reference leads out of the package.");
/// See its `meaning`.
pub const NOT_ALLOWED: Code = code(
    "resolve-not-allowed",
    "A reference leads, after symbolic links are resolved, to a place outside the package roots, the URDF's folder and the allowed roots.",
);
/// See its `meaning`.
pub const MISSING_FILE: Code = code("resolve-missing-file", "A reference leads to a file that does not exist.");
/// See its `meaning`.
pub const NOT_A_FILE: Code = code("resolve-not-a-file", "A reference leads to a folder, a pipe or a device.");
/// See its `meaning`.
pub const UNREADABLE: Code = code("resolve-unreadable", "A file exists but the operating system refuses to read it.");
/// See its `meaning`.
pub const TOO_LARGE: Code = code("resolve-too-large", "A file is larger than 1 GiB.");

/// All of them.
pub const ALL: &[&Code] = &[
    &MALFORMED_URI,
    &UNSUPPORTED_SCHEME,
    &UNKNOWN_PACKAGE,
    &NO_BASE,
    &ESCAPE,
    &NOT_ALLOWED,
    &MISSING_FILE,
    &NOT_A_FILE,
    &UNREADABLE,
    &TOO_LARGE,
];
