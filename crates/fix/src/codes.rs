//! What `urdf_usd fix` reports.

urdf_usd_diagnostic::codes! {
    CHANGED Info "fix-changed": "Something broke a rule of REP-158 and was mended.", "The asset that is written has it mended.";
    LEFT Warning "fix-left": "Something breaks a rule of REP-158 and can't be mended by a program.", "It is written as it was.";
    LOST Warning "fix-lost": "Something can't be kept in an asset that follows REP-158.", "It is left out.";
}
