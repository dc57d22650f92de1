//! Services: requests, answers, and calls to others, in the wire format of either family of DDS clients.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::dds::{Arrived, DdsTopic, Fault, Gid, Related};
use super::ends::{End, InSession, SeenMessages};
use super::graph::Connection;
use super::session::{CATCH_UP, Session, SessionWriter};
use super::supervisor::TICK;
use super::{Embedded, rtps, transport, wire};
use crate::faults::{Recurring, ended, no_answer};
use crate::threads::Task;
use crate::transport::{CALLS, Call as ServiceCall, Limit, Name, Open, RequestCallback};
use crate::{Qos, cdr};
use urdf_usd_diagnostic::Diagnostic;

/// How long an answer waits for the caller's reader to be discovered.
const CALLER: Duration = CATCH_UP;
/// How long an answer waits for more readers of the caller's participant, where it has clients whose readers are not known yet.
const ALL_READERS: Duration = Duration::from_secs(1);
/// Answers with more bytes are not sent twice.
const LONG: usize = 1 << 16;
/// How long an answer waits to be acknowledged.
const ACKNOWLEDGED: Duration = Duration::from_secs(2);
/// How long an answer that can't be written is tried again.
const UNWRITTEN: Duration = Duration::from_secs(60);
/// How far apart answers are that are sent once more in another session. A client keeps the last few that it has not read, be they for it
/// or for others.
const APART: Duration = Duration::from_millis(5);
/// How often to look after what nothing tells.
const LOOK: Duration = Duration::from_millis(100);
/// How long a long request or answer waits to be acknowledged before it is sent again; then twice as long, and so on.
const LONG_AGAIN: Duration = Duration::from_millis(20);
/// How often it is sent at most: for five seconds.
const MOST_TIMES: u32 = 8;
/// How many datagrams are sent without a pause, that a reader's buffer holds them.
const DATAGRAMS_AT_ONCE: usize = 32;
/// The pause.
const BREATH: Duration = Duration::from_millis(1);

/// Which call of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// An end of the caller's, for its participant.
    caller: Gid,
    /// What Cyclone calls the caller by.
    client: u64,
    sequence: i64,
}

/// How the halves of a service travel: one of the two families of DDS clients.
pub(super) trait Format: Send + Sync + 'static {
    /// The number that a caller's first request carries.
    const FIRST: i64;

    /// Whether `answer` is of `call`, that was sent as the `sent`th message.
    fn is_of(call: Call, sent: i64, answer: Call) -> bool;

    /// A request or answer of the call.
    fn pack(call: Call, body: &Bytes) -> (Bytes, Option<Related>);

    /// What a request or answer says, and of which call.
    fn unpack(arrived: &Arrived) -> Result<(Call, Bytes), String>;

    /// Sends a request, and gives the number that it has among the messages of `writer`.
    fn ask(
        session: &Arc<Session>,
        writer: &SessionWriter,
        request: (Bytes, Option<Related>),
    ) -> impl Future<Output = Result<i64, Fault>> + Send;

    /// Sends the answer of `call`.
    fn answer(
        end: &Answers,
        call: Call,
        answer: (Bytes, Option<Related>),
    ) -> impl Future<Output = Result<(), Diagnostic>> + Send;
}

/// As `rmw_cyclonedds_cpp` does it: the caller's identity and number in front of the body, which begins anew where CDR begins: they
/// are 16 bytes, and nothing in CDR is aligned to more than 8.
pub(super) struct Cyclone;

/// How many bytes stand in front of the identity in CDR, and how many there are with it and the number.
const FRONT: usize = 4;
const FRAMED: usize = FRONT + 16;

impl Format for Cyclone {
    const FIRST: i64 = 1;

    fn is_of(call: Call, _: i64, answer: Call) -> bool {
        (answer.client, answer.sequence) == (call.client, call.sequence)
    }

    fn pack(Call { client, sequence, .. }: Call, body: &Bytes) -> (Bytes, Option<Related>) {
        // What this node writes is little-endian.
        let (front, body) = body.split_at(FRONT.min(body.len()));
        ([front, &client.to_le_bytes(), &sequence.to_le_bytes(), body].concat().into(), None)
    }

