//! glTF 2.0 and GLB as a source: the default scene of a file as one mesh.
//!
//! glTF has y up, the hub z: (x, y, z) becomes (x, -z, y), as in RViz, Drake and Blender. Skins and morphs are shown unposed.
//! The `gltf` crate takes the container and the JSON apart; buffers and accessors are read here, where every index and count is
//! checked and integer attributes (`KHR_mesh_quantization`) are understood.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use gltf::binary::Glb;
use gltf::json::accessor::{ComponentType, Type};
use gltf::json::validation::Checked;
use gltf::json::{self, Index, Root};
use nalgebra::{Matrix4, Quaternion, Translation3, UnitQuaternion, Vector3};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::assembly::{Assembly, Corner, NONE, Surface};
use super::normals::Shading;
use super::{Error, Source, codes, texture};
use crate::robot::{Material, Mesh, Texture};

/// How deep nodes may be nested.
const MAX_DEPTH: usize = 1024;

/// Required extensions that change nothing about what is read here, or that are read.
const UNDERSTOOD: &[&str] = &[
    "EXT_texture_webp",
    "KHR_animation_pointer",
    "KHR_lights_punctual",
    "KHR_mesh_quantization",
    "KHR_node_visibility",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "KHR_xmp_json_ld",
];

/// Base64 as data URIs have it, with and without padding.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));

/// Reads the file.
pub(super) fn read(source: &mut Source) -> Result<Mesh, Error> {
    let bytes = source.file.bytes.clone();
    let (text, binary) = if bytes.starts_with(b"glTF") {
        let glb = Glb::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        (glb.json, glb.bin)
    } else {
        (Cow::Borrowed(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes)), None)
    };
    let root: Root = json::deserialize::from_slice(&text).map_err(|error| {
        if is_version_1(&text) {
            return Error::new(&codes::UNSUPPORTED, "the file is glTF 1, which is not read").help("export it as glTF 2.0");
        }
        broken(error.to_string()).line(if bytes.starts_with(b"glTF") { 0 } else { error.line() as u32 })
    })?;
    refuse_extensions(&root)?;
    let mut reader = Reader {
        root: &root,
        buffers: Vec::new(),
        assembly: Assembly::new(bytes.len()),
        looks: vec![None; root.materials.len()],
        visited: vec![false; root.nodes.len()],
        skipped: 0,
        source,
    };
    reader.buffers = reader.load_buffers(binary.as_deref());
    reader.scene()?;
    let Reader { assembly, skipped, source, .. } = reader;
    if skipped > 0 {
        source.report(&codes::SKIPPED, format!("{skipped} sets of points or lines are left out"), "");
    }
    assembly.finish(source, Shading::Flat)
}

fn broken(reason: impl Into<String>) -> Error {
    Error::new(&codes::UNREADABLE, format!("the glTF is broken: {}", reason.into())).help("export the mesh again")
}

fn is_version_1(text: &[u8]) -> bool {
    let version =
        serde_json::from_slice(text).ok().and_then(|json: Value| Some(json.get("asset")?.get("version")?.as_str()?.to_owned()));
    version.is_some_and(|version| version.starts_with("0.") || version.starts_with("1."))
}

fn refuse_extensions(root: &Root) -> Result<(), Error> {
    let unknown: Vec<&str> = root
        .extensions_required
        .iter()
        .map(String::as_str)
        .filter(|name| !UNDERSTOOD.contains(name) && !name.starts_with("KHR_materials_"))
        .collect();
    if unknown.is_empty() { Ok(()) } else { Err(unsupported(&unknown.join(", "))) }
}

fn unsupported(extensions: &str) -> Error {
    Error::new(&codes::UNSUPPORTED, format!("the file needs what is not read: {extensions}")).help(
        "export the mesh without compression, for instance with `gltf-transform dequantize` or `gltfpack -noq`, or as OBJ",
    )
}

/// A material as it is used.
#[derive(Clone)]
struct Look {
    /// An index into the assembly's materials.
    material: u32,
    /// The `TEXCOORD_n` that its texture uses, and how it lies.
    texcoord: u32,
    placement: Option<Placement>,
}

/// KHR_texture_transform.
#[derive(Clone)]
struct Placement {
    offset: [f32; 2],
    rotation: f32,
    scale: [f32; 2],
}

