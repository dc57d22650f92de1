//! The node in a ROS 2 workspace: rcl and the workspace's RMW, through `rclrs`.
//!
//! Only this module and its children use that crate. rcl gets the command line as given, but
//! without parameters: rclrs can neither check a parameter before it changes nor change
//! `use_sim_time`, and it panics if that is not a bool. Parameters and ROS time are therefore this
//! crate's, as with every network. So is the node's log on `/rosout`: rcl writes only its own
//! messages, to the terminal.
//!
//! This is a [`Backend`], because rclrs has no publishers of bytes: messages are those that rosidl
//! generated. rclrs takes them on one thread and runs callbacks on another. Our callbacks only push
//! into a queue. Operations in which rcl may wait run [`run_blocking`] in tasks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ::rclrs::{
    self as client, Context, CreateBasicExecutor, Executor, InitOptions, IntoNodeOptions,
    IntoPrimitiveOptions, MessageInfo, PrimitiveOptions, ServiceIDL, SpinOptions,
};
use futures::FutureExt;

mod graph;
mod observe;
pub mod wire;

/// The types that rosidl generated, for generated code.
pub use ros_env;

use super::args::Args;
use super::client::Client;
use super::faults::{ended, no_answer, transport};
use super::msg::{Message, Service};
use super::threads::Threads;
use super::transport::{
    Attempt, Backend, Call, Limit, MAX_PENDING_CALLS, MessageCallback, Name, Open, Opened,
    RequestCallback, Setup, run_blocking,
};
use super::{Durability, Graph, Observed, PublisherId, Qos, Reliability, Sample, codes};
use urdf_usd_diagnostic::{Diagnostic, Place};
use wire::Mirror;

/// Interval between snapshots of the graph without a notification: rcl may notify before the change
/// is visible.
const GRAPH_PERIOD: Duration = Duration::from_secs(5);
/// Pause of the spinning thread after a failure.
const PAUSE: Duration = Duration::from_millis(100);

/// The ROS graph, over rcl.
#[derive(Clone)]
pub struct Rclrs(Arc<Mutex<Option<Live>>>);

/// The state that ends with the node, in order of dropping: the guard of the graph's events, the
/// node, the thread.
struct Live {
    _listening: Open,
    node: client::Node,
    _spinning: Spinning,
}

