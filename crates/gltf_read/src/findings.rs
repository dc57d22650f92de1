//! Diagnostics that are collected while a file is read.

use std::path::Path;
use std::sync::Arc;

use super::codes;
use urdf_usd_diagnostic::{Code, Collector, Diagnostic, Most, Place};
use urdf_usd_gltf_extension::Misfits;
use urdf_usd_robot::InvalidRobot;

/// Maximum number of listed findings per code; further ones are only counted.
const FINDINGS_PER_CODE: usize = 20;

/// Findings in a file.
pub struct Findings {
    file: Option<Arc<Path>>,
    list: Collector,
}

impl Findings {
    pub fn new(file: Option<&Path>) -> Self {
        Self {
            file: file.map(Arc::from),
            list: Collector::new(Most::OfEachCode(FINDINGS_PER_CODE)),
        }
    }

    /// Returns the place of the value at the JSON pointer `at`.
    pub fn place(&self, at: &str) -> Place {
        Place {
            file: self.file.clone(),
            element: at.to_owned(),
            ..Place::default()
        }
    }

    /// Reports a finding about the value at the JSON pointer `at`.
    pub fn report(
        &mut self,
        code: &'static Code,
        at: &str,
        message: impl Into<String>,
        help: &str,
    ) {
        self.list
            .push(Diagnostic::new(code, self.place(at), message).help(help));
    }

    /// Reports why a robot rejected the value at the JSON pointer `at`, if it did.
    pub fn accept(&mut self, result: Result<(), InvalidRobot>, at: &str) {
        if let Err(error) = result {
            self.list.push(error.to_diagnostic(self.place(at)));
        }
    }

    /// Returns all findings.
    pub fn finish(self) -> Vec<Diagnostic> {
        let place = self.place("");
        let (mut list, mut omitted) = self.list.finish();
        omitted.sort_by_key(|more| list.iter().position(|finding| finding.code == more.code));
        list.extend(omitted.iter().map(|more| {
            more.summary(
                place.clone(),
                format!("{} more findings of this kind", more.count),
            )
        }));
        list
    }
}

impl Misfits for Findings {
    fn misfit(&mut self, at: &str, wanted: &str) {
        self.report(
            &codes::BAD_VALUE,
            at,
            format!("{at} is not {wanted}; it counts as not given"),
            "correct the value",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_is_counted() {
        let mut findings = Findings::new(None);
        findings.misfit("/a", "a number");
        for _ in 0..31 {
            findings.misfit("/b", "text");
        }
        let found = findings.finish();
        assert_eq!(found.len(), 21);
        assert_eq!(
            (found[0].code, found[0].place.element.as_str()),
            ("gltf-read-bad-value", "/a")
        );
        assert_eq!(
            found[0].message,
            "/a is not a number; it counts as not given"
        );
        assert_eq!(found[20].message, "12 more findings of this kind");
    }
}
