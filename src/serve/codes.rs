//! The findings of this module.

use crate::diagnostic::codes;

codes! {
    ADDRESS Error "serve-address": "The HTTP address and port cannot be listened on.", "The node does not start.";
    VIEW Error "serve-view": "What `urdf_usd view` is given is no asset with a glTF, or cannot be read.",
        "The command ends; if it was shown before, that stays.";
}
