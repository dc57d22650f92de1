//! Caches loaded meshes, their tiers, convex hulls and convex parts in a [`Store`].
//!
//! The key of a loaded mesh is the content and name of its file, with the outcome of each reference
//! in it: another material library or image makes another mesh. The key of tiers, hulls and
//! parts is the digest of their mesh. Arrays are separate entries, each under the digest of its mesh, and are
//! loaded lazily ([`LazyMesh::cached`]).

use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use bytes::Bytes;
use nalgebra::{Isometry3, Quaternion, Unit, Vector3, Vector4};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Error, Options, Source, codes, file_name, reference, tiers};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_geometry::decompose::{self, convex_parts};
use urdf_usd_geometry::primitives::{self, Primitive};
use urdf_usd_geometry::{convex_hull, thick_hull};
use urdf_usd_resolve::{self as resolve, Files, Located};
use urdf_usd_robot::{
    CacheEvicted, Channel, Corners, ImageFormat, ImagePlacement, LazyMesh, LoadArrays, Map,
    MapRole, Material, Mesh, MeshArrays, Outline, Part, Texture, Tiers, Wrap,
};
use urdf_usd_store::{self as store, Content, Key, Store};

/// Reads a mesh file as [`read`](super::read) does, or loads it from `store`. The mesh has its
/// digest.
///
/// # Errors
/// As [`read`](super::read), and if the file can't be read.
pub fn load(
    located: &Located,
    files: &Files,
    options: Options,
    store: &Store,
) -> Result<(LazyMesh, Vec<Diagnostic>), Error> {
    let key_for = |content: [u8; 32]| {
        let name = file_name(&located.path);
        // Increment the version whenever the reader's output or its digest changes.
        Key::shared("mesh 5")
            .and(name.as_bytes())
            .and(format!("{options:?}").as_bytes())
            .and(&content)
            .key()
    };
    // The hash only serves the key, and costs a pass over the file.
    let known = if store.is_enabled() {
        Some(content(located, files, store)?)
    } else {
        None
    };
    let place = Referrer {
        path: &located.path,
        files,
        store,
    };
    if let Some(kept) =
        known.and_then(|content| store.get(&key_for(content), |bytes| decode(bytes, place)))
    {
        // The file was read if its content hash was not cached.
        files.forget(located);
        return Ok(kept);
    }
    let resolve::File { path, bytes } = files.read(located).map_err(unreadable)?;
    // Free the file now: no one reads it again, and source files are a large share of peak memory.
    files.forget(located);
    // The file may have changed since its content was hashed.
    let known = known.filter(|content| *content == *Sha256::digest(&bytes));
    let mut source = Source::new(&path, files, options);
    let mut mesh = source.read(bytes)?;
    mesh.digest = digest(&mesh);
    let asked = source.asked.take();
    let diagnostics = source.finish();
    // Without descriptors, this mesh may lack files that exist.
    if let Some(content) = known.filter(|_| !files.lacked_descriptors()) {
        keep(&mesh, store);
        // Last: an entry must not refer to arrays that are not stored yet.
        store.put_content(
            &key_for(content),
            &encode(&mesh, &diagnostics, &asked, place),
        );
    }
    Ok((mesh.into(), diagnostics))
}

fn unreadable(error: resolve::Error) -> Error {
    Error {
        code: error.code,
        message: error.message,
        help: error.help,
        line: 0,
    }
}

/// Returns the hash of a file's content, from `store` without reading the file if possible.
fn content(located: &Located, files: &Files, store: &Store) -> Result<[u8; 32], Error> {
    let key = located
        .stamp
        .as_ref()
        .map(|stamp| Key::builder("content").and(stamp.as_bytes()).key());
    if let Some(known) = key.and_then(|key| store.get(&key, |bytes| bytes.try_into().ok())) {
        return Ok(known);
    }
    let content: [u8; 32] = Sha256::digest(&files.read(located).map_err(unreadable)?.bytes).into();
    if let Some(key) = key {
        store.put(&key, || content.to_vec());
    }
    Ok(content)
}

/// The referring file, and how to resolve references from it.
#[derive(Clone, Copy)]
struct Referrer<'a> {
    path: &'a Path,
    files: &'a Files,
    store: &'a Store,
}

impl Referrer<'_> {
    /// Returns the hash of a reference's outcome: the file's name and content, or the error.
    fn outcome(self, reference: &str) -> [u8; 32] {
        self.hashed(reference, |found| content(found, self.files, self.store))
    }

    /// The same with the content that was read, even if the file has changed since.
    fn outcome_as_read(self, reference: &str) -> [u8; 32] {
        self.hashed(reference, |found| {
            Ok(Sha256::digest(&self.files.read(found).map_err(unreadable)?.bytes).into())
        })
    }

    fn hashed(
        self,
        reference: &str,
        content: impl Fn(&Located) -> Result<[u8; 32], Error>,
    ) -> [u8; 32] {
        let hash = Sha256::new();
        let found =
            reference::locate(reference, self.path.parent(), self.files).and_then(|found| {
                let content = content(&found).map_err(|error| error.to_string())?;
                Ok(Sha256::new()
                    .chain_update(file_name(&found.path))
                    // A separator that no file name contains.
                    .chain_update([0])
                    .chain_update(content))
            });
        found
            .unwrap_or_else(|reason| hash.chain_update(reason))
            .finalize()
            .into()
    }
}