struct Reader<'a, 's, 'f> {
    root: &'a Root,
    /// `None` where one can't be had, which has been reported.
    buffers: Vec<Option<Cow<'a, [u8]>>>,
    assembly: Assembly,
    looks: Vec<Option<Look>>,
    visited: Vec<bool>,
    skipped: usize,
    source: &'s mut Source<'f>,
}

impl<'a> Reader<'a, '_, '_> {
    fn load_buffers(&mut self, binary: Option<&'a [u8]>) -> Vec<Option<Cow<'a, [u8]>>> {
        let mut buffers = Vec::new();
        for (i, buffer) in self.root.buffers.iter().enumerate() {
            let loaded = match &buffer.uri {
                None if i == 0 => binary.map(Cow::Borrowed).ok_or_else(|| "the file has no binary chunk".to_owned()),
                None => Err("it has no address".to_owned()),
                Some(uri) => self.load(uri).map(Cow::Owned),
            };
            let loaded = loaded.map_err(|reason| {
                let message = format!("buffer {i} can't be had: {reason}");
                self.source.report(&codes::REFERENCE, message, "put the buffer beside the glTF file");
            });
            buffers.push(loaded.ok());
        }
        buffers
    }

    /// What a URI means: data in itself, or a file.
    fn load(&self, uri: &str) -> Result<Vec<u8>, String> {
        match uri.strip_prefix("data:") {
            Some(data) => decode_data(data).ok_or_else(|| "its data URI is broken".to_owned()),
            None => self.source.open(uri).map(|file| file.bytes.to_vec()),
        }
    }

    fn scene(&mut self) -> Result<(), Error> {
        let root = self.root;
        // y up to z up.
        let upright = Matrix4::new(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0);
        let scene = root.scene.and_then(|scene| root.scenes.get(scene.value())).or_else(|| root.scenes.first());
        let roots = scene.map_or_else(|| self.parentless(), |scene| scene.nodes.iter().map(Index::value).collect());
        for node in roots {
            self.nodes(node, upright)?;
        }
        if root.nodes.is_empty() {
            for mesh in &root.meshes {
                self.mesh(mesh, &upright)?;
            }
        }
        Ok(())
    }

    fn parentless(&self) -> Vec<usize> {
        let mut has_parent = vec![false; self.root.nodes.len()];
        for child in self.root.nodes.iter().filter_map(|node| node.children.as_ref()).flatten() {
            if let Some(slot) = has_parent.get_mut(child.value()) {
                *slot = true;
            }
        }
        (0..has_parent.len()).filter(|&i| !has_parent[i]).collect()
    }

    /// Adds a node and all below it. A node that is come upon twice breaks the rules of the format and is left out then.
    fn nodes(&mut self, node: usize, upright: Matrix4<f64>) -> Result<(), Error> {
        let root = self.root;
        let mut open = vec![(node, upright, 0)];
        while let Some((index, parent, depth)) = open.pop() {
            let Some(node) = root.nodes.get(index) else {
                self.source.report(&codes::REFERENCE, format!("there is no node {index}"), "");
                continue;
            };
            if std::mem::replace(&mut self.visited[index], true) {
                self.source.report(&codes::REFERENCE, format!("node {index} has several parents, or itself for one"), "");
                continue;
            }
            if depth > MAX_DEPTH {
                return Err(Error::new(&codes::TOO_LARGE, format!("nodes are nested more than {MAX_DEPTH} deep")));
            }
            let transform = parent * transform_of(node);
            match node.mesh.map(|mesh| root.meshes.get(mesh.value())) {
                // The node of a skin does not move it.
                Some(Some(mesh)) => self.mesh(mesh, if node.skin.is_some() { &upright } else { &transform })?,
                Some(None) => self.source.report(&codes::REFERENCE, format!("node {index} has a mesh that does not exist"), ""),
                None => {}
            }
            let children = node.children.iter().flatten().rev();
            open.extend(children.map(|child| (child.value(), transform, depth + 1)));
        }
        Ok(())
    }

    fn mesh(&mut self, mesh: &'a json::Mesh, transform: &Matrix4<f64>) -> Result<(), Error> {
        mesh.primitives.iter().try_for_each(|primitive| self.primitive(primitive, transform))
    }

    fn primitive(&mut self, primitive: &'a json::mesh::Primitive, transform: &Matrix4<f64>) -> Result<(), Error> {
        use gltf::json::mesh::{Mode, Semantic};

        if has_extension(primitive.extensions.as_ref().map(|e| &e.others), "KHR_draco_mesh_compression") {
            return Err(unsupported("KHR_draco_mesh_compression"));
        }
        let attribute = |semantic: Semantic| primitive.attributes.get(&Checked::Valid(semantic)).copied();
        let mode = match primitive.mode {
            Checked::Valid(mode @ (Mode::Triangles | Mode::TriangleStrip | Mode::TriangleFan)) => mode,
            _ => {
                self.skipped += 1;
                return Ok(());
            }
        };
        let look = self.look(primitive.material)?;
        let positions: Vec<[f64; 3]> = match attribute(Semantic::Positions) {
            Some(accessor) => self.values(accessor)?,
            None => Vec::new(),
        };
        if positions.is_empty() {
            self.source.report(&codes::REFERENCE, "a primitive has no positions", "");
            return Ok(());
        }
        let normals: Vec<[f64; 3]> = attribute(Semantic::Normals).map_or(Ok(Vec::new()), |accessor| self.values(accessor))?;
        let normals: Vec<[f32; 3]> = normals.into_iter().map(|n| n.map(|x| x as f32)).collect();
        let set = look.as_ref().map_or(0, |look| look.texcoord);
        let uvs: Vec<[f64; 2]> =
            attribute(Semantic::TexCoords(set)).map_or(Ok(Vec::new()), |accessor| self.values(accessor))?;
        let placement = look.as_ref().and_then(|look| look.placement.as_ref());
        let uvs: Vec<[f32; 2]> = uvs.into_iter().map(|uv| lower_left(uv.map(|x| x as f32), placement)).collect();
        let indices: Vec<u32> = match primitive.indices {
            Some(accessor) => self.values::<1>(accessor)?.into_iter().map(|[i]| i as u32).collect(),
            None => (0..positions.len() as u32).collect(),
        };
        let corner = |i: u32| Corner {
            position: i,
            normal: if normals.is_empty() { NONE } else { i },
            uv: if uvs.is_empty() { NONE } else { i },
            color: NONE,
        };
        let triangle = |corners: [usize; 3]| corners.map(|c| corner(indices[c]));
        let count = indices.len();
        let triangles: Vec<_> = match mode {
            Mode::TriangleStrip => (0..count.saturating_sub(2))
                .map(|i| triangle(if i.is_multiple_of(2) { [i, i + 1, i + 2] } else { [i + 1, i, i + 2] }))
                .collect(),
            Mode::TriangleFan => (2..count).map(|i| triangle([0, i - 1, i])).collect(),
            _ => (0..count / 3).map(|i| triangle([3 * i, 3 * i + 1, 3 * i + 2])).collect(),
        };
        let runs = [(0..triangles.len(), look.map_or(NONE, |look| look.material))];
        let surface =
            Surface { positions: &positions, normals: &normals, uvs: &uvs, colors: &[], triangles: &triangles, runs: &runs };
        self.assembly.add(&surface, transform)
    }

    /// The material of a primitive, read once.
    fn look(&mut self, index: Option<Index<json::Material>>) -> Result<Option<Look>, Error> {
        let Some(index) = index.map(|index| index.value()) else { return Ok(None) };
        let Some(material) = self.root.materials.get(index) else {
            self.source.report(&codes::MATERIAL, format!("there is no material {index}"), "");
            return Ok(None);
        };
        if self.looks[index].is_none() {
            let look = self.read_material(material);
            self.looks[index] = Some(look);
        }
        Ok(self.looks[index].clone())
    }

    fn read_material(&mut self, material: &'a json::Material) -> Look {
        use gltf::json::material::AlphaMode;

        let name = material.name.clone().unwrap_or_default();
        let pbr = &material.pbr_metallic_roughness;
        let extension = |name: &str| material.extensions.as_ref().and_then(|e| e.others.get(name));
        let mut factor = pbr.base_color_factor.0;
        let mut info = pbr.base_color_texture.as_ref().map(TextureInfo::of);
        let (mut metallic, mut roughness) = (pbr.metallic_factor.0, pbr.roughness_factor.0);
        // The older model of materials, which takes precedence where it is given.
        if let Some(old) = extension("KHR_materials_pbrSpecularGlossiness") {
            factor = numbers(old.get("diffuseFactor")).unwrap_or([1.0; 4]);
            info = old.get("diffuseTexture").and_then(TextureInfo::of_json).or(info);
            metallic = 0.0;
            roughness = 1.0 - old.get("glossinessFactor").and_then(Value::as_f64).unwrap_or(1.0) as f32;
        }
        let see_through = !matches!(material.alpha_mode, Checked::Valid(AlphaMode::Opaque));
        let image = info.as_ref().and_then(|info| self.image(info.index));
        if !see_through {
            factor[3] = 1.0;
        }
        let factor = factor.map(|x| unit(x, 1.0));
        if image.is_some() && factor[..3] != [1.0; 3] {
            let message = format!("the material `{name}` multiplies its texture with a colour");
            self.source.report(&codes::SIMPLIFIED, message, "");
        }
        let mut result = Material::plain(name, factor);
        result.base_color_texture = image.map(|image| if see_through { image } else { texture::opaque(image) });
        result.metallic = unit(metallic, 1.0);
        result.roughness = unit(roughness, 1.0);
        let strength = extension("KHR_materials_emissive_strength")
            .and_then(|e| e.get("emissiveStrength")?.as_f64())
            .unwrap_or(1.0) as f32;
        result.emissive =
            material.emissive_factor.0.map(|x| (x * strength).max(0.0)).map(|x| if x.is_finite() { x } else { 0.0 });
        let (texcoord, placement) = info.map_or((0, None), |info| (info.texcoord, info.placement));
        Look { material: self.assembly.material(result), texcoord, placement }
    }

    fn image(&mut self, texture: usize) -> Option<Arc<Texture>> {
        let Some(texture) = self.root.textures.get(texture) else {
            self.source.report(&codes::TEXTURE_MISSING, format!("there is no texture {texture}"), "");
            return None;
        };
        let webp = texture.extensions.as_ref().and_then(|e| e.others.get("EXT_texture_webp")?.get("source")?.as_u64());
        let index = usize::try_from(webp.unwrap_or(texture.source.value() as u64)).unwrap_or(usize::MAX);
        let Some(image) = self.root.images.get(index) else {
            let compressed = has_extension(texture.extensions.as_ref().map(|e| &e.others), "KHR_texture_basisu");
            let message = if compressed {
                "an image is a KTX2 texture, which is not read".into()
            } else {
                format!("there is no image {index}")
            };
            self.source.report(&codes::TEXTURE_MISSING, message, "use PNG or JPEG images");
            return None;
        };
        let name = image.name.clone().unwrap_or_else(|| format!("{}_image{index}", super::stem(&self.source.file.path)));
        match (&image.uri, image.buffer_view) {
            (Some(uri), _) => match uri.strip_prefix("data:") {
                Some(data) => {
                    let bytes = decode_data(data).unwrap_or_default();
                    self.source.embedded_texture(&name, &bytes)
                }
                None => self.source.texture(uri),
            },
            (None, Some(view)) => match self.view(view.value()).map(<[u8]>::to_vec) {
                Some(bytes) => self.source.embedded_texture(&name, &bytes),
                None => {
                    self.source.report(&codes::TEXTURE_MISSING, format!("image {index} lies outside of its buffer"), "");
                    None
                }
            },
            (None, None) => {
                self.source.report(&codes::TEXTURE_MISSING, format!("image {index} has no data"), "");
                None
            }
        }
    }

    /// The bytes of a buffer view; `None` if it or its buffer does not exist or is too short.
    fn view(&self, index: usize) -> Option<&[u8]> {
        let view = self.root.buffer_views.get(index)?;
        let buffer = self.buffers.get(view.buffer.value())?.as_deref()?;
        let start = usize::try_from(view.byte_offset.unwrap_or_default().0).ok()?;
        let length = usize::try_from(view.byte_length.0).ok()?;
        buffer.get(start..start.checked_add(length)?)
    }

    /// The values of an accessor, integers made floats as the format says. Empty, with a finding, if there are none or they lie
    /// outside of their buffer.
    fn values<const N: usize>(&mut self, accessor: Index<json::Accessor>) -> Result<Vec<[f64; N]>, Error> {
        let index = accessor.value();
        let Some(accessor) = self.root.accessors.get(index) else {
            self.source.report(&codes::REFERENCE, format!("there is no accessor {index}"), "");
            return Ok(Vec::new());
        };
        let views = accessor.buffer_view.iter().filter_map(|view| self.root.buffer_views.get(view.value()));
        for view in views {
            for name in ["EXT_meshopt_compression", "KHR_meshopt_compression"] {
                if has_extension(view.extensions.as_ref().map(|e| &e.others), name) {
                    return Err(unsupported(name));
                }
            }
        }
        let count = usize::try_from(accessor.count.0).unwrap_or(usize::MAX);
        self.assembly.spend(count)?;
        let values = self.try_values(accessor, count);
        if values.is_none() {
            self.source.report(
                &codes::REFERENCE,
                format!("accessor {index} is of the wrong kind or lies outside of its buffer"),
                "",
            );
        }
        Ok(values.unwrap_or_default())
    }

    fn try_values<const N: usize>(&self, accessor: &json::Accessor, count: usize) -> Option<Vec<[f64; N]>> {
        let (Checked::Valid(kind), Checked::Valid(component)) = (accessor.type_, accessor.component_type) else { return None };
        let components = match kind {
            Type::Scalar => 1,
            Type::Vec2 => 2,
            Type::Vec3 => 3,
            Type::Vec4 => 4,
            Type::Mat2 | Type::Mat3 | Type::Mat4 => return None,
        };
        if components != N {
            return None;
        }
        let layout = Layout { component: component.0, normalized: accessor.normalized };
        let mut values = match accessor.buffer_view {
            Some(view) => {
                let stride = self.root.buffer_views.get(view.value())?.byte_stride.map_or(0, |stride| stride.0);
                layout.read(self.view(view.value())?, accessor.byte_offset.unwrap_or_default().0, stride, count)?
            }
            None => vec![[0.0; N]; count],
        };
        if let Some(sparse) = &accessor.sparse {
            let count = usize::try_from(sparse.count.0).ok()?;
            let Checked::Valid(component) = sparse.indices.component_type else { return None };
            let places: Vec<[f64; 1]> = Layout { component: component.0, normalized: false }.read(
                self.view(sparse.indices.buffer_view.value())?,
                sparse.indices.byte_offset.0,
                0,
                count,
            )?;
            let replacements: Vec<[f64; N]> =
                layout.read(self.view(sparse.values.buffer_view.value())?, sparse.values.byte_offset.0, 0, count)?;
            for ([place], value) in places.into_iter().zip(replacements) {
                *values.get_mut(place as usize)? = value;
            }
        }
        Some(values)
    }
}

/// How numbers lie in a buffer.
struct Layout {
    component: ComponentType,
    normalized: bool,
}

impl Layout {
    /// Reads `count` values of N numbers; `None` if the bytes do not hold them. A `stride` of 0 is that of packed values.
    fn read<const N: usize>(&self, bytes: &[u8], offset: u64, stride: usize, count: usize) -> Option<Vec<[f64; N]>> {
        let size = self.component.size();
        let stride = if stride == 0 { N * size } else { stride };
        let bytes = bytes.get(usize::try_from(offset).ok()?..)?;
        let needed = count.checked_sub(1).map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(N * size))?;
        if bytes.len() < needed {
            return None;
        }
        let value = |i: usize| std::array::from_fn(|k| self.number(&bytes[i * stride + k * size..]));
        Some((0..count).map(value).collect())
    }

