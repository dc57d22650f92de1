//! The JSON of a glTF 2.0 document, as far as this project writes it. Only shapes: nothing here decides anything.
//!
//! Fields stand in the order in which they are written, which makes equal documents equal bytes; an absent option and an empty
//! list are left out, as the specification wants it.

use serde::Serialize;

use super::extension::Kinematics;
use super::extras::NodeExtras;

/// An index into one of the document's lists.
pub type Index = usize;

/// The root object.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    pub asset: Asset,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions_used: Vec<&'static str>,
    pub scene: Index,
    pub scenes: Vec<Scene>,
    pub nodes: Vec<Node>,
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
    pub extensions: RootExtensions,
}

#[derive(Debug, Serialize)]
pub struct Asset {
    pub version: &'static str,
    pub generator: String,
}

impl Default for Asset {
    fn default() -> Self {
        Self { version: "2.0", generator: format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")) }
    }
}

#[derive(Debug, Default, Serialize)]
pub struct RootExtensions {
    #[serde(rename = "EXT_robot_kinematics")]
    pub kinematics: Kinematics,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<NodeExtensions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extras: Option<NodeExtras>,
}

#[derive(Debug, Serialize)]
pub struct NodeExtensions {
    #[serde(rename = "KHR_node_visibility")]
    pub visibility: Visibility,
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

/// Triangles with one material.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Primitive {
    pub attributes: Attributes,
    pub indices: Index,
    pub material: Index,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Attributes {
    #[serde(rename = "POSITION")]
    pub position: Index,
    #[serde(rename = "NORMAL")]
    pub normal: Index,
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
    pub emissive_factor: Option<[f32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_mode: Option<AlphaMode>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub double_sided: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetallicRoughness {
    pub base_color_factor: [f32; 4],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_color_texture: Option<TextureReference>,
    pub metallic_factor: f32,
    pub roughness_factor: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TextureReference {
    pub index: Index,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<[f32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<[f32; 3]>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BufferView {
    pub buffer: Index,
    pub byte_offset: usize,
    pub byte_length: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u32>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Buffer {
    pub byte_length: usize,
}
