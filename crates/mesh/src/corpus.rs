//! All meshes of real robots, for what small files by hand can't show; and the files of
//! `test/meshes`. With `URDF_USD_MESH_STATS` set, figures about each mesh go to the file that it
//! names, to be held against another reader's (`test/mesh/test_meshes.py`,
//! `test/mesh/test_mesh_files.py`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::Vector3;
use roxmltree::Document;
use serde_json::json;

use super::test::check;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_geometry::{MeshArrays, convex_hull, invariants};
use urdf_usd_resolve::{Files, Options, Resolver};
use urdf_usd_robot::Mesh;

/// Meshes that can't be read, and why: (end of the path, code).
const KNOWN_FAILURES: &[(&str, &str)] = &[];

fn robots() -> Option<PathBuf> {
    let folder = std::env::var_os("URDF_USD_ROBOTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/robots"),
        PathBuf::from,
    );
    folder.canonicalize().ok()
}

/// Appends the files below `folder` whose names end as `is_wanted` says.
fn files_below(folder: &Path, is_wanted: &dyn Fn(&str) -> bool, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            files_below(&path, is_wanted, found);
        } else if path
            .extension()
            .is_some_and(|e| is_wanted(&e.to_string_lossy()))
        {
            found.push(path);
        }
    }
}

/// Figures by path.
type Stats = BTreeMap<PathBuf, serde_json::Value>;

#[test]
fn figures_of_meshes() {
    let mut stats = Stats::new();
    meshes_by_hand(&mut stats);
    match robots() {
        Some(robots) => meshes_of_real_robots(&robots, &mut stats),
        None => println!("skipped: there are no robots at $URDF_USD_ROBOTS or ../shared/robots"),
    }
    println!("{} meshes", stats.len());
    if let Some(path) = std::env::var_os("URDF_USD_MESH_STATS") {
        let all: BTreeMap<String, _> = stats
            .into_iter()
            .map(|(path, figures)| (path.to_string_lossy().into_owned(), figures))
            .collect();
        std::fs::write(path, serde_json::to_string_pretty(&all).unwrap()).unwrap();
    }
}

/// The files of `test/meshes`, each the same when read again. Some are there to be refused: their
/// figures are the code.
fn meshes_by_hand(stats: &mut Stats) {
    let mut paths = Vec::new();
    let is_mesh = |ending: &str| matches!(ending, "dae" | "obj" | "stl" | "gltf" | "glb");
    files_below(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/meshes"),
        &is_mesh,
        &mut paths,
    );
    assert!(!paths.is_empty());
    for path in paths {
        let path = path.canonicalize().unwrap();
        let files = Files::new(Arc::new(Resolver::new(Options::default())));
        files.allow(path.parent().unwrap());
        let file = files.open(&path.to_string_lossy(), None).unwrap();
        let first = super::read(&file, &files, Default::default());
        assert!(
            first == super::read(&file, &files, Default::default()),
            "{} differs when read again",
            path.display()
        );
        let figures = match first {
            Ok((mesh, diagnostics)) => {
                check(&mesh);
                figures(&mesh, convex_hull(&mesh.points).ok().as_ref(), &diagnostics)
            }
            Err(error) => json!({ "error": error.code.id }),
        };
        stats.insert(path, figures);
    }
}

fn meshes_of_real_robots(robots: &Path, stats: &mut Stats) {
    let mut descriptions = Vec::new();
    files_below(robots, &|ending| ending == "urdf", &mut descriptions);
    assert!(descriptions.len() >= 18, "{descriptions:?}");
    for urdf in &descriptions {
        let files = Files::new(Arc::new(Resolver::new(Options {
            package_paths: vec![robots.to_owned()],
            ..Options::default()
        })));
        let folder = urdf.parent().unwrap();
        files.allow(folder);
        let text = std::fs::read_to_string(urdf).unwrap();
        let document = Document::parse(&text).unwrap();
        for mesh in document
            .descendants()
            .filter(|node| node.has_tag_name("mesh"))
        {
            let Some(uri) = mesh.attribute("filename") else {
                continue;
            };
            let file = files
                .open(uri, Some(folder))
                .unwrap_or_else(|error| panic!("{}: {uri}: {error}", urdf.display()));
            if stats.contains_key(&file.path) {
                continue;
            }
            let known = KNOWN_FAILURES
                .iter()
                .find(|(end, _)| file.path.ends_with(end));
            match super::read(&file, &files, Default::default()) {
                Ok((mesh, diagnostics)) => {
                    assert_eq!(known, None, "{} can be read now", file.path.display());
                    check(&mesh);
                    let twin = super::read(&file, &files, Default::default()).unwrap();
                    assert!(
                        twin.0 == mesh && twin.1 == diagnostics,
                        "{} differs when read again",
                        file.path.display()
                    );
                    let hull = convex_hull(&mesh.points)
                        .unwrap_or_else(|error| panic!("{}: {error}", file.path.display()));
                    invariants::check(&hull);
                    stats.insert(file.path, figures(&mesh, Some(&hull), &diagnostics));
                }
                Err(error) => {
                    assert_eq!(
                        known.map(|(_, code)| *code),
                        Some(error.code.id),
                        "{}: {error}",
                        file.path.display()
                    );
                }
            }
        }
    }
}

fn figures(
    mesh: &Mesh,
    hull: Option<&MeshArrays>,
    diagnostics: &[Diagnostic],
) -> serde_json::Value {
    let corner = |mesh: &MeshArrays, i: u32| Vector3::from(mesh.points[i as usize].map(f64::from));
    let area: f64 = mesh
        .triangles
        .iter()
        .map(|t| t.map(|i| corner(mesh, i)))
        .map(|[a, b, c]| (b - a).cross(&(c - a)).norm() / 2.0)
        .sum();
    let hull_volume = hull.map(|hull| -> f64 {
        hull.triangles
            .iter()
            .map(|t| t.map(|i| corner(hull, i)))
            .map(|[a, b, c]| a.dot(&b.cross(&c)) / 6.0)
            .sum()
    });
    let (low, high) = mesh.bounds().unwrap();
    json!({
        "points": mesh.points.len(),
        "triangles": mesh.triangles.len(),
        "normals": mesh.normals.values.len(),
        "uvs": mesh.uvs.as_ref().map(|uvs| uvs.values.len()),
        "colors": mesh.colors.as_ref().map(|colors| &colors.values),
        "bounds": [low, high],
        "area": area,
        "hull_volume": hull_volume,
        "parts": mesh.parts.iter().map(|part| json!({"triangles": part.triangles.len(), "material": part.material})).collect::<Vec<_>>(),
        "materials": mesh.materials.iter().map(|material| json!({
            "name": material.name,
            "base_color": material.base_color,
            "texture": material.base_color_texture.as_ref().map(|texture| json!({
                "name": texture.name, "sha256": texture.sha256, "alpha": texture.has_alpha,
            })),
        })).collect::<Vec<_>>(),
        "diagnostics": diagnostics,
    })
}
