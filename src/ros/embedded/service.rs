//! Services: requests into a queue, answers out of it, and calls to others, in the wire format of either family of DDS clients.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use rustdds::no_key::DeserializedCacheChange;
use rustdds::serialization::to_writer_with_rep_id;
use rustdds::{GUID, RepresentationIdentifier, SampleIdentity, SequenceNumber};
use serde::{Deserialize, Serialize};

use super::dds::{self, Dds, Reader, Writer};
use super::network::ServiceWire;
use super::{Inner, Task, long, transport, wire};
use crate::diagnostic::Diagnostic;
use crate::ros::faults::{Troubles, ended, no_answer};
use crate::ros::msg::{Payload, Service};
use crate::ros::{Qos, Request, Requests, Responder, queue};

/// How many calls to one service may wait.
const DEPTH: usize = 128;
/// How long an answer waits for the caller's reader to be discovered.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a long answer waits to be acknowledged before it is sent again; then twice as long, and so on.
const ANSWER_AGAIN: Duration = Duration::from_millis(20);
/// How often a long answer is sent at most: for five seconds.
const MOST_ANSWERS: u32 = 8;
/// How many datagrams are sent without a pause, that a reader's buffer holds them.
const DATAGRAMS_AT_ONCE: usize = 32;
/// The pause.
const BREATH: Duration = Duration::from_millis(1);

/// Which call of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    /// An end of the caller's, for its participant.
    caller: GUID,
    /// What Cyclone calls the caller by.
    client: u64,
    sequence: i64,
}

/// How the halves of a service travel: one of the two families of DDS clients.
trait Format: Send + Sync + 'static {
    /// A request or an answer.
    type Half<T: Payload>: Payload;

    /// The number that a caller's first request carries.
    const FIRST: SequenceNumber;

    /// Whether `answer` is of `call`, that was sent as the `sent`th message.
    fn is_of(call: Call, sent: SequenceNumber, answer: Call) -> bool;

    /// A request or answer of the call.
    fn pack<T: Payload>(call: Call, body: T) -> (Self::Half<T>, Option<SampleIdentity>);

    /// What a request or answer says, and of which call.
    fn unpack<T: Payload>(change: DeserializedCacheChange<Self::Half<T>>) -> (Call, T);

    /// Sends the answer of `call`. `asks` is the reader that waits for it, if it is known, and where it takes datagrams.
    fn answer<T: Payload>(
        writer: &Writer<Self::Half<T>>,
        asks: Option<(GUID, Vec<SocketAddr>)>,
        call: Call,
        body: T,
    ) -> impl Future<Output = Result<(), Diagnostic>> + Send;
}

/// As `rmw_cyclonedds_cpp` does it: the caller's identity and number in front of the body.
struct Cyclone;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(bound = "")]
struct Framed<T: Payload> {
    client: u64,
    sequence: i64,
    body: T,
}

impl Format for Cyclone {
    type Half<T: Payload> = Framed<T>;

    const FIRST: SequenceNumber = SequenceNumber::zero().plus_1();

    fn is_of(call: Call, _: SequenceNumber, answer: Call) -> bool {
        (answer.client, answer.sequence) == (call.client, call.sequence)
    }

    fn pack<T: Payload>(Call { client, sequence, .. }: Call, body: T) -> (Framed<T>, Option<SampleIdentity>) {
        (Framed { client, sequence, body }, None)
    }

    fn unpack<T: Payload>(change: DeserializedCacheChange<Framed<T>>) -> (Call, T) {
        let caller = change.writer_guid();
        let Framed { client, sequence, body } = change.into_value();
        (Call { caller, client, sequence }, body)
    }

    async fn answer<T: Payload>(
        writer: &Writer<Framed<T>>,
        _: Option<(GUID, Vec<SocketAddr>)>,
        call: Call,
        body: T,
    ) -> Result<(), Diagnostic> {
        writer.write(Self::pack(call, body).0).await.map_err(unsent)?;
        Ok(())
    }
}

/// As `rmw_fastrtps_cpp` does it: the identity beside the body. A request names the reader that waits for the answer.
struct FastDds;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent, bound = "")]
struct Bare<T: Payload>(T);