    fn unpack(arrived: &Arrived) -> Result<(Call, Bytes), String> {
        let (client, sequence) = cdr::decode(&arrived.payload)?;
        let parts = arrived.payload.get(..FRONT).zip(arrived.payload.get(FRAMED..));
        let (front, body) = parts.ok_or("it is too short")?;
        Ok((Call { caller: arrived.writer, client, sequence }, [front, body].concat().into()))
    }

    async fn ask(_: &Arc<Session>, writer: &SessionWriter, (request, _): (Bytes, Option<Related>)) -> Result<i64, Fault> {
        writer.write(request, None, None).await
    }

    async fn answer(end: &Answers, _: Call, (answer, _): (Bytes, Option<Related>)) -> Result<(), Diagnostic> {
        end.writer.write(answer, None, None).await.map_err(unsent)?;
        Ok(())
    }
}

/// As `rmw_fastrtps_cpp` does it: the identity beside the body. A request names the reader that waits for the answer.
pub(super) struct FastDds;

/// What a request says of its own number: that it is not known before it is sent.
const UNKNOWN: i64 = -(1 << 32);

impl Format for FastDds {
    const FIRST: i64 = UNKNOWN;

    fn is_of(call: Call, sent: i64, answer: Call) -> bool {
        (answer.caller, answer.sequence) == (call.caller, sent)
    }

    fn pack(Call { caller, sequence, .. }: Call, body: &Bytes) -> (Bytes, Option<Related>) {
        (body.clone(), Some(Related { writer: caller, number: sequence }))
    }

    fn unpack(arrived: &Arrived) -> Result<(Call, Bytes), String> {
        let own = Related { writer: arrived.writer, number: arrived.number };
        let mut id = arrived.related.unwrap_or(own);
        if id.number == UNKNOWN {
            id.number = own.number;
        }
        Ok((Call { caller: id.writer, client: 0, sequence: id.number }, arrived.payload.clone()))
    }

    async fn ask(
        session: &Arc<Session>,
        writer: &SessionWriter,
        (request, related): (Bytes, Option<Related>),
    ) -> Result<i64, Fault> {
        let number = writer.write(request.clone(), related, None).await?;
        if let Some(related) = related {
            let by = writer.writer.gid();
            for reader in session.graph.all_matches(by) {
                send_long(session, writer, &rtps::Sample { writer: by, reader, number, related, payload: &request }).await?;
            }
        }
        Ok(number)
    }

    async fn answer(end: &Answers, call: Call, (answer, related): (Bytes, Option<Related>)) -> Result<(), Diagnostic> {
        let writer = end.writer.writer.gid();
        // To that reader alone, where it is known: the others would keep it, each among its last ten.
        let reader = Some(call.caller).filter(|reader| end.session.graph.has_matched(writer, *reader));
        let number = end.writer.write(answer.clone(), related, reader).await.map_err(unsent)?;
        let Some(reader) = reader else { return Ok(()) };
        let related = related.unwrap_or(Related { writer, number });
        let sample = rtps::Sample { writer, reader, number, related, payload: &answer };
        send_long(&end.session, &end.writer, &sample).await.map_err(unsent)
    }
}

/// Sends once more what RustDDS cut into fragments that Fast DDS can't read, until it is acknowledged or a few seconds are over; nothing, if it
/// fits into one.
async fn send_long(session: &Arc<Session>, writer: &SessionWriter, sample: &rtps::Sample<'_>) -> Result<(), Fault> {
    if sample.payload.len() <= rtps::LONGEST_WHOLE {
        return Ok(());
    }
    let (session, reader) = (session.clone(), sample.reader);
    let addresses = tokio::task::spawn_blocking(move || session.dds.addresses(reader)).await.map_err(std::io::Error::from)?;
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    for attempt in 0..MOST_TIMES {
        for (n, datagram) in sample.datagrams().enumerate() {
            for address in &addresses {
                // Of several addresses one is the right one; what is lost is sent again.
                let _ = socket.send_to(&datagram, address);
            }
            if n % DATAGRAMS_AT_ONCE == DATAGRAMS_AT_ONCE - 1 {
                tokio::time::sleep(BREATH).await;
            }
        }
        tokio::time::sleep(LONG_AGAIN * (1 << attempt)).await;
        if writer.writer.is_acknowledged() {
            break;
        }
    }
    Ok(())
}

