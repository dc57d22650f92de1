//! Checks OpenUSD assets against REP-158: [`check`] is the entry point.
//!
//! Each rule is a folder of `rules`, with its code, its sentence of the specification and its
//! examples. The asset may be from any program: nothing here relies on the layout of this
//! project's own assets.
//!
//! This module must not know URDF, ROS or the network, and no asset makes it panic.

pub mod codes;
mod control;
mod convex;
mod crossings;
mod findings;
mod kinematic;
mod layers;
mod meshes;
mod mimic;
mod physics;
mod pictures;
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
pub use layers::{Holds, holds, vendor};
use subject::Subject;

/// A rule of REP-158, whose function reports where an asset breaks it.
///
/// Its examples are the files of a small asset, the first of which is opened. A text that does not
/// begin with `#usda` gets a header with the metadata that REP-158 demands; a file whose name ends
/// in `.usdc` is the same in binary. The text of an image describes it: `8-bit RGB PNG`,
/// `16-bit L PNG`, `8-bit L PNG 20000x2`, `HDR`.
pub type Rule = diagnostic::Rule<fn(&Subject<'_>, &mut Findings<'_>)>;

/// All rules, in the order of the specification.
pub const RULES: &[&Rule] = rules::ALL;

/// What to check.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Variants that are selected instead of those that the asset selects.
    pub variants: Vec<VariantChoice>,
    /// Whether each variant of each set is looked at, one after the other, and not the selected
    /// ones only.
    pub all_variants: bool,
    /// Codes that alone are looked at, if there are any; a code with `*` at its end means all that
    /// begin so.
    pub select: Vec<String>,
    /// Codes that are not looked at.
    pub ignore: Vec<String>,
    /// Where `package://` looks, if anywhere.
    pub packages: Option<std::sync::Arc<urdf_usd_resolve::Resolver>>,
    /// ROS interface types that exist, `std_msgs/msg/String`, if they are known.
    pub interfaces: Option<std::collections::BTreeSet<String>>,
}

impl Options {
    /// Whether findings with this code are asked for.
    pub fn wants(&self, code: &str) -> bool {
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

/// What the asset `entry` breaks of the rules; nothing if it follows them all. A finding that there
/// is in some variants only says in which.
///
/// # Errors
/// If the root layer can't be read, or a variant is asked for that the asset doesn't have.
pub fn check(entry: &Path, options: &Options) -> Result<Vec<Diagnostic>, OpenError> {
    check_stage(entry, options).map(|(_, found)| found)
}

/// [`check`] for those who also want the stage, with the variants that [`Options::variants`]
/// selects.
///
/// # Errors
/// Those of [`check`].
pub fn check_stage(entry: &Path, options: &Options) -> Result<(Stage, Vec<Diagnostic>), OpenError> {
    let with = |variants: Vec<VariantChoice>| urdf_usd_stage::Options {
        variants,
        packages: options.packages.clone(),
        ..urdf_usd_stage::Options::default()
    };
    let stage = Stage::open(entry, &with(options.variants.clone()))?;
    let mut found = of_stage(&stage, options);
    if options.all_variants {
        for choice in stage.other_variants(&options.variants) {
            let variants: Vec<VariantChoice> = options
                .variants
                .iter()
                .cloned()
                .chain([choice.clone()])
                .collect();
            for mut finding in of_stage(&stage.reopen(&with(variants))?, options) {
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

fn of_stage(stage: &Stage, options: &Options) -> Vec<Diagnostic> {
    let subject = Subject::of(stage, options);
    let mut found = Found::default();
    run_rules(RULES, |rule| {
        if !options.wants(rule.code.id) {
            return false;
        }
        (rule.check)(&subject, &mut found.of_rule(&rule.code, stage));
        found.has(&rule.code)
    });
    found.into_diagnostics()
}