/// Returns the tiers of a mesh from [`load`], from `store` or newly computed.
///
/// # Errors
/// If the mesh has to be simplified and is no longer in the cache.
pub fn kept_tiers(mesh: &LazyMesh, store: &Store) -> Result<Tiers, CacheEvicted> {
    // Increment the version whenever the output of `tiers` changes.
    let key = key_of("tiers 9", mesh, store);
    if let Some(tiers) =
        key.and_then(|key| store.get(&key, |bytes| decode_tiers(bytes, &mesh.materials, store)))
    {
        return Ok(tiers);
    }
    let mut tiers = tiers(&mesh.load()?);
    for tier in tiers.iter_mut().flatten() {
        tier.digest = digest(tier);
    }
    if let Some(key) = key {
        tiers.iter().flatten().for_each(|tier| keep(tier, store));
        store.put_content(&key, &encode_tiers(&tiers));
    }
    let [medium, low] = tiers.map(|tier| tier.map(|tier| Arc::new(tier.into())));
    Ok(Tiers { medium, low })
}

/// A convex hull for a collider.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    /// The hull, closed and convex.
    pub mesh: LazyMesh,
    /// True if it was thickened ([`thick_hull`]), since the mesh is flat.
    pub is_thickened: bool,
    /// True if the mesh itself is watertight.
    pub is_of_watertight: bool,
}

/// The reason why a mesh has no convex hull.
#[derive(Clone, Debug, PartialEq)]
pub struct NoHull {
    /// The problem with the mesh.
    pub error: Error,
    /// True if the mesh itself is watertight.
    pub is_of_watertight: bool,
}

/// Returns the convex hull of a mesh from [`load`], thickened if the mesh is flat or straight.
///
/// # Errors
/// The inner error if the mesh has no hull ([`thick_hull`]), with whether it is watertight; the
/// outer one if the mesh is needed and was evicted from the cache.
pub fn kept_hull(mesh: &LazyMesh, store: &Store) -> Result<Result<Hull, NoHull>, CacheEvicted> {
    let key = key_of("hull 4", mesh, store);
    if let Some(hull) = key.and_then(|key| store.get(&key, |bytes| decode_hull(bytes, store))) {
        return Ok(Ok(hull));
    }
    let mesh = mesh.load()?;
    let (hull, is_thickened) = match convex_hull(&mesh.points) {
        Ok(hull) => (hull, false),
        Err(_) => match thick_hull(&mesh.points) {
            Ok(hull) => (hull, true),
            Err(flat) => {
                return Ok(Err(NoHull {
                    error: Error::new(&codes::HULL_FLAT, flat.to_string())
                        .help("use a box for the collider, or a mesh with a thickness"),
                    is_of_watertight: mesh.is_watertight(),
                }));
            }
        },
    };
    let mut hull = Mesh::plain(hull);
    hull.digest = digest(&hull);
    let is_of_watertight = mesh.is_watertight();
    if let Some(key) = key {
        keep(&hull, store);
        store.put_content(
            &key,
            &entry(&[&hull], [is_thickened, is_of_watertight], Vec::new()),
        );
    }
    Ok(Ok(Hull {
        mesh: hull.into(),
        is_thickened,
        is_of_watertight,
    }))
}

fn decode_hull(bytes: &[u8], store: &Store) -> Option<Hull> {
    let (head, mut reader) = Reader::head::<[bool; 2]>(bytes)?;
    let mesh = reader.meshes(head.shapes, &[], store)?.pop()?;
    let [is_thickened, is_of_watertight] = head.more;
    Some(Hull {
        mesh,
        is_thickened,
        is_of_watertight,
    })
}

/// Convex parts of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvexParts {
    /// The parts, at least one; each closed and convex.
    pub meshes: Vec<LazyMesh>,
    /// Hausdorff distance of the parts from the mesh, in its coordinates.
    pub deviation: f64,
}

/// Returns at most `most` convex parts of a mesh from [`load`]; `None` if it is flat or too large to
/// decompose.
///
/// # Errors
/// If the mesh is needed and was evicted from the cache.
pub fn kept_convex_parts(
    mesh: &LazyMesh,
    most: usize,
    store: &Store,
) -> Result<Option<ConvexParts>, CacheEvicted> {
    // Increment the version whenever the output of `convex_parts` changes.
    let key = key_of(&format!("convex parts 3 of {most}"), mesh, store);
    let decode = |bytes: &[u8]| {
        let (head, mut reader) = Reader::head::<u64>(bytes)?;
        Some(ConvexParts {
            meshes: reader.meshes(head.shapes, &[], store)?,
            deviation: f64::from_bits(head.more),
        })
    };
    if let Some(parts) = key.and_then(|key| store.get(&key, decode)) {
        return Ok(Some(parts));
    }
    if mesh.outline().triangles > decompose::MAX_SOURCE_TRIANGLES {
        return Ok(None);
    }
    let loaded = mesh.load()?;
    let Ok(parts) = convex_parts(&loaded, most) else {
        return Ok(None);
    };
    let meshes: Vec<Mesh> = parts
        .parts
        .into_iter()
        .map(|part| {
            let mut part = Mesh::plain(part);
            part.digest = digest(&part);
            part
        })
        .collect();
    if let Some(key) = key {
        meshes.iter().for_each(|part| keep(part, store));
        let kept: Vec<&Mesh> = meshes.iter().collect();
        store.put_content(&key, &entry(&kept, parts.deviation.to_bits(), Vec::new()));
    }
    Ok(Some(ConvexParts {
        meshes: meshes.into_iter().map(LazyMesh::from).collect(),
        deviation: parts.deviation,
    }))
}

