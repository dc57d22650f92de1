//! The sample robot, embedded in the program so that the demo needs no installed files.

use std::fs;
use std::io;
use std::path::Path;

use super::Sample;

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        /// Paths in the package, with contents.
        const FILES: &[(&str, &[u8])] =
            &[$(($path, include_bytes!(concat!("../../sample_rover/", $path)))),+];
    };
}

const PACKAGE: &str = "sample_rover";
const URDF: &str = "urdf/sample_rover.urdf";
const SRDF: &str = "srdf/sample_rover.srdf";

files! {
    "package.xml",
    "meshes/caster_fork.stl",
    "meshes/caster_wheel.dae",
    "meshes/chassis.dae",
    "meshes/head.glb",
    "meshes/mast.stl",
    "meshes/wheel.dae",
    "meshes/yoke.stl",
    "srdf/sample_rover.srdf",
    "textures/deck.png",
    "urdf/sample_rover.urdf",
}

/// Writes the sample's package into `folder`.
pub(super) fn unpack(folder: &Path) -> io::Result<Sample> {
    let folder = folder.canonicalize()?.join(PACKAGE);
    for (path, bytes) in FILES {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, bytes)?;
    }
    Ok(Sample {
        package: PACKAGE,
        urdf: folder.join(URDF),
        srdf: folder.join(SRDF),
        folder,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    fn files_below(folder: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files_below(&path, found)
            } else {
                assert!(found.insert(path))
            }
        }
    }

    #[test]
    fn the_table_has_every_file_of_the_sample() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(PACKAGE);
        let mut found = BTreeSet::new();
        files_below(&source, &mut found);
        let listed: BTreeSet<PathBuf> = FILES.iter().map(|(path, _)| source.join(path)).collect();
        assert_eq!(listed, found);
    }

    #[test]
    fn it_unpacks_to_a_package() {
        let folder = tempfile::tempdir().unwrap();
        let sample = unpack(folder.path()).unwrap();
        assert!(
            sample.urdf.is_file()
                && sample.srdf.is_file()
                && sample.folder.join("package.xml").is_file()
        );
    }
}
