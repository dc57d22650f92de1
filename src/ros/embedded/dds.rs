//! The node's readers and writers on RustDDS, each known to the graph for as long as it lives.
//!
//! RustDDS has quirks that only this module needs to know: what is said of a topic stays in a cache of the participant that outlives
//! readers, and a writer's first words can come too early for a reader that has just been connected.

use futures::{Stream, StreamExt};
use rustdds::dds::{CreateError, CreateResult, WriteError};
use rustdds::no_key::{DataWriter, DefaultDecoder, DeserializedCacheChange, DeserializerAdapter, SimpleDataReader};
use rustdds::{
    CDRDeserializerAdapter, CDRSerializerAdapter, DomainParticipant, GUID, QosPolicies, RTPSEntity, SampleIdentity, Timestamp,
    Topic, TopicKind, WriteOptionsBuilder,
};
use serde::Serialize;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::graph::{Direction, Graph, OwnEnd};
use super::{long, transport};
use crate::diagnostic::Diagnostic;

/// How long a new reader or writer may wait for the network's thread to take it.
const BUSY: Duration = Duration::from_secs(1);

/// Where readers and writers are made.
pub(super) struct Dds {
    pub participant: DomainParticipant,
    publisher: rustdds::Publisher,
    subscriber: rustdds::Subscriber,
    graph: Arc<Graph>,
}

/// A topic as DDS names it: `rt/tf`, `tf2_msgs::msg::dds_::TFMessage_`.
pub(super) struct DdsTopic {
    pub name: String,
    pub kind: String,
}

impl Dds {
    pub(super) fn new(participant: DomainParticipant, graph: Arc<Graph>) -> Result<Self, Diagnostic> {
        let cannot = |e| transport("can't join the ROS graph", e);
        let publisher = participant.create_publisher(&QosPolicies::default()).map_err(cannot)?;
        let subscriber = participant.create_subscriber(&QosPolicies::default()).map_err(cannot)?;
        Ok(Self { participant, publisher, subscriber, graph })
    }

    fn topic(&self, topic: &DdsTopic, qos: &QosPolicies) -> Result<Topic, Diagnostic> {
        let created = self.participant.create_topic(topic.name.clone(), topic.kind.clone(), qos, TopicKind::NoKey);
        created.map_err(|e| transport(&format!("topic {}", topic.name), e))
    }

    /// Listens to `topic`.
    pub(super) fn reader<D, A>(&self, topic: DdsTopic, qos: &QosPolicies) -> Result<Reader<D, A>, Diagnostic>
    where
        D: 'static,
        A: DeserializerAdapter<D> + 'static,
    {
        let since = Timestamp::now();
        let there = self.topic(&topic, qos)?;
        let created = patiently(|| self.subscriber.create_simple_datareader_no_key(&there, Some(qos.clone())));
        let inner: SimpleDataReader<D, A> = created.map_err(|e| transport(&format!("can't listen to {}", topic.name), e))?;
        let end = self.graph.own(inner.guid(), Direction::Reader, topic, qos);
        Ok(Reader { inner, since, end })
    }

    /// Writes to `topic`.
    pub(super) fn writer<D: Serialize>(&self, topic: DdsTopic, qos: &QosPolicies) -> Result<Writer<D>, Diagnostic> {
        let there = self.topic(&topic, qos)?;
        let created = patiently(|| self.publisher.create_datawriter_no_key(&there, Some(qos.clone())));
        let inner: DataWriter<D, _> = created.map_err(|e| transport(&format!("can't write to {}", topic.name), e))?;
        let end = self.graph.own(inner.guid(), Direction::Writer, topic, qos);
        Ok(Writer { inner, end })
    }
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

/// Where `reader` takes datagrams; nowhere if it is not known.
pub(super) fn addresses(participant: &DomainParticipant, reader: GUID) -> Vec<SocketAddr> {
    let known = participant.discovered_readers().into_iter().find(|known| known.reader_proxy.remote_reader_guid == reader);
    usable(known.into_iter().flat_map(|known| known.reader_proxy.unicast_locator_list).map(SocketAddr::from))
}

fn usable(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    // Fast DDS names its shared memory too, which has no address.
    addresses.filter(|address| address.is_ipv4() && !address.ip().is_unspecified()).collect()
}

/// Lets a writer on Fast DDS send its first sample once more; see [`long`].
pub(super) fn ask_for_first(participant: &DomainParticipant, reader: GUID, writer: GUID) {
    let Some(datagram) = long::first_again(reader, writer) else { return };
    let known = participant.discovered_writers().into_iter().find(|known| known.writer_proxy.remote_writer_guid == writer);
    let addresses = usable(known.into_iter().flat_map(|known| known.writer_proxy.unicast_locator_list).map(SocketAddr::from));
    // Without it the sample comes later.
    let Ok(socket) = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)) else { return };
    for address in addresses {
        let _ = socket.send_to(&datagram, address);
    }
}

