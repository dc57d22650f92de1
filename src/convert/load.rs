//! Fills a robot with what its references point to: meshes, hulls for colliders, textures, controllers; and with its SRDF.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::diagnostic::{Diagnostic, Place};
use crate::mesh;
use crate::resolve::{self, Files};
use crate::robot::{Geometry, Material, MaterialId, Mesh, MeshId, MeshSource, Robot, Shape, Texture};
use crate::{srdf, urdf};

/// How many bytes of controller files are read.
const MAX_CONTROLLER_FILES: usize = 4 << 20;

/// Loads every mesh, texture and controller file of `robot`, all cores at once. What can't be loaded is reported and left out.
pub(super) fn load(robot: &mut Robot, files: &Files, options: mesh::Options, base: Option<&Path>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    // References that lead to one file are one mesh.
    let opened: Vec<Result<resolve::File, Diagnostic>> = robot
        .meshes
        .par_iter()
        .map(|source| files.open(&source.uri, base).map_err(|error| error.at(source.place.clone())))
        .collect();
    let mut by_path: HashMap<PathBuf, usize> = HashMap::new();
    let mut jobs: Vec<(usize, &resolve::File)> = Vec::new();
    let mut job_of: Vec<Option<usize>> = vec![None; opened.len()];
    for (index, result) in opened.iter().enumerate() {
        match result {
            Ok(file) => {
                job_of[index] = Some(*by_path.entry(file.path.clone()).or_insert_with(|| {
                    jobs.push((index, file));
                    jobs.len() - 1
                }));
            }
            Err(diagnostic) => diagnostics.push(diagnostic.clone()),
        }
    }
    let places: Vec<Place> = robot.meshes.iter().map(|m| m.place.clone()).collect();
    let loaded: Vec<(Option<Arc<Mesh>>, Vec<Diagnostic>)> = jobs
        .par_iter()
        .map(|&(index, file)| match mesh::read(file, files, options) {
            Ok((mesh, found)) => {
                let found = found.into_iter().map(|d| at_reference(d, &places[index])).collect();
                (Some(Arc::new(mesh)), found)
            }
            Err(error) => (None, vec![unreadable(error.code, &error, file, &places[index])]),
        })
        .collect();
    let mut meshes: Vec<Option<Arc<Mesh>>> = Vec::with_capacity(loaded.len());
    for (mesh, found) in loaded {
        diagnostics.extend(found);
        // Equal geometry from different files is one mesh too.
        let same = mesh
            .as_ref()
            .and_then(|m| meshes.iter().flatten().find(|other| other.triangles.len() == m.triangles.len() && **other == *m));
        meshes.push(same.cloned().or(mesh));
    }
    for (source, job) in robot.meshes.iter_mut().zip(job_of) {
        source.mesh = job.and_then(|job| meshes[job].clone());
    }
    simplify(robot);
    diagnostics.extend(hulls(robot));
    diagnostics.extend(textures(robot, files, base));
    diagnostics.extend(untextured(robot));
    diagnostics.extend(controllers(robot, files, base));
    diagnostics
}

