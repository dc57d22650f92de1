//! Diagnostic codes of `urdf_usd fix`.

urdf_usd_diagnostic::codes! {
    CHANGED Info "fix-changed": "A violation of REP-158 was repaired.", "The asset that is written contains the repair.";
    LEFT Warning "fix-left": "A violation of REP-158 cannot be repaired automatically.", "It is written unchanged.";
    LOST Warning "fix-lost": "A part of the asset cannot be kept in an asset that follows REP-158.", "It is left out.";
}
