//! Services as `rmw_cyclonedds_cpp` carries them: requests, answers, and calls to others.
//!
//! The identity of a request precedes its body. Nodes on Fast DDS and Connext put it into the
//! inline QoS instead, which Cyclone's programming interface can neither write nor read. Their
//! requests are refused with a warning, and calls to their services fail at once
//! ([`Gid::has_our_service_wire`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::dds::{Arrived, DdsTopic, Gid};
use super::ends::SeenMessages;
use super::graph::{Connection, Server};
use super::session::{CATCH_UP, Session, SessionWriter};
use super::{Embedded, wire};
use crate::faults::{Recurring, ended, no_answer, other_wire, transport};
use crate::opener::TICK;
use crate::threads::Task;
use crate::transport::{
    Call as ServiceCall, Limit, MAX_PENDING_CALLS, Name, Open, RequestCallback,
};
use crate::{Qos, cdr};
use urdf_usd_diagnostic::Diagnostic;

/// Maximum time that an answer waits until the caller's reader is discovered.
const MAX_WAIT_FOR_CALLER: Duration = CATCH_UP;
/// Maximum time that an answer waits for more readers of the caller's participant, if that has
/// clients whose readers are not known yet.
const MAX_WAIT_FOR_ALL_READERS: Duration = Duration::from_secs(1);
/// Maximum size of an answer that is sent twice, in bytes.
const MAX_REPEATED_BYTES: usize = 1 << 16;
/// Time limit for the acknowledgement of an answer.
const ACKNOWLEDGEMENT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit for retries of an answer that can't be written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Pause between answers that are repeated in another session: a client keeps only the last few
/// unread answers, including those meant for others.
const REPEAT_PAUSE: Duration = Duration::from_millis(5);
/// Poll interval for state without change notification.
const POLL: Duration = Duration::from_millis(100);
/// Number of the first, and only, request of a caller.
const SEQUENCE: i64 = 1;

/// The identity of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    /// The caller's writer, which identifies its participant.
    caller: Gid,
    /// Identity of the client in the header.
    client: u64,
    sequence: i64,
}

/// Length of the CDR header in bytes, and length together with the identity of the call: two
/// integers of 8 bytes. CDR aligns nothing to more than 8, so the alignment of the body starts
/// again behind them.
const CDR_HEADER: usize = 4;
const CALL_HEADER: usize = CDR_HEADER + 16;

impl Call {
    /// Puts the identity in front of a request or answer. Both are little-endian, as is everything
    /// that this node writes.
    fn pack(self, body: &Bytes) -> Bytes {
        let (header, body) = body.split_at(CDR_HEADER.min(body.len()));
        [
            header,
            &self.client.to_le_bytes(),
            &self.sequence.to_le_bytes(),
            body,
        ]
        .concat()
        .into()
    }

    /// Splits a request or answer into its identity and its body.
    fn unpack(arrived: &Arrived) -> Result<(Self, Bytes), String> {
        let (client, sequence) = cdr::decode(&arrived.payload)?;
        let parts = arrived
            .payload
            .get(..CDR_HEADER)
            .zip(arrived.payload.get(CALL_HEADER..));
        let (header, body) = parts.ok_or("it is too short")?;
        Ok((
            Self {
                caller: arrived.writer,
                client,
                sequence,
            },
            [header, body].concat().into(),
        ))
    }
}

/// A service that the node offers.
pub(super) struct ServerEnd {
    requests: DdsTopic,
    replies: DdsTopic,
    name: String,
    ask: RequestCallback<Bytes, Bytes>,
    seen: Mutex<SeenMessages>,
    refused: Mutex<Recurring>,
    /// The writers of answers in each session, the newest session first.
    answers: Mutex<Vec<Answers>>,
    /// Held while an answer is repeated in another session.
    repeating: tokio::sync::Mutex<()>,
    changes: watch::Sender<()>,
}

/// The writer of answers in one session.
#[derive(Clone)]
struct Answers {
    session: Arc<Session>,
    reader: Gid,
    writer: Arc<SessionWriter>,
}

