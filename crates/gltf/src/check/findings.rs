//! Findings as the rules make them, by JSON pointer, and as people and programs get them, by place.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::positions;
use urdf_usd_diagnostic::{Code, Diagnostic, Place, Severity};

/// How many findings of one code are told apart; of the others, only how many there are.
pub const MOST_PER_CODE: usize = 100;

/// How much of a name or of a list is quoted.
const MOST_QUOTED: usize = 80;

/// What the rules found.
#[derive(Default)]
pub struct Findings {
    list: Vec<Finding>,
    count: BTreeMap<&'static str, usize>,
    /// Where a rule has said what is wrong, so that the schema need not.
    covered: HashSet<String>,
}

struct Finding {
    code: &'static Code,
    pointer: String,
    message: String,
    help: Cow<'static, str>,
}

impl Findings {
    /// A finding at `pointer`, a JSON pointer into the document.
    pub fn report(
        &mut self,
        code: &'static Code,
        pointer: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<Cow<'static, str>>,
    ) {
        let count = self.count.entry(code.id).or_default();
        *count += 1;
        if *count > MOST_PER_CODE {
            return;
        }
        let pointer = pointer.into();
        if code.severity == Severity::Error {
            self.covered.insert(pointer.clone());
        }
        self.list.push(Finding { code, pointer, message: message.into(), help: help.into() });
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
        let pointers: Vec<&str> = self.list.iter().map(|finding| finding.pointer.as_str()).collect();
        let positions = text.map_or_else(Vec::new, |text| positions::of(text, &pointers));
        let mut positions = positions.into_iter();
        let mut diagnostics = Vec::with_capacity(self.list.len());
        let mut last = BTreeMap::new();
        for finding in self.list {
            let (line, column) = positions.next().unwrap_or_default();
            let place = Place { file: file.clone(), line, column, element: finding.pointer, ..Place::default() };
            last.insert(finding.code.id, (finding.code, place.clone()));
            diagnostics.push(Diagnostic::new(finding.code, place, finding.message).help(finding.help));
        }
        for (id, (code, place)) in last {
            let more = self.count.get(id).copied().unwrap_or_default().saturating_sub(MOST_PER_CODE);
            if more > 0 {
                let message = format!("there are {more} more findings of this kind");
                diagnostics.push(Diagnostic::new(code, place, message).help("mend those that are listed and check again"));
            }
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

/// `segment` as a JSON pointer has it (RFC 6901).
pub fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}
