//! Which ROS client a node runs on: decided when it is built.

use super::Args;
use crate::diagnostic::Diagnostic;

/// The client: rcl in a ROS 2 workspace, otherwise the embedded one.
#[cfg(feature = "rclrs")]
pub type Client = super::rclrs::Rclrs;
/// The client: rcl in a ROS 2 workspace, otherwise the embedded one.
#[cfg(not(feature = "rclrs"))]
pub type Client = super::embedded::Embedded;

/// Joins the ROS graph as the node that calls itself `default_name`, under `args` and the environment, and tells what of these has no
/// effect.
///
/// # Errors
/// [`super::codes::INVALID_NAME`], [`super::codes::ENVIRONMENT`], [`super::codes::TRANSPORT`].
pub fn start(default_name: &str, args: &Args) -> Result<Client, Diagnostic> {
    for argument in &args.without_effect {
        tracing::warn!("{argument} has no effect here");
    }
    #[cfg(feature = "rclrs")]
    return Client::start(default_name, args);
    #[cfg(not(feature = "rclrs"))]
    {
        let network = super::embedded::Network::from_env()?;
        for diagnostic in &network.without_effect {
            tracing::warn!("{diagnostic}");
        }
        Client::start(default_name, args, &network)
    }
}
