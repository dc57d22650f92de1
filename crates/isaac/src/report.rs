//! Findings about a stage, with their places in its layers.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use urdf_usd_diagnostic::{Code, Collector, Diagnostic, Most, Place};
use urdf_usd_stage::{LayerId, Places, PrimId, Stage, asset_bytes};

/// How many findings of one code are told apart; of the others, only how many there are.
const MOST_PER_CODE: usize = 100;

/// What is found.
pub(crate) struct Findings<'a> {
    stage: &'a Stage,
    list: Collector,
    /// The layers that are spoken of: their files, and what stands where in those that are text.
    layers: HashMap<LayerId, (Arc<Path>, Places)>,
}

impl<'a> Findings<'a> {
    pub fn new(stage: &'a Stage) -> Self {
        Self {
            stage,
            list: Collector::new(Most::OfEachCode(MOST_PER_CODE)),
            layers: HashMap::new(),
        }
    }

    /// Reports what is wrong with a prim or a property of it, at the layer with the strongest
    /// opinion.
    pub fn add(
        &mut self,
        code: &'static Code,
        id: PrimId,
        property: Option<&str>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let prim = &self.stage[id];
        let element =
            property.map_or_else(|| prim.path.clone(), |name| format!("{}.{name}", prim.path));
        let mut place = Place {
            element,
            ..Place::default()
        };
        if let Some(site) = prim
            .site(property)
            .filter(|site| site.layer.0 < self.stage.layers.len())
        {
            let layer = &self.stage[site.layer];
            let (file, places) = self.layers.entry(site.layer).or_insert_with(|| {
                let text = if layer.is_binary {
                    None
                } else {
                    asset_bytes(&layer.path.to_string_lossy()).ok()
                };
                (
                    layer.path.as_path().into(),
                    text.map(|text| Places::of(&text)).unwrap_or_default(),
                )
            });
            place.file = Some(Arc::clone(file));
            let property = property.map(|name| format!("{}.{name}", site.path));
            // A site of a property is that of the property itself, or of its prim.
            let found = places.at(&site.path).filter(|_| site.path.contains('.'));
            let found = found.or_else(|| places.at(property.as_deref().unwrap_or(&site.path)));
            (place.line, place.column) = found.unwrap_or_default();
        }
        self.list
            .push(Diagnostic::new(code, place, message).help(help));
    }

    pub fn finish(self) -> Vec<Diagnostic> {
        let (mut diagnostics, mut omitted) = self.list.finish();
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
                    .help("mend those that are listed and look again"),
            );
        }
        diagnostics
    }
}
