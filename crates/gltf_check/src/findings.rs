//! Findings of the rules by JSON pointer, and their conversion to diagnostics with positions in the
//! text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::positions;
use urdf_usd_diagnostic::{Code, Collector, Diagnostic, MAX_PER_CODE, Place, Severity};

/// Maximum number of characters of a name or list that a message quotes.
const MOST_QUOTED: usize = 80;

/// Findings of all rules.
pub struct Found {
    list: Collector,
    /// JSON pointers at which the schema rule must not report, since another rule already has.
    covered: HashSet<String>,
}

/// Findings of one rule.
pub struct Findings<'a> {
    code: &'static Code,
    found: &'a mut Found,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            list: Collector::per_code(),
            covered: HashSet::new(),
        }
    }
}

impl Found {
    /// Returns a collector for the rule with `code`, which adds to these findings.
    pub fn of_rule(&mut self, code: &'static Code) -> Findings<'_> {
        Findings { code, found: self }
    }

    /// Returns whether there is a finding with this code.
    pub fn has(&self, code: &Code) -> bool {
        self.list.has(code.id)
    }

    /// Converts all findings to diagnostics. `text` is the content of a .gltf, for lines and
    /// columns.
    pub fn into_diagnostics(self, text: Option<&str>, file: Option<&Path>) -> Vec<Diagnostic> {
        let file: Option<Arc<Path>> = file.map(Into::into);
        let mut diagnostics = self
            .list
            .finish_by_code("fix the listed ones and check again");
        let pointers: Vec<&str> = diagnostics
            .iter()
            .map(|finding| finding.place.element.as_str())
            .collect();
        let mut positions = text
            .map_or_else(Vec::new, |text| positions::of(text, &pointers))
            .into_iter();
        for Diagnostic { place, .. } in &mut diagnostics {
            place.file.clone_from(&file);
            (place.line, place.column) = positions.next().unwrap_or_default();
        }
        diagnostics
    }
}

impl Findings<'_> {
    /// Reports a finding about the value at the JSON pointer `pointer`.
    pub fn report(
        &mut self,
        pointer: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let pointer = pointer.into();
        let place = Place {
            element: pointer.clone(),
            ..Place::default()
        };
        let finding = Diagnostic::new(self.code, place, message).help(help);
        if self.found.list.push(finding) && self.code.severity == Severity::Error {
            self.found.covered.insert(pointer);
        }
    }

    /// Prevents the schema rule from reporting the value at `pointer`.
    pub fn cover(&mut self, pointer: String) {
        if self.found.covered.len() < MAX_PER_CODE * MAX_PER_CODE {
            self.found.covered.insert(pointer);
        }
    }

    /// Returns whether another rule has reported the value at `pointer`.
    pub fn is_covered(&self, pointer: &str) -> bool {
        self.found.covered.contains(pointer)
    }
}

/// Truncates `text` to the length that a message can quote.
pub fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MOST_QUOTED) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}
