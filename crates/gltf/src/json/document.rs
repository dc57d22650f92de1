//! The JSON of a glTF 2.0 document, as far as this project writes it. Only shapes: nothing here decides anything.
//!
//! Fields stand in the order in which they are written, which makes equal documents equal bytes; an absent option and an empty
//! list are left out, as the specification wants it.

use serde::{Deserialize, Serialize};

use super::extras::NodeExtras;
use super::kinematics::Kinematics;
use super::lights::{LightReference, Lights};
use super::physics::{RigidBodies, RigidBody, Shapes};
use super::values::Index;
use crate::extension::Motion;

/// The root object.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    pub asset: Asset,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions_used: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions_required: Vec<&'static str>,
    pub scene: Index,
    pub scenes: Vec<Scene>,
    pub nodes: Vec<Node>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub animations: Vec<Animation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meshes: Vec<Mesh>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub materials: Vec<Material>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub textures: Vec<Texture>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accessors: Vec<Accessor>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buffer_views: Vec<BufferView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<Buffer>,
    #[serde(skip_serializing_if = "RootExtensions::is_empty")]
    pub extensions: RootExtensions,
}

#[derive(Debug, Serialize)]
pub struct Asset {
    pub version: &'static str,
    pub generator: String,
}

impl Default for Asset {
    fn default() -> Self {
        Self { version: "2.0", generator: concat!("urdf_usd ", env!("CARGO_PKG_VERSION")).to_owned() }
    }
}

#[derive(Debug, Default, Serialize)]
pub struct RootExtensions {
    #[serde(rename = "EXT_robot_kinematics", skip_serializing_if = "Kinematics::is_empty")]
    pub kinematics: Kinematics,
    #[serde(rename = "KHR_implicit_shapes", skip_serializing_if = "Shapes::is_empty")]
    pub shapes: Shapes,
    #[serde(rename = "KHR_physics_rigid_bodies", skip_serializing_if = "RigidBodies::is_empty")]
    pub rigid_bodies: RigidBodies,
    #[serde(rename = "KHR_lights_punctual", skip_serializing_if = "Lights::is_empty")]
    pub lights: Lights,
}

impl RootExtensions {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.kinematics.is_empty() && self.shapes.is_empty() && self.rigid_bodies.is_empty() && self.lights.is_empty()
    }
}

#[derive(Debug, Serialize)]
pub struct Scene {
    pub name: String,
    pub nodes: Vec<Index>,
}

/// A node; its transform is identity where a component is absent.
#[derive(Debug, Default, Serialize)]
pub struct Node {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translation: Option<[f64; 3]>,
    /// x, y, z, w.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<[f64; 4]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f64; 3]>,
    #[serde(skip_serializing_if = "NodeExtensions::is_empty")]
    pub extensions: NodeExtensions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extras: Option<NodeExtras>,
}

#[derive(Debug, Default, Serialize)]
pub struct NodeExtensions {
    #[serde(rename = "KHR_node_visibility", skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    #[serde(rename = "KHR_physics_rigid_bodies", skip_serializing_if = "RigidBody::is_empty")]
    pub rigid_body: RigidBody,
    #[serde(rename = "KHR_lights_punctual", skip_serializing_if = "Option::is_none")]
    pub light: Option<LightReference>,
    #[serde(rename = "EXT_mesh_gpu_instancing", skip_serializing_if = "Option::is_none")]
    pub instances: Option<Instances>,
}

impl NodeExtensions {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.visibility.is_none() && self.rigid_body.is_empty() && self.light.is_none() && self.instances.is_none()
    }
}

/// Where the copies of a node's mesh are in the node.
#[derive(Debug, Serialize)]
pub struct Instances {
    pub attributes: InstanceAttributes,
}

/// Accessors of as many values as there are copies.
#[derive(Debug, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct InstanceAttributes {
    pub translation: Index,
    pub rotation: Index,
    pub scale: Index,
}

#[derive(Debug, Serialize)]
pub struct Visibility {
    pub visible: bool,
}

#[derive(Debug, Serialize)]
pub struct Mesh {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub primitives: Vec<Primitive>,
}

