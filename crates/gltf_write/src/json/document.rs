//! JSON of a glTF 2.0 document, restricted to the properties that this project writes.
//!
//! This module only declares the structure of the document and makes no decisions.
//!
//! Fields are declared in the order in which they are written, so that equal documents are equal
//! bytes. Absent options and empty lists are omitted, as the specification requires.

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
    /// Returns whether no extension is present.
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

/// The variants that a viewer offers (`KHR_materials_variants`).
#[derive(Debug, Default, Serialize)]
pub struct Variants {
    pub variants: Vec<Variant>,
}

impl Variants {
    /// Returns whether there are no variants.
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

/// A node. Absent components of its transform are identity.
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
    /// Quaternion: x, y, z, w.
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
    /// Returns whether no extension is present.
    pub fn is_empty(&self) -> bool {
        self.visibility.is_none()
            && self.rigid_body.is_empty()
            && self.light.is_none()
            && self.instances.is_none()
    }
}

/// Transforms of the mesh's copies, relative to the node (`EXT_mesh_gpu_instancing`).
#[derive(Debug, Serialize)]
pub struct Instances {
    pub attributes: InstanceAttributes,
}

/// Accessors of the copies' attributes, each with one value per copy.
#[derive(Debug, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct InstanceAttributes {
    pub translation: Index,
    pub rotation: Index,
    pub scale: Index,
}

/// A camera. It looks along -z of its node, with y up.
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
    /// Ratio of width to height.
    pub aspect_ratio: f64,
    /// Vertical field of view, in radians.
    pub yfov: f64,
    /// Distance of the near clipping plane, in metres.
    pub znear: f64,
    /// Distance of the far clipping plane, in metres.
    pub zfar: f64,
}

#[derive(Debug, Serialize)]
pub struct Orthographic {
    /// Half of the width, in metres.
    pub xmag: f64,
    /// Half of the height, in metres.
    pub ymag: f64,
    /// Distance of the near clipping plane, in metres.
    pub znear: f64,
    /// Distance of the far clipping plane, in metres.
    pub zfar: f64,
}

/// Image size of a camera in pixels, for `extras`: glTF has the aspect ratio only.
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

/// A triangle mesh with at most one material.
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
    /// Returns whether no extension is present.
    pub fn is_empty(&self) -> bool {
        self.variants.is_empty()
    }
}

/// The materials of a primitive by variant (`KHR_materials_variants`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Mappings {
    pub mappings: Vec<Mapping>,
}

impl Mappings {
    /// Returns whether there are no mappings.
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }
}

/// A material and the variants in which a primitive has it.
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
    /// Alpha cutoff of a mask; 0.5 if absent.
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
    /// Returns whether no extension is present.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Clear coat of a material (`KHR_materials_clearcoat`).
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

/// Specular reflection of a dielectric, relative to the reflectance that its index of refraction
/// gives (`KHR_materials_specular`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Specular {
    pub specular_color_factor: [f32; 3],
}

/// Multiplier of the emissive factor (`KHR_materials_emissive_strength`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmissiveStrength {
    pub emissive_strength: f32,
}

/// Index of refraction, if it is not glTF's default of 1.5 (`KHR_materials_ior`).
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
    /// Returns whether no extension is present.
    pub fn is_empty(&self) -> bool {
        self.transform.is_none()
    }
}

/// Transform of texture coordinates: scale, then rotation (radians), then offset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TextureTransform {
    pub offset: [f64; 2],
    pub rotation: f64,
    pub scale: [f32; 2],
}

/// Reference to a normal texture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NormalReference {
    #[serde(flatten)]
    pub texture: TextureReference,
    /// Factor of x and y; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f32>,
}

/// Reference to an occlusion texture, which is read from the red channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OcclusionReference {
    #[serde(flatten)]
    pub texture: TextureReference,
    /// Strength of the occlusion; 1 (full) if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<f32>,
}

/// Interpretation of opacity; opaque if absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AlphaMode {
    /// Fragments are drawn if their opacity is at least the cutoff, and discarded otherwise.
    Mask,
    /// Fragments are blended with the background.
    Blend,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Texture {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<Index>,
    pub source: Index,
}

/// Wrapping of texture coordinates outside the image; an absent component repeats.
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
    /// Minimum of each component; empty where glTF does not require bounds.
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
    /// Distance in bytes between the starts of elements, if they are padded.
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

/// Compressed bytes of a buffer view (`EXT_meshopt_compression`).
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

/// Codec of a compressed stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StreamMode {
    Attributes,
    Triangles,
}

/// Filter that a reader applies to the elements after decompression.
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

/// Marks the fallback buffer, which has no bytes: compressed views refer to it as their
/// decompressed content.
#[derive(Debug, Serialize)]
pub struct FallbackBuffer {
    pub fallback: bool,
}

/// An animation of nodes.
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
    /// Animated channel: `rotation` or `translation`.
    pub path: Motion,
}

/// Keyframes with linear interpolation.
#[derive(Debug, Serialize)]
pub struct Sampler {
    pub input: Index,
    pub output: Index,
}
