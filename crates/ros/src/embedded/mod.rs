//! The node without a ROS installation: Eclipse Cyclone DDS in the program itself, on the same
//! network as any ROS 2 node.
//!
//! Here a DDS participant becomes a ROS node: the names and wire formats of ROS, the graph, the
//! network settings of ROS 2. What every client does is in [`super::client`]; this is a
//! [`Transport`]. Its endpoints are opened by a thread of their own, once in each session
//! ([`supervisor`]).

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::watch;

mod dds;
mod ends;
mod graph;
mod network;
mod service;
mod session;
mod supervisor;
#[cfg(test)]
mod tests;
mod wire;

pub use super::environment::Reach;
pub use network::Network;

use super::args::Args;
use super::client::Client;
use super::threads::Threads;
use super::transport::{
    Limit, MessageCallback, Name, Open, Opened, RequestCallback, Setup, Transport,
};
use super::{Graph, PublisherId, Qos, Sample};
use dds::Arrived;
use ends::{PublisherEnd, SubscriptionEnd};
use supervisor::Supervisor;
use urdf_usd_diagnostic::Diagnostic;

/// The ROS graph, over DDS.
struct Embedded {
    handle: Handle,
    changes: watch::Sender<()>,
    supervisor: Supervisor,
}

/// Joins the ROS graph as the node that calls itself `default_name`, under `args`.
///
/// Blocks for some tenths of a second at most.
///
/// # Errors
/// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
pub fn start(default_name: &str, args: &Args, network: &Network) -> Result<Client, Diagnostic> {
    Client::join(default_name, args, |setup| {
        let Setup {
            node,
            handle,
            changes,
            end,
        } = setup;
        let supervisor = Supervisor::start(network, &node, &changes, &handle, end)?;
        tracing::debug!(?network, "joined DDS");
        Ok(Box::new(Embedded {
            handle,
            changes,
            supervisor,
        }) as Box<dyn Transport>)
    })
}

impl Transport for Embedded {
    fn listen(
        &self,
        topic: &Name,
        qos: Qos,
        hear: MessageCallback<Bytes>,
    ) -> Result<Open, Diagnostic> {
        let hear = move |arrived: Arrived| {
            hear(Ok(Sample {
                message: arrived.payload,
                publisher: PublisherId(arrived.writer.0),
            }));
        };
        let subscription = Arc::new(SubscriptionEnd {
            topic: wire::topic(topic),
            name: topic.full.clone(),
            qos,
            hear: Box::new(hear),
            seen: Mutex::default(),
        });
        Ok(Box::new((
            self.supervisor.open(&subscription),
            subscription,
        )))
    }

    fn advertise(&self, topic: &Name, qos: Qos, opened: Opened<Bytes>) -> Result<Open, Diagnostic> {
        let publisher = Arc::new(PublisherEnd {
            topic: wire::topic(topic),
            name: topic.full.clone(),
            qos,
            opened,
        });
        Ok(Box::new((self.supervisor.open(&publisher), publisher)))
    }

    fn serve(
        &self,
        service: &Name,
        ask: RequestCallback<Bytes, Bytes>,
    ) -> Result<Open, Diagnostic> {
        Ok(self.serve_service(service, ask))
    }

    fn call<'a>(
        &'a self,
        service: &'a Name,
        request: Bytes,
        limit: Limit,
    ) -> BoxFuture<'a, Result<Bytes, Diagnostic>> {
        Box::pin(self.call_service(service, request, limit))
    }

    fn graph(&self) -> Graph {
        self.supervisor.sessions.graph()
    }

    fn leave(&self, open: Vec<Open>, mut threads: Threads) {
        // What is open is closed with its session.
        self.supervisor.leave();
        drop(open);
        threads.end();
    }
}
