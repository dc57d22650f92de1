//! A participant on RustDDS.
//!
//! RustDDS has quirks that only this module and [`rtps`] need to know.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use rustdds::dds::{CreateError, CreateResult};
use rustdds::no_key::{DataWriter, Decode, DefaultDecoder, DeserializerAdapter, SerializerAdapter, SimpleDataReader};
use rustdds::policy::{Durability as DdsDurability, Reliability as DdsReliability};
use rustdds::{
    DomainParticipant, DomainParticipantBuilder, DomainParticipantStatusEvent, GUID, LostReason, QosPolicies, RTPSEntity,
    RepresentationIdentifier, SampleIdentity, SequenceNumber, StatusEvented, Timestamp, Topic, TopicKind, WriteOptions,
    WriteOptionsBuilder,
};
use urdf_usd_rustdds::Moment;

use super::super::network::Network;
use super::super::{rtps, transport, wire};
use super::{Arrived, DdsTopic, Direction, End, Event, Fault, Gid, Prefix, Related};
use crate::graph::EndQos;
use crate::{Durability, Qos, Reliability};
use urdf_usd_diagnostic::Diagnostic;

/// How long a new reader or writer may wait for the network's thread to take it.
const BUSY: Duration = Duration::from_secs(1);
/// How often to look whether something was acknowledged.
const ACKNOWLEDGED: Duration = Duration::from_millis(2);
/// What the names of its threads begin with.
const THREADS: &str = "RustDDS";
/// Held while a participant is made.
static JOINING: Mutex<()> = Mutex::new(());
/// How long RustDDS may take to tell everybody of a new end, and how often to look whether it has.
const FINISH: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_micros(100);
/// How many bytes stand in front of a message in CDR.
const FRONT: usize = 4;

impl From<GUID> for Gid {
    fn from(guid: GUID) -> Self {
        Self(guid.to_bytes())
    }
}

impl From<Gid> for GUID {
    fn from(gid: Gid) -> Self {
        Self::from_bytes(gid.0)
    }
}

impl From<Related> for SampleIdentity {
    fn from(Related { writer, number }: Related) -> Self {
        Self { writer_guid: writer.into(), sequence_number: SequenceNumber::from(number) }
    }
}

/// The participant.
pub(in super::super) struct Dds {
    participant: DomainParticipant,
    publisher: rustdds::Publisher,
    subscriber: rustdds::Subscriber,
    /// The numbers of its threads, where the system tells them.
    threads: BTreeSet<OsString>,
}

impl Dds {
    /// Opens the network.
    pub(super) fn join(network: &Network) -> Result<Self, Diagnostic> {
        let mut builder = DomainParticipantBuilder::new(network.domain);
        if let Some(interfaces) = network.interfaces() {
            builder = builder.same_host_loopback(!interfaces.is_empty()).with_only_networks(interfaces);
        }
        // One after the other: each is to find its own threads.
        let alone = JOINING.lock().unwrap_or_else(PoisonError::into_inner);
        let others = threads();
        let participant = builder.build().map_err(|e| {
            transport(&format!("can't open the network (domain {})", network.domain), e)
                .help("is UDP allowed here, and is this domain not full? ROS_DOMAIN_ID chooses another one")
        })?;
        let threads = threads().difference(&others).cloned().collect();
        drop(alone);
        let cannot = |e| transport("can't join the ROS graph", e);
        let publisher = participant.create_publisher(&QosPolicies::default()).map_err(cannot)?;
        let subscriber = participant.create_subscriber(&QosPolicies::default()).map_err(cannot)?;
        Ok(Self { participant, publisher, subscriber, threads })
    }

    /// Its identity.
    pub(super) fn gid(&self) -> Gid {
        self.participant.guid().into()
    }

    /// Where it takes what others send.
    pub(super) fn ports(&self) -> rtps::Ports {
        rtps::ports(self.participant.domain_id(), self.participant.participant_id())
    }

    /// Whether its threads are still there.
    pub(super) fn is_alive(&self) -> bool {
        are_there(&self.threads)
    }

