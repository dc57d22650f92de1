//! Finds the robots in a folder.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{REPORT, entry};
use urdf_usd_resolve::Opened;

/// Extensions of entry files of assets, in the order in which they take precedence.
pub const ASSETS: [&str; 6] = ["usda", "usd", "usdc", "usdz", "glb", "gltf"];

/// Number of bytes at the beginning of a file that identify a robot.
const BEGINNING: u64 = 64 << 10;

/// Returns the robot descriptions in a folder and below, in order; if there are none, the entries
/// of the assets below it. Hidden folders and symbolic links are skipped.
pub fn robots_in(folder: &Path) -> Vec<PathBuf> {
    const FEW: SearchLimits = SearchLimits {
        depth: 5,
        entries: 20_000,
    };
    robots_within(folder, FEW, is_robot)
}

/// Returns the robots of a folder as [`robots_in`] does, at any depth and in any number, with `.urdf`
/// files that hold no robot.
pub fn all_robots_in(folder: &Path) -> Vec<PathBuf> {
    const NONE: SearchLimits = SearchLimits {
        depth: usize::MAX,
        entries: usize::MAX,
    };
    let is_wanted =
        |path: &Path| path.extension().is_some_and(|ending| ending == "urdf") || is_robot(path);
    robots_within(folder, NONE, is_wanted)
}

/// Limits of a search.
#[derive(Clone, Copy)]
struct SearchLimits {
    /// Depth below the folder.
    depth: usize,
    /// Number of files and folders that are examined.
    entries: usize,
}

/// Returns the robots of a folder within limits.
fn robots_within(
    folder: &Path,
    limits: SearchLimits,
    is_wanted: fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let robots = files_below(folder, limits, is_wanted);
    if !robots.is_empty() {
        return robots;
    }
    let reports = files_below(folder, limits, |path| path.ends_with(REPORT));
    let entry = |report: &PathBuf| entry(report.parent()?, &ASSETS).ok();
    reports.iter().filter_map(entry).collect()
}

/// Returns the wanted files below a folder, in order. Hidden folders and symbolic links are skipped.
fn files_below(folder: &Path, limits: SearchLimits, is_wanted: fn(&Path) -> bool) -> Vec<PathBuf> {
    let (mut robots, mut entries) = (Vec::new(), 0);
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > limits.entries {
                break;
            }
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < limits.depth => open.push((path, depth + 1)),
                Ok(kind) if kind.is_file() && is_wanted(&path) => robots.push(path),
                _ => {}
            }
        }
    }
    // `read_dir` returns entries in any order.
    robots.sort();
    robots
}

/// Returns whether a file has an extension of descriptions and a named robot; xacro files that only
/// define macros have none.
fn is_robot(path: &Path) -> bool {
    if !path
        .extension()
        .is_some_and(|ending| ending == "urdf" || ending == "xacro")
    {
        return false;
    }
    let mut start = Vec::new();
    if Opened::at(path)
        .and_then(|opened| opened.file.take(BEGINNING).read_to_end(&mut start))
        .is_err()
    {
        return false;
    }
    let text = String::from_utf8_lossy(&start);
    let tag = text
        .find("<robot")
        .and_then(|at| text.get(at..))
        .and_then(|rest| rest.split('>').next())
        .unwrap_or_default();
    tag.split_whitespace()
        .any(|attribute| attribute.starts_with("name"))
}
