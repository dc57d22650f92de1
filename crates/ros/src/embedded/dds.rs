//! One participant on Cyclone DDS: its readers and writers of undecoded messages, and events of
//! discovery.
//!
//! To others it looks like a participant of `rmw_cyclonedds_cpp`: it announces the hashes of its
//! types, and which endpoints make up a service. This module knows no nodes, and nothing in it
//! outlives its participant; [`super::session`] and [`super::keeper`] do.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use tokio::sync::{Mutex, Notify, mpsc};
use urdf_usd_cyclone as cyclone;

use super::network::Network;
use super::wire;
use crate::faults::transport;
use crate::graph::EndQos;
use crate::msg::rmw_dds_common;
use crate::types::Type;
use crate::{Durability, Qos, Reliability};
use urdf_usd_diagnostic::Diagnostic;

/// Maximum time for which a write waits for slow readers; the writer's task then tries again.
const MAX_BLOCKING: Duration = Duration::from_millis(100);
/// Poll interval for acknowledgements, which Cyclone does not report.
const ACKNOWLEDGEMENT_POLL: Duration = Duration::from_millis(2);
/// Maximum size of a message in bytes: a description may have 16 MiB, and answers repeat it.
const MAX_MESSAGE_BYTES: usize = 32 << 20;
/// Maximum size of all unread messages of a subscription in bytes, unless each has
/// [`MIN_LIMIT_BYTES`] or less.
const MAX_UNREAD_BYTES: usize = 64 << 20;
const MIN_LIMIT_BYTES: usize = 1 << 20;
/// First bytes of the GUIDs of Fast DDS and of RTI Connext: their vendor identifiers (RTPS 2.5,
/// section 9.3.1.5).
const OTHER_SERVICE_WIRES: [[u8; 2]; 2] = [[0x01, 0x0f], [0x01, 0x01]];

/// The identity of a participant, a reader or a writer as ROS writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Gid(pub [u8; 16]);

impl From<rmw_dds_common::Gid> for Gid {
    fn from(gid: rmw_dds_common::Gid) -> Self {
        Self(gid.data)
    }
}

impl From<Gid> for rmw_dds_common::Gid {
    fn from(gid: Gid) -> Self {
        Self { data: gid.0 }
    }
}

impl Gid {
    /// Returns the prefix that the endpoint shares with its participant.
    pub(super) fn prefix(self) -> Prefix {
        let mut prefix = [0; 12];
        prefix.copy_from_slice(&self.0[..12]);
        Prefix(prefix)
    }

    /// Returns whether the participant carries services as `rmw_cyclonedds_cpp` does. Fast DDS and
    /// Connext put the identity of a request into the inline QoS, which Cyclone's programming
    /// interface does not reach.
    pub(super) fn has_our_service_wire(self) -> bool {
        !OTHER_SERVICE_WIRES
            .iter()
            .any(|vendor| self.0.starts_with(vendor))
    }
}

/// The part of a GUID that all endpoints of a participant share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Prefix(pub [u8; 12]);

/// A topic as DDS names it: `rt/tf`, `tf2_msgs::msg::dds_::TFMessage_`.
#[derive(Clone, Debug)]
pub(super) struct DdsTopic {
    pub name: String,
    pub type_name: String,
    /// Definition of the type, if this node knows it.
    pub definition: Option<&'static Type>,
}

/// The role of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Reader,
    Writer,
}

/// A reader or writer in DDS terms.
pub(super) struct Endpoint {
    pub gid: Gid,
    pub direction: Direction,
    pub topic: DdsTopic,
    pub qos: EndQos,
}

/// A message that arrived.
pub(super) struct Arrived {
    /// The message in CDR, with its header of four bytes.
    pub payload: Bytes,
    pub writer: Gid,
    /// Time of writing, in nanoseconds by the writer's clock. Cyclone does not expose sequence
    /// numbers; this rises as they do.
    pub written: i64,
}

/// An event of discovery.
pub(super) enum Event {
    /// A reader or writer was found.
    Found,
    /// A reader or writer left.
    EndLost(Gid),
    /// A participant left, or its lease ran out.
    ParticipantLost(Prefix),
    /// An own endpoint is connected with one of another participant.
    Matched { own: Gid, other: Gid },
    /// The connection has ended; the other endpoint may still exist.
    Unmatched { own: Gid, other: Gid },
    /// An own endpoint can't be connected with another one of its topic.
    Incompatible {
        own: Gid,
        who: &'static str,
        offered: String,
        requested: String,
    },
}

