//! Notes about fixes and remaining violations, grouped by message.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use urdf_usd_diagnostic::{Code, Diagnostic, Place};
use urdf_usd_stage::{CompositionError, VariantChoice};

use super::codes::{CHANGED, LEFT, LOST, NOT_WHOLE};

/// Maximum number of prims that a finding names.
const MAX_NAMED: usize = 5;

/// The notes of a run.
#[derive(Clone, Debug)]
pub struct Notes {
    file: Arc<Path>,
    /// Prims by code, message and help.
    found: BTreeMap<(&'static str, String, String), (&'static Code, Prims)>,
}

/// Distinct prims, in order.
#[derive(Clone, Debug, Default)]
struct Prims {
    list: Vec<String>,
    known: HashSet<String>,
}

impl Notes {
    pub fn new(entry: &Path) -> Self {
        Self {
            file: entry.into(),
            found: BTreeMap::new(),
        }
    }

    /// Records a fix of a prim. Prims with the same message are grouped.
    pub fn changed(&mut self, prim: impl Into<String>, message: impl Into<String>) {
        self.add(&CHANGED, prim.into(), message.into(), String::new());
    }

    /// Records a violation that cannot be fixed.
    pub fn left(
        &mut self,
        prim: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(&LEFT, prim.into(), message.into(), help.into());
    }

    /// Records the parts of the asset that cannot be composed.
    pub fn broken(&mut self, errors: &[CompositionError]) {
        for error in errors {
            self.add(
                &NOT_WHOLE,
                error.path.clone().unwrap_or_default(),
                error.message.trim_end_matches(':').to_owned(),
                "put the file at this path, allow its folder with --allowed-root, or remove the reference to it".to_owned(),
            );
        }
    }

    /// Records a part of the asset that is not written.
    pub fn lost(
        &mut self,
        prim: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(&LOST, prim.into(), message.into(), help.into());
    }

    fn add(&mut self, code: &'static Code, prim: String, message: String, help: String) {
        let (_, prims) = self
            .found
            .entry((code.id, message, help))
            .or_insert_with(|| (code, Prims::default()));
        if prims.known.insert(prim.clone()) {
            prims.list.push(prim);
        }
    }

    /// Adds the notes that apply to another variant only.
    pub fn merge_variant(&mut self, choice: &VariantChoice, other: Self) {
        for ((_, message, help), (code, prims)) in other.found {
            let known = self
                .found
                .get(&(code.id, message.clone(), help.clone()))
                .map(|(_, prims)| prims.known.clone())
                .unwrap_or_default();
            for prim in prims.list.into_iter().filter(|prim| !known.contains(prim)) {
                self.add(
                    code,
                    prim,
                    format!("{message} (with {choice})"),
                    help.clone(),
                );
            }
        }
    }

    /// Converts the notes to findings, the most severe first.
    pub fn finish(self) -> Vec<Diagnostic> {
        let file = self.file;
        let mut all: Vec<Diagnostic> = self
            .found
            .into_iter()
            .map(|((_, message, help), (code, Prims { list: prims, .. }))| {
                let element = prims.first().cloned().unwrap_or_default();
                let message = match prims.len() {
                    0 | 1 => message,
                    count => {
                        let named = prims
                            .iter()
                            .take(MAX_NAMED)
                            .cloned()
                            .collect::<Vec<_>>()
                            .join(", ");
                        let more = if count > MAX_NAMED { ", …" } else { "" };
                        format!("{message} ({count} times: {named}{more})")
                    }
                };
                Diagnostic::new(
                    code,
                    Place {
                        file: Some(Arc::clone(&file)),
                        element,
                        ..Place::default()
                    },
                    message,
                )
                .help(help)
            })
            .collect();
        all.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| b.code.cmp(a.code)));
        all
    }
}
