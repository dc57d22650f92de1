//! A ROS 2 node on Zenoh, compatible with `rmw_zenoh_cpp`, without a ROS installation.
//!
//! Only this module and its children use the crate `zenoh`. A topic or service is a key expression
//! that contains its type and the type's hash; a node and each of its endpoints is a liveliness
//! token; messages are CDR ([`wire`]). The session connects to the router of the machine and, by
//! its gossip, directly to all others ([`settings`]).
//!
//! This is a [`Transport`]; what all networks share is in [`super::client`]. Any operation of Zenoh
//! may block on the network, so tasks run them with [`run_blocking`].

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::zenoh::liveliness::LivelinessToken;
use ::zenoh::query::{ConsolidationMode, Query, QueryTarget};
use ::zenoh::sample::{Sample as ZenohSample, SampleKind};
use ::zenoh::{Session, Wait};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use zenoh_ext::{
    AdvancedPublisher, AdvancedPublisherBuilderExt, AdvancedSubscriberBuilderExt, CacheConfig,
    HistoryConfig, MissDetectionConfig, RecoveryConfig,
};

mod graph;
mod settings;
#[cfg(test)]
mod tests;
mod wire;

pub use settings::Settings;

use super::args::Args;
use super::client::Client;
use super::faults::{no_answer, transport};
use super::threads::Threads;
use super::transport::{
    Attempt, Call, Limit, MAX_PENDING_CALLS, MessageCallback, Name, Open, Opened, RequestCallback,
    Setup, Transport, run_blocking,
};
use super::types::Type;
use super::{Durability, Qos, Reliability, Sample};
use graph::Graph;
use urdf_usd_diagnostic::Diagnostic;
use wire::{Attached, End, Kind, Origin};

/// Interval at which a publisher of a latched topic announces the number of its last message, for
/// subscribers that missed it. As in `rmw_zenoh_cpp`.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// Time limit for a publisher's reply with its latched messages: that of all queries
/// (`queries_default_timeout`).
const HISTORY_PATIENCE: Duration = Duration::from_secs(600);
/// How much longer than its caller Zenoh waits for an answer.
const CALL_MARGIN: Duration = Duration::from_secs(1);
/// Interval between checks for a router.
const ROUTER_PERIOD: Duration = Duration::from_secs(1);

/// The ROS graph, over Zenoh.
struct Zenoh {
    origin: Origin,
    handle: Handle,
    graph: Arc<Graph>,
    /// Number of endpoints that the node has opened so far.
    ends: AtomicU64,
    session: Session,
    /// Open as long as the node: its own token, and the subscription to those of others.
    own: Mutex<Vec<Open>>,
}

/// Joins the ROS graph as the node that calls itself `default_name`, under `args`.
///
/// Blocks for some tenths of a second, until the router is connected or found missing.
///
/// # Errors
/// [`super::codes::INVALID_NAME`], [`super::codes::TRANSPORT`].
pub fn start(default_name: &str, args: &Args, settings: &Settings) -> Result<Client, Diagnostic> {
    Client::join(default_name, args, |setup| {
        let zenoh: Arc<dyn Transport> = Arc::new(Zenoh::join(setup, settings)?);
        Ok((zenoh, None))
    })
}

impl Zenoh {
    fn join(setup: Setup, settings: &Settings) -> Result<Self, Diagnostic> {
        let Setup {
            node,
            handle,
            changes,
            ..
        } = setup;
        // On a thread of its own: Zenoh blocks in a way that panics on a thread of an asynchronous
        // runtime, which this thread may be.
        let config = settings.config.clone();
        let session = std::thread::spawn(move || ::zenoh::open(config).wait()).join();
        let session = session.map_err(|_| transport("can't open the Zenoh session", "it panicked"))?.map_err(|error| {
            transport("can't open the Zenoh session", error)
                .help("check ZENOH_SESSION_CONFIG_URI and ZENOH_CONFIG_OVERRIDE: is every address to listen on one of this machine?")
        })?;
        let origin = Origin {
            domain: settings.domain,
            session: session.zid().to_string(),
            node,
        };
        let graph = Arc::new(Graph::new(changes));
        let cannot = |error| transport("can't join the ROS graph", error);
        let heard = graph.clone();
        let tokens = session
            .liveliness()
            .declare_subscriber(origin.all())
            // Reports the tokens that others declared before, too.
            .history(true)
            .callback(move |sample| {
                heard.hear(sample.key_expr().as_str(), sample.kind() == SampleKind::Put);
            });
        let tokens = tokens.wait().map_err(cannot)?;
        let token = session
            .liveliness()
            .declare_token(origin.node())
            .wait()
            .map_err(cannot)?;
        if let Some(checks) = settings.router_checks {
            handle.spawn(look_for_router(session.clone(), checks));
        }
        let own = Mutex::new(vec![Box::new(tokens) as Open, Box::new(token)]);
        Ok(Self {
            origin,
            handle,
            graph,
            ends: AtomicU64::new(0),
            session,
            own,
        })
    }
}

