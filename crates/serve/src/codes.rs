//! Diagnostic codes of the web server.

use urdf_usd_diagnostic::codes;

codes! {
    ADDRESS Error "serve-address": "The HTTP server cannot listen on the address and port.", "The node does not start.";
    VIEW Error "serve-view": "The path given to `urdf_usd view` is not an asset with a glTF file, or cannot be read.",
        "The command ends; an asset that is already shown stays.";
    WATCH Warning "bridge-watch": "A folder cannot be watched for changes.",
        "Its files are polled every few seconds instead.";
}
