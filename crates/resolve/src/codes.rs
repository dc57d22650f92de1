//! Codes of faulty references to files.

use urdf_usd_diagnostic::codes;

const STOPS_OR_GOES_ON: &str =
    "Goes on without the file and everything that needs it; stops if it is the input itself.";

codes! {
    MALFORMED_URI Error "resolve-malformed-uri":
        "A reference to a file is empty or malformed.",
        STOPS_OR_GOES_ON;
    UNSUPPORTED_SCHEME Error "resolve-unsupported-scheme": "A reference uses an unsupported scheme; supported are package:// and file://.",
        STOPS_OR_GOES_ON;
    UNKNOWN_PACKAGE Error "resolve-unknown-package": "The ROS package of a package:// reference was not found.",
        STOPS_OR_GOES_ON;
    NO_BASE Error "resolve-no-base":
        "A relative reference can't be resolved: the text that contains it came without a folder, for instance from a topic.",
        STOPS_OR_GOES_ON;
    ESCAPE Error "resolve-escape": "A package:// reference leaves its package through \"..\".", STOPS_OR_GOES_ON;
    NOT_ALLOWED Error "resolve-not-allowed":
        "A reference leads, after symbolic links are resolved, outside the folders that may be read: the package roots, the URDF's \
         folder and the allowed roots.",
        STOPS_OR_GOES_ON;
    MISSING_FILE Error "resolve-missing-file": "The file of a reference does not exist.", STOPS_OR_GOES_ON;
    NOT_A_FILE Error "resolve-not-a-file": "A reference leads to a folder, a pipe or a device instead of a regular file.", STOPS_OR_GOES_ON;
    UNREADABLE Error "resolve-unreadable": "The operating system refuses to read a file.", STOPS_OR_GOES_ON;
    GIT_LFS Error "resolve-git-lfs": "A file is a Git LFS pointer, as a checkout without Git LFS has in place of the file.", STOPS_OR_GOES_ON;
    TOO_MANY_OPEN Error "resolve-too-many-open-files":
        "A file could not be opened: this process, or the system, has too many open files.",
        "Goes on without the file and everything that needs it, or stops if it is required. The node retries the conversion after a while.";
    TOO_LARGE Error "resolve-too-large": "A file is larger than 1 GiB.", STOPS_OR_GOES_ON;
}
