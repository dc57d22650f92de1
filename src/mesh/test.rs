//! What the tests of this module share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use super::{Error, Source};
use crate::diagnostic::Diagnostic;
use crate::resolve::{File, Files, Options, Resolver};
use crate::robot::Mesh;

fn files() -> Files {
    let files = Files::new(Arc::new(Resolver::new(Options::default())));
    files.allow(Path::new("/"));
    files
}

/// A source with no content.
pub(super) fn source() -> Source<'static> {
    static FILE: LazyLock<File> = LazyLock::new(|| File { path: PathBuf::from("test.mesh"), bytes: [].into() });
    static FILES: LazyLock<Files> = LazyLock::new(files);
    Source::new(&FILE, &FILES)
}

/// Reads `bytes` as the content of a file `name` in a folder of its own.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<(Mesh, Vec<Diagnostic>), Error> {
    read_with(name, bytes, &[])
}

/// The same with other files in the folder.
pub(super) fn read_with(name: &str, bytes: &[u8], others: &[(&str, &[u8])]) -> Result<(Mesh, Vec<Diagnostic>), Error> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, bytes) in others {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let files = Files::new(Arc::new(Resolver::new(Options::default())));
    files.allow(&root);
    super::read(&File { path, bytes: bytes.into() }, &files)
}

/// The codes of findings.
pub(super) fn codes_of(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    diagnostics.iter().map(|d| d.code).collect()
}

/// The points of each triangle's corners, by material name.
pub(super) fn triangles(mesh: &Mesh) -> Vec<(&str, [[f32; 3]; 3])> {
    let mut all = Vec::new();
    for part in &mesh.parts {
        let name = part.material.map_or("", |m| mesh.materials[m].name.as_str());
        all.extend(mesh.triangles[part.triangles.clone()].iter().map(|t| (name, t.map(|i| mesh.points[i as usize]))));
    }
    all
}

/// Asserts what the hub promises of every mesh.
pub(super) fn check(mesh: &Mesh) {
    assert!(!mesh.triangles.is_empty());
    assert!(mesh.points.iter().flatten().all(|x| x.is_finite()));
    let mut used = vec![false; mesh.points.len()];
    for triangle in &mesh.triangles {
        let [a, b, c] = *triangle;
        assert!(a != b && b != c && c != a);
        triangle.iter().for_each(|i| used[*i as usize] = true);
    }
    assert!(used.iter().all(|used| *used), "a point is unused");
    assert_eq!(mesh.normals.indices.len(), mesh.triangles.len());
    assert!(mesh.normals.indices.iter().flatten().all(|i| (*i as usize) < mesh.normals.values.len()));
    for [x, y, z] in &mesh.normals.values {
        let length = (x * x + y * y + z * z).sqrt();
        assert!((length - 1.0).abs() < 1e-5, "a normal of length {length}");
    }
    if let Some(uvs) = &mesh.uvs {
        assert_eq!(uvs.indices.len(), mesh.triangles.len());
        assert!(uvs.indices.iter().flatten().all(|i| (*i as usize) < uvs.values.len()));
        assert!(uvs.values.iter().flatten().all(|x| x.is_finite()));
    }
    let mut next = 0;
    for part in &mesh.parts {
        assert_eq!(part.triangles.start, next);
        assert!(!part.triangles.is_empty());
        assert!(part.material.is_none_or(|m| m < mesh.materials.len()));
        next = part.triangles.end;
    }
    assert_eq!(next, mesh.triangles.len());
    for material in &mesh.materials {
        let unit = |x: &f32| (0.0..=1.0).contains(x);
        assert!(material.base_color.iter().all(unit) && unit(&material.metallic) && unit(&material.roughness));
        assert!(material.emissive.iter().all(|x| x.is_finite() && *x >= 0.0));
    }
}
