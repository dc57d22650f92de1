//! Diagnostic codes of batches.

use std::io::{self, ErrorKind};

use urdf_usd_diagnostic::{Code, Diagnostic, codes};
use urdf_usd_objects::codes as objects;

codes! {
    SOURCE Error "batch-source": "A source of a batch names no robot.",
        "The batch does not start.";
    MANIFEST Error "batch-manifest": "A row of a manifest is not as it should be.",
        "The batch does not start.";
    JOURNAL Error "batch-journal": "The journal or the report of a batch can't be read or written.",
        "The batch stops. What it has converted stays, and a run after a correction goes on from there.";
    STOPPED Error "batch-stopped": "The disk of a batch is full or does not answer, or another process converts the same shard.",
        "The batch stops with exit code 75. What it has converted stays, and the next run goes on from there.";
}

/// Returns the code of an error in the folder of a batch.
pub(crate) fn of(error: &io::Error) -> &'static Code {
    // On NFS, a server that was restarted invalidates open files.
    let is_temporary = matches!(
        error.kind(),
        ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            // The limit of the process (`ulimit -f`).
            | ErrorKind::FileTooLarge
            | ErrorKind::TimedOut
            | ErrorKind::WouldBlock
            | ErrorKind::ResourceBusy
            | ErrorKind::StaleNetworkFileHandle
    );
    if is_temporary { &STOPPED } else { &JOURNAL }
}

/// Returns whether the same command may succeed later without a correction.
pub fn is_temporary(fault: &Diagnostic) -> bool {
    let codes = [&STOPPED, &objects::TIMEOUT, &objects::CONFLICT];
    codes.iter().any(|code| fault.code == code.id)
}
