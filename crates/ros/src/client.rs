//! The ROS client, the same for every network: names, queues, time limits, a snapshot of the graph,
//! and shutdown.
//!
//! No call here waits for the network, except [`Node::shutdown`]. One thread opens and closes
//! topics and services ([`super::opener`]). Tasks on two more threads publish, answer, and take a
//! snapshot of the graph after every change; the node reads the latest snapshot. The caller's code
//! never runs on these threads.

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::args::Args;
use super::faults::{Recurring, Troubles, ended, no_answer};
use super::msg::{self, Message, Service};
use super::node_state::NodeState;
use super::opener::{Opener, Upkeep};
use super::publishing::publish;
use super::served::Parameters;
use super::threads::{Task, Threads};
use super::transport::{
    Attempt, Backend, Call, Limit, MAX_PENDING_CALLS, MessageCallback, Name, Setup, Transport,
    Write,
};
use super::types::Type;
use super::{
    Graph, Node, Observed, Publisher, Qos, Request, Requests, Responder, Subscription, queue,
};
use urdf_usd_diagnostic::Diagnostic;

/// Minimum pause between two snapshots of the graph. A snapshot that takes longer lengthens the
/// pause to the time it took, up to [`MAX_DEBOUNCE`].
const DEBOUNCE: Duration = Duration::from_millis(10);
const MAX_DEBOUNCE: Duration = Duration::from_millis(100);
/// Time limit for leaving the graph.
const LEAVE: Duration = Duration::from_secs(5);

/// A ROS 2 node.
pub struct Client<B: Backend = Arc<dyn Transport>>(Arc<Inner<B>>);

struct Inner<B> {
    state: NodeState,
    handle: Handle,
    life: Arc<Life>,
    backend: Arc<B>,
    /// The thread that opens and closes everything.
    opener: Opener,
    graph: Arc<Seen>,
    /// `None` after shutdown.
    threads: Mutex<Option<Threads>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The node's stay in the ROS graph, and the queues that end with it.
struct Life {
    parameters: Arc<Parameters>,
    state: Mutex<LifeState>,
}

#[derive(Default)]
struct LifeState {
    has_ended: bool,
    last: u64,
    /// Functions that close the queues, by their numbers.
    queues: HashMap<u64, Box<dyn Fn() + Send>>,
}

/// Registers a queue to be closed when the node leaves; unregisters it when dropped.
struct QueueGuard {
    life: Weak<Life>,
    number: u64,
}

impl Drop for QueueGuard {
    fn drop(&mut self) {
        let Some(life) = self.life.upgrade() else {
            return;
        };
        let close = locked(&life.state).queues.remove(&self.number);
        // The closure may own the last end of the queue, whose drop takes this lock again.
        drop(close);
    }
}

impl Life {
    fn check(&self) -> Result<(), Diagnostic> {
        if locked(&self.state).has_ended {
            Err(ended())
        } else {
            Ok(())
        }
    }

