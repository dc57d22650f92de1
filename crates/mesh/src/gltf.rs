//! Reads glTF 2.0 and GLB: the default scene of a file as one mesh.
//!
//! glTF has y up, the model z: (x, y, z) becomes (x, -z, y), as in RViz, Drake and Blender, unless
//! the options declare z up. Skins and morphs are shown unposed. The `gltf` crate parses the
//! container and the JSON; [`buffers`] reads buffers and accessors, checks every index and count,
//! and decodes quantised (`KHR_mesh_quantization`) and compressed ([`meshopt`]) data.

mod buffers;
mod material;
mod meshopt;
mod parts;

use std::sync::Arc;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use gltf::json::accessor::Type;
use gltf::json::validation::Checked;
use gltf::json::{self, Index, Root};
use nalgebra::{Matrix4, Quaternion, Translation3, UnitQuaternion, Vector3};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use self::buffers::Buffers;
use self::material::Look;
pub use self::parts::{Meshes, Wanted, WantedPrimitive, open, text};
use super::assembly::{Assembly, Corner, NONE, Surface};
use super::normals::Shading;
use super::texture::Loaded;
use super::{Error, Source, UpAxis, codes};
use urdf_usd_robot::{Material, Mesh};

/// The cost of a primitive against the element budget of a file, in addition to its content: so the
/// number of empty primitives is bounded, too.
const COST_OF_PRIMITIVE: usize = 16;

/// Maximum depth of nested nodes.
const MAX_DEPTH: usize = 1024;

/// Required extensions that are supported, or that don't affect the result.
const UNDERSTOOD: &[&str] = &[
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_robot_kinematics",
    "EXT_texture_avif",
    "EXT_texture_webp",
    "KHR_animation_pointer",
    "KHR_implicit_shapes",
    "KHR_lights_punctual",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "KHR_node_visibility",
    "KHR_physics_rigid_bodies",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "KHR_xmp_json_ld",
    "MSFT_texture_dds",
];

/// Base64 as in data URIs, with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Reads the file.
pub(super) fn read(source: &mut Source, bytes: Arc<[u8]>) -> Result<Mesh, Error> {
    let (assembly, lost) = read_bytes(source, &bytes)?;
    drop(bytes);
    // Without normals in the file, glTF requires flat ones (2.0, meshes).
    let mesh = assembly.finish(source, Shading::Flat);
    match lost {
        // A file without its buffer has no triangles. Report the missing buffer as the cause: it
        // is not reported otherwise.
        Some(lost)
            if mesh
                .as_ref()
                .is_err_and(|error| error.code == &codes::EMPTY) =>
        {
            Err(without_buffer(&lost, source))
        }
        _ => mesh,
    }
}

/// Reads a file. Also returns the reason why its first missing buffer is unavailable.
fn read_bytes(source: &mut Source, bytes: &[u8]) -> Result<(Assembly, Option<String>), Error> {
    let (text, binary) = container_parts(bytes)?;
    let root = root(text, bytes, source)?;
    report_morphs(&root, source);
    let mut reader = Reader::new(&root, binary, bytes.len(), source);
    reader.scene()?;
    let Reader {
        assembly,
        skipped,
        source,
        buffers,
        ..
    } = reader;
    if skipped > 0 {
        source.report(
            &codes::SKIPPED,
            format!("{skipped} sets of points or lines are left out"),
            "",
        );
    }
    Ok((assembly, buffers.lost))
}

/// Reports the meshes with morph targets.
fn report_morphs(root: &Root, source: &mut Source) {
    for (index, mesh) in root.meshes.iter().enumerate() {
        let targets = |primitive: &json::mesh::Primitive| primitive.targets.as_ref().map(Vec::len);
        let counts = mesh.primitives.iter().filter_map(targets);
        let Some(count) = counts.max().filter(|count| *count > 0) else {
            continue;
        };
        let name = mesh.name.clone().unwrap_or_else(|| index.to_string());
        let has_weights = mesh.weights.iter().flatten().any(|weight| *weight != 0.0);
        let shape = if has_weights {
            "in its base shape, although the weights of the targets are not zero"
        } else {
            "in its base shape"
        };
        source.report(
            &codes::MORPHS,
            format!("the mesh `{name}` has morph targets ({count}); it is shown {shape}"),
            "apply the targets when exporting, if the shape matters",
        );
    }
}

