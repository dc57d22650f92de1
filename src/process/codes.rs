//! What can be the matter with the process itself.

use crate::diagnostic::codes;

codes! {
    WATCH Warning "bridge-watch": "A folder cannot be watched for changes.",
        "The files in it are looked at every few seconds instead.";
    SYSTEM Error "bridge-system": "The system refuses threads, processes or signals.",
        "The node does not start; a conversion that needs a process of its own is not done.";
}
