//! Writes the robot as URDF or SDF, with mesh files and images beside it in `meshes/`.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rayon::prelude::*;

use super::formats::{OutputFormat, Subject};
use super::{codes, publish};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_gltf_write as gltf;
use urdf_usd_mesh::{mean_color, write as mesh};
use urdf_usd_robot::{
    ArenaMap, CacheEvicted, Geometry, LazyMesh, Link, Material, MaterialId, MeshSource, Robot,
    Shape, Texture, names,
};
use urdf_usd_sdf as sdf;
use urdf_usd_urdf::write::FileNames;
use urdf_usd_urdf::{self as urdf, References};

/// Name of the folder of mesh files and images.
pub(super) const FOLDER: &str = "meshes";
/// Maximum length of a file name without its extension, in bytes.
const MAX_STEM: usize = 100;
/// Characters that are percent-encoded in the path of a file URI: all but those that RFC 3986 §3.3
/// allows.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// The format of the mesh files of a URDF and an SDF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum MeshFormat {
    /// Binary STL: triangles only. Drake 1.51 refuses it.
    Stl,
    /// OBJ with its material library and images, the only format that all of MuJoCo, Drake, Pinocchio, RViz
    /// and Gazebo read.
    #[default]
    Obj,
    /// Binary glTF: geometry and looks in one file. MuJoCo 4.0 and Drake 1.51 refuse it.
    Glb,
}

impl MeshFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Stl, Self::Obj, Self::Glb];

    /// Returns the name for users, which is also the file extension.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stl => "stl",
            Self::Obj => "obj",
            Self::Glb => "glb",
        }
    }
}

impl fmt::Display for MeshFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for MeshFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|value| value.as_str() == text);
        known.ok_or_else(|| {
            format!(
                "{text:?} is not one of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// How a URDF refers to its mesh files.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct UrdfOptions {
    /// The format of the mesh files.
    pub mesh_format: MeshFormat,
    /// The ROS package that will contain the asset's folder; `None` for paths relative to the URDF.
    pub package: Option<String>,
    /// Whether files without a package are named by their absolute `file://` URI.
    pub file_uris: bool,
}

impl UrdfOptions {
    /// Checks the name of a package (REP-144).
    ///
    /// # Errors
    /// Returns the reason, for the user, if the name is invalid.
    pub fn check_package(name: &str) -> Result<(), String> {
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if is_name {
            Ok(())
        } else {
            Err(format!(
                "{name:?} is not a valid ROS package name, such as my_robot_description"
            ))
        }
    }
}

/// A mesh file: a mesh, and the material for parts without their own.
struct MeshFile<'a> {
    stem: String,
    mesh: &'a Arc<LazyMesh>,
    look: Option<MaterialId>,
    /// The first reference to the file.
    place: &'a Place,
}

impl MeshFile<'_> {
    /// Returns the material of parts of the mesh that have none.
    fn look<'r>(&self, robot: &'r Robot) -> Option<&'r Material> {
        self.look.map(|look| &robot.materials()[look])
    }
}

/// The mesh files and images that accompany a URDF or SDF.
struct AccompanyingFiles {
    /// The robot, with the materials that the files need.
    robot: Robot,
    /// Findings about renamed materials.
    renamed: Vec<Diagnostic>,
    /// The names of the mesh files.
    meshes: Vec<String>,
    /// The mesh file of each visual.
    visuals: Uses,
    /// The mesh file of each collision shape.
    collisions: Uses,
    /// The images of the materials' colours.
    textures: ArenaMap<Material, Option<String>>,
    outputs: publish::Files,
    diagnostics: Vec<Diagnostic>,
}

