//! Holds a glTF 2.0 file against the specification of EXT_robot_kinematics: [`check`] is the door.
//!
//! The rules are those of `docs/EXT_robot_kinematics/README.md`, section "Validation rules": each has a code in [`codes`] and a
//! file for its group under `rules`. The JSON schema of the same folder is one of them. Accessors, meshes, images and whatever
//! else is core glTF are the business of the Khronos validator.
//!
//! This module must not know robots, URDF, the file system or the network; nothing in a file makes it panic.

mod asset;
pub mod codes;
mod findings;
mod hierarchy;
mod open;
mod positions;
mod rules;
mod schema;
#[cfg(test)]
mod tests;
mod transform;

use std::path::Path;

use asset::Asset;
use findings::Findings;
use hierarchy::Hierarchy;
use serde_json::Value;

use urdf_usd_diagnostic::Diagnostic;

/// The extension's name.
const EXTENSION: &str = "EXT_robot_kinematics";

/// What the asset in `bytes`, a GLB or the text of a .gltf, breaks of the extension's rules; nothing if it follows them all.
///
/// `file` is only named: where a finding is says the JSON pointer in [`Place::element`](urdf_usd_diagnostic::Place::element), and
/// for a .gltf also the line and the column. Of one rule, at most [`findings::MOST_PER_CODE`] findings are told apart.
pub fn check(bytes: &[u8], file: Option<&Path>) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    let text = match open::open(bytes) {
        Ok(opened) => {
            check_document(&opened.json, &mut findings);
            opened.is_text.then_some(opened.text)
        }
        Err(message) => {
            let help = "give a .glb or .gltf file of glTF 2.0; the Khronos validator says more of what is wrong with one";
            findings.report(&codes::UNREADABLE, "", message, help);
            None
        }
    };
    findings.into_diagnostics(text, file)
}

fn check_document(json: &Value, findings: &mut Findings) {
    rules::declared::check(json, findings);
    let Some(extension) = json.pointer(&format!("/extensions/{EXTENSION}")) else { return };
    let asset = Asset::of(json, extension, findings);
    let hierarchy = Hierarchy::of(asset.nodes);
    rules::hierarchy::check(&asset, &hierarchy, findings);
    rules::links::check(&asset, &hierarchy, findings);
    rules::chains::check(&asset, &hierarchy, findings);
    rules::transforms::check(&asset, findings);
    rules::axes::check(&asset, findings);
    rules::limits::check(&asset, findings);
    rules::mimics::check(&asset, findings);
    rules::configurations::check(&asset, findings);
    rules::others::check(extension, &asset, findings);
    rules::animations::check(&asset, &hierarchy, json, findings);
    rules::shapes::check(&asset, &hierarchy, json, findings);
    // Last, so that it says only what no rule has said better.
    schema::check(extension, &asset, findings);
}
