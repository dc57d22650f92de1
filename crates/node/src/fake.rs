//! An in-process ROS node for tests: messages are delivered within the process, and services are
//! called directly.

use std::any::Any;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::parameters::Parameters;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_ros::msg::sensor_msgs::JointState;
use urdf_usd_ros::msg::std_msgs;
use urdf_usd_ros::msg::tf2_msgs::TFMessage;
use urdf_usd_ros::msg::{Message, Service};
use urdf_usd_ros::parameter::Change;
use urdf_usd_ros::{
    Args, Changes, Declaration, Graph, Node, NodeState, Observed, Publisher, PublisherId, Qos,
    Request, Requests, Responder, Sample, Subscription, Timeline, Value, codes, queue,
};

type Ends = HashMap<String, Vec<Box<dyn Any + Send>>>;

/// A node without a network.
pub struct Fake {
    state: NodeState,
    readers: Arc<Mutex<Ends>>,
    services: Mutex<Ends>,
    changes: Mutex<Vec<queue::Sender<Change>>>,
    graph: Mutex<Graph>,
    timeline: Mutex<Option<Timeline>>,
    graph_changes: watch::Sender<()>,
}

impl Default for Fake {
    fn default() -> Self {
        Self::remapped(&[])
    }
}

impl Fake {
    /// Creates a node with remaps.
    pub fn remapped(remaps: &[(&str, &str)]) -> Self {
        let remaps = remaps
            .iter()
            .flat_map(|(from, to)| ["-r".to_owned(), format!("{from}:={to}")]);
        let (args, _) =
            Args::parse(["--ros-args".to_owned()].into_iter().chain(remaps)).expect("remaps");
        Self {
            state: NodeState::new("urdf_usd", &args).expect("a name"),
            readers: Arc::default(),
            services: Mutex::default(),
            changes: Mutex::default(),
            graph: Mutex::default(),
            timeline: Mutex::default(),
            graph_changes: watch::Sender::default(),
        }
    }

    /// Publishes a message as the publisher `who`.
    pub fn say<M: Message>(&self, topic: &str, message: &M, who: u8) {
        deliver(&self.readers, topic, message, PublisherId([who; 16]));
    }

    /// Subscribes to a topic.
    pub fn listen<M: Message>(&self, topic: &str) -> queue::Receiver<Sample<M>> {
        self.add_reader(topic, 1000)
    }

    fn add_reader<T: Send + 'static>(
        &self,
        topic: &str,
        depth: usize,
    ) -> queue::Receiver<Sample<T>> {
        let (sender, receiver) = queue::keep_last::<Sample<T>>(depth);
        let mut readers = self.readers.lock().unwrap();
        let queues = readers.entry(topic.to_owned()).or_default();
        queues.push(Box::new(sender));
        receiver
    }

    /// Returns the number of open subscriptions to a topic.
    pub fn listeners(&self, topic: &str) -> usize {
        let mut readers = self.readers.lock().unwrap();
        let listeners = readers.entry(topic.to_owned()).or_default();
        listeners.retain(|reader| !is_closed(&**reader));
        listeners.len()
    }

    /// Returns whether a topic has an open subscription with this message type; [`Node::observe`]
    /// does not count.
    pub fn is_heard<M: Message>(&self, topic: &str) -> bool {
        let readers = self.readers.lock().unwrap();
        let mut listeners = readers.get(topic).into_iter().flatten();
        listeners.any(|reader| {
            reader
                .downcast_ref::<queue::Sender<Sample<M>>>()
                .is_some_and(|reader| !reader.is_closed())
        })
    }

    /// Closes all subscriptions to a topic, as a client does whose part for it has failed.
    pub fn lose(&self, topic: &str) {
        self.readers.lock().unwrap().remove(topic);
    }

    /// Sets a parameter.
    pub fn set(&self, name: &str, value: Value) {
        for changes in &*self.changes.lock().unwrap() {
            changes.push(Change {
                name: name.to_owned(),
                value: value.clone(),
            });
        }
    }

    /// Publishes a message to the observers of a topic.
    pub fn say_something(&self, topic: &str, observed: &Observed, who: u8) {
        deliver(&self.readers, topic, observed, PublisherId([who; 16]));
    }

    /// Replaces the graph.
    pub fn set_graph(&self, graph: Graph) {
        *self.graph.lock().unwrap() = graph;
        self.graph_changes.send_replace(());
    }

    /// Sets the clock; until then it is that of the system.
    pub fn set_timeline(&self, timeline: Timeline) {
        *self.timeline.lock().unwrap() = Some(timeline);
    }

    /// Serves a service, as another node would.
    pub fn answer<S: Service>(&self, service: &str) -> Requests<S> {
        self.serve(service).expect("a name")
    }

    /// Calls a service and waits for the response.
    pub async fn ask<S: Service>(&self, service: &str, request: S::Request) -> S::Response {
        self.start_call::<S>(service, request)
            .await
            .expect("an answer")
    }

    /// Calls a service without waiting.
    pub fn start_call<S: Service>(
        &self,
        service: &str,
        request: S::Request,
    ) -> oneshot::Receiver<S::Response> {
        let (sender, receiver) = oneshot::channel();
        let services = self.services.lock().unwrap();
        let server = services
            .get(service)
            .and_then(|ends| ends.first())
            .expect("the service is offered");
        let queue = server
            .downcast_ref::<queue::Sender<Request<S>>>()
            .expect("the service's type");
        let responder = Responder::new(move |response| {
            let _ = sender.send(response);
            Ok(())
        });
        queue.push(Request { request, responder });
        receiver
    }
}

