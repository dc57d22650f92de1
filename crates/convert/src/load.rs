//! Loads what a robot's references point to: meshes, collider hulls, textures, controllers, SRDF
//! and XRDF.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::Vector3;
use rayon::prelude::*;

use super::context::{Batch, Stop, Work};
use super::source::decoded;
use super::{OutputFormat, Step, primitives, stand_in};
use urdf_usd_diagnostic::{Code, Diagnostic, Place};
use urdf_usd_gltf_write::Images;
use urdf_usd_mesh as mesh;
use urdf_usd_resolve::{File, Files, Located};
use urdf_usd_robot::{
    CacheEvicted, Geometry, LazyMesh, Material, MaterialId, MeshId, Robot, Shape, Texture, Tiers,
};
use urdf_usd_urdf::{self as urdf, MeshReference, References, srdf, xrdf};

/// Maximum number of triangles of all meshes of a robot, each file counted once.
///
/// A triangle takes about a hundred bytes, some of them several times. The largest real robots have
/// some millions.
const MAX_TRIANGLES: usize = 16 << 20;

/// Maximum total size of all mesh files, in bytes.
const MAX_MESH_BYTES: u64 = 2 << 30;

/// Deviation of convex parts, relative to the diagonal of the mesh's bounding box, above which they are
/// coarse.
const COARSE: f64 = 0.02;

/// Maximum total size of controller files, in bytes.
const MAX_CONTROLLER_FILES: usize = 4 << 20;

/// The results of loading that are not in the robot.
pub(super) struct Loaded {
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The images of the meshes as the glTF needs them, if one is to be written.
    pub(super) images: Images,
}

/// Loads every mesh, texture and controller file of `references` into `robot`, in parallel.
///
/// Files that can't be loaded are reported and skipped. If the time limit is exceeded, the rest is
/// not loaded.
///
/// # Errors
/// Fails if the meshes together exceed the limits, or one is no longer in the cache.
pub(super) fn load(
    robot: &mut Robot,
    references: &References,
    base: Option<&Path>,
    work: Work<'_>,
) -> Result<Loaded, Stop> {
    let options = &work.job.options;
    let mut distinct = Distinct::default();
    let Meshes {
        missing,
        mut diagnostics,
    } = meshes(robot, &references.meshes, base, &mut distinct, work)?;
    let mut pixels = mesh::MAX_PIXELS_TOGETHER;
    diagnostics.extend(bound_pixels(robot, &mut pixels));
    if options.stand_ins {
        stand_in::add(robot, &missing, &mut diagnostics)?;
    }
    diagnostics.extend(primitives::fit(robot, work)?);
    let loaded: Vec<Arc<LazyMesh>> = robot
        .meshes()
        .values()
        .map(|source| source.mesh.clone())
        .collect();
    let is_gltf = options
        .formats
        .contains_any(&[OutputFormat::Glb, OutputFormat::Gltf]);
    let images = || {
        if is_gltf {
            let materials = loaded.iter().flat_map(|mesh| &mesh.materials);
            Images::of(materials, work.store, work.limit)
        } else {
            Images::default()
        }
    };
    // A large image takes as long as many tiers, so both run in parallel.
    let (found, images) = rayon::join(|| derive_meshes(robot, &mut distinct, work), images);
    diagnostics.extend(found?);
    // By index, before textures replace them.
    let colors: Vec<[f32; 4]> = robot.materials().values().map(|m| m.base_color).collect();
    diagnostics.extend(textures(robot, &references.textures, base, pixels, work));
    diagnostics.extend(remove_unmappable_textures(robot, &colors));
    if !references.controller_files.is_empty() {
        let files = &references.controller_files;
        diagnostics.extend(controllers(robot, files, work.files, base));
    }
    Ok(Loaded {
        diagnostics,
        images,
    })
}

/// Checks the total size and number of triangles of meshes against the limits; `place` is that of
/// the robot.
fn check_limits(bytes: u64, triangles: usize, place: &Place) -> Result<(), Diagnostic> {
    let what = match (bytes > MAX_MESH_BYTES, triangles > MAX_TRIANGLES) {
        (true, _) => {
            format!(
                "the files of all meshes have {} MiB together; the limit is {} MiB",
                bytes >> 20,
                MAX_MESH_BYTES >> 20
            )
        }
        (_, true) => format!("the meshes together have more than {MAX_TRIANGLES} triangles"),
        _ => return Ok(()),
    };
    Err(
        Diagnostic::new(&super::codes::TOO_MUCH_MESH, place.clone(), what)
            .help("simplify the largest meshes"),
    )
}

/// The result of loading meshes.
struct Meshes<'a> {
    /// The references that could not be loaded.
    missing: Vec<&'a MeshReference>,
    diagnostics: Vec<Diagnostic>,
}

