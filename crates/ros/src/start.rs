//! Which ROS client a node runs on: decided when it is built, and by `RMW_IMPLEMENTATION` where there is a choice.

use super::Args;
use urdf_usd_diagnostic::Diagnostic;

/// The client: rcl in a ROS 2 workspace, otherwise the embedded one, or Zenoh.
#[cfg(feature = "rclrs")]
pub type Client = super::rclrs::Rclrs;
#[cfg(not(feature = "rclrs"))]
pub use without_rcl::Client;

/// Joins the ROS graph as the node that calls itself `default_name`, under `args` and the environment, and tells what of these has no
/// effect.
///
/// # Errors
/// [`super::codes::INVALID_NAME`], [`super::codes::ENVIRONMENT`], [`super::codes::TRANSPORT`].
pub fn start(default_name: &str, args: &Args) -> Result<Client, Diagnostic> {
    for argument in &args.without_effect {
        tracing::warn!("{argument} has no effect here");
    }
    Client::start(default_name, args)
}

#[cfg(not(feature = "rclrs"))]
mod without_rcl {
    use std::time::Duration;

    use tokio::sync::watch;

    use crate::embedded::{Embedded, Network};
    use crate::msg::{Message, Service};
    #[cfg(feature = "zenoh")]
    use crate::zenoh::{Settings, Zenoh};
    use crate::{Args, Graph, Node, Observed, Own, Publisher, Qos, Requests, Subscription};
    use urdf_usd_diagnostic::Diagnostic;

    /// The client that suits `RMW_IMPLEMENTATION`.
    pub enum Client {
        /// For all RMWs that speak DDS.
        Embedded(Embedded),
        /// For `rmw_zenoh_cpp`.
        #[cfg(feature = "zenoh")]
        Zenoh(Zenoh),
    }

    impl Client {
        pub(super) fn start(default_name: &str, args: &Args) -> Result<Self, Diagnostic> {
            #[cfg(feature = "zenoh")]
            if std::env::var("RMW_IMPLEMENTATION").is_ok_and(|rmw| rmw.trim() == "rmw_zenoh_cpp") {
                let settings = Settings::from_env()?;
                settings.without_effect.iter().for_each(|diagnostic| tracing::warn!("{diagnostic}"));
                return Ok(Self::Zenoh(Zenoh::start(default_name, args, &settings)?));
            }
            Ok(Self::Embedded(Embedded::start(default_name, args, &Network::from_env()?)?))
        }
    }

    macro_rules! either {
        ($client:expr, $node:ident => $what:expr) => {
            match $client {
                Client::Embedded($node) => $what,
                #[cfg(feature = "zenoh")]
                Client::Zenoh($node) => $what,
            }
        };
    }

    impl Node for Client {
        fn own(&self) -> &Own {
            either!(self, node => node.own())
        }

        fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
            either!(self, node => node.subscribe(topic, qos))
        }

        fn observe(&self, topic: &str, type_name: &str, qos: Qos) -> Result<Subscription<Observed>, Diagnostic> {
            either!(self, node => node.observe(topic, type_name, qos))
        }

        fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic> {
            either!(self, node => node.advertise(topic, qos))
        }

        fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic> {
            either!(self, node => node.serve(service))
        }

        async fn call<S: Service>(
            &self,
            service: &str,
            request: S::Request,
            patience: Duration,
        ) -> Result<S::Response, Diagnostic> {
            either!(self, node => node.call::<S>(service, request, patience).await)
        }

        fn graph(&self) -> Graph {
            either!(self, node => node.graph())
        }

        fn graph_changes(&self) -> watch::Receiver<()> {
            either!(self, node => node.graph_changes())
        }

        fn failure(&self) -> Option<Diagnostic> {
            either!(self, node => node.failure())
        }

        fn shutdown(&self) {
            either!(self, node => node.shutdown());
        }
    }
}
