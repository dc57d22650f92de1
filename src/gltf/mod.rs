//! A robot as one binary glTF 2.0 file with EXT_robot_kinematics: [`write`] is the door.
//!
//! The file shows the robot in any glTF viewer; a viewer that knows the extension can also move it. Everything is in glTF's
//! axes. Visuals have materials; colliders are there too, but no viewer draws them: their nodes carry `KHR_node_visibility`, and
//! their material is invisible for viewers without it.
//!
//! This module must not know URDF, files, ROS or HTTP: meshes and textures are in the [`Robot`] already.

mod axes;
mod binary;
pub mod codes;
mod document;
mod drawings;
mod extension;
mod extras;
mod glb;
mod images;
mod model;
mod nodes;
mod paint;
mod solids;
mod surface;
#[cfg(test)]
mod tests;

use document::{Document, RootExtensions, Scene};
use extension::Kinematics;
pub use extension::Source;

use crate::diagnostic::Diagnostic;
use crate::robot::Robot;
use crate::store::Store;

/// What to write beside the robot itself.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the robot was made from, for the model's `source`.
    pub source: Option<Source>,
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The GLB; empty if none could be made, which a diagnostic of severity error then says.
    pub glb: Vec<u8>,
    /// What of the robot the GLB can't hold.
    pub diagnostics: Vec<Diagnostic>,
}

/// Writes `robot` as a GLB. The same robot and options give the same bytes, whatever is in `store`.
///
/// Shapes whose mesh was not loaded stay as nodes that draw nothing.
pub fn write(robot: &Robot, options: &Options, store: &Store) -> Written {
    let mut diagnostics = Vec::new();
    let drawings = drawings::draw(robot, store, &mut diagnostics);
    let nodes = nodes::build(robot, &drawings);
    let model = model::build(robot, &nodes, options, &mut diagnostics);
    let mut extensions_used = vec!["EXT_robot_kinematics"];
    if robot.links.iter().any(|link| !link.collisions.is_empty()) {
        extensions_used.push("KHR_node_visibility");
    }
    let document = Document {
        extensions_used,
        scenes: vec![Scene { name: robot.name.clone(), nodes: vec![nodes.root] }],
        nodes: nodes.list,
        meshes: drawings.meshes,
        materials: drawings.paint.materials,
        textures: drawings.paint.textures,
        images: drawings.paint.images,
        buffers: drawings.binary.buffers(),
        accessors: drawings.binary.accessors,
        buffer_views: drawings.binary.views,
        extensions: RootExtensions { kinematics: Kinematics { models: vec![model] } },
        ..Document::default()
    };
    let packed = serde_json::to_vec(&document).ok().and_then(|json| glb::pack(&json, &drawings.binary.bytes));
    let glb = packed.unwrap_or_else(|| {
        let message = format!("robot \"{}\" needs more than a GLB can hold", robot.name);
        let help = "use simpler meshes or smaller textures";
        diagnostics.push(Diagnostic::new(&codes::TOO_LARGE, robot.place.clone(), message).help(help));
        Vec::new()
    });
    Written { glb, diagnostics }
}

/// `value` if JSON can hold it; an infinite bound is no bound.
fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}
