//! The codes of everything that can be wrong with a reference to a file.

use urdf_usd_diagnostic::{Code, Severity};

/// All of them are errors with the same outcome.
macro_rules! codes {
    ($($name:ident $id:literal: $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $name: Code = Code {
                id: $id,
                severity: Severity::Error,
                meaning: $meaning,
                outcome: "Goes on without the file and what needs it. Stops if the file is the input itself.",
            };
        )*
        /// All of them.
        pub const ALL: &[&Code] = &[$(&$name),*];
    };
}

codes! {
    MALFORMED_URI "resolve-malformed-uri": "A reference to a file is empty or breaks the rules of its scheme, so it names no file.";
    UNSUPPORTED_SCHEME "resolve-unsupported-scheme": "A reference has a scheme other than package:// and file://.";
    UNKNOWN_PACKAGE "resolve-unknown-package": "No place that was looked at has the ROS package of a package:// reference.";
    NO_BASE "resolve-no-base": "A relative reference stands in a text that has no folder, as on a topic, so it can't be resolved.";
    ESCAPE "resolve-escape": "The \"..\" of a package:// reference leads out of the package.";
    NOT_ALLOWED "resolve-not-allowed": "A reference leads, after symbolic links are resolved, to a place outside the package roots, the URDF's folder and the allowed roots.";
    MISSING_FILE "resolve-missing-file": "A reference leads to a file that does not exist.";
    NOT_A_FILE "resolve-not-a-file": "A reference leads to a folder, a pipe or a device.";
    UNREADABLE "resolve-unreadable": "A file exists but the operating system refuses to read it.";
    TOO_LARGE "resolve-too-large": "A file is larger than 1 GiB.";
}