/// Writes the URDF and the SDF if they are requested, and the files that both refer to.
///
/// # Errors
/// If a mesh is no longer in the cache.
pub(super) fn write(
    subject: &Subject<'_>,
) -> Result<(publish::Files, Vec<Diagnostic>), CacheEvicted> {
    let Subject {
        robot,
        references,
        options,
        ..
    } = *subject;
    let UrdfOptions {
        mesh_format,
        package,
        file_uris,
    } = &options.urdf;
    let name = subject.origin.name;
    let mut beside = AccompanyingFiles::write(subject)?;
    let own = if *file_uris {
        let directory = subject.directory;
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        format!(
            "file://{}/{FOLDER}/",
            utf8_percent_encode(&directory.to_string_lossy(), IN_PATH)
        )
    } else {
        format!("{FOLDER}/")
    };
    let mut texts = publish::Files::new();
    if options.formats.contains(OutputFormat::Urdf) {
        let prefix = package.as_ref().map_or_else(
            || own.clone(),
            |package| format!("package://{package}/{FOLDER}/"),
        );
        let names = beside.names(robot, references, &prefix);
        let urdf::write::Written { text, diagnostics } = urdf::write(&beside.robot, &names);
        texts.insert(format!("{name}.urdf"), text.into_bytes().into());
        let renamed = std::mem::take(&mut beside.renamed);
        // Renamed materials concern the URDF only, which refers to materials by name.
        let of_files = std::mem::replace(&mut beside.diagnostics, renamed);
        beside
            .diagnostics
            .extend(of_files.into_iter().chain(diagnostics));
    }
    if options.formats.contains(OutputFormat::Sdf) {
        let FileNames {
            visuals,
            collisions,
            textures,
        } = beside.names(robot, references, &own);
        let names = sdf::FileNames {
            visuals,
            collisions,
            textures,
            have_materials: *mesh_format != MeshFormat::Stl,
        };
        let sdf::Written {
            text,
            gazebo,
            diagnostics,
        } = sdf::write(&beside.robot, options.base, &names);
        texts.insert(format!("{name}.sdf"), text.into_bytes().into());
        if let Some(text) = gazebo {
            texts.insert(format!("{name}.gazebo.sdf"), text.into_bytes().into());
        }
        beside.diagnostics.extend(diagnostics);
    }
    texts.append(&mut beside.outputs);
    Ok((texts, beside.diagnostics))
}

impl AccompanyingFiles {
    /// Writes the files.
    ///
    /// If a URDF refers to materials by name, all materials get images, otherwise only those that
    /// no mesh file contains.
    fn write(subject: &Subject<'_>) -> Result<Self, CacheEvicted> {
        let (robot, options) = (subject.robot, subject.options);
        let format = options.urdf.mesh_format;
        let has_all = options.formats.contains(OutputFormat::Urdf);
        let mut taken = Stems::default();
        let mut described = robot.clone();
        let mut diagnostics = Vec::new();
        match format {
            MeshFormat::Stl => diagnostics.extend(paint(&mut described)),
            // A GLB would multiply a colour with its image; in the model, the colour is a
            // substitute for it. The colour is therefore reset to white.
            MeshFormat::Glb => {
                for (_, material) in described.materials_mut() {
                    if material.base_color_texture.is_some() {
                        material.base_color = [1.0, 1.0, 1.0, material.base_color[3]];
                    }
                }
            }
            MeshFormat::Obj => {}
        }
        let renamed = urdf::write::rename_materials(&mut described);
        let MeshFiles {
            files,
            visuals,
            collisions,
        } = MeshFiles::collect(robot, format, &mut taken)?;
        let mut images = Images {
            taken,
            files: HashMap::new(),
            written: Vec::new(),
        };
        let solid_materials = solid_materials(&described);
        let textures = ArenaMap::new(described.materials(), |id, material| {
            let texture = material.base_color_texture.as_ref();
            texture
                .filter(|_| has_all || solid_materials.contains(&id))
                .map(|texture| images.file(texture))
        });
        let contents = MeshContents::write(&files, &described, &mut images, subject)?;
        let images = images
            .written
            .into_iter()
            .map(|(file, texture)| (file, texture.bytes.to_vec()));
        diagnostics.extend(contents.diagnostics);
        let outputs = contents
            .files
            .into_iter()
            .chain(images)
            .map(|(file, bytes)| (format!("{FOLDER}/{file}"), bytes.into()));
        Ok(Self {
            outputs: outputs.collect(),
            robot: described,
            renamed,
            meshes: files
                .iter()
                .map(|file| format!("{}.{format}", file.stem))
                .collect(),
            visuals,
            collisions,
            textures,
            diagnostics,
        })
    }

