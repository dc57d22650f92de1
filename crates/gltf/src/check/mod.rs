//! Holds a glTF 2.0 file against the specification of EXT_robot_kinematics: [`check`] is the entry
//! point.
//!
//! The rules are those of `docs/EXT_robot_kinematics/README.md`, section "Validation rules": each
//! has a file under `rules`, with its code, its sentence and its examples. The JSON schema of the
//! same folder is one of them. Accessors, meshes, images and whatever else is core glTF are the
//! business of the Khronos validator.
//!
//! This module must not know robots, URDF, the file system or the network; nothing in a file makes
//! it panic.

mod animations;
mod asset;
mod basis;
mod chain;
pub mod codes;
mod configurations;
mod findings;
mod hierarchy;
mod open;
mod positions;
mod rest;
mod rules;
#[cfg(test)]
mod tests;
mod transform;

use std::path::Path;

use asset::Asset;
use findings::Findings;
use hierarchy::Hierarchy;

use super::extension::{Extension, Json, NAME};
use urdf_usd_diagnostic::{self as diagnostic, Diagnostic};

/// A rule of the extension, whose function reports where an asset breaks it.
///
/// The places of its examples are JSON pointers into `docs/EXT_robot_kinematics/test/sampler.gltf`;
/// those that do not begin with `/` are below the extension's object.
pub type Rule = diagnostic::Rule<for<'a> fn(&Subject<'a>, &mut Findings)>;

/// All rules, in the order of the specification's table.
pub const RULES: &[&Rule] = rules::ALL;

/// What the rules look at.
pub struct Subject<'a> {
    /// The document; null if it can't be read.
    root: &'a Json,
    /// Why the document can't be read.
    fault: Option<&'a str>,
    extension: Option<Extension<'a>>,
    asset: Asset<'a>,
    hierarchy: Hierarchy,
}

impl<'a> Subject<'a> {
    fn of(document: Result<&'a Json, &'a str>) -> Self {
        let (root, fault) = match document {
            Ok(root) => (root, None),
            Err(fault) => (&Json::Null, Some(fault)),
        };
        let extension = Extension::of(root);
        let asset = Asset::of(root, extension.as_ref());
        let hierarchy = Hierarchy::of(asset.nodes);
        Self {
            root,
            fault,
            extension,
            asset,
            hierarchy,
        }
    }

    /// Where the extension stands in a list of extensions of the document.
    fn listed_in(&self, list: &str) -> Option<usize> {
        self.root
            .list(list)
            .iter()
            .position(|entry| entry.text() == Some(NAME))
    }
}

/// What the asset in `bytes`, a GLB or the text of a .gltf, breaks of the extension's rules;
/// nothing if it follows them all.
///
/// `file` is only named: where a finding is says the JSON pointer in
/// [`Place::element`](diagnostic::Place::element), and for a .gltf also the line and the column. Of
/// one rule, at most [`findings::MOST_PER_CODE`] findings are told apart.
pub fn check(bytes: &[u8], file: Option<&Path>) -> Vec<Diagnostic> {
    let opened = open::open(bytes);
    let subject = Subject::of(
        opened
            .as_ref()
            .map(|opened| &opened.json)
            .map_err(String::as_str),
    );
    let mut findings = Findings::default();
    diagnostic::run_rules(RULES, |rule| {
        (rule.check)(&subject, &mut findings);
        findings.has(&rule.code)
    });
    let text = opened
        .as_ref()
        .ok()
        .filter(|opened| opened.is_text)
        .map(|opened| opened.text);
    findings.into_diagnostics(text, file)
}
