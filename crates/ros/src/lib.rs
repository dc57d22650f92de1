//! A ROS 2 node behind one small trait, [`Node`].
//!
//! The program's node is written once, against this trait. One ROS client implements it,
//! [`Client`], on one of four networks: [`embedded`] is Cyclone DDS linked into the program and
//! needs no ROS installation; `zenoh`, a feature, is compatible with `rmw_zenoh_cpp`; `rclrs` and
//! `r2r`, features, use rcl in a ROS 2 workspace. [`start`] picks the network. A further network is
//! an implementation of the trait `Transport`, which carries bytes, in the module `transport`.
//!
//! One thread, in the module `opener`, opens, retries and closes all endpoints. Received messages
//! go into bounded queues ([`queue`]) that are read with `await`: the caller's code never runs on a
//! client's thread, and no network blocks the node. Messages are plain structs ([`msg`]), generated
//! from their definitions.
//!
//! This crate knows nothing of robots, USD, glTF or HTTP. Only [`embedded`] may use
//! `urdf_usd_cyclone`, and only `r2r`, `rclrs` and `zenoh` those crates.

// Generated messages name this crate by its full path, here and in other crates.
extern crate self as urdf_usd_ros;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

pub mod args;
pub mod cdr;
mod client;
mod clock;
pub mod codes;
// Some distributions lack the messages that rcl would need for this.
#[cfg(not(feature = "rcl"))]
mod described;
pub mod embedded;
mod environment;
mod faults;
pub mod graph;
pub mod msg;
pub mod names;
mod node_state;
mod opener;
pub mod overrides;
pub mod parameter;
mod publishing;
pub mod queue;
#[cfg(feature = "r2r")]
pub mod r2r;
#[cfg(feature = "rclrs")]
pub mod rclrs;
pub mod rosout;
mod served;
mod start;
#[cfg(test)]
mod testing;
mod threads;
mod transport;
pub mod types;
#[cfg(feature = "zenoh")]
pub mod zenoh;

pub use args::Args;
pub use client::Client;
pub use clock::{Simulated, Timeline};
pub use graph::Graph;
pub use node_state::NodeState;
pub use parameter::{Changes, Declaration, Value};
pub use start::{CLIENT, Started, start};

use msg::builtin_interfaces::Time;
use msg::{Message, Service};
use urdf_usd_diagnostic::Diagnostic;

