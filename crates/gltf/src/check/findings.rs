//! Findings as the rules make them, by JSON pointer, and as people and programs get them, by place.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::positions;
use urdf_usd_diagnostic::{Code, Collector, Diagnostic, Most, Place, Severity};

/// How many findings of one code are told apart; of the others, only how many there are.
pub const MOST_PER_CODE: usize = 100;

/// How much of a name or of a list is quoted.
const MOST_QUOTED: usize = 80;

/// What the rules found.
pub struct Findings {
    list: Collector,
    /// Where a rule has said what is wrong, so that the schema need not.
    covered: HashSet<String>,
}

impl Default for Findings {
    fn default() -> Self {
        Self {
            list: Collector::new(Most::OfEachCode(MOST_PER_CODE)),
            covered: HashSet::new(),
        }
    }
}

impl Findings {
    /// A finding at `pointer`, a JSON pointer into the document.
    pub fn report(
        &mut self,
        code: &'static Code,
        pointer: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let pointer = pointer.into();
        let place = Place {
            element: pointer.clone(),
            ..Place::default()
        };
        if self
            .list
            .push(Diagnostic::new(code, place, message).help(help))
            && code.severity == Severity::Error
        {
            self.covered.insert(pointer);
        }
    }

    /// Whether there is a finding of this code.
    pub fn has(&self, code: &Code) -> bool {
        self.list.has(code.id)
    }

    /// Says that what is at `pointer` has been dealt with.
    pub fn cover(&mut self, pointer: String) {
        if self.covered.len() < MOST_PER_CODE * MOST_PER_CODE {
            self.covered.insert(pointer);
        }
    }

    /// Whether an error has been found at `pointer`.
    pub fn is_covered(&self, pointer: &str) -> bool {
        self.covered.contains(pointer)
    }

    /// All of them with their places; `text` is that of the .gltf, if the file is one.
    pub fn into_diagnostics(self, text: Option<&str>, file: Option<&Path>) -> Vec<Diagnostic> {
        let file: Option<Arc<Path>> = file.map(Into::into);
        let (mut diagnostics, mut omitted) = self.list.finish();
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
        omitted.sort_by_key(|more| more.code);
        for more in omitted {
            let last = diagnostics
                .iter()
                .rfind(|finding| finding.code == more.code);
            let place = last
                .map(|finding| finding.place.clone())
                .unwrap_or_default();
            let message = format!("there are {} more findings of this kind", more.count);
            diagnostics.push(
                more.summary(place, message)
                    .help("mend those that are listed and check again"),
            );
        }
        diagnostics
    }
}

/// `text` as far as a message can quote it.
pub fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MOST_QUOTED) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}