    /// Waits until RustDDS has told everybody of an end that was just created, or forgotten one that was just dropped.
    ///
    /// Where more than four are dropped at once, it forgets to take the others back. And of a new one, its discovery thread keeps the
    /// data base locked for reading while it hands its event loop those that the end may be connected with, by way of a short queue.
    /// The loop reads the data base too, and may not while somebody waits to write there, as who creates the next end does: a deadlock
    /// of three.
    pub(super) fn let_finish(&self) {
        let start = Instant::now();
        // The event loop passes the new end on to discovery: it is in the second round that discovery is sure to have it.
        for _ in 0..2 {
            let moments = self.threads.iter().filter_map(|id| Some(Moment::now(id.to_str()?.parse().ok()?)));
            let moments: Vec<Moment> = moments.collect();
            let mut passed = 0;
            while passed < 2 && start.elapsed() < FINISH {
                passed = if moments.iter().all(|moment| moment.has_passed()) { passed + 1 } else { 0 };
                std::thread::sleep(LOOK);
            }
        }
    }

    fn topic(&self, topic: &DdsTopic, qos: &QosPolicies) -> Result<Topic, Diagnostic> {
        let created = self.participant.create_topic(topic.name.clone(), topic.kind.clone(), qos, TopicKind::NoKey);
        created.map_err(|e| transport(&format!("topic {}", topic.name), e))
    }

    /// Listens to `topic`. `cached`: how many messages of all publishers together may wait to be read.
    pub(super) fn reader(&self, topic: &DdsTopic, qos: Qos, cached: usize) -> Result<Reader, Diagnostic> {
        let (since, qos) = (Timestamp::now(), wire::subscription(qos, cached));
        let there = self.topic(topic, &qos)?;
        let created = patiently(|| self.subscriber.create_simple_datareader_no_key(&there, Some(qos.clone())));
        self.let_finish();
        Ok(Reader { inner: created.map_err(|e| transport(&format!("can't listen to {}", topic.name), e))?, since })
    }

    /// Writes to `topic`.
    pub(super) fn writer(&self, topic: &DdsTopic, qos: Qos) -> Result<Writer, Diagnostic> {
        let qos = wire::publisher(qos);
        let there = self.topic(topic, &qos)?;
        let created = patiently(|| self.publisher.create_datawriter_no_key(&there, Some(qos.clone())));
        self.let_finish();
        Ok(Writer { inner: created.map_err(|e| transport(&format!("can't write to {}", topic.name), e))? })
    }

    /// Tells `hear` what discovery tells, until the future is dropped.
    pub(super) async fn listen(&self, mut hear: impl FnMut(Event)) {
        let listener = self.participant.status_listener();
        let mut events = listener.as_async_status_stream();
        while let Some(event) = events.next().await {
            if let Some(event) = translated(event) {
                hear(event);
            }
        }
    }

    /// The ends of others that discovery knows.
    ///
    /// This is the data base of RustDDS: its events are lost when too many come at once.
    pub(super) fn ends(&self) -> impl Iterator<Item = End> {
        let writers = self.participant.discovered_writers().into_iter().map(|end| End {
            gid: end.writer_proxy.remote_writer_guid.into(),
            direction: Direction::Writer,
            qos: end_qos(&end.publication_topic_data.qos(), Direction::Writer),
            topic: DdsTopic { name: end.publication_topic_data.topic_name, kind: end.publication_topic_data.type_name },
        });
        let readers = self.participant.discovered_readers().into_iter().map(|end| End {
            gid: end.reader_proxy.remote_reader_guid.into(),
            direction: Direction::Reader,
            qos: end_qos(&end.subscription_topic_data.qos(), Direction::Reader),
            topic: DdsTopic {
                name: end.subscription_topic_data.topic_name().clone(),
                kind: end.subscription_topic_data.type_name().clone(),
            },
        });
        writers.chain(readers)
    }

    /// Where `reader` takes datagrams; nowhere if it is not known.
    pub(super) fn addresses(&self, reader: Gid) -> Vec<SocketAddr> {
        let reader = GUID::from(reader);
        let known = self.participant.discovered_readers().into_iter();
        let known = known.filter(|known| known.reader_proxy.remote_reader_guid == reader);
        usable(known.flat_map(|known| known.reader_proxy.unicast_locator_list).map(SocketAddr::from))
    }

    /// Lets a writer on Fast DDS send its first sample once more; see [`rtps`].
    pub(super) fn ask_for_first(&self, reader: Gid, writer: Gid) {
        let Some(datagram) = rtps::first_again(reader, writer) else { return };
        let writer = GUID::from(writer);
        let known = self.participant.discovered_writers().into_iter();
        let known = known.filter(|known| known.writer_proxy.remote_writer_guid == writer);
        let addresses = usable(known.flat_map(|known| known.writer_proxy.unicast_locator_list).map(SocketAddr::from));
        // Without it the sample comes later.
        let Ok(socket) = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)) else { return };
        for address in addresses {
            let _ = socket.send_to(&datagram, address);
        }
    }
}

