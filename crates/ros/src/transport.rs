//! The interface of a network: a [`Transport`] carries bytes, a [`Backend`] messages. Everything
//! else is in [`super::client`].
//!
//! An [`Attempt`] may wait for the network, or for a library: [`super::opener`] makes them on a
//! thread of its own, one after the other. A future must not hold up the thread it runs on: what
//! waits is done `apart`.

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

/// Maximum number of waiting calls to a service, and of unread answers to a client. Of more calls
/// made at once than the usual 10, some would be lost.
pub const CALLS: usize = 128;

/// A topic or a service.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name as the node gives it: relative, absolute or private. For a client that expands and
    /// remaps names itself.
    #[cfg_attr(
        not(feature = "rclrs"),
        allow(dead_code, reason = "the others take the absolute name")
    )]
    pub given: String,
    /// The absolute name, after remapping.
    pub full: String,
    /// The type: `sensor_msgs/msg/LaserScan`, `std_srvs/srv/Trigger`.
    pub type_name: String,
    /// The definition of the type, where it is known.
    pub definition: Option<&'static Type>,
}

/// Something that is open in the network, and closed when this is dropped.
pub type Open = Box<dyn Any + Send>;

/// Opens a topic or service in the network's current session: once in each, and again if it fails
/// with [`super::codes::TRANSPORT`]. It may wait for the network.
pub type Attempt = Box<dyn Fn() -> Result<Open, Diagnostic> + Send>;

/// Receives the messages of a topic, or why one can't be read. Never waits.
pub type MessageCallback<M> = Arc<dyn Fn(Result<Sample<M>, String>) + Send + Sync>;

/// A message on its way; fails with the reason why it could not be sent.
pub type Sending = BoxFuture<'static, Result<(), String>>;

/// Sends a message of a topic. Fails if the message can't be encoded, so that trying again is
/// useless.
pub type Write<M> = Arc<dyn Fn(&M) -> Result<Sending, String> + Send + Sync>;

/// Receives the writer of a topic when it is opened, and every one that replaces it, which writes
/// latched messages again.
pub type Opened<M> = Box<dyn Fn(Write<M>) + Send + Sync>;

/// A call to a service.
pub struct Call<Q, A> {
    /// The request.
    pub request: Q,
    /// Sends the answer.
    pub reply: Reply<A>,
}

/// Sends an answer. Fails if it can't be encoded.
pub type Reply<A> = Box<dyn FnOnce(A) -> Result<Sending, String> + Send>;

/// Receives the calls to a service, or why one can't be read. Never waits.
pub type RequestCallback<Q, A> = Arc<dyn Fn(Result<Call<Q, A>, String>) + Send + Sync>;

/// Time limits of a call.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// From the call to its answer.
    pub answer: Duration,
    /// When its server has to be found: a little earlier, to distinguish a missing server from a
    /// silent one.
    pub server: Instant,
}

/// What a network gets when it joins the ROS graph.
pub struct Setup {
    /// The node.
    pub node: NodeName,
    /// Where tasks of the network run.
    pub handle: Handle,
    /// Has to tick after every change of the graph.
    pub changes: watch::Sender<()>,
}

/// A network that carries messages, requests and answers as bytes: in CDR, with the four bytes in
/// front that tell the order of bytes.
pub trait Transport: Send + Sync + 'static {
    /// Returns how to listen to a topic.
    fn listen(self: Arc<Self>, topic: Name, qos: Qos, hear: MessageCallback<Bytes>) -> Attempt;

    /// Returns how to listen to a topic whose type may have any definition.
    fn observe(self: Arc<Self>, topic: Name, qos: Qos, hear: MessageCallback<Bytes>) -> Attempt {
        self.listen(topic, qos, hear)
    }

    /// Returns how to offer a topic.
    fn advertise(self: Arc<Self>, topic: Name, qos: Qos, opened: Opened<Bytes>) -> Attempt;

    /// Returns how to offer a service, of which [`CALLS`] may wait.
    fn serve(self: Arc<Self>, service: Name, ask: RequestCallback<Bytes, Bytes>) -> Attempt;

    /// Calls a service. The future is dropped when `limit` is over, or nobody waits for the answer
    /// any more.
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`], [`super::codes::NO_ANSWER`].
    fn call<'a>(
        &'a self,
        service: &'a Name,
        request: Bytes,
        limit: Limit,
    ) -> BoxFuture<'a, Result<Bytes, Diagnostic>>;

    /// Returns what is known of the ROS graph, in any order.
    fn graph(&self) -> Graph;

    /// Leaves the graph, with all that is open; `threads` are those that tasks run on.
    fn leave(&self, open: Vec<Open>, threads: Threads);
}

/// What a [`Transport`] does, with messages instead of bytes. Every transport is one by way of CDR;
/// rclrs, which has no publishers of bytes, takes the messages that rosidl generated.
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
            .map_err(|why| transport(&format!("{} can't be called", service.full), why))?;
        let answer = (**self).call(service, request.into(), limit).await?;
        cdr::decode(&answer).map_err(|why| {
            transport(
                &format!("the answer of {} can't be read", service.full),
                why,
            )
        })
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

/// Runs what may wait on a thread of its own. Has to be called from a task of the node.
#[cfg(any(test, feature = "rclrs", feature = "zenoh"))]
pub fn apart<T: Send + 'static>(
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