/// Puts a message into the queues of all readers of a topic with its type.
fn deliver<T: Clone + 'static>(
    readers: &Mutex<Ends>,
    topic: &str,
    message: &T,
    publisher: PublisherId,
) {
    let readers = readers.lock().unwrap();
    for reader in readers.get(topic).into_iter().flatten() {
        if let Some(queue) = reader.downcast_ref::<queue::Sender<Sample<T>>>() {
            queue.push(Sample {
                message: message.clone(),
                publisher,
            });
        }
    }
}

/// Returns whether the receiver of a queue was dropped.
fn is_closed(reader: &(dyn Any + Send)) -> bool {
    fn of<M: 'static>(reader: &(dyn Any + Send)) -> Option<bool> {
        reader
            .downcast_ref::<queue::Sender<Sample<M>>>()
            .map(queue::Sender::is_closed)
    }
    of::<std_msgs::String>(reader)
        .or_else(|| of::<TFMessage>(reader))
        .or_else(|| of::<JointState>(reader))
        .or_else(|| of::<Observed>(reader))
        .unwrap_or(false)
}

impl Node for Fake {
    fn state(&self) -> &NodeState {
        &self.state
    }

    fn subscribe<M: Message>(&self, topic: &str, qos: Qos) -> Result<Subscription<M>, Diagnostic> {
        let topic = self.resolve_topic(topic)?;
        let receiver = self.add_reader(&topic, qos.depth);
        Ok(Subscription::new(topic, receiver, Arc::new(())))
    }

    fn observe(
        &self,
        topic: &str,
        _: &str,
        qos: Qos,
    ) -> Result<Subscription<Observed>, Diagnostic> {
        let topic = self.resolve_topic(topic)?;
        let receiver = self.add_reader(&topic, qos.depth);
        Ok(Subscription::new(topic, receiver, Arc::new(())))
    }

    fn advertise<M: Message>(&self, topic: &str, _: Qos) -> Result<Publisher<M>, Diagnostic> {
        let topic = self.resolve_topic(topic)?;
        let (readers, name) = (self.readers.clone(), topic.clone());
        let publish = move |message: M| {
            deliver(&readers, &name, &message, PublisherId::default());
            Ok(())
        };
        Ok(Publisher::new(&topic, Arc::new(publish)))
    }

    fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic> {
        let service = self.resolve_service(service)?;
        let (sender, receiver) = queue::keep_last::<Request<S>>(1000);
        self.services
            .lock()
            .unwrap()
            .entry(service.clone())
            .or_default()
            .push(Box::new(sender));
        Ok(Requests::new(service, receiver, Arc::new(())))
    }

    async fn call<S: Service>(
        &self,
        service: &str,
        request: S::Request,
        patience: Duration,
    ) -> Result<S::Response, Diagnostic> {
        let service = self.resolve_service(service)?;
        let silent = || {
            Diagnostic::new(
                &codes::NO_ANSWER,
                Place::default(),
                format!("{service} does not answer"),
            )
        };
        if !self.services.lock().unwrap().contains_key(&service) {
            return Err(silent());
        }
        let answer = self.start_call::<S>(&service, request);
        tokio::time::timeout(patience, answer)
            .await
            .ok()
            .and_then(Result::ok)
            .ok_or_else(silent)
    }

    fn graph(&self) -> Graph {
        self.graph.lock().unwrap().clone()
    }

    fn timeline(&self) -> Timeline {
        let set = *self.timeline.lock().unwrap();
        set.unwrap_or_else(|| self.state.timeline())
    }

    fn graph_changes(&self) -> watch::Receiver<()> {
        self.graph_changes.subscribe()
    }

    fn declare(&self, declaration: Declaration) -> Result<Value, Diagnostic> {
        Ok(declaration.default)
    }

    fn changes(&self) -> Changes {
        let (sender, receiver) = queue::keep_last(100);
        self.changes.lock().unwrap().push(sender);
        Changes::new(receiver)
    }

    fn shutdown(&self) {
        self.readers.lock().unwrap().clear();
        self.services.lock().unwrap().clear();
        self.changes.lock().unwrap().clear();
    }
}

/// Returns the default parameters with `output_dir`, and with short periods so that tests are fast.
pub fn parameters(output_dir: &Path) -> Parameters {
    let mut parameters = Parameters::declare(&Fake::default()).expect("the defaults are valid");
    output_dir.clone_into(&mut parameters.output_dir);
    parameters.settle_time = Duration::from_millis(20);
    parameters.diagnostics_period = Duration::from_millis(50);
    parameters.workers = 2;
    parameters
}
