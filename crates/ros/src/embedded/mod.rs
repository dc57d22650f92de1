//! The node without a ROS installation: DDS in the program itself, in Rust (RustDDS) or, with the feature `cyclone` and among nodes of
//! `rmw_cyclonedds_cpp`, in C (Cyclone DDS), on the same network as any ROS 2 node.
//!
//! Only this module and its children name those crates. What makes a ROS node of a DDS participant is added here: the names and wire
//! formats of ROS, the graph, parameters with descriptions and ranges, remaps, simulated time, the network settings of ROS 2.
//!
//! The node runs on two threads of its own. What arrives is decoded there and put into queues; what is published is taken out of
//! queues there. Nothing here ever runs the caller's code.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
use super::faults::{Recurring, ended};
use super::msg::{Message, Service};
use super::own::Own;
use super::threads::Threads;
use super::{Node, Observed, Publisher, PublisherId, Qos, Requests, Sample, Subscription, cdr, codes, queue};
use dds::{Arrived, DdsTopic};
use ends::{Heeded, Said};
use supervisor::{Patience, Supervisor};
use urdf_usd_diagnostic::{Diagnostic, Place};

/// A ROS 2 node on the embedded client.
pub struct Embedded(Arc<Inner>);

struct Inner {
    own: Own,
    network: Network,
    handle: Handle,
    changes: watch::Sender<()>,
    supervisor: Supervisor,
    /// `None` after shutdown.
    threads: Mutex<Option<Threads>>,
}

fn transport(what: &str, why: impl std::fmt::Debug) -> Diagnostic {
    Diagnostic::new(&codes::TRANSPORT, Place::default(), format!("{what}: {why:?}"))
}

impl Embedded {
    /// Joins the ROS graph as the node that calls itself `default_name`, under `args`.
    ///
    /// Blocks for some tenths of a second at most.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
    pub fn start(default_name: &str, args: &Args, network: &Network) -> Result<Self, Diagnostic> {
        let own = Own::new(default_name, args)?;
        let threads = Threads::new()?;
        let (handle, changes) = (threads.handle().clone(), watch::channel(()).0);
        let parameters = own.parameters.clone();
        let supervisor =
            Supervisor::start(network, &own.names.node, &changes, &handle, Patience::default(), move || parameters.end())?;
        let threads = Mutex::new(Some(threads));
        let embedded = Self(Arc::new(Inner { own, network: network.clone(), handle, changes, supervisor, threads }));
        let inner = &embedded.0;
        let node = Arc::downgrade(inner);
        let ticks = move || node.upgrade().ok_or_else(ended)?.subscribe("/clock", Qos::best_effort(1));
        inner.own.open(&embedded, ticks, |task| drop(inner.handle.spawn(task)))?;
        tracing::debug!(node = embedded.fully_qualified_name(), ?network, "joined the ROS graph");
        Ok(embedded)
    }
}

impl Inner {
    /// Whether the node is still there.
    fn check(&self) -> Result<(), Diagnostic> {
        self.supervisor.sessions.current().map(drop)
    }

    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
        let name = self.own.names.topic(topic)?;
        self.listen(wire::topic(&name, &M::TYPE.of_message()), name, qos, cdr::decode)
    }

    fn observe(&self, topic: &str, type_name: &str, qos: Qos) -> Result<Subscription<Observed>, Diagnostic> {
        let name = self.own.names.topic(topic)?;
        self.listen(wire::topic(&name, type_name), name, qos, |message| Ok(cdr::observe(message)))
    }

    fn listen<M: Send + 'static>(
        &self,
        topic: DdsTopic,
        name: String,
        qos: Qos,
        decode: fn(&[u8]) -> Result<M, String>,
    ) -> Result<Subscription<M>, Diagnostic> {
        self.check()?;
        let (sender, receiver) = queue::keep_last(qos.depth);
        let (heard, faults, ended) = (name.clone(), Mutex::new(Recurring::default()), sender.clone());
        let hear = move |arrived: Arrived| match decode(&arrived.payload) {
            Ok(message) => drop(sender.push(Sample { message, publisher: PublisherId(arrived.writer.0) })),
            Err(e) => faults
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .tell(|n| tracing::warn!("{heard}: {n} message(s) could not be read; the last: {e}")),
        };
        let heeded = Arc::new(Heeded {
            topic,
            name: name.clone(),
            qos,
            hear: Box::new(hear),
            close: Box::new(move || ended.close()),
            heard: Mutex::default(),
        });
        let registered = self.supervisor.open(&heeded);
        Ok(Subscription::new(name, receiver, Arc::new((registered, heeded))))
    }

    fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic> {
        self.check()?;
        let name = self.own.names.topic(topic)?;
        let topic = wire::topic(&name, &M::TYPE.of_message());
        let (sender, receiver) = queue::keep_last(qos.depth);
        let said = Arc::new(Said { topic, name: name.clone(), qos, writer: watch::channel(None).0 });
        let registered = self.supervisor.open(&said);
        self.handle.spawn(async move {
            ends::say::<M>(said, receiver).await;
            drop(registered);
        });
        let publish = move |message| {
            if sender.is_closed() {
                return Err(ended());
            }
            sender.push(message);
            Ok(())
        };
        Ok(Publisher::new(&name, Arc::new(publish)))
    }
}

impl Node for Embedded {
    fn own(&self) -> &Own {
        &self.0.own
    }

    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
        self.0.subscribe(topic, qos)
    }

    fn observe(&self, topic: &str, type_name: &str, qos: Qos) -> Result<Subscription<Observed>, Diagnostic> {
        self.0.observe(topic, type_name, qos)
    }

    fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic> {
        self.0.advertise(topic, qos)
    }

    fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic> {
        self.0.serve(service)
    }

    async fn call<S: Service>(
        &self,
        service: &str,
        request: S::Request,
        patience: Duration,
    ) -> Result<S::Response, Diagnostic> {
        self.0.call::<S>(service, request, patience).await
    }

    fn graph(&self) -> super::Graph {
        self.0.supervisor.sessions.graph()
    }

    fn graph_changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    fn failure(&self) -> Option<Diagnostic> {
        self.0.supervisor.failure()
    }

    fn shutdown(&self) {
        let Some(mut threads) = self.0.threads.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        self.0.own.parameters.end();
        self.0.supervisor.leave();
        // A runtime can't be shut down on a thread that runs asynchronous code, which this may be.
        if std::thread::spawn(move || threads.end()).join().is_err() {
            tracing::warn!("{}: did not leave the ROS graph in good order", self.fully_qualified_name());
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.shutdown();
    }
}