/// The reason why a message could not be read or written.
#[derive(Clone, Debug)]
pub(super) struct Fault(String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<cyclone::Error> for Fault {
    fn from(error: cyclone::Error) -> Self {
        Self(error.to_string())
    }
}

/// The participant.
pub(super) struct Dds {
    participant: cyclone::Participant,
    events: Mutex<mpsc::UnboundedReceiver<cyclone::Event>>,
}

impl Dds {
    /// Joins the network, with static peers at these addresses.
    ///
    /// # Errors
    /// [`crate::codes::TRANSPORT`].
    pub(super) fn join(network: &Network, peers: &[IpAddr]) -> Result<Self, Diagnostic> {
        let (sender, events) = mpsc::unbounded_channel();
        let hear = move |event| {
            // Fails once the session has ended.
            let _ = sender.send(event);
        };
        let domain = network.domain;
        let joined =
            // The USER_DATA of a participant of `rmw_cyclonedds_cpp`: the root enclave.
            cyclone::Participant::join(domain.into(), &network.config(peers), "enclave=/;", hear);
        let participant = joined.map_err(|error| {
            transport(&format!("can't open the network (domain {domain})"), error).help(
                "is UDP allowed here, is this domain not full, and is CYCLONEDDS_URI right? ROS_DOMAIN_ID chooses another domain",
            )
        })?;
        Ok(Self {
            participant,
            events: Mutex::new(events),
        })
    }

    /// Returns its identity.
    pub(super) fn gid(&self) -> Gid {
        Gid(self.participant.guid())
    }

    /// Subscribes to `topic`. At most `cached` messages, of all publishers together, wait to be
    /// read.
    ///
    /// # Errors
    /// [`crate::codes::TRANSPORT`].
    pub(super) fn reader(
        &self,
        topic: &DdsTopic,
        qos: Qos,
        cached: usize,
    ) -> Result<Reader, Diagnostic> {
        let arrived = Arc::new(Notify::new());
        let notify = arrived.clone();
        let qos = Qos {
            // A keyless topic has one instance, so the depth bounds all publishers together.
            depth: cached.max(qos.depth),
            lifespan: None,
            ..qos
        };
        let qos = self.qos(topic, qos, Direction::Reader);
        let created = self
            .participant
            .reader(&topic.name, &topic.type_name, &qos, move || {
                notify.notify_one()
            });
        let inner = created
            .map_err(|error| transport(&format!("can't subscribe to {}", topic.name), error))?;
        Ok(Reader { inner, arrived })
    }

    /// Advertises `topic`.
    ///
    /// # Errors
    /// [`crate::codes::TRANSPORT`].
    pub(super) fn writer(&self, topic: &DdsTopic, qos: Qos) -> Result<Writer, Diagnostic> {
        let created = self.participant.writer(
            &topic.name,
            &topic.type_name,
            &self.qos(topic, qos, Direction::Writer),
        );
        let inner = created
            .map_err(|error| transport(&format!("can't advertise {}", topic.name), error))?;
        Ok(Writer {
            inner: Arc::new(inner),
        })
    }

    fn qos(&self, topic: &DdsTopic, qos: Qos, direction: Direction) -> cyclone::Qos {
        cyclone::Qos {
            reliable: (qos.reliability == Reliability::Reliable).then_some(MAX_BLOCKING),
            is_durable: qos.durability == Durability::TransientLocal,
            depth: qos.depth,
            lifespan: qos.lifespan,
            // Publishers and subscriptions of one node may be connected, as with every RMW; the
            // node must not hear its own announcements.
            ignores_own: !wire::is_ros_topic(&topic.name),
            max_bytes: max_bytes(topic, qos),
            user_data: user_data(self.gid(), topic, direction),
        }
    }

    /// Hands `hear` the events of discovery, until the future is dropped.
    pub(super) async fn listen(&self, mut hear: impl FnMut(Event)) {
        let mut events = self.events.lock().await;
        while let Some(event) = events.recv().await {
            match event {
                cyclone::Event::Found { .. } => hear(Event::Found),
                cyclone::Event::Lost(guid) => hear(Event::EndLost(Gid(guid))),
                cyclone::Event::ParticipantLost(guid) => {
                    hear(Event::ParticipantLost(Gid(guid).prefix()))
                }
                cyclone::Event::Matched { own, other } => hear(Event::Matched {
                    own: Gid(own),
                    other: Gid(other),
                }),
                cyclone::Event::Unmatched { own, other } => hear(Event::Unmatched {
                    own: Gid(own),
                    other: Gid(other),
                }),
                cyclone::Event::Incompatible { own } => {
                    self.incompatible(own).into_iter().for_each(&mut hear)
                }
            }
        }
    }

    /// Finds an endpoint that is incompatible with `own`; Cyclone reports only that one exists.
    fn incompatible(&self, own: cyclone::Guid) -> Option<Event> {
        let ends = self.participant.own_endpoints();
        let end = ends.iter().find(|end| end.guid == own)?;
        let text = |end: &cyclone::Endpoint| {
            let qos = end_qos(end);
            format!("{:?}, {:?}", qos.reliability, qos.durability)
        };
        let others = self.participant.endpoints().into_iter();
        let mut others =
            others.filter(|other| other.topic == end.topic && other.is_writer != end.is_writer);
        others.find_map(|other| {
            let (offers, asks) = if end.is_writer {
                (end, &other)
            } else {
                (&other, end)
            };
            // A writer must offer at least what a reader requests (DDS 1.4, section 2.2.3).
            // Reliability and durability are the policies that ROS nodes commonly set.
            let is_less = (asks.is_reliable && !offers.is_reliable)
                || (asks.is_durable && !offers.is_durable);
            let who = if end.is_writer {
                "subscriber"
            } else {
                "publisher"
            };
            is_less.then(|| Event::Incompatible {
                own: Gid(own),
                who,
                offered: text(offers),
                requested: text(asks),
            })
        })
    }

    /// Returns the endpoints of other participants that discovery knows.
    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        let endpoints = self.participant.endpoints().into_iter();
        let in_ros_terms = endpoints.map(|end| Endpoint {
            gid: Gid(end.guid),
            direction: if end.is_writer {
                Direction::Writer
            } else {
                Direction::Reader
            },
            qos: end_qos(&end),
            topic: DdsTopic {
                name: end.topic,
                type_name: end.type_name,
                definition: None,
            },
        });
        in_ros_terms.collect()
    }
}

