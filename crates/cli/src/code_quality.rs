//! Writes findings as GitLab's code quality report: the part of Code Climate's format that GitLab reads.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};
use urdf_usd_diagnostic::{Diagnostic, Severity};

/// Returns the report: a list of findings. Findings without a file name `asset` instead.
pub fn report(diagnostics: &[Diagnostic], asset: &str) -> Value {
    let mut repeated: HashMap<String, usize> = HashMap::new();
    diagnostics
        .iter()
        .map(|found| {
            let path = found
                .place
                .file
                .as_ref()
                .map_or_else(|| asset.to_owned(), |file| relative(file));
            let element = &found.place.element;
            let message = &found.message;
            // The line is no part of it: a finding that only moves stays the same.
            let content = [found.code, &path, element, message].join("\0");
            let number = repeated.entry(content.clone()).or_default();
            let fingerprint = blake3::hash(format!("{content}\0{number}").as_bytes());
            *number += 1;
            json!({
                "description": message,
                "check_name": found.code,
                "fingerprint": fingerprint.to_hex().as_str(),
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

/// Returns a path relative to the working directory if it is below it.
fn relative(file: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = file.strip_prefix(&here).unwrap_or(file);
    let path = path.strip_prefix(".").unwrap_or(path);
    path.to_string_lossy().into_owned()
}
