//! Services: requests into a queue, answers out of it, in the wire format of either family of DDS clients.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use ros2_client::{Name, RmwRequestId, ServiceTypeName};
use rustdds::serialization::to_writer_with_rep_id;
use rustdds::{RepresentationIdentifier, TopicKind};
use serde::{Deserialize, Serialize};

use super::network::ServiceWire;
use super::wire::{self, Wire};
use super::{Inner, Live, Recurring, Task, ended, transport};
use crate::diagnostic::{Diagnostic, Place};
use crate::ros::msg::{Payload, Service};
use crate::ros::{Qos, Request, Requests, Responder, codes, queue};

/// How many calls to one service may wait.
pub(super) const DEPTH: usize = 128;
/// How long an answer waits for the caller's reader to be discovered.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest answer, in bytes of CDR, that RustDDS 0.15 sends whole to any peer. Longer ones it cuts into fragments, and those it
/// writes wrongly if they carry the identity of the request: nobody can read them. Only Fast DDS needs that identity.
const LONGEST_TO_FAST_DDS: usize = 1280;

/// Half of a service as `rmw_cyclonedds_cpp` sends it: the caller's identity and number in front.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
struct Framed<T: Payload> {
    client: u64,
    sequence: i64,
    body: T,
}

impl Inner {
    pub(super) fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic> {
        let name = self.names.service(service)?;
        let mut live = self.live();
        let live = live.as_mut().ok_or_else(ended)?;
        match self.network.services {
            ServiceWire::Cyclone => self.serve_cyclone(live, name),
            ServiceWire::FastDds => self.serve_fast_dds(live, name),
        }
    }

    fn serve_cyclone<S: Service>(&self, live: &mut Live, name: String) -> Result<Requests<S>, Diagnostic> {
        let (kind, qos) = (S::TYPE, Qos::reliable(DEPTH));
        let replies = format!("rr{name}Reply");
        let topic = |topic: &str, half: &str, qos: &rustdds::QosPolicies| {
            let kind = format!("{}::srv::dds_::{}_{half}_", kind.package, kind.name);
            let participant = live.context.domain_participant();
            participant.create_topic(topic.to_owned(), kind, qos, TopicKind::NoKey)
        };
        let cannot = |e: &dyn std::fmt::Debug| transport(&format!("can't serve {name}"), e);
        let requests = topic(&format!("rq{name}Request"), "Request", &wire::subscription(qos)).map_err(|e| cannot(&e))?;
        let answers = topic(&replies, "Response", &wire::publisher(qos)).map_err(|e| cannot(&e))?;
        let reader = live.node.create_subscription::<Framed<S::Request>>(&requests, None).map_err(|e| cannot(&e))?;
        let writer = live.node.create_publisher::<Framed<S::Response>>(&answers, None).map_err(|e| cannot(&e))?;
        // An answer to nobody, so that every new reader lacks something and is sent heartbeats; see `Graph::reader`.
        let nobody = Framed { client: 0, sequence: 0, body: S::Response::default() };
        writer.publish(nobody).map_err(|e| cannot(&e))?;

        let (sender, receiver) = queue::keep_last(DEPTH);
        let (handle, graph, asked, writer) = (self.handle.clone(), self.graph.clone(), name.clone(), Arc::new(writer));
        let replies: Arc<str> = replies.into();
        let task = self.spawn(async move {
            let mut requests = std::pin::pin!(reader.async_stream());
            let mut troubles = Troubles::new(asked);
            while let Some(request) = requests.next().await {
                let (Framed { client, sequence, body }, info) = match request {
                    Ok(request) => request,
                    Err(e) => {
                        troubles.unreadable(e);
                        continue;
                    }
                };
                let (writer, handle, graph, replies) =
                    (Arc::downgrade(&writer), handle.clone(), graph.clone(), replies.clone());
                let responder = Responder::new(move |body| {
                    let writer = writer.upgrade().ok_or_else(ended)?;
                    handle.spawn(async move {
                        graph.reader(&replies, &info.publisher_gid().to_bytes16()[..12], PATIENCE).await;
                        if let Err(e) = writer.async_publish(Framed { client, sequence, body }).await {
                            tracing::warn!("{replies}: an answer could not be sent: {e}");
                        }
                    });
                    Ok(())
                });
                troubles.queued(sender.push(Request { request: body, responder }));
            }
        });
        Ok(Requests::new(name, receiver, Arc::new(Task(task))))
    }