/// Returns the maximum size of a message of a topic: the deeper its history, the smaller.
///
/// Texts, requests and answers get the full size however many may wait: each may be or carry a
/// description.
fn max_bytes(topic: &DdsTopic, qos: Qos) -> u32 {
    let has_text =
        !topic.name.starts_with("rt/") || topic.type_name == "std_msgs::msg::dds_::String_";
    let share = MAX_UNREAD_BYTES / qos.depth.max(1);
    let limit = if has_text {
        MAX_MESSAGE_BYTES
    } else {
        share.clamp(MIN_LIMIT_BYTES, MAX_MESSAGE_BYTES)
    };
    u32::try_from(limit).unwrap_or(u32::MAX)
}

/// Translates the quality of service that discovery reports.
fn end_qos(end: &cyclone::Endpoint) -> EndQos {
    EndQos {
        reliability: if end.is_reliable {
            Reliability::Reliable
        } else {
            Reliability::BestEffort
        },
        durability: if end.is_durable {
            Durability::TransientLocal
        } else {
            Durability::Volatile
        },
        depth: None,
    }
}

/// Returns the USER_DATA of an endpoint as `rmw_cyclonedds_cpp` writes it.
///
/// It has the identifier that both halves of a service share, and the hash of the type if known.
fn user_data(participant: Gid, topic: &DdsTopic, direction: Direction) -> String {
    let mut data = String::new();
    let (requests, answers) = (topic.name.starts_with("rq/"), topic.name.starts_with("rr/"));
    if requests || answers {
        // A server reads requests and writes answers, a client the reverse.
        let is_server = requests == (direction == Direction::Reader);
        let base = topic.name[2..]
            .strip_suffix(if requests { "Request" } else { "Reply" })
            .unwrap_or_default();
        // The identifier: the participant, and a hash (FNV-1a) of the service's name.
        let number = base.bytes().fold(0xcbf2_9ce4u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let id: Vec<String> = participant.0[..12]
            .iter()
            .chain(&number.to_be_bytes())
            .map(|byte| format!("{byte:x}"))
            .collect();
        data = format!(
            "{}={};",
            if is_server { "serviceid" } else { "clientid" },
            id.join(".")
        );
    }
    match topic.definition {
        Some(definition) => data + &format!("typehash={};", definition.hash()),
        // Every ROS tool reports an empty USER_DATA as unreadable.
        None if data.is_empty() => "typehash_unknown=1;".to_owned(),
        None => data,
    }
}

/// A subscription.
pub(super) struct Reader {
    inner: cyclone::Reader,
    arrived: Arc<Notify>,
}

impl Reader {
    /// Returns the reader's identity.
    pub(super) fn gid(&self) -> Gid {
        Gid(self.inner.guid())
    }

    /// Returns the messages that arrive, without end.
    pub(super) fn stream(&self) -> impl Stream<Item = Result<Arrived, Fault>> + '_ {
        futures::stream::unfold((), move |()| async {
            loop {
                match self.inner.take() {
                    Ok(Some(sample)) => {
                        let cyclone::Sample {
                            payload,
                            writer,
                            written,
                        } = sample;
                        return Some((
                            Ok(Arrived {
                                payload,
                                writer: Gid(writer),
                                written,
                            }),
                            (),
                        ));
                    }
                    // A sample that arrives between the two calls leaves a permit, so none is
                    // missed.
                    Ok(None) => self.arrived.notified().await,
                    Err(error) => {
                        // An error that persists would make a loop without this wait spin.
                        self.arrived.notified().await;
                        return Some((Err(error.into()), ()));
                    }
                }
            }
        })
    }
}

