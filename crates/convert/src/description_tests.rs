//! Round trips: robots through URDF and back with their mesh files must be equal; through OpenUSD
//! or glTF to URDF twice, the second text must equal the first.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::description::write;
use super::formats::{Origin, Subject};
use super::identity::Identity;
use super::round_trip::{loaded_with, options as gltf_options, read as read_glb, robots, same};
use super::simready::Provenance;
use super::{Formats, MeshFormat, Options, OutputFormat, UrdfOptions};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_gltf_write as gltf;
use urdf_usd_resolve::{Files, Resolver};
use urdf_usd_robot::Robot;
use urdf_usd_store::Store;
use urdf_usd_store::time_limit::TimeLimit;
use urdf_usd_urdf::References;
use urdf_usd_usd_read as usd_read;
use urdf_usd_usd_write as usd_write;

/// A folder with a robot's URDF.
struct Folder(tempfile::TempDir);

impl Folder {
    fn of(
        robot: &Robot,
        references: &References,
        urdf: UrdfOptions,
    ) -> (Self, String, Vec<Diagnostic>) {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().canonicalize().unwrap();
        let options = Options {
            formats: Formats::only(OutputFormat::Urdf),
            urdf,
            ..Options::default()
        };
        let identity = Identity {
            uri: None,
            identifier: "r".to_owned(),
            version: "1.0.0".to_owned(),
            ros: Default::default(),
            aggregate: None,
        };
        let subject = Subject {
            robot,
            references,
            options: &options,
            origin: Origin {
                name: "r",
                identity: &identity,
                kind: "urdf",
                sha256: "",
                namespace: &None,
                provenance: &Provenance::default(),
            },
            directory: &here,
            images: gltf::Images::default(),
            limit: &TimeLimit::default(),
            store: &Store::none(),
        };
        let (files, diagnostics) = write(&subject).unwrap();
        for (path, content) in files {
            let path = here.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            crate::publish::write(&content, &path).unwrap();
        }
        let text = std::fs::read_to_string(here.join("r.urdf")).unwrap();
        (Self(folder), text, diagnostics)
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn read(&self) -> (Robot, References) {
        loaded_with(&self.path().join("r.urdf"), &self.path())
    }
}

fn in_format(mesh_format: MeshFormat) -> UrdfOptions {
    UrdfOptions {
        mesh_format,
        ..UrdfOptions::default()
    }
}

/// Writes the text to the folder in `URDF_USD_ROUND_TRIP`, for other programs to read.
fn keep(text: &str, urdf: &Path, how: &str) {
    if let Some(folder) = std::env::var_os("URDF_USD_ROUND_TRIP") {
        let name = format!("{}.{how}.urdf", urdf.file_stem().unwrap().to_string_lossy());
        std::fs::write(Path::new(&folder).join(name), text).unwrap();
    }
}

/// Asserts that two texts are equal, and shows the first line that differs.
fn equal(a: &str, b: &str, name: &str) {
    for (a, b) in a.lines().zip(b.lines()) {
        assert_eq!(a, b, "{name}");
    }
    assert_eq!(a.lines().count(), b.lines().count(), "{name}");
}

#[test]
fn every_robot_comes_back_from_urdf_openusd_and_gltf() {
    // One test, because reading and loading the robots takes the longest.
    robots().par_iter().for_each(|(urdf, packages)| {
        let (robot, references) = loaded_with(urdf, packages);
        it_comes_back_from_its_urdf(urdf, &robot, &references);
        its_urdf_through_openusd_is_the_same_the_second_time(urdf, &robot);
        its_urdf_through_gltf_is_the_same_the_second_time(urdf, &robot);
    });
}

fn it_comes_back_from_its_urdf(urdf: &Path, robot: &Robot, references: &References) {
    let name = urdf.file_stem().unwrap().to_string_lossy();
    let triangles: usize = robot
        .meshes()
        .values()
        .map(|mesh| mesh.mesh.outline().triangles)
        .sum();
    for format in MeshFormat::ALL {
        // The other formats are text or lack looks: small robots cover everything that can fail.
        if format != MeshFormat::Glb && triangles > 50_000 {
            continue;
        }
        let name = format!("{name} in {format}");
        let (folder, text, found) = Folder::of(robot, references, in_format(format));
        keep(&text, urdf, format.as_str());
        let (again, of_again) = folder.read();
        let is_told = |code: &str| found.iter().any(|diagnostic| diagnostic.code == code);
        let is_changed = [
            "urdf-write-roots",
            "urdf-write-left-out",
            "urdf-write-loop",
            "urdf-write-renamed",
        ];
        if format == MeshFormat::Glb && !is_changed.into_iter().any(is_told) {
            same(robot, &again, &name);
        }
        let (_, second, _) = Folder::of(&again, &of_again, in_format(format));
        equal(&text, &second, &name);
    }
}

fn its_urdf_through_openusd_is_the_same_the_second_time(urdf: &Path, robot: &Robot) {
    let name = format!(
        "{} through OpenUSD",
        urdf.file_stem().unwrap().to_string_lossy()
    );
    let through = |robot: &Robot| -> Option<Robot> {
        let folder = tempfile::tempdir().unwrap();
        let asset = usd_write::write(
            robot,
            &usd_write::Options {
                entry: "r".into(),
                ..Default::default()
            },
            &Store::none(),
        )
        .unwrap();
        if asset.written.bodies == 0 {
            return None;
        }
        for (path, bytes) in &asset.files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes.bytes().unwrap()).unwrap();
        }
        Some(
            usd_read::read(&folder.path().join("r.usda"), &Default::default())
                .unwrap()
                .robot,
        )
    };
    let Some(robot) = through(robot) else { return };
    let (folder, text, _) = Folder::of(&robot, &References::default(), in_format(MeshFormat::Glb));
    keep(&text, urdf, "usd");
    let robot = through(&folder.read().0).unwrap();
    let (_, second, _) = Folder::of(&robot, &References::default(), in_format(MeshFormat::Glb));
    equal(&text, &second, &name);
}

fn its_urdf_through_gltf_is_the_same_the_second_time(urdf: &Path, robot: &Robot) {
    let name = format!(
        "{} through glTF",
        urdf.file_stem().unwrap().to_string_lossy()
    );
    let through = |robot: &Robot| {
        let glb = gltf::write(robot, &gltf_options(), &Store::none())
            .unwrap()
            .glb()
            .unwrap();
        let files = Files::new(std::sync::Arc::new(Resolver::new(Default::default())));
        read_glb(&glb, Path::new("r.glb"), &files, &name).robot
    };
    let robot = through(robot);
    let (folder, text, _) = Folder::of(&robot, &References::default(), in_format(MeshFormat::Glb));
    keep(&text, urdf, "gltf");
    let (_, second, _) = Folder::of(
        &through(&folder.read().0),
        &References::default(),
        in_format(MeshFormat::Glb),
    );
    equal(&text, &second, &name);
}