/// Warns if there is no router: nodes discover each other through it.
async fn look_for_router(session: Session, checks: u64) {
    for check in 0..checks {
        if session.info().routers_zid().await.next().is_some() {
            return;
        }
        if check == 0 {
            tracing::warn!(
                "no Zenoh router answers yet; without one, nodes do not discover each other: start it with `ros2 run rmw_zenoh_cpp rmw_zenohd`"
            );
        }
        tokio::time::sleep(ROUTER_PERIOD).await;
    }
    if session.info().routers_zid().await.next().is_none() {
        tracing::warn!(
            "found no Zenoh router; this node connects when one appears (ZENOH_ROUTER_CHECK_ATTEMPTS={checks})"
        );
    }
}

impl Zenoh {
    /// Returns the token of a new endpoint.
    fn token(&self, end: &End, qos: Qos) -> String {
        self.origin
            .end(self.ends.fetch_add(1, Ordering::Relaxed) + 1, end, qos)
    }

    /// Declares an endpoint to others until the returned token is dropped.
    fn declare(&self, token: String) -> ::zenoh::Result<LivelinessToken> {
        self.session.liveliness().declare_token(token).wait()
    }

    fn hear(
        &self,
        end: &End,
        key: String,
        qos: Qos,
        hear: MessageCallback<Bytes>,
    ) -> Result<Open, Diagnostic> {
        let hear = move |sample: ZenohSample| {
            let attached = sample
                .attachment()
                .and_then(|bytes| Attached::from_bytes(&bytes.to_bytes()));
            let attached = attached.ok_or_else(|| {
                "its attachment lacks the sequence number and sender that ROS nodes add".to_owned()
            });
            hear(attached.map(|attached| Sample {
                message: bytes(sample.payload()),
                publisher: attached.sender,
            }));
        };
        let open = || {
            let mut subscriber = self
                .session
                .declare_subscriber(key)
                .callback(hear)
                .advanced();
            if qos.durability == Durability::TransientLocal {
                let history = HistoryConfig::default()
                    .detect_late_publishers()
                    .max_samples(qos.depth.max(1));
                subscriber = subscriber
                    .history(history)
                    .subscriber_detection()
                    .query_timeout(HISTORY_PATIENCE);
                if qos.reliability == Reliability::Reliable {
                    subscriber = subscriber.recovery(RecoveryConfig::default().heartbeat());
                }
            }
            let subscriber = subscriber.wait()?;
            Ok(Box::new((self.declare(self.token(end, qos))?, subscriber)) as Open)
        };
        open().map_err(|error: ::zenoh::Error| {
            transport(&format!("can't listen to {}", end.name), error)
        })
    }
}

/// Describes an endpoint whose type the node knows.
fn end(kind: Kind, name: &Name) -> Result<End, Diagnostic> {
    let Name {
        full, type_name, ..
    } = name;
    let unknown = || transport(full, format!("unknown definition of {type_name}"));
    let hash = name.definition.map(Type::hash).ok_or_else(unknown)?;
    Ok(End {
        kind,
        name: full.clone(),
        type_name: type_name.clone(),
        hash,
    })
}

fn bytes(payload: &::zenoh::bytes::ZBytes) -> Bytes {
    payload.to_bytes().into_owned().into()
}