/// Triangles with one material, or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Primitive {
    pub attributes: Attributes,
    pub indices: Index,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub material: Option<Index>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Attributes {
    #[serde(rename = "POSITION")]
    pub position: Index,
    #[serde(rename = "NORMAL")]
    pub normal: Index,
    #[serde(rename = "TANGENT", skip_serializing_if = "Option::is_none")]
    pub tangent: Option<Index>,
    #[serde(rename = "TEXCOORD_0", skip_serializing_if = "Option::is_none")]
    pub uv: Option<Index>,
    #[serde(rename = "COLOR_0", skip_serializing_if = "Option::is_none")]
    pub color: Option<Index>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Material {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub pbr_metallic_roughness: MetallicRoughness,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normal_texture: Option<NormalReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occlusion_texture: Option<OcclusionReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emissive_texture: Option<TextureReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emissive_factor: Option<[f32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_mode: Option<AlphaMode>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub double_sided: bool,
    #[serde(skip_serializing_if = "MaterialExtensions::is_empty")]
    pub extensions: MaterialExtensions,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MaterialExtensions {
    #[serde(rename = "KHR_materials_emissive_strength", skip_serializing_if = "Option::is_none")]
    pub emissive_strength: Option<EmissiveStrength>,
    #[serde(rename = "KHR_materials_ior", skip_serializing_if = "Option::is_none")]
    pub ior: Option<Ior>,
}

impl MaterialExtensions {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.emissive_strength.is_none() && self.ior.is_none()
    }
}

/// What the emissive factor is multiplied with.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmissiveStrength {
    pub emissive_strength: f32,
}

/// An index of refraction other than 1.5.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ior {
    pub ior: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetallicRoughness {
    pub base_color_factor: [f32; 4],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_color_texture: Option<TextureReference>,
    pub metallic_factor: f32,
    pub roughness_factor: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metallic_roughness_texture: Option<TextureReference>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TextureReference {
    pub index: Index,
}

/// A texture of normals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NormalReference {
    pub index: Index,
    /// The factor of x and y; one where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f32>,
}

/// A texture whose red is occlusion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OcclusionReference {
    pub index: Index,
    /// How much of it counts; one, which is all, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<f32>,
}

/// How opacity is meant; opaque where absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AlphaMode {
    /// Drawn where the opacity is at least one half, left out elsewhere.
    Mask,
    /// Mixed with what is behind.
    Blend,
}

#[derive(Debug, Serialize)]
pub struct Texture {
    pub source: Index,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub mime_type: &'static str,
    pub buffer_view: Index,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Accessor {
    pub buffer_view: Index,
    pub component_type: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub normalized: bool,
    pub count: usize,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Of each component; empty where nobody needs them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub min: Vec<f32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub max: Vec<f32>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BufferView {
    pub buffer: Index,
    pub byte_offset: usize,
    pub byte_length: usize,
    /// From one element to the next, where elements are padded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_stride: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<BufferViewExtensions>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BufferViewExtensions {
    #[serde(rename = "EXT_meshopt_compression")]
    pub meshopt: CompressedView,
}

/// Where the bytes that a view stands for are, compressed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompressedView {
    pub buffer: Index,
    pub byte_offset: usize,
    pub byte_length: usize,
    pub byte_stride: usize,
    pub count: usize,
    pub mode: StreamMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<StreamFilter>,
}

/// What a compressed stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StreamMode {
    Attributes,
    Triangles,
}

/// What is done to the elements of a stream after it is decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StreamFilter {
    Octahedral,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Buffer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    pub byte_length: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<BufferExtensions>,
}

#[derive(Debug, Serialize)]
pub struct BufferExtensions {
    #[serde(rename = "EXT_meshopt_compression")]
    pub meshopt: FallbackBuffer,
}

/// Marks a buffer that has no bytes: it is what compressed views stand for.
#[derive(Debug, Serialize)]
pub struct FallbackBuffer {
    pub fallback: bool,
}

/// A motion of nodes over time.
#[derive(Debug, Serialize)]
pub struct Animation {
    pub name: String,
    pub channels: Vec<Channel>,
    pub samplers: Vec<Sampler>,
}

#[derive(Debug, Serialize)]
pub struct Channel {
    pub sampler: Index,
    pub target: ChannelTarget,
}

#[derive(Debug, Serialize)]
pub struct ChannelTarget {
    pub node: Index,
    /// `rotation` or `translation`.
    pub path: Motion,
}

/// Values over times, linear between them.
#[derive(Debug, Serialize)]
pub struct Sampler {
    pub input: Index,
    pub output: Index,
}