/// A ROS 2 node: topics, services and parameters.
///
/// Names are relative, absolute (`/tf`) or private (`~/asset`), as in any ROS client.
/// Implementations expand them with the node's namespace and apply its remaps. All methods may be
/// called from any thread, and none but [`Node::shutdown`] waits for the network: topics and
/// services are opened soon after the call. A failure to open one is logged and retried.
pub trait Node: Send + Sync + 'static {
    /// Returns the node's names, parameters and clock.
    fn state(&self) -> &NodeState;

    /// Returns the node's name without its namespace, after remapping: `urdf_usd`.
    fn name(&self) -> &str {
        &self.state().names.node.name
    }

    /// Returns the node's namespace, which begins with a slash: `/` or `/left_arm`.
    fn namespace(&self) -> &str {
        &self.state().names.node.namespace
    }

    /// Returns the fully qualified name: `/left_arm/urdf_usd`.
    fn fully_qualified_name(&self) -> String {
        self.state().names.node.fully_qualified()
    }

    /// Returns the absolute topic name of `name`, after expansion and remapping.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`].
    fn resolve_topic(&self, name: &str) -> Result<String, Diagnostic> {
        self.state().names.topic(name)
    }

    /// Returns the absolute service name of `name`, after expansion and remapping.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`].
    fn resolve_service(&self, name: &str) -> Result<String, Diagnostic> {
        self.state().names.service(name)
    }

    /// Subscribes to a topic until the [`Subscription`] is dropped.
    ///
    /// If the reader is slow, the oldest messages beyond `qos.depth` are dropped.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic>;

    /// Subscribes to a topic whose type is known only by name, as in `sensor_msgs/msg/Image`.
    ///
    /// This yields the time of each message, its publisher and its frame. See [`Node::subscribe`].
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
    fn observe(
        &self,
        topic: &str,
        type_name: &str,
        qos: Qos,
    ) -> Result<Subscription<Observed>, Diagnostic>;

    /// Advertises a topic until the [`Publisher`] and its clones are dropped.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
    fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic>;

    /// Offers a service until the [`Requests`] are dropped.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
    fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic>;

    /// Calls a service of another node.
    ///
    /// The search for its server and the answer together take no longer than `patience`.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`], [`codes::NO_ANSWER`].
    fn call<S: Service>(
        &self,
        service: &str,
        request: S::Request,
        patience: Duration,
    ) -> impl Future<Output = Result<S::Response, Diagnostic>> + Send;

    /// Returns the latest snapshot of the ROS graph.
    fn graph(&self) -> Graph;

    /// Returns a receiver that ticks after changes of the graph; several changes may share a tick.
    fn graph_changes(&self) -> tokio::sync::watch::Receiver<()>;

    /// Declares a parameter and returns its value: the override from the command line or a
    /// parameter file, else the default.
    ///
    /// After [`Node::finish_declaring`], `ros2 param` can see it and, unless it is read-only,
    /// change it within its type and range.
    ///
    /// # Errors
    /// [`codes::PARAMETER_TYPE`], [`codes::PARAMETER_VALUE`] for an override that does not fit the
    /// declaration.
    fn declare(&self, declaration: Declaration) -> Result<Value, Diagnostic> {
        self.state().parameters.declare(declaration)
    }

    /// Ends the declarations, and returns overrides for this node that match no declared parameter.
    ///
    /// Such overrides are most likely misspelt. Parameter services answer from now on, so that
    /// clients never see a partial list; rclcpp nodes that declare in their constructor achieve the
    /// same by spinning afterwards.
    fn finish_declaring(&self) -> Vec<Diagnostic> {
        self.state().parameters.finish_declaring()
    }

    /// Returns a stream of accepted parameter changes, in order, with the name of each.
    ///
    /// Call it before declaring to miss none.
    fn changes(&self) -> Changes {
        self.state().parameters.changes()
    }

    /// Returns the time in ROS terms: the system clock, or `/clock` while the parameter
    /// `use_sim_time` is true (zero until it ticks).
    fn now(&self) -> Time {
        self.state().clock.now()
    }

    /// Returns the time for timeouts, which stands still while `/clock` does.
    fn timeline(&self) -> Timeline {
        self.state().timeline()
    }

    /// Leaves the ROS graph, and waits a few seconds at most for that.
    ///
    /// Every [`Subscription`], [`Requests`] and [`Changes`] ends (its `next` returns `None`).
    /// Further calls have no effect; dropping the node does the same.
    fn shutdown(&self);
}

/// Policy for lost messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Lost messages are sent again.
    Reliable,
    /// Lost messages stay lost. Such a subscription matches every publisher.
    BestEffort,
}

/// Policy for subscribers that come late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// They receive only what is published after they connect.
    Volatile,
    /// They also receive the last `depth` messages ("latched").
    TransientLocal,
}

/// Quality of service of a topic, with the history policy "keep last".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qos {
    /// Policy for lost messages.
    pub reliability: Reliability,
    /// Policy for subscribers that come late.
    pub durability: Durability,
    /// Length of the history, at least 1.
    pub depth: usize,
    /// Time after which a published message expires; `None` for never.
    pub lifespan: Option<Duration>,
}

impl Qos {
    /// Reliable and volatile: the default of ROS clients.
    pub const fn reliable(depth: usize) -> Self {
        Self {
            reliability: Reliability::Reliable,
            durability: Durability::Volatile,
            depth,
            lifespan: None,
        }
    }

    /// Reliable and transient local: `robot_description`, `/tf_static`, `~/asset`.
    pub const fn latched(depth: usize) -> Self {
        Self {
            reliability: Reliability::Reliable,
            durability: Durability::TransientLocal,
            depth,
            lifespan: None,
        }
    }

    /// Best effort and volatile: matches every publisher.
    pub const fn best_effort(depth: usize) -> Self {
        Self {
            reliability: Reliability::BestEffort,
            durability: Durability::Volatile,
            depth,
            lifespan: None,
        }
    }
}

/// Identity of a publisher, unique in the ROS graph while that publisher lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublisherId(pub [u8; 16]);

impl PublisherId {
    /// Stands for every publisher if the ROS client passes messages without their publishers.
    pub const UNKNOWN: Self = Self([0; 16]);
}

