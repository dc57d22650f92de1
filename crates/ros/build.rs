//! Generates the messages of other ROS packages from their definitions in `interfaces/`.

use std::error::Error;
use std::path::Path;

use urdf_usd_rosidl::{Options, read_package, rust};

/// Packages that are missing from some ROS workspaces.
const OPTIONAL: [&str; 7] = [
    "moveit_msgs",
    "object_recognition_msgs",
    "rmw_dds_common",
    "service_msgs",
    "shape_msgs",
    "trajectory_msgs",
    "type_description_interfaces",
];

fn main() {
    if let Err(error) = generate() {
        println!("cargo::error={error}");
    }
}

fn generate() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=interfaces");
    let mut packages = Vec::new();
    for folder in std::fs::read_dir("interfaces")? {
        let folder = folder?;
        if folder.file_type()?.is_dir() {
            let name = folder.file_name().to_string_lossy().into_owned();
            packages.push((read_package(&name, &folder.path())?, name));
        }
    }
    // `read_dir` has no fixed order, and the generated source must be reproducible.
    packages.sort_by(|(_, a), (_, b)| a.cmp(b));
    let all: Vec<_> = packages
        .iter()
        .flat_map(|(definitions, _)| definitions.clone())
        .collect();
    let mut text = String::new();
    let mut lists = String::new();
    for (definitions, name) in &packages {
        let options = Options {
            embeds_source: false,
            is_in_every_workspace: !OPTIONAL.contains(&name.as_str()),
        };
        let module = rust(definitions, &all, options);
        text += &format!("#[doc = \"The package `{name}`.\"]\npub mod {name} {{\n{module}}}\n");
        lists += &format!("{name}::INTERFACES,");
    }
    text += &format!("const PACKAGES: &[&[&Type]] = &[{lists}];");
    let file = Path::new(&std::env::var("OUT_DIR")?).join("messages.rs");
    Ok(std::fs::write(file, text)?)
}
