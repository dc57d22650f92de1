//! The node on Zenoh, speaking as `rmw_zenoh_cpp` does: with any node that runs with that RMW, and no ROS installation.
//!
//! Only this module and its children name the crate. A topic or service is a key expression with its type and the type's hash in it,
//! a node and each of its ends a liveliness token, and messages are CDR ([`wire`]). The session connects to the router of the machine
//! and, through what that tells, directly to all others ([`settings`]).
//!
//! What arrives is decoded on Zenoh's threads and put into queues; what is published is taken out of queues on two threads of the
//! node's own, since Zenoh may wait a moment for the network. Nothing here ever runs the caller's code.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::zenoh::liveliness::LivelinessToken;
use ::zenoh::query::{ConsolidationMode, Query, QueryTarget};
use ::zenoh::sample::{Sample as Heard, SampleKind};
use ::zenoh::{Session, Wait};
use tokio::runtime::Handle;
use zenoh_ext::{
    AdvancedPublisher, AdvancedPublisherBuilderExt, AdvancedSubscriberBuilderExt, CacheConfig, HistoryConfig,
    MissDetectionConfig, RecoveryConfig,
};

mod graph;
mod settings;
#[cfg(test)]
mod tests;
mod wire;

pub use settings::Settings;

use super::args::Args;
use super::faults::{Recurring, Troubles, ended, no_answer, transport};
use super::kept::Kept;
use super::msg::{Message, Service};
use super::own::Own;
use super::threads::{Task, Threads};
use super::{
    Durability, Node, Observed, Publisher, Qos, Reliability, Request, Requests, Responder, Sample, Subscription, cdr, queue,
    types,
};
use graph::Graph;
use urdf_usd_diagnostic::Diagnostic;
use wire::{Attached, End, Kind, Origin};

/// How many calls to one service may wait.
const CALLS: usize = 128;
/// How long a publisher of latched topics waits until it tells how many messages there were, for those who missed the last one. As in
/// `rmw_zenoh_cpp`.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// How long the answer of a publisher of latched messages may take: as all queries (`queries_default_timeout`).
const HISTORY_PATIENCE: Duration = Duration::from_secs(600);
/// How much longer than its caller Zenoh waits for an answer.
const CALL_MARGIN: Duration = Duration::from_secs(1);
/// How long between two looks for a router.
const ROUTER_PERIOD: Duration = Duration::from_secs(1);

/// A ROS 2 node on Zenoh.
pub struct Zenoh(Arc<Inner>);

struct Inner {
    own: Own,
    origin: Origin,
    handle: Handle,
    graph: Arc<Graph>,
    /// How many ends the node has had.
    ends: AtomicU64,
    /// `None` after shutdown.
    live: Mutex<Option<Live>>,
}

/// What ends with the node. Fields are dropped in order: what is open, the node's own token, the session.
struct Live {
    threads: Threads,
    kept: Kept,
    token: LivelinessToken,
    session: Session,
}

impl Live {
    fn leave(self) {
        let Self { mut threads, kept, token, session } = self;
        threads.end();
        kept.end();
        drop(token);
        if let Err(error) = session.close().wait() {
            tracing::debug!("the session did not close in good order: {error}");
        }
    }
}