/// A mesh file to load, and the first reference to it.
struct MeshFile<'a> {
    reference: &'a MeshReference,
    located: &'a Located,
}

/// Loads the meshes into the robot.
fn meshes<'a>(
    robot: &mut Robot,
    references: &'a [MeshReference],
    base: Option<&Path>,
    distinct: &mut Distinct,
    work: Work<'_>,
) -> Result<Meshes<'a>, Diagnostic> {
    let mut diagnostics = Vec::new();
    // Visuals and collisions often have the same mesh.
    let uris: HashSet<&str> = references.iter().map(|r| r.uri.as_str()).collect();
    let found: HashMap<&str, Result<Located, urdf_usd_resolve::Error>> = uris
        .into_par_iter()
        .map(|uri| (uri, work.files.locate(uri, base)))
        .collect();
    // References to the same file share a mesh.
    let mut by_path: HashMap<&Path, usize> = HashMap::new();
    let mut files: Vec<MeshFile<'_>> = Vec::new();
    let mut file_of: Vec<Option<usize>> = vec![None; references.len()];
    for (reference, file_of) in references.iter().zip(&mut file_of) {
        match found.get(reference.uri.as_str()) {
            None => {}
            Some(Ok(located)) => {
                *file_of = Some(*by_path.entry(&located.path).or_insert_with(|| {
                    files.push(MeshFile { reference, located });
                    files.len() - 1
                }));
            }
            Some(Err(error)) => diagnostics.push(error.clone().at(reference.place.clone())),
        }
    }
    let bytes = files.iter().fold(0_u64, |bytes, file| {
        bytes.saturating_add(file.located.bytes)
    });
    check_limits(bytes, 0, &robot.place)?;
    // Counted while loading, so that the limit applies before memory is full.
    let triangles = AtomicUsize::new(0);
    let batch = Batch {
        step: Step::Load,
        items: &files,
        size: |file: &MeshFile<'_>| file.located.bytes as usize,
        name: |file: &MeshFile<'_>| file_name(&file.reference.uri).to_owned(),
    };
    let loaded = work.context.all(work.limit, batch, |file| {
        // The rest is skipped; `check_limits` after the batch returns the error.
        if triangles.load(Ordering::Relaxed) > MAX_TRIANGLES {
            return (None, Vec::new());
        }
        let (located, place) = (file.located, &file.reference.place);
        match mesh::load(located, work.files, work.job.options.meshes, work.store) {
            Ok((mesh, found)) => {
                triangles.fetch_add(mesh.outline().triangles, Ordering::Relaxed);
                let found = found.into_iter().map(|d| at_reference(d, place)).collect();
                (Some(Arc::new(mesh::spilled(mesh, work.store))), found)
            }
            Err(error) => (None, vec![unreadable(&error, &located.path, place)]),
        }
    });
    if work.limit.interruption().is_some() {
        return Ok(Meshes {
            missing: references.iter().collect(),
            diagnostics,
        });
    }
    check_limits(bytes, triangles.into_inner(), &robot.place)?;
    let mut meshes: Vec<Option<Arc<LazyMesh>>> = Vec::with_capacity(loaded.len());
    for (mesh, found) in loaded {
        diagnostics.extend(found);
        // In the order of files, so that the representative does not depend on threads.
        meshes.push(mesh.map(|mesh| distinct.only(mesh)));
    }
    let mut missing = Vec::new();
    for (reference, file) in references.iter().zip(file_of) {
        match file.and_then(|file| meshes.get(file)?.clone()) {
            Some(mesh) => {
                if let Err(error) = reference.settle(robot, mesh) {
                    diagnostics.push(error.to_diagnostic(reference.place.clone()));
                }
            }
            None => missing.push(reference),
        }
    }
    Ok(Meshes {
        missing,
        diagnostics,
    })
}

/// Returns the last part of a reference to a file.
pub(super) fn file_name(uri: &str) -> &str {
    uri.rsplit('/').next().unwrap_or(uri)
}

/// Deduplicates meshes: equal ones of different files, or hulls of different meshes, become one,
/// unless their materials differ.
#[derive(Default)]
struct Distinct(HashMap<[u8; 32], Vec<Arc<LazyMesh>>>);

impl Distinct {
    /// Returns the representative of meshes equal to `mesh`.
    fn only(&mut self, mesh: Arc<LazyMesh>) -> Arc<LazyMesh> {
        let equal = self.0.entry(mesh.digest).or_default();
        if let Some(known) = equal.iter().find(|other| other.materials == mesh.materials) {
            return known.clone();
        }
        equal.push(mesh.clone());
        mesh
    }
}