/// Reads the request in a query.
fn read_query(query: Query) -> Result<Call<Bytes, Bytes>, String> {
    let attached = query
        .attachment()
        .and_then(|bytes| Attached::from_bytes(&bytes.to_bytes()));
    let attached =
        attached.ok_or("its attachment lacks the sequence number and caller that ROS nodes add")?;
    let request = bytes(query.payload().ok_or("it is empty")?);
    let reply = move |answer: Bytes| {
        Ok(run_blocking(move || {
            let (key, attached) = (
                query.key_expr().clone(),
                Attached::now(attached.number, attached.sender).to_bytes(),
            );
            query
                .reply(key, answer)
                .attachment(attached)
                .wait()
                .map_err(|error| error.to_string())
        }))
    };
    Ok(Call {
        request,
        reply: Box::new(reply),
    })
}

/// Drops a value on a blocking thread, because closing an endpoint of Zenoh may wait for the
/// network.
struct DropBlocking<T: Send + 'static>(Option<T>, Handle);

impl<T: Send + 'static> Drop for DropBlocking<T> {
    fn drop(&mut self) {
        let thing = self.0.take();
        self.1.spawn_blocking(move || drop(thing));
    }
}

impl Zenoh {
    fn open_observer(
        &self,
        topic: &Name,
        qos: Qos,
        hear: MessageCallback<Bytes>,
    ) -> Result<Open, Diagnostic> {
        let Name {
            full,
            type_name,
            definition,
            ..
        } = topic.clone();
        let hash = definition
            .map(Type::hash)
            .or_else(|| self.graph.hash(&full, &type_name));
        let mut end = End {
            kind: Kind::Subscriber,
            name: full,
            type_name,
            // The key matches every type hash, so publishers with another definition are observed,
            // too.
            hash: "*".to_owned(),
        };
        let key = end.key(self.origin.domain);
        end.hash = hash.unwrap_or_else(|| wire::NO_HASH.to_owned());
        self.hear(&end, key, qos, hear)
    }

    fn open_publisher(
        &self,
        topic: &Name,
        qos: Qos,
        opened: &Opened<Bytes>,
    ) -> Result<Open, Diagnostic> {
        let end = end(Kind::Publisher, topic)?;
        let token = self.token(&end, qos);
        let identity = wire::identity(&token);
        let open = || {
            let reliability = match qos.reliability {
                Reliability::Reliable => ::zenoh::qos::Reliability::Reliable,
                Reliability::BestEffort => ::zenoh::qos::Reliability::BestEffort,
            };
            let mut writer = self
                .session
                .declare_publisher(end.key(self.origin.domain))
                .reliability(reliability)
                .advanced();
            // Late subscribers detect the publisher and query its cache; the heartbeat tells
            // reliable ones that they missed the last message.
            if qos.durability == Durability::TransientLocal {
                writer = writer
                    .publisher_detection()
                    .cache(CacheConfig::default().max_samples(qos.depth.max(1)));
                if qos.reliability == Reliability::Reliable {
                    writer = writer.sample_miss_detection(
                        MissDetectionConfig::default().sporadic_heartbeat(HEARTBEAT),
                    );
                }
            }
            let writer: AdvancedPublisher<'static> = writer.wait()?;
            Ok((self.declare(token)?, Arc::new(writer)))
        };
        let open = open().map_err(|error: ::zenoh::Error| {
            transport(&format!("can't publish {}", end.name), error)
        })?;
        let (writer, count) = (open.1.clone(), AtomicI64::new(0));
        opened(Arc::new(move |message: &Bytes| {
            let (writer, message) = (writer.clone(), message.clone());
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(run_blocking(move || {
                let attached = Attached::now(number, identity).to_bytes();
                writer
                    .put(message)
                    .attachment(attached)
                    .wait()
                    .map_err(|error| error.to_string())
            }))
        }));
        Ok(Box::new(open))
    }

