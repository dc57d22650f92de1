//! Builds the 3D viewer with npm, to be embedded in the program.
//!
//! If npm is missing or can't download the viewer's packages, the program is still built; it then
//! serves a plain page that says how to get the viewer. `URDF_USD_VIEWER=off` builds without the
//! viewer, `URDF_USD_VIEWER=DIR` embeds one that is already built.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a build that fails may panic

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Entries of the viewer's folder that are not build inputs.
const EXCLUDED: [&str; 8] = [
    "node_modules",
    "dist",
    "lib",
    "loader",
    "coverage",
    "test",
    "README.md",
    "vitest.config.ts",
];
/// Minimum major version of Node.js for the build.
const MIN_NODE_VERSION: u32 = 20;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=URDF_USD_VIEWER");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("viewer");
    let sources =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"))
            .join("viewer");
    let dist = out.join("dist");
    let made = match env::var_os("URDF_USD_VIEWER") {
        Some(choice) if choice == "off" => Ok(None),
        Some(built) if !built.is_empty() => use_prebuilt(Path::new(&built)).map(Some),
        _ => build(&sources, &out).map(Some),
    };
    let made = made.unwrap_or_else(|reason| {
        println!(
            "cargo:warning=built without the 3D viewer: {reason}. Then run `touch crates/serve/build.rs` and build again, or set \
             URDF_USD_VIEWER=off to build without it"
        );
        None
    });
    embed(made.as_deref(), &dist).unwrap_or_else(|error| panic!("{}: {error}", dist.display()));
}

/// Copies a built viewer to the folder that the program embeds, or leaves that empty. Files that are
/// compressed, too, are embedded only so.
fn embed(made: Option<&Path>, dist: &Path) -> io::Result<()> {
    if dist.exists() {
        fs::remove_dir_all(dist)?;
    }
    fs::create_dir_all(dist)?;
    let Some(made) = made else {
        return Ok(());
    };
    copy(made, dist)?;
    for entry in fs::read_dir(dist)? {
        let path = entry?.path();
        let plain = path.with_extension("");
        if path.extension().is_some_and(|extension| extension == "gz") && plain.is_file() {
            fs::remove_file(plain)?;
        }
    }
    Ok(())
}

/// Returns a viewer that was built elsewhere.
fn use_prebuilt(built: &Path) -> Result<PathBuf, String> {
    println!("cargo:rerun-if-changed={}", built.display());
    if built.join("index.html").is_file() {
        Ok(built.to_owned())
    } else {
        Err(format!(
            "URDF_USD_VIEWER names {}, which has no index.html; set it to the folder of a built viewer",
            built.display()
        ))
    }
}

/// Builds the viewer in `out`, outside its source folder, and returns the result's folder.
fn build(sources: &Path, out: &Path) -> Result<PathBuf, String> {
    let lock = sources.join("package-lock.json");
    if !lock.is_file() {
        return Err(format!(
            "{} not found; use the complete source",
            lock.display()
        ));
    }
    let at = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    let (work, result) = (out.join("work"), out.join("built"));
    let sources = list(sources).map_err(|error| at(sources, error))?;
    for source in &sources {
        println!("cargo:rerun-if-changed={}", source.display());
    }
    let npm = npm()?;
    sync_sources(&sources, &work).map_err(|error| at(&work, error))?;
    install(npm, &lock, &work)?;
    if result.exists() {
        fs::remove_dir_all(&result).map_err(|error| at(&result, error))?;
    }
    run(
        Command::new(npm)
            .args(["run", "build"])
            .env("VIEWER_OUT", &result),
        "run build",
        &work,
    )?;
    if result.join("index.html").is_file() {
        Ok(result)
    } else {
        Err("the viewer's build produced no index.html".to_owned())
    }
}

/// Lists the files and folders that the viewer is built from.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !EXCLUDED.iter().any(|name| entry.file_name() == *name) {
            sources.push(entry.path());
        }
    }
    sources.sort();
    Ok(sources)
}

/// Replaces the sources in `work`, but keeps its installed packages.
fn sync_sources(sources: &[PathBuf], work: &Path) -> io::Result<()> {
    fs::create_dir_all(work)?;
    for entry in fs::read_dir(work)? {
        let entry = entry?;
        if entry.file_name() == "node_modules" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?
        } else {
            fs::remove_file(entry.path())?
        }
    }
    sources
        .iter()
        .try_for_each(|source| copy(source, &work.join(source.file_name().unwrap_or_default())))
}

/// Copies a file or a folder recursively.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    fs::read_dir(from)?.try_for_each(|entry| {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))
    })
}

/// Returns the command for npm, if Node.js is new enough.
fn npm() -> Result<&'static str, String> {
    let install =
        format!("install Node.js {MIN_NODE_VERSION} or newer with npm (https://nodejs.org)");
    let version = |program: &str| {
        let output = Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let node = version("node").ok_or_else(|| format!("node was not found: {install}"))?;
    let major = node
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < MIN_NODE_VERSION) {
        return Err(format!("node {node} is too old: {install}"));
    }
    version("npm")
        .map(|_| "npm")
        .ok_or_else(|| format!("npm was not found: {install}"))
}

/// Installs the packages of the lock file, unless they are complete.
fn install(npm: &str, lock: &Path, work: &Path) -> Result<(), String> {
    let wanted = fs::read(lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    // Written last, so its presence proves that the installation is complete.
    let complete = work.join("node_modules/.complete");
    if fs::read(&complete).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let options = [
        "--omit=dev",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
        "--fetch-retries=1",
    ];
    run(Command::new(npm).arg("ci").args(options), "ci", work)?;
    fs::write(&complete, wanted).map_err(|error| format!("{}: {error}", complete.display()))
}

/// Runs npm; prints its output only on failure.
fn run(npm: &mut Command, what: &str, folder: &Path) -> Result<(), String> {
    let output = npm
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("NO_COLOR", "1")
        .output();
    let output = output.map_err(|error| format!("npm cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let output_text = [output.stdout, output.stderr].concat();
    let output_text = String::from_utf8_lossy(&output_text);
    // Skip npm's warnings and stack traces.
    let is_relevant =
        |line: &&str| !line.is_empty() && !line.starts_with("npm warn") && !line.contains(" at ");
    let lines: Vec<&str> = output_text
        .lines()
        .map(str::trim)
        .filter(is_relevant)
        .take(6)
        .collect();
    Err(format!(
        "npm {what} failed ({}): {}",
        output.status,
        lines.join(" | ")
    ))
}