    fn serve_fast_dds<S: Service>(&self, live: &mut Live, name: String) -> Result<Requests<S>, Diagnostic> {
        let full = Name::parse(&name)
            .map_err(|e| Diagnostic::new(&codes::INVALID_NAME, Place::default(), format!("service `{name}`: {e}")))?;
        let kind = ServiceTypeName::new(S::TYPE.package, S::TYPE.name);
        let mapping = ros2_client::ServiceMapping::Enhanced;
        let server = live
            .node
            .create_server::<Wire<S::Request>, Wire<S::Response>>(mapping, &full, &kind, wire::service(), wire::service())
            .map_err(|e| transport(&format!("can't serve {name}"), e))?;
        let nobody = server.send_response(RmwRequestId::default(), Wire(S::Response::default()));
        nobody.map_err(|e| transport(&format!("can't serve {name}"), e))?;

        let (sender, receiver) = queue::keep_last(DEPTH);
        let (handle, graph, asked, server) = (self.handle.clone(), self.graph.clone(), name.clone(), Arc::new(server));
        let replies: Arc<str> = format!("rr{name}Reply").into();
        let task = self.spawn(async move {
            let mut requests = server.receive_request_stream();
            let mut troubles = Troubles::new(asked);
            while let Some(request) = requests.next().await {
                let (id, Wire(request)) = match request {
                    Ok(request) => request,
                    Err(e) => {
                        troubles.unreadable(e);
                        continue;
                    }
                };
                let (server, handle, graph, replies) =
                    (Arc::downgrade(&server), handle.clone(), graph.clone(), replies.clone());
                let responder = Responder::new(move |response| {
                    let server = server.upgrade().ok_or_else(ended)?;
                    let response = fit::<S>(response)?;
                    handle.spawn(async move {
                        graph.reader(&replies, &id.writer_gid.to_bytes16()[..12], PATIENCE).await;
                        if let Err(e) = server.async_send_response(id, Wire(response)).await {
                            tracing::warn!("{replies}: an answer could not be sent: {e}");
                        }
                    });
                    Ok(())
                });
                troubles.queued(sender.push(Request { request, responder }));
            }
        });
        Ok(Requests::new(name, receiver, Arc::new(Task(task))))
    }
}

/// An answer in as many bytes as can be sent to Fast DDS, shortened if need be.
fn fit<S: Service>(mut response: S::Response) -> Result<S::Response, Diagnostic> {
    loop {
        let mut bytes = Counter(4);
        to_writer_with_rep_id(&mut bytes, &response, RepresentationIdentifier::CDR_LE)
            .map_err(|e| transport("an answer can't be written", e))?;
        if bytes.0 <= LONGEST_TO_FAST_DDS {
            return Ok(response);
        }
        response = S::shorten(response).ok_or_else(|| {
            let what = format!("an answer of {}/srv/{} is too long for clients on Fast DDS", S::TYPE.package, S::TYPE.name);
            Diagnostic::new(&codes::TRANSPORT, Place::default(), format!("{what}: {} bytes of {LONGEST_TO_FAST_DDS}", bytes.0))
                .help("ask for less at a time, or run both sides with RMW_IMPLEMENTATION=rmw_cyclonedds_cpp")
        })?;
    }
}

/// Counts what is written to it.
struct Counter(usize);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What goes wrong with the calls of one service.
struct Troubles {
    service: String,
    unreadable: Recurring,
    lost: Recurring,
}

impl Troubles {
    fn new(service: String) -> Self {
        Self { service, unreadable: Recurring::default(), lost: Recurring::default() }
    }

    fn unreadable(&mut self, why: impl std::fmt::Debug) {
        let service = &self.service;
        self.unreadable.tell(|n| tracing::warn!("{service}: {n} call(s) could not be read; the last: {why:?}"));
    }

    /// After a call was queued, and maybe pushed another one out.
    fn queued<T>(&mut self, lost: Option<T>) {
        let service = &self.service;
        if lost.is_some() {
            self.lost.tell(|n| tracing::warn!("{service}: too many calls at once; {n} got no answer"));
        }
    }
}