    fn open_server(
        &self,
        service: &Name,
        ask: RequestCallback<Bytes, Bytes>,
    ) -> Result<Open, Diagnostic> {
        let end = end(Kind::Server, service)?;
        let open = || {
            let queryable = self
                .session
                .declare_queryable(end.key(self.origin.domain))
                // Calls address complete queryables only (`QueryTarget::AllComplete`).
                .complete(true);
            let queryable = queryable
                .callback(move |query| ask(read_query(query)))
                .wait()?;
            Ok(Box::new((
                self.declare(self.token(&end, Qos::reliable(MAX_PENDING_CALLS)))?,
                queryable,
            )) as Open)
        };
        open()
            .map_err(|error: ::zenoh::Error| transport(&format!("can't serve {}", end.name), error))
    }
}

impl Transport for Zenoh {
    fn listen(self: Arc<Self>, topic: Name, qos: Qos, hear: MessageCallback<Bytes>) -> Attempt {
        Box::new(move || {
            let end = end(Kind::Subscriber, &topic)?;
            self.hear(&end, end.key(self.origin.domain), qos, hear.clone())
        })
    }

    fn observe(self: Arc<Self>, topic: Name, qos: Qos, hear: MessageCallback<Bytes>) -> Attempt {
        Box::new(move || self.open_observer(&topic, qos, hear.clone()))
    }

    fn advertise(self: Arc<Self>, topic: Name, qos: Qos, opened: Opened<Bytes>) -> Attempt {
        Box::new(move || self.open_publisher(&topic, qos, &opened))
    }

    fn serve(self: Arc<Self>, service: Name, ask: RequestCallback<Bytes, Bytes>) -> Attempt {
        Box::new(move || self.open_server(&service, ask.clone()))
    }

    fn call<'a>(
        &'a self,
        service: &'a Name,
        request: Bytes,
        limit: Limit,
    ) -> BoxFuture<'a, Result<Bytes, Diagnostic>> {
        async move {
            let end = end(Kind::Client, service)?;
            let what = format!("can't call {}", end.name);
            let failed = |error: String| transport(&what, error);
            let (key, token) = (
                end.key(self.origin.domain),
                self.token(&end, Qos::reliable(MAX_PENDING_CALLS)),
            );
            // Each call has a token, and so an identity, of its own: its only request is the first.
            let attached = Attached::now(1, wire::identity(&token)).to_bytes();
            let (session, handle) = (self.session.clone(), self.handle.clone());
            let declared = run_blocking(move || {
                let token = session
                    .liveliness()
                    .declare_token(token)
                    .wait()
                    .map_err(|error| error.to_string())?;
                Ok(DropBlocking(Some(token), handle))
            });
            let _token = declared.await.map_err(failed)?;
            let left = limit.server.saturating_duration_since(Instant::now());
            self.graph
                .server(&end, left)
                .await
                .map_err(|why| no_answer(&end.name, limit.answer, &why))?;
            let session = self.session.clone();
            // Later than the caller's time limit, so that the same one of the two errors is always
            // reported.
            let timeout = limit.answer.saturating_add(CALL_MARGIN);
            let answers = run_blocking(move || {
                let get = session
                    .get(key)
                    .target(QueryTarget::AllComplete)
                    .consolidation(ConsolidationMode::None);
                let get = get.timeout(timeout).payload(request).attachment(attached);
                get.wait().map_err(|error| error.to_string())
            });
            let Ok(reply) = answers.await.map_err(failed)?.recv_async().await else {
                return Err(no_answer(
                    &end.name,
                    limit.answer,
                    "a node offers it, but does not answer",
                ));
            };
            let sample = reply.result().map_err(|error| {
                failed(String::from_utf8_lossy(&error.payload().to_bytes()).into_owned())
            })?;
            Ok(bytes(sample.payload()))
        }
        .boxed()
    }

    fn graph(&self) -> crate::Graph {
        self.graph.all()
    }

    fn leave(&self, open: Vec<Open>, mut threads: Threads) {
        // From the inside out: tasks, endpoints, the node's own token, the session.
        threads.end();
        drop(open);
        drop(std::mem::take(
            &mut *self.own.lock().unwrap_or_else(PoisonError::into_inner),
        ));
        if let Err(error) = self.session.close().wait() {
            tracing::debug!("the session did not close cleanly: {error}");
        }
    }
}
