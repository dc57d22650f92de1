//! Writes a [`Robot`] as glTF 2.0 with EXT_robot_kinematics ([`write()`]), and a mesh as a GLB
//! ([`write_mesh`]).
//!
//! The file shows the robot in any glTF viewer; a viewer that knows the extension can also move it.
//! Everything is in glTF's axes. Colliders are included, but viewers don't draw them: their nodes
//! are hidden by `KHR_node_visibility`, and their material is transparent for viewers without it.
//!
//! The shapes' meshes are built first (`drawings`, with `surface`, `solids`, `images`, `paint` and
//! `binary`), then the nodes, then the objects that refer to nodes: physics, the kinematic model,
//! animations. `json` declares the structure of the document.
//!
//! This crate must not know URDF, files, ROS or HTTP: meshes and textures are loaded by its
//! callers.

mod animation;
mod binary;
mod cameras;
pub mod codes;
mod compact;
mod drawings;
mod extras;
mod glb;
mod images;
mod json;
mod lights;
mod limits;
mod mesh;
mod model;
mod nodes;
mod numbers;
mod options;
mod paint;
mod physics;
mod planning;
mod solids;
mod surface;
mod tangents;
#[cfg(test)]
mod tests;

pub use compact::Compression;
pub use images::Images;
pub use mesh::write_mesh;
pub use options::{Extent, Options};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
pub use urdf_usd_gltf_extension::source::Source;

use self::drawings::{Drawings, Unpainted};
use crate::json::document::{Document, Node, RootExtensions, Scene, Variant, Variants};
use crate::json::kinematics::Kinematics;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::facts::{self, Fact};
use urdf_usd_robot::{CacheEvicted, InvalidRobot, Robot};
use urdf_usd_store::{Piece, Pieces, Store, joined};