/// Applies the robot's controller files.
///
/// An unreadable file is a warning: the robot then has controllers by convention.
fn controllers(
    robot: &mut Robot,
    references: &[(String, Place)],
    files: &Files,
    base: Option<&Path>,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut texts: Vec<(Arc<Path>, String)> = Vec::new();
    let mut room = MAX_CONTROLLER_FILES;
    for (uri, place) in references {
        let file = files
            .open(uri, base)
            .map_err(|error| (error.message, error.help));
        match file {
            // The same file under another name adds nothing.
            Ok(file) if texts.iter().any(|(path, _)| **path == *file.path) => {}
            Ok(file) if file.bytes.len() > room => {
                diagnostics.push(unread_controllers(
                    place,
                    "the controller files together are larger than 4 MiB",
                    "remove everything that is not a controller",
                ));
            }
            Ok(file) => {
                room -= file.bytes.len();
                texts.push((
                    Arc::from(file.path),
                    String::from_utf8_lossy(&file.bytes).into_owned(),
                ));
            }
            Err((message, help)) => diagnostics.push(unread_controllers(place, &message, &help)),
        }
    }
    diagnostics.extend(urdf::set_controllers(robot, &texts));
    diagnostics
}

fn unread_controllers(place: &Place, why: &str, help: &str) -> Diagnostic {
    let message = format!("the controller file can't be read: {why}");
    Diagnostic::new(&super::codes::CONTROLLER_FILE, place.clone(), message).help(help)
}

/// Reads the SRDF file that the options name.
///
/// # Errors
/// If it can't be opened, or is in an encoding that is not read.
pub(super) fn srdf(
    robot: &mut Robot,
    path: &Path,
    files: &Files,
) -> Result<Vec<Diagnostic>, Diagnostic> {
    let (path, file) = open_named(path, files)?;
    let urdf::Decoded { text, finding } = decoded(&file.bytes, &path)?;
    let mut found = srdf::apply(&text, Some(&path), robot);
    found.extend(finding);
    Ok(found)
}

/// Reads the XRDF file that the options name.
///
/// # Errors
/// If it can't be opened.
pub(super) fn xrdf(
    robot: &mut Robot,
    references: &mut References,
    path: &Path,
    files: &Files,
) -> Result<xrdf::Applied, Diagnostic> {
    let (path, file) = open_named(path, files)?;
    let text = String::from_utf8_lossy(&file.bytes);
    Ok(xrdf::apply(
        text.trim_start_matches('\u{feff}'),
        Some(&path),
        robot,
        references,
    ))
}

/// Opens a file that the options name; returns it with its absolute path.
fn open_named(path: &Path, files: &Files) -> Result<(PathBuf, File), Diagnostic> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let file = files
        .input_within(&path, urdf::MAX_TEXT_BYTES as u64)
        .map_err(|error| error.at(Place::file(path.clone())))?;
    Ok((path, file))
}

/// Gives shapes without texture coordinates a copy of their material without the texture. `colors`:
/// of the materials in the source.
fn remove_unmappable_textures(robot: &mut Robot, colors: &[[f32; 4]]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut plain: HashMap<MaterialId, MaterialId> = HashMap::new();
    for link in robot.links().handles() {
        for visual in 0..robot.links()[link].visuals.len() {
            let Some(shape) = robot.links()[link].visuals.get(visual).cloned() else {
                continue;
            };
            let Some(id) = shape.material.filter(|_| lacks_coordinates(robot, &shape)) else {
                continue;
            };
            let name = &robot.materials()[id].name;
            let message = format!(
                "the texture of material {name:?} has no effect on this shape, which lacks texture coordinates"
            );
            diagnostics.push(
                Diagnostic::new(&super::codes::TEXTURE_WITHOUT_COORDINATES, shape.place.clone(), message)
                    .help("give the visual a mesh with texture coordinates, or a material with a colour only"),
            );
            let plain = *plain.entry(id).or_insert_with(|| {
                let color = colors.get(id.index()).copied();
                robot.add_material(without_texture(&robot.materials()[id], color))
            });
            let place = shape.place.clone();
            let shape = Shape {
                material: Some(plain),
                ..shape
            };
            if let Err(error) = robot.set_visual(link, visual, shape) {
                diagnostics.push(error.to_diagnostic(place));
            }
        }
    }
    diagnostics
}

/// Returns whether the shape shows a textured material, but has no texture coordinates.
fn lacks_coordinates(robot: &Robot, shape: &Shape) -> bool {
    let has_texture = |id: MaterialId| robot.materials()[id].base_color_texture.is_some();
    shape.material.is_some_and(has_texture)
        && match shape.geometry {
            // A mesh whose parts all have materials does not show the robot's.
            Geometry::Mesh { mesh, .. } => {
                let mesh = &robot.meshes()[mesh].mesh;
                !mesh.outline().has_uvs && mesh.parts.iter().any(|part| part.material.is_none())
            }
            Geometry::Missing { .. } => false,
            _ => true,
        }
}