impl Answers {
    /// Returns the connections with readers of answers in the caller's participant.
    fn readers(&self, call: Call) -> Vec<Connection> {
        self.session
            .graph
            .connections(self.writer.writer.gid(), call.caller.prefix())
    }

    /// Returns whether an answer sent here will arrive: the session delivers, and a reader of the
    /// caller is still connected.
    fn delivers(&self, call: Call) -> bool {
        self.session.delivers() && !self.readers(call).is_empty()
    }

    /// Returns whether the caller's reader is known here.
    ///
    /// Requests do not name it. Therefore as many readers of answers as writers of requests must be
    /// connected, of the caller's participant, unless that takes too long.
    fn knows_caller(&self, call: Call, is_late: bool) -> bool {
        let readers = self.readers(call).len();
        readers > 0
            && (is_late
                || readers
                    >= self
                        .session
                        .graph
                        .matches(self.reader, call.caller.prefix())
                        .len())
    }

    /// Sends an answer; returns whether it was acknowledged.
    ///
    /// A reader under Cyclone treats everything written before the first heartbeat that it sees as
    /// history, and does not deliver it. A caller that is not known to have seen one is therefore
    /// answered twice, the second time after it has acknowledged something; it ignores the
    /// duplicate. A long answer waits for the acknowledgement instead.
    async fn send(&self, call: Call, packed: &Bytes) -> Result<bool, Diagnostic> {
        let (graph, writer) = (&self.session.graph, &self.writer.writer);
        let write = || async {
            writer
                .write(packed.clone())
                .await
                .map_err(|fault| transport("could not send an answer", fault))
        };
        let acknowledged = || async {
            tokio::time::timeout(ACKNOWLEDGEMENT_TIMEOUT, writer.acknowledged())
                .await
                .is_ok()
        };
        let readers = graph.matches(writer.gid(), call.caller.prefix());
        if !graph.have_settled(writer.gid(), &readers) {
            let has_settled = if packed.len() > MAX_REPEATED_BYTES {
                tokio::time::timeout(ACKNOWLEDGEMENT_TIMEOUT, writer.settle())
                    .await
                    .is_ok()
            } else {
                write().await?;
                acknowledged().await
            };
            // Unknown while another reader delays the acknowledgement.
            if has_settled {
                graph.note_settled(writer.gid(), &readers);
            }
        }
        write().await?;
        Ok(acknowledged().await)
    }
}

impl ServerEnd {
    /// Creates the server of `service`; every change of the graph ticks `changes`.
    pub(super) fn new(
        service: &Name,
        ask: RequestCallback<Bytes, Bytes>,
        changes: watch::Sender<()>,
    ) -> Arc<Self> {
        let (requests, replies) = wire::service(service);
        Arc::new(Self {
            requests,
            replies,
            name: service.full.clone(),
            ask,
            seen: Mutex::default(),
            refused: Mutex::default(),
            answers: Mutex::default(),
            repeating: tokio::sync::Mutex::default(),
            changes,
        })
    }

    /// Opens the server in a session.
    pub(super) fn open(
        self: Arc<Self>,
        session: &Arc<Session>,
        handle: &Handle,
    ) -> Result<Open, Diagnostic> {
        let reader = session.reader(&self.requests, Qos::reliable(MAX_PENDING_CALLS))?;
        let writer = Arc::new(session.writer(&self.replies, Qos::reliable(MAX_PENDING_CALLS))?);
        // The newest session first: `answer` looks for the caller in this order.
        self.answers().insert(
            0,
            Answers {
                session: session.clone(),
                reader: reader.gid(),
                writer,
            },
        );
        let number = session.number;
        let closing = Closing {
            served: Arc::downgrade(&self),
            number,
        };
        let task = handle.spawn(async move {
            let hear = |arrived: Arrived| {
                let is_new = self
                    .seen
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .is_new(number, arrived.writer, arrived.written);
                if is_new {
                    self.hear(&arrived);
                }
            };
            reader.hear(&self.name, hear).await;
        });
        Ok(Box::new((Task(task.abort_handle()), closing)))
    }
}

