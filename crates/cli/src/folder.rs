//! Which robot description a folder means: the only one in it, or the one that a person names. It
//! reads no robot.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use urdf_usd_diagnostic::{did_you_mean, nearest};
use urdf_usd_resolve::Opened;

/// How many folders deep robots are looked for, from the one that was named.
const DEPTH: usize = 5;
/// How many files and folders are looked at for robots.
const MOST_ENTRIES: usize = 20_000;
/// How many robots of a folder are listed.
const MOST_LISTED: usize = 30;
/// How much of a file tells whether it is a robot, in bytes.
const BEGINNING: u64 = 64 << 10;

/// The description that is meant by a folder: of the robot with this name (its file, with or
/// without endings), or of the only one.
///
/// # Errors
/// The sentence to show, with a list of the robots: there is none, there are several, or none of
/// them is called so; or it is no folder.
pub(super) fn description_in(folder: &Path, robot: Option<&str>) -> Result<PathBuf, String> {
    if !folder.is_dir() {
        return Err(format!(
            "{} is no folder: --robot NAME says which robot of a folder is meant",
            folder.display()
        ));
    }
    let robots = robots_in(folder);
    let short = |file: &Path| {
        file.strip_prefix(folder)
            .unwrap_or(file)
            .display()
            .to_string()
    };
    let listed = || {
        let mut list: Vec<String> = robots
            .iter()
            .take(MOST_LISTED)
            .map(|robot| format!("\n  {}", short(robot)))
            .collect();
        if robots.len() > MOST_LISTED {
            list.push(format!("\n  and {} more", robots.len() - MOST_LISTED));
        }
        list.concat()
    };
    if robots.is_empty() {
        return Err(format!(
            "{} holds neither an asset nor a robot description: give a .urdf, .xacro, OpenUSD, .glb or .gltf file",
            folder.display()
        ));
    }
    let Some(wanted) = robot else {
        return match &robots[..] {
            [only] => Ok(only.clone()),
            several => Err(format!(
                "{} holds {} robots: say which with --robot NAME{}",
                folder.display(),
                several.len(),
                listed()
            )),
        };
    };
    let is_wanted =
        |file: &&PathBuf| short(file) == wanted || names(file).iter().any(|name| name == wanted);
    let mut found = robots.iter().filter(is_wanted);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.clone()),
        (Some(_), Some(_)) => Err(format!(
            "several robots are called {wanted:?}: give one by its path{}",
            listed()
        )),
        _ => {
            let all: Vec<String> = robots.iter().flat_map(|file| names(file)).collect();
            let meant = did_you_mean(nearest(wanted, all))
                .map_or_else(String::new, |meant| format!("; {meant}"));
            Err(format!(
                "{} holds no robot {wanted:?}{meant}{}",
                folder.display(),
                listed()
            ))
        }
    }
}

/// What a robot's file may be called: `arm.urdf.xacro`, `arm.urdf`, `arm`.
fn names(file: &Path) -> Vec<String> {
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut names = vec![name];
    while let Some((shorter, _)) = names
        .last()
        .and_then(|name| name.rsplit_once('.'))
        .filter(|(shorter, _)| !shorter.is_empty())
    {
        let shorter = shorter.to_owned();
        names.push(shorter);
    }
    names
}

/// The robot descriptions below a folder, in order. Hidden folders and links are left out, and
/// xacro files that only define macros.
fn robots_in(folder: &Path) -> Vec<PathBuf> {
    let (mut robots, mut entries) = (Vec::new(), 0);
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                break;
            }
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEPTH => open.push((path, depth + 1)),
                Ok(kind) if kind.is_file() && is_robot(&path) => robots.push(path),
                _ => {}
            }
        }
    }
    robots.sort();
    robots
}

/// Whether a file is called as descriptions are, and its robot has a name: files of macros have
/// none.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_of_a_folder_are_found_and_macros_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let found = |robot: Option<&str>| match description_in(folder.path(), robot) {
            Ok(file) => file
                .strip_prefix(folder.path())
                .unwrap()
                .display()
                .to_string(),
            Err(message) => message,
        };
        let none = found(None);
        assert!(
            none.contains("neither an asset nor a robot") && !none.contains("-o"),
            "{none}"
        );
        write(
            "urdf/arm.urdf.xacro",
            "<?xml version='1.0'?>\n<robot xmlns:xacro='x'\n name='arm'>",
        );
        write(
            "urdf/macros.xacro",
            "<robot xmlns:xacro='x'><xacro:macro name='a'/></robot>",
        );
        write(".git/old.urdf", "<robot name='old'>");
        assert_eq!(found(None), "urdf/arm.urdf.xacro");
        write("urdf/gripper.urdf", "<robot name='gripper'/>");
        let several = found(None);
        assert!(
            several.contains("2 robots")
                && several.ends_with("\n  urdf/arm.urdf.xacro\n  urdf/gripper.urdf"),
            "{several}"
        );
        for name in ["arm", "arm.urdf", "arm.urdf.xacro", "urdf/arm.urdf.xacro"] {
            assert_eq!(found(Some(name)), "urdf/arm.urdf.xacro");
        }
        assert!(
            found(Some("griper")).contains("did you mean \"gripper\"?"),
            "{}",
            found(Some("griper"))
        );
        write("other/gripper.urdf", "<robot name='gripper'/>");
        assert!(found(Some("gripper")).contains("give one by its path"));
        let file = folder.path().join("urdf/gripper.urdf");
        assert!(
            description_in(&file, Some("gripper"))
                .unwrap_err()
                .contains("no folder")
        );
    }
}
