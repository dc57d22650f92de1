//! Times meshes by format: loading, simplification, hulls, and writing a robot of one mesh as
//! OpenUSD and as a GLB.
//!
//! The inputs are a generated mesh of 100 000 triangles in every format, and the largest file of
//! each format among the real robots (`$URDF_USD_ROBOTS`, by default `../shared/robots`).
//! Throughput counts the file's bytes when loading, and the output's bytes otherwise.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // a test or benchmark that fails may panic

use std::fmt::{self, Write as _};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use divan::counter::{BytesCount, ItemsCount};
use divan::{AllocProfiler, Bencher};
use urdf_usd::resolve::{File, Files, Options, Resolver};
use urdf_usd::robot::{Mesh, Robot};
use urdf_usd::store::Store;
use urdf_usd::{geometry, gltf, mesh, urdf, usd};

/// Rows and columns of the generated mesh: 2 · 224 · 224 triangles.
const SIDE: usize = 224;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// A mesh file in memory, and the mesh that is read from it.
struct Case {
    name: String,
    file: File,
    files: Files,
    mesh: LazyLock<Mesh, Box<dyn FnOnce() -> Mesh + Send>>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Case {
    fn new(name: String, file: File) -> Self {
        let files = files_beside(&file.path);
        let copy = file.clone();
        let mesh = Box::new(move || read(&copy, &files_beside(&copy.path)));
        Self {
            name,
            file,
            files,
            mesh: LazyLock::new(mesh),
        }
    }
}

fn files_beside(path: &Path) -> Files {
    let files = Files::new(Arc::new(Resolver::new(Options::default())));
    let folder = path.parent().unwrap_or(path);
    files.allow(folder);
    // The usual folder of images in packages.
    files.allow(folder.parent().unwrap_or(folder));
    files
}

fn read(file: &File, files: &Files) -> Mesh {
    match mesh::read(file, files, mesh::Options::default()) {
        Ok((mesh, _)) => mesh,
        Err(error) => panic!("{}: {error}", file.path.display()),
    }
}

/// Returns all meshes: the generated ones, then the real ones.
static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let sheet = Sheet::new();
    let made = [
        ("STL binary", "made.stl", sheet.binary_stl()),
        ("STL ASCII", "made.stl", sheet.ascii_stl()),
        ("OBJ", "made.obj", sheet.obj()),
        ("DAE", "made.dae", sheet.dae()),
        ("GLB", "made.glb", sheet.glb()),
    ]
    .map(|(name, file, bytes)| {
        Case::new(
            name.to_owned(),
            File {
                path: Path::new("/made").join(file),
                bytes: bytes.into(),
            },
        )
    });
    let real = largest_real().into_iter().map(|(format, path)| {
        let bytes =
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Case::new(
            format!("{format} {name}"),
            File {
                path,
                bytes: bytes.into(),
            },
        )
    });
    made.into_iter().chain(real).collect()
});

fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter()
}

#[divan::bench(args = cases(), sample_count = 10, sample_size = 1, max_time = 10)]
fn load(bencher: Bencher, case: &Case) {
    bencher
        .counter(BytesCount::new(case.file.bytes.len()))
        .counter(ItemsCount::new(case.mesh.triangles.len()))
        .bench(|| read(black_box(&case.file), &case.files));
}

#[divan::bench(args = cases(), sample_count = 5, sample_size = 1, max_time = 10)]
fn simplify(bencher: Bencher, case: &Case) {
    let mesh = &*case.mesh;
    bencher
        .counter(ItemsCount::new(mesh.triangles.len()))
        .bench(|| mesh::tiers(black_box(mesh)));
}

#[divan::bench(args = cases(), sample_count = 10, sample_size = 1, max_time = 10)]
fn hull(bencher: Bencher, case: &Case) {
    let mesh = &*case.mesh;
    bencher
        .counter(ItemsCount::new(mesh.triangles.len()))
        .bench(|| geometry::convex_hull(black_box(&mesh.points)));
}

#[divan::bench(args = cases(), sample_count = 10, sample_size = 1, max_time = 10)]
fn write_usd(bencher: Bencher, case: &Case) {
    let (robot, options) = (
        robot_of(&case.mesh),
        usd::Options {
            entry: "bench".to_owned(),
            ..Default::default()
        },
    );
    let bytes: u64 = usd::write(&robot, &options, &Store::none())
        .unwrap()
        .files
        .values()
        .map(|content| content.length())
        .sum();
    bencher
        .counter(BytesCount::new(bytes))
        .counter(ItemsCount::new(case.mesh.triangles.len()))
        .bench(|| usd::write(black_box(&robot), &options, &Store::none()).unwrap());
}

