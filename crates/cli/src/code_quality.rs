//! Writes findings as GitLab's code quality report: the part of Code Climate's format that GitLab reads.

use serde_json::{Value, json};
use urdf_usd_diagnostic::{Diagnostic, Severity};

use super::sarif::uri;

/// Returns the report: a list of findings. Findings without a file have no place in it, so they name
/// `asset`.
pub fn report(diagnostics: &[Diagnostic], asset: &str) -> Value {
    diagnostics
        .iter()
        .map(|found| {
            let path = found
                .place
                .file
                .as_ref()
                .map_or_else(|| asset.to_owned(), |file| uri(file));
            let element = &found.place.element;
            let message = &found.message;
            // The line is no part of it: a finding that only moves stays the same.
            let content = [found.code, &path, element, message].join("\0");
            json!({
                "description": message,
                "check_name": found.code,
                "fingerprint": blake3::hash(content.as_bytes()).to_hex().as_str(),
                "severity": match found.severity {
                    Severity::Info => "info",
                    Severity::Warning => "minor",
                    Severity::Error => "major",
                },
                "location": { "path": path, "lines": { "begin": found.place.line.max(1) } },
            })
        })
        .collect()
}
