//! The node without a ROS installation: DDS in Rust (RustDDS), on the same network as any ROS 2 node.
//!
//! Only this module and its children name that crate. What makes a ROS node of a DDS participant is added here: the names and wire
//! formats of ROS, the graph, parameters with descriptions and ranges, remaps, simulated time, the network settings of ROS 2.
//!
//! The node runs on two threads of its own. What arrives is decoded there and put into queues; what is published is taken out of
//! queues there. Nothing here ever runs the caller's code.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use rustdds::no_key::DefaultDecoder;
use rustdds::{CDRDeserializerAdapter, DomainParticipant, DomainParticipantBuilder, RTPSEntity};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

mod dds;
mod graph;
mod long;
mod network;
mod observe;
mod service;
#[cfg(test)]
mod tests;
mod wire;

pub use super::environment::Reach;
pub use network::{Network, ServiceWire};

use super::args::Args;
use super::faults::{Recurring, ended};
use super::msg::{Message, Service};
use super::own::Own;
use super::threads::{Task, Threads};
use super::{Node, Observed, Publisher, PublisherId, Qos, Requests, Sample, Subscription, codes, queue};
use crate::diagnostic::{Diagnostic, Place};
use dds::{Dds, DdsTopic, Reader, Writer};
use graph::{Graph, ParticipantInfo};

/// A ROS 2 node on the embedded client.
pub struct Embedded(Arc<Inner>);

struct Inner {
    own: Own,
    network: Network,
    handle: Handle,
    graph: Arc<Graph>,
    /// `None` after shutdown.
    live: Mutex<Option<Live>>,
}

/// What ends with the node. Fields are dropped in order: endpoints (in the runtime's tasks), participant.
struct Live {
    threads: Threads,
    graph: Arc<Graph>,
    infos: Arc<Writer<ParticipantInfo>>,
    dds: Dds,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.graph.leave(self.dds.participant.guid(), &self.infos);
        self.threads.end();
    }
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
        let handle = threads.handle().clone();
        let graph = Graph::new(own.names.node.clone());
        let dds = Dds::new(participant(network)?, graph.clone())?;
        let infos = Arc::new(dds.writer(graph::discovery_topic(), &graph::discovery_qos())?);
        handle.spawn(graph.clone().hear_ends(dds.participant.clone()));
        handle.spawn(graph.clone().hear_nodes(dds.reader(graph::discovery_topic(), &graph::discovery_qos())?));
        handle.spawn(graph.clone().tell(dds.participant.guid(), infos.clone()));
        let inner = Arc::new(Inner {
            handle,
            own,
            network: network.clone(),
            graph: graph.clone(),
            live: Mutex::new(Some(Live { threads, graph, infos, dds })),
        });
        let embedded = Self(inner);
        let inner = &embedded.0;
        let node = Arc::downgrade(inner);
        let ticks = move || node.upgrade().ok_or_else(ended)?.subscribe("/clock", Qos::best_effort(1));
        inner.own.open(&embedded, ticks, |task| drop(inner.spawn(task)))?;
        tracing::debug!(node = embedded.fully_qualified_name(), ?network, "joined the ROS graph");
        Ok(embedded)
    }
}

impl Inner {
    fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a task of this node, until it ends or the handle is told to abort or the node shuts down.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.handle.spawn(task).abort_handle()
    }

    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
        let name = self.own.names.topic(topic)?;
        self.listen::<M, CDRDeserializerAdapter<M>>(wire::topic(&name, &M::TYPE.of_message()), name, qos)
    }

    fn observe(&self, topic: &str, type_name: &str, qos: Qos) -> Result<Subscription<Observed>, Diagnostic> {
        let name = self.own.names.topic(topic)?;
        self.listen::<Observed, observe::Look>(wire::topic(&name, type_name), name, qos)
    }

    fn listen<M, A>(&self, topic: DdsTopic, name: String, qos: Qos) -> Result<Subscription<M>, Diagnostic>
    where
        M: Send + 'static,
        A: DefaultDecoder<M> + Send + Sync + 'static,
        A::Decoder: Send,
    {
        let reader: Reader<M, A> = self.live().as_ref().ok_or_else(ended)?.dds.reader(topic, &wire::subscription(qos))?;
        let (sender, receiver) = queue::keep_last(qos.depth);
        let heard = name.clone();
        let task = self.spawn(async move {
            let mut samples = std::pin::pin!(reader.stream());
            let mut faults = Recurring::default();
            while let Some(sample) = samples.next().await {
                match sample {
                    Ok(change) => {
                        let publisher = PublisherId(change.writer_guid().to_bytes());
                        sender.push(Sample { message: change.into_value(), publisher });
                    }
                    Err(e) => faults.tell(|n| tracing::warn!("{heard}: {n} message(s) could not be read; the last: {e:?}")),
                }
            }
        });
        Ok(Subscription::new(name, receiver, Arc::new(Task(task))))
    }

    fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic> {
        let name = self.own.names.topic(topic)?;
        let topic = wire::topic(&name, &M::TYPE.of_message());
        let writer: Writer<M> = self.live().as_ref().ok_or_else(ended)?.dds.writer(topic, &wire::publisher(qos))?;
        let (sender, mut receiver) = queue::keep_last(qos.depth);
        let said = name.clone();
        self.spawn(async move {
            let mut faults = Recurring::default();
            while let Some(message) = receiver.next().await {
                if let Err(e) = writer.write(message).await {
                    faults.tell(|n| tracing::warn!("{said}: {n} message(s) could not be sent; the last: {e}"));
                }
            }
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

/// Opens the network.
fn participant(network: &Network) -> Result<DomainParticipant, Diagnostic> {
    let mut builder = DomainParticipantBuilder::new(network.domain);
    if let Some(interfaces) = network.interfaces() {
        builder = builder.same_host_loopback(!interfaces.is_empty()).with_only_networks(interfaces);
    }
    builder.build().map_err(|e| {
        transport(&format!("can't open the network (domain {})", network.domain), e)
            .help("is UDP allowed here, and is this domain not full? ROS_DOMAIN_ID chooses another one")
    })
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
        let participant = self.0.live().as_ref().map(|live| live.dds.participant.clone());
        participant.map(|participant| self.0.graph.all(&participant)).unwrap_or_default()
    }

    fn graph_changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.0.graph.changes()
    }

    fn shutdown(&self) {
        let Some(live) = self.0.live().take() else { return };
        self.0.own.parameters.end();
        // A runtime can't be shut down on a thread that runs asynchronous code, which this may be.
        let name = self.fully_qualified_name();
        let leave = std::thread::spawn(move || drop(live));
        if leave.join().is_err() {
            tracing::warn!("{name}: did not leave the ROS graph in good order");
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.shutdown();
    }
}
