//! Checks glTF 2.0 files against the specification of EXT_robot_kinematics: [`check`] is the entry
//! point.
//!
//! The rules are those of `docs/EXT_robot_kinematics/README.md`, section "Validation rules": each
//! is a folder of `rules`, with its code, its sentence and its examples. The JSON schema of the
//! specification is one of them. Core glTF, such as accessors, meshes and images, is left to the
//! Khronos validator.
//!
//! This crate must not know robots, URDF, the file system or the network. It must not panic,
//! whatever the file contains.

mod animations;
mod asset;
mod basis;
mod chain;
pub mod codes;
mod configurations;
mod findings;
mod hierarchy;
mod json_schema;
mod open;
mod positions;
mod rest;
mod rules;
#[cfg(test)]
mod tests;
mod transform;

use std::path::Path;

use asset::Asset;
use findings::{Findings, Found};
use hierarchy::Hierarchy;

use urdf_usd_diagnostic::{self as diagnostic, Diagnostic};
use urdf_usd_gltf_extension::{Extension, Json, NAME};

/// A validation rule of the extension. Its function reports where an asset breaks it.
///
/// Examples map JSON pointers into `docs/EXT_robot_kinematics/test/sampler.gltf` to values.
/// Pointers without a leading `/` are relative to the extension's object.
pub type Rule = diagnostic::Rule<for<'a> fn(&Subject<'a>, &mut Findings<'_>)>;

/// All rules, in the order of the specification's table.
pub const RULES: &[&Rule] = rules::ALL;

/// The asset to be checked.
pub struct Subject<'a> {
    /// The document; null if it can't be parsed.
    root: &'a Json,
    /// Reason why the document can't be parsed.
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

    /// Returns the index of the extension in a list of extensions of the document.
    fn listed_in(&self, list: &str) -> Option<usize> {
        self.root
            .list(list)
            .iter()
            .position(|entry| entry.text() == Some(NAME))
    }
}

/// Checks the asset in `bytes`, a GLB or the text of a .gltf, against the extension's rules.
///
/// `file` is the name of the file in the findings; it is not opened. The place of a finding is a
/// JSON pointer ([`Place::element`](diagnostic::Place::element)), for a .gltf with line and column.
/// At most [`MAX_PER_CODE`](urdf_usd_diagnostic::MAX_PER_CODE) findings per rule are listed.
pub fn check(bytes: &[u8], file: Option<&Path>) -> Vec<Diagnostic> {
    let opened = open::open(bytes);
    let subject = Subject::of(
        opened
            .as_ref()
            .map(|opened| &opened.json)
            .map_err(String::as_str),
    );
    let mut found = Found::default();
    diagnostic::run_rules(RULES, |rule| {
        (rule.check)(&subject, &mut found.of_rule(&rule.code));
        found.has(&rule.code)
    });
    let text = opened
        .as_ref()
        .ok()
        .filter(|opened| opened.is_text)
        .map(|opened| opened.text);
    found.into_diagnostics(text, file)
}
