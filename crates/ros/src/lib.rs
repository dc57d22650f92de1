//! A ROS 2 node, as one small trait: [`Node`].
//!
//! The program's node is written once against this trait. One ROS client implements it, [`Client`],
//! on one of three networks: [`embedded`] is DDS in the program itself and needs no ROS
//! installation; `zenoh`, with the feature of that name, speaks as `rmw_zenoh_cpp` does; `rclrs`,
//! with that feature, is rcl in a ROS 2 workspace. [`start`] takes the right one. Another network
//! is an implementation of the trait `Transport` in the module `transport`: how bytes travel.
//!
//! Everything that the node has in the network is opened, tried again and closed by one thread, in
//! the module `opener`. Everything that arrives goes into a bounded queue ([`queue`]) that is read
//! with `await`, so no user code ever runs on a client's own thread, and no network holds the node
//! up. Messages are plain structs ([`msg`]), generated from their definitions.
//!
//! This module must not know of robots, USD, glTF or HTTP. Only [`embedded`] may name
//! `urdf_usd_cyclone`, only `rclrs` and `zenoh` those crates.

// Generated messages name this crate, in this one and in others.
extern crate self as urdf_usd_ros;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

pub mod args;
pub mod cdr;
mod client;
mod clock;
pub mod codes;
// What rclrs would need for it is not in every distribution that has an rclrs.
#[cfg(not(feature = "rclrs"))]
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
pub use graph::Graph;
pub use node_state::NodeState;
pub use parameter::{Changes, Declaration, Value};
pub use start::{Started, start};

use msg::builtin_interfaces::Time;
use msg::{Message, Service};
use urdf_usd_diagnostic::Diagnostic;

/// A ROS 2 node: the one way to topics, services and parameters.
///
/// Names are given as in any ROS client: relative, absolute (`/tf`) or private (`~/asset`).
/// Implementations expand them with the node's namespace and apply its remaps. All methods may be
/// called from any thread. None waits for the network, but for [`Node::shutdown`]: topics and
/// services are opened soon after, and what can't be opened is told in the log and tried again.
pub trait Node: Send + Sync + 'static {
    /// Its names, parameters and clock.
    fn state(&self) -> &NodeState;

    /// The node's name without its namespace, after remapping: `urdf_usd`.
    fn name(&self) -> &str {
        &self.state().names.node.name
    }

    /// The node's namespace, always beginning with a slash: `/` or `/left_arm`.
    fn namespace(&self) -> &str {
        &self.state().names.node.namespace
    }

    /// The fully qualified name: `/left_arm/urdf_usd`.
    fn fully_qualified_name(&self) -> String {
        self.state().names.node.fully_qualified()
    }

    /// The absolute topic name that `name` means here, after expansion and remapping.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`].
    fn resolve_topic(&self, name: &str) -> Result<String, Diagnostic> {
        self.state().names.topic(name)
    }

    /// The absolute service name that `name` means here, after expansion and remapping.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`].
    fn resolve_service(&self, name: &str) -> Result<String, Diagnostic> {
        self.state().names.service(name)
    }

    /// Listens to a topic until the [`Subscription`] is dropped. If the reader is slow the oldest
    /// messages beyond `qos.depth` are dropped.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic>;

    /// Listens to a topic whose type is only known by name, as in `sensor_msgs/msg/Image`: that
    /// something is said, by whom and about which frame. See [`Node::subscribe`].
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
    fn observe(
        &self,
        topic: &str,
        type_name: &str,
        qos: Qos,
    ) -> Result<Subscription<Observed>, Diagnostic>;

    /// Offers a topic until the [`Publisher`] and its clones are dropped.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
    fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic>;

    /// Offers a service until the [`Requests`] are dropped.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`].
    fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic>;

    /// Calls a service of another node, and waits for its server and the answer for no longer than
    /// `patience`.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::TRANSPORT`], [`codes::NO_ANSWER`].
    fn call<S: Service>(
        &self,
        service: &str,
        request: S::Request,
        patience: Duration,
    ) -> impl Future<Output = Result<S::Response, Diagnostic>> + Send;

    /// The ROS graph as discovery has told of it so far.
    fn graph(&self) -> Graph;

    /// Ticks after every change of the graph; several changes may be one tick.
    fn graph_changes(&self) -> tokio::sync::watch::Receiver<()>;

    /// Declares a parameter and returns its value: the override from the command line or a
    /// parameter file if there is one, else the default. After [`Node::finish_declaring`] `ros2
    /// param` can see it and, unless it is read-only, change it within its range and type.
    ///
    /// # Errors
    /// [`codes::PARAMETER_TYPE`], [`codes::PARAMETER_VALUE`] for an override that does not fit the
    /// declaration.
    fn declare(&self, declaration: Declaration) -> Result<Value, Diagnostic> {
        self.state().parameters.declare(declaration)
    }

    /// Ends the declarations. Parameter services answer from then on, so clients never see a
    /// partial list; rclcpp nodes that declare in their constructor get the same by spinning
    /// afterwards. Returns overrides for this node that match no declared parameter, most likely
    /// misspelt.
    fn finish_declaring(&self) -> Vec<Diagnostic> {
        self.state().parameters.finish_declaring()
    }

    /// The parameter changes accepted from now on, in order, with the name of each. Call it before
    /// declaring to miss none.
    fn changes(&self) -> Changes {
        self.state().parameters.changes()
    }

    /// The time in ROS terms: the system clock, or `/clock` while the parameter `use_sim_time` is
    /// true (zero until it ticks).
    fn now(&self) -> Time {
        self.state().clock.now()
    }

    /// Leaves the ROS graph, and waits for that, a few seconds at most. Every [`Subscription`],
    /// [`Requests`] and [`Changes`] ends (its `next` returns `None`). Doing it twice is harmless;
    /// dropping the node does it too.
    fn shutdown(&self);
}