/// The threads of RustDDS in this process, by their numbers; none where the system does not tell.
fn threads() -> BTreeSet<OsString> {
    let found = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|entry| entry.file_name());
    found.filter(|thread| thread_name(thread).is_some_and(|name| name.starts_with(THREADS))).collect()
}

/// Whether all of these threads of RustDDS are still there.
fn are_there(threads: &BTreeSet<OsString>) -> bool {
    threads.iter().all(|thread| thread_name(thread).is_some_and(|name| name.starts_with(THREADS)))
}

fn thread_name(thread: &OsString) -> Option<String> {
    std::fs::read_to_string(Path::new("/proc/self/task").join(thread).join("comm")).ok()
}

fn usable(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    // Fast DDS names its shared memory too, which has no address.
    addresses.filter(|address| address.is_ipv4() && !address.ip().is_unspecified()).collect()
}

/// Creates something, again and again while the short queue to the network's thread is full: two hundred robots come at once.
fn patiently<T>(create: impl Fn() -> CreateResult<T>) -> CreateResult<T> {
    let start = Instant::now();
    loop {
        match create() {
            Err(CreateError::Poisoned { .. }) if start.elapsed() < BUSY => std::thread::sleep(Duration::from_millis(2)),
            other => return other,
        }
    }
}

fn translated(event: DomainParticipantStatusEvent) -> Option<Event> {
    use DomainParticipantStatusEvent as Status;
    let prefix = |id: &[u8]| id.try_into().ok().map(Prefix);
    Some(match event {
        Status::WriterDetected { writer } => Event::Writer(writer.guid.into()),
        Status::ReaderDetected { .. } => Event::Reader,
        Status::ReaderLost { guid, .. } | Status::WriterLost { guid, .. } => Event::EndLost(guid.into()),
        Status::ParticipantDiscovered { dpd } => Event::Participant(Gid::from(dpd.guid).prefix()),
        Status::ParticipantLost { id, reason } => {
            Event::ParticipantLost { prefix: prefix(id.as_ref())?, was_silent: matches!(reason, LostReason::Timeout { .. }) }
        }
        Status::RemoteReaderMatched { local_writer, remote_reader } => {
            Event::Matched { own: local_writer.into(), other: remote_reader.into() }
        }
        Status::RemoteWriterMatched { local_reader, remote_writer } => {
            Event::Matched { own: local_reader.into(), other: remote_writer.into() }
        }
        Status::RemoteReaderQosIncompatible { local_writer, requested_qos, offered_qos, .. } => {
            incompatible(local_writer, "subscriber", &requested_qos, &offered_qos)
        }
        Status::RemoteWriterQosIncompatible { local_reader, requested_qos, offered_qos, .. } => {
            incompatible(local_reader, "publisher", &requested_qos, &offered_qos)
        }
        _ => return None,
    })
}

fn incompatible(own: GUID, who: &'static str, requested: &QosPolicies, offered: &QosPolicies) -> Event {
    let text = |qos: &QosPolicies| format!("{:?}, {:?}", qos.reliability(), qos.durability());
    Event::Incompatible { own: own.into(), who, offered: text(offered), requested: text(requested) }
}

/// Quality of service as discovery tells it; what is left out has the default of the DDS specification.
fn end_qos(qos: &QosPolicies, direction: Direction) -> EndQos {
    let reliability = match (qos.reliability(), direction) {
        (Some(DdsReliability::Reliable { .. }), _) | (None, Direction::Writer) => Reliability::Reliable,
        (Some(DdsReliability::BestEffort), _) | (None, Direction::Reader) => Reliability::BestEffort,
    };
    let durability = match qos.durability() {
        None | Some(DdsDurability::Volatile) => Durability::Volatile,
        Some(_) => Durability::TransientLocal,
    };
    EndQos { reliability, durability, depth: None }
}

/// Messages as they travel: in CDR, with the four bytes in front that tell the order of bytes.
struct Undecoded;

impl DeserializerAdapter<Bytes> for Undecoded {
    type Error = Infallible;
    type Decoded = Bytes;

    fn supported_encodings() -> &'static [RepresentationIdentifier] {
        const ALL: &[RepresentationIdentifier] = &[RepresentationIdentifier::CDR_LE, RepresentationIdentifier::CDR_BE];
        ALL
    }

    fn transform_decoded(decoded: Bytes) -> Bytes {
        decoded
    }
}

impl DefaultDecoder<Bytes> for Undecoded {
    type Decoder = Copied;
    const DECODER: Copied = Copied;
}