impl Format for FastDds {
    type Half<T: Payload> = Bare<T>;

    const FIRST: SequenceNumber = SequenceNumber::UNKNOWN;

    fn is_of(call: Call, sent: SequenceNumber, answer: Call) -> bool {
        (answer.caller, answer.sequence) == (call.caller, sent.into())
    }

    fn pack<T: Payload>(Call { caller, sequence, .. }: Call, body: T) -> (Bare<T>, Option<SampleIdentity>) {
        (Bare(body), Some(SampleIdentity { writer_guid: caller, sequence_number: SequenceNumber::from(sequence) }))
    }

    fn unpack<T: Payload>(change: DeserializedCacheChange<Bare<T>>) -> (Call, T) {
        let (writer_guid, sequence_number) = (change.writer_guid(), change.sequence_number);
        let mut id = change.related_sample_identity().unwrap_or(SampleIdentity { writer_guid, sequence_number });
        if id.sequence_number == SequenceNumber::UNKNOWN {
            id.sequence_number = sequence_number;
        }
        (Call { caller: id.writer_guid, client: 0, sequence: id.sequence_number.into() }, change.into_value().0)
    }

    async fn answer<T: Payload>(
        writer: &Writer<Bare<T>>,
        asks: Option<(GUID, Vec<SocketAddr>)>,
        call: Call,
        body: T,
    ) -> Result<(), Diagnostic> {
        let mut payload = vec![0, 1, 0, 0];
        to_writer_with_rep_id(&mut payload, &body, RepresentationIdentifier::CDR_LE).map_err(unsent)?;
        let (answer, related) = Self::pack(call, body);
        // To that reader alone: the others would keep it, each among its last ten.
        let written = writer.write_about(answer, related, asks.as_ref().map(|(reader, _)| *reader)).await.map_err(unsent)?;
        let Some((reader, addresses)) = asks.filter(|_| payload.len() > long::LONGEST_WHOLE) else { return Ok(()) };
        let sample = long::Sample {
            writer: writer.guid(),
            reader,
            number: written.sequence_number,
            related: related.unwrap_or(written),
            payload: &payload,
        };
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(unsent)?;
        for attempt in 0..MOST_ANSWERS {
            for (n, datagram) in sample.datagrams().enumerate() {
                for address in &addresses {
                    // Of several addresses one is the right one; what is lost is sent again.
                    let _ = socket.send_to(&datagram, address);
                }
                if n % DATAGRAMS_AT_ONCE == DATAGRAMS_AT_ONCE - 1 {
                    tokio::time::sleep(BREATH).await;
                }
            }
            tokio::time::sleep(ANSWER_AGAIN * (1 << attempt)).await;
            if writer.is_acknowledged() {
                break;
            }
        }
        Ok(())
    }
}

fn unsent(why: impl std::fmt::Debug) -> Diagnostic {
    transport("an answer could not be sent", why)
}

impl Inner {
    pub(super) fn serve<S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic> {
        match self.network.services {
            ServiceWire::Cyclone => self.serve_as::<Cyclone, S>(service),
            ServiceWire::FastDds => self.serve_as::<FastDds, S>(service),
        }
    }

