//! A participant on Cyclone DDS, that others take for one of `rmw_cyclonedds_cpp`: it tells them the hashes of its types, and which
//! ends of services belong together.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use tokio::sync::{Mutex, Notify, mpsc};
use urdf_usd_cyclone as cyclone;

use super::super::rtps::Ports;
use super::super::{transport, wire};
use super::{Arrived, DdsTopic, Direction, End, Event, Fault, Gid, Related};
use crate::graph::EndQos;
use crate::{Durability, Qos, Reliability, names, types};
use urdf_usd_diagnostic::Diagnostic;

/// How long a write may wait for slow readers before it gives up; the writer's task tries again.
const FULL: Duration = Duration::from_millis(100);
/// How often to look whether something was acknowledged.
const ACKNOWLEDGED: Duration = Duration::from_millis(2);

pub(in super::super) struct Dds {
    participant: cyclone::Participant,
    events: Mutex<mpsc::UnboundedReceiver<cyclone::Event>>,
}

impl Dds {
    pub(super) fn join(domain: u16, config: &str) -> Result<Self, Diagnostic> {
        let (sender, events) = mpsc::unbounded_channel();
        let hear = move |event| {
            // Fails where nobody listens any more.
            let _ = sender.send(event);
        };
        let joined = cyclone::Participant::join(domain.into(), config, "enclave=/;", hear);
        let participant = joined.map_err(|e| {
            transport(&format!("can't open the network (domain {domain})"), e.to_string()).help(
                "is UDP allowed here, is this domain not full, and is CYCLONEDDS_URI right? ROS_DOMAIN_ID chooses another domain",
            )
        })?;
        Ok(Self { participant, events: Mutex::new(events) })
    }

    pub(super) fn gid(&self) -> Gid {
        Gid(self.participant.guid())
    }

    /// Nowhere: it needs no messages from itself.
    pub(super) fn ports(&self) -> Ports {
        Ports { discovery: 0, topics: 0 }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.participant.is_alive()
    }

    pub(super) fn reader(&self, topic: &DdsTopic, qos: Qos, cached: usize) -> Result<Reader, Diagnostic> {
        let arrived = Arc::new(Notify::new());
        let notify = arrived.clone();
        let qos = Qos { depth: cached.max(qos.depth), lifespan: None, ..qos };
        let created = self
            .participant
            .reader(&topic.name, &topic.kind, &self.qos(topic, qos, Direction::Reader), move || notify.notify_one());
        let inner = created.map_err(|e| transport(&format!("can't listen to {}", topic.name), e.to_string()))?;
        Ok(Reader { inner, arrived })
    }

    pub(super) fn writer(&self, topic: &DdsTopic, qos: Qos) -> Result<Writer, Diagnostic> {
        let created = self.participant.writer(&topic.name, &topic.kind, &self.qos(topic, qos, Direction::Writer));
        let inner = created.map_err(|e| transport(&format!("can't write to {}", topic.name), e.to_string()))?;
        Ok(Writer { inner: Arc::new(inner) })
    }

    fn qos(&self, topic: &DdsTopic, qos: Qos, direction: Direction) -> cyclone::Qos {
        cyclone::Qos {
            reliable: (qos.reliability == Reliability::Reliable).then_some(FULL),
            is_durable: qos.durability == Durability::TransientLocal,
            depth: qos.depth,
            lifespan: qos.lifespan,
            ignores_own: !wire::is_of_ros(&topic.name),
            user_data: user_data(self.gid(), topic, direction),
        }
    }

    pub(super) async fn listen(&self, mut hear: impl FnMut(Event)) {
        let mut events = self.events.lock().await;
        while let Some(event) = events.recv().await {
            match event {
                cyclone::Event::Found { guid, is_writer: true } => hear(Event::Writer(Gid(guid))),
                cyclone::Event::Found { .. } => hear(Event::Reader),
                cyclone::Event::Lost(guid) => hear(Event::EndLost(Gid(guid))),
                cyclone::Event::ParticipantLost(guid) => {
                    hear(Event::ParticipantLost { prefix: Gid(guid).prefix(), was_silent: false });
                }
                cyclone::Event::Matched { own, other } => hear(Event::Matched { own: Gid(own), other: Gid(other) }),
                cyclone::Event::Unmatched { own, other } => hear(Event::Unmatched { own: Gid(own), other: Gid(other) }),
                cyclone::Event::Incompatible { own } => self.incompatible(own).into_iter().for_each(&mut hear),
            }
        }
    }

    /// Whom an own end can't be connected with; Cyclone only tells that there is one.
    fn incompatible(&self, own: cyclone::Guid) -> Vec<Event> {
        let ends = self.participant.own_endpoints();
        let Some(end) = ends.iter().find(|end| end.guid == own) else { return Vec::new() };
        let text = |end: &cyclone::Endpoint| {
            let qos = end_qos(end);
            format!("{:?}, {:?}", qos.reliability, qos.durability)
        };
        let others = self.participant.endpoints().into_iter();
        let others = others.filter(|other| other.topic == end.topic && other.is_writer != end.is_writer);
        let refused = others.filter_map(|other| {
            let (offers, asks) = if end.is_writer { (end, &other) } else { (&other, end) };
            let is_less = (asks.is_reliable && !offers.is_reliable) || (asks.is_durable && !offers.is_durable);
            let who = if end.is_writer { "subscriber" } else { "publisher" };
            is_less.then(|| Event::Incompatible { own: Gid(own), who, offered: text(offers), requested: text(asks) })
        });
        refused.take(1).collect()
    }

