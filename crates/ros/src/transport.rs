//! The interface of a network: a [`Transport`] carries bytes, a [`Backend`] messages. Everything
//! else is in [`super::client`].
//!
//! An [`Attempt`] may wait for the network, or for a library: [`super::opener`] runs attempts on
//! its thread, one after the other. A future must not block the thread it runs on: blocking
//! operations use [`run_blocking`].

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::faults::transport;
use super::msg::{Message, Service};
use super::names::NodeName;
use super::threads::Threads;
use super::types::Type;
use super::{Graph, Observed, Qos, Sample, cdr};
use urdf_usd_diagnostic::Diagnostic;

/// Maximum number of pending requests of a service, and of unread answers of a client.
///
/// With the usual depth of 10, some of more than 10 concurrent calls would be lost.
pub const MAX_PENDING_CALLS: usize = 128;

/// A topic or a service.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name as the node gives it: relative, absolute or private. Used by a client that expands
    /// and remaps names itself.
    #[cfg_attr(
        not(feature = "rcl"),
        allow(dead_code, reason = "the other networks use the absolute name")
    )]
    pub given: String,
    /// The absolute name, after remapping.
    pub full: String,
    /// The type: `sensor_msgs/msg/LaserScan`, `std_srvs/srv/Trigger`.
    pub type_name: String,
    /// The definition of the type, if it is known.
    pub definition: Option<&'static Type>,
}

/// An open endpoint, closed when dropped.
pub type Open = Box<dyn Any + Send>;

/// Opens a topic or service in the network's current session.
///
/// It is called once in each session, and again if it fails with [`super::codes::TRANSPORT`]. It
/// may wait for the network.
pub type Attempt = Box<dyn Fn() -> Result<Open, Diagnostic> + Send>;

/// Receives the messages of a topic, or the reason why one can't be read. Never waits.
pub type MessageCallback<M> = Arc<dyn Fn(Result<Sample<M>, String>) + Send + Sync>;

/// The transmission of a message; fails with the reason why it could not be sent.
pub type Sending = BoxFuture<'static, Result<(), String>>;

/// Sends a message of a topic. Fails if the message can't be encoded, in which case a retry is
/// useless.
pub type Write<M> = Arc<dyn Fn(&M) -> Result<Sending, String> + Send + Sync>;

/// Receives the writer of a topic when it is opened, and every writer that replaces it, which then
/// writes latched messages again.
pub type Opened<M> = Box<dyn Fn(Write<M>) + Send + Sync>;

/// A request to a service.
pub struct Call<Q, A> {
    /// The request.
    pub request: Q,
    /// Sends the answer.
    pub reply: Reply<A>,
}

/// Sends an answer. Fails if it can't be encoded.
pub type Reply<A> = Box<dyn FnOnce(A) -> Result<Sending, String> + Send>;

/// Receives the requests of a service, or the reason why one can't be read. Never waits.
pub type RequestCallback<Q, A> = Arc<dyn Fn(Result<Call<Q, A>, String>) + Send + Sync>;

/// Time limits of a call.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Time from the call to its answer.
    pub answer: Duration,
    /// Deadline for finding the server, a little earlier, so that a missing server is distinguished
    /// from a silent one.
    pub server: Instant,
}

/// Input of a network that joins the ROS graph.
pub struct Setup {
    /// The node.
    pub node: NodeName,
    /// Runs the tasks of the network.
    pub handle: Handle,
    /// Must tick after every change of the graph.
    pub changes: watch::Sender<()>,
    /// Ends the node. To be called by a network that can't go on.
    #[cfg(feature = "r2r")]
    pub end: Box<dyn Fn() + Send>,
}

