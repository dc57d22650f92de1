//! Services as `rmw_cyclonedds_cpp` carries them: requests, answers, and calls to others.
//!
//! The identity of a request travels in front of its body. Nodes on Fast DDS and Connext put it
//! into the inline QoS instead, which Cyclone's programming interface reaches neither to write nor
//! to read; their requests are refused with a warning, and calls to their services fail at once
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
use crate::transport::{CALLS, Call as ServiceCall, Limit, Name, Open, RequestCallback};
use crate::{Qos, cdr};
use urdf_usd_diagnostic::Diagnostic;

/// How long an answer waits for the caller's reader to be discovered.
const MAX_WAIT_FOR_CALLER: Duration = CATCH_UP;
/// How long an answer waits for more readers of the caller's participant, where it has clients
/// whose readers are not known yet.
const MAX_WAIT_FOR_ALL_READERS: Duration = Duration::from_secs(1);
/// Answers with more bytes are not sent twice.
const MAX_REPEATED_BYTES: usize = 1 << 16;
/// How long an answer waits to be acknowledged.
const ACKNOWLEDGEMENT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an answer that can't be written is tried again.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Pause between answers that are repeated in another session: a client keeps the last few unread
/// answers, be they for it or for others.
const REPEAT_PAUSE: Duration = Duration::from_millis(5);
/// Poll interval for state without change notification.
const POLL: Duration = Duration::from_millis(100);
/// Number of the first, and only, request of a caller.
const SEQUENCE: i64 = 1;

/// The identity of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    /// The caller's writer, which tells its participant.
    caller: Gid,
    /// The identity of the client in the header.
    client: u64,
    sequence: i64,
}

/// Length of the CDR header, and with the identity of the call behind it: two integers of 8 bytes.
/// Nothing in CDR is aligned to more, so the body's own alignment begins anew behind them.
const CDR_HEADER: usize = 4;
const CALL_HEADER: usize = CDR_HEADER + 16;

impl Call {
    /// Puts the identity in front of a request or answer. Both are little-endian, as all that this
    /// node writes.
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
    /// Where answers go in each session, the newest first.
    answers: Mutex<Vec<Answers>>,
    /// Held while an answer is repeated in another session.
    repeating: tokio::sync::Mutex<()>,
    changes: watch::Sender<()>,
}

/// Where answers go in one session.
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

    /// Whether an answer that was sent here will arrive: the session delivers, and a reader of the
    /// caller is still connected.
    fn delivers(&self, call: Call) -> bool {
        self.session.delivers() && !self.readers(call).is_empty()
    }

    /// Whether the caller's reader is known here. Requests do not name it: of its participant, as
    /// many readers of answers have to be connected as there are writers of requests, unless that
    /// takes too long.
    fn knows(&self, call: Call, is_late: bool) -> bool {
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

    /// Sends an answer; whether it was acknowledged.
    ///
    /// A reader under Cyclone takes everything written before the first heartbeat it sees for
    /// history, and does not deliver it. A caller that is not known to have seen one is therefore
    /// answered twice, the second time after it has acknowledged something; it ignores an answer
    /// that it has. A long answer waits for the acknowledgement instead.
    async fn send(&self, call: Call, packed: &Bytes) -> Result<bool, Diagnostic> {
        let (graph, writer) = (&self.session.graph, &self.writer.writer);
        let write = || async {
            writer
                .write(packed.clone())
                .await
                .map_err(|fault| transport("an answer could not be sent", fault))
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
            // Unknown while some other reader holds the acknowledgement up.
            if has_settled {
                graph.note_settled(writer.gid(), &readers);
            }
        }
        write().await?;
        Ok(acknowledged().await)
    }
}

impl ServerEnd {
    /// Offers `service`; every change of the graph ticks `changes`.
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