/// Returns the primitive within `error` of a mesh from [`load`] with a scale, in metres; `None` if there is
/// none.
///
/// # Errors
/// If the mesh is needed and was evicted from the cache.
pub fn kept_primitive(
    mesh: &LazyMesh,
    scale: Vector3<f64>,
    error: f64,
    store: &Store,
) -> Result<Option<primitives::Fit>, CacheEvicted> {
    // Increment the version whenever the output of `fit` changes.
    let numbers = [scale.x, scale.y, scale.z, error].map(f64::to_bits);
    let key = key_of(&format!("primitive 2 {numbers:?}"), mesh, store);
    let decode = |bytes: &[u8]| serde_json::from_slice::<Option<KeptFit>>(bytes).ok();
    if let Some(kept) = key.and_then(|key| store.get(&key, decode)) {
        return Ok(kept.map(KeptFit::fit));
    }
    let loaded = mesh.load()?;
    let fit = primitives::fit(&loaded, scale, error);
    if let Some(key) = key {
        store.put(&key, || {
            serde_json::to_vec(&fit.as_ref().map(KeptFit::of)).unwrap_or_default()
        });
    }
    Ok(fit)
}

/// The bits of a [`primitives::Fit`]: the number of its kind with dimensions, position, rotation (x, y, z, w)
/// and deviation.
#[derive(Serialize, Deserialize)]
struct KeptFit(u8, [u64; 3], [u64; 3], [u64; 4], u64);

impl KeptFit {
    fn of(fit: &primitives::Fit) -> Self {
        let (kind, dimensions) = match fit.primitive {
            Primitive::Box(size) => (0, size),
            Primitive::Sphere { radius } => (1, [radius, 0.0, 0.0]),
            Primitive::Cylinder { radius, length } => (2, [radius, length, 0.0]),
            Primitive::Capsule { radius, length } => (3, [radius, length, 0.0]),
        };
        let at: [f64; 3] = fit.pose.translation.vector.into();
        let turn: [f64; 4] = fit.pose.rotation.coords.into();
        Self(
            kind,
            dimensions.map(f64::to_bits),
            at.map(f64::to_bits),
            turn.map(f64::to_bits),
            fit.deviation.to_bits(),
        )
    }

    fn fit(self) -> primitives::Fit {
        let Self(kind, dimensions, at, turn, deviation) = self;
        let size = dimensions.map(f64::from_bits);
        let [radius, length, _] = size;
        let turn = Vector4::from(turn.map(f64::from_bits));
        primitives::Fit {
            primitive: match kind {
                0 => Primitive::Box(size),
                1 => Primitive::Sphere { radius },
                2 => Primitive::Cylinder { radius, length },
                _ => Primitive::Capsule { radius, length },
            },
            pose: Isometry3::from_parts(
                at.map(f64::from_bits).into(),
                // Not normalised again: the result is that of the first time.
                Unit::new_unchecked(Quaternion::from(turn)),
            ),
            deviation: f64::from_bits(deviation),
        }
    }
}

fn key_of(kind: &str, mesh: &LazyMesh, store: &Store) -> Option<Key> {
    // Meshes without a digest (all zeros) are not cached.
    (store.is_enabled() && mesh.digest != [0; 32])
        .then(|| Key::shared(kind).and(&mesh.digest).key())
}

/// Computes [`Mesh::digest`].
pub fn digest(mesh: &Mesh) -> [u8; 32] {
    // Several times as fast as SHA-256, which is for what others compare: digests stay in the cache.
    let mut hash = blake3::Hasher::new();
    let shape = Shape::of(mesh, &mesh.parts);
    hash.update(&serde_json::to_vec(&shape).unwrap_or_default());
    for array in arrays(mesh) {
        hash.update(array);
    }
    hash.finalize().into()
}

/// The header of an entry: the shapes of its meshes, and `more`.
#[derive(Serialize, Deserialize)]
struct Head<T> {
    shapes: Vec<(Shape, KeptOutline)>,
    more: T,
}

/// The part of an [`Outline`] that a [`Shape`] lacks: the bits of the bounds, and whether some
/// corner is not opaque.
type KeptOutline = (Option<[[u32; 3]; 2]>, bool);

/// The lengths of a mesh's arrays, and its parts.
#[derive(Serialize, Deserialize)]
struct Shape {
    points: usize,
    triangles: usize,
    normals: usize,
    uvs: Option<usize>,
    colors: Option<usize>,
    /// The number of triangles and the material of each part.
    parts: Vec<(usize, Option<usize>)>,
}

impl Shape {
    fn of(mesh: &MeshArrays, parts: &[Part]) -> Self {
        Self {
            points: mesh.points.len(),
            triangles: mesh.triangles.len(),
            normals: mesh.normals.values.len(),
            uvs: mesh.uvs.as_ref().map(|uvs| uvs.values.len()),
            colors: mesh.colors.as_ref().map(|colors| colors.values.len()),
            parts: parts
                .iter()
                .map(|part| (part.triangles.len(), part.material))
                .collect(),
        }
    }

    /// Decodes the arrays of a mesh of this shape. `part` returns the next bytes. `None` if
    /// they don't match.
    fn arrays(&self, mut part: impl FnMut(usize) -> Option<Bytes>) -> Option<MeshArrays> {
        let Self { triangles, .. } = *self;
        let points = array(self.points, &mut part)?;
        let faces = indices(triangles, self.points, &mut part)?;
        let normals = corners(self.normals, triangles, &mut part)?;
        let uvs = self.uvs.map_or(Some(None), |values| {
            corners(values, triangles, &mut part).map(Some)
        })?;
        let colors = self.colors.map_or(Some(None), |values| {
            corners(values, triangles, &mut part).map(Some)
        })?;
        Some(MeshArrays {
            points,
            triangles: faces,
            normals,
            uvs,
            colors,
        })
    }