/// What the robot's controller files say. One that can't be had is a warning: the robot then has controllers by convention.
fn controllers(robot: &mut Robot, files: &Files, base: Option<&Path>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut texts: Vec<(Arc<Path>, String)> = Vec::new();
    let mut room = MAX_CONTROLLER_FILES;
    for (uri, place) in &robot.controller_files {
        let file = files.open(uri, base).map_err(|error| (error.message, error.help));
        match file {
            // One file under two names says nothing new.
            Ok(file) if texts.iter().any(|(path, _)| **path == *file.path) => {}
            Ok(file) if file.bytes.len() > room => {
                diagnostics.push(unread_controllers(
                    place,
                    "such files are larger than 4 MiB together",
                    "leave out what is no controller",
                ));
            }
            Ok(file) => {
                room -= file.bytes.len();
                texts.push((Arc::from(file.path), String::from_utf8_lossy(&file.bytes).into_owned()));
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

/// Reads the SRDF file that a person named for the robot.
///
/// # Errors
/// If it can't be opened, or is in an encoding that is not read.
pub(super) fn srdf(robot: &mut Robot, path: &Path, files: &Files) -> Result<Vec<Diagnostic>, Diagnostic> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let file = files.input(&path).map_err(|error| error.at(Place::file(path.clone())))?;
    let text = urdf::decode(&file.bytes).map_err(|mut diagnostic| {
        diagnostic.place.file = Some(path.clone().into());
        diagnostic
    })?;
    Ok(srdf::apply(&text, Some(&path), robot))
}

/// Gives shapes that a picture cannot lie on the same material without it.
fn untextured(robot: &mut Robot) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut plain: HashMap<MaterialId, MaterialId> = HashMap::new();
    for link in &mut robot.links {
        for shape in &mut link.visuals {
            let Some(id) = shape.material.filter(|id| robot.materials[id.0].base_color_texture.is_some()) else { continue };
            if let Geometry::Mesh { mesh, .. } = shape.geometry {
                // A mesh whose every part has a material of its own doesn't show the robot's; one that is missing shows none.
                let shows_it = |m: &Arc<Mesh>| m.uvs.is_none() && m.parts.iter().any(|part| part.material.is_none());
                if !robot.meshes[mesh.0].mesh.as_ref().is_some_and(shows_it) {
                    continue;
                }
            }
            let name = robot.materials[id.0].name.clone();
            shape.material = Some(*plain.entry(id).or_insert_with(|| {
                let mut material = robot.materials[id.0].clone();
                let mean = material.base_color_texture.take().and_then(|texture| mesh::mean_color(&texture));
                if let Some([red, green, blue, _]) = mean {
                    material.base_color = [red, green, blue, material.base_color[3]];
                }
                robot.materials.push(material);
                MaterialId(robot.materials.len() - 1)
            }));
            let message =
                format!("the texture of material {name:?} cannot be put on this shape, which has no texture coordinates");
            diagnostics.push(
                Diagnostic::new(&super::codes::TEXTURE_WITHOUT_COORDINATES, shape.place.clone(), message)
                    .help("give the visual a mesh with texture coordinates, or a material with a colour only"),
            );
        }
    }
    diagnostics
}

/// A finding inside a mesh file that has no place of its own stands where the URDF refers to the file.
fn at_reference(mut diagnostic: Diagnostic, reference: &Place) -> Diagnostic {
    if diagnostic.place == Place::default() {
        diagnostic.place = reference.clone();
    }
    diagnostic
}

fn unreadable(code: &'static crate::diagnostic::Code, error: &mesh::Error, file: &resolve::File, place: &Place) -> Diagnostic {
    Diagnostic::new(code, place.clone(), format!("{}: {error}", file.path.display()))
        .help("the link keeps its other geometry; repair or replace the file")
}

/// Coarser tiers of the meshes that are seen.
fn simplify(robot: &mut Robot) {
    let seen = meshes_of(robot.links.iter().flat_map(|link| &link.visuals));
    let distinct = distinct_meshes(robot, &seen);
    let tiers: Vec<_> = distinct.par_iter().map(|(mesh, _)| mesh::tiers(mesh)).collect();
    for ((mesh, _), tiers) in distinct.into_iter().zip(tiers) {
        for source in sources_of(robot, &mesh) {
            source.tiers = tiers.clone();
        }
    }
}

/// The meshes that shapes refer to, each with the first shape that does.
fn meshes_of<'a>(shapes: impl Iterator<Item = &'a Shape>) -> HashMap<MeshId, &'a Place> {
    let mut meshes = HashMap::new();
    for shape in shapes {
        if let Geometry::Mesh { mesh, .. } = shape.geometry {
            meshes.entry(mesh).or_insert(&shape.place);
        }
    }
    meshes
}

/// What was loaded for these meshes, each once, with the first shape that shows it.
fn distinct_meshes(robot: &Robot, wanted: &HashMap<MeshId, &Place>) -> Vec<(Arc<Mesh>, Place)> {
    let mut distinct: Vec<(Arc<Mesh>, Place)> = Vec::new();
    for (index, source) in robot.meshes.iter().enumerate() {
        if let (Some(mesh), Some(place)) = (&source.mesh, wanted.get(&MeshId(index)))
            && !distinct.iter().any(|(other, _)| Arc::ptr_eq(other, mesh))
        {
            distinct.push((mesh.clone(), (*place).clone()));
        }
    }
    distinct
}

/// The references that lead to a mesh.
fn sources_of<'a>(robot: &'a mut Robot, mesh: &'a Arc<Mesh>) -> impl Iterator<Item = &'a mut MeshSource> {
    robot.meshes.iter_mut().filter(move |source| source.mesh.as_ref().is_some_and(|other| Arc::ptr_eq(other, mesh)))
}

