//! The node in a ROS 2 workspace: rcl and whatever RMW the workspace has, through `rclrs`.
//!
//! Only this module and its children name that crate. rcl gets the command line as it was given, except for parameters: rclrs can
//! neither ask before one changes, nor change `use_sim_time`, and it panics if that is not a bool. So parameters and ROS time come
//! from [`Parameters`] and [`Clock`], as with every client here. What the node logs is published as by every client, too: rcl writes
//! only what it has to say itself, to the terminal.
//!
//! `rclrs` takes messages on one thread and runs callbacks on another one. All that ours do there is to put what came into a queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ::rclrs::{
    self as client, Context, CreateBasicExecutor, Executor, InitOptions, IntoNodeOptions, IntoPrimitiveOptions, MessageInfo,
    PrimitiveOptions, ServiceIDL, SpinOptions,
};
use tokio::sync::watch;

mod graph;
mod observe;
pub mod wire;

use super::args::Args;
use super::faults::{Troubles, ended, no_answer, transport};
use super::kept::Kept;
use super::msg::{Message, Service};
use super::own::Own;
use super::{
    Durability, Graph, Node, Observed, Publisher, PublisherId, Qos, Reliability, Request, Requests, Responder, Sample,
    Subscription, codes, queue,
};
use urdf_usd_diagnostic::{Diagnostic, Place};
use wire::Mirror;

/// How many calls to one service may wait. Beyond the 10 that are usual, calls made at once are lost.
const CALLS: u32 = 128;
/// How often the graph is looked at although rcl has told of no change: it may tell before the change can be seen.
const GRAPH_PERIOD: Duration = Duration::from_secs(5);
/// How long a spinning thread that fails waits before it tries again.
const PAUSE: Duration = Duration::from_millis(100);

/// A ROS 2 node on rcl.
pub struct Rclrs(Arc<Inner>);

struct Inner {
    own: Own,
    changes: watch::Sender<()>,
    /// `None` after shutdown.
    live: Mutex<Option<Live>>,
}

/// What ends with the node.
struct Live {
    kept: Kept,
    node: client::Node,
    spinning: Spinning,
}

