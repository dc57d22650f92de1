//! The node in a ROS 2 workspace without a generator of Rust messages: rcl and the workspace's RMW,
//! through `r2r`.
//!
//! Only this module and its children use that crate. Topics are carried as bytes, whatever their
//! type; services as the types that r2r generated from the workspace, because it has no services of
//! bytes. So this is a [`Backend`]. Parameters, ROS time and the log on `/rosout` are this crate's,
//! as with every network.
//!
//! One thread owns the node ([`run`]). r2r takes at most one message per subscription in each
//! round, and its streams hold eleven: they are drained after each round, so none overflows.
//!
//! r2r 0.9.7 lacks the publisher of a message; the subscribers, services and nodes of the graph;
//! the end of a subscription or a service before its next message ([`MISSING`]). It passes
//! the command line of the process to rcl, log level and parameters included.

use std::any::Any;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ::r2r::{
    Context, Node, PublisherUntyped, QosProfile, ServiceRequest, WrappedServiceTypeSupport,
    WrappedTypesupport,
};
use futures::{FutureExt, Stream, StreamExt};
use tokio::sync::watch;

mod graph;

/// The types that r2r generated, for generated code.
pub use ::r2r as bindings;

use super::args::Args;
use super::client::Client;
use super::environment::Environment;
use super::faults::{ended, no_answer, transport};
use super::msg::{Message, Service};
use super::opener::EndOnPanic;
use super::threads::Threads;
use super::transport::{
    Attempt, Backend, Call, Limit, MAX_PENDING_CALLS, MessageCallback, Name, Open, Opened,
    RequestCallback, Setup, run_blocking,
};
use super::{Durability, Graph, Observed, PublisherId, Qos, Reliability, Sample, cdr, codes};
use urdf_usd_diagnostic::{Diagnostic, Place};

/// Said at start, because results depend on it.
const MISSING: &str = "this build's ROS client, r2r, reports neither the publishers of messages nor the subscribers, services and silent \
                       nodes of the ROS graph: verdicts neither name publishers nor see that two of them contradict each other, captured \
                       interfaces are the published topics, and patterns of node names match only nodes that publish (docs/ros.md)";
/// Highest domain of DDS.
const LAST_DOMAIN: u32 = 232;
/// Maximum duration of a round, hence the delay of work for the thread: nothing else can wake it.
const ROUND: Duration = Duration::from_millis(10);
/// Interval between snapshots of the graph, of whose changes r2r does not notify.
const GRAPH_PERIOD: Duration = Duration::from_secs(1);

/// Work for the thread that owns the node.
type Work = Box<dyn FnOnce(&mut Live) + Send>;

/// The ROS graph, over rcl.
#[derive(Clone)]
pub struct R2r(Arc<Thread>);