/// A network that carries messages, requests and answers as bytes: CDR, behind the four bytes that
/// identify the encoding.
pub trait Transport: Send + Sync + 'static {
    /// Returns an attempt that subscribes to a topic.
    fn listen(self: Arc<Self>, topic: Name, qos: Qos, hear: MessageCallback<Bytes>) -> Attempt;

    /// Returns an attempt that subscribes to a topic whose type may have any definition.
    fn observe(self: Arc<Self>, topic: Name, qos: Qos, hear: MessageCallback<Bytes>) -> Attempt {
        self.listen(topic, qos, hear)
    }

    /// Returns an attempt that advertises a topic.
    fn advertise(self: Arc<Self>, topic: Name, qos: Qos, opened: Opened<Bytes>) -> Attempt;

    /// Returns an attempt that offers a service; [`MAX_PENDING_CALLS`] requests may be pending.
    fn serve(self: Arc<Self>, service: Name, ask: RequestCallback<Bytes, Bytes>) -> Attempt;

    /// Calls a service. The future is dropped after `limit`, or when the caller drops its own.
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`], [`super::codes::NO_ANSWER`].
    fn call<'a>(
        &'a self,
        service: &'a Name,
        request: Bytes,
        limit: Limit,
    ) -> BoxFuture<'a, Result<Bytes, Diagnostic>>;

    /// Returns the ROS graph as known now, in any order.
    fn graph(&self) -> Graph;

    /// Leaves the graph and closes all of `open`; `threads` run the tasks of the node.
    fn leave(&self, open: Vec<Open>, threads: Threads);
}

/// A network that carries messages.
///
/// Every [`Transport`] is one, through CDR. The others: rclrs, which has no publishers of bytes,
/// carries the messages that rosidl generated; r2r has services of types only.
pub trait Backend: Send + Sync + 'static {
    /// See [`Transport::listen`].
    fn listen<M: Message>(&self, topic: Name, qos: Qos, hear: MessageCallback<M>) -> Attempt;

    /// See [`Transport::observe`].
    fn observe(&self, topic: Name, qos: Qos, hear: MessageCallback<Observed>) -> Attempt;

    /// See [`Transport::advertise`].
    fn advertise<M: Message>(&self, topic: Name, qos: Qos, opened: Opened<M>) -> Attempt;

    /// See [`Transport::serve`].
    fn serve<S: Service>(
        &self,
        service: Name,
        ask: RequestCallback<S::Request, S::Response>,
    ) -> Attempt;

    /// See [`Transport::call`].
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`], [`super::codes::NO_ANSWER`].
    fn call<S: Service>(
        &self,
        service: &Name,
        request: S::Request,
        limit: Limit,
    ) -> impl Future<Output = Result<S::Response, Diagnostic>> + Send;

    /// See [`Transport::graph`].
    fn graph(&self) -> Graph;

    /// See [`Transport::leave`].
    fn leave(&self, open: Vec<Open>, threads: Threads);
}

impl Backend for Arc<dyn Transport> {
    fn listen<M: Message>(&self, topic: Name, qos: Qos, hear: MessageCallback<M>) -> Attempt {
        Transport::listen(self.clone(), topic, qos, read(hear, cdr::decode))
    }

    fn observe(&self, topic: Name, qos: Qos, hear: MessageCallback<Observed>) -> Attempt {
        let hear = read(hear, |message| Ok(cdr::observe(message)));
        Transport::observe(self.clone(), topic, qos, hear)
    }

    fn advertise<M: Message>(&self, topic: Name, qos: Qos, opened: Opened<M>) -> Attempt {
        let opened = move |write: Write<Bytes>| {
            opened(Arc::new(move |message: &M| {
                write(&cdr::encode(message)?.into())
            }))
        };
        Transport::advertise(self.clone(), topic, qos, Box::new(opened))
    }

    fn serve<S: Service>(
        &self,
        service: Name,
        ask: RequestCallback<S::Request, S::Response>,
    ) -> Attempt {
        let ask = move |call: Result<Call<Bytes, Bytes>, String>| {
            ask(call.and_then(|Call { request, reply }| {
                let request = cdr::decode(&request)?;
                Ok(Call {
                    request,
                    reply: Box::new(move |answer: S::Response| reply(cdr::encode(&answer)?.into())),
                })
            }));
        };
        Transport::serve(self.clone(), service, Arc::new(ask))
    }

    async fn call<S: Service>(
        &self,
        service: &Name,
        request: S::Request,
        limit: Limit,
    ) -> Result<S::Response, Diagnostic> {
        let request = cdr::encode(&request)
            .map_err(|why| transport(&format!("can't call {}", service.full), why))?;
        let answer = (**self).call(service, request.into(), limit).await?;
        cdr::decode(&answer)
            .map_err(|why| transport(&format!("can't read the answer of {}", service.full), why))
    }

    fn graph(&self) -> Graph {
        (**self).graph()
    }

    fn leave(&self, open: Vec<Open>, threads: Threads) {
        (**self).leave(open, threads);
    }
}

/// Returns a callback that decodes messages for `hear`.
fn read<M: 'static>(
    hear: MessageCallback<M>,
    decode: fn(&[u8]) -> Result<M, String>,
) -> MessageCallback<Bytes> {
    Arc::new(move |heard: Result<Sample<Bytes>, String>| {
        let message = |Sample { message, publisher }: Sample<Bytes>| {
            Ok(Sample {
                message: decode(&message)?,
                publisher,
            })
        };
        hear(heard.and_then(message));
    })
}

/// Runs a blocking operation on a thread of its own. Must be called from a task of the node.
#[cfg(any(test, feature = "rcl", feature = "zenoh"))]
pub fn run_blocking<T: Send + 'static>(
    what: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> BoxFuture<'static, Result<T, String>> {
    use futures::FutureExt;

    let done = tokio::task::spawn_blocking(what);
    async move {
        done.await
            .unwrap_or_else(|_| Err("the node has shut down".to_owned()))
    }
    .boxed()
}
