//! Findings as the rules report them, by JSON pointer, and as users get them, by position.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::positions;
use urdf_usd_diagnostic::{Code, Collector, Diagnostic, MAX_PER_CODE, Place, Severity};

/// Maximum number of characters of a name or a list that a message quotes.
const MOST_QUOTED: usize = 80;

/// The findings of all rules.
pub struct Found {
    list: Collector,
    /// Pointers to what a rule has reported, so that the schema need not.
    covered: HashSet<String>,
}

/// The findings of one rule.
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
    /// Returns the findings of the rule with `code`, to be added to these.
    pub fn of_rule(&mut self, code: &'static Code) -> Findings<'_> {
        Findings { code, found: self }
    }

    /// Whether there is a finding of this code.
    pub fn has(&self, code: &Code) -> bool {
        self.list.has(code.id)
    }

    /// Returns all findings with their positions; `text` is that of the .gltf, if the file is one.
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
    /// Reports what is at `pointer`, a JSON pointer into the document.
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

    /// Keeps the schema from reporting what is at `pointer`.
    pub fn cover(&mut self, pointer: String) {
        if self.found.covered.len() < MAX_PER_CODE * MAX_PER_CODE {
            self.found.covered.insert(pointer);
        }
    }

    /// Whether an error has been reported at `pointer`.
    pub fn is_covered(&self, pointer: &str) -> bool {
        self.found.covered.contains(pointer)
    }
}

/// Returns `text`, truncated to what a message can quote.
pub fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MOST_QUOTED) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}