/// The listening end of a topic.
pub(super) struct Reader<D: 'static, A: DeserializerAdapter<D> + 'static = CDRDeserializerAdapter<D>> {
    inner: SimpleDataReader<D, A>,
    since: Timestamp,
    end: OwnEnd,
}

/// What arrived, or why it could not be read.
pub(super) type Arrived<D> = Result<DeserializedCacheChange<D>, rustdds::dds::ReadError>;

impl<D: 'static, A: DefaultDecoder<D> + 'static> Reader<D, A> {
    pub(super) fn guid(&self) -> GUID {
        self.end.guid
    }

    /// What arrives, without end.
    ///
    /// A new reader also gets what an earlier reader of the same topic in this process has left in the cache. That is right for a
    /// latched message whose publisher is still there (it will not be sent again), and a ghost otherwise.
    pub(super) fn stream(&self) -> impl Stream<Item = Arrived<D>> + '_ {
        self.inner.as_async_stream().filter(move |arrived| {
            let is_ghost = arrived
                .as_ref()
                .is_ok_and(|change| change.receive_instant < self.since && !self.end.is_still_latched(change.writer_guid()));
            std::future::ready(!is_ghost)
        })
    }
}

/// The writing end of a topic.
pub(super) struct Writer<D: Serialize> {
    inner: DataWriter<D, CDRSerializerAdapter<D>>,
    end: OwnEnd,
}

impl<D: Serialize> Writer<D> {
    pub(super) fn guid(&self) -> GUID {
        self.end.guid
    }

    /// Writes; returns what the message can be referred to by.
    pub(super) async fn write(&self, data: D) -> Result<SampleIdentity, WriteError<()>> {
        self.write_about(data, None, None).await
    }

    /// Writes about another message, if there is one, to all readers or only one.
    pub(super) async fn write_about(
        &self,
        data: D,
        related: Option<SampleIdentity>,
        only: Option<GUID>,
    ) -> Result<SampleIdentity, WriteError<()>> {
        let mut options = WriteOptionsBuilder::new().source_timestamp(Timestamp::now()).related_sample_identity_opt(related);
        if let Some(only) = only {
            options = options.to_single_reader(only);
        }
        let options = options.build();
        self.inner.async_write_with_options(data, options).await.map_err(WriteError::forget_data)
    }

    /// Whether all readers have what was written.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.inner.wait_for_acknowledgments(Duration::ZERO).unwrap_or(true)
    }

    /// Writes at once, or not at all if the network is busy.
    pub(super) fn write_now(&self, data: D) {
        // There is no second chance for what is written last.
        let _ = self.inner.write(data, Some(Timestamp::now()));
    }

    /// Waits until all readers that are connected now take what is written from now on for news.
    ///
    /// A reader under Cyclone takes all that was written before the first heartbeat it sees for history that is none of its business.
    /// A message to nobody makes RustDDS send heartbeats to all until they have acknowledged that there is nothing for them.
    pub(super) async fn settle(&self, nobodys: D) {
        let nobody = GUID::from_bytes([0xff; 16]);
        let options = WriteOptionsBuilder::new().to_single_reader(nobody).build();
        if self.inner.async_write_with_options(nobodys, options).await.is_ok() {
            let _ = self.inner.async_wait_for_acknowledgments().await;
        }
    }
}