    /// Opens it in a session.
    pub(super) fn open(
        self: Arc<Self>,
        session: &Arc<Session>,
        handle: &Handle,
    ) -> Result<Open, Diagnostic> {
        let reader = session.reader(&self.requests, Qos::reliable(CALLS))?;
        let writer = Arc::new(session.writer(&self.replies, Qos::reliable(CALLS))?);
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

/// Removes a session's way of answers when that session ends.
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
            refused.tell(|n| tracing::warn!("{n} request(s) refused: {}", other_wire(&self.name)));
            return;
        }
        let served = Arc::downgrade(self);
        (self.ask)(Call::unpack(arrived).map(|(call, request)| {
            let reply = move |response| {
                let served = served
                    .upgrade()
                    .ok_or("the service is not offered any more")?;
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

    /// Answers a call in whichever session the caller is known, until it is acknowledged.
    ///
    /// A process that stood still hears late, and in any order, that one client of a participant
    /// has gone and another is there, or that all participants were lost, whatever they have sent
    /// meanwhile, and come back. The answer may then have gone to readers that are gone, or to
    /// none, so it is repeated over each connection made after that.
    ///
    /// An answer without acknowledgement may still arrive: Cyclone does not tell whose
    /// acknowledgement is missing, and it may be that of another reader that stands still. So it is
    /// sent in another session only once the first no longer delivers.
    async fn answer(&self, call: Call, response: &Bytes) {
        let packed = call.pack(response);
        let (start, mut changes, mut faults) = (
            Instant::now(),
            self.changes.subscribe(),
            Recurring::default(),
        );
        // The sessions in which it may be under way.
        let mut sent: Vec<Sent> = Vec::new();
        // The sessions that did not take it this time.
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
                None => answers.knows(call, is_late) || (is_over && sent.is_empty()),
            };
            // The other sessions are released: they may end meanwhile.
            let next = all.into_iter().find(is_wanted);
            if let Some(answers) = next {
                if !sent.is_empty() {
                    let _turn = self.repeating.lock().await;
                    tokio::time::sleep(REPEAT_PAUSE).await;
                }
                let readers = answers.readers(call);
                let is_heard = match answers.send(call, &packed).await {
                    Ok(is_heard) => is_heard,
                    Err(error) => {
                        faults.tell(|_| tracing::warn!("{}: {error}", self.name));
                        refused.push(answers.session.number);
                        continue;
                    }
                };
                // Cyclone may be giving the readers up, which counts as acknowledged, and is
                // reported later, as the standstill is.
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
                    "{}: whether the caller has its answer is not known",
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
    /// Whether the process stood still before, so that these may not be all, or none.
    was_away: bool,
}

impl Sent {
    /// Whether this reader has missed the answer.
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
            let (requests, replies) = wire::service(called);
            // Creating endpoints waits for the library's locks.
            let opening = self.handle.spawn_blocking(move || {
                let writer = session.writer(&requests, Qos::reliable(1))?;
                let reader = session.reader(&replies, Qos::reliable(CALLS))?;
                Ok((session, writer, reader))
            });
            let (session, writer, reader) = opening.await.map_err(|_| ended())??;
            // A new session discovers everyone anew.
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
        writer.writer.settle().await;
        let call = Call {
            caller: reader.gid(),
            client: client(writer.writer.gid()),
            sequence: SEQUENCE,
        };
        let sent = writer.writer.write(call.pack(&request)).await;
        sent.map_err(|fault| transport(&format!("{service} can't be called"), fault))?;
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
                Ok(_) => {}
                Err(error) => {
                    return Err(transport(
                        &format!("the answer of {service} can't be read"),
                        error,
                    ));
                }
            }
        }
        drop(session);
        Err(ended())
    }
}

/// Returns the identity of a client in the header: unique to it, from both halves of its GUID.
fn client(gid: Gid) -> u64 {
    let bytes = u128::from_le_bytes(gid.0);
    (bytes >> 64) as u64 ^ bytes as u64
}