    /// Decodes the arrays from their concatenation.
    fn arrays_in(&self, mut all: Bytes) -> Option<MeshArrays> {
        let arrays = self.arrays(|length| (length <= all.len()).then(|| all.split_to(length)))?;
        all.is_empty().then_some(arrays)
    }
}

fn array<T: Pod>(length: usize, part: &mut impl FnMut(usize) -> Option<Bytes>) -> Option<Vec<T>> {
    let bytes = part(length.checked_mul(size_of::<T>())?)?;
    let mut array = vec![T::zeroed(); length];
    let room: &mut [u8] = bytemuck::cast_slice_mut(&mut array);
    if room.len() != bytes.len() {
        return None;
    }
    room.copy_from_slice(&bytes);
    Some(array)
}

/// Decodes indices, all of which have to be below `values`.
fn indices(
    length: usize,
    values: usize,
    part: &mut impl FnMut(usize) -> Option<Bytes>,
) -> Option<Vec<[u32; 3]>> {
    let indices: Vec<[u32; 3]> = array(length, part)?;
    let largest = indices
        .as_flattened()
        .iter()
        .fold(0, |largest, &i| largest.max(i));
    (indices.is_empty() || (largest as usize) < values).then_some(indices)
}

fn corners<const N: usize>(
    values: usize,
    triangles: usize,
    part: &mut impl FnMut(usize) -> Option<Bytes>,
) -> Option<Corners<[f32; N]>>
where
    [f32; N]: Pod,
{
    Some(Corners {
        values: array(values, part)?,
        indices: indices(triangles, values, part)?,
    })
}

/// Returns the arrays of a mesh as bytes, in native layout.
fn arrays(mesh: &MeshArrays) -> Vec<&[u8]> {
    fn of<T: Pod>(corners: &Corners<T>) -> [&[u8]; 2] {
        [
            bytemuck::cast_slice(&corners.values),
            bytemuck::cast_slice(&corners.indices),
        ]
    }
    let mut arrays = vec![
        bytemuck::cast_slice(&mesh.points),
        bytemuck::cast_slice(&mesh.triangles),
    ];
    arrays.extend(of(&mesh.normals));
    arrays.extend(mesh.uvs.iter().flat_map(of));
    arrays.extend(mesh.colors.iter().flat_map(of));
    arrays
}

/// Encodes an entry of `meshes` without their arrays, with `more` in its header, and `blobs`.
fn entry(meshes: &[&Mesh], more: impl Serialize, blobs: Vec<Bytes>) -> Content {
    let shape = |mesh: &&Mesh| {
        let Outline {
            bounds,
            has_translucent_corners,
            ..
        } = mesh.outline();
        let bounds = bounds.map(|(low, high)| [low, high].map(|corner| corner.map(f32::to_bits)));
        (
            Shape::of(mesh, &mesh.parts),
            (bounds, has_translucent_corners),
        )
    };
    let head = Head {
        shapes: meshes.iter().map(shape).collect(),
        more,
    };
    let digests = meshes
        .iter()
        .map(|mesh| Bytes::copy_from_slice(&mesh.digest));
    store::pack(&head, digests.chain(blobs))
}

/// Returns the key of the arrays of a mesh with this digest.
fn key_of_arrays(digest: &[u8; 32]) -> Key {
    Key::shared("arrays").and(digest).key()
}

/// Stores the arrays of a mesh.
fn keep(mesh: &Mesh, store: &Store) {
    store.put(&key_of_arrays(&mesh.digest), || arrays(mesh).concat());
}

/// Spills the arrays of a mesh if they exceed the memory budget of `store`'s job: they are loaded
/// again from `store`, or from the file that the job spills to. The mesh has its digest.
#[must_use]
pub fn spilled(mesh: LazyMesh, store: &Store) -> LazyMesh {
    let Some(in_memory) = mesh.in_memory() else {
        return mesh;
    };
    let arrays = arrays(in_memory);
    if !store.must_spill(arrays.iter().map(|array| array.len()).sum()) {
        return mesh;
    }
    let (outline, shape) = (*mesh.outline(), Shape::of(in_memory, &mesh.parts));
    // Prefer the entry that the store has already; writing a spill file is the fallback.
    let load: Box<LoadArrays> = if let Some(later) = store.loader(&key_of_arrays(&mesh.digest)) {
        Box::new(move || {
            later()
                .and_then(|bytes| shape.arrays_in(bytes))
                .ok_or(CacheEvicted)
        })
    } else if let Some(pieces) = arrays
        .iter()
        .map(|array| store.spill(array))
        .collect::<Option<Vec<_>>>()
    {
        Box::new(move || {
            let mut pieces = pieces.iter();
            shape.arrays(|_| pieces.next()?.bytes()).ok_or(CacheEvicted)
        })
    } else {
        return mesh;
    };
    LazyMesh::cached(outline, load, mesh.parts, mesh.materials, mesh.digest)
}