    /// Returns the file names for a text, with `prefix` in front.
    ///
    /// A mesh that was not read keeps its name in the URDF that `robot` was read from.
    fn names(&self, robot: &Robot, references: &References, prefix: &str) -> FileNames {
        let mut names = FileNames::as_read(robot, references);
        for (names, found) in [
            (&mut names.visuals, &self.visuals),
            (&mut names.collisions, &self.collisions),
        ] {
            let names = names.values_mut().flatten();
            for (name, file) in names.zip(found.values().flatten()) {
                if let Some(file) = file.and_then(|file| self.meshes.get(file)) {
                    *name = Some(format!("{prefix}{file}"));
                }
            }
        }
        // Painting may have added materials.
        let mut as_read = names.textures.values().cloned();
        let textures = self.textures.map(|file| {
            let as_read = as_read.next().flatten();
            file.as_ref()
                .map_or(as_read, |file| Some(format!("{prefix}{file}")))
        });
        names.textures = textures;
        names
    }
}

/// Returns the materials of primitive shapes.
fn solid_materials(robot: &Robot) -> HashSet<MaterialId> {
    let visuals = robot.links().values().flat_map(|link| &link.visuals);
    let solids = visuals.filter(|shape| {
        !matches!(
            shape.geometry,
            Geometry::Mesh { .. } | Geometry::Missing { .. }
        )
    });
    solids.filter_map(|shape| shape.material).collect()
}

/// The contents of mesh files by name, with their material libraries.
#[derive(Default)]
struct MeshContents {
    files: Vec<(String, Vec<u8>)>,
    diagnostics: Vec<Diagnostic>,
}