impl Zenoh {
    /// Joins the ROS graph as the node that calls itself `default_name`, under `args`.
    ///
    /// Blocks until the router is connected, or found missing: some tenths of a second.
    ///
    /// # Errors
    /// [`super::codes::INVALID_NAME`], [`super::codes::TRANSPORT`].
    pub fn start(default_name: &str, args: &Args, settings: &Settings) -> Result<Self, Diagnostic> {
        let own = Own::new(default_name, args)?;
        let threads = Threads::new()?;
        // Zenoh waits in a way that a thread that runs asynchronous code, which this may be, must not.
        let config = settings.config.clone();
        let session = std::thread::spawn(move || ::zenoh::open(config).wait()).join();
        let session = session.map_err(|_| transport("can't open the Zenoh session", "it gave up"))?.map_err(|error| {
            transport("can't open the Zenoh session", error)
                .help("look at ZENOH_SESSION_CONFIG_URI and ZENOH_CONFIG_OVERRIDE: is every address to listen to one of this machine?")
        })?;
        let origin = Origin { domain: settings.domain, session: session.zid().to_string(), node: own.names.node.clone() };
        let (graph, kept) = (Arc::<Graph>::default(), Kept::default());
        let cannot = |error| transport("can't join the ROS graph", error);
        let heard = graph.clone();
        let tokens = session.liveliness().declare_subscriber(origin.all()).history(true).callback(move |sample| {
            heard.hear(sample.key_expr().as_str(), sample.kind() == SampleKind::Put);
        });
        // As long as the node.
        kept.keep_on(tokens.wait().map_err(cannot)?);
        let token = session.liveliness().declare_token(origin.node()).wait().map_err(cannot)?;
        let handle = threads.handle().clone();
        if let Some(checks) = settings.router_checks {
            handle.spawn(look_for_router(session.clone(), checks));
        }
        let node = Self(Arc::new(Inner {
            own,
            origin,
            handle,
            graph,
            ends: AtomicU64::new(0),
            live: Mutex::new(Some(Live { threads, kept, token, session })),
        }));
        let weak = Arc::downgrade(&node.0);
        let ticks = move || weak.upgrade().ok_or_else(ended)?.subscribe("/clock", Qos::best_effort(1));
        node.0.own.open(&node, ticks, |task| drop(node.0.handle.spawn(task)))?;
        tracing::debug!(node = node.fully_qualified_name(), session = node.0.origin.session, "joined the ROS graph");
        Ok(node)
    }
}

/// Tells if there is no router: nodes find each other through it.
async fn look_for_router(session: Session, checks: u64) {
    for check in 0..checks {
        if session.info().routers_zid().await.next().is_some() {
            return;
        }
        if check == 0 {
            tracing::warn!(
                "no Zenoh router answers yet, and without one nodes do not find each other: start it with `ros2 run rmw_zenoh_cpp rmw_zenohd`"
            );
        }
        tokio::time::sleep(ROUTER_PERIOD).await;
    }
    if session.info().routers_zid().await.next().is_none() {
        tracing::warn!(
            "no Zenoh router was found; it will be connected when it appears (ZENOH_ROUTER_CHECK_ATTEMPTS={checks})"
        );
    }
}

impl Inner {
    fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the session, unless the node has shut down.
    fn open<T>(&self, open: impl FnOnce(&Session, &Kept) -> ::zenoh::Result<T>, what: &str) -> Result<T, Diagnostic> {
        let live = self.live();
        let Live { session, kept, .. } = live.as_ref().ok_or_else(ended)?;
        open(session, kept).map_err(|error| transport(what, error))
    }

