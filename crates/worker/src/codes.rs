//! Diagnostic codes of worker processes.

use urdf_usd_diagnostic::codes;

codes! {
    SYSTEM Error "bridge-system": "The system provides no threads, processes or signals.",
        "The node does not start; a conversion that needs its own process fails.";
}