/// The handle of the thread that owns the node.
struct Thread {
    work: Sender<Work>,
    /// `None` after the end.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The state of the thread, in order of dropping.
struct Live {
    streams: Vec<Drain>,
    /// Clients of services, by service and type. r2r keeps them until the end of the node, so they
    /// are shared by all calls.
    clients: HashMap<(String, String), Box<dyn Any>>,
    node: Node,
    is_over: bool,
}

/// Takes everything out of a stream. Returns false if its endpoint was closed.
type Drain = Box<dyn FnMut() -> bool>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Joins the ROS graph as the node that calls itself `default_name`, under the command line of the
/// process and the environment. Warns of what this client lacks.
///
/// # Errors
/// [`codes::INVALID_NAME`], [`codes::ENVIRONMENT`], [`codes::TRANSPORT`].
pub fn start(default_name: &str, args: &Args) -> Result<Client<R2r>, Diagnostic> {
    // rcl refuses it too, but r2r turns refusals into panics.
    Environment::from_process().domain(LAST_DOMAIN)?;
    let client = Client::join(default_name, args, |setup| {
        Ok((R2r::join(default_name, setup)?, None))
    })?;
    tracing::warn!("{MISSING}");
    Ok(client)
}

impl R2r {
    fn join(default_name: &str, Setup { changes, end, .. }: Setup) -> Result<Self, Diagnostic> {
        let (work, waiting) = channel();
        let (joined, joining) = channel();
        let name = default_name.to_owned();
        let thread = std::thread::Builder::new()
            .name("ros".to_owned())
            .spawn(move || {
                let node = Context::create().and_then(|context| Node::create(context, &name, ""));
                let node = node.map_err(|error| transport("can't create the node", error));
                let (node, is_joined) = match node {
                    Ok(node) => (Some(node), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                let _ = joined.send(is_joined);
                if let Some(node) = node {
                    let _guard = EndOnPanic(end);
                    run(node, &waiting, &changes);
                }
            });
        let thread = thread.map_err(|error| transport("can't start a thread", error))?;
        let Ok(is_joined) = joining.recv() else {
            return Err(refused(thread.join()));
        };
        is_joined?;
        let thread = Mutex::new(Some(thread));
        Ok(Self(Arc::new(Thread { work, thread })))
    }

    /// Runs work on the thread and waits for the result.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Live) -> Result<T, Diagnostic> + Send + 'static,
    ) -> Result<T, Diagnostic> {
        let (result, results) = channel();
        let work: Work = Box::new(move |live| drop(result.send(work(live))));
        self.0.work.send(work).map_err(|_| ended())?;
        results.recv().map_err(|_| ended())?
    }

    /// Subscribes to a topic of any type; `read` reads its messages.
    fn subscribe<T: 'static>(
        &self,
        topic: Name,
        qos: Qos,
        hear: MessageCallback<T>,
        read: fn(&[u8]) -> Result<T, String>,
    ) -> Attempt {
        let this = self.clone();
        Box::new(move || {
            let (topic, hear) = (topic.clone(), hear.clone());
            this.run(move |live| {
                let Name {
                    given,
                    full,
                    type_name,
                    ..
                } = &topic;
                let messages = live.node.subscribe_raw(given, type_name, profile(qos));
                let messages = messages
                    .map_err(|error| refused_type("subscribe to", full, type_name, error))?;
                Ok(live.follow(messages, move |bytes| {
                    hear(read(&bytes).map(|message| Sample {
                        message,
                        // r2r discards it.
                        publisher: PublisherId::UNKNOWN,
                    }));
                }))
            })
        })
    }
}

/// Owns the node: does the work, waits for messages, and takes them, until the node leaves.
fn run(node: Node, waiting: &Receiver<Work>, changes: &watch::Sender<()>) {
    let mut live = Live {
        streams: Vec::new(),
        clients: HashMap::new(),
        node,
        is_over: false,
    };
    let mut next_look = Instant::now();
    while !live.is_over {
        loop {
            match waiting.try_recv() {
                Ok(work) => work(&mut live),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        if next_look <= Instant::now() {
            changes.send_replace(());
            next_look = Instant::now() + GRAPH_PERIOD;
        }
        if live.streams.is_empty() && live.clients.is_empty() {
            // rcl refuses to wait for nothing.
            std::thread::sleep(ROUND);
        } else {
            live.node.spin_once(ROUND);
        }
        live.streams.retain_mut(|drain| drain());
    }
}

impl Live {
    /// Passes everything that a stream yields to `take`, until the returned endpoint is dropped.
    fn follow<T: 'static>(
        &mut self,
        mut stream: impl Stream<Item = T> + Unpin + 'static,
        mut take: impl FnMut(T) + 'static,
    ) -> Open {
        let open = Arc::new(());
        let is_open: Weak<()> = Arc::downgrade(&open);
        self.streams.push(Box::new(move || {
            while let Some(Some(item)) = stream.next().now_or_never() {
                take(item);
            }
            is_open.strong_count() > 0
        }));
        Box::new(open)
    }

    /// Returns the client of a service.
    fn client<T: WrappedServiceTypeSupport + Send + Sync + 'static>(
        &mut self,
        service: &Name,
    ) -> Result<Arc<::r2r::Client<T>>, Diagnostic> {
        let key = (service.full.clone(), service.type_name.clone());
        if let Some(known) = self
            .clients
            .get(&key)
            .and_then(|client| client.downcast_ref::<Arc<::r2r::Client<T>>>())
        {
            return Ok(known.clone());
        }
        let client = self
            .node
            .create_client::<T>(&service.given, calls())
            .map_err(|error| transport(&format!("can't call {}", service.full), error))?;
        let client = Arc::new(client);
        self.clients.insert(key, Box::new(client.clone()));
        Ok(client)
    }
}

/// Returns the diagnostic for a refusal of rcl, which r2r turned into a panic.
fn refused(panic: std::thread::Result<()>) -> Diagnostic {
    let panic = panic.err();
    let text = panic.as_ref().and_then(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
    });
    let what = format!("can't start rcl: {}", text.unwrap_or("it gives no reason"));
    Diagnostic::new(&codes::ENVIRONMENT, Place::default(), what)
        .help("check RMW_IMPLEMENTATION, and that this RMW is installed in the sourced workspace")
}

