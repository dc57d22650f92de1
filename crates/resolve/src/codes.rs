//! The codes of everything that can be wrong with a reference to a file.

use urdf_usd_diagnostic::codes;

const STOPS_OR_GOES_ON: &str =
    "Goes on without the file and what needs it. Stops if the file is the input itself.";

codes! {
    MALFORMED_URI Error "resolve-malformed-uri":
        "A reference to a file is empty or breaks the rules of its scheme, so it names no file.",
        STOPS_OR_GOES_ON;
    UNSUPPORTED_SCHEME Error "resolve-unsupported-scheme": "A reference has a scheme other than package:// and file://.",
        STOPS_OR_GOES_ON;
    UNKNOWN_PACKAGE Error "resolve-unknown-package": "No place that was looked at has the ROS package of a package:// reference.",
        STOPS_OR_GOES_ON;
    NO_BASE Error "resolve-no-base":
        "A relative reference stands in a text that has no folder, as on a topic, so it can't be resolved.",
        STOPS_OR_GOES_ON;
    ESCAPE Error "resolve-escape": "The \"..\" of a package:// reference leads out of the package.", STOPS_OR_GOES_ON;
    NOT_ALLOWED Error "resolve-not-allowed":
        "A reference leads, after symbolic links are resolved, to a place outside the package roots, the URDF's folder and the \
         allowed roots.",
        STOPS_OR_GOES_ON;
    MISSING_FILE Error "resolve-missing-file": "A reference leads to a file that does not exist.", STOPS_OR_GOES_ON;
    NOT_A_FILE Error "resolve-not-a-file": "A reference leads to a folder, a pipe or a device.", STOPS_OR_GOES_ON;
    UNREADABLE Error "resolve-unreadable": "A file exists but the operating system refuses to read it.", STOPS_OR_GOES_ON;
    TOO_MANY_OPEN Error "resolve-too-many-open-files":
        "A file could not be opened because this process, or the system, has too many files open.",
        "Goes on without the file and what needs it, or stops if it is needed. The node converts again by itself, after a while.";
    TOO_LARGE Error "resolve-too-large": "A file is larger than 1 GiB.", STOPS_OR_GOES_ON;
}
