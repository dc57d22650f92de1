//! What `--version` says.

/// The version alone.
pub(super) const SHORT: &str = env!("CARGO_PKG_VERSION");

/// The commit that a release build was made of, with its date; development builds have none, since
/// every commit would have the program built again.
const COMMIT: Option<&str> = option_env!("URDF_USD_COMMIT");

/// The version, the commit and what is built in.
pub(super) fn long() -> String {
    let commit = COMMIT.map_or_else(String::new, |commit| format!(" ({commit})"));
    let build = if cfg!(debug_assertions) {
        ", development build"
    } else {
        ""
    };
    let has = [
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
    format!("{SHORT}{commit}{build}\nfeatures: {features}")
}