/// The thread that all callbacks run on.
struct Spinning {
    commands: Arc<client::ExecutorCommands>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Spinning {
    fn start(mut executor: Executor) -> Result<Self, Diagnostic> {
        let (commands, is_over) = (executor.commands().clone(), Arc::<AtomicBool>::default());
        let over = is_over.clone();
        let thread = std::thread::Builder::new().name("ros".to_owned()).spawn(move || {
            while !over.load(Ordering::Acquire) {
                for error in executor.spin(SpinOptions::default()) {
                    tracing::warn!("a message or a call could not be taken: {error}");
                    std::thread::sleep(PAUSE);
                }
            }
        });
        let thread = thread.map_err(|error| transport("can't start a thread", error))?;
        Ok(Self { commands, is_over, thread: Some(thread) })
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() {
            // Again and again: a `spin` that begins right now forgets that it was told to end.
            self.commands.halt_spinning();
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = thread.join();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error with what rcl said of it.
fn whole(error: &client::RclrsError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |source| format!("{error} {source}"))
}

impl Rclrs {
    /// Joins the ROS graph as the node that calls itself `default_name`, under `args` and the environment.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`], [`codes::ENVIRONMENT`], [`codes::TRANSPORT`].
    pub fn start(default_name: &str, args: &Args) -> Result<Self, Diagnostic> {
        let own = Own::new(default_name, args)?;
        let context = Context::new(arguments(&args.given), InitOptions::new()).map_err(|error| {
            let what = format!("rcl can't be started: {}", whole(&error));
            Diagnostic::new(&codes::ENVIRONMENT, Place::default(), what).help(
                "look at ROS_DOMAIN_ID and RMW_IMPLEMENTATION, and whether that RMW is installed in the workspace sourced",
            )
        })?;
        let executor = context.create_basic_executor();
        let options =
            default_name.start_parameter_services(false).enable_rosout(false).clock_type(client::ClockType::SystemTime);
        let node = executor.create_node(options).map_err(|error| transport("can't create the node", error))?;
        graph::quiet();
        let spinning = Spinning::start(executor)?;

        let (changes, kept) = (watch::channel(()).0, Kept::default());
        let ticks = changes.clone();
        let listening = node.notify_on_graph_change_with_period(GRAPH_PERIOD, move || {
            ticks.send_replace(());
            false
        });
        // As long as the node.
        kept.keep_on(listening);

        let this = Self(Arc::new(Inner { own, changes, live: Mutex::new(Some(Live { kept, node, spinning })) }));
        let (inner, commands) = (&this.0, this.0.live(|live| live.node.commands().clone())?);
        let node = Arc::downgrade(inner);
        let ticks = move || node.upgrade().ok_or_else(ended)?.subscribe("/clock", Qos::best_effort(1));
        inner.own.open(&this, ticks, |task| drop(commands.run(task)))?;
        tracing::debug!(
            node = this.fully_qualified_name(),
            rmw = std::env::var("RMW_IMPLEMENTATION").ok(),
            "joined the ROS graph"
        );
        Ok(this)
    }
}

/// What rcl is told: the command line without parameters, and to leave the log file and `/rosout` to us. A log level is the node's; that
/// of rcl and the RMW is only what is said for a logger of theirs, or debugging would drown in every message taken.
fn arguments(given: &[String]) -> Vec<String> {
    let mut kept = vec!["bridge".to_owned()];
    let mut given = given.iter();
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "-p" | "--param" | "--params-file" => drop(given.next()),
            "--log-level" => {
                let level = given.next().filter(|level| level.contains(":="));
                kept.extend(level.into_iter().flat_map(|level| [argument.clone(), level.clone()]));
            }
            _ => kept.push(argument.clone()),
        }
    }
    kept.extend(["--ros-args", "--disable-external-lib-logs", "--disable-rosout-logs"].map(str::to_owned));
    kept
}

fn options(name: &str, qos: Qos) -> PrimitiveOptions<'_> {
    let options = name.keep_last(u32::try_from(qos.depth.max(1)).unwrap_or(u32::MAX));
    let options = match qos.reliability {
        Reliability::Reliable => options.reliable(),
        Reliability::BestEffort => options.best_effort(),
    };
    let options = match qos.durability {
        Durability::Volatile => options.volatile(),
        Durability::TransientLocal => options.transient_local(),
    };
    qos.lifespan.map_or(options, |lifespan| options.lifespan_duration(lifespan))
}

fn publisher(info: &MessageInfo) -> PublisherId {
    let mut id = PublisherId::default();
    let bytes = id.0.len();
    id.0.copy_from_slice(&info.publisher_gid.data[..bytes]);
    id
}

