//! What differs between ROS clients: how a [`Transport`] carries bytes, or a [`Backend`] messages.
//! All else is in [`super::client`].
//!
//! What these traits do may wait for the network, or for a library: the client calls it on threads
//! of its own, one thing after the other. A future must not hold up the thread it runs on: what
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

/// How many calls to a service may wait, and answers to a client of one. Beyond the 10 that are
/// usual, calls made at once are lost.
pub const CALLS: usize = 128;

/// A topic or a service.
#[derive(Clone, Debug)]
pub struct Name {
    /// As the node has it: relative, absolute or private. For a client that expands and remaps
    /// names itself.
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

/// What is open in the network. Dropping it closes that.
pub type Open = Box<dyn Any + Send>;

/// Takes what arrives on a topic, or why it can't be read. It never waits.
pub type MessageCallback<M> = Arc<dyn Fn(Result<Sample<M>, String>) + Send + Sync>;

/// Something on its way; why it could not be sent.
pub type Sending = BoxFuture<'static, Result<(), String>>;

/// Sends a message of a topic. An error: it can't be written at all, so there is no use in trying
/// again.
pub type Write<M> = Arc<dyn Fn(&M) -> Result<Sending, String> + Send + Sync>;

/// Takes the writer of a topic that was opened, and again one that replaces it: what is latched is
/// then written once more.
pub type Opened<M> = Box<dyn Fn(Write<M>) + Send + Sync>;

/// A call to a service.
pub struct Call<Q, A> {
    /// What is asked.
    pub request: Q,
    /// The way back.
    pub reply: Reply<A>,
}

/// Sends an answer. An error: it can't be written.
pub type Reply<A> = Box<dyn FnOnce(A) -> Result<Sending, String> + Send>;

/// Takes the calls to a service, or why one can't be read. It never waits.
pub type RequestCallback<Q, A> = Arc<dyn Fn(Result<Call<Q, A>, String>) + Send + Sync>;

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// From the beginning until it is answered.
    pub answer: Duration,
    /// When its server has to be found: a little earlier, to tell a missing server from a silent
    /// one.
    pub server: Instant,
}

/// What a transport gets when it joins the ROS graph.
pub struct Setup {
    /// The node.
    pub node: NodeName,
    /// Where tasks of the transport run.
    pub handle: Handle,
    /// Has to tick after every change of the graph.
    pub changes: watch::Sender<()>,
    /// To be called if the node has left the graph by itself.
    pub end: Arc<dyn Fn() + Send + Sync>,
}

/// A network that carries messages, requests and answers as bytes: in CDR, with the four bytes in
/// front that tell the order of bytes.
pub trait Transport: Send + Sync + 'static {
    /// Listens to a topic.
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`]; it is tried again later.
    fn listen(
        &self,
        topic: &Name,
        qos: Qos,
        hear: MessageCallback<Bytes>,
    ) -> Result<Open, Diagnostic>;

    /// Listens to a topic of any definition of its type.
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`]; it is tried again later.
    fn observe(
        &self,
        topic: &Name,
        qos: Qos,
        hear: MessageCallback<Bytes>,
    ) -> Result<Open, Diagnostic> {
        self.listen(topic, qos, hear)
    }

    /// Offers a topic.
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`]; it is tried again later.
    fn advertise(&self, topic: &Name, qos: Qos, opened: Opened<Bytes>) -> Result<Open, Diagnostic>;

    /// Offers a service, of which [`CALLS`] may wait.
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`]; it is tried again later.
    fn serve(&self, service: &Name, ask: RequestCallback<Bytes, Bytes>)
    -> Result<Open, Diagnostic>;

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

    /// What is known of the ROS graph, in any order.
    fn graph(&self) -> Graph;

    /// Leaves the graph, with all that is open; `threads` are those that tasks run on.
    fn leave(&self, open: Vec<Open>, threads: Threads);
}

/// What the client needs of a ROS client: what a [`Transport`] does, with messages instead of
/// bytes. Every transport is one by way of CDR; where messages only exist as what rosidl generated,
/// they are handed on as they are.
pub trait Backend: Send + Sync + 'static {
    /// See [`Transport::listen`].
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`].
    fn listen<M: Message>(
        &self,
        topic: &Name,
        qos: Qos,
        hear: MessageCallback<M>,
    ) -> Result<Open, Diagnostic>;

    /// See [`Transport::observe`].
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`].
    fn observe(
        &self,
        topic: &Name,
        qos: Qos,
        hear: MessageCallback<Observed>,
    ) -> Result<Open, Diagnostic>;

    /// See [`Transport::advertise`].
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`].
    fn advertise<M: Message>(
        &self,
        topic: &Name,
        qos: Qos,
        opened: Opened<M>,
    ) -> Result<Open, Diagnostic>;

    /// See [`Transport::serve`].
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`].
    fn serve<S: Service>(
        &self,
        service: &Name,
        ask: RequestCallback<S::Request, S::Response>,
    ) -> Result<Open, Diagnostic>;

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

impl Backend for Box<dyn Transport> {
    fn listen<M: Message>(
        &self,
        topic: &Name,
        qos: Qos,
        hear: MessageCallback<M>,
    ) -> Result<Open, Diagnostic> {
        (**self).listen(topic, qos, read(hear, cdr::decode))
    }

    fn observe(
        &self,
        topic: &Name,
        qos: Qos,
        hear: MessageCallback<Observed>,
    ) -> Result<Open, Diagnostic> {
        (**self).observe(topic, qos, read(hear, |message| Ok(cdr::observe(message))))
    }

    fn advertise<M: Message>(
        &self,
        topic: &Name,
        qos: Qos,
        opened: Opened<M>,
    ) -> Result<Open, Diagnostic> {
        let opened = move |write: Write<Bytes>| {
            opened(Arc::new(move |message: &M| {
                write(&cdr::encode(message)?.into())
            }))
        };
        (**self).advertise(topic, qos, Box::new(opened))
    }

    fn serve<S: Service>(
        &self,
        service: &Name,
        ask: RequestCallback<S::Request, S::Response>,
    ) -> Result<Open, Diagnostic> {
        let ask = move |call: Result<Call<Bytes, Bytes>, String>| {
            ask(call.and_then(|Call { request, reply }| {
                let request = cdr::decode(&request)?;
                Ok(Call {
                    request,
                    reply: Box::new(move |answer: S::Response| reply(cdr::encode(&answer)?.into())),
                })
            }));
        };
        (**self).serve(service, Arc::new(ask))
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

/// Takes bytes and hands on messages.
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

/// Does on a thread of its own what may wait. To be called where a task of the node runs.
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