    /// The token of a new end.
    fn token(&self, end: &End, qos: Qos) -> String {
        self.origin.end(self.ends.fetch_add(1, Ordering::Relaxed) + 1, end, qos)
    }

    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
        let end = end(Kind::Subscriber, self.own.names.topic(topic)?, M::TYPE.of_message())?;
        let key = end.key(self.origin.domain);
        self.listen(&end, key, qos, |bytes| cdr::decode(bytes))
    }

    fn observe(&self, topic: &str, type_name: &str, qos: Qos) -> Result<Subscription<Observed>, Diagnostic> {
        let (name, type_name) = (self.own.names.topic(topic)?, type_name.to_owned());
        let hash = types::hash(&type_name).or_else(|| self.graph.hash(&name, &type_name));
        let mut end = End { kind: Kind::Subscriber, name, type_name, hash: "*".to_owned() };
        let key = end.key(self.origin.domain);
        end.hash = hash.unwrap_or_else(|| wire::NO_HASH.to_owned());
        self.listen(&end, key, qos, |bytes| Ok(cdr::observe(bytes)))
    }

    fn listen<M: Send + 'static>(
        &self,
        end: &End,
        key: String,
        qos: Qos,
        read: impl Fn(&[u8]) -> Result<M, String> + Send + Sync + 'static,
    ) -> Result<Subscription<M>, Diagnostic> {
        let (sender, receiver) = queue::keep_last(qos.depth);
        let (name, faults) = (end.name.clone(), Mutex::<Recurring>::default());
        let hear = move |sample: Heard| {
            let attached = sample.attachment().and_then(|bytes| Attached::from_bytes(&bytes.to_bytes()));
            let attached = attached.ok_or_else(|| "it has no number and sender attached, as ROS nodes do it".to_owned());
            match attached.and_then(|attached| Ok((attached.sender, read(&sample.payload().to_bytes())?))) {
                Ok((publisher, message)) => drop(sender.push(Sample { message, publisher })),
                Err(why) => {
                    let mut faults = faults.lock().unwrap_or_else(PoisonError::into_inner);
                    faults.tell(|n| tracing::warn!("{name}: {n} message(s) could not be read; the last: {why}"));
                }
            }
        };
        let token = self.token(end, qos);
        let guard = self.open(
            |session, kept| {
                let mut subscriber = session.declare_subscriber(key).callback(hear).advanced();
                if qos.durability == Durability::TransientLocal {
                    let history = HistoryConfig::default().detect_late_publishers().max_samples(qos.depth.max(1));
                    subscriber = subscriber.history(history).subscriber_detection().query_timeout(HISTORY_PATIENCE);
                    if qos.reliability == Reliability::Reliable {
                        subscriber = subscriber.recovery(RecoveryConfig::default().heartbeat());
                    }
                }
                let subscriber = subscriber.wait()?;
                Ok(kept.keep((session.liveliness().declare_token(token).wait()?, subscriber)))
            },
            &format!("can't listen to {}", end.name),
        )?;
        Ok(Subscription::new(end.name.clone(), receiver, guard))
    }

    fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic> {
        let end = end(Kind::Publisher, self.own.names.topic(topic)?, M::TYPE.of_message())?;
        let (key, token) = (end.key(self.origin.domain), self.token(&end, qos));
        let identity = wire::identity(&token);
        let (token, writer) = self.open(
            |session, _| {
                let reliability = match qos.reliability {
                    Reliability::Reliable => ::zenoh::qos::Reliability::Reliable,
                    Reliability::BestEffort => ::zenoh::qos::Reliability::BestEffort,
                };
                let mut writer = session.declare_publisher(key).reliability(reliability).advanced();
                if qos.durability == Durability::TransientLocal {
                    writer = writer.publisher_detection().cache(CacheConfig::default().max_samples(qos.depth.max(1)));
                    if qos.reliability == Reliability::Reliable {
                        writer = writer.sample_miss_detection(MissDetectionConfig::default().sporadic_heartbeat(HEARTBEAT));
                    }
                }
                let writer: AdvancedPublisher<'static> = writer.wait()?;
                Ok((session.liveliness().declare_token(token).wait()?, writer))
            },
            &format!("can't publish {}", end.name),
        )?;
        let (sender, mut receiver) = queue::keep_last::<M>(qos.depth);
        let said = end.name.clone();
        self.handle.spawn(async move {
            let _token = token;
            let (mut number, mut faults) = (0, Recurring::default());
            while let Some(message) = receiver.next().await {
                number += 1;
                let attached = Attached::now(number, identity).to_bytes();
                let sent = cdr::encode(&message)
                    .and_then(|bytes| writer.put(bytes).attachment(attached).wait().map_err(|error| error.to_string()));
                if let Err(why) = sent {
                    faults.tell(|n| tracing::warn!("{said}: {n} message(s) could not be sent; the last: {why}"));
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
        Ok(Publisher::new(&end.name, Arc::new(publish)))
    }

    fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic> {
        let end = end(Kind::Server, self.own.names.service(service)?, S::TYPE.of_service())?;
        let (key, token) = (end.key(self.origin.domain), self.token(&end, Qos::reliable(CALLS)));
        let (sender, receiver) = queue::keep_last(CALLS);
        let (handle, troubles) = (self.handle.clone(), Mutex::new(Troubles::new(end.name.clone())));
        let hear = move |query: Query| {
            let mut troubles = troubles.lock().unwrap_or_else(PoisonError::into_inner);
            match asked::<S>(&query) {
                Ok((attached, request)) => {
                    let responder = respond(query, attached, handle.clone(), troubles.service.clone());
                    troubles.queued(sender.push(Request { request, responder }));
                }
                Err(why) => troubles.unreadable(why),
            }
        };
        let guard = self.open(
            |session, kept| {
                let queryable = session.declare_queryable(key).complete(true).callback(hear).wait()?;
                Ok(kept.keep((session.liveliness().declare_token(token).wait()?, queryable)))
            },
            &format!("can't serve {}", end.name),
        )?;
        Ok(Requests::new(end.name, receiver, guard))
    }

    /// See [`Node::call`].
    async fn call<S: Service>(
        self: &Arc<Self>,
        service: &str,
        request: S::Request,
        patience: Duration,
    ) -> Result<S::Response, Diagnostic> {
        let end = end(Kind::Client, self.own.names.service(service)?, S::TYPE.of_service())?;
        let (inner, name) = (self.clone(), end.name.clone());
        // On the node's own threads, so that it ends with the node; it also ends when nobody waits for it any more.
        let asked = async move { inner.call_end::<S>(&end, &request, patience).await };
        let mut answer = self.handle.spawn(tokio::time::timeout(patience, asked));
        let _task = Task(answer.abort_handle());
        match (&mut answer).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(_)) => Err(no_answer(&name, patience, "its server is there, but silent")),
            Err(_) => Err(ended()),
        }
    }

    async fn call_end<S: Service>(
        &self,
        end: &End,
        request: &S::Request,
        patience: Duration,
    ) -> Result<S::Response, Diagnostic> {
        let (key, token) = (end.key(self.origin.domain), self.token(end, Qos::reliable(CALLS)));
        let what = format!("{} can't be called", end.name);
        let attached = Attached::now(1, wire::identity(&token)).to_bytes();
        let _token = self.open(|session, _| session.liveliness().declare_token(token).wait(), &what)?;
        // A little less than what the caller waits, to tell a missing server from a silent one.
        self.graph.server(end, patience.mul_f64(0.95)).await.map_err(|why| no_answer(&end.name, patience, &why))?;
        let bytes = cdr::encode(request).map_err(|why| transport(&what, why))?;
        // Later than the caller's own patience ends: which of the two is told must not be chance.
        let timeout = patience.saturating_add(CALL_MARGIN);
        let answers = self.open(
            |session, _| {
                let get = session.get(key).target(QueryTarget::AllComplete).consolidation(ConsolidationMode::None);
                get.timeout(timeout).payload(bytes).attachment(attached).wait()
            },
            &what,
        )?;
        let Ok(reply) = answers.recv_async().await else {
            return Err(no_answer(&end.name, patience, "its server is there, but silent"));
        };
        let sample = reply.result().map_err(|error| transport(&what, String::from_utf8_lossy(&error.payload().to_bytes())))?;
        cdr::decode(&sample.payload().to_bytes())
            .map_err(|why| transport(&format!("the answer of {} can't be read", end.name), why))
    }
}

/// An end whose type the node knows.
fn end(kind: Kind, name: String, type_name: String) -> Result<End, Diagnostic> {
    let hash =
        types::hash(&type_name).ok_or_else(|| transport(&name, format!("the definition of {type_name} is not known")))?;
    Ok(End { kind, name, type_name, hash })
}

/// What a query asks.
fn asked<S: Service>(query: &Query) -> Result<(Attached, S::Request), String> {
    let attached = query.attachment().and_then(|bytes| Attached::from_bytes(&bytes.to_bytes()));
    let attached = attached.ok_or("it has no number and caller attached, as ROS nodes do it")?;
    let payload = query.payload().ok_or("it is empty")?;
    Ok((attached, cdr::decode(&payload.to_bytes())?))
}

/// The way back.
fn respond<S: Service>(query: Query, asked: Attached, handle: Handle, service: String) -> Responder<S> {
    Responder::new(move |response| {
        let bytes = cdr::encode(&response).map_err(|why| transport(&format!("{service}: an answer can't be written"), why))?;
        let attached = Attached::now(asked.number, asked.sender).to_bytes();
        // Zenoh may wait for the network.
        handle.spawn(async move {
            let key = query.key_expr().clone();
            if let Err(error) = query.reply(key, bytes).attachment(attached).wait() {
                tracing::warn!("{service}: an answer could not be sent: {error}");
            }
        });
        Ok(())
    })
}

impl Node for Zenoh {
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
        self.0.graph.all()
    }

    fn graph_changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.0.graph.changes()
    }

    fn shutdown(&self) {
        let Some(live) = self.0.live().take() else { return };
        self.0.own.parameters.end();
        // Neither a runtime nor a session can be closed on a thread that runs asynchronous code, which this may be.
        if std::thread::spawn(move || live.leave()).join().is_err() {
            tracing::warn!("{}: did not leave the ROS graph in good order", self.fully_qualified_name());
        }
    }
}

impl Drop for Zenoh {
    fn drop(&mut self) {
        self.shutdown();
    }
}
