//! Checks that the ROS types of an asset exist in the sourced workspace (REP-158 §2.3).

use std::collections::BTreeMap;

use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_resolve::Files;
use urdf_usd_robot::Robot;
use urdf_usd_usd_write as usd_write;

/// Maximum number of interfaces that a message names.
const MAX_NAMES: usize = 5;

/// Returns a warning for each interface type that no package of the ament index has; none if no
/// workspace is sourced.
pub(super) fn missing(robot: &Robot, files: &Files) -> Vec<Diagnostic> {
    if files.resolver().options().ament_prefixes.is_empty() {
        return Vec::new();
    }
    let mut types: BTreeMap<String, (Vec<String>, Place)> = BTreeMap::new();
    for (interface, place) in usd_write::interfaces(robot) {
        let place = || place.cloned().unwrap_or_default();
        types
            .entry(interface.type_name)
            .or_insert_with(|| (Vec::new(), place()))
            .0
            .push(interface.name);
    }
    types.retain(|type_name, _| !is_installed(type_name, files));
    let warning = |(type_name, (names, place)): (String, (Vec<String>, Place))| {
        let more = if names.len() > MAX_NAMES { ", …" } else { "" };
        let names: Vec<String> = names
            .into_iter()
            .take(MAX_NAMES)
            .map(|name| format!("\"{name}\""))
            .collect();
        let message = format!(
            "the sourced ROS workspace lacks the type \"{type_name}\" of {}{more}",
            names.join(", ")
        );
        let package = type_name.split('/').next().unwrap_or_default();
        let help = format!(
            "install the package {package} and source the workspace again, or correct the type; simulators skip interfaces of unknown types"
        );
        Diagnostic::new(&super::codes::TYPE_MISSING, place, message).help(help)
    };
    types.into_iter().map(warning).collect()
}

/// Returns whether the share folder of its package has the type, in some prefix of the ament index.
fn is_installed(type_name: &str, files: &Files) -> bool {
    let is_name = |part: &str| {
        !part.is_empty() && part.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
    };
    let parts: Vec<&str> = type_name.split('/').collect();
    let [package, kind @ ("msg" | "srv" | "action"), name] = parts[..] else {
        return false;
    };
    if !is_name(package) || !is_name(name) {
        return false;
    }
    // Both forms are installed; a package may have been written in either.
    files
        .resolver()
        .options()
        .ament_prefixes
        .iter()
        .any(|prefix| {
            [kind, "idl"].iter().any(|ending| {
                let file = prefix
                    .join("share")
                    .join(package)
                    .join(kind)
                    .join(format!("{name}.{ending}"));
                // Also if it is missing: installing the package changes the outcome.
                files.rely_on(&file);
                file.is_file()
            })
        })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::missing;
    use urdf_usd_resolve::{Files, Options, Resolver};

    const URDF: &str = "<robot name='r'><link name='base'/>
        <gazebo reference='base'><sensor name='touch' type='contact'/><sensor name='imu' type='imu'/></gazebo>
        <gazebo reference='base'><sensor name='heard' type='contact'/></gazebo></robot>";

    #[test]
    fn types_are_looked_up_where_a_workspace_is_sourced() {
        let robot = urdf_usd_urdf::read(URDF, None).robot.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let [under, over] =
            ["under", "over"].map(|name| folder.path().canonicalize().unwrap().join(name));
        let put = |path: std::path::PathBuf| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        put(under.join("share/sensor_msgs/msg/JointState.msg"));
        put(over.join("share/sensor_msgs/msg/Imu.idl"));
        let files = |ament_prefixes: &[std::path::PathBuf]| {
            Files::new(Arc::new(Resolver::new(Options {
                ament_prefixes: ament_prefixes.to_vec(),
                ..Options::default()
            })))
        };
        let sourced = files(&[over.clone(), under.clone()]);
        let found = missing(&robot, &sourced);
        let [found] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((found.code, found.place.line), ("ros-type-missing", 2));
        let message = "the sourced ROS workspace lacks the type \"ros_gz_interfaces/msg/Contacts\" of \"touch/contacts\", \"heard/contacts\"";
        assert_eq!(found.message, message);
        // The missing file is watched, so that its installation is noticed.
        assert!(
            sourced
                .used()
                .contains(&under.join("share/ros_gz_interfaces/msg/Contacts.msg"))
        );
        assert!(missing(&robot, &files(&[])).is_empty());
        assert_eq!(missing(&robot, &files(&[under])).len(), 2);
    }
}