/// Creates the error for a missing buffer. Findings of a rejected file are not reported, so the
/// message includes missing images.
fn without_buffer(lost: &str, source: &Source) -> Error {
    let mut message = lost.to_owned();
    for finding in source
        .findings
        .kept()
        .iter()
        .filter(|finding| finding.code == codes::TEXTURE_MISSING.id)
    {
        let own = finding
            .message
            .split_once(": ")
            .map_or(finding.message.as_str(), |(_, own)| own);
        message.push_str(&format!("; {own}"));
    }
    Error::new(&codes::BUFFER_MISSING, message)
        .help("put the files that the glTF refers to beside it, or export it as one .glb")
}

/// Returns the JSON and the binary chunk, if any, of a file in either form.
fn container_parts(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), Error> {
    if bytes.starts_with(b"glTF") {
        return container(bytes);
    }
    Ok((bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes), None))
}

/// Parses the document in `text` and checks that it requires no unsupported extension.
fn root(text: &[u8], file: &[u8], source: &Source) -> Result<Root, Error> {
    let root: Root = Root::from_slice(text).map_err(|error| {
        // Only after a failure: it parses the document again.
        if is_version_1(text) {
            return version_1();
        }
        broken(error.to_string()).line(if file.starts_with(b"glTF") {
            0
        } else {
            error.line() as u32
        })
    })?;
    refuse_extensions(&root, source)?;
    Ok(root)
}

/// Returns the JSON and the binary chunk of a GLB. Parsed here, since the crate's own reader panics
/// if the length is below that of the header.
fn container(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), Error> {
    let number = |at: usize| {
        bytes
            .get(at..at.checked_add(4)?)?
            .try_into()
            .ok()
            .map(u32::from_le_bytes)
    };
    if number(4) == Some(1) {
        return Err(version_1());
    }
    let (mut text, mut binary) = (None, None);
    let mut at = 12;
    while let (Some(length), Some(kind)) = (number(at), bytes.get(at + 4..at + 8)) {
        let start = at + 8;
        let chunk = usize::try_from(length)
            .ok()
            .and_then(|length| bytes.get(start..start.checked_add(length)?));
        match (kind, chunk) {
            (b"JSON", Some(chunk)) if text.is_none() => text = Some(chunk),
            (b"BIN\0", Some(chunk)) if binary.is_none() => binary = Some(chunk),
            (_, Some(_)) => {}
            (_, None) => return Err(broken("a chunk ends beyond the file")),
        }
        at = start + chunk.map_or(0, <[u8]>::len);
    }
    Ok((text.ok_or_else(|| broken("it has no JSON chunk"))?, binary))
}

fn version_1() -> Error {
    Error::new(&codes::UNSUPPORTED, "the file is glTF 1, which is not read")
        .help("export it as glTF 2.0")
}

fn broken(reason: impl Into<String>) -> Error {
    Error::new(
        &codes::UNREADABLE,
        format!("the glTF is broken: {}", reason.into()),
    )
    .help("export the mesh again")
}

fn is_version_1(text: &[u8]) -> bool {
    let version = serde_json::from_slice(text)
        .ok()
        .and_then(|json: Value| Some(json.get("asset")?.get("version")?.as_str()?.to_owned()));
    version.is_some_and(|version| version.starts_with("0.") || version.starts_with("1."))
}

fn refuse_extensions(root: &Root, source: &Source) -> Result<(), Error> {
    let unknown: Vec<&str> = root
        .extensions_required
        .iter()
        .map(String::as_str)
        .filter(|name| !UNDERSTOOD.contains(name) && !name.starts_with("KHR_materials_"))
        .collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(unsupported(&unknown.join(", "), source))
    }
}

