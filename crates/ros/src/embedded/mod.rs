//! A ROS 2 node without a ROS installation: Eclipse Cyclone DDS, linked into the program, on the
//! same network as any ROS 2 node.
//!
//! This module makes a ROS node of a DDS participant: names and wire formats of ROS, the graph, the
//! network settings of ROS 2. It is a [`Transport`]; what all networks share is in
//! [`super::client`]. Each session opens all endpoints ([`keeper`]).

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::watch;

mod dds;
mod ends;
mod graph;
mod keeper;
mod network;
mod service;
mod session;
#[cfg(test)]
mod tests;
mod wire;

pub use super::environment::Reach;
pub use network::Network;

use super::args::Args;
use super::client::Client;
use super::opener::Upkeep;
use super::threads::Threads;
use super::transport::{
    Attempt, Limit, MessageCallback, Name, Open, Opened, RequestCallback, Transport,
};
use super::{Graph, PublisherId, Qos, Sample};
use dds::Arrived;
use ends::{PublisherEnd, SubscriptionEnd};
use keeper::{Keeper, LookUp, Sessions};
use service::ServerEnd;
use session::Session;
use urdf_usd_diagnostic::Diagnostic;

/// The ROS graph, over DDS.
struct Embedded {
    handle: Handle,
    changes: watch::Sender<()>,
    sessions: Arc<Sessions>,
}

/// Joins the ROS graph as the node that calls itself `default_name`, under `args`.
///
/// Blocks for a few tenths of a second at most.
///
/// # Errors
/// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
pub fn start(default_name: &str, args: &Args, network: &Network) -> Result<Client, Diagnostic> {
    start_with(default_name, args, network, keeper::look_up(network)?)
}

fn start_with(
    default_name: &str,
    args: &Args,
    network: &Network,
    look_up: LookUp,
) -> Result<Client, Diagnostic> {
    Client::join(default_name, args, |setup| {
        let keeper = Keeper::join(network, &setup, look_up)?;
        tracing::debug!(?network, "joined DDS");
        let embedded: Arc<dyn Transport> = Arc::new(Embedded {
            handle: setup.handle,
            changes: setup.changes,
            sessions: keeper.sessions(),
        });
        Ok((embedded, Some(Box::new(keeper) as Box<dyn Upkeep>)))
    })
}

impl Embedded {
    /// Returns an attempt that opens an endpoint in the session current at that time.
    fn attempt(
        self: Arc<Self>,
        open: impl Fn(&Arc<Session>, &Handle) -> Result<Open, Diagnostic> + Send + 'static,
    ) -> Attempt {
        Box::new(move || open(&self.sessions.open_in()?, &self.handle))
    }
}

impl Transport for Embedded {
    fn listen(self: Arc<Self>, topic: Name, qos: Qos, hear: MessageCallback<Bytes>) -> Attempt {
        let hear = move |arrived: Arrived| {
            hear(Ok(Sample {
                message: arrived.payload,
                publisher: PublisherId(arrived.writer.0),
            }));
        };
        // Outlives sessions, so that `seen` recognises a message that arrives in two of them.
        let subscription = Arc::new(SubscriptionEnd {
            topic: wire::topic(&topic),
            name: topic.full,
            qos,
            hear: Box::new(hear),
            seen: Mutex::default(),
        });
        self.attempt(move |session, handle| subscription.clone().open(session, handle))
    }

    fn advertise(self: Arc<Self>, topic: Name, qos: Qos, opened: Opened<Bytes>) -> Attempt {
        let publisher = PublisherEnd {
            topic: wire::topic(&topic),
            qos,
            opened,
        };
        self.attempt(move |session, _| publisher.open(session))
    }

    fn serve(self: Arc<Self>, service: Name, ask: RequestCallback<Bytes, Bytes>) -> Attempt {
        let server = ServerEnd::new(&service, ask, self.changes.clone());
        self.attempt(move |session, handle| server.clone().open(session, handle))
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
        self.sessions.graph()
    }

    fn leave(&self, open: Vec<Open>, mut threads: Threads) {
        self.sessions.leave(open);
        // Last: the aborted tasks drop their endpoints on these threads.
        threads.end();
    }
}