/// Returns the material without its texture: in its colour in the source, or in the mean colour of
/// the texture if the source gives none, which is white.
fn without_texture(material: &Material, color: Option<[f32; 4]>) -> Material {
    let mut material = material.clone();
    let texture = material.base_color_texture.take();
    material.opacity_threshold = None;
    if let Some(color) = color.filter(|color| *color != [1.0; 4]) {
        material.base_color = color;
    } else if let Some([red, green, blue, _]) =
        texture.and_then(|texture| mesh::mean_color(&texture))
    {
        material.base_color = [red, green, blue, 1.0];
    }
    material
}

/// Sets the place of a finding in a mesh file that has none: the reference to the file.
fn at_reference(mut diagnostic: Diagnostic, reference: &Place) -> Diagnostic {
    if diagnostic.place == Place::default() {
        diagnostic.place = reference.clone();
    }
    diagnostic
}

fn unreadable(error: &mesh::Error, file: &Path, place: &Place) -> Diagnostic {
    let line = if error.line > 0 {
        format!(":{}", error.line)
    } else {
        String::new()
    };
    let help = match error.help.as_str() {
        "" => "repair or replace the file".to_owned(),
        help => help.to_owned(),
    };
    Diagnostic::new(
        error.code,
        place.clone(),
        format!("{}{line}: {error}", file.display()),
    )
    .help(format!("{help}; the link keeps its other geometry"))
}

/// A mesh derived from another one.
enum Derived {
    Tiers(Tiers),
    Hull {
        hull: Box<Result<mesh::Hull, mesh::NoHull>>,
        /// `None` if they are not wanted, or there are none.
        parts: Option<mesh::ConvexParts>,
    },
}

/// A mesh to derive others from: its hull and convex parts if it is a collider's, otherwise its tiers.
struct Task {
    mesh: Arc<LazyMesh>,
    collider: Option<Place>,
}

/// Computes coarser tiers of visual meshes, and convex hulls and parts of collision meshes.
///
/// A flat or straight mesh gets a hull with a thickness; one without any extent stays the collider.
fn derive_meshes(
    robot: &mut Robot,
    distinct: &mut Distinct,
    work: Work<'_>,
) -> Result<Vec<Diagnostic>, CacheEvicted> {
    let seen = meshes_in(robot.links().values().flat_map(|link| &link.visuals));
    let colliding = meshes_in(robot.links().values().flat_map(|link| &link.collisions));
    let mut tasks: Vec<Task> = Vec::new();
    if work.job.options.tiers == super::Tiers::All {
        tasks.extend(distinct_meshes(robot, &seen).map(|(mesh, _)| Task {
            mesh,
            collider: None,
        }));
    }
    if work.job.hulls {
        tasks.extend(
            distinct_meshes(robot, &colliding).map(|(mesh, place)| Task {
                mesh,
                collider: Some(place.clone()),
            }),
        );
    }
    let mut sources: HashMap<*const LazyMesh, Vec<MeshId>> = HashMap::new();
    for (id, source) in robot.meshes().iter() {
        sources
            .entry(Arc::as_ptr(&source.mesh))
            .or_default()
            .push(id);
    }
    // In reverse, so that the first reference to a mesh names it. The key is a number because
    // threads share the map, and a raw pointer is not `Sync`.
    let names: HashMap<_, &str> = robot
        .meshes()
        .values()
        .rev()
        .map(|source| (Arc::as_ptr(&source.mesh) as usize, source.uri.as_str()))
        .collect();
    let batch = Batch {
        step: Step::Derive,
        items: &tasks,
        size: |task: &Task| task.mesh.outline().triangles,
        name: |task: &Task| {
            let uri = names
                .get(&(Arc::as_ptr(&task.mesh) as usize))
                .copied()
                .unwrap_or_default();
            let triangles = task.mesh.outline().triangles;
            format!("{} ({triangles} triangles)", file_name(uri))
        },
    };
    let made = work
        .context
        .all(work.limit, batch, |task| derive(task, work));
    let mut diagnostics = Vec::new();
    // Results are missing then; the caller reports the exceeded limit.
    if work.limit.interruption().is_some() {
        return Ok(diagnostics);
    }
    let made = made.into_iter().collect::<Result<Vec<_>, CacheEvicted>>()?;
    let is_decomposed = work.job.options.convex_parts > 0;
    let (scales, mut decomposed) = (scales(robot), Decomposed::default());
    for (task, made) in tasks.into_iter().zip(made) {
        let sources = sources
            .get(&Arc::as_ptr(&task.mesh))
            .map_or(&[][..], Vec::as_slice);
        match made {
            Derived::Tiers(tiers) => {
                let tiers = Tiers {
                    medium: tiers.medium.map(|tier| distinct.only(tier)),
                    low: tiers.low.map(|tier| distinct.only(tier)),
                };
                for &source in sources {
                    robot.mesh_mut(source).tiers = tiers.clone();
                }
            }
            Derived::Hull { hull, parts } => {
                let uri = sources
                    .first()
                    .map_or("", |&source| robot.meshes()[source].uri.as_str());
                let place = task.collider.unwrap_or_default();
                diagnostics.extend(hull_findings(&hull, uri, &place));
                if is_decomposed {
                    let scale = sources.iter().filter_map(|source| scales.get(source));
                    let scale = scale.copied().fold(0.0, f64::max);
                    let found = decomposed.add(&task.mesh, parts.as_ref(), uri, scale);
                    diagnostics.extend(found.map(|(code, message, help)| {
                        Diagnostic::new(code, place.clone(), message).help(help)
                    }));
                }
                if let Some(parts) = parts {
                    let parts = parts
                        .meshes
                        .into_iter()
                        .map(|part| distinct.only(part.into()));
                    let parts: Vec<Arc<LazyMesh>> = parts.collect();
                    for &source in sources {
                        robot.mesh_mut(source).convex_parts.clone_from(&parts);
                    }
                }
                if let Ok(hull) = *hull {
                    let hull = distinct.only(hull.mesh.into());
                    for &source in sources {
                        robot.mesh_mut(source).hull = Some(hull.clone());
                    }
                }
            }
        }
    }
    diagnostics.extend(decomposed.finding(&robot.place));
    Ok(diagnostics)
}