/// Decodes an entry. Any mismatch results in `None`.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn head<T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<(Head<T>, Self)> {
        let (head, rest) = store::unpack(bytes)?;
        Some((head, Self { rest }))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// Returns meshes whose arrays are loaded lazily from `store`.
    fn meshes(
        &mut self,
        shapes: Vec<(Shape, KeptOutline)>,
        materials: &[Material],
        store: &Store,
    ) -> Option<Vec<LazyMesh>> {
        let mesh = |(shape, (bounds, has_translucent_corners)): (Shape, KeptOutline)| {
            let digest: [u8; 32] = self.take(32)?.try_into().ok()?;
            // An entry whose arrays were evicted is a miss.
            let arrays = store.loader(&key_of_arrays(&digest))?;
            let parts = parts(&shape, materials.len())?;
            let outline = Outline {
                triangles: shape.triangles,
                bounds: bounds
                    .map(|corners| corners.map(|corner| corner.map(f32::from_bits)).into()),
                has_uvs: shape.uvs.is_some(),
                has_colors: shape.colors.is_some(),
                has_translucent_corners,
            };
            let load = move || {
                arrays()
                    .and_then(|bytes| shape.arrays_in(bytes))
                    .ok_or(CacheEvicted)
            };
            Some(LazyMesh::cached(
                outline,
                Box::new(load),
                parts,
                materials.to_vec(),
                digest,
            ))
        };
        shapes.into_iter().map(mesh).collect()
    }
}

fn parts(shape: &Shape, materials: usize) -> Option<Vec<Part>> {
    let mut end = 0_usize;
    let mut parts = Vec::with_capacity(shape.parts.len());
    for &(triangles, material) in &shape.parts {
        let start = end;
        end = start.checked_add(triangles)?;
        parts.push(Part {
            triangles: start..end,
            material,
        });
    }
    let fits = end == shape.triangles
        && parts
            .iter()
            .all(|part| part.material.is_none_or(|i| i < materials));
    fits.then_some(parts)
}

fn encode_tiers(tiers: &[Option<Mesh>; 2]) -> Content {
    let meshes: Vec<&Mesh> = tiers.iter().flatten().collect();
    entry(&meshes, tiers.each_ref().map(Option::is_some), Vec::new())
}

fn decode_tiers(bytes: &[u8], materials: &[Material], store: &Store) -> Option<Tiers> {
    let (head, mut reader) = Reader::head::<[bool; 2]>(bytes)?;
    let mut meshes = reader.meshes(head.shapes, materials, store)?.into_iter();
    let [medium, low] = head.more.map(|there| {
        if there {
            meshes.next().map(Arc::new)
        } else {
            None
        }
    });
    Some(Tiers { medium, low })
}

/// The header of a loaded mesh, beside its geometry.
#[derive(Serialize, Deserialize)]
struct Loaded {
    /// The references in the file, and the hashes of their outcomes.
    references: Vec<(String, [u8; 32])>,
    findings: Vec<Finding>,
    materials: Vec<Surface>,
    textures: Vec<Picture>,
}

#[derive(Serialize, Deserialize)]
struct Finding {
    code: String,
    message: String,
    help: String,
    line: u32,
    column: u32,
    element: String,
}

/// A [`Material`]; floats as bits.
#[derive(Serialize, Deserialize)]
struct Surface {
    name: String,
    base_color: [u32; 4],
    shows_corner_colors: bool,
    texture: Option<usize>,
    placement: KeptPlacement,
    opacity_threshold: Option<u32>,
    metallic: u32,
    roughness: u32,
    emissive: [u32; 3],
    ior: u32,
    specular: Option<[u32; 3]>,
    clearcoat: [u32; 2],
    maps: Vec<KeptMap>,
}

/// A [`Map`]: the numbers of its role and its channel, the number of its image, the bits of its
/// strength, and its placement.
type KeptMap = (usize, usize, usize, u32, KeptPlacement);

/// An [`ImagePlacement`]: the numbers of its wrap modes, the bits of scale, rotation and
/// translation.
type KeptPlacement = ([usize; 2], [u32; 2], u64, [u32; 2]);

/// A [`Texture`].
#[derive(Serialize, Deserialize)]
struct Picture {
    name: String,
    is_jpeg: bool,
    sha256: String,
    has_alpha: bool,
    bytes: usize,
}

fn encode(
    mesh: &Mesh,
    diagnostics: &[Diagnostic],
    asked: &[String],
    referrer: Referrer,
) -> Content {
    let mut pictures: Vec<Arc<Texture>> = Vec::new();
    let mut index_of = |texture: &Arc<Texture>| {
        pictures
            .iter()
            .position(|other| Arc::ptr_eq(other, texture))
            .unwrap_or_else(|| {
                pictures.push(texture.clone());
                pictures.len() - 1
            })
    };
    let materials = mesh.materials.iter().map(|material| Surface {
        name: material.name.clone(),
        base_color: material.base_color.map(f32::to_bits),
        shows_corner_colors: material.shows_corner_colors,
        texture: material.base_color_texture.as_ref().map(&mut index_of),
        placement: kept_placement(&material.base_color_placement),
        opacity_threshold: material.opacity_threshold.map(f32::to_bits),
        metallic: material.metallic.to_bits(),
        roughness: material.roughness.to_bits(),
        emissive: material.emissive.map(f32::to_bits),
        ior: material.ior.to_bits(),
        specular: material.specular.map(|color| color.map(f32::to_bits)),
        clearcoat: [material.clearcoat, material.clearcoat_roughness].map(f32::to_bits),
        maps: material
            .maps
            .iter()
            .map(|(role, map)| kept_map(*role, map, &mut index_of))
            .collect(),
    });
    let materials = materials.collect();
    let loaded = Loaded {
        references: asked
            .iter()
            .map(|reference| (reference.clone(), referrer.outcome_as_read(reference)))
            .collect(),
        findings: diagnostics.iter().map(Finding::of).collect(),
        materials,
        textures: pictures
            .iter()
            .map(|texture| Picture::of(texture))
            .collect(),
    };
    let blobs = pictures
        .iter()
        .map(|texture| Bytes::from_owner(texture.bytes.clone()))
        .collect();
    entry(&[mesh], loaded, blobs)
}

