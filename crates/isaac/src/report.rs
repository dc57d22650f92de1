//! Findings about a stage, with their positions in its layers.

use urdf_usd_diagnostic::{Code, Collector, Diagnostic, Place};
use urdf_usd_stage::{LayerPlaces, PrimId, Stage};

/// The findings about a stage.
pub(crate) struct Findings<'a> {
    stage: &'a Stage,
    list: Collector,
    /// Positions in the cited layers.
    layers: LayerPlaces,
}

impl<'a> Findings<'a> {
    pub fn new(stage: &'a Stage) -> Self {
        Self {
            stage,
            list: Collector::per_code(),
            layers: LayerPlaces::default(),
        }
    }

    /// Reports a fault of a prim or of one of its properties, located in the layer with the strongest
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
        if let Some(site) = prim.site(property)
            && let Some((file, places)) = self.layers.of(self.stage, site.layer)
        {
            place.file = Some(file);
            let property = property.map(|name| format!("{}.{name}", site.path));
            // The site is that of the property, or of its prim.
            let found = places.at(&site.path).filter(|_| site.path.contains('.'));
            let found = found.or_else(|| places.at(property.as_deref().unwrap_or(&site.path)));
            (place.line, place.column) = found.unwrap_or_default();
        }
        self.list.report(code, &place, message, help);
    }

    pub fn finish(self) -> Vec<Diagnostic> {
        self.list
            .finish_by_code("fix the listed ones and validate again")
    }
}
