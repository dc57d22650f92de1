//! Failures as exceptions with their findings.

use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception};
use urdf_usd_cli::api::{Refusal, codes};
use urdf_usd_convert as convert;
use urdf_usd_diagnostic::{Diagnostic, Place};

create_exception!(
    urdf_usd._native,
    Failure,
    PyException,
    "Work that was not done. Its arguments are `usage` or `failed`, and the findings as JSON."
);

/// Returns the exception for wrong arguments.
pub fn usage(message: impl Into<String>) -> PyErr {
    let found = Diagnostic::new(&codes::USAGE, Place::default(), message);
    new("usage", &[found])
}

/// Returns the exception for work that could not be done.
pub fn failed(message: impl Into<String>) -> PyErr {
    found(&[Diagnostic::new(&codes::FAILED, Place::default(), message)])
}

/// Returns the exception for work that these findings prevent.
pub fn found(diagnostics: &[Diagnostic]) -> PyErr {
    new("failed", diagnostics)
}

/// Returns the exception for a refusal.
pub fn refused(refusal: Refusal) -> PyErr {
    let kind = match refusal {
        Refusal::Usage(_) => "usage",
        Refusal::Failed(_) | Refusal::Found { .. } => "failed",
    };
    new(kind, &refusal.into_diagnostics())
}

/// Returns the exception for a defect of this program.
pub fn defect(message: &str) -> PyErr {
    failed(format!("{message}; {}", convert::REPORT_IT))
}

fn new(kind: &'static str, diagnostics: &[Diagnostic]) -> PyErr {
    let json = serde_json::to_string(diagnostics).unwrap_or_else(|_| "[]".to_owned());
    Failure::new_err((kind, json))
}
