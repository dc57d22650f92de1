//! Findings as the rules make them, by prim and property or by layer, and as people and programs get them, by file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use urdf_usd_diagnostic::{Code, Collector, Diagnostic, Most, Place};
use urdf_usd_stage::{LayerId, PrimId, Stage};

/// How many findings of one code are told apart; of the others, only how many there are.
pub const MOST_PER_CODE: usize = 100;

/// What the rules found.
pub struct Findings<'a> {
    stage: &'a Stage,
    list: Collector,
    files: HashMap<LayerId, Arc<Path>>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(stage: &'a Stage) -> Self {
        Self { stage, list: Collector::new(Most::OfEachCode(MOST_PER_CODE)), files: HashMap::new() }
    }

    /// A finding about a composed prim, or a property of it. The layer with the strongest opinion is named.
    pub fn prim(
        &mut self,
        code: &'static Code,
        prim: PrimId,
        property: Option<&str>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let prim = &self.stage[prim];
        let element = property.map_or_else(|| prim.path.clone(), |name| format!("{}.{name}", prim.path));
        let layer = prim.site(property).map(|site| site.layer);
        self.push(code, layer, element, message.into(), help.into());
    }

    /// A finding about what stands in a layer: `path` is that of a prim or property in it, empty for the layer itself.
    pub fn layer(
        &mut self,
        code: &'static Code,
        layer: LayerId,
        path: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, Some(layer), path.into(), message.into(), help.into());
    }

    /// A finding about the stage as a whole: it is the root layer's.
    pub fn stage(&mut self, code: &'static Code, message: impl Into<String>, help: impl Into<String>) {
        self.push(code, Some(LayerId(0)), String::new(), message.into(), help.into());
    }

    fn push(&mut self, code: &'static Code, layer: Option<LayerId>, element: String, message: String, help: String) {
        let stage = self.stage;
        let file = layer
            .filter(|layer| layer.0 < stage.layers.len())
            .map(|layer| Arc::clone(self.files.entry(layer).or_insert_with(|| stage[layer].path.as_path().into())));
        let place = Place { file, element, ..Place::default() };
        self.list.push(Diagnostic::new(code, place, message).help(help));
    }

    /// Whether there is a finding of this code.
    pub fn has(&self, code: &Code) -> bool {
        self.list.has(code.id)
    }

    /// All of them.
    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        let (mut diagnostics, mut omitted) = self.list.finish();
        omitted.sort_by_key(|more| more.code);
        for more in omitted {
            let last = diagnostics.iter().rfind(|finding| finding.code == more.code);
            let place = last.map(|finding| finding.place.clone()).unwrap_or_default();
            let message = format!("there are {} more findings of this kind", more.count);
            diagnostics.push(more.summary(place, message).help("mend those that are listed and check again"));
        }
        diagnostics
    }
}
