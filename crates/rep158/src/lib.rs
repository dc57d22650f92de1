//! Checks OpenUSD assets against REP-158: [`check`] is the entry point.
//!
//! Each rule is a folder of `rules`, with its code, the sentence of the specification and examples.
//! The asset may come from any program: no rule relies on the layout of this project's own assets.
//!
//! This crate must not depend on URDF, ROS or the network, and must not panic on any asset.

pub mod codes;
mod control;
mod convex;
mod crossings;
pub mod degradation;
mod findings;
mod kinematic;
mod layers;
mod meshes;
mod mimic;
mod physics;
mod pictures;
mod registry;
mod revision;
mod roles;
mod ros;
mod rules;
mod shading;
mod subject;
#[cfg(test)]
mod tests;
mod tree;

use std::path::Path;

use urdf_usd_diagnostic::{self as diagnostic, Diagnostic, run_rules};
pub use urdf_usd_stage::{OpenError, Stage, VariantChoice};

use findings::{Findings, Found};
pub use layers::{Content, classify, vendor};
pub use revision::Revision;
pub use shading::data_images;
use subject::Subject;

/// A rule of REP-158, with a function that reports violations in an asset.
///
/// An example consists of the files of a small asset; the first is the root layer. A text that does
/// not begin with `#usda` gets a header with the metadata that REP-158 requires; a file with the
/// extension `.usdc` is converted to binary. The text of an image describes it: `8-bit RGB PNG`,
/// `16-bit L PNG`, `8-bit L PNG 20000x2`, `HDR`.
pub type Rule = diagnostic::Rule<fn(&Subject<'_>, &mut Findings<'_>)>;

/// All rules, in the order of the specification.
pub const RULES: &[&Rule] = rules::ALL;

/// Options of a check.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The revision of REP-158.
    pub revision: Revision,
    /// Variant selections that override those of the asset.
    pub variants: Vec<VariantChoice>,
    /// Whether to check every variant of every set in turn, not only the selected ones.
    pub all_variants: bool,
    /// Codes to check; empty for all. A code that ends with `*` matches by prefix.
    pub select: Vec<String>,
    /// Codes to skip, in the same form.
    pub ignore: Vec<String>,
    /// Resolver of `package://` URIs; without one, they are not checked.
    pub packages: Option<std::sync::Arc<urdf_usd_resolve::Resolver>>,
    /// Known ROS interface types, such as `std_msgs/msg/String`; without them, types are not checked.
    pub interfaces: Option<std::collections::BTreeSet<String>>,
}

impl Options {
    /// Whether a code is selected and not ignored.
    pub fn includes(&self, code: &str) -> bool {
        let is_in = |list: &[String]| {
            list.iter().any(|pattern| {
                pattern
                    .strip_suffix('*')
                    .map_or(pattern == code, |start| code.starts_with(start))
            })
        };
        (self.select.is_empty() || is_in(&self.select)) && !is_in(&self.ignore)
    }
}

/// Checks the asset with the root layer `entry`, and returns its violations.
///
/// The message of a finding that only occurs in other than the selected variants names the variant.
///
/// # Errors
/// If the root layer cannot be read, or the asset has no such variant as the options select.
pub fn check(entry: &Path, options: &Options) -> Result<Vec<Diagnostic>, OpenError> {
    check_stage(entry, options).map(|(_, found)| found)
}

/// As [`check`], and also returns the stage, with the variants that [`Options::variants`] selects.
///
/// # Errors
/// As [`check`].
pub fn check_stage(entry: &Path, options: &Options) -> Result<(Stage, Vec<Diagnostic>), OpenError> {
    let with = |variants: Vec<VariantChoice>| urdf_usd_stage::Options {
        variants,
        packages: options.packages.clone(),
        ..urdf_usd_stage::Options::default()
    };
    let stage = Stage::open(entry, &with(options.variants.clone()))?;
    let mut found = check_composed(&stage, options);
    if options.all_variants {
        for choice in stage.other_variants(&options.variants) {
            let variants: Vec<VariantChoice> = options
                .variants
                .iter()
                .cloned()
                .chain([choice.clone()])
                .collect();
            for mut finding in check_composed(&stage.reopen(&with(variants))?, options) {
                let is_known = |known: &&Diagnostic| {
                    known.code == finding.code && known.place == finding.place
                };
                if found.iter().find(is_known).is_none() {
                    finding.message = format!("{} (with {choice})", finding.message);
                    found.push(finding);
                }
            }
        }
    }
    Ok((stage, found))
}

fn check_composed(stage: &Stage, options: &Options) -> Vec<Diagnostic> {
    let subject = Subject::new(stage, options);
    let mut found = Found::default();
    run_rules(RULES, |rule| {
        if !options.includes(rule.code.id) || !options.revision.has_rule(&rule.code) {
            return false;
        }
        (rule.check)(&subject, &mut found.of_rule(&rule.code, stage));
        found.has(&rule.code)
    });
    found.into_diagnostics()
}