/// A publisher. Messages are in CDR, little-endian, with their header of four bytes.
pub(super) struct Writer {
    inner: Arc<cyclone::Writer>,
}

impl Writer {
    /// Returns the writer's identity.
    pub(super) fn gid(&self) -> Gid {
        Gid(self.inner.guid())
    }

    /// Writes a message to all readers.
    pub(super) async fn write(&self, message: Bytes) -> Result<(), Fault> {
        self.blocking(move |writer| writer.write(&message)).await
    }

    /// Runs a call that may wait for slow readers.
    async fn blocking(
        &self,
        call: impl FnOnce(&cyclone::Writer) -> Result<(), cyclone::Error> + Send + 'static,
    ) -> Result<(), Fault> {
        let writer = self.inner.clone();
        match tokio::task::spawn_blocking(move || call(&writer)).await {
            Ok(done) => done.map_err(Fault::from),
            Err(_) => Err(Fault("the node has shut down".to_owned())),
        }
    }

    /// Waits until all readers have acknowledged everything written.
    pub(super) async fn acknowledged(&self) {
        while !self.inner.is_acknowledged() {
            tokio::time::sleep(ACKNOWLEDGEMENT_POLL).await;
        }
    }

    /// Writes the last message before the writer is deleted. A failure has no remedy, and is
    /// ignored.
    pub(super) fn write_last(&self, message: &Bytes) {
        let _ = self.inner.write(message);
    }

    /// Waits until all readers that are connected now deliver what is written from then on.
    ///
    /// A reader under Cyclone treats everything written before the first heartbeat that it sees as
    /// history, and does not deliver it.
    pub(super) async fn settle(&self) {
        if self
            .blocking(cyclone::Writer::write_unregister)
            .await
            .is_ok()
        {
            self.acknowledged().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::rcl_interfaces::GetParameters;
    use crate::msg::{Interface, std_msgs};
    use crate::transport::Name;

    fn name(full: &str, type_name: &str, definition: Option<&'static Type>) -> Name {
        Name {
            given: full.to_owned(),
            full: full.to_owned(),
            type_name: type_name.to_owned(),
            definition,
        }
    }

    #[test]
    fn endpoints_announce_user_data_as_rmw_cyclonedds_does() {
        let gid = Gid([0xab; 16]);
        let text = user_data(
            gid,
            &wire::topic(&name(
                "/t",
                "std_msgs/msg/String",
                Some(std_msgs::String::TYPE),
            )),
            Direction::Reader,
        );
        assert_eq!(
            text,
            "typehash=RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18;"
        );
        let unknown = user_data(
            gid,
            &wire::topic(&name("/t", "a/msg/B", None)),
            Direction::Reader,
        );
        assert!(
            !unknown.is_empty() && !unknown.contains("typehash="),
            "{unknown}"
        );
        let (asked, answered) = wire::service(&name(
            "/s",
            GetParameters::TYPE.name,
            Some(GetParameters::TYPE),
        ));
        let [server, also_server, client] = [
            (&asked, Direction::Reader),
            (&answered, Direction::Writer),
            (&asked, Direction::Writer),
        ]
        .map(|(topic, direction)| user_data(gid, topic, direction));
        let id = |text: &str| text.split_once(';').map(|(id, _)| id.to_owned());
        assert!(
            server.starts_with("serviceid=ab.ab.ab.") && id(&server) == id(&also_server),
            "{server} {also_server}"
        );
        assert!(
            client.starts_with("clientid=ab.") && client.contains("typehash=RIHS01_"),
            "{client}"
        );
    }
}
