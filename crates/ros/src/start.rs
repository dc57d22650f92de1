//! Selects the ROS client of a node: by the features of the build, then by `RMW_IMPLEMENTATION`.

use super::Args;
use urdf_usd_diagnostic::Diagnostic;

/// The name of this build's ROS client: `rclrs`, `r2r` or `embedded`.
pub const CLIENT: &str = if cfg!(feature = "rclrs") {
    "rclrs"
} else if cfg!(feature = "r2r") {
    "r2r"
} else {
    "embedded"
};

/// The client: rcl in a ROS 2 workspace, through rclrs.
#[cfg(feature = "rclrs")]
pub type Started = super::client::Client<super::rclrs::Rclrs>;
/// The client: rcl in a ROS 2 workspace, through r2r.
#[cfg(all(feature = "r2r", not(feature = "rclrs")))]
pub type Started = super::client::Client<super::r2r::R2r>;
/// The client: DDS or Zenoh.
#[cfg(not(feature = "rcl"))]
pub type Started = super::client::Client;

/// Joins the ROS graph as the node that calls itself `default_name`, under `args` and the
/// environment.
///
/// Warns of arguments and variables without effect.
///
/// # Errors
/// [`super::codes::INVALID_NAME`], [`super::codes::ENVIRONMENT`], [`super::codes::TRANSPORT`].
pub fn start(default_name: &str, args: &Args) -> Result<Started, Diagnostic> {
    for argument in &args.without_effect {
        tracing::warn!("{argument} has no effect here");
    }
    join(default_name, args)
}

#[cfg(feature = "rclrs")]
use super::rclrs::start as join;

#[cfg(all(feature = "r2r", not(feature = "rclrs")))]
use super::r2r::start as join;

/// Joins through the network that matches `RMW_IMPLEMENTATION`.
#[cfg(not(feature = "rcl"))]
fn join(default_name: &str, args: &Args) -> Result<Started, Diagnostic> {
    #[cfg(feature = "zenoh")]
    if std::env::var("RMW_IMPLEMENTATION").is_ok_and(|rmw| rmw.trim() == "rmw_zenoh_cpp") {
        let settings = super::zenoh::Settings::from_env()?;
        settings
            .without_effect
            .iter()
            .for_each(|diagnostic| tracing::warn!("{diagnostic}"));
        return super::zenoh::start(default_name, args, &settings);
    }
    let network = super::embedded::Network::from_env()?;
    network
        .notice
        .iter()
        .for_each(|notice| tracing::warn!("{notice}"));
    super::embedded::start(default_name, args, &network)
}