impl Inner {
    /// Does something with the client, unless the node has shut down.
    fn live<T>(&self, work: impl FnOnce(&Live) -> T) -> Result<T, Diagnostic> {
        locked(&self.live).as_ref().map(work).ok_or_else(ended)
    }

    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
        let name = self.own.names.topic(topic)?;
        self.live(|live| {
            let (sender, receiver) = queue::keep_last(qos.depth);
            let hear = move |message: M::Ros, info: MessageInfo| {
                sender.push(Sample { message: message.into_ours(), publisher: publisher(&info) });
            };
            let open = live.node.create_subscription::<M::Ros, _>(options(topic, qos), hear);
            let open = open.map_err(|error| transport(&format!("can't subscribe to {name}"), error))?;
            Ok(Subscription::new(open.topic_name(), receiver, live.kept.keep(open)))
        })?
    }

    fn advertise<M: Message>(&self, topic: &str, qos: Qos) -> Result<Publisher<M>, Diagnostic> {
        let name = self.own.names.topic(topic)?;
        self.live(|live| {
            let open = live.node.create_publisher::<M::Ros>(options(topic, qos));
            let open = open.map_err(|error| transport(&format!("can't publish {name}"), error))?;
            let (name, weak) = (open.topic_name(), Arc::downgrade(&open));
            let (guard, said) = (live.kept.keep(open), name.clone());
            let publish = move |message: M| {
                let _guard = &guard;
                let open = weak.upgrade().ok_or_else(ended)?;
                open.publish(M::Ros::from_ours(message)).map_err(|error| transport(&format!("{said}: can't publish"), error))
            };
            Ok(Publisher::new(&name, Arc::new(publish)))
        })?
    }

    fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic> {
        let name = self.own.names.service(service)?;
        self.live(|live| {
            let (sender, receiver) = queue::keep_last(CALLS as usize);
            let mut troubles = Troubles::new(name.clone());
            let hear = move |request: <S::Ros as ServiceIDL>::Request| {
                let (answer, answered) = tokio::sync::oneshot::channel::<S::Response>();
                let responder = Responder::new(move |response| answer.send(response).map_err(|_| ended()));
                troubles.queued(sender.push(Request { request: request.into_ours(), responder }));
                async move {
                    match answered.await {
                        Ok(response) => Mirror::from_ours(response),
                        // Nobody will answer, and rclrs knows no other way to say so. Nothing can wake this, so it is dropped at once.
                        Err(_) => std::future::pending().await,
                    }
                }
            };
            let open = live.node.create_async_service::<S::Ros, _>(service.keep_last(CALLS), hear);
            let open = open.map_err(|error| transport(&format!("can't serve {name}"), error))?;
            Ok(Requests::new(open.service_name(), receiver, live.kept.keep(open)))
        })?
    }
}

impl Node for Rclrs {
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
        let name = self.0.own.names.service(service)?;
        let failed = |error: client::RclrsError| transport(&format!("can't call {name}"), error);
        let open = self.0.live(|live| live.node.create_client::<S::Ros>(service))?.map_err(failed)?;
        let deadline = tokio::time::Instant::now() + patience;
        match tokio::time::timeout_at(deadline, open.notify_on_service_ready()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(ended()),
            Err(_) => return Err(no_answer(&name, patience, "nobody offers it")),
        }
        let answer: client::Promise<<S::Ros as ServiceIDL>::Response> =
            open.call(<S::Ros as ServiceIDL>::Request::from_ours(request)).map_err(failed)?;
        match tokio::time::timeout_at(deadline, answer).await {
            Ok(Ok(response)) => Ok(response.into_ours()),
            Ok(Err(_)) => Err(ended()),
            Err(_) => Err(no_answer(&name, patience, "its server is there, but silent")),
        }
    }

    fn graph(&self) -> Graph {
        self.0.live(|live| live.node.clone()).map(|node| graph::look(&node)).unwrap_or_default()
    }

    fn graph_changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    fn shutdown(&self) {
        let Some(Live { kept, node, spinning }) = locked(&self.0.live).take() else { return };
        self.0.own.parameters.end();
        kept.end();
        drop(spinning);
        drop(node);
    }
}

impl Drop for Rclrs {
    fn drop(&mut self) {
        self.shutdown();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rcl_gets_no_parameters_and_writes_no_log() {
        let given = [
            "--ros-args",
            "-r",
            "__ns:=/a",
            "-p",
            "rate:=5",
            "--params-file",
            "f.yaml",
            "--log-level",
            "debug",
            "--param",
            "a:=1",
        ];
        let told = arguments(&given.map(str::to_owned));
        let logs = ["--ros-args", "--disable-external-lib-logs", "--disable-rosout-logs"];
        assert_eq!(told, [&["bridge", "--ros-args", "-r", "__ns:=/a", "--log-level", "rcl:=warn"][..], &logs].concat());
    }
}