fn unsent(why: impl std::fmt::Debug) -> Diagnostic {
    transport("an answer could not be sent", why)
}

/// A service that is offered.
struct ServerEnd<F> {
    asked: DdsTopic,
    answered: DdsTopic,
    name: String,
    ask: RequestCallback<Bytes, Bytes>,
    seen: Mutex<SeenMessages>,
    /// Where answers go, in each session, the newest first.
    answers: Mutex<Vec<Answers>>,
    /// Held by the next answer that is sent once more.
    again: tokio::sync::Mutex<()>,
    changes: watch::Sender<()>,
    format: std::marker::PhantomData<F>,
}

/// The way of the answers in one session.
#[derive(Clone)]
pub(super) struct Answers {
    session: Arc<Session>,
    reader: Gid,
    writer: Arc<SessionWriter>,
}

impl Answers {
    /// The connections with readers of answers that the caller's participant has here.
    fn readers(&self, call: Call) -> Vec<Connection> {
        self.session.graph.connections(self.writer.writer.gid(), call.caller.prefix())
    }

    /// Whether this reader is here.
    fn has(&self, reader: Gid) -> bool {
        self.session.graph.has_matched(self.writer.writer.gid(), reader)
    }

    /// Whether an answer that was sent here will arrive: the session delivers, and a reader of the caller is still connected.
    fn delivers(&self, call: Call) -> bool {
        self.session.delivers() && (self.has(call.caller) || !self.readers(call).is_empty())
    }

    /// Whether the caller's reader is known here. Of Cyclone it is not told which one that is: of all that its participant has, there
    /// have to be as many as there are writers of requests, unless that takes too long.
    fn knows(&self, call: Call, is_late: bool) -> bool {
        if self.has(call.caller) {
            return true;
        }
        let readers = self.readers(call).len();
        readers > 0 && (is_late || readers >= self.session.graph.matches(self.reader, call.caller.prefix()).len())
    }
}

impl<F: Format> End for ServerEnd<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(self: Arc<Self>, session: &Arc<Session>, handle: &Handle) -> Result<InSession, Diagnostic> {
        let reader = session.reader(&self.asked, Qos::reliable(CALLS))?;
        let writer = Arc::new(session.writer(&self.answered, Qos::reliable(CALLS))?);
        self.answers().insert(0, Answers { session: session.clone(), reader: reader.gid(), writer });
        let number = session.number;
        let closing = Closing { served: Arc::downgrade(&self), number };
        let task = handle.spawn(async move {
            let hear = |arrived: Arrived| {
                let is_new =
                    self.seen.lock().unwrap_or_else(PoisonError::into_inner).is_new(number, arrived.writer, arrived.number);
                if is_new {
                    self.hear(&arrived);
                }
            };
            reader.hear(&self.name, hear).await;
        });
        Ok(Box::new((Task(task.abort_handle()), closing)))
    }
}

/// Takes a session's way of answers out when that session ends.
struct Closing<F> {
    served: Weak<ServerEnd<F>>,
    number: u64,
}

impl<F> Drop for Closing<F> {
    fn drop(&mut self) {
        if let Some(served) = self.served.upgrade() {
            served.answers().retain(|answers| answers.session.number != self.number);
        }
    }
}

impl<F> ServerEnd<F> {
    fn answers(&self) -> MutexGuard<'_, Vec<Answers>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Format> ServerEnd<F> {
    fn hear(self: &Arc<Self>, arrived: &Arrived) {
        let (served, asked) = (Arc::downgrade(self), F::unpack(arrived));
        (self.ask)(asked.map(|(call, request)| {
            let reply = move |response| {
                let served = served.upgrade().ok_or("the service is not offered any more")?;
                Ok(async move {
                    served.answer(call, &response).await;
                    Ok(())
                }
                .boxed())
            };
            ServiceCall { request, reply: Box::new(reply) }
        }));
    }