#[divan::bench(args = cases(), sample_count = 10, sample_size = 1, max_time = 10)]
fn write_glb(bencher: Bencher, case: &Case) {
    let (robot, options) = (robot_of(&case.mesh), gltf::Options::default());
    bencher
        .counter(BytesCount::new(
            gltf::write(&robot, &options, &Store::none())
                .unwrap()
                .glb()
                .map_or(0, |glb| glb.len()),
        ))
        .counter(ItemsCount::new(case.mesh.triangles.len()))
        .bench(|| gltf::write(black_box(&robot), &options, &Store::none()).unwrap());
}

/// Returns a robot with the mesh as its only visual.
fn robot_of(mesh: &Mesh) -> Robot {
    let text = r#"<robot name="bench"><link name="base"><visual><geometry><mesh filename="a.stl"/></geometry></visual></link></robot>"#;
    let outcome = urdf::read(text, None);
    let Some(mut robot) = outcome.robot else {
        panic!("the URDF of the bench is sound")
    };
    outcome.references.meshes[0]
        .settle(&mut robot, Arc::new(mesh.clone().into()))
        .expect("the robot's own reference");
    robot
}

/// Returns the largest file of each format in the real robots' folder, if it exists.
fn largest_real() -> Vec<(&'static str, PathBuf)> {
    let folder = std::env::var_os("URDF_USD_ROBOTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/robots"),
        PathBuf::from,
    );
    let mut all = Vec::new();
    collect(&folder, &mut all);
    // By size, then by path.
    all.sort_by(|(a, a_path), (b, b_path)| b.cmp(a).then_with(|| a_path.cmp(b_path)));
    let is_ascii = |path: &Path| {
        std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"solid") && bytes.is_ascii())
    };
    let formats: [(&str, &[&str], Option<bool>); 5] = [
        ("STL binary", &["stl"], Some(false)),
        ("STL ASCII", &["stl"], Some(true)),
        ("OBJ", &["obj"], None),
        ("DAE", &["dae"], None),
        ("glTF", &["glb", "gltf"], None),
    ];
    formats
        .into_iter()
        .filter_map(|(format, endings, ascii)| {
            let fits = |path: &Path| {
                let ending = path
                    .extension()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .to_ascii_lowercase();
                endings.contains(&ending.as_str())
                    && ascii.is_none_or(|ascii| is_ascii(path) == ascii)
            };
            let (_, path) = all.iter().find(|(_, path)| fits(path))?;
            Some((format, path.canonicalize().ok()?))
        })
        .collect()
}

/// Returns the files under `folder` with their sizes.
fn collect(folder: &Path, found: &mut Vec<(u64, PathBuf)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => collect(&entry.path(), found),
            Ok(metadata) if metadata.is_file() => found.push((metadata.len(), entry.path())),
            _ => {}
        }
    }
}

/// Returns the generated mesh, a bumpy sheet with normals and texture coordinates, in every format.
struct Sheet {
    points: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    triangles: Vec<[u32; 3]>,
}

impl Sheet {
    fn new() -> Self {
        let row = SIDE + 1;
        let at = |i: usize| (i % row, i / row);
        let uvs: Vec<[f32; 2]> = (0..row * row)
            .map(at)
            .map(|(x, y)| [x as f32 / SIDE as f32, y as f32 / SIDE as f32])
            .collect();
        let points = uvs
            .iter()
            .map(|[u, v]| [*u, *v, 0.05 * (20.0 * u).sin() * (15.0 * v).cos()])
            .collect();
        let normals = uvs
            .iter()
            .map(|[u, v]| {
                let (dx, dy) = (
                    (20.0 * u).cos() * (15.0 * v).cos(),
                    -0.75 * (20.0 * u).sin() * (15.0 * v).sin(),
                );
                let length = (dx * dx + dy * dy + 1.0).sqrt();
                [-dx / length, -dy / length, 1.0 / length]
            })
            .collect();
        let triangles = (0..SIDE * SIDE)
            .flat_map(|i| {
                let a = (i / SIDE * row + i % SIDE) as u32;
                let (b, c, d) = (a + 1, a + row as u32 + 1, a + row as u32);
                [[a, b, c], [a, c, d]]
            })
            .collect();
        Self {
            points,
            normals,
            uvs,
            triangles,
        }
    }

    fn corners(&self) -> impl Iterator<Item = [[f32; 3]; 3]> {
        self.triangles
            .iter()
            .map(|triangle| triangle.map(|i| self.points[i as usize]))
    }

    fn binary_stl(&self) -> Vec<u8> {
        let mut bytes = vec![b' '; 80];
        bytes.extend((self.triangles.len() as u32).to_le_bytes());
        for corners in self.corners() {
            bytes.extend([0; 12]);
            bytes.extend(corners.as_flattened().iter().flat_map(|x| x.to_le_bytes()));
            bytes.extend([0; 2]);
        }
        bytes
    }