/// Convex hulls of the meshes that collide. A mesh without a hull (flat, collinear) keeps colliding as it is.
fn hulls(robot: &mut Robot) -> Vec<Diagnostic> {
    let colliding = meshes_of(robot.links.iter().flat_map(|link| &link.collisions));
    let distinct = distinct_meshes(robot, &colliding);
    let hulls: Vec<_> = distinct.par_iter().map(|(mesh, _)| mesh::convex_hull(&mesh.points).map(Arc::new)).collect();
    let mut diagnostics = Vec::new();
    for ((mesh, place), hull) in distinct.into_iter().zip(hulls) {
        match hull {
            Ok(hull) => {
                for source in sources_of(robot, &mesh) {
                    source.hull = Some(hull.clone());
                }
            }
            Err(error) => diagnostics.push(
                Diagnostic::new(error.code, place, format!("no convex hull: {error}"))
                    .help("the collider keeps the mesh as it is; give it some volume, or use a primitive"),
            ),
        }
    }
    diagnostics
}

/// The textures of the robot's own materials, each file read once.
fn textures(robot: &mut Robot, files: &Files, base: Option<&Path>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut by_uri: HashMap<&str, Result<Arc<Texture>, ()>> = HashMap::new();
    for (material, uri, place) in &robot.textures {
        let texture = by_uri.entry(uri).or_insert_with(|| {
            let file = files.open(uri, base).map_err(|error| diagnostics.push(error.at(place.clone())))?;
            mesh::texture(&file).map_err(|error| {
                diagnostics.push(unreadable(error.code, &error, &file, place));
            })
        });
        if let Ok(texture) = texture {
            let material: &mut Material = &mut robot.materials[material.0];
            material.base_color_texture = Some(texture.clone());
        }
    }
    diagnostics
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::convert::{Failure, Formats, Job, Report, Source, convert};
    use crate::resolve;

    const URDF: &str = r#"<robot name="r">
        <link name="a"/><link name="b"/>
        <joint name="j" type="revolute"><parent link="a"/><child link="b"/><limit lower="0" upper="1"/></joint>
        <ros2_control name="hw"><joint name="j"><command_interface name="position"/></joint></ros2_control>
        <gazebo><plugin filename="gz_ros2_control-system"><parameters>config/arm.yaml</parameters></plugin></gazebo>
        </robot>"#;

    /// Converts the robot in `folder`, with its SRDF.
    fn run(folder: &std::path::Path) -> Result<Report, Box<Failure>> {
        let job = Job {
            source: Source::File(folder.join("r.urdf")),
            output_dir: folder.join("out"),
            formats: Formats::default(),
            resolve: resolve::Options::default(),
            namespace: None,
            base: Default::default(),
            bodies: Default::default(),
            overlays: Vec::new(),
            srdf: Some(folder.join("r.srdf")),
            simready: None,
            meshes: Default::default(),
            strict: false,
        };
        convert(&job).map_err(Box::new)
    }

    #[test]
    fn controller_files_and_srdf_are_read_and_watched() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        let codes = |report: &Report| report.diagnostics.iter().map(|d| d.code).collect::<Vec<_>>();
        write("r.urdf", URDF);

        let failure = run(&folder).unwrap_err();
        assert_eq!(failure.diagnostics[0].code, "resolve-missing-file");
        assert!(failure.used.contains(&folder.join("r.srdf")));

        write("r.srdf", "<robot name='r'><disable_collisions link1='a' link2='c'/></robot>");
        let report = run(&folder).unwrap();
        let expected = ["srdf-unknown-link", "controller-file-unread", "urdf-assumed-controllers"];
        assert!(expected.iter().all(|code| codes(&report).contains(code)), "{:?}", report.diagnostics);
        assert!(report.used.contains(&folder.join("config/arm.yaml")) && report.used.contains(&folder.join("r.srdf")));

        fs::create_dir(folder.join("config")).unwrap();
        write("config/arm.yaml", "arm: {type: odd/OddController}");
        let report = run(&folder).unwrap();
        let found = report.diagnostics.iter().find(|d| d.code == "urdf-unknown-controller").unwrap();
        assert_eq!(found.place.file.as_deref(), Some(&*folder.join("config/arm.yaml")));
        assert!(!codes(&report).contains(&"urdf-assumed-controllers"));
    }
}