    /// Answers a call, in whichever session the caller is known, until it is acknowledged.
    ///
    /// Where the process stood still, it hears late and in any order that a client of a participant is gone and another one is there, or,
    /// on Cyclone DDS, that all participants were given up, whatever they have sent meanwhile, and come back. Then the answer may have
    /// gone to readers of clients that are gone, or to none, so it is sent again in each connection that is made after that.
    ///
    /// That it is not acknowledged does not mean that it does not arrive: RustDDS does not tell whose acknowledgement is missing, and it may
    /// be that of somebody else who stands still. So it is sent in another session only if the one that it was sent in no longer delivers.
    async fn answer(&self, call: Call, response: &Bytes) {
        let packed = F::pack(call, response);
        let (start, mut changes, mut faults) = (Instant::now(), self.changes.subscribe(), Recurring::default());
        // In which sessions it was sent, where it may be on its way, and comes or does not.
        let mut sent: Vec<Sent> = Vec::new();
        // The sessions that did not take it this time.
        let mut refused: Vec<u64> = Vec::new();
        loop {
            let (is_late, is_over) = (start.elapsed() > ALL_READERS, start.elapsed() > CALLER);
            let all = self.answers().clone();
            let is_sent = |answers: &Answers| sent.iter().any(|sent| sent.session == answers.session.number);
            let is_under_way = all.iter().any(|answers| is_sent(answers) && answers.delivers(call));
            let is_wanted = |answers: &Answers| match sent.iter().find(|sent| sent.session == answers.session.number) {
                _ if refused.contains(&answers.session.number) => false,
                None if is_under_way => false,
                Some(sent) => answers.readers(call).iter().any(|reader| sent.is_not_for(reader)),
                None => answers.knows(call, is_late) || (is_over && sent.is_empty()),
            };
            // The other sessions are let go: they may end meanwhile.
            let next = all.into_iter().find(is_wanted);
            if let Some(answers) = next {
                if !sent.is_empty() {
                    let _turn = self.again.lock().await;
                    tokio::time::sleep(APART).await;
                }
                let (readers, is_of_caller) = (answers.readers(call), answers.has(call.caller));
                let is_heard = match send::<F>(&answers, call, &packed).await {
                    Ok(is_heard) => is_heard,
                    Err(e) => {
                        faults.tell(|_| tracing::warn!("{}: {e}", self.name));
                        refused.push(answers.session.number);
                        continue;
                    }
                };
                let is_there = |reader| answers.readers(call).contains(reader);
                if is_heard && (is_of_caller || (!answers.session.dds.is_lasting() && readers.iter().any(is_there))) {
                    return;
                }
                // Its readers are gone: they have what they wanted, or they were gone before. Or the library may be giving them up, which
                // counts as acknowledged and is heard of later, as that the process stood still.
                tokio::time::sleep(2 * TICK).await;
                let was_away = !is_of_caller && answers.session.has_just_stood_still();
                if is_heard && !was_away {
                    return;
                }
                sent.retain(|sent| sent.session != answers.session.number);
                sent.push(Sent { session: answers.session.number, readers, was_away });
            } else if is_over && (refused.is_empty() || start.elapsed() > UNWRITTEN) {
                return tracing::debug!("{}: whether the caller has its answer is not known", self.name);
            } else {
                // Fails only where all waits end.
                let _ = tokio::time::timeout(LOOK, changes.changed()).await;
                refused.clear();
            }
        }
    }
}

/// Where an answer was sent.
struct Sent {
    session: u64,
    /// The connections with the caller's readers by then.
    readers: Vec<Connection>,
    /// Whether the process stood still before, so that these may not be all, or none.
    was_away: bool,
}

impl Sent {
    /// Whether it has to be sent once more to arrive at this reader.
    fn is_not_for(&self, reader: &Connection) -> bool {
        let is_renewed = || self.readers.iter().any(|before| before.other == reader.other);
        !self.readers.contains(reader) && (self.was_away || is_renewed())
    }
}