fn kept_map(
    role: MapRole,
    map: &Map,
    index_of: &mut impl FnMut(&Arc<Texture>) -> usize,
) -> KeptMap {
    let role = MapRole::ALL
        .iter()
        .position(|other| *other == role)
        .unwrap_or_default();
    let channel = Channel::ALL
        .iter()
        .position(|other| *other == map.channel)
        .unwrap_or_default();
    (
        role,
        channel,
        index_of(&map.texture),
        map.strength.to_bits(),
        kept_placement(&map.placement),
    )
}

fn kept_placement(placement: &ImagePlacement) -> KeptPlacement {
    let ImagePlacement {
        wrap,
        scale,
        rotation,
        translation,
    } = *placement;
    let number = |wrap| {
        Wrap::ALL
            .iter()
            .position(|other| *other == wrap)
            .unwrap_or_default()
    };
    (
        wrap.map(number),
        scale.map(f32::to_bits),
        rotation.to_bits(),
        translation.map(f32::to_bits),
    )
}

fn placement((wrap, scale, rotation, translation): KeptPlacement) -> Option<ImagePlacement> {
    let [s, t] = wrap.map(|number| Wrap::ALL.get(number).copied());
    let [scale, translation] = [scale, translation].map(|pair| pair.map(f32::from_bits));
    Some(ImagePlacement {
        wrap: [s?, t?],
        scale,
        rotation: f64::from_bits(rotation),
        translation,
    })
}

/// Returns `None` also if the outcome of a reference has changed.
fn decode(bytes: &[u8], referrer: Referrer) -> Option<(LazyMesh, Vec<Diagnostic>)> {
    let (head, mut reader) = Reader::head::<Loaded>(bytes)?;
    let Loaded {
        references,
        findings,
        materials,
        textures,
    } = head.more;
    if references
        .iter()
        // Another file behind a reference makes another mesh, even if the mesh file is the same.
        .any(|(reference, known)| referrer.outcome(reference) != *known)
    {
        return None;
    }
    let mut mesh = reader
        .meshes(
            head.shapes,
            &vec![Material::plain("", [1.0; 4]); materials.len()],
            referrer.store,
        )?
        .pop()?;
    let textures: Vec<Arc<Texture>> = textures
        .into_iter()
        .map(|picture| picture.texture(&mut reader).map(Arc::new))
        .collect::<Option<_>>()?;
    mesh.materials = materials
        .into_iter()
        .map(|surface| surface.material(&textures))
        .collect::<Option<_>>()?;
    let diagnostics = findings
        .into_iter()
        .map(|finding| finding.diagnostic(referrer.path))
        .collect::<Option<_>>()?;
    Some((mesh, diagnostics))
}

impl Finding {
    fn of(diagnostic: &Diagnostic) -> Self {
        let Diagnostic {
            code,
            message,
            place,
            help,
            ..
        } = diagnostic;
        Self {
            code: (*code).to_owned(),
            message: message.clone(),
            help: help.clone(),
            line: place.line,
            column: place.column,
            element: place.element.clone(),
        }
    }

    fn diagnostic(self, file: &Path) -> Option<Diagnostic> {
        // A code that this version doesn't have makes the entry a miss.
        let code = codes::ALL.iter().find(|code| code.id == self.code)?;
        let place = Place {
            line: self.line,
            column: self.column,
            element: self.element,
            ..Place::file(file)
        };
        Some(Diagnostic::new(code, place, self.message).help(self.help))
    }
}

impl Surface {
    fn material(self, textures: &[Arc<Texture>]) -> Option<Material> {
        let map = |(role, channel, texture, strength, lies): KeptMap| {
            let (texture, channel) = (textures.get(texture)?.clone(), *Channel::ALL.get(channel)?);
            let map = Map {
                texture,
                channel,
                strength: f32::from_bits(strength),
                placement: placement(lies)?,
            };
            Some((*MapRole::ALL.get(role)?, map))
        };
        let [clearcoat, clearcoat_roughness] = self.clearcoat.map(f32::from_bits);
        Some(Material {
            name: self.name,
            base_color: self.base_color.map(f32::from_bits),
            shows_corner_colors: self.shows_corner_colors,
            base_color_texture: match self.texture {
                Some(index) => Some(textures.get(index)?.clone()),
                None => None,
            },
            base_color_placement: placement(self.placement)?,
            opacity_threshold: self.opacity_threshold.map(f32::from_bits),
            metallic: f32::from_bits(self.metallic),
            roughness: f32::from_bits(self.roughness),
            emissive: self.emissive.map(f32::from_bits),
            ior: f32::from_bits(self.ior),
            specular: self.specular.map(|color| color.map(f32::from_bits)),
            clearcoat,
            clearcoat_roughness,
            maps: self.maps.into_iter().map(map).collect::<Option<_>>()?,
        })
    }
}

impl Picture {
    fn of(texture: &Texture) -> Self {
        let Texture {
            name,
            format,
            bytes,
            sha256,
            has_alpha,
        } = texture;
        Self {
            name: name.clone(),
            is_jpeg: *format == ImageFormat::Jpeg,
            sha256: sha256.clone(),
            has_alpha: *has_alpha,
            bytes: bytes.len(),
        }
    }