/// Error when building a GLB.
#[derive(Debug, thiserror::Error)]
pub enum GlbError {
    /// The content exceeds the maximum size of a GLB: [`codes::TOO_LARGE`].
    #[error("{0}")]
    TooLarge(Box<Diagnostic>),
    /// A mesh, or a part of the output, has been evicted from the cache.
    #[error(transparent)]
    Evicted(#[from] CacheEvicted),
    /// The robot that wraps a single mesh could not be built.
    #[error(transparent)]
    Invalid(#[from] InvalidRobot),
}

/// Result of [`write()`].
#[derive(Debug)]
pub struct Written {
    document: Document,
    binary: Pieces,
    /// Properties of the robot that the file can't hold.
    pub diagnostics: Vec<Diagnostic>,
}

impl Written {
    /// Returns the document and its buffer as one GLB.
    ///
    /// # Errors
    ///
    /// If it exceeds the maximum size of a GLB, or if a part of it has been evicted from the cache.
    pub fn glb(self) -> Result<Vec<u8>, GlbError> {
        let pieces = self
            .glb_in_pieces()
            .map_err(|found| GlbError::TooLarge(Box::new(found)))?;
        Ok(joined(&pieces).ok_or(CacheEvicted)?)
    }

    /// Returns the GLB in pieces, which can be written one after the other without copying them.
    ///
    /// # Errors
    ///
    /// [`codes::TOO_LARGE`] if it exceeds the maximum size of a GLB.
    pub fn glb_in_pieces(self) -> Result<Vec<Piece>, Diagnostic> {
        let json = serde_json::to_vec(&self.document).ok();
        json.and_then(|json| glb::pack(&json, self.binary)).ok_or_else(|| {
            let name = self.document.scenes.first().map_or("", |scene| &scene.name);
            Diagnostic::new(&codes::TOO_LARGE, Place::default(), format!("robot \"{name}\" needs more than a GLB can hold"))
                .help("use simpler meshes or smaller textures, --gltf-compression meshopt, or the format gltf")
        })
    }

    /// Returns the document as readable JSON, and the pieces of its buffer, to which it refers as a
    /// file named `binary` in the same directory.
    pub fn gltf(&mut self, binary: &str) -> (Vec<u8>, Vec<Piece>) {
        // The second buffer, if there is one, is the fallback of compressed views and has no bytes.
        let uri = utf8_percent_encode(binary, IN_URI).to_string();
        self.document
            .buffers
            .iter_mut()
            .take(1)
            .for_each(|buffer| buffer.uri = Some(uri.clone()));
        let mut json = serde_json::to_vec_pretty(&self.document).unwrap_or_default();
        json.push(b'\n');
        // The buffer of a GLB has no URI.
        self.document
            .buffers
            .iter_mut()
            .take(1)
            .for_each(|buffer| buffer.uri = None);
        (json, self.binary.pieces())
    }
}

/// Characters that a relative URI holds verbatim (RFC 3986).
const IN_URI: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Facts that glTF has no word for ([`codes::NO_WORD`]), unless custom elements in its extras state
/// them.
pub const NO_WORD: &[Fact] = &[
    Fact::SensorsBesideCameras,
    Fact::Contact,
    Fact::DisabledCollisions,
    Fact::DrivesWithoutGains,
    Fact::Interfaces,
    Fact::Contexts,
];
/// Facts of [`NO_WORD`] that physics extensions have ([`Extent::physics`]).
const IN_PHYSICS: &[Fact] = &[Fact::Contact, Fact::DisabledCollisions];

/// Reports the facts that are missing from the file.
fn omissions(robot: &Robot, physics: bool) -> Option<Diagnostic> {
    let is_lost = |fact: &&Fact| {
        let is_there = physics && IN_PHYSICS.contains(fact);
        !is_there && !fact.is_in_custom_elements(robot)
    };
    let omitted = facts::list(robot, NO_WORD.iter().filter(is_lost).copied())?;
    let message = format!("glTF can't express these parts of the robot: {omitted}");
    let finding = Diagnostic::new(&codes::NO_WORD, robot.place.clone(), message);
    Some(finding.help("use the OpenUSD asset, or keep the source of the robot, if they are needed"))
}

/// Writes `robot` as glTF. The same robot and options give the same bytes, whatever is in `store`.
///
/// Shapes whose mesh was not loaded become nodes without a mesh.
///
/// # Errors
///
/// If a mesh has been evicted from the cache.
pub fn write(robot: &Robot, options: &Options, store: &Store) -> Result<Written, CacheEvicted> {
    let Extent {
        animations,
        physics,
        ..
    } = options.extent;
    let mut diagnostics = Vec::new();
    let mut drawings = drawings::draw(robot, options, Unpainted::Grey, store, &mut diagnostics)?;
    let mut nodes = nodes::build(robot, &mut drawings, physics);
    let (shapes, rigid_bodies) = if physics {
        physics::add(robot, options.base, &mut nodes)
    } else {
        Default::default()
    };
    let lights = lights::add(robot, &mut nodes);
    let cameras = cameras::add(robot, &mut nodes);
    let model = model::build(robot, &nodes, options, &mut diagnostics);
    diagnostics.extend(omissions(robot, physics));
    let animations = if animations {
        animation::previews(&model.joints, &mut drawings.binary)
    } else {
        Vec::new()
    };
    let needed = needed_extensions(&drawings, &nodes.list);
    let is_physical = nodes
        .list
        .iter()
        .any(|node| !node.extensions.rigid_body.is_empty());
    let has = |name, is_used: bool| is_used.then_some(name);
    let used = [
        has("EXT_robot_kinematics", true),
        has(
            "KHR_node_visibility",
            robot
                .links()
                .values()
                .any(|link| !link.collisions.is_empty()),
        ),
        has(urdf_usd_gltf_extension::lights::NAME, !lights.is_empty()),
        has("KHR_implicit_shapes", !shapes.is_empty()),
        has("KHR_physics_rigid_bodies", is_physical),
        has("KHR_materials_variants", !robot.look_variants().is_empty()),
    ];
    let variants = robot
        .look_variants()
        .iter()
        .map(|look| Variant {
            name: look.name.clone(),
        })
        .collect();
    let variants = Variants { variants };
    let of_materials: Vec<&str> = drawings.paint.extensions().collect();
    let document = Document {
        extensions_used: used
            .into_iter()
            .flatten()
            .chain(of_materials)
            .chain(needed.iter().copied())
            .collect(),
        extensions_required: needed,
        scenes: vec![Scene {
            name: robot.name().to_owned(),
            nodes: vec![nodes.root],
        }],
        nodes: nodes.list,
        animations,
        cameras,
        meshes: drawings.meshes,
        materials: drawings.paint.materials,
        textures: drawings.paint.textures,
        images: drawings.paint.images,
        samplers: drawings.paint.samplers,
        buffers: drawings.binary.buffers(),
        accessors: drawings.binary.accessors,
        buffer_views: drawings.binary.views,
        extensions: RootExtensions {
            kinematics: Kinematics {
                models: vec![model],
            },
            shapes,
            rigid_bodies,
            lights,
            variants,
        },
        ..Document::default()
    };
    Ok(Written {
        document,
        binary: drawings.binary.buffer,
        diagnostics,
    })
}

/// Returns the extensions without which a reader can't display the meshes.
fn needed_extensions(drawings: &Drawings, nodes: &[Node]) -> Vec<&'static str> {
    let mut views = drawings.binary.views.iter();
    let is_compressed = views.any(|view| view.extensions.is_some());
    let is_quantized = drawings.grids.iter().any(Option::is_some);
    let has_instances = nodes.iter().any(|node| node.extensions.instances.is_some());
    let needed = [
        is_compressed.then_some("EXT_meshopt_compression"),
        is_quantized.then_some("KHR_mesh_quantization"),
        has_instances.then_some(urdf_usd_gltf_extension::instances::NAME),
    ];
    needed.into_iter().flatten().collect()
}