/// Removes a session's writer of answers when that session ends.
struct Closing {
    served: Weak<ServerEnd>,
    number: u64,
}

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(served) = self.served.upgrade() {
            served
                .answers()
                .retain(|answers| answers.session.number != self.number);
        }
    }
}

impl ServerEnd {
    fn answers(&self) -> MutexGuard<'_, Vec<Answers>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(self: &Arc<Self>, arrived: &Arrived) {
        if !arrived.writer.has_our_service_wire() {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused
                .report(|n| tracing::warn!("{n} request(s) refused: {}", other_wire(&self.name)));
            return;
        }
        // A pending call must not keep the service open after the node has withdrawn it.
        let served = Arc::downgrade(self);
        (self.ask)(Call::unpack(arrived).map(|(call, request)| {
            let reply = move |response| {
                let served = served.upgrade().ok_or("the service is no longer offered")?;
                Ok(async move {
                    served.answer(call, &response).await;
                    Ok(())
                }
                .boxed())
            };
            ServiceCall {
                request,
                reply: Box::new(reply),
            }
        }));
    }

    /// Answers a call in whichever session knows the caller, until the answer is acknowledged.
    ///
    /// A process that was suspended learns late, and in any order, that a client has left and
    /// another has come, or that all participants were lost and came back, whatever they sent
    /// meanwhile. The answer may have gone to readers that no longer exist, or to none, so it is
    /// repeated over each connection made after that.
    ///
    /// An answer without acknowledgement may still arrive: Cyclone does not report whose
    /// acknowledgement is missing, and it may be that of another, suspended reader. The answer is
    /// therefore sent in another session only once the first no longer delivers.
    async fn answer(&self, call: Call, response: &Bytes) {
        let packed = call.pack(response);
        let (start, mut changes, mut faults) = (
            Instant::now(),
            self.changes.subscribe(),
            Recurring::default(),
        );
        // The sessions in which the answer may be in flight.
        let mut sent: Vec<Sent> = Vec::new();
        // The sessions in which writing failed this time.
        let mut refused: Vec<u64> = Vec::new();
        loop {
            let (is_late, is_over) = (
                start.elapsed() > MAX_WAIT_FOR_ALL_READERS,
                start.elapsed() > MAX_WAIT_FOR_CALLER,
            );
            let all = self.answers().clone();
            let is_sent = |answers: &Answers| {
                sent.iter()
                    .any(|sent| sent.session == answers.session.number)
            };
            let is_under_way = all
                .iter()
                .any(|answers| is_sent(answers) && answers.delivers(call));
            // Where the answer was sent, it is repeated for readers that missed it. Another session
            // is used only while none of those delivers, and only if it knows the caller; after the
            // time limit, any session is tried once.
            let is_wanted = |answers: &Answers| match sent
                .iter()
                .find(|sent| sent.session == answers.session.number)
            {
                _ if refused.contains(&answers.session.number) => false,
                None if is_under_way => false,
                Some(sent) => answers
                    .readers(call)
                    .iter()
                    .any(|reader| sent.has_missed(reader)),
                None => answers.knows_caller(call, is_late) || (is_over && sent.is_empty()),
            };
            // The other sessions are released here, so that they can end meanwhile.
            let next = all.into_iter().find(is_wanted);
            if let Some(answers) = next {
                if !sent.is_empty() {
                    // One at a time, or the pauses of concurrent calls would overlap.
                    let _turn = self.repeating.lock().await;
                    tokio::time::sleep(REPEAT_PAUSE).await;
                }
                let readers = answers.readers(call);
                let is_heard = match answers.send(call, &packed).await {
                    Ok(is_heard) => is_heard,
                    Err(error) => {
                        faults.report(|_| tracing::warn!("{}: {error}", self.name));
                        refused.push(answers.session.number);
                        continue;
                    }
                };
                // Cyclone may be about to drop the readers: it counts that as acknowledged, and
                // reports it later, as it does a standstill.
                tokio::time::sleep(2 * TICK).await;
                let was_away = answers.session.has_just_stood_still();
                if is_heard && !was_away {
                    return;
                }
                sent.retain(|sent| sent.session != answers.session.number);
                sent.push(Sent {
                    session: answers.session.number,
                    readers,
                    was_away,
                });
            } else if is_over && (refused.is_empty() || start.elapsed() > WRITE_TIMEOUT) {
                return tracing::debug!(
                    "{}: the answer may not have reached the caller",
                    self.name
                );
            } else {
                // Fails only while the node shuts down.
                let _ = tokio::time::timeout(POLL, changes.changed()).await;
                refused.clear();
            }
        }
    }
}