/// The convex parts of the meshes of a robot.
#[derive(Default)]
struct Decomposed {
    /// The number of convex meshes.
    convex: usize,
    /// The number of meshes with several parts, and that of the parts.
    meshes: usize,
    parts: usize,
    /// The largest deviation, in metres, and the mesh that has it.
    deviation: f64,
    farthest: String,
}

impl Decomposed {
    /// Counts the parts of a mesh; `scale` is the largest scale of its colliders. Returns a finding if they
    /// are coarse, or there are none.
    fn add(
        &mut self,
        mesh: &LazyMesh,
        parts: Option<&mesh::ConvexParts>,
        uri: &str,
        scale: f64,
    ) -> Option<(&'static Code, String, &'static str)> {
        let Some(mesh::ConvexParts { meshes, deviation }) = parts else {
            let message = format!("the mesh \"{uri}\" is not decomposed into convex parts");
            let help =
                "give it some volume and at most 4 million triangles, or use primitive shapes";
            return Some((&mesh::codes::PARTS_NONE, message, help));
        };
        if meshes.len() > 1 {
            self.meshes += 1;
            self.parts += meshes.len();
            if deviation * scale > self.deviation {
                self.deviation = deviation * scale;
                uri.clone_into(&mut self.farthest);
            }
        } else {
            self.convex += 1;
        }
        let bounds = mesh
            .bounds()
            .map(|(low, high)| [low, high].map(Vector3::from));
        let size = bounds.map_or(0.0, |[low, high]| f64::from((high - low).norm()));
        (*deviation > COARSE * size).then(|| {
            let message = format!(
                "the {} convex parts of the mesh \"{uri}\" deviate from it by up to {}",
                meshes.len(),
                millimetres(deviation * scale)
            );
            let help = "allow more parts with --convex-parts, or use primitive shapes where the collider must be closer";
            (&mesh::codes::PARTS_COARSE, message, help)
        })
    }

    /// Returns a finding about all meshes; `None` if there are no parts.
    fn finding(&self, place: &Place) -> Option<Diagnostic> {
        if self.meshes + self.convex == 0 {
            return None;
        }
        let mut message = format!("of the meshes of colliders, {} are convex", self.convex);
        if self.meshes > 0 {
            message += &format!(
                "; {} are decomposed into {} convex parts, which deviate by up to {} (\"{}\")",
                self.meshes,
                self.parts,
                millimetres(self.deviation),
                self.farthest
            );
        }
        let found = Diagnostic::new(&super::codes::CONVEX_PARTS, place.clone(), message);
        Some(found.help("select the variant convex_decomposition of collision_fidelity in OpenUSD"))
    }
}

/// Returns a length in metres as text.
pub(super) fn millimetres(length: f64) -> String {
    format!("{:.3} mm", length * 1e3)
}

/// Returns the largest factor by which colliders scale each mesh.
fn scales(robot: &Robot) -> HashMap<MeshId, f64> {
    let mut scales: HashMap<MeshId, f64> = HashMap::new();
    for shape in robot.links().values().flat_map(|link| &link.collisions) {
        if let Geometry::Mesh { mesh, scale } = shape.geometry {
            let largest = scales.entry(mesh).or_default();
            *largest = largest.max(scale.amax());
        }
    }
    scales
}