/// Creates the error for unsupported required extensions.
fn unsupported(extensions: &str, source: &Source) -> Error {
    let help = if extensions == DRACO {
        plainly(source, "copy")
    } else {
        "export the mesh without them".into()
    };
    Error::new(
        &codes::UNSUPPORTED,
        format!("the file needs what is not read: {extensions}"),
    )
    .help(help)
}

const DRACO: &str = "KHR_draco_mesh_compression";

/// Returns the glTF Transform command that rewrites the file without the extension.
fn plainly(source: &Source, command: &str) -> String {
    let name = super::file_name(source.path);
    format!(
        "write it without with `gltf-transform {command} {name} plain_{name}`, and use that file"
    )
}

struct Reader<'a, 's, 'f> {
    root: &'a Root,
    buffers: Buffers<'a>,
    assembly: Assembly,
    looks: Vec<Look>,
    /// The indices of the document's materials in `looks`.
    look_index: Vec<Option<usize>>,
    /// Images by texture; `None` for one that is unusable, which has been reported.
    images: Loaded<usize>,
    visited: Vec<bool>,
    skipped: usize,
    /// Whether the file's structure is preserved: vertex colours count even if all are white, and
    /// images keep their placements, which otherwise are baked into the texture coordinates.
    is_kept: bool,
    source: &'s mut Source<'f>,
}

impl<'a, 's, 'f> Reader<'a, 's, 'f> {
    /// Creates the reader of a file of `length` bytes.
    fn new(
        root: &'a Root,
        binary: Option<&'a [u8]>,
        length: usize,
        source: &'s mut Source<'f>,
    ) -> Self {
        Self {
            root,
            buffers: Buffers::new(root, binary),
            assembly: Assembly::new(length),
            looks: Vec::new(),
            look_index: vec![None; root.materials.len()],
            images: Default::default(),
            visited: vec![false; root.nodes.len()],
            skipped: 0,
            is_kept: false,
            source,
        }
    }
}

impl<'a> Reader<'a, '_, '_> {
    fn scene(&mut self) -> Result<(), Error> {
        let root = self.root;
        let upright = match self.source.options.up_axis {
            UpAxis::Z => Matrix4::identity(),
            // Rotate y up to z up.
            UpAxis::Ignore | UpAxis::Honor => Matrix4::new(
                1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0,
            ),
        };
        let scene = root
            .scene
            .and_then(|scene| root.scenes.get(scene.value()))
            .or_else(|| root.scenes.first());
        let roots = scene.map_or_else(
            || self.parentless(),
            |scene| scene.nodes.iter().map(Index::value).collect(),
        );
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
        for child in self
            .root
            .nodes
            .iter()
            .filter_map(|node| node.children.as_ref())
            .flatten()
        {
            if let Some(slot) = has_parent.get_mut(child.value()) {
                *slot = true;
            }
        }
        let roots = has_parent.iter().enumerate().filter(|(_, has)| !**has);
        roots.map(|(node, _)| node).collect()
    }

