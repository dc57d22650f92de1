//! The node without a ROS installation: DDS in the program itself, in Rust (RustDDS) or, with the feature `cyclone` and among nodes of
//! `rmw_cyclonedds_cpp`, in C (Cyclone DDS), on the same network as any ROS 2 node.
//!
//! Only this module and its children name those crates. What makes a ROS node of a DDS participant is added here: the names and wire
//! formats of ROS, the graph, the network settings of ROS 2.
//!
//! What every client does is in [`super::client`]; here is a [`Transport`]. Its ends are opened by threads of their own, once in each
//! session, and it has a session after the other ([`supervisor`]).

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::watch;

mod dds;
mod ends;
mod graph;
mod network;
mod rtps;
mod service;
mod session;
mod supervisor;
#[cfg(test)]
mod tests;
mod wire;

pub use super::environment::Reach;
pub use network::{Network, ServiceWire};

use super::args::Args;
use super::client::Client;
use super::threads::Threads;
use super::transport::{Limit, MessageCallback, Name, Open, Opened, RequestCallback, Setup, Transport};
use super::{Graph, PublisherId, Qos, Sample, codes};
use dds::Arrived;
use ends::{PublisherEnd, SubscriptionEnd};
use supervisor::{Patience, Supervisor};
use urdf_usd_diagnostic::{Diagnostic, Place};

/// The ROS graph, over DDS.
struct Embedded {
    services: ServiceWire,
    handle: Handle,
    changes: watch::Sender<()>,
    supervisor: Supervisor,
}

fn transport(what: &str, why: impl std::fmt::Debug) -> Diagnostic {
    Diagnostic::new(&codes::TRANSPORT, Place::default(), format!("{what}: {why:?}"))
}

/// Joins the ROS graph as the node that calls itself `default_name`, under `args`.
///
/// Blocks for some tenths of a second at most.
///
/// # Errors
/// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
pub fn start(default_name: &str, args: &Args, network: &Network) -> Result<Client, Diagnostic> {
    Client::join(default_name, args, |setup| {
        let Setup { node, handle, changes, end } = setup;
        let supervisor = Supervisor::start(network, &node, &changes, &handle, Patience::default(), move || end())?;
        tracing::debug!(?network, "joined DDS");
        Ok(Box::new(Embedded { services: network.services, handle, changes, supervisor }) as Box<dyn Transport>)
    })
}

impl Transport for Embedded {
    fn listen(&self, topic: &Name, qos: Qos, hear: MessageCallback<Bytes>) -> Result<Open, Diagnostic> {
        let hear = move |arrived: Arrived| {
            hear(Ok(Sample { message: arrived.payload, publisher: PublisherId(arrived.writer.0) }));
        };
        let subscription = Arc::new(SubscriptionEnd {
            topic: wire::topic(&topic.full, &topic.type_name),
            name: topic.full.clone(),
            qos,
            hear: Box::new(hear),
            seen: Mutex::default(),
        });
        Ok(Box::new((self.supervisor.open(&subscription), subscription)))
    }

    fn advertise(&self, topic: &Name, qos: Qos, opened: Opened<Bytes>) -> Result<Open, Diagnostic> {
        let publisher =
            Arc::new(PublisherEnd { topic: wire::topic(&topic.full, &topic.type_name), name: topic.full.clone(), qos, opened });
        Ok(Box::new((self.supervisor.open(&publisher), publisher)))
    }

    fn serve(&self, service: &Name, ask: RequestCallback<Bytes, Bytes>) -> Result<Open, Diagnostic> {
        Ok(match self.services {
            ServiceWire::Cyclone => self.serve_as::<service::Cyclone>(service, ask),
            ServiceWire::FastDds => self.serve_as::<service::FastDds>(service, ask),
        })
    }

    fn call<'a>(&'a self, service: &'a Name, request: Bytes, limit: Limit) -> BoxFuture<'a, Result<Bytes, Diagnostic>> {
        match self.services {
            ServiceWire::Cyclone => self.call_as::<service::Cyclone>(service, request, limit).boxed(),
            ServiceWire::FastDds => self.call_as::<service::FastDds>(service, request, limit).boxed(),
        }
    }

    fn graph(&self) -> Graph {
        self.supervisor.sessions.graph()
    }

    fn failure(&self) -> Option<Diagnostic> {
        self.supervisor.failure()
    }

    fn leave(&self, open: Vec<Open>, mut threads: Threads) {
        // What is open is closed with its session.
        self.supervisor.leave();
        drop(open);
        threads.end();
    }
}