    fn ascii_stl(&self) -> Vec<u8> {
        let mut text = String::from("solid made\n");
        for corners in self.corners() {
            text.push_str("facet normal 0 0 1\n outer loop\n");
            for [x, y, z] in corners {
                let _ = writeln!(text, "  vertex {x} {y} {z}");
            }
            text.push_str(" endloop\nendfacet\n");
        }
        text.push_str("endsolid made\n");
        text.into()
    }

    fn obj(&self) -> Vec<u8> {
        let mut text = String::new();
        for [x, y, z] in &self.points {
            let _ = writeln!(text, "v {x} {y} {z}");
        }
        for [u, v] in &self.uvs {
            let _ = writeln!(text, "vt {u} {v}");
        }
        for [x, y, z] in &self.normals {
            let _ = writeln!(text, "vn {x} {y} {z}");
        }
        for triangle in &self.triangles {
            let [a, b, c] = triangle.map(|i| i + 1);
            let _ = writeln!(text, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c}");
        }
        text.into()
    }

    fn dae(&self) -> Vec<u8> {
        let source = |id: &str, values: &[f32], names: &[&str]| {
            let mut text = format!(
                "<source id=\"{id}\"><float_array id=\"{id}-array\" count=\"{}\">",
                values.len()
            );
            values.iter().for_each(|x| _ = write!(text, "{x} "));
            let (count, stride) = (values.len() / names.len(), names.len());
            let _ = write!(
                text,
                "</float_array><technique_common><accessor source=\"#{id}-array\" count=\"{count}\" stride=\"{stride}\">"
            );
            names
                .iter()
                .for_each(|name| _ = write!(text, "<param name=\"{name}\" type=\"float\"/>"));
            text + "</accessor></technique_common></source>"
        };
        let indices = self
            .triangles
            .as_flattened()
            .iter()
            .fold(String::new(), |mut text, i| {
                let _ = write!(text, "{i} {i} {i} ");
                text
            });
        format!(
            "<COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">\
             <library_geometries><geometry id=\"g\"><mesh>{}{}{}\
             <vertices id=\"v\"><input semantic=\"POSITION\" source=\"#p\"/></vertices>\
             <triangles count=\"{}\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/>\
             <input semantic=\"NORMAL\" source=\"#n\" offset=\"1\"/>\
             <input semantic=\"TEXCOORD\" source=\"#t\" offset=\"2\"/><p>{indices}</p></triangles>\
             </mesh></geometry></library_geometries>\
             <library_visual_scenes><visual_scene id=\"s\"><node><instance_geometry url=\"#g\"/></node></visual_scene>\
             </library_visual_scenes><scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>",
            source("p", self.points.as_flattened(), &["X", "Y", "Z"]),
            source("n", self.normals.as_flattened(), &["X", "Y", "Z"]),
            source("t", self.uvs.as_flattened(), &["S", "T"]),
            self.triangles.len(),
        )
        .into()
    }

    fn glb(&self) -> Vec<u8> {
        let floats = |values: &[f32]| {
            values
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        let indices = self
            .triangles
            .as_flattened()
            .iter()
            .flat_map(|i| i.to_le_bytes())
            .collect();
        let parts = [
            floats(self.points.as_flattened()),
            floats(self.normals.as_flattened()),
            floats(self.uvs.as_flattened()),
            indices,
        ];
        let mut offset = 0;
        let views: Vec<_> = parts
            .iter()
            .map(|part| {
                let view = serde_json::json!({"buffer": 0, "byteOffset": offset, "byteLength": part.len()});
                offset += part.len();
                view
            })
            .collect();
        let accessor = |view: usize, kind: &str, component: u32, count: usize| serde_json::json!({"bufferView": view, "type": kind, "componentType": component, "count": count});
        let (points, corners) = (self.points.len(), 3 * self.triangles.len());
        let document = serde_json::json!({
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2}, "indices": 3}]}],
            "accessors": [
                accessor(0, "VEC3", 5126, points), accessor(1, "VEC3", 5126, points), accessor(2, "VEC2", 5126, points),
                accessor(3, "SCALAR", 5125, corners),
            ],
            "bufferViews": views,
            "buffers": [{"byteLength": offset}],
        });
        let mut json = document.to_string().into_bytes();
        json.resize(json.len().next_multiple_of(4), b' ');
        let mut bytes = b"glTF".to_vec();
        for word in [2, 28 + json.len() + offset, json.len(), 0x4E4F_534A] {
            bytes.extend((word as u32).to_le_bytes());
        }
        bytes.extend(json);
        for word in [offset, 0x004E_4942] {
            bytes.extend((word as u32).to_le_bytes());
        }
        bytes.extend(parts.concat());
        bytes
    }
}
