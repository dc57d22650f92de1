//! Services: requests into a queue, answers out of it, and calls to others, in the wire format of either family of DDS clients.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use rustdds::no_key::DeserializedCacheChange;
use rustdds::serialization::to_writer_with_rep_id;
use rustdds::{GUID, RepresentationIdentifier, SampleIdentity, SequenceNumber};
use serde::{Deserialize, Serialize};

use super::dds::{self, Dds, Reader, Writer};
use super::network::ServiceWire;
use super::{Inner, Recurring, Task, ended, transport, wire};
use crate::diagnostic::{Diagnostic, Place};
use crate::ros::msg::{Payload, Service};
use crate::ros::{Qos, Request, Requests, Responder, codes, queue};

/// How many calls to one service may wait.
const DEPTH: usize = 128;
/// How long an answer waits for the caller's reader to be discovered.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest answer, in bytes of CDR, that RustDDS 0.15 sends whole to any peer. Longer ones it cuts into fragments, and those it
/// writes wrongly if they carry the identity of the request (with a byte too many before it): nobody can read them. Only Fast DDS needs
/// that identity.
const LONGEST_TO_FAST_DDS: usize = 1280;
/// The same for a peer on this machine that is reached over the loopback interface only.
const LONGEST_NEARBY: usize = 60_000;

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

    /// The answer, short enough to be sent, and whether it must be sent to the caller alone to stay in one piece. `is_near` tells
    /// whether the caller takes long datagrams.
    fn fit<S: Service>(response: S::Response, is_near: impl FnOnce() -> bool) -> Result<(S::Response, bool), Diagnostic>;
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

    fn fit<S: Service>(response: S::Response, _: impl FnOnce() -> bool) -> Result<(S::Response, bool), Diagnostic> {
        Ok((response, false))
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

    fn fit<S: Service>(mut response: S::Response, is_near: impl FnOnce() -> bool) -> Result<(S::Response, bool), Diagnostic> {
        let length = |response: &S::Response| {
            let mut bytes = Counter(4);
            let written = to_writer_with_rep_id(&mut bytes, response, RepresentationIdentifier::CDR_LE);
            written.map(|()| bytes.0).map_err(|e| transport("an answer can't be written", e))
        };
        let mut bytes = length(&response)?;
        let is_near = bytes > LONGEST_TO_FAST_DDS && is_near();
        let longest = if is_near { LONGEST_NEARBY } else { LONGEST_TO_FAST_DDS };
        while bytes > longest {
            let Some(shorter) = S::shorten(response) else {
                let what = format!("an answer of {} is too long for clients on Fast DDS", S::TYPE.of_service());
                let help = "ask for less at a time, or run both sides with RMW_IMPLEMENTATION=rmw_cyclonedds_cpp";
                tracing::warn!("{what}: {bytes} bytes of {longest}, so an empty one is sent ({help})");
                // A caller that gets nothing waits for ever.
                return Ok((S::Response::default(), false));
            };
            response = shorter;
            bytes = length(&response)?;
        }
        Ok((response, is_near))
    }
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
                        troubles.unreadable(e);
                        continue;
                    }
                };
                let (writer, handle, graph, service, participant) =
                    (Arc::downgrade(&writer), handle.clone(), graph.clone(), troubles.service.clone(), participant.clone());
                let responder = Responder::new(move |response| {
                    let writer = writer.upgrade().ok_or_else(ended)?;
                    handle.spawn(async move {
                        graph.reader(writer.guid(), &call.caller.to_bytes()[..12], PATIENCE).await;
                        let (response, is_alone) = match F::fit::<S>(response, || dds::is_near(&participant, call.caller)) {
                            Ok(fitting) => fitting,
                            Err(e) => return tracing::warn!("{service}: {e}"),
                        };
                        let (response, related) = F::pack(call, response);
                        if let Err(e) = writer.write_about(response, related, is_alone.then_some(call.caller)).await {
                            tracing::warn!("{service}: an answer could not be sent: {e}");
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

fn no_answer(service: &str, patience: Duration, why: &str) -> Diagnostic {
    let message = format!("{service} does not answer within {patience:?}: {why}");
    Diagnostic::new(&codes::NO_ANSWER, Place::default(), message)
        .help("is its node running, in this ROS_DOMAIN_ID and with the same RMW_IMPLEMENTATION?")
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
