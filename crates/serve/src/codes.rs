//! The findings of this module.

use urdf_usd_diagnostic::codes;

codes! {
    ADDRESS Error "serve-address": "The HTTP address and port cannot be listened on.", "The node does not start.";
    VIEW Error "serve-view": "What `urdf_usd view` is given is no asset with a glTF, or cannot be read.",
        "The command ends; if it was shown before, that stays.";
    WATCH Warning "bridge-watch": "A folder cannot be watched for changes.",
        "The files in it are looked at every few seconds instead.";
}