impl MeshContents {
    /// Writes the mesh files; `robot` has the materials to put into them.
    fn write(
        files: &[MeshFile<'_>],
        robot: &Robot,
        images: &mut Images,
        subject: &Subject<'_>,
    ) -> Result<Self, CacheEvicted> {
        let format = subject.options.urdf.mesh_format;
        match format {
            MeshFormat::Glb => Self::glb(files, robot, subject),
            MeshFormat::Stl => Self::stl(files),
            MeshFormat::Obj => Self::obj(files, robot, images),
        }
    }

    fn glb(
        files: &[MeshFile<'_>],
        robot: &Robot,
        subject: &Subject<'_>,
    ) -> Result<Self, CacheEvicted> {
        let limit = subject.limit;
        let check_time =
            |file: &&MeshFile<'_>| !limit.is_over(|| format!("writing the mesh {}", file.stem));
        let written = files.par_iter().filter(check_time).map(|file| {
            let (mesh, look) = (file.mesh.load()?, file.look(robot));
            match gltf::write_mesh(&file.stem, &mesh, look, file.place, subject.store) {
                Err(gltf::GlbError::Evicted(evicted)) => Err(evicted),
                Err(gltf::GlbError::TooLarge(found)) => Ok((file, None, vec![*found])),
                Err(gltf::GlbError::Invalid(error)) => {
                    Ok((file, None, vec![error.to_diagnostic(file.place.clone())]))
                }
                Ok((bytes, found)) => Ok((file, Some(bytes), found)),
            }
        });
        let mut contents = Self::default();
        for (file, bytes, found) in written.collect::<Result<Vec<_>, _>>()? {
            contents.diagnostics.extend(found);
            let named = bytes.map(|bytes| (format!("{}.glb", file.stem), bytes));
            contents.files.extend(named);
        }
        Ok(contents)
    }

    fn stl(files: &[MeshFile<'_>]) -> Result<Self, CacheEvicted> {
        let written = files
            .par_iter()
            .map(|file| Ok(mesh::stl(&*file.mesh.arrays()?)));
        let written: Vec<_> = written.collect::<Result<_, _>>()?;
        let mut contents = Self::default();
        for (file, bytes) in files.iter().zip(written) {
            let lost = mesh::lost_in_stl(file.mesh);
            let lost = lost.map(|lost| looks_lost(file, MeshFormat::Stl, lost));
            contents.diagnostics.extend(lost);
            contents.files.push((format!("{}.stl", file.stem), bytes));
        }
        Ok(contents)
    }

    fn obj(
        files: &[MeshFile<'_>],
        robot: &Robot,
        images: &mut Images,
    ) -> Result<Self, CacheEvicted> {
        let mut contents = Self::default();
        // One after the other: images get their names in the order of use, which must not depend on
        // threads.
        for file in files {
            let library = format!("{}.mtl", file.stem);
            let (mesh, look) = (file.mesh.load()?, file.look(robot));
            let written = mesh::obj(&mesh, look, &library, &mut |texture| images.file(texture));
            if !written.lost.is_empty() {
                let lost = looks_lost(file, MeshFormat::Obj, &written.lost.join(", "));
                contents.diagnostics.push(lost);
            }
            let obj = (format!("{}.obj", file.stem), written.obj.into_bytes());
            contents.files.push(obj);
            if let Some(mtl) = written.mtl {
                contents.files.push((library, mtl.into_bytes()));
            }
        }
        Ok(contents)
    }
}

/// The index of the mesh file of each shape, by link.
type Uses = ArenaMap<Link, Vec<Option<usize>>>;

/// Mesh files, and the shapes that use them.
struct MeshFiles<'a> {
    files: Vec<MeshFile<'a>>,
    visuals: Uses,
    collisions: Uses,
}

impl<'a> MeshFiles<'a> {
    /// Lists each mesh once per look. Collision shapes reuse any file of their mesh.
    fn collect(
        robot: &'a Robot,
        format: MeshFormat,
        taken: &mut Stems,
    ) -> Result<Self, CacheEvicted> {
        let mut files: Vec<MeshFile<'a>> = Vec::new();
        let mut known: HashMap<(*const LazyMesh, Option<MaterialId>), usize> = HashMap::new();
        let mut any: HashMap<*const LazyMesh, usize> = HashMap::new();
        let alike = if format == MeshFormat::Stl {
            alike_in_stl(robot)?
        } else {
            HashMap::new()
        };
        let mut file = |shape: &'a Shape, is_seen: bool| {
            let Geometry::Mesh { mesh, .. } = shape.geometry else {
                return None;
            };
            let source = &robot.meshes()[mesh];
            let pointer = Arc::as_ptr(&source.mesh);
            let pointer = alike.get(&pointer).copied().unwrap_or(pointer);
            if let Some(known) = any.get(&pointer).filter(|_| !is_seen) {
                return Some(*known);
            }
            let shows = source.mesh.parts.iter().any(|part| part.material.is_none())
                && format != MeshFormat::Stl;
            let look = shape.material.filter(|_| is_seen && shows);
            let index = *known.entry((pointer, look)).or_insert_with(|| {
                files.push(MeshFile {
                    stem: taken.take(source.stem(), "mesh"),
                    mesh: &source.mesh,
                    look,
                    place: &source.place,
                });
                files.len() - 1
            });
            any.entry(pointer).or_insert(index);
            Some(index)
        };
        // Visuals first: collisions reuse their files.
        let visuals = ArenaMap::new(robot.links(), |link, _| {
            let shapes = robot.links()[link].visuals.iter();
            shapes.map(|shape| file(shape, true)).collect()
        });
        let collisions = ArenaMap::new(robot.links(), |link, _| {
            let shapes = robot.links()[link].collisions.iter();
            shapes.map(|shape| file(shape, false)).collect()
        });
        Ok(Self {
            files,
            visuals,
            collisions,
        })
    }
}

/// Maps each mesh to the first one with the same triangles, which is all that an STL holds.
fn alike_in_stl(robot: &Robot) -> Result<HashMap<*const LazyMesh, *const LazyMesh>, CacheEvicted> {
    let hashed = robot
        .meshes()
        .as_slice()
        .par_iter()
        .map(|source| Ok(super::sha256(&mesh::stl(&*source.mesh.arrays()?))));
    let hashed: Vec<_> = hashed.collect::<Result<_, _>>()?;
    let mut first: HashMap<String, *const LazyMesh> = HashMap::new();
    let of = |(source, hash): (&MeshSource, String)| {
        let pointer = Arc::as_ptr(&source.mesh);
        (pointer, *first.entry(hash).or_insert(pointer))
    };
    Ok(robot.meshes().values().zip(hashed).map(of).collect())
}

/// Gives visuals the dominant material of their mesh, without images, if the mesh has its own.
fn paint(robot: &mut Robot) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for link in robot.links().handles() {
        for visual in 0..robot.links()[link].visuals.len() {
            let Some(shape) = robot.links()[link].visuals.get(visual).cloned() else {
                continue;
            };
            let Some(material) = prevailing(robot, &shape) else {
                continue;
            };
            let known = robot.materials().position(|known| *known == material);
            let material = known.unwrap_or_else(|| robot.add_material(material));
            let shape = Shape {
                material: Some(material),
                ..shape
            };
            let place = shape.place.clone();
            if let Err(error) = robot.set_visual(link, visual, shape) {
                diagnostics.push(error.to_diagnostic(place));
            }
        }
    }
    diagnostics
}

/// Returns the dominant material of a shape's mesh, without images, if the mesh has one.
fn prevailing(robot: &Robot, shape: &Shape) -> Option<Material> {
    let Geometry::Mesh { mesh, .. } = shape.geometry else {
        return None;
    };
    let mesh = &robot.meshes()[mesh].mesh;
    let largest = mesh
        .parts
        .iter()
        // `max_by_key` returns the last of equal parts: in reverse, the first.
        .rev()
        .max_by_key(|part| part.triangles.len())?;
    let own = mesh.materials.get(largest.material?)?;
    if own.shows_corner_colors {
        return None;
    }
    let mut material = Material {
        maps: Default::default(),
        ..own.clone()
    };
    let texture = material.base_color_texture.take();
    if let Some([red, green, blue, _]) = texture.and_then(|texture| mean_color(&texture)) {
        material.base_color = [red, green, blue, material.base_color[3]];
    }
    Some(material)
}

fn looks_lost(file: &MeshFile<'_>, format: MeshFormat, lost: &str) -> Diagnostic {
    let message = format!(
        "meshes/{}.{format} can't express the whole look of its mesh: it lacks {lost}",
        file.stem
    );
    Diagnostic::new(&codes::MESH_LOOKS, file.place.clone(), message).help("use --mesh-format glb")
}

/// Unique names of files without extensions, compared without case.
#[derive(Default)]
struct Stems(HashSet<String>);

impl Stems {
    /// Returns `name`, or the nearest variation of it that is free.
    fn take(&mut self, name: &str, fallback: &str) -> String {
        let plain = |c: char| {
            if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '_'
            }
        };
        let name: String = name
            .trim()
            .trim_start_matches('.')
            .chars()
            .map(plain)
            .collect();
        let end = (0..=name.len().min(MAX_STEM))
            .rev()
            .find(|&end| name.is_char_boundary(end))
            .unwrap_or(0);
        let name = name
            .get(..end)
            .filter(|name| !name.is_empty())
            .unwrap_or(fallback);
        names::unique(name, |name| self.0.insert(name.to_lowercase()))
    }
}

/// Image files, without duplicates.
struct Images {
    taken: Stems,
    /// File names by the hash of their contents.
    files: HashMap<String, String>,
    written: Vec<(String, Arc<Texture>)>,
}

impl Images {
    /// Returns the name of the file for an image.
    fn file(&mut self, texture: &Arc<Texture>) -> String {
        let (taken, written) = (&mut self.taken, &mut self.written);
        let file = self.files.entry(texture.sha256.clone()).or_insert_with(|| {
            let file = format!(
                "{}.{}",
                taken.take(&texture.name, "image"),
                texture.format.extension()
            );
            written.push((file.clone(), texture.clone()));
            file
        });
        file.clone()
    }
}
