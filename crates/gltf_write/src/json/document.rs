//! The JSON of a glTF 2.0 document, as far as this project writes it. Only shapes: nothing here
//! decides anything.
//!
//! Fields stand in the order in which they are written, which makes equal documents equal bytes; an
//! absent option and an empty list are left out, as the specification wants it.

use serde::{Deserialize, Serialize};

use super::extras::NodeExtras;
use super::kinematics::Kinematics;
use super::lights::{LightReference, Lights};
use super::physics::{RigidBodies, RigidBody, Shapes};
use super::values::Index;
use urdf_usd_gltf_extension::Motion;

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
    pub cameras: Vec<Camera>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meshes: Vec<Mesh>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub materials: Vec<Material>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub textures: Vec<Texture>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samplers: Vec<Sampling>,
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
        Self {
            version: "2.0",
            generator: concat!("urdf_usd ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

#[derive(Debug, Default, Serialize)]
pub struct RootExtensions {
    #[serde(
        rename = "EXT_robot_kinematics",
        skip_serializing_if = "Kinematics::is_empty"
    )]
    pub kinematics: Kinematics,
    #[serde(
        rename = "KHR_implicit_shapes",
        skip_serializing_if = "Shapes::is_empty"
    )]
    pub shapes: Shapes,
    #[serde(
        rename = "KHR_physics_rigid_bodies",
        skip_serializing_if = "RigidBodies::is_empty"
    )]
    pub rigid_bodies: RigidBodies,
    #[serde(
        rename = "KHR_lights_punctual",
        skip_serializing_if = "Lights::is_empty"
    )]
    pub lights: Lights,
    #[serde(
        rename = "KHR_materials_variants",
        skip_serializing_if = "Variants::is_empty"
    )]
    pub variants: Variants,
}

impl RootExtensions {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        let Self {
            kinematics,
            shapes,
            rigid_bodies,
            lights,
            variants,
        } = self;
        kinematics.is_empty()
            && shapes.is_empty()
            && rigid_bodies.is_empty()
            && lights.is_empty()
            && variants.is_empty()
    }
}

/// The looks that can be chosen.
#[derive(Debug, Default, Serialize)]
pub struct Variants {
    pub variants: Vec<Variant>,
}

impl Variants {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.variants.is_empty()
    }
}

#[derive(Debug, Serialize)]
pub struct Variant {
    pub name: String,
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
    pub camera: Option<Index>,
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
    #[serde(
        rename = "KHR_node_visibility",
        skip_serializing_if = "Option::is_none"
    )]
    pub visibility: Option<Visibility>,
    #[serde(
        rename = "KHR_physics_rigid_bodies",
        skip_serializing_if = "RigidBody::is_empty"
    )]
    pub rigid_body: RigidBody,
    #[serde(
        rename = "KHR_lights_punctual",
        skip_serializing_if = "Option::is_none"
    )]
    pub light: Option<LightReference>,
    #[serde(
        rename = "EXT_mesh_gpu_instancing",
        skip_serializing_if = "Option::is_none"
    )]
    pub instances: Option<Instances>,
}

impl NodeExtensions {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.visibility.is_none()
            && self.rigid_body.is_empty()
            && self.light.is_none()
            && self.instances.is_none()
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

/// A camera, which looks along -z of its node with y up.
#[derive(Debug, Serialize)]
pub struct Camera {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(flatten)]
    pub view: View,
    pub extras: CameraExtras,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum View {
    Perspective { perspective: Perspective },
    Orthographic { orthographic: Orthographic },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Perspective {
    /// Width to height.
    pub aspect_ratio: f64,
    /// Radians, over the height.
    pub yfov: f64,
    /// Metres.
    pub znear: f64,
    /// Metres.
    pub zfar: f64,
}

#[derive(Debug, Serialize)]
pub struct Orthographic {
    /// Metres: half of the width.
    pub xmag: f64,
    /// Metres: half of the height.
    pub ymag: f64,
    /// Metres.
    pub znear: f64,
    /// Metres.
    pub zfar: f64,
}

/// The size of a camera's image in pixels, of which glTF knows only how wide it is to its height.
#[derive(Debug, Serialize)]
pub struct CameraExtras {
    pub width: u32,
    pub height: u32,
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
    #[serde(skip_serializing_if = "PrimitiveExtensions::is_empty")]
    pub extensions: PrimitiveExtensions,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct PrimitiveExtensions {
    #[serde(
        rename = "KHR_materials_variants",
        skip_serializing_if = "Mappings::is_empty"
    )]
    pub variants: Mappings,
}

impl PrimitiveExtensions {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.variants.is_empty()
    }
}

/// The materials of a primitive in looks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Mappings {
    pub mappings: Vec<Mapping>,
}

impl Mappings {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }
}

/// The looks in which a primitive has a material.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Mapping {
    pub material: Index,
    pub variants: Vec<Index>,
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
    /// Of a mask; one half where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_cutoff: Option<f32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub double_sided: bool,
    #[serde(skip_serializing_if = "MaterialExtensions::is_empty")]
    pub extensions: MaterialExtensions,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MaterialExtensions {
    #[serde(
        rename = "KHR_materials_clearcoat",
        skip_serializing_if = "Option::is_none"
    )]
    pub clearcoat: Option<Clearcoat>,
    #[serde(
        rename = "KHR_materials_emissive_strength",
        skip_serializing_if = "Option::is_none"
    )]
    pub emissive_strength: Option<EmissiveStrength>,
    #[serde(rename = "KHR_materials_ior", skip_serializing_if = "Option::is_none")]
    pub ior: Option<Ior>,
    #[serde(
        rename = "KHR_materials_specular",
        skip_serializing_if = "Option::is_none"
    )]
    pub specular: Option<Specular>,
}

impl MaterialExtensions {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A clear lacquer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Clearcoat {
    pub clearcoat_factor: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clearcoat_texture: Option<TextureReference>,
    pub clearcoat_roughness_factor: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clearcoat_roughness_texture: Option<TextureReference>,
}

/// How much a dielectric mirrors, relative to what its index of refraction says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Specular {
    pub specular_color_factor: [f32; 3],
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
    #[serde(skip_serializing_if = "TextureExtensions::is_empty")]
    pub extensions: TextureExtensions,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TextureExtensions {
    #[serde(
        rename = "KHR_texture_transform",
        skip_serializing_if = "Option::is_none"
    )]
    pub transform: Option<TextureTransform>,
}

impl TextureExtensions {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.transform.is_none()
    }
}

/// What is done to texture coordinates: the scale, then the rotation (radians), then the offset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TextureTransform {
    pub offset: [f64; 2],
    pub rotation: f64,
    pub scale: [f32; 2],
}

/// A texture of normals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NormalReference {
    #[serde(flatten)]
    pub texture: TextureReference,
    /// The factor of x and y; one where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f32>,
}

/// A texture whose red is occlusion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OcclusionReference {
    #[serde(flatten)]
    pub texture: TextureReference,
    /// How much of it counts; one, which is all, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<f32>,
}

/// How opacity is meant; opaque where absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AlphaMode {
    /// Drawn where the opacity is at least the cutoff, left out elsewhere.
    Mask,
    /// Mixed with what is behind.
    Blend,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Texture {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<Index>,
    pub source: Index,
}

/// How an image goes on beyond its edges; it begins anew where a component is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sampling {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap_s: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap_t: Option<u32>,
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
