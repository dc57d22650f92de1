//! Helpers for the tests of this crate.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::{Error, Source};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_resolve::{File, Files, Options, Resolver};
use urdf_usd_robot::Mesh;
pub(crate) use urdf_usd_robot::invariants::check;

/// Returns access to files in any folder.
pub(super) fn files() -> Files {
    let files = Files::new(Arc::new(Resolver::new(Options::default())));
    files.allow(Path::new("/"));
    files
}

/// Returns a source for an arbitrary file.
pub(super) fn source() -> Source<'static> {
    static FILES: LazyLock<Files> = LazyLock::new(files);
    Source::new(Path::new("test.mesh"), &FILES, Default::default())
}

/// Reads `bytes` as the content of a file `name` in a temporary folder.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<(Mesh, Vec<Diagnostic>), Error> {
    read_with(name, bytes, &[])
}

/// The same with other files in the folder.
pub(super) fn read_with(
    name: &str,
    bytes: &[u8],
    others: &[(&str, &[u8])],
) -> Result<(Mesh, Vec<Diagnostic>), Error> {
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
    super::read(
        &File {
            path,
            bytes: bytes.into(),
        },
        &files,
        Default::default(),
    )
}

/// Reads one of the small files in `test/meshes`, and checks the invariants of meshes.
pub(super) fn read_file(name: &str) -> Result<(Mesh, Vec<Diagnostic>), Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../test/meshes")
        .join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let files = Files::new(Arc::new(Resolver::new(Options::default())));
    files.allow(path.parent().unwrap());
    let read = super::read(
        &File {
            path,
            bytes: bytes.into(),
        },
        &files,
        Default::default(),
    );
    if let Ok((mesh, _)) = &read {
        check(mesh);
    }
    read
}

/// Returns the colours of each triangle's corners; empty if the mesh has none.
pub(super) fn colors(mesh: &Mesh) -> Vec<[[f32; 4]; 3]> {
    let colors = mesh.colors.iter();
    colors
        .flat_map(|colors| {
            colors
                .indices
                .iter()
                .map(|t| t.map(|i| colors.values[i as usize]))
        })
        .collect()
}

/// Asserts that numbers are equal up to rounding.
pub(super) fn assert_near(a: impl IntoIterator<Item = f32>, b: impl IntoIterator<Item = f32>) {
    let (a, b): (Vec<f32>, Vec<f32>) = (a.into_iter().collect(), b.into_iter().collect());
    assert!(
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-5),
        "{a:?} is not {b:?}"
    );
}

/// Returns the codes of findings.
pub(super) fn codes_of(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    diagnostics.iter().map(|d| d.code).collect()
}

/// Returns the points of each triangle's corners, by material name.
pub(super) fn triangles(mesh: &Mesh) -> Vec<(&str, [[f32; 3]; 3])> {
    let mut all = Vec::new();
    for part in &mesh.parts {
        let name = part
            .material
            .map_or("", |m| mesh.materials[m].name.as_str());
        all.extend(
            mesh.triangles[part.triangles.clone()]
                .iter()
                .map(|t| (name, t.map(|i| mesh.points[i as usize]))),
        );
    }
    all
}

/// Returns small valid files of all formats.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let ascii = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 2 0 0\nvertex 2 1 0\nendloop\nendfacet\nendsolid";
    let mut binary = vec![b' '; 80];
    binary.extend(2_u32.to_le_bytes());
    for i in 0..2 {
        binary.extend([0; 12]);
        binary.extend(
            [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, i as f32]
                .iter()
                .flat_map(|x| x.to_le_bytes()),
        );
        binary.extend([0; 2]);
    }
    let obj = "mtllib a.mtl\nv 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nvt 0 1\nvn 0 0 1\nusemtl m\nf 2 3 4 5 6 1\nf 1/1/1 2//1 -1/-1\n";
    let mtl = "newmtl m\nKd 1 .5 0\nmap_Kd -s 2 2 -o 0 1 a b.png\nd 0.5\nTr 0\nPr 1\n";
    let [gltf, glb] = super::gltf::tests::seeds();
    vec![
        ("a.stl", ascii.into()),
        ("a.stl", binary),
        ("a.obj", obj.into()),
        ("a.mtl", mtl.into()),
        ("a.dae", super::dae::tests::seed().into_bytes()),
        ("a.gltf", gltf),
        ("a.glb", glb),
    ]
}

#[test]
fn seeds_are_sound() {
    for (name, bytes) in seeds().iter().filter(|(name, _)| *name != "a.mtl") {
        check(
            &read(name, bytes)
                .unwrap_or_else(|error| panic!("{name}: {error}"))
                .0,
        );
    }
}

/// A modification of a file at a position between 0 and 1.
#[derive(Clone, Debug)]
enum Damage {
    Set(f64, u8),
    Insert(f64, Vec<u8>),
    Remove(f64, usize),
    Repeat(f64, usize),
    Cut(f64),
}

fn damage() -> impl Strategy<Value = Damage> {
    let words = [
        &b"-1"[..],
        b"99999999999",
        b"nan",
        b"1e39",
        b"<",
        b"\"",
        b" ",
        b"\n",
        b"0",
        b"[",
        b"{",
        b"/",
        b"#",
        b"\0",
        b"\xFF\xFE",
    ];
    let word = prop::sample::select(words.map(<[u8]>::to_vec).to_vec());
    prop_oneof![
        4 => (0.0..1.0, any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        4 => (0.0..1.0, word).prop_map(|(at, word)| Damage::Insert(at, word)),
        2 => (0.0..1.0, 1_usize..40).prop_map(|(at, n)| Damage::Remove(at, n)),
        2 => (0.0..1.0, 1_usize..200).prop_map(|(at, n)| Damage::Repeat(at, n)),
        1 => (0.0..1.0).prop_map(Damage::Cut),
    ]
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let place = |at: &f64| (at * bytes.len() as f64) as usize;
        match damage {
            Damage::Set(at, byte) => {
                let at = place(at);
                bytes[at..].iter_mut().take(1).for_each(|b| *b = *byte);
            }
            Damage::Insert(at, word) => {
                let at = place(at);
                bytes.splice(at..at, word.iter().copied());
            }
            Damage::Remove(at, n) => {
                let at = place(at);
                bytes.drain(at..(at + n).min(bytes.len()));
            }
            Damage::Repeat(at, n) => {
                let at = place(at);
                let part = bytes[at..(at + n).min(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
            Damage::Cut(at) => bytes.truncate(place(at)),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A damaged file results in a valid mesh or an error, never in a panic.
    #[test]
    fn damage_is_survived(which in 0..7_usize, damages in prop::collection::vec(damage(), 1..6)) {
        let mut files = seeds();
        let (name, bytes) = &mut files[which];
        *bytes = damaged(std::mem::take(bytes), &damages);
        let (name, bytes) = if *name == "a.mtl" { ("a.obj", files[2].1.clone()) } else { (*name, bytes.clone()) };
        if let Ok((mesh, _)) = read_with(name, &bytes, &[("a.mtl", &files[3].1)]) {
            check(&mesh);
        }
    }
}

#[test]
fn files_without_a_mesh_say_so() {
    for name in ["a.stl", "a.obj", "a.dae", "a.gltf", "a.glb"] {
        for (bytes, said) in [(&b""[..], "is empty"), (b" \r\n", "is empty")] {
            let error = read(name, bytes).unwrap_err();
            assert!(
                error.code.id == "mesh-unreadable" && error.to_string().contains(said),
                "{name}: {error}"
            );
        }
    }
}
