//! Diagnostic codes of the web server.

use urdf_usd_diagnostic::codes;

codes! {
    ADDRESS Error "serve-address": "The HTTP server cannot listen on the address and port.", "The node runs without the viewer; \
        `urdf_usd view` ends.";
    PORT_IN_USE Warning "serve-port-in-use": "Another program uses the HTTP port.", "The next free port is used.";
    VIEW Error "serve-view": "The path given to `urdf_usd view` is not an asset with a glTF file, or cannot be read.",
        "The command ends; an asset that is already shown stays.";
    WATCH Warning "bridge-watch": "A folder cannot be watched for changes.",
        "Its files are polled every few seconds instead.";
    FLEET Warning "bridge-fleet": "The folder of the fleet, parameter fleet.dir, cannot be created or written.",
        "The index of the fleet lacks the bridge, or shows it as lost; the bridge tries again.";
}