/// Whether the network repeats what was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Lost messages are sent again.
    Reliable,
    /// Lost messages stay lost. A subscription of this kind hears every publisher.
    BestEffort,
}

/// Whether those who come late get what was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Only what is published while both are there.
    Volatile,
    /// The last `depth` messages too ("latched").
    TransientLocal,
}

/// Quality of service of a topic, keep-last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qos {
    /// Whether losses are repaired.
    pub reliability: Reliability,
    /// Whether late subscribers are served.
    pub durability: Durability,
    /// How many messages are kept, at least 1.
    pub depth: usize,
    /// How long a published message is worth hearing; `None` for ever.
    pub lifespan: Option<Duration>,
}

impl Qos {
    /// Reliable, volatile: what ROS clients use unless told otherwise.
    pub const fn reliable(depth: usize) -> Self {
        Self {
            reliability: Reliability::Reliable,
            durability: Durability::Volatile,
            depth,
            lifespan: None,
        }
    }

    /// Reliable, transient local: `robot_description`, `/tf_static`, `~/asset`.
    pub const fn latched(depth: usize) -> Self {
        Self {
            reliability: Reliability::Reliable,
            durability: Durability::TransientLocal,
            depth,
            lifespan: None,
        }
    }

    /// Best effort, volatile: hears any publisher, and is satisfied with what arrives.
    pub const fn best_effort(depth: usize) -> Self {
        Self {
            reliability: Reliability::BestEffort,
            durability: Durability::Volatile,
            depth,
            lifespan: None,
        }
    }
}

/// Which publisher a message came from: unique in the ROS graph while that publisher lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublisherId(pub [u8; 16]);

/// A message as heard.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<M> {
    /// What was said.
    pub message: M,
    /// Who said it.
    pub publisher: PublisherId,
}

/// What can be told of a message whose type is only known by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// What it begins with, if that is a header.
    pub header: Option<msg::std_msgs::Header>,
}

/// What keeps a client's side of a topic or service alive; dropping it ends that.
pub type Guard = Arc<dyn Any + Send + Sync>;

/// A topic heard. Dropping it ends the subscription.
pub struct Subscription<M> {
    topic: String,
    queue: queue::Receiver<Sample<M>>,
    _guard: Guard,
}

impl<M> Subscription<M> {
    /// For implementations of [`Node`]: what the client pushes into the other end of `queue` comes
    /// out here; `guard` is dropped with the subscription.
    pub fn new(topic: String, queue: queue::Receiver<Sample<M>>, guard: Guard) -> Self {
        Self {
            topic,
            queue,
            _guard: guard,
        }
    }

    /// The absolute name of the topic, after remapping.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Waits for the next message; `None` when the node has shut down. Cancel-safe: usable in
    /// `tokio::select!`.
    pub async fn next(&mut self) -> Option<Sample<M>> {
        self.queue.next().await
    }

    /// The next message if one is waiting.
    pub fn try_next(&mut self) -> Option<Sample<M>> {
        self.queue.try_next()
    }

    /// How many messages were dropped because they were not read in time.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped()
    }
}

/// How a client publishes one message. It must not block.
pub type Publish<M> = dyn Fn(M) -> Result<(), Diagnostic> + Send + Sync;

/// A topic offered. Clones share it; when the last is dropped it is withdrawn.
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
    /// For implementations of [`Node`].
    pub fn new(topic: &str, publish: Arc<Publish<M>>) -> Self {
        Self {
            topic: topic.into(),
            publish,
        }
    }

    /// The absolute name of the topic, after remapping.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Hands a message to the client and returns at once. Of messages that can't be sent as fast as
    /// they come, the last [`Qos::depth`] are kept.
    ///
    /// # Errors
    /// [`codes::TRANSPORT`] if the node has shut down.
    pub fn publish(&self, message: M) -> Result<(), Diagnostic> {
        (self.publish)(message)
    }
}

/// The calls to a service. Dropping it withdraws the service.
pub struct Requests<S: Service> {
    service: String,
    queue: queue::Receiver<Request<S>>,
    _guard: Guard,
}

impl<S: Service> Requests<S> {
    /// For implementations of [`Node`]; see [`Subscription::new`].
    pub fn new(service: String, queue: queue::Receiver<Request<S>>, guard: Guard) -> Self {
        Self {
            service,
            queue,
            _guard: guard,
        }
    }

    /// The absolute name of the service, after remapping.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// Waits for the next call; `None` when the node has shut down. Cancel-safe.
    pub async fn next(&mut self) -> Option<Request<S>> {
        self.queue.next().await
    }
}

/// One call to a service: what is asked, and the way back. Calls may be answered in any order and
/// from any task.
pub struct Request<S: Service> {
    /// What the caller asks.
    pub request: S::Request,
    /// Where the answer goes.
    pub responder: Responder<S>,
}

/// The way back to one caller. A caller whose responder is dropped gets no answer, as from a server
/// that died.
pub struct Responder<S: Service>(Box<dyn FnOnce(S::Response) -> Result<(), Diagnostic> + Send>);

impl<S: Service> Responder<S> {
    /// For implementations of [`Node`].
    pub fn new(send: impl FnOnce(S::Response) -> Result<(), Diagnostic> + Send + 'static) -> Self {
        Self(Box::new(send))
    }

    /// Answers. Returns at once.
    ///
    /// # Errors
    /// [`codes::TRANSPORT`] if the node has shut down.
    pub fn send(self, response: S::Response) -> Result<(), Diagnostic> {
        (self.0)(response)
    }
}