    fn serve_as<F: Format, S: Service>(&self, service: &str) -> Result<Requests<S>, Diagnostic> {
        let name = self.own.names.service(service)?;
        let (asked, answered) = wire::service(&name, S::TYPE);
        let (reader, writer, participant) = {
            let live = self.live();
            let dds = &live.as_ref().ok_or_else(ended)?.dds;
            let reader: Reader<F::Half<S::Request>> = dds.reader(asked, &wire::subscription(Qos::reliable(DEPTH)))?;
            let writer: Writer<F::Half<S::Response>> = dds.writer(answered, &wire::publisher(Qos::reliable(DEPTH)))?;
            (reader, Arc::new(writer), dds.participant.clone())
        };
        let (sender, receiver) = queue::keep_last(DEPTH);
        let (handle, graph, service) = (self.handle.clone(), self.graph.clone(), name.clone());
        let task = self.spawn(async move {
            // An answer to nobody, so that every new reader lacks something and is sent heartbeats; see `Graph::reader`.
            if let Err(e) = writer.write(Default::default()).await {
                tracing::warn!("{service}: first answers may get lost: {e}");
            }
            let mut requests = std::pin::pin!(reader.stream());
            let mut troubles = Troubles::new(service);
            while let Some(request) = requests.next().await {
                let (call, request) = match request {
                    Ok(change) => F::unpack(change),
                    Err(e) => {
                        troubles.unreadable(format_args!("{e:?}"));
                        continue;
                    }
                };
                let (writer, handle, graph, service, participant) =
                    (Arc::downgrade(&writer), handle.clone(), graph.clone(), troubles.service.clone(), participant.clone());
                let responder = Responder::new(move |response| {
                    let writer = writer.upgrade().ok_or_else(ended)?;
                    handle.spawn(async move {
                        graph.reader(writer.guid(), &call.caller.to_bytes()[..12], PATIENCE).await;
                        let asks = graph.has_matched(writer.guid(), call.caller);
                        let asks = asks.then(|| (call.caller, dds::addresses(&participant, call.caller)));
                        if let Err(e) = F::answer(&writer, asks, call, response).await {
                            tracing::warn!("{service}: {e}");
                        }
                    });
                    Ok(())
                });
                troubles.queued(sender.push(Request { request, responder }));
            }
        });
        Ok(Requests::new(name, receiver, Arc::new(Task(task))))
    }

    /// See [`Node::call`](crate::ros::Node::call).
    pub(super) async fn call<S: Service>(
        self: &Arc<Self>,
        service: &str,
        request: S::Request,
        patience: Duration,
    ) -> Result<S::Response, Diagnostic> {
        let name = self.own.names.service(service)?;
        let (inner, service) = (self.clone(), name.clone());
        let asked = async move {
            match inner.network.services {
                ServiceWire::Cyclone => inner.call_as::<Cyclone, S>(&service, request, patience).await,
                ServiceWire::FastDds => inner.call_as::<FastDds, S>(&service, request, patience).await,
            }
        };
        // On the node's own threads, so that it ends with the node; it also ends when nobody waits for it any more.
        let mut answer = self.handle.spawn(tokio::time::timeout(patience, asked));
        let _task = Task(answer.abort_handle());
        match (&mut answer).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(_)) => Err(no_answer(&name, patience, "its server is there, but silent")),
            Err(_) => Err(ended()),
        }
    }

    async fn call_as<F: Format, S: Service>(
        &self,
        service: &str,
        request: S::Request,
        patience: Duration,
    ) -> Result<S::Response, Diagnostic> {
        let (asks, answers) = wire::service(service, S::TYPE);
        let (writer, reader) = {
            let live = self.live();
            let dds: &Dds = &live.as_ref().ok_or_else(ended)?.dds;
            let writer: Writer<F::Half<S::Request>> = dds.writer(asks, &wire::publisher(Qos::reliable(1)))?;
            let reader: Reader<F::Half<S::Response>> = dds.reader(answers, &wire::subscription(Qos::reliable(DEPTH)))?;
            (writer, reader)
        };
        // A little less than what the caller waits, to tell a missing server from a silent one.
        if !self.graph.server(writer.guid(), reader.guid(), patience.mul_f64(0.95)).await {
            return Err(no_answer(service, patience, "nobody offers it"));
        }
        writer.settle(Default::default()).await;
        let call = Call { caller: reader.guid(), client: client(writer.guid()), sequence: F::FIRST.into() };
        let (request, related) = F::pack(call, request);
        let sent = writer
            .write_about(request, related, None)
            .await
            .map_err(|e| transport(&format!("{service} can't be called"), e))?;
        let mut answers = std::pin::pin!(reader.stream());
        while let Some(answer) = answers.next().await {
            match answer.map(F::unpack) {
                Ok((answered, response)) if F::is_of(call, sent.sequence_number, answered) => return Ok(response),
                Ok(_) => {}
                Err(e) => return Err(transport(&format!("the answer of {service} can't be read"), e)),
            }
        }
        Err(ended())
    }
}

/// What Cyclone may call a caller by: told from all others by both halves of its identity.
fn client(guid: GUID) -> u64 {
    let bytes = u128::from_le_bytes(guid.to_bytes());
    (bytes >> 64) as u64 ^ bytes as u64
}