    /// The number at the beginning of `bytes`, which are long enough.
    fn number(&self, bytes: &[u8]) -> f64 {
        let (value, largest) = match (self.component, bytes) {
            (ComponentType::I8, [a, ..]) => (f64::from(a.cast_signed()), f64::from(i8::MAX)),
            (ComponentType::U8, [a, ..]) => (f64::from(*a), f64::from(u8::MAX)),
            (ComponentType::I16, [a, b, ..]) => (f64::from(i16::from_le_bytes([*a, *b])), f64::from(i16::MAX)),
            (ComponentType::U16, [a, b, ..]) => (f64::from(u16::from_le_bytes([*a, *b])), f64::from(u16::MAX)),
            (ComponentType::U32, [a, b, c, d, ..]) => (f64::from(u32::from_le_bytes([*a, *b, *c, *d])), f64::from(u32::MAX)),
            (ComponentType::F32, [a, b, c, d, ..]) => return f64::from(f32::from_le_bytes([*a, *b, *c, *d])),
            _ => return f64::NAN,
        };
        if self.normalized { (value / largest).max(-1.0) } else { value }
    }
}

/// What a material says about its base colour's texture.
struct TextureInfo {
    index: usize,
    texcoord: u32,
    placement: Option<Placement>,
}

impl TextureInfo {
    fn of(info: &json::texture::Info) -> Self {
        let transform = info.extensions.as_ref().and_then(|e| e.others.get("KHR_texture_transform"));
        Self { index: info.index.value(), texcoord: info.tex_coord, placement: None }.placed(transform)
    }

