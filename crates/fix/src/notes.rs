//! What was mended and what was not, for people: once per kind, with how many there are.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use urdf_usd_diagnostic::{Code, Diagnostic, Place};
use urdf_usd_stage::VariantChoice;

use super::codes::{CHANGED, LEFT, LOST};

/// How many prims a finding names.
const MOST_NAMED: usize = 5;

/// What was mended and what was not.
#[derive(Clone, Debug)]
pub struct Notes {
    file: Arc<Path>,
    /// Prims by code, message and help.
    found: BTreeMap<(&'static str, String, String), (&'static Code, Vec<String>)>,
}

impl Notes {
    pub fn new(entry: &Path) -> Self {
        Self {
            file: entry.into(),
            found: BTreeMap::new(),
        }
    }

    /// Something was mended on a prim; `message` is the same for all prims of which it is true.
    pub fn changed(&mut self, prim: impl Into<String>, message: impl Into<String>) {
        self.add(&CHANGED, prim.into(), message.into(), String::new());
    }

    /// Something could not be mended.
    pub fn left(
        &mut self,
        prim: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(&LEFT, prim.into(), message.into(), help.into());
    }

    /// Something is not in the asset that is written.
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
            .or_insert_with(|| (code, Vec::new()));
        if !prims.contains(&prim) {
            prims.push(prim);
        }
    }

    /// Takes over what is true of another variant only.
    pub fn of_variant(&mut self, choice: &VariantChoice, other: Self) {
        for ((_, message, help), (code, prims)) in other.found {
            let known = self
                .found
                .get(&(code.id, message.clone(), help.clone()))
                .map(|(_, prims)| prims.clone())
                .unwrap_or_default();
            for prim in prims.into_iter().filter(|prim| !known.contains(prim)) {
                self.add(
                    code,
                    prim,
                    format!("{message} (with {choice})"),
                    help.clone(),
                );
            }
        }
    }

    /// As findings: what is lost first, then what is left.
    pub fn finish(self) -> Vec<Diagnostic> {
        let file = self.file;
        let mut all: Vec<Diagnostic> = self
            .found
            .into_iter()
            .map(|((_, message, help), (code, prims))| {
                let element = prims.first().cloned().unwrap_or_default();
                let message = match prims.len() {
                    0 | 1 => message,
                    count => {
                        let named = prims
                            .iter()
                            .take(MOST_NAMED)
                            .cloned()
                            .collect::<Vec<_>>()
                            .join(", ");
                        let more = if count > MOST_NAMED { ", …" } else { "" };
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