    /// Adds a node and its descendants. A node that is reached twice violates the specification and
    /// is skipped.
    fn nodes(&mut self, node: usize, upright: Matrix4<f64>) -> Result<(), Error> {
        let root = self.root;
        let mut open = vec![(node, upright, 0)];
        while let Some((index, parent, depth)) = open.pop() {
            let Some(node) = root.nodes.get(index) else {
                self.source
                    .report(&codes::REFERENCE, format!("there is no node {index}"), "");
                continue;
            };
            let visited = self.visited.get_mut(index);
            if visited.is_none_or(|visited| std::mem::replace(visited, true)) {
                self.source.report(
                    &codes::REFERENCE,
                    format!("node {index} has several parents, or itself for one"),
                    "",
                );
                continue;
            }
            if depth > MAX_DEPTH {
                return Err(Error::new(
                    &codes::TOO_LARGE,
                    format!("nodes are nested more than {MAX_DEPTH} deep"),
                ));
            }
            let extension = |name: &str| node.extensions.as_ref().and_then(|e| e.others.get(name));
            if extension("KHR_node_visibility").is_some_and(|e| e["visible"] == false) {
                continue;
            }
            let transform = parent * transform_of(node);
            match node.mesh.map(|mesh| root.meshes.get(mesh.value())) {
                // Nodes with a skin ignore their own transform (glTF 2.0, skins).
                Some(Some(mesh)) if node.skin.is_some() => self.mesh(mesh, &upright)?,
                Some(Some(mesh)) => match extension("EXT_mesh_gpu_instancing") {
                    Some(instancing) => {
                        for instance in self.instances(instancing)? {
                            self.mesh(mesh, &(transform * instance))?;
                        }
                    }
                    None => self.mesh(mesh, &transform)?,
                },
                Some(None) => self.source.report(
                    &codes::REFERENCE,
                    format!("node {index} has a mesh that does not exist"),
                    "",
                ),
                None => {}
            }
            // Reversed, since the last node pushed is visited first.
            let children = node.children.iter().flatten().rev();
            open.extend(children.map(|child| (child.value(), transform, depth + 1)));
        }
        Ok(())
    }

    /// Returns the transforms of the instances of `EXT_mesh_gpu_instancing`, relative to their
    /// node; none if no attribute places them.
    fn instances(&mut self, extension: &Value) -> Result<Vec<Matrix4<f64>>, Error> {
        let accessor = |name: &str| {
            let index = extension.get("attributes")?.get(name)?.as_u64()?;
            Some(Index::new(u32::try_from(index).unwrap_or(u32::MAX)))
        };
        let translations: Option<Vec<[f64; 3]>> = accessor("TRANSLATION")
            .map(|a| self.values(a))
            .transpose()?;
        let rotations: Option<Vec<[f64; 4]>> = accessor("ROTATION")
            .map(|a| self.normalized(a))
            .transpose()?;
        let scales: Option<Vec<[f64; 3]>> =
            accessor("SCALE").map(|a| self.values(a)).transpose()?;
        let counts = [
            translations.as_ref().map(Vec::len),
            rotations.as_ref().map(Vec::len),
            scales.as_ref().map(Vec::len),
        ];
        // The counts have to be equal; in a faulty file the shortest attribute decides.
        let count = counts.into_iter().flatten().min().unwrap_or(0);
        let at = |i: usize| {
            let translation = translations.as_ref().and_then(|all| all.get(i));
            let rotation = rotations.as_ref().and_then(|all| all.get(i));
            let scale = scales.as_ref().and_then(|all| all.get(i));
            finite(moved(
                translation.copied().unwrap_or([0.0; 3]),
                rotation.copied().unwrap_or([0.0, 0.0, 0.0, 1.0]),
                scale.copied().unwrap_or([1.0; 3]),
            ))
        };
        Ok((0..count).map(at).collect())
    }

    fn values<const N: usize>(
        &mut self,
        accessor: Index<json::Accessor>,
    ) -> Result<Vec<[f64; N]>, Error> {
        self.buffers
            .values(accessor, false, &mut self.assembly, self.source)
    }

    /// Returns the values of an attribute whose integers are always normalised.
    fn normalized<const N: usize>(
        &mut self,
        accessor: Index<json::Accessor>,
    ) -> Result<Vec<[f64; N]>, Error> {
        self.buffers
            .values(accessor, true, &mut self.assembly, self.source)
    }

    fn mesh(&mut self, mesh: &'a json::Mesh, transform: &Matrix4<f64>) -> Result<(), Error> {
        mesh.primitives
            .iter()
            .try_for_each(|primitive| self.primitive(primitive, transform))
    }

    fn primitive(
        &mut self,
        primitive: &'a json::mesh::Primitive,
        transform: &Matrix4<f64>,
    ) -> Result<(), Error> {
        let look = self.look(primitive.material);
        let whole = Pieces {
            geometry: primitive,
            uvs: Some((primitive, look)),
            colors: Some((primitive, look)),
        };
        self.pieces(&whole, None, transform)
    }