/// The thread on which all callbacks run.
struct Spinning {
    commands: Arc<client::ExecutorCommands>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Spinning {
    fn start(mut executor: Executor) -> Result<Self, Diagnostic> {
        let (commands, is_over) = (executor.commands().clone(), Arc::<AtomicBool>::default());
        let over = is_over.clone();
        let thread = std::thread::Builder::new()
            .name("ros".to_owned())
            .spawn(move || {
                while !over.load(Ordering::Acquire) {
                    for error in executor.spin(SpinOptions::default()) {
                        tracing::warn!("could not take a message or a request: {error}");
                        std::thread::sleep(PAUSE);
                    }
                }
            });
        let thread = thread.map_err(|error| transport("can't start a thread", error))?;
        Ok(Self {
            commands,
            is_over,
            thread: Some(thread),
        })
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else {
            return;
        };
        while !thread.is_finished() {
            // Repeated, because a `spin` that begins at this moment resets the request to end.
            self.commands.halt_spinning();
            std::thread::sleep(Duration::from_millis(1));
        }
        // A panic was reported on the thread; a destructor can't pass it on.
        let _ = thread.join();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns an error with the detail that rcl gives.
fn with_source(error: &client::RclrsError) -> String {
    std::error::Error::source(error)
        .map_or_else(|| error.to_string(), |source| format!("{error} {source}"))
}

/// Joins the ROS graph as the node that calls itself `default_name`, under `args` and the
/// environment.
///
/// # Errors
/// [`codes::INVALID_NAME`], [`codes::ENVIRONMENT`], [`codes::TRANSPORT`].
pub fn start(default_name: &str, args: &Args) -> Result<Client<Rclrs>, Diagnostic> {
    Client::join(default_name, args, |setup| {
        Ok((Rclrs::join(default_name, args, setup)?, None))
    })
}

impl Rclrs {
    fn join(
        default_name: &str,
        args: &Args,
        Setup { changes, .. }: Setup,
    ) -> Result<Self, Diagnostic> {
        let context = Context::new(arguments(&args.given), InitOptions::new()).map_err(|error| {
            let what = format!("can't start rcl: {}", with_source(&error));
            Diagnostic::new(&codes::ENVIRONMENT, Place::default(), what).help(
                "check ROS_DOMAIN_ID and RMW_IMPLEMENTATION, and that this RMW is installed in the sourced workspace",
            )
        })?;
        let executor = context.create_basic_executor();
        let options = default_name
            .start_parameter_services(false)
            .enable_rosout(false)
            .clock_type(client::ClockType::SystemTime);
        let node = executor
            .create_node(options)
            .map_err(|error| transport("can't create the node", error))?;
        graph::silence_history_warnings();
        let spinning = Spinning::start(executor)?;
        let listening = node.notify_on_graph_change_with_period(GRAPH_PERIOD, move || {
            changes.send_replace(());
            false
        });
        tracing::debug!(rmw = std::env::var("RMW_IMPLEMENTATION").ok(), "joined rcl");
        Ok(Self(Arc::new(Mutex::new(Some(Live {
            _listening: Box::new(listening),
            _spinning: spinning,
            node,
        })))))
    }

    /// Returns the node, unless it has left.
    fn node(&self) -> Result<client::Node, Diagnostic> {
        locked(&self.0)
            .as_ref()
            .map(|live| live.node.clone())
            .ok_or_else(ended)
    }
}

/// Returns the arguments for rcl: the command line without parameters, and flags that leave the log
/// file and `/rosout` to this crate.
///
/// The general log level applies to the node alone; rcl and the RMW get only levels set for their
/// loggers, because at debug level they log every message taken.
fn arguments(given: &[String]) -> Vec<String> {
    let mut kept = vec!["bridge".to_owned()];
    let mut given = given.iter();
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "-p" | "--param" | "--params-file" => drop(given.next()),
            "--log-level" => {
                let level = given.next().filter(|level| level.contains(":="));
                kept.extend(
                    level
                        .into_iter()
                        .flat_map(|level| [argument.clone(), level.clone()]),
                );
            }
            _ => kept.push(argument.clone()),
        }
    }
    kept.extend(
        [
            "--ros-args",
            "--disable-external-lib-logs",
            "--disable-rosout-logs",
        ]
        .map(str::to_owned),
    );
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
    qos.lifespan
        .map_or(options, |lifespan| options.lifespan_duration(lifespan))
}

fn publisher(info: &MessageInfo) -> PublisherId {
    let mut id = PublisherId::default();
    let bytes = id.0.len();
    id.0.copy_from_slice(&info.publisher_gid.data[..bytes]);
    id
}

impl Backend for Rclrs {
    fn listen<M: Message>(&self, topic: Name, qos: Qos, hear: MessageCallback<M>) -> Attempt {
        let this = self.clone();
        Box::new(move || {
            let hear = hear.clone();
            let hear = move |message: M::Ros, info: MessageInfo| {
                hear(Ok(Sample {
                    message: message.into_ours(),
                    publisher: publisher(&info),
                }));
            };
            let open = this
                .node()?
                .create_subscription::<M::Ros, _>(options(&topic.given, qos), hear);
            let failed = |error| transport(&format!("can't subscribe to {}", topic.full), error);
            Ok(Box::new(open.map_err(failed)?))
        })
    }

    fn observe(&self, topic: Name, qos: Qos, hear: MessageCallback<Observed>) -> Attempt {
        let this = self.clone();
        Box::new(move || observe::observe(&this.node()?, &topic, qos, hear.clone()))
    }