/// A received message.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<M> {
    /// The message.
    pub message: M,
    /// Its publisher.
    pub publisher: PublisherId,
}

/// The known part of a message whose type is known only by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The header, if the message begins with one.
    pub header: Option<msg::std_msgs::Header>,
}

/// Keeps a client's side of a topic or service alive until it is dropped.
pub type Guard = Arc<dyn Any + Send + Sync>;

/// A subscription to a topic, which ends when it is dropped.
pub struct Subscription<M> {
    topic: String,
    queue: queue::Receiver<Sample<M>>,
    _guard: Guard,
}

impl<M> Subscription<M> {
    /// Creates a subscription, for implementations of [`Node`].
    ///
    /// It yields what the client pushes into the other end of `queue`; `guard` is dropped with the
    /// subscription.
    pub fn new(topic: String, queue: queue::Receiver<Sample<M>>, guard: Guard) -> Self {
        Self {
            topic,
            queue,
            _guard: guard,
        }
    }

    /// Returns the absolute name of the topic, after remapping.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Waits for the next message; `None` after the node has shut down.
    ///
    /// Cancel-safe: usable in `tokio::select!`.
    pub async fn next(&mut self) -> Option<Sample<M>> {
        self.queue.next().await
    }

    /// Returns the next message if one is queued.
    pub fn try_next(&mut self) -> Option<Sample<M>> {
        self.queue.try_next()
    }

    /// Returns the number of messages that were dropped because they were not read in time.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped()
    }
}

/// Publishes one message on behalf of [`Publisher`]. It must not block.
pub type Publish<M> = dyn Fn(M) -> Result<(), Diagnostic> + Send + Sync;

/// An advertised topic. Clones share it; it is withdrawn when the last is dropped.
pub struct Publisher<M> {
    topic: Arc<str>,
    publish: Arc<Publish<M>>,
}

impl<M> Clone for Publisher<M> {
    fn clone(&self) -> Self {
        Self {
            topic: self.topic.clone(),
            publish: self.publish.clone(),
        }
    }
}

impl<M> Publisher<M> {
    /// Creates a publisher, for implementations of [`Node`].
    pub fn new(topic: &str, publish: Arc<Publish<M>>) -> Self {
        Self {
            topic: topic.into(),
            publish,
        }
    }

    /// Returns the absolute name of the topic, after remapping.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Hands a message to the client and returns at once.
    ///
    /// If messages are published faster than they can be sent, the last [`Qos::depth`] are kept.
    ///
    /// # Errors
    /// [`codes::TRANSPORT`] if the node has shut down.
    pub fn publish(&self, message: M) -> Result<(), Diagnostic> {
        (self.publish)(message)
    }
}

/// The requests to a service. Dropping them withdraws the service.
pub struct Requests<S: Service> {
    service: String,
    queue: queue::Receiver<Request<S>>,
    _guard: Guard,
}

impl<S: Service> Requests<S> {
    /// Creates a stream of requests, for implementations of [`Node`]; see [`Subscription::new`].
    pub fn new(service: String, queue: queue::Receiver<Request<S>>, guard: Guard) -> Self {
        Self {
            service,
            queue,
            _guard: guard,
        }
    }

    /// Returns the absolute name of the service, after remapping.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// Waits for the next request; `None` after the node has shut down. Cancel-safe.
    pub async fn next(&mut self) -> Option<Request<S>> {
        self.queue.next().await
    }
}

/// A request to a service, with its responder. Requests may be answered in any order and from any
/// task.
pub struct Request<S: Service> {
    /// The request of the caller.
    pub request: S::Request,
    /// Sends the answer.
    pub responder: Responder<S>,
}

/// Sends the answer to one caller. If it is dropped, the caller gets no answer, as from a server
/// that died.
pub struct Responder<S: Service>(Box<dyn FnOnce(S::Response) -> Result<(), Diagnostic> + Send>);

impl<S: Service> Responder<S> {
    /// Creates a responder, for implementations of [`Node`].
    pub fn new(send: impl FnOnce(S::Response) -> Result<(), Diagnostic> + Send + 'static) -> Self {
        Self(Box::new(send))
    }

    /// Sends the answer. Returns at once.
    ///
    /// # Errors
    /// [`codes::TRANSPORT`] if the node has shut down.
    pub fn send(self, response: S::Response) -> Result<(), Diagnostic> {
        (self.0)(response)
    }
}