    fn of_json(info: &Value) -> Option<Self> {
        let index = usize::try_from(info.get("index")?.as_u64()?).ok()?;
        let texcoord = info.get("texCoord").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        let transform = info.get("extensions").and_then(|e| e.get("KHR_texture_transform"));
        Some(Self { index, texcoord, placement: None }.placed(transform))
    }

    fn placed(mut self, transform: Option<&Value>) -> Self {
        let Some(transform) = transform else { return self };
        self.texcoord =
            transform.get("texCoord").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or(self.texcoord);
        self.placement = Some(Placement {
            offset: numbers(transform.get("offset")).unwrap_or([0.0; 2]),
            rotation: transform.get("rotation").and_then(Value::as_f64).unwrap_or(0.0) as f32,
            scale: numbers(transform.get("scale")).unwrap_or([1.0; 2]),
        });
        self
    }
}

/// Texture coordinates with (0, 0) at the lower left, from those with (0, 0) at the upper left.
fn lower_left([u, v]: [f32; 2], placement: Option<&Placement>) -> [f32; 2] {
    let [u, v] = placement.map_or([u, v], |Placement { offset, rotation, scale }| {
        let (sin, cos) = rotation.sin_cos();
        let (u, v) = (u * scale[0], v * scale[1]);
        [cos * u + sin * v + offset[0], cos * v - sin * u + offset[1]]
    });
    [u, 1.0 - v]
}