    fn advertise<M: Message>(&self, topic: Name, qos: Qos, opened: Opened<M>) -> Attempt {
        let this = self.clone();
        Box::new(move || {
            let open = this
                .node()?
                .create_publisher::<M::Ros>(options(&topic.given, qos));
            let failed = |error| transport(&format!("can't publish {}", topic.full), error);
            let open = open.map_err(failed)?;
            let publisher = open.clone();
            opened(Arc::new(move |message: &M| {
                let (publisher, message) = (publisher.clone(), M::Ros::from_ours(message.clone()));
                Ok(run_blocking(move || {
                    publisher
                        .publish(message)
                        .map_err(|error| error.to_string())
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
            let ask = ask.clone();
            let hear = move |request: <S::Ros as ServiceIDL>::Request| {
                let (answer, answered) = tokio::sync::oneshot::channel::<S::Response>();
                // rclrs sends it on its own thread.
                let reply = move |response| {
                    let given = answer
                        .send(response)
                        .map_err(|_| "the node has shut down".to_owned());
                    Ok(std::future::ready(given).boxed())
                };
                ask(Ok(Call {
                    request: request.into_ours(),
                    reply: Box::new(reply),
                }));
                async move {
                    match answered.await {
                        Ok(response) => Mirror::from_ours(response),
                        // There will be no answer, and rclrs offers no other way to say so. Nothing
                        // can wake this future, so it is dropped at once.
                        Err(_) => std::future::pending().await,
                    }
                }
            };
            // With the default depth of 10, rclrs 0.8 answered 11 of 20 simultaneous calls.
            let depth = u32::try_from(MAX_PENDING_CALLS).unwrap_or(u32::MAX);
            let open = this
                .node()?
                .create_async_service::<S::Ros, _>(service.given.as_str().keep_last(depth), hear);
            let failed = |error| transport(&format!("can't serve {}", service.full), error);
            Ok(Box::new(open.map_err(failed)?))
        })
    }

    async fn call<S: Service>(
        &self,
        service: &Name,
        request: S::Request,
        limit: Limit,
    ) -> Result<S::Response, Diagnostic> {
        let failed = |error: String| transport(&format!("can't call {}", service.full), error);
        let (node, given) = (self.node()?, service.given.clone());
        let open = run_blocking(move || {
            node.create_client::<S::Ros>(given.as_str())
                .map_err(|error| error.to_string())
        });
        let open = open.await.map_err(failed)?;
        match tokio::time::timeout_at(limit.server.into(), open.notify_on_service_ready()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(ended()),
            Err(_) => return Err(no_answer(&service.full, limit.answer, "no node offers it")),
        }
        let request = <S::Ros as ServiceIDL>::Request::from_ours(request);
        let asking = run_blocking(move || {
            let answer = open.call(request).map_err(|error| error.to_string())?;
            // The answer arrives only while its client exists.
            Ok((answer, open))
        });
        let answered: (client::Promise<<S::Ros as ServiceIDL>::Response>, _) =
            asking.await.map_err(failed)?;
        let (answer, _open) = answered;
        answer.await.map(Mirror::into_ours).map_err(|_| ended())
    }

    fn graph(&self) -> Graph {
        self.node()
            .map(|node| graph::look(&node))
            .unwrap_or_default()
    }

    fn leave(&self, open: Vec<Open>, mut threads: Threads) {
        threads.end();
        drop(open);
        // After the lock is released, because this may take a while.
        let live = locked(&self.0).take();
        drop(live);
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
        let logs = [
            "--ros-args",
            "--disable-external-lib-logs",
            "--disable-rosout-logs",
        ];
        assert_eq!(
            told,
            [
                &[
                    "bridge",
                    "--ros-args",
                    "-r",
                    "__ns:=/a",
                    "--log-level",
                    "rcl:=warn"
                ][..],
                &logs
            ]
            .concat()
        );
    }
}
