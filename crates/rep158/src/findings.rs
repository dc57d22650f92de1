//! Findings as the rules make them, by prim and property or by layer, and as people and programs
//! get them, by file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use urdf_usd_diagnostic::{Code, Collector, Diagnostic, Most, Place, Severity};
use urdf_usd_stage::{LayerId, Places, PrimId, Site, Stage, asset_bytes};

/// How many findings of one code are told apart; of the others, only how many there are.
pub const MOST_PER_CODE: usize = 100;

/// What the rules found.
pub struct Findings<'a> {
    stage: &'a Stage,
    list: Collector,
    /// The layers that are spoken of: their files, and what stands where in those that are text.
    layers: HashMap<LayerId, (Arc<Path>, Places)>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(stage: &'a Stage) -> Self {
        Self {
            stage,
            list: Collector::new(Most::OfEachCode(MOST_PER_CODE)),
            layers: HashMap::new(),
        }
    }

    /// A finding about a composed prim, or a property of it. The layer with the strongest opinion
    /// is named.
    pub fn prim(
        &mut self,
        code: &'static Code,
        prim: PrimId,
        property: Option<&str>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.composed(
            code,
            code.severity,
            prim,
            property,
            message.into(),
            help.into(),
        );
    }

    /// What a rule could not look at, as a remark: [`Self::prim`] of severity info, whatever that
    /// of the rule is.
    pub fn remark(
        &mut self,
        code: &'static Code,
        prim: PrimId,
        property: Option<&str>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.composed(
            code,
            Severity::Info,
            prim,
            property,
            message.into(),
            help.into(),
        );
    }

    fn composed(
        &mut self,
        code: &'static Code,
        severity: Severity,
        prim: PrimId,
        property: Option<&str>,
        message: String,
        help: String,
    ) {
        let prim = &self.stage[prim];
        let element =
            property.map_or_else(|| prim.path.clone(), |name| format!("{}.{name}", prim.path));
        let site = prim.site(property).cloned();
        self.push(code, severity, site, element, message, help);
    }

    /// A finding about what stands in a layer: `path` is that of a prim or property in it, empty
    /// for the layer itself.
    pub fn layer(
        &mut self,
        code: &'static Code,
        layer: LayerId,
        path: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let path = path.into();
        self.push(
            code,
            code.severity,
            Some(Site {
                layer,
                path: path.clone(),
            }),
            path,
            message.into(),
            help.into(),
        );
    }

    /// A finding about the stage as a whole: it is the root layer's.
    pub fn stage(
        &mut self,
        code: &'static Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.layer(code, LayerId(0), "", message, help);
    }

    fn push(
        &mut self,
        code: &'static Code,
        severity: Severity,
        site: Option<Site>,
        element: String,
        message: String,
        help: String,
    ) {
        let mut place = Place {
            element,
            ..Place::default()
        };
        if let Some(Site { layer: id, path }) =
            site.filter(|site| site.layer.0 < self.stage.layers.len())
        {
            let layer = &self.stage[id];
            let (file, places) = self.layers.entry(id).or_insert_with(|| {
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
            (place.line, place.column) = places.at(&path).unwrap_or_default();
        }
        self.list.push(Diagnostic {
            severity,
            ..Diagnostic::new(code, place, message).help(help)
        });
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