fn derive(task: &Task, work: Work<'_>) -> Result<Derived, CacheEvicted> {
    let Task { mesh, collider } = task;
    if collider.is_some() {
        let most = work.job.options.convex_parts;
        return Ok(Derived::Hull {
            hull: Box::new(mesh::kept_hull(mesh, work.store)?),
            parts: if most > 0 {
                mesh::kept_convex_parts(mesh, most, work.store)?
            } else {
                None
            },
        });
    }
    let spilled =
        |tier: Arc<LazyMesh>| Arc::new(mesh::spilled(Arc::unwrap_or_clone(tier), work.store));
    let Tiers { medium, low } = mesh::kept_tiers(mesh, work.store)?;
    Ok(Derived::Tiers(Tiers {
        medium: medium.map(spilled),
        low: low.map(spilled),
    }))
}

/// Returns findings about the hull of a mesh; `place` is that of the collider.
fn hull_findings(
    hull: &Result<mesh::Hull, mesh::NoHull>,
    uri: &str,
    place: &Place,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut report = |code, message, help: &str| {
        diagnostics.push(Diagnostic::new(code, place.clone(), message).help(help));
    };
    let is_watertight = match hull {
        Ok(hull) => {
            if hull.is_thickened {
                let message =
                    format!("the mesh \"{uri}\" is flat; its collider is 0.1 % of its size thick");
                let help = "use a box for the collider, or a mesh with a thickness";
                report(&mesh::codes::HULL_FLAT, message, help);
            }
            hull.is_of_watertight
        }
        Err(none) => {
            let error = &none.error;
            let message = format!("no convex hull of the mesh \"{uri}\": {error}");
            let help =
                "the collider keeps the mesh as it is; give it some volume, or use a primitive";
            report(error.code, message, help);
            none.is_of_watertight
        }
    };
    if !is_watertight {
        let message = format!(
            "the mesh \"{uri}\" is not watertight, so the collider in the variant \"trimesh\" is not"
        );
        let help = "close the mesh if a simulator is to use that variant; the default one has a closed convex hull";
        report(&mesh::codes::OPEN, message, help);
    }
    diagnostics
}

/// Returns the meshes that shapes refer to, each with the first shape that does.
fn meshes_in<'a>(shapes: impl Iterator<Item = &'a Shape>) -> HashMap<MeshId, &'a Place> {
    let mut meshes = HashMap::new();
    for shape in shapes {
        if let Geometry::Mesh { mesh, .. } = shape.geometry {
            meshes.entry(mesh).or_insert(&shape.place);
        }
    }
    meshes
}

/// Returns the loaded meshes without duplicates, each with the first shape that shows it.
fn distinct_meshes<'a>(
    robot: &'a Robot,
    wanted: &'a HashMap<MeshId, &'a Place>,
) -> impl Iterator<Item = (Arc<LazyMesh>, &'a Place)> {
    let mut known: HashSet<*const LazyMesh> = HashSet::new();
    robot.meshes().iter().filter_map(move |(id, source)| {
        let place = wanted.get(&id)?;
        known
            .insert(Arc::as_ptr(&source.mesh))
            .then(|| (source.mesh.clone(), *place))
    })
}

/// Removes textures from meshes that exceed the limit of pixels, in the robot's order, and leaves
/// the remaining number of pixels in `room`.
fn bound_pixels(robot: &mut Robot, room: &mut u64) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    // Whether each image fits, and the replacement of each mesh.
    let mut fits: HashMap<String, bool> = HashMap::new();
    let mut without: HashMap<*const LazyMesh, Arc<LazyMesh>> = HashMap::new();
    for (_, source) in robot.meshes_mut() {
        let mesh = &mut source.mesh;
        let mut too_many = HashSet::new();
        for texture in mesh.materials.iter().flat_map(Material::textures) {
            // An image counts once, however many meshes show it. One that does not fit takes no
            // room: smaller ones after it may still fit.
            let fits = fits.entry(texture.sha256.clone()).or_insert_with(|| {
                let left = room.checked_sub(mesh::pixels(texture));
                *room = left.unwrap_or(*room);
                left.is_some()
            });
            if !*fits {
                too_many.insert(texture.sha256.clone());
            }
        }
        if too_many.is_empty() {
            continue;
        }
        let plain = without.entry(Arc::as_ptr(mesh)).or_insert_with(|| {
            let message = format!(
                "skipped {1} images of \"{0}\": all images together have too many pixels",
                source.uri,
                too_many.len()
            );
            let found = Diagnostic::new(
                &mesh::codes::TEXTURE_TOO_MANY_PIXELS,
                source.place.clone(),
                message,
            );
            diagnostics.push(found.help("scale the images down"));
            let mut plain = LazyMesh::clone(mesh);
            plain.materials.iter_mut().for_each(|material| {
                material.retain_textures(|texture| !too_many.contains(&texture.sha256))
            });
            Arc::new(plain)
        });
        *mesh = plain.clone();
    }
    diagnostics
}