fn transform_of(node: &json::Node) -> Matrix4<f64> {
    let transform = match node.matrix {
        Some(matrix) => Matrix4::from_column_slice(&matrix.map(f64::from)),
        None => {
            let translation = Translation3::from(node.translation.unwrap_or_default().map(f64::from));
            let [x, y, z, w] = node.rotation.map_or([0.0, 0.0, 0.0, 1.0], |rotation| rotation.0.map(f64::from));
            let rotation = UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 0.0).unwrap_or_default();
            let scale = Vector3::from(node.scale.unwrap_or([1.0; 3]).map(f64::from));
            translation.to_homogeneous() * rotation.to_homogeneous() * Matrix4::new_nonuniform_scaling(&scale)
        }
    };
    if transform.iter().all(|x| x.is_finite()) { transform } else { Matrix4::identity() }
}

fn has_extension(others: Option<&serde_json::Map<String, Value>>, name: &str) -> bool {
    others.is_some_and(|others| others.contains_key(name))
}

/// N finite numbers in a JSON array.
fn numbers<const N: usize>(value: Option<&Value>) -> Option<[f32; N]> {
    let list: Vec<f32> =
        value?.as_array()?.iter().filter_map(|n| n.as_f64().map(|n| n as f32)).filter(|n| n.is_finite()).collect();
    list.try_into().ok()
}

/// Between 0 and 1; `otherwise` if it is no number.
fn unit(value: f32, otherwise: f32) -> f32 {
    if value.is_nan() { otherwise } else { value.clamp(0.0, 1.0) }
}

/// The bytes of a data URI, `data:` taken off.
fn decode_data(data: &str) -> Option<Vec<u8>> {
    let (head, body) = data.split_once(',')?;
    if head.ends_with(";base64") { BASE64.decode(body.trim()).ok() } else { Some(percent_decode_str(body).collect()) }
}

#[cfg(test)]
pub(super) mod tests;