    pub(super) fn ends(&self) -> impl Iterator<Item = End> {
        self.participant.endpoints().into_iter().map(|end| End {
            gid: Gid(end.guid),
            direction: if end.is_writer { Direction::Writer } else { Direction::Reader },
            qos: end_qos(&end),
            topic: DdsTopic { name: end.topic, kind: end.kind },
        })
    }

    /// Nowhere: nothing is sent past the library.
    pub(super) fn addresses(&self, _: Gid) -> Vec<SocketAddr> {
        Vec::new()
    }

    /// It does so at once.
    pub(super) fn let_finish(&self) {}

    /// There is no need.
    pub(super) fn ask_for_first(&self, _: Gid, _: Gid) {}
}

fn end_qos(end: &cyclone::Endpoint) -> EndQos {
    EndQos {
        reliability: if end.is_reliable { Reliability::Reliable } else { Reliability::BestEffort },
        durability: if end.is_durable { Durability::TransientLocal } else { Durability::Volatile },
        depth: None,
    }
}

/// What others are told of an end, as `rmw_cyclonedds_cpp` does it: of a service, what both its ends have in common, and the hash of
/// the type, if it is known.
fn user_data(participant: Gid, topic: &DdsTopic, direction: Direction) -> String {
    let mut told = String::new();
    let (requests, answers) = (topic.name.starts_with("rq/"), topic.name.starts_with("rr/"));
    if requests || answers {
        let is_server = requests == (direction == Direction::Reader);
        let base = topic.name[2..].strip_suffix(if requests { "Request" } else { "Reply" }).unwrap_or_default();
        // The participant, and a number that the service has there.
        let number = base.bytes().fold(0xcbf2_9ce4u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let id: Vec<String> = participant.0[..12].iter().chain(&number.to_be_bytes()).map(|byte| format!("{byte:x}")).collect();
        told = format!("{}={};", if is_server { "serviceid" } else { "clientid" }, id.join("."));
    }
    match types::hash(&names::type_of_dds(&topic.kind, "")) {
        Some(hash) => told + &format!("typehash={hash};"),
        // Nothing at all would be told of as unreadable, by every tool.
        None if told.is_empty() => "typehash_unknown=1;".to_owned(),
        None => told,
    }
}

/// The listening end of a topic.
pub(in super::super) struct Reader {
    inner: cyclone::Reader,
    arrived: Arc<Notify>,
}

impl Reader {
    pub(super) fn gid(&self) -> Gid {
        Gid(self.inner.guid())
    }

    pub(super) fn stream(&self) -> impl Stream<Item = Result<Arrived, Fault>> + '_ {
        futures::stream::unfold((), move |()| async {
            loop {
                match self.inner.take() {
                    Ok(Some(sample)) => {
                        // Cyclone does not tell a message's number; when it was written is as good: it only ever rises.
                        let (writer, number) = (Gid(sample.writer), sample.written);
                        let arrived = Arrived { payload: sample.payload, writer, number, related: None, is_old: false };
                        return Some((Ok(arrived), ()));
                    }
                    Ok(None) => self.arrived.notified().await,
                    Err(e) => {
                        self.arrived.notified().await;
                        return Some((Err(Fault(e.to_string())), ()));
                    }
                }
            }
        })
    }
}

/// The writing end of a topic.
pub(in super::super) struct Writer {
    inner: Arc<cyclone::Writer>,
}

impl Writer {
    pub(super) fn gid(&self) -> Gid {
        Gid(self.inner.guid())
    }

    pub(super) async fn write(&self, message: Bytes, _: Option<Related>, _: Option<Gid>) -> Result<i64, Fault> {
        self.apart(move |writer| writer.write(&message)).await.map(|()| 0)
    }

    /// Does something where it may wait a moment.
    async fn apart(
        &self,
        what: impl FnOnce(&cyclone::Writer) -> Result<(), cyclone::Error> + Send + 'static,
    ) -> Result<(), Fault> {
        let writer = self.inner.clone();
        match tokio::task::spawn_blocking(move || what(&writer)).await {
            Ok(done) => done.map_err(|e| Fault(e.to_string())),
            Err(_) => Err(Fault("the node has shut down".to_owned())),
        }
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        self.inner.is_acknowledged()
    }

    pub(super) async fn acknowledged(&self) {
        while !self.is_acknowledged() {
            tokio::time::sleep(ACKNOWLEDGED).await;
        }
    }

    pub(super) fn write_now(&self, message: Bytes) {
        // There is no second chance for what is written last.
        let _ = self.inner.write(&message);
    }

    pub(super) async fn settle(&self) {
        if self.apart(cyclone::Writer::write_nothing).await.is_ok() {
            self.acknowledged().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_tell_of_themselves_as_those_of_rmw_cyclonedds_do() {
        let gid = Gid([0xab; 16]);
        let text = user_data(gid, &wire::topic("/t", "std_msgs/msg/String"), Direction::Reader);
        assert_eq!(text, "typehash=RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18;");
        let unknown = user_data(gid, &wire::topic("/t", "a/msg/B"), Direction::Reader);
        assert!(!unknown.is_empty() && !unknown.contains("typehash="), "{unknown}");
        let (asked, answered) = wire::service("/s", "rcl_interfaces/srv/GetParameters");
        let [server, also_server, client] =
            [(&asked, Direction::Reader), (&answered, Direction::Writer), (&asked, Direction::Writer)]
                .map(|(topic, direction)| user_data(gid, topic, direction));
        let id = |text: &str| text.split_once(';').map(|(id, _)| id.to_owned());
        assert!(server.starts_with("serviceid=ab.ab.ab.") && id(&server) == id(&also_server), "{server} {also_server}");
        assert!(client.starts_with("clientid=ab.") && client.contains("typehash=RIHS01_"), "{client}");
    }
}
