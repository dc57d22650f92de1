//! Finds the robot in a folder: the only description, otherwise the only asset, or the one that is
//! named.

use std::path::{Path, PathBuf};

use urdf_usd_convert::robots_in;
use urdf_usd_diagnostic::{did_you_mean, nearest};

/// Maximum number of robots that are listed in a message.
const MAX_LISTED: usize = 30;

/// Returns the robot description in a folder, or, if there are none, the entry of the asset below it.
///
/// `robot` selects one by its file name, with or without extensions; without it, the only one is
/// returned.
///
/// # Errors
/// Returns a message that lists the robots if there is none, if there are several, or if none has
/// this name; or a message that `folder` is not a folder.
pub(super) fn description_in(folder: &Path, robot: Option<&str>) -> Result<PathBuf, String> {
    if !folder.is_dir() {
        return Err(format!(
            "{} is not a folder: --robot NAME selects a robot of a folder",
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
            .take(MAX_LISTED)
            .map(|robot| format!("\n  {}", short(robot)))
            .collect();
        if robots.len() > MAX_LISTED {
            list.push(format!("\n  and {} more", robots.len() - MAX_LISTED));
        }
        list.concat()
    };
    if robots.is_empty() {
        return Err(format!(
            "{} contains neither an asset nor a robot description: give a .urdf, .xacro, OpenUSD, .glb or .gltf file",
            folder.display()
        ));
    }
    let Some(wanted) = robot else {
        return match &robots[..] {
            [only] => Ok(only.clone()),
            several => Err(format!(
                "{} contains {} robots: choose one with --robot NAME{}",
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
            "several robots are named {wanted:?}: give the path of one{}",
            listed()
        )),
        _ => {
            let all: Vec<String> = robots.iter().flat_map(|file| names(file)).collect();
            let meant = did_you_mean(nearest(wanted, all))
                .map_or_else(String::new, |meant| format!("; {meant}"));
            Err(format!(
                "{} contains no robot {wanted:?}{meant}{}",
                folder.display(),
                listed()
            ))
        }
    }
}

/// Returns the names that a robot's file is known by: `arm.urdf.xacro`, `arm.urdf`, `arm`.
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

#[cfg(test)]
mod tests {
    use std::fs;

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
        assert!(found(Some("gripper")).contains("give the path of one"));
        // Assets count only where there is no description.
        let report = r#"{"robot":"leg","revision":1}"#;
        write("assets/leg/leg.usda", "#usda 1.0");
        write("assets/leg/report.json", report);
        assert!(found(None).contains("3 robots"));
        let assets = description_in(&folder.path().join("assets"), None);
        assert_eq!(assets, Ok(folder.path().join("assets/leg/leg.usda")));
        let file = folder.path().join("urdf/gripper.urdf");
        assert!(
            description_in(&file, Some("gripper"))
                .unwrap_err()
                .contains("not a folder")
        );
    }
}
