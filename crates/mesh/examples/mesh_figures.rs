//! Reads every mesh of `test/meshes` and of the real robots, checks it, and writes figures about it
//! as JSON by path to the file in the argument. The tests in `test/mesh` compare them with those of
//! other readers.

#![allow(clippy::indexing_slicing)] // corners of triangles, which `check` has looked at

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::Vector3;
use rayon::prelude::*;
use roxmltree::Document;
use serde_json::{Value, json};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_geometry::convex_hull;
use urdf_usd_mesh::read;
use urdf_usd_resolve::{File, Files, Options, Resolver};
use urdf_usd_robot::Mesh;
use urdf_usd_robot::invariants::check;

/// Minimum number of descriptions among the real robots.
const MIN_DESCRIPTIONS: usize = 18;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os()
        .nth(1)
        .ok_or("name the file for the figures")?;
    let mut figures = meshes_by_hand()?;
    match robots() {
        Some(robots) => figures.extend(meshes_of_real_robots(&robots)?),
        None => println!("skipped: there are no robots at $URDF_USD_ROBOTS or ../shared/robots"),
    }
    println!("{} meshes", figures.len());
    Ok(std::fs::write(
        out,
        serde_json::to_string_pretty(&figures)?,
    )?)
}

/// Figures by path.
type Figures = BTreeMap<String, Value>;

fn robots() -> Option<PathBuf> {
    let folder = std::env::var_os("URDF_USD_ROBOTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/robots"),
        PathBuf::from,
    );
    folder.canonicalize().ok()
}

/// Appends the files below `folder` whose extensions satisfy `is_wanted`.
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

/// Reads the files of `test/meshes`. Some are meant to be rejected: their figures are the code.
fn meshes_by_hand() -> Result<Figures, String> {
    let is_mesh = |ending: &str| matches!(ending, "dae" | "obj" | "stl" | "gltf" | "glb");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/meshes");
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    let mut paths = Vec::new();
    files_below(&folder, &is_mesh, &mut paths);
    let figures = paths.par_iter().map(|path| {
        let files = files(Vec::new());
        files.allow(path.parent().unwrap_or(&folder));
        let file = files
            .open(&path.to_string_lossy(), None)
            .map_err(|error| error.to_string())?;
        let figures = match read_twice(&file, &files)? {
            Ok((mesh, diagnostics)) => {
                let hull = convex_hull(&mesh.points).ok().map(Mesh::plain);
                figures(&mesh, hull.as_ref(), &diagnostics)
            }
            Err(error) => json!({ "error": error.code.id }),
        };
        Ok((path.to_string_lossy().into_owned(), figures))
    });
    figures.collect()
}

/// Reads the meshes of the real robots, all of which are readable.
fn meshes_of_real_robots(robots: &Path) -> Result<Figures, String> {
    let mut descriptions = Vec::new();
    files_below(robots, &|ending| ending == "urdf", &mut descriptions);
    if descriptions.len() < MIN_DESCRIPTIONS {
        return Err(format!("there should be more robots: {descriptions:?}"));
    }
    let mut all = Figures::new();
    for urdf in &descriptions {
        let failed = |error: &dyn Display| format!("{}: {error}", urdf.display());
        // New files for each robot, so that they need not stay in memory.
        let files = files(vec![robots.to_owned()]);
        let folder = urdf.parent().unwrap_or(robots);
        files.allow(folder);
        let text = std::fs::read_to_string(urdf).map_err(|error| failed(&error))?;
        let document = Document::parse(&text).map_err(|error| failed(&error))?;
        let uris: BTreeSet<&str> = document
            .descendants()
            .filter(|node| node.has_tag_name("mesh"))
            .filter_map(|mesh| mesh.attribute("filename"))
            .collect();
        let figures = uris.par_iter().map(|uri| {
            let file = files
                .open(uri, Some(folder))
                .map_err(|error| failed(&error))?;
            let path = file.path.to_string_lossy().into_owned();
            if all.contains_key(&path) {
                return Ok(None);
            }
            let failed = |error: &dyn Display| format!("{path}: {error}");
            let (mesh, diagnostics) = read_twice(&file, &files)?.map_err(|error| failed(&error))?;
            let hull = convex_hull(&mesh.points).map_err(|error| failed(&error))?;
            let hull = Mesh::plain(hull);
            check(&hull);
            let figures = figures(&mesh, Some(&hull), &diagnostics);
            Ok(Some((path, figures)))
        });
        let new: Vec<_> = figures.collect::<Result<_, String>>()?;
        all.extend(new.into_iter().flatten());
    }
    Ok(all)
}

fn files(package_paths: Vec<PathBuf>) -> Files {
    Files::new(Arc::new(Resolver::new(Options {
        package_paths,
        ..Options::default()
    })))
}

/// The outcome of reading a file.
type Outcome = Result<(Mesh, Vec<Diagnostic>), urdf_usd_mesh::Error>;

/// Reads a mesh twice and checks it.
///
/// # Errors
/// If the two results differ.
fn read_twice(file: &File, files: &Files) -> Result<Outcome, String> {
    let first = read(file, files, Default::default());
    if first != read(file, files, Default::default()) {
        return Err(format!("{} differs when read again", file.path.display()));
    }
    if let Ok((mesh, _)) = &first {
        check(mesh);
    }
    Ok(first)
}

fn figures(mesh: &Mesh, hull: Option<&Mesh>, diagnostics: &[Diagnostic]) -> Value {
    let corner = |mesh: &Mesh, i: u32| Vector3::from(mesh.points[i as usize].map(f64::from));
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
    json!({
        "points": mesh.points.len(),
        "triangles": mesh.triangles.len(),
        "normals": mesh.normals.values.len(),
        "uvs": mesh.uvs.as_ref().map(|uvs| uvs.values.len()),
        "colors": mesh.colors.as_ref().map(|colors| &colors.values),
        "bounds": mesh.bounds().map(|(low, high)| [low, high]),
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