#[derive(Clone)]
struct Copied;

impl Decode<'_, Bytes> for Copied {
    type Error = Infallible;

    fn decode_bytes(self, bytes: &[u8], encoding: RepresentationIdentifier) -> Result<Bytes, Infallible> {
        Ok([&encoding.to_bytes()[..], &[0, 0], bytes].concat().into())
    }
}

impl SerializerAdapter<Bytes> for Undecoded {
    type Error = Infallible;

    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }

    fn to_bytes(value: &Bytes) -> Result<Bytes, Infallible> {
        // RustDDS adds the front itself.
        Ok(value.slice(FRONT.min(value.len())..))
    }
}

/// The listening end of a topic.
pub(in super::super) struct Reader {
    inner: SimpleDataReader<Bytes, Undecoded>,
    since: Timestamp,
}

impl Reader {
    pub(super) fn gid(&self) -> Gid {
        self.inner.guid().into()
    }

    /// What arrives, without end.
    ///
    /// What is said of a topic stays in a cache of the participant that outlives readers: a new one also gets what an earlier one has
    /// left there.
    pub(super) fn stream(&self) -> impl Stream<Item = Result<Arrived, Fault>> + '_ {
        self.inner.as_async_stream().map(|arrived| {
            let change = arrived.map_err(|e| Fault(format!("{e:?}")))?;
            let related = change.related_sample_identity();
            Ok(Arrived {
                writer: change.writer_guid().into(),
                number: change.sequence_number.into(),
                related: related.map(|id| Related { writer: id.writer_guid.into(), number: id.sequence_number.into() }),
                is_old: change.receive_instant < self.since,
                payload: change.into_value(),
            })
        })
    }
}

/// The writing end of a topic. Messages are in CDR, little-endian, with their header of four bytes.
pub(in super::super) struct Writer {
    inner: DataWriter<Bytes, Undecoded>,
}

impl Writer {
    pub(super) fn gid(&self) -> Gid {
        self.inner.guid().into()
    }

    /// Writes, about another message if there is one, to all readers or only one; returns the number of what was written.
    pub(super) async fn write(&self, message: Bytes, related: Option<Related>, only: Option<Gid>) -> Result<i64, Fault> {
        let related = related.map(SampleIdentity::from);
        let mut options = WriteOptionsBuilder::new().source_timestamp(Timestamp::now()).related_sample_identity_opt(related);
        if let Some(only) = only {
            options = options.to_single_reader(only.into());
        }
        let written = self.inner.async_write_with_options(message, options.build()).await;
        written.map(|id| id.sequence_number.into()).map_err(|e| Fault(e.forget_data().to_string()))
    }

    /// Whether all readers have what was written.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.inner.wait_for_acknowledgments(Duration::ZERO).unwrap_or(true)
    }

    /// Waits until all readers have what was written.
    pub(super) async fn acknowledged(&self) {
        // What RustDDS has for waiting is woken late, or not at all.
        while !self.is_acknowledged() {
            tokio::time::sleep(ACKNOWLEDGED).await;
        }
    }

    /// Writes at once, or not at all if the network is busy.
    pub(super) fn write_now(&self, message: Bytes) {
        // There is no second chance for what is written last.
        let _ = self.inner.write(message, Some(Timestamp::now()));
    }

    /// Waits until all readers that are connected now take what is written from now on for news.
    ///
    /// A reader under Cyclone takes all that was written before the first heartbeat it sees for history that is none of its business.
    /// A message to nobody makes RustDDS send heartbeats to all until they have acknowledged that there is nothing for them.
    pub(super) async fn settle(&self) {
        if self.inner.async_write_with_options(NOTHING, to_nobody()).await.is_ok() {
            self.acknowledged().await;
        }
    }
}

/// An empty message, in CDR.
const NOTHING: Bytes = Bytes::from_static(&[0, 1, 0, 0]);

fn to_nobody() -> WriteOptions {
    WriteOptionsBuilder::new().to_single_reader(GUID::from_bytes([0xff; 16])).build()
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::network;
    use super::*;

    #[test]
    fn threads_that_have_ended_are_noticed() {
        let dds = Dds::join(&network(11)).expect("a participant");
        let threads = dds.threads.clone();
        assert!(threads.len() >= 2 && dds.is_alive());
        drop(dds);
        let start = Instant::now();
        while are_there(&threads) {
            assert!(start.elapsed() < Duration::from_secs(30), "they stay");
            std::thread::sleep(LOOK);
        }
    }
}