    /// Returns a queue that ends when the node leaves.
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`] if the node has left.
    fn queue<T: Send + 'static>(
        self: &Arc<Self>,
        depth: usize,
    ) -> Result<(queue::Sender<T>, queue::Receiver<T>, QueueGuard), Diagnostic> {
        let (sender, receiver) = queue::keep_last(depth);
        let closing = sender.clone();
        let mut state = locked(&self.state);
        if state.has_ended {
            return Err(ended());
        }
        state.last += 1;
        let number = state.last;
        state
            .queues
            .insert(number, Box::new(move || closing.close()));
        Ok((
            sender,
            receiver,
            QueueGuard {
                life: Arc::downgrade(self),
                number,
            },
        ))
    }

    /// Ends all queues and all streams of parameter changes.
    fn end(&self) {
        let queues = {
            let mut state = locked(&self.state);
            state.has_ended = true;
            // Closed outside the lock: a closure may own the last end of a queue, whose drop takes
            // it.
            std::mem::take(&mut state.queues)
        };
        self.parameters.end();
        queues.values().for_each(|close| close());
    }
}

/// The latest snapshot of the graph.
struct Seen {
    graph: Mutex<Arc<Graph>>,
    /// Ticks after every snapshot.
    changes: watch::Sender<()>,
}

impl Seen {
    /// Takes a snapshot.
    fn look(&self, backend: &impl Backend) {
        let mut graph = backend.graph();
        // Networks report it in any order; readers compare it and search it by bisection.
        graph.sort();
        *locked(&self.graph) = Arc::new(graph);
        self.changes.send_replace(());
    }
}

/// Takes a snapshot after every change.
async fn follow_graph(
    backend: Arc<impl Backend>,
    seen: Arc<Seen>,
    mut changes: watch::Receiver<()>,
) {
    while changes.changed().await.is_ok() {
        let start = Instant::now();
        let (looking, looked) = (backend.clone(), seen.clone());
        if tokio::task::spawn_blocking(move || looked.look(&*looking))
            .await
            .is_err()
        {
            return;
        }
        tokio::time::sleep(start.elapsed().clamp(DEBOUNCE, MAX_DEBOUNCE)).await;
    }
}

impl<B: Backend> Client<B> {
    /// Joins the ROS graph as the node that calls itself `default_name`, under `args`.
    ///
    /// `join` returns the network, and the upkeep that it needs on the thread that opens endpoints.
    ///
    /// # Errors
    /// [`super::codes::INVALID_NAME`], [`super::codes::TRANSPORT`], and those of `join`.
    pub(super) fn join(
        default_name: &str,
        args: &Args,
        join: impl FnOnce(Setup) -> Result<(B, Option<Box<dyn Upkeep>>), Diagnostic>,
    ) -> Result<Self, Diagnostic> {
        let state = NodeState::new(default_name, args)?;
        let threads = Threads::new()?;
        let (handle, ticks) = (threads.handle().clone(), watch::channel(()).0);
        let life = Arc::new(Life {
            parameters: state.parameters.clone(),
            state: Mutex::default(),
        });
        let (backend, upkeep) = join(Setup {
            node: state.names.node.clone(),
            handle: handle.clone(),
            changes: ticks.clone(),
            #[cfg(feature = "r2r")]
            end: {
                let living = life.clone();
                Box::new(move || living.end())
            },
        })?;
        let (backend, living) = (Arc::new(backend), life.clone());
        let opener = Opener::start(upkeep, move || living.end())?;
        let graph = Arc::new(Seen {
            graph: Mutex::default(),
            changes: watch::channel(()).0,
        });
        // Before the first snapshot, so that no change after it is missed.
        let changes = ticks.subscribe();
        graph.look(&*backend);
        handle.spawn(follow_graph(backend.clone(), graph.clone(), changes));
        let threads = Mutex::new(Some(threads));
        let client = Self(Arc::new(Inner {
            state,
            handle,
            life,
            backend,
            opener,
            graph,
            threads,
        }));
        let inner = &client.0;
        // Weak: the clock's task would otherwise keep the node alive for ever.
        let node = Arc::downgrade(inner);
        let clock = move || {
            node.upgrade()
                .ok_or_else(ended)?
                .subscribe("/clock", Qos::best_effort(1))
        };
        inner
            .state
            .open(&client, clock, |task| drop(inner.handle.spawn(task)))?;
        tracing::debug!(node = client.fully_qualified_name(), "joined the ROS graph");
        Ok(client)
    }
}

impl<B: Backend> Inner<B> {
    /// Resolves the name of a topic, and registers its type.
    fn topic(&self, topic: &str, kind: &'static Type) -> Result<Name, Diagnostic> {
        self.state.types.add(kind);
        Ok(Name {
            given: topic.to_owned(),
            full: self.state.names.topic(topic)?,
            type_name: kind.name.to_owned(),
            definition: Some(kind),
        })
    }

    fn observed(&self, topic: &str, type_name: &str) -> Result<Name, Diagnostic> {
        Ok(Name {
            given: topic.to_owned(),
            full: self.state.names.topic(topic)?,
            type_name: type_name.to_owned(),
            definition: msg::find(type_name),
        })
    }

    fn service<S: Service>(&self, service: &str) -> Result<Name, Diagnostic> {
        self.state.types.add(S::TYPE);
        Ok(Name {
            given: service.to_owned(),
            full: self.state.names.service(service)?,
            type_name: S::TYPE.name.to_owned(),
            definition: Some(S::TYPE),
        })
    }

    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
        self.listen(self.topic(topic, M::TYPE)?, qos, B::listen)
    }

    fn listen<M: Send + 'static>(
        &self,
        topic: Name,
        qos: Qos,
        listen: fn(&B, Name, Qos, MessageCallback<M>) -> Attempt,
    ) -> Result<Subscription<M>, Diagnostic> {
        let (sender, receiver, listed) = self.life.queue(qos.depth)?;
        let (name, faults) = (topic.full.clone(), Mutex::<Recurring>::default());
        let heard = name.clone();
        let hear: MessageCallback<M> = Arc::new(move |message| match message {
            // Keep last: a full queue gives up its oldest message.
            Ok(sample) => drop(sender.push(sample)),
            Err(why) => locked(&faults).report(|n| {
                tracing::warn!("{heard}: {n} message(s) could not be read; the last: {why}")
            }),
        });
        let attempt = listen(&self.backend, topic, qos, hear);
        let opening = self.opener.open(&name, attempt);
        Ok(Subscription::new(
            name,
            receiver,
            Arc::new((listed, opening)),
        ))
    }

    fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic> {
        let topic = self.topic(topic, M::TYPE)?;
        let name = topic.full.clone();
        let (sender, receiver, listed) = self.life.queue::<M>(qos.depth)?;
        let writers = watch::channel(None::<Write<M>>).0;
        let current = writers.clone();
        let opened = Box::new(move |write| drop(current.send_replace(Some(write))));
        let attempt = self.backend.advertise::<M>(topic, qos, opened);
        let opening = self.opener.open(&name, attempt);
        let publishing = publish(name.clone(), qos, receiver, writers);
        self.handle.spawn(async move {
            // The topic stays open until its last messages are written.
            publishing.await;
            drop(opening);
        });
        let life = self.life.clone();
        let publish = move |message| {
            let _listed = &listed;
            // The queues close one after the other: a caller that has seen any of them end must
            // not have a message accepted by one that is still open.
            life.check()?;
            sender.push(message);
            Ok(())
        };
        Ok(Publisher::new(&name, Arc::new(publish)))
    }

    fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic> {
        let service = self.service::<S>(service)?;
        let name = service.full.clone();
        let (sender, receiver, listed) = self.life.queue(MAX_PENDING_CALLS)?;
        let troubles = Arc::new(Mutex::new(Troubles::new(name.clone())));
        let (handle, life, answered) = (self.handle.clone(), self.life.clone(), name.clone());
        let ask = move |call: Result<Call<S::Request, S::Response>, String>| match call {
            Ok(Call { request, reply }) => {
                let (handle, life, answered) = (handle.clone(), life.clone(), answered.clone());
                let responder = Responder::new(move |response| {
                    life.check()?;
                    handle.spawn(async move {
                        match reply(response) {
                            Ok(sending) => {
                                if let Err(why) = sending.await {
                                    tracing::warn!("{answered}: could not send an answer: {why}");
                                }
                            }
                            Err(why) => {
                                tracing::warn!("{answered}: could not encode an answer: {why}")
                            }
                        }
                    });
                    Ok(())
                });
                locked(&troubles).queued(sender.push(Request { request, responder }));
            }
            Err(why) => locked(&troubles).unreadable(why),
        };
        let attempt = self.backend.serve::<S>(service, Arc::new(ask));
        let opening = self.opener.open(&name, attempt);
        Ok(Requests::new(name, receiver, Arc::new((listed, opening))))
    }
}

impl<B: Backend> Node for Client<B> {
    fn state(&self) -> &NodeState {
        &self.0.state
    }

    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
        self.0.subscribe(topic, qos)
    }

    fn observe(
        &self,
        topic: &str,
        type_name: &str,
        qos: Qos,
    ) -> Result<Subscription<Observed>, Diagnostic> {
        let topic = self.0.observed(topic, type_name)?;
        self.0.listen(topic, qos, B::observe)
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
        let service = self.0.service::<S>(service)?;
        self.0.life.check()?;
        let (backend, name) = (self.0.backend.clone(), service.full.clone());
        let limit = Limit {
            answer: patience,
            server: Instant::now() + patience.mul_f64(0.95),
        };
        let asked = async move { backend.call::<S>(&service, request, limit).await };
        // Spawned on the node's own threads, so that it ends with the node. `_task` aborts it when
        // the caller drops this future.
        let mut answer = self.0.handle.spawn(tokio::time::timeout(patience, asked));
        let _task = Task(answer.abort_handle());
        match (&mut answer).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(_)) => Err(no_answer(
                &name,
                patience,
                "a node offers it, but does not answer",
            )),
            Err(_) => Err(ended()),
        }
    }

    fn graph(&self) -> Graph {
        if self.0.life.check().is_err() {
            return Graph::default();
        }
        // Under the lock only the `Arc` is cloned, not the graph.
        let graph = locked(&self.0.graph.graph).clone();
        Graph::clone(&graph)
    }

    fn graph_changes(&self) -> watch::Receiver<()> {
        self.0.graph.changes.subscribe()
    }

    fn shutdown(&self) {
        let Some(threads) = locked(&self.0.threads).take() else {
            return;
        };
        self.0.life.end();
        let (left, leaving) = channel::<()>();
        let backend = self.0.backend.clone();
        // After everything that the opener was asked to do before, because it works in order.
        self.0.opener.leave(move |open| {
            backend.leave(open, threads);
            // Nothing is ever sent: the receiver wakes when this end is dropped, also if `leave`
            // panics.
            drop(left);
        });
        if leaving.recv_timeout(LEAVE) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!(
                "{}: did not leave the ROS graph cleanly",
                self.fully_qualified_name()
            );
        }
    }
}

impl<B: Backend> Drop for Client<B> {
    fn drop(&mut self) {
        self.shutdown();
    }
}

#[cfg(test)]
mod tests;
