//! Findings as the rules report them, by prim and property or by layer, and as users get them, by
//! file.

use urdf_usd_diagnostic::{Code, Collector, Diagnostic, Place, Severity};
use urdf_usd_stage::{LayerId, LayerPlaces, PrimId, Site, Stage};

/// The findings of all rules.
pub struct Found {
    list: Collector,
    /// Positions in the cited layers.
    layers: LayerPlaces,
}

/// The findings of one rule.
pub struct Findings<'a> {
    code: &'static Code,
    stage: &'a Stage,
    found: &'a mut Found,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            list: Collector::per_code(),
            layers: LayerPlaces::default(),
        }
    }
}

impl Found {
    /// Returns the findings about `stage` of the rule with `code`, to be added to these.
    pub fn of_rule<'a>(&'a mut self, code: &'static Code, stage: &'a Stage) -> Findings<'a> {
        Findings {
            code,
            stage,
            found: self,
        }
    }

    /// Whether there is a finding of this code.
    pub fn has(&self, code: &Code) -> bool {
        self.list.has(code.id)
    }

    /// Returns all findings.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.list
            .finish_by_code("fix the listed ones and check again")
    }
}

impl Findings<'_> {
    /// Reports a composed prim or property, located in the layer with the strongest opinion.
    pub fn prim(
        &mut self,
        prim: PrimId,
        property: Option<&str>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.composed(
            self.code.severity,
            prim,
            property,
            message.into(),
            help.into(),
        );
    }

    /// Reports a prim or property that the rule could not check, like [`Self::prim`], with severity
    /// info.
    pub fn remark(
        &mut self,
        prim: PrimId,
        property: Option<&str>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.composed(Severity::Info, prim, property, message.into(), help.into());
    }

    fn composed(
        &mut self,
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
        self.push(severity, site, element, message, help);
    }

    /// Reports the opinion of a layer at `path`, or the layer itself if `path` is empty.
    pub fn layer(
        &mut self,
        layer: LayerId,
        path: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let path = path.into();
        let site = Site {
            layer,
            path: path.clone(),
        };
        self.push(
            self.code.severity,
            Some(site),
            path,
            message.into(),
            help.into(),
        );
    }

    /// Reports the stage as a whole, located in the root layer.
    pub fn stage(&mut self, message: impl Into<String>, help: impl Into<String>) {
        self.layer(LayerId(0), "", message, help);
    }

    fn push(
        &mut self,
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
        if let Some(Site { layer, path }) = site
            && let Some((file, places)) = self.found.layers.of(self.stage, layer)
        {
            place.file = Some(file);
            (place.line, place.column) = places.at(&path).unwrap_or_default();
        }
        self.found.list.push(Diagnostic {
            severity,
            ..Diagnostic::new(self.code, place, message).help(help)
        });
    }
}