/// A session in which an answer was sent.
struct Sent {
    session: u64,
    /// The connections with the caller's readers at that time.
    readers: Vec<Connection>,
    /// Whether the process was suspended before, so that `readers` may be incomplete.
    was_away: bool,
}

impl Sent {
    /// Returns whether this reader has missed the answer.
    fn has_missed(&self, reader: &Connection) -> bool {
        let is_renewed = || {
            self.readers
                .iter()
                .any(|before| before.other == reader.other)
        };
        !self.readers.contains(reader) && (self.was_away || is_renewed())
    }
}

impl Embedded {
    /// See [`Transport::call`](crate::transport::Transport::call).
    pub(super) async fn call_service(
        &self,
        called: &Name,
        request: Bytes,
        limit: Limit,
    ) -> Result<Bytes, Diagnostic> {
        let (service, deadline) = (&called.full, limit.server);
        let mut changes = self.changes.subscribe();
        let (session, writer, reader) = 'found: loop {
            let session = self.sessions.current()?;
            // Endpoints of its own for each call: their identity alone tells its answer from
            // others.
            let (requests, replies) = wire::service(called);
            // Creating endpoints waits for the library's locks, so it runs on a blocking thread.
            let opening = self.handle.spawn_blocking(move || {
                let writer = session.writer(&requests, Qos::reliable(1))?;
                let reader = session.reader(&replies, Qos::reliable(MAX_PENDING_CALLS))?;
                Ok((session, writer, reader))
            });
            let (session, writer, reader) = opening.await.map_err(|_| ended())??;
            // A new session starts discovery again, so the call starts again there.
            while self.sessions.current()?.number == session.number {
                match session.graph.server(writer.writer.gid(), reader.gid()) {
                    Server::Found => break 'found (session, writer, reader),
                    Server::OtherWire => return Err(other_wire(service)),
                    Server::Missing if Instant::now() > deadline => {
                        return Err(no_answer(service, limit.answer, "no node offers it"));
                    }
                    // Fails only while the node shuts down.
                    Server::Missing => drop(tokio::time::timeout(POLL, changes.changed()).await),
                }
            }
        };
        // Otherwise the server may treat the request as history, and not deliver it.
        writer.writer.settle().await;
        let call = Call {
            caller: reader.gid(),
            client: client(writer.writer.gid()),
            sequence: SEQUENCE,
        };
        let sent = writer.writer.write(call.pack(&request)).await;
        sent.map_err(|fault| transport(&format!("can't call {service}"), fault))?;
        let mut answers = std::pin::pin!(reader.stream());
        while let Some(answer) = answers.next().await {
            match answer
                .map_err(|fault| fault.to_string())
                .and_then(|arrived| Call::unpack(&arrived))
            {
                Ok((answered, response))
                    if (answered.client, answered.sequence) == (call.client, call.sequence) =>
                {
                    return Ok(response);
                }
                // An answer to another client: each of them receives all answers of the service.
                Ok(_) => {}
                Err(error) => {
                    return Err(transport(
                        &format!("can't read the answer of {service}"),
                        error,
                    ));
                }
            }
        }
        drop(session);
        Err(ended())
    }
}

/// Returns the identity of a client in the header: unique, from both halves of its GUID.
fn client(gid: Gid) -> u64 {
    // The header has room for half a GUID.
    let bytes = u128::from_le_bytes(gid.0);
    (bytes >> 64) as u64 ^ bytes as u64
}