/// Loads the textures of the robot's own materials, each file once. `pixels` is the remaining
/// number of pixels.
fn textures(
    robot: &mut Robot,
    references: &[(MaterialId, String, Place)],
    base: Option<&Path>,
    mut pixels: u64,
    work: Work<'_>,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut by_uri: HashMap<&str, Result<Arc<Texture>, ()>> = HashMap::new();
    for (material, uri, place) in references {
        if work.limit.is_over(|| format!("loading the texture {uri}")) {
            break;
        }
        // Failures are kept as well, and reported once for all materials with this image.
        let texture = by_uri.entry(uri).or_insert_with(|| {
            let file = work
                .files
                .open(uri, base)
                .map_err(|error| diagnostics.push(error.at(place.clone())))?;
            let loaded = mesh::texture_within(&file, &mut pixels);
            if loaded.is_ok() && mesh::is_deep(&file) {
                let message = format!(
                    "{} has more than 8 bits a channel; the upper 8 count",
                    file.path.display()
                );
                diagnostics.push(Diagnostic::new(
                    &mesh::codes::TEXTURE_DEEP,
                    place.clone(),
                    message,
                ));
            }
            loaded.map_err(|error| diagnostics.push(unreadable(&error, &file.path, place)))
        });
        if let Ok(texture) = texture {
            let material = robot.material_mut(*material);
            material.base_color_texture = Some(texture.clone());
            // The texture replaces the colour with its alpha.
            material.base_color[3] = 1.0;
            material.cut_out(mesh::is_mask);
        }
    }
    diagnostics
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::{Context, Failure, Job, Options, Report, Source, convert};

    const URDF: &str = r#"<robot name="r">
        <link name="a"/><link name="b"/>
        <joint name="j" type="revolute"><parent link="a"/><child link="b"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>
        <ros2_control name="hw"><joint name="j"><command_interface name="position"/></joint></ros2_control>
        <gazebo><plugin filename="gz_ros2_control-system"><parameters>config/arm.yaml</parameters></plugin></gazebo>
        </robot>"#;

    /// Converts the robot in `folder`, with its SRDF and its XRDF.
    fn run(folder: &std::path::Path) -> Result<Report, Box<Failure>> {
        let options = Options {
            srdf: Some(folder.join("r.srdf")),
            xrdf: Some(folder.join("r.xrdf")),
            ..Options::default()
        };
        let job = Job {
            options,
            ..Job::new(Source::File(folder.join("r.urdf")), folder.join("out"))
        };
        convert(&job, &Context::default()).map_err(Box::new)
    }

    #[test]
    fn a_conversion_past_its_limit_or_cancelled_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("r.urdf"), URDF).unwrap();
        let out = folder.path().join("out");
        let job = |time_limit| Job {
            options: Options {
                time_limit,
                ..Options::default()
            },
            ..Job::new(Source::File(folder.path().join("r.urdf")), &out)
        };
        let late = convert(&job(Some(std::time::Duration::ZERO)), &Context::default()).unwrap_err();
        let [found] = &late.diagnostics[..] else {
            panic!("{late:?}")
        };
        assert_eq!(found.code, "convert-timed-out");
        assert!(
            found.message.contains("loading meshes") && found.help.contains("--time-limit"),
            "{found}"
        );
        let context = Context {
            cancelled: std::sync::Arc::new(true.into()),
            ..Context::default()
        };
        assert_eq!(
            convert(&job(None), &context).unwrap_err().diagnostics[0].code,
            "convert-cancelled"
        );
        assert!(!out.exists());
        let generous = Some(std::time::Duration::from_secs(3600));
        assert!(
            convert(&job(generous), &Context::default())
                .unwrap()
                .changed
        );
    }

    #[test]
    fn hulls_are_left_out_if_the_caller_reads_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("r.urdf");
        // Two triangles, whose hull is another mesh.
        let stl = "solid\nfacet vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endfacet\n\
            facet vertex 0 0 0 vertex 0 1 0 vertex 0 0 1 endfacet\nendsolid\n";
        fs::write(folder.path().join("a.stl"), stl).unwrap();
        let mesh = "<collision><geometry><mesh filename='a.stl'/></geometry></collision>";
        let urdf = format!("<robot name='r'><link name='a'>{mesh}</link></robot>");
        fs::write(&file, urdf).unwrap();
        let base = |hulls: bool| {
            let out = folder.path().join(hulls.to_string());
            let job = Job {
                hulls,
                ..Job::new(Source::File(file.clone()), out)
            };
            let report = convert(&job, &Context::default()).unwrap();
            fs::read_to_string(report.directory.join("base.usda")).unwrap()
        };
        assert!(base(true).contains("a_hull") && !base(false).contains("a_hull"));
    }

    #[test]
    fn meshes_are_limited_together() {
        use super::{MAX_MESH_BYTES, MAX_TRIANGLES, check_limits};
        let place = Default::default();
        assert_eq!(check_limits(MAX_MESH_BYTES, MAX_TRIANGLES, &place), Ok(()));
        for (bytes, triangles, what) in [
            (MAX_MESH_BYTES + 1, 0, "2048 MiB"),
            (0, MAX_TRIANGLES + 1, "16777216 triangles"),
        ] {
            let found = check_limits(bytes, triangles, &place).unwrap_err();
            assert!(
                found.code == "convert-too-much-mesh" && found.message.contains(what),
                "{found}"
            );
        }
    }

    #[test]
    fn textures_of_meshes_are_limited_together() {
        use urdf_usd_robot::{ImageFormat, Material, MeshSource, Robot, Texture};
        let png = |side: u32| {
            let mut bytes = std::io::Cursor::new(Vec::new());
            image::DynamicImage::new_rgb8(side, 2)
                .write_to(&mut bytes, image::ImageFormat::Png)
                .unwrap();
            bytes.into_inner()
        };
        let source = |side: u32| {
            let texture = Texture {
                name: "t".to_owned(),
                format: ImageFormat::Png,
                bytes: png(side).into(),
                sha256: side.to_string(),
                has_alpha: false,
            };
            let material = Material {
                base_color_texture: Some(texture.into()),
                ..Material::plain("m", [1.0; 4])
            };
            let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
            let mut mesh =
                urdf_usd_robot::Mesh::plain(urdf_usd_geometry::convex_hull(&corners).unwrap());
            mesh.materials = vec![material];
            MeshSource::new(
                format!("{side}.dae"),
                Default::default(),
                std::sync::Arc::new(mesh.into()),
            )
        };
        let mut robot: Robot = urdf_usd_urdf::read(URDF, None).robot.unwrap();
        for side in [4, 10, 4, 5] {
            robot.add_mesh(source(side));
        }
        let mut room = 20;
        let found = super::bound_pixels(&mut robot, &mut room);
        let has = |source: &MeshSource| source.mesh.materials[0].base_color_texture.is_some();
        // 8 of 20 fit, then 20 do not, the first again does, and 10 do.
        assert_eq!(
            robot.meshes().values().map(has).collect::<Vec<_>>(),
            [true, false, true, true]
        );
        assert_eq!(
            (found.len(), found[0].code, room),
            (1, "texture-too-many-pixels", 2)
        );
    }

    #[test]
    fn controller_files_srdf_and_xrdf_are_read_and_watched() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        let codes = |report: &Report| {
            report
                .diagnostics
                .iter()
                .map(|d| d.code)
                .collect::<Vec<_>>()
        };
        write("r.urdf", URDF);

        for (name, text) in [
            (
                "r.srdf",
                "<robot name='r'><disable_collisions link1='a' link2='c'/></robot>",
            ),
            (
                "r.xrdf",
                "\u{feff}format: xrdf\nformat_version: 1.0\ntool_frames: [c]",
            ),
        ] {
            let failure = run(&folder).unwrap_err();
            assert_eq!(failure.diagnostics[0].code, "resolve-missing-file");
            assert!(failure.used.contains(&folder.join(name)));
            write(name, text);
        }
        let report = run(&folder).unwrap();
        let expected = [
            "srdf-unknown-link",
            "xrdf-unknown-frame",
            "controller-file-unread",
            "urdf-assumed-controllers",
        ];
        assert!(
            expected.iter().all(|code| codes(&report).contains(code)),
            "{:?}",
            report.diagnostics
        );
        assert!(
            ["config/arm.yaml", "r.srdf", "r.xrdf"]
                .iter()
                .all(|name| report.used.contains(&folder.join(name)))
        );

        fs::create_dir(folder.join("config")).unwrap();
        write("config/arm.yaml", "arm: {type: odd/OddController}");
        let report = run(&folder).unwrap();
        let found = report
            .diagnostics
            .iter()
            .find(|d| d.code == "urdf-unknown-controller")
            .unwrap();
        assert_eq!(
            found.place.file.as_deref(),
            Some(&*folder.join("config/arm.yaml"))
        );
        assert!(!codes(&report).contains(&"urdf-assumed-controllers"));
    }
}