/// Sends an answer in one session; whether it was acknowledged.
///
/// A reader under Cyclone takes all that was written before the first heartbeat it sees for history that is none of its business. So a
/// caller that is not known to have seen one is answered twice, the second time after it has acknowledged something; it ignores an
/// answer that it has. A long answer waits for that.
async fn send<F: Format>(answers: &Answers, call: Call, packed: &(Bytes, Option<Related>)) -> Result<bool, Diagnostic> {
    let (graph, writer) = (&answers.session.graph, &answers.writer.writer);
    let acknowledged = || async { tokio::time::timeout(ACKNOWLEDGED, writer.acknowledged()).await.is_ok() };
    let readers = graph.matches(writer.gid(), call.caller.prefix());
    if !graph.have_settled(writer.gid(), &readers) {
        let has_settled = if packed.0.len() > LONG {
            tokio::time::timeout(ACKNOWLEDGED, writer.settle()).await.is_ok()
        } else {
            F::answer(answers, call, packed.clone()).await?;
            acknowledged().await
        };
        // Where another reader holds it up, it is not known.
        if has_settled {
            graph.note_settled(writer.gid(), &readers);
        }
    }
    F::answer(answers, call, packed.clone()).await?;
    Ok(acknowledged().await)
}

impl Embedded {
    pub(super) fn serve_as<F: Format>(&self, service: &Name, ask: RequestCallback<Bytes, Bytes>) -> Open {
        let (asked, answered) = wire::service(&service.full, &service.type_name);
        let served = Arc::new(ServerEnd::<F> {
            asked,
            answered,
            name: service.full.clone(),
            ask,
            seen: Mutex::default(),
            answers: Mutex::default(),
            again: tokio::sync::Mutex::default(),
            changes: self.changes.clone(),
            format: std::marker::PhantomData,
        });
        Box::new((self.supervisor.open(&served), served))
    }

    /// See [`Transport::call`](crate::transport::Transport::call).
    pub(super) async fn call_as<F: Format>(&self, called: &Name, request: Bytes, limit: Limit) -> Result<Bytes, Diagnostic> {
        let (service, deadline) = (&called.full, limit.server);
        let mut changes = self.changes.subscribe();
        let (session, writer, reader) = 'found: loop {
            let session = self.supervisor.sessions.current()?;
            let (asks, answers) = wire::service(service, &called.type_name);
            // It may have to wait for the network's thread.
            let opening = self.handle.spawn_blocking(move || {
                let writer = session.writer(&asks, Qos::reliable(1))?;
                let reader = session.reader(&answers, Qos::reliable(CALLS))?;
                Ok((session, writer, reader))
            });
            let (session, writer, reader) = opening.await.map_err(|_| ended())??;
            // In another session everything is met anew.
            while self.supervisor.sessions.current()?.number == session.number {
                if session.graph.has_server(writer.writer.gid(), reader.gid()) {
                    break 'found (session, writer, reader);
                }
                if Instant::now() > deadline {
                    return Err(no_answer(service, limit.answer, "nobody offers it"));
                }
                // Fails only where all waits end.
                let _ = tokio::time::timeout(LOOK, changes.changed()).await;
            }
        };
        writer.writer.settle().await;
        let call = Call { caller: reader.gid(), client: client(writer.writer.gid()), sequence: F::FIRST };
        let sent = F::ask(&session, &writer, F::pack(call, &request)).await;
        let sent = sent.map_err(|e| transport(&format!("{service} can't be called"), e))?;
        let mut answers = std::pin::pin!(reader.stream());
        while let Some(answer) = answers.next().await {
            match answer.map_err(|e| format!("{e:?}")).and_then(|arrived| F::unpack(&arrived)) {
                Ok((answered, response)) if F::is_of(call, sent, answered) => return Ok(response),
                Ok(_) => {}
                Err(e) => return Err(transport(&format!("the answer of {service} can't be read"), e)),
            }
        }
        drop(session);
        Err(ended())
    }
}

/// What Cyclone may call a caller by: told from all others by both halves of its identity.
fn client(gid: Gid) -> u64 {
    let bytes = u128::from_le_bytes(gid.0);
    (bytes >> 64) as u64 ^ bytes as u64
}