    fn texture(self, reader: &mut Reader) -> Option<Texture> {
        Some(Texture {
            name: self.name,
            format: if self.is_jpeg {
                ImageFormat::Jpeg
            } else {
                ImageFormat::Png
            },
            bytes: reader.take(self.bytes)?.into(),
            sha256: self.sha256,
            has_alpha: self.has_alpha,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use urdf_usd_store::Spill;

    use super::*;
    use crate::test::files;

    fn loaded(folder: &Path, name: &str, store: &Store) -> (LazyMesh, Vec<Diagnostic>) {
        let files = files();
        let located = files
            .locate(&folder.join(name).to_string_lossy(), None)
            .unwrap();
        load(&located, &files, Options::default(), store).unwrap()
    }

    fn entries(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                found.extend(entries(&entry.path()))
            } else {
                found.push(entry.path())
            }
        }
        // The store's secret key is not an entry.
        found.retain(|path| path.file_name() != Some("key".as_ref()));
        found
    }

    const OBJ: &str = "mtllib a.mtl\nv 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n\
                       usemtl gold\nv 0 0 1\nf 1/1 2/2 4/3\nf 1/1 1/1 2/2\n";

    fn example(folder: &Path) {
        fs::write(folder.join("a.obj"), OBJ).unwrap();
        fs::write(
            folder.join("a.mtl"),
            "newmtl gold\nKd 0.3 0.2 0.1\nPr 0.25\nKe 0.1 0 0\nmap_Kd a.png\n",
        )
        .unwrap();
        image::RgbImage::from_pixel(2, 2, image::Rgb([1, 2, 3]))
            .save(folder.join("a.png"))
            .unwrap();
    }

    #[test]
    fn what_is_kept_is_what_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        example(folder.path());
        let fresh = loaded(folder.path(), "a.obj", &Store::none());
        assert!(fresh.0.materials[0].base_color_texture.is_some() && !fresh.1.is_empty());
        for store in [Store::in_memory(1 << 20), Store::on_disk(&cache, 1 << 20)] {
            assert_eq!(loaded(folder.path(), "a.obj", &store), fresh);
            assert_eq!(loaded(folder.path(), "a.obj", &store), fresh);
        }
        // Proof that the second result is from the store: it is the store's, not the file's.
        let store = Store::in_memory(1 << 20);
        let content = Sha256::digest(OBJ);
        let key = Key::shared("mesh 5")
            .and(b"a.obj")
            .and(format!("{:?}", Options::default()).as_bytes())
            .and(&content)
            .key();
        let (path, files) = (folder.path().join("a.obj"), files());
        store.put_content(&key, &{
            let mut other = fresh.0.load().unwrap();
            other.points[0] = [7.0; 3];
            other.digest = digest(&other);
            keep(&other, &store);
            encode(
                &other,
                &[],
                &[],
                Referrer {
                    path: &path,
                    files: &files,
                    store: &Store::none(),
                },
            )
        });
        assert_eq!(
            loaded(folder.path(), "a.obj", &store)
                .0
                .arrays()
                .unwrap()
                .points[0],
            [7.0; 3]
        );
    }

    #[test]
    fn another_library_or_image_is_another_mesh() {
        let folder = tempfile::tempdir().unwrap();
        example(folder.path());
        let store = Store::in_memory(1 << 20);
        let first = loaded(folder.path(), "a.obj", &store);
        image::RgbImage::from_pixel(2, 2, image::Rgb([9, 9, 9]))
            .save(folder.path().join("a.png"))
            .unwrap();
        let second = loaded(folder.path(), "a.obj", &store);
        assert_ne!(first.0.materials, second.0.materials);
        assert_eq!(first.0.digest, second.0.digest, "the geometry is the same");
        fs::remove_file(folder.path().join("a.png")).unwrap();
        let third = loaded(folder.path(), "a.obj", &store);
        assert!(
            third.1.iter().any(|d| d.code == "mesh-texture-missing"),
            "{:?}",
            third.1
        );
        // The same content in another folder reports findings with its own paths.
        fs::create_dir(folder.path().join("b")).unwrap();
        example(&folder.path().join("b"));
        let fourth = loaded(&folder.path().join("b"), "a.obj", &store);
        assert_eq!(fourth.0, first.0);
        assert_eq!(
            fourth.1[0].place.file.as_deref(),
            Some(&*folder.path().join("b/a.obj"))
        );
    }

