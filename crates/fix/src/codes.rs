//! Diagnostic codes of `urdf_usd fix`.

urdf_usd_diagnostic::codes! {
    CHANGED Info "fix-changed": "A violation of REP-158 was repaired.", "The asset that is written contains the repair.";
    LEFT Warning "fix-left": "A violation of REP-158 cannot be repaired automatically.", "It is written unchanged.";
    NOT_WHOLE Error "fix-not-whole": "A layer, reference, payload or other arc of the asset cannot be composed.", "The asset that is written lacks what it would bring in.";
    MISSING Error "fix-missing": "The asset that is written has fewer bodies, joints, shapes or colliders, or less mass, than its source.", "It is written, but must not replace its source.";
    LOST Warning "fix-lost": "A part of the asset cannot be kept in an asset that follows REP-158.", "It is left out.";
}
