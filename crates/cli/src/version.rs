//! The output of `--version`.

use urdf_usd_convert::OutputFormat;

/// The version alone.
pub const SHORT: &str = env!("CARGO_PKG_VERSION");

/// The commit of a release build, with its date. Development builds have none, because every commit
/// would cause a rebuild.
const COMMIT: Option<&str> = option_env!("URDF_USD_COMMIT");

/// Returns the version, the commit, and what this build can do: the viewer, the formats, the ROS
/// networks and the ROS client.
pub(super) fn long() -> String {
    let commit = COMMIT.map_or_else(String::new, |commit| format!(" ({commit})"));
    let build = if cfg!(debug_assertions) {
        ", development build"
    } else {
        ""
    };
    let viewer = match urdf_usd_serve::has_viewer() {
        true => "yes",
        false => "no, a plain page (built without Node.js 20)",
    };
    let formats: Vec<&str> = OutputFormat::ALL
        .iter()
        .map(|format| format.as_str())
        .collect();
    let networks = match (urdf_usd_ros::CLIENT, cfg!(feature = "zenoh")) {
        ("embedded", true) => "DDS, Zenoh",
        ("embedded", false) => "DDS (build with --features zenoh for Zenoh)",
        _ => "those of the sourced ROS 2 workspace",
    };
    format!(
        "{SHORT}{commit}{build}\n3D viewer: {viewer}\noutput formats: {}\nROS networks: {networks}\nROS client: {}",
        formats.join(", "),
        urdf_usd_ros::CLIENT
    )
}
