//! The node without a ROS installation: DDS in Rust (`ros2-client` on RustDDS), on the same network as any ROS 2 node.
//!
//! Only this module and its children name those crates. What they leave out of a ROS node is added here: parameters with
//! descriptions and ranges, remaps, simulated time, the network settings of ROS 2.
//!
//! The node runs on two threads of its own. What arrives is decoded there and put into queues; what is published is taken out of
//! queues there. Nothing here ever runs the caller's code.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use ros2_client::{Context, MessageTypeName, NodeOptions};
use rustdds::{DomainParticipantBuilder, Topic, TopicKind};
use tokio::runtime::{Handle, Runtime};
use tokio::task::AbortHandle;

mod graph;
mod network;
mod service;
#[cfg(test)]
mod tests;
mod wire;

pub use network::{Network, Reach, ServiceWire};

use super::args::Args;
use super::clock::Clock;
use super::msg::builtin_interfaces::Time;
use super::msg::{Message, Service, TypeName};
use super::names::Names;
use super::parameter::{Changes, Declaration, Value};
use super::served::Parameters;
use super::{Node, Observed, Publisher, PublisherId, Qos, Requests, Sample, Subscription, codes, queue};
use crate::diagnostic::{Diagnostic, Place};
use graph::Graph;

/// How long tasks may take to end at shutdown.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(1);

/// A ROS 2 node on the embedded client.
pub struct Embedded(Arc<Inner>);

struct Inner {
    names: Names,
    network: Network,
    handle: Handle,
    parameters: Arc<Parameters>,
    clock: Arc<Clock>,
    graph: Arc<Graph>,
    /// `None` after shutdown.
    live: Mutex<Option<Live>>,
}

/// What ends with the node. Fields are dropped in order: endpoints (in the runtime's tasks), node, participant.
struct Live {
    runtime: Option<Runtime>,
    node: ros2_client::Node,
    context: Context,
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(SHUTDOWN_PATIENCE);
        }
    }
}

fn transport(what: &str, why: impl std::fmt::Debug) -> Diagnostic {
    Diagnostic::new(&codes::TRANSPORT, Place::default(), format!("{what}: {why:?}"))
}

fn ended() -> Diagnostic {
    Diagnostic::new(&codes::TRANSPORT, Place::default(), "the node has shut down")
}

impl Embedded {
    /// Joins the ROS graph as the node that calls itself `default_name`, under `args`.
    ///
    /// Blocks for some tenths of a second at most.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
    pub fn start(default_name: &str, args: &Args, network: &Network) -> Result<Self, Diagnostic> {
        let names = args.names(default_name)?;
        let name = ros2_client::NodeName::new(&names.node.namespace, &names.node.name).map_err(|e| {
            Diagnostic::new(&codes::INVALID_NAME, Place::default(), format!("`{}`: {e}", names.node.fully_qualified()))
        })?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("ros")
            .enable_time()
            .build()
            .map_err(|e| transport("can't start threads", e))?;
        let context = context(network)?;
        let options = NodeOptions::new().enable_rosout(false).start_parameter_services(false);
        let node = context.new_node(name, options).map_err(|e| transport("can't create the node", e))?;
        let graph = Graph::new();
        runtime.spawn(graph.clone().follow(context.domain_participant().status_listener()));
        let overrides = args.overrides_for(&names.node.fully_qualified());
        let inner = Arc::new(Inner {
            handle: runtime.handle().clone(),
            parameters: Arc::new(Parameters::new(names.node.fully_qualified(), overrides)),
            clock: Arc::default(),
            names,
            network: network.clone(),
            graph,
            live: Mutex::new(Some(Live { runtime: Some(runtime), node, context })),
        });
        let embedded = Self(inner);
        let inner = &embedded.0;
        inner.parameters.serve(&embedded, |task| drop(inner.spawn(task)))?;
        let node = Arc::downgrade(inner);
        let clock = move || node.upgrade().ok_or_else(ended)?.subscribe("/clock", Qos::best_effort(1));
        inner.spawn(inner.clock.clone().follow(&inner.parameters, clock)?);
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

    fn topic(&self, live: &Live, name: &str, kind: TypeName, qos: &rustdds::QosPolicies) -> Result<Topic, Diagnostic> {
        let kind = MessageTypeName::new(kind.package, kind.name).dds_msg_type();
        let participant = live.context.domain_participant();
        participant
            .create_topic(format!("rt{name}"), kind, qos, TopicKind::NoKey)
            .map_err(|e| transport(&format!("topic {name}"), e))
    }

    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
        let name = self.names.topic(topic)?;
        let mut live = self.live();
        let live = live.as_mut().ok_or_else(ended)?;
        let topic = self.topic(live, &name, M::TYPE, &wire::subscription(qos))?;
        let reader = live
            .node
            .create_subscription::<M>(&topic, None)
            .map_err(|e| transport(&format!("can't subscribe to {name}"), e))?;
        let (sender, receiver) = queue::keep_last(qos.depth);
        let heard = name.clone();
        let task = self.spawn(async move {
            let mut samples = std::pin::pin!(reader.async_stream());
            let mut faults = Recurring::default();
            while let Some(sample) = samples.next().await {
                match sample {
                    Ok((message, info)) => {
                        sender.push(Sample { message, publisher: PublisherId(info.publisher_gid().to_bytes16()) });
                    }
                    Err(e) => faults.tell(|n| tracing::warn!("{heard}: {n} message(s) could not be read; the last: {e:?}")),
                }
            }
        });
        Ok(Subscription::new(name, receiver, Arc::new(Task(task))))
    }

    fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic> {
        let name = self.names.topic(topic)?;
        let mut live = self.live();
        let live = live.as_mut().ok_or_else(ended)?;
        let topic = self.topic(live, &name, M::TYPE, &wire::publisher(qos))?;
        let writer =
            live.node.create_publisher::<M>(&topic, None).map_err(|e| transport(&format!("can't publish {name}"), e))?;
        let (sender, mut receiver) = queue::keep_last(qos.depth);
        let said = name.clone();
        self.spawn(async move {
            let mut faults = Recurring::default();
            while let Some(message) = receiver.next().await {
                if let Err(e) = writer.async_publish(message).await {
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
fn context(network: &Network) -> Result<Context, Diagnostic> {
    let mut builder = DomainParticipantBuilder::new(network.domain);
    if let Some(interfaces) = network.interfaces() {
        builder = builder.same_host_loopback(!interfaces.is_empty()).with_only_networks(interfaces);
    }
    let participant = builder.build().map_err(|e| {
        transport(&format!("can't open the network (domain {})", network.domain), e)
            .help("is UDP allowed here, and is this domain not full? ROS_DOMAIN_ID chooses another one")
    })?;
    Context::from_domain_participant(participant).map_err(|e| transport("can't join the ROS graph", e))
}

/// Aborts its task when dropped.
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells of something that may recur without end: of the 1st, 2nd, 4th, 8th … time only.
#[derive(Default)]
struct Recurring(u64);

impl Recurring {
    fn tell(&mut self, tell: impl FnOnce(u64)) {
        self.0 += 1;
        if self.0.is_power_of_two() {
            tell(self.0);
        }
    }
}

impl Node for Embedded {
    fn name(&self) -> &str {
        &self.0.names.node.name
    }

    fn namespace(&self) -> &str {
        &self.0.names.node.namespace
    }

    fn resolve_topic(&self, name: &str) -> Result<String, Diagnostic> {
        self.0.names.topic(name)
    }

    fn resolve_service(&self, name: &str) -> Result<String, Diagnostic> {
        self.0.names.service(name)
    }

    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
        self.0.subscribe(topic, qos)
    }

    fn observe(&self, topic: &str, _type_name: &str, _qos: Qos) -> Result<Subscription<Observed>, Diagnostic> {
        Err(transport("can't subscribe", topic))
    }

    fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic> {
        self.0.advertise(topic, qos)
    }

    fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic> {
        self.0.serve(service)
    }

    async fn call<S: Service>(&self, service: &str, _: S::Request, _: Duration) -> Result<S::Response, Diagnostic> {
        Err(transport("can't call", service))
    }

    fn graph(&self) -> super::Graph {
        super::Graph::default()
    }

    fn graph_changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.0.graph.changes()
    }

    fn declare(&self, declaration: Declaration) -> Result<Value, Diagnostic> {
        self.0.parameters.declare(declaration)
    }

    fn unused_overrides(&self) -> Vec<Diagnostic> {
        self.0.parameters.unused_overrides()
    }

    fn changes(&self) -> Changes {
        self.0.parameters.changes()
    }

    fn now(&self) -> Time {
        self.0.clock.now()
    }

    fn shutdown(&self) {
        let Some(live) = self.0.live().take() else { return };
        self.0.parameters.end();
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