    #[test]
    fn meshes_that_were_read_without_descriptors_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        example(folder.path());
        let (store, files) = (Store::on_disk(&cache, 1 << 20), files());
        let name = folder.path().join("a.obj");
        let located = files.locate(&name.to_string_lossy(), None).unwrap();
        // EMFILE: another thread of the conversion met the limit.
        files.note_failure(&std::io::Error::from_raw_os_error(24));
        load(&located, &files, Options::default(), &store).unwrap();
        assert_eq!(entries(&cache), Vec::<PathBuf>::new());
        loaded(folder.path(), "a.obj", &store);
        assert_eq!(entries(&cache).len(), 2);
    }

    #[test]
    fn spoilt_entries_are_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        example(folder.path());
        let store = Store::on_disk(&cache, 1 << 20);
        let fresh = loaded(folder.path(), "a.obj", &store);
        let mut paths = entries(&cache);
        paths.sort_by_key(|path| fs::metadata(path).unwrap().len());
        let [arrays, path] = &paths[..] else { panic!() };
        let whole = fs::read(path).unwrap();
        for cut in [0, 5, whole.len() / 2, whole.len() - 1] {
            fs::write(path, &whole[..cut]).unwrap();
            assert_eq!(loaded(folder.path(), "a.obj", &store), fresh);
            assert_eq!(fs::read(path).unwrap(), whole);
        }
        // Intact, but with other content: mismatches are rejected.
        const KEYED_HASH: usize = 32;
        let body = &whole[..whole.len() - KEYED_HASH];
        let (obj, files) = (folder.path().join("a.obj"), files());
        let referrer = Referrer {
            path: &obj,
            files: &files,
            store: &store,
        };
        assert_eq!(decode(body, referrer).unwrap(), fresh);
        for at in 0..body.len() {
            let mut spoilt = body.to_vec();
            spoilt[at] ^= 0x55;
            if let Some((mesh, _)) = decode(&spoilt, referrer) {
                let points = |mesh: &LazyMesh| mesh.arrays().map(|arrays| arrays.points.len());
                assert!(points(&mesh).is_err() || points(&mesh) == points(&fresh.0));
            }
        }
        for cut in 0..body.len() {
            assert!(decode(&body[..cut], referrer).is_none());
        }
        // Evicted arrays are noticed when they are loaded; a caller that starts over without the
        // cache gets all of them.
        let whole = fs::read(arrays).unwrap();
        for cut in [0, 5, whole.len() / 2, whole.len() - 1] {
            fs::write(arrays, &whole[..cut]).unwrap();
            let (mesh, found) = loaded(folder.path(), "a.obj", &store);
            assert_eq!(
                (mesh.digest, mesh.outline(), &found),
                (fresh.0.digest, fresh.0.outline(), &fresh.1)
            );
            assert_eq!(
                (mesh.arrays().err(), mesh.load().err()),
                (Some(CacheEvicted), Some(CacheEvicted))
            );
            assert_ne!(mesh, fresh.0, "what can't be loaded compares unequal");
            assert_eq!(loaded(folder.path(), "a.obj", &store.write_only()), fresh);
            assert_eq!(fs::read(arrays).unwrap(), whole);
        }
        fs::remove_file(arrays).unwrap();
        assert!(
            loaded(folder.path(), "a.obj", &store)
                .0
                .in_memory()
                .is_some()
        );
    }

    #[test]
    fn what_is_too_much_for_memory_is_had_from_the_store_or_the_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nf 1/1 2/2 3/1\nf 1/2 3/1 4/2\nf 1/1 4/2 2/1\n";
        fs::write(folder.path().join("a.obj"), text).unwrap();
        for store in [
            Store::none(),
            Store::in_memory(1 << 20),
            Store::on_disk(&folder.path().join("cache"), 1 << 20),
        ] {
            let mesh = || loaded(folder.path(), "a.obj", &store.write_only()).0;
            let spilling = |limit| store.clone().spilling(Spill::new(folder.path(), limit));
            let there = mesh();
            let arrays = there.arrays().unwrap();
            let all = arrays.points.len() * 12
                + arrays.triangles.len() * 12 * 3
                + arrays.normals.values.len() * 12
                + 16;
            for (limit, stays) in [(all, true), (all - 1, false)] {
                let mesh = spilled(mesh(), &spilling(limit));
                assert_eq!((mesh.in_memory().is_some(), &mesh), (stays, &there));
                assert_eq!(
                    (mesh.outline(), mesh.arrays()),
                    (there.outline(), Ok(arrays.clone()))
                );
            }
            // A job that starts over without the cache keeps all arrays in memory.
            assert!(
                spilled(mesh(), &spilling(0).write_only())
                    .in_memory()
                    .is_some()
            );
        }
    }

    #[test]
    fn tiers_and_hulls_are_kept() {
        let store = Store::in_memory(1 << 24);
        let mut text = String::new();
        for ring in 0..=100 {
            for side in 0..150 {
                let (u, v) = (
                    f64::from(side) / 150.0 * std::f64::consts::TAU,
                    f64::from(ring) / 100.0 * std::f64::consts::PI,
                );
                text += &format!(
                    "v {} {} {}\n",
                    u.cos() * v.sin(),
                    u.sin() * v.sin(),
                    v.cos()
                );
            }
        }
        for ring in 0..100 {
            for side in 0..150 {
                let [a, b] = [ring * 150 + side, ring * 150 + (side + 1) % 150].map(|i| i + 1);
                text += &format!("f {a} {} {} {b}\n", a + 150, b + 150);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ball.obj"), text).unwrap();
        let (mesh, _) = loaded(folder.path(), "ball.obj", &store);
        let (made, hull) = (
            kept_tiers(&mesh, &store).unwrap(),
            kept_hull(&mesh, &store).unwrap().unwrap(),
        );
        let loaded = mesh.load().unwrap();
        let (plain, plain_hull) = (
            tiers(&loaded),
            Mesh::plain(convex_hull(&loaded.points).unwrap()),
        );
        let same = |a: &LazyMesh, b: &Mesh| {
            a.load().unwrap()
                == Mesh {
                    digest: a.digest,
                    ..b.clone()
                }
        };
        for (tier, plain) in [&made.medium, &made.low].into_iter().zip(&plain) {
            assert!(same(tier.as_ref().unwrap(), plain.as_ref().unwrap()));
        }
        assert!(same(&hull.mesh, &plain_hull) && !hull.is_thickened);
        assert_eq!(kept_tiers(&mesh, &store), Ok(made.clone()));
        assert_eq!(kept_hull(&mesh, &store).unwrap(), Ok(hull));
        assert_ne!(made.medium.unwrap().digest, made.low.unwrap().digest);
    }
}
