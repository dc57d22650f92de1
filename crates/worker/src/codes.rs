//! Findings about processes.

use urdf_usd_diagnostic::codes;

codes! {
    SYSTEM Error "bridge-system": "The system refuses threads, processes or signals.",
        "The node does not start; a conversion that needs a process of its own is not done.";
}