    /// Adds triangles with their attributes. `material` is an index into the assembly's; without
    /// one, the material of the colours' primitive is used.
    fn pieces(
        &mut self,
        pieces: &Pieces<'a>,
        material: Option<u32>,
        transform: &Matrix4<f64>,
    ) -> Result<(), Error> {
        use gltf::json::mesh::{Mode, Semantic};

        self.assembly.spend(COST_OF_PRIMITIVE)?;
        let primitive = pieces.geometry;
        let attribute =
            |semantic: Semantic| primitive.attributes.get(&Checked::Valid(semantic)).copied();
        let mode = match primitive.mode {
            Checked::Valid(mode @ (Mode::Triangles | Mode::TriangleStrip | Mode::TriangleFan)) => {
                mode
            }
            _ => {
                self.skipped += 1;
                return Ok(());
            }
        };
        let position = attribute(Semantic::Positions);
        if has_extension(primitive.extensions.as_ref().map(|e| &e.others), DRACO)
            // A compressed primitive may also have plain data for readers without the extension.
            && !self.has_bytes(position)
        {
            return Err(unsupported(DRACO, self.source));
        }
        let positions: Vec<[f64; 3]> =
            position.map_or(Ok(Vec::new()), |accessor| self.values(accessor))?;
        if positions.is_empty() {
            self.source
                .report(&codes::REFERENCE, "a primitive has no positions", "");
            return Ok(());
        }
        let normals: Vec<[f64; 3]> = attribute(Semantic::Normals)
            .map_or(Ok(Vec::new()), |accessor| self.values(accessor))?;
        let normals: Vec<[f32; 3]> = normals.into_iter().map(|n| n.map(|x| x as f32)).collect();
        let uvs = self.uvs(pieces.uvs)?;
        let (shown, colors) = match pieces.colors {
            Some((primitive, look)) => {
                let accessor = primitive
                    .attributes
                    .get(&Checked::Valid(Semantic::Colors(0)))
                    .copied();
                let colors = accessor.map_or(Ok(Vec::new()), |accessor| self.colors(accessor))?;
                self.dressed(look, colors)
            }
            None => (NONE, Vec::new()),
        };
        let material = material.unwrap_or(shown);
        let indices: Vec<u32> = match primitive.indices {
            Some(accessor) => self
                .values::<1>(accessor)?
                .into_iter()
                .map(|[i]| i as u32)
                .collect(),
            None => (0..positions.len() as u32).collect(),
        };
        let corner = |i: u32| Corner {
            position: i,
            normal: if normals.is_empty() { NONE } else { i },
            uv: if uvs.is_empty() { NONE } else { i },
            color: if colors.is_empty() { NONE } else { i },
        };
        let triangle =
            |corners: [usize; 3]| corners.map(|c| corner(indices.get(c).copied().unwrap_or(NONE)));
        let count = indices.len();
        let triangles: Vec<_> = match mode {
            Mode::TriangleStrip => (0..count.saturating_sub(2))
                // Every second triangle of a strip is wound the other way.
                .map(|i| {
                    triangle(if i.is_multiple_of(2) {
                        [i, i + 1, i + 2]
                    } else {
                        [i + 1, i, i + 2]
                    })
                })
                .collect(),
            Mode::TriangleFan => (2..count).map(|i| triangle([0, i - 1, i])).collect(),
            _ => (0..count / 3)
                .map(|i| triangle([3 * i, 3 * i + 1, 3 * i + 2]))
                .collect(),
        };
        let runs = [(0..triangles.len(), material)];
        let surface = Surface {
            positions: &positions,
            normals: &normals,
            uvs: &uvs,
            colors: &colors,
            triangles: &triangles,
            runs: &runs,
        };
        self.assembly.add(&surface, transform)
    }