/// Returns the diagnostic for a topic that can't be opened, most likely for want of its type.
fn refused_type(what: &str, topic: &str, type_name: &str, error: ::r2r::Error) -> Diagnostic {
    transport(&format!("can't {what} {topic}"), error).help(format!(
        "if this build does not know {type_name}, add its package to IDL_PACKAGE_FILTER and build again (docs/ros.md)"
    ))
}

fn profile(qos: Qos) -> QosProfile {
    let profile = QosProfile::default().keep_last(qos.depth.max(1));
    let profile = match qos.reliability {
        Reliability::Reliable => profile.reliable(),
        Reliability::BestEffort => profile.best_effort(),
    };
    let profile = match qos.durability {
        Durability::Volatile => profile.volatile(),
        Durability::TransientLocal => profile.transient_local(),
    };
    match qos.lifespan {
        Some(lifespan) => profile.lifespan(lifespan),
        None => profile,
    }
}

/// Returns the profile of services and their clients.
fn calls() -> QosProfile {
    QosProfile::services_default().keep_last(MAX_PENDING_CALLS)
}

/// Returns the text of an error.
fn text(error: ::r2r::Error) -> String {
    error.to_string()
}

/// Reads a request, and prepares its answer.
fn read<S: Service>(
    request: ServiceRequest<S::R2r>,
) -> Result<Call<S::Request, S::Response>, String> {
    let message = cdr::decode(&request.message.to_serialized_bytes().map_err(text)?)?;
    let reply = move |answer: S::Response| {
        let answer = cdr::encode(&answer)?;
        Ok(run_blocking(move || {
            let answer =
                <S::R2r as WrappedServiceTypeSupport>::Response::from_serialized_bytes(&answer);
            request.respond(answer.map_err(text)?).map_err(text)
        }))
    };
    Ok(Call {
        request: message,
        reply: Box::new(reply),
    })
}

/// Withdraws a topic when dropped.
struct Advertised {
    publisher: Option<PublisherUntyped>,
    thread: R2r,
}

impl Drop for Advertised {
    fn drop(&mut self) {
        if let Some(publisher) = self.publisher.take() {
            let work: Work = Box::new(move |live| live.node.destroy_publisher_untyped(publisher));
            // Fails only after the end of the node, which ends its publishers.
            let _ = self.thread.0.work.send(work);
        }
    }
}

impl Backend for R2r {
    fn listen<M: Message>(&self, topic: Name, qos: Qos, hear: MessageCallback<M>) -> Attempt {
        self.subscribe(topic, qos, hear, cdr::decode)
    }

