//! Diagnostic codes of batches.

use urdf_usd_diagnostic::codes;

codes! {
    SOURCE Error "batch-source": "A source of a batch names no robot.",
        "The batch does not start.";
    MANIFEST Error "batch-manifest": "A row of a manifest is not as it should be.",
        "The batch does not start.";
    JOURNAL Error "batch-journal": "The journal or the report of a batch can't be read or written, or another process writes it.",
        "The batch stops. What it has converted stays, and the next run goes on from there.";
}