    /// Returns the texture coordinates of a primitive that its material refers to.
    fn uvs(&mut self, primitive: Option<Shown<'a>>) -> Result<Vec<[f32; 2]>, Error> {
        let Some((primitive, look)) = primitive else {
            return Ok(Vec::new());
        };
        let look = look.and_then(|look| self.looks.get(look));
        let (set, placement) = look
            .map(|look| (look.texcoord, look.placement))
            .unwrap_or_default();
        let semantic = Checked::Valid(json::mesh::Semantic::TexCoords(set));
        let accessor = primitive.attributes.get(&semantic).copied();
        let uvs: Vec<[f64; 2]> =
            accessor.map_or(Ok(Vec::new()), |accessor| self.values(accessor))?;
        Ok(uvs
            .into_iter()
            .map(|uv| material::lower_left(uv.map(|x| x as f32), &placement))
            .collect())
    }

    /// Returns whether an accessor has uncompressed data.
    fn has_bytes(&self, accessor: Option<Index<json::Accessor>>) -> bool {
        let accessor = accessor.and_then(|accessor| self.root.accessors.get(accessor.value()));
        accessor.is_some_and(|accessor| accessor.buffer_view.is_some() || accessor.sparse.is_some())
    }

    /// Returns colours with or without opacity.
    fn colors(&mut self, accessor: Index<json::Accessor>) -> Result<Vec<[f32; 4]>, Error> {
        let kind = self
            .root
            .accessors
            .get(accessor.value())
            .map(|accessor| accessor.type_);
        let colors: Vec<[f64; 4]> = if kind == Some(Checked::Valid(Type::Vec3)) {
            self.normalized(accessor)?
                .into_iter()
                .map(|[r, g, b]| [r, g, b, 1.0])
                .collect()
        } else {
            self.normalized(accessor)?
        };
        Ok(colors
            .into_iter()
            .map(|color| color.map(|x| x as f32))
            .collect())
    }
}

/// The primitives that provide the parts of a mesh: usually all the same.
struct Pieces<'a> {
    geometry: &'a json::mesh::Primitive,
    uvs: Option<Shown<'a>>,
    colors: Option<Shown<'a>>,
}

/// A primitive and the index of its material in `looks`.
type Shown<'a> = (&'a json::mesh::Primitive, Option<usize>);

fn transform_of(node: &json::Node) -> Matrix4<f64> {
    finite(match node.matrix {
        Some(matrix) => Matrix4::from_column_slice(&matrix.map(f64::from)),
        None => moved(
            node.translation.unwrap_or_default().map(f64::from),
            node.rotation
                .map_or([0.0, 0.0, 0.0, 1.0], |rotation| rotation.0.map(f64::from)),
            node.scale.unwrap_or([1.0; 3]).map(f64::from),
        ),
    })
}

/// Returns the transform that scales, then rotates by a quaternion (x, y, z, w), then translates.
fn moved(translation: [f64; 3], [x, y, z, w]: [f64; 4], scale: [f64; 3]) -> Matrix4<f64> {
    let rotation = UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 0.0).unwrap_or_default();
    Translation3::from(translation).to_homogeneous()
        * rotation.to_homogeneous()
        * Matrix4::new_nonuniform_scaling(&Vector3::from(scale))
}

/// Replaces a transform that is not finite by the identity.
fn finite(transform: Matrix4<f64>) -> Matrix4<f64> {
    if transform.iter().all(|x| x.is_finite()) {
        transform
    } else {
        Matrix4::identity()
    }
}

fn has_extension(others: Option<&serde_json::Map<String, Value>>, name: &str) -> bool {
    others.is_some_and(|others| others.contains_key(name))
}

/// Decodes a data URI without its `data:`.
fn decode_data(data: &str) -> Option<Vec<u8>> {
    let (head, body) = data.split_once(',')?;
    if head.ends_with(";base64") {
        BASE64.decode(body.trim()).ok()
    } else {
        Some(percent_decode_str(body).collect())
    }
}

#[cfg(test)]
pub(super) mod tests;