    fn observe(&self, topic: Name, qos: Qos, hear: MessageCallback<Observed>) -> Attempt {
        self.subscribe(topic, qos, hear, |bytes| Ok(cdr::observe(bytes)))
    }

    fn advertise<M: Message>(&self, topic: Name, qos: Qos, opened: Opened<M>) -> Attempt {
        let this = self.clone();
        Box::new(move || {
            let named = topic.clone();
            let publisher = this.run(move |live| {
                let Name {
                    given,
                    full,
                    type_name,
                    ..
                } = &named;
                live.node
                    .create_publisher_untyped(given, type_name, profile(qos))
                    .map_err(|error| refused_type("publish", full, type_name, error))
            })?;
            let open = Advertised {
                publisher: Some(publisher.clone()),
                thread: this.clone(),
            };
            // A publisher may be sent to other threads, but not shared by them.
            let publisher = Mutex::new(publisher);
            opened(Arc::new(move |message: &M| {
                let (publisher, bytes) = (locked(&publisher).clone(), cdr::encode(message)?);
                Ok(run_blocking(move || {
                    publisher.publish_raw(&bytes).map_err(text)
                }))
            }));
            Ok(Box::new(open))
        })
    }

    fn serve<S: Service>(
        &self,
        service: Name,
        ask: RequestCallback<S::Request, S::Response>,
    ) -> Attempt {
        let this = self.clone();
        Box::new(move || {
            let (service, ask) = (service.clone(), ask.clone());
            this.run(move |live| {
                let requests = live.node.create_service::<S::R2r>(&service.given, calls());
                let failed = |error| transport(&format!("can't serve {}", service.full), error);
                Ok(live.follow(requests.map_err(failed)?, move |request| {
                    ask(read::<S>(request));
                }))
            })
        })
    }

    async fn call<S: Service>(
        &self,
        service: &Name,
        request: S::Request,
        limit: Limit,
    ) -> Result<S::Response, Diagnostic> {
        let failed = |error: String| transport(&format!("can't call {}", service.full), error);
        let (this, name) = (self.clone(), service.clone());
        let open = run_blocking(move || Ok(this.run(move |live| live.client::<S::R2r>(&name))));
        let client = open.await.map_err(failed)??;
        let is_available = Node::is_available(&*client).map_err(|error| failed(text(error)))?;
        match tokio::time::timeout_at(limit.server.into(), is_available).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(ended()),
            Err(_) => return Err(no_answer(&service.full, limit.answer, "no node offers it")),
        }
        let request = cdr::encode(&request).map_err(failed)?;
        let asking = run_blocking(move || {
            let request =
                <S::R2r as WrappedServiceTypeSupport>::Request::from_serialized_bytes(&request);
            client.request(&request.map_err(text)?).map_err(text)
        });
        let answer = asking.await.map_err(failed)?.await.map_err(|_| ended())?;
        let answer = answer.to_serialized_bytes().map_err(text);
        answer
            .and_then(|bytes| cdr::decode(&bytes))
            .map_err(|why| transport(&format!("can't read the answer of {}", service.full), why))
    }

    fn graph(&self) -> Graph {
        self.run(|live| Ok(graph::look(&live.node)))
            .unwrap_or_default()
    }

    fn leave(&self, open: Vec<Open>, mut threads: Threads) {
        threads.end();
        drop(open);
        let over = self.run(|live| {
            live.is_over = true;
            Ok(())
        });
        if let Some(thread) = locked(&self.0.thread).take().filter(|_| over.is_ok()) {
            // A panic was reported on the thread, and has ended the node.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_rcl_is_a_diagnostic_with_its_reason() {
        let thread = std::thread::spawn(|| panic!("failed to load librmw_none.so"));
        let diagnostic = refused(thread.join());
        assert_eq!(diagnostic.code, codes::ENVIRONMENT.id);
        assert!(
            diagnostic
                .to_string()
                .contains("failed to load librmw_none.so"),
            "{diagnostic}"
        );
    }
}
