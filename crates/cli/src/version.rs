//! The output of `--version`.

/// The version alone.
pub(super) const SHORT: &str = env!("CARGO_PKG_VERSION");

/// The commit of a release build, with its date. Development builds have none, because every commit
/// would cause a rebuild.
const COMMIT: Option<&str> = option_env!("URDF_USD_COMMIT");

/// Returns the version, the commit, the features and the ROS client.
pub(super) fn long() -> String {
    let commit = COMMIT.map_or_else(String::new, |commit| format!(" ({commit})"));
    let build = if cfg!(debug_assertions) {
        ", development build"
    } else {
        ""
    };
    let has = [
        ("r2r", cfg!(feature = "r2r")),
        ("rclrs", cfg!(feature = "rclrs")),
        ("zenoh", cfg!(feature = "zenoh")),
    ];
    let has: Vec<&str> = has
        .into_iter()
        .filter(|(_, is_in)| *is_in)
        .map(|(name, _)| name)
        .collect();
    let features = if has.is_empty() {
        "none".to_owned()
    } else {
        has.join(", ")
    };
    format!(
        "{SHORT}{commit}{build}\nfeatures: {features}\nROS client: {}",
        urdf_usd_ros::CLIENT
    )
}
