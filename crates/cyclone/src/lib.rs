//! Eclipse Cyclone DDS, in C, behind a safe surface: a participant, its readers and writers of undecoded messages, and what discovery
//! tells it.
//!
//! All of this program's unsafe code on the way to that library is here. It rests on three rules. Everything of Cyclone is named by
//! handles, which Cyclone looks up and refuses once they are deleted, so that no handle can be wrong in an unsafe way. What Cyclone
//! hands out by pointer is copied before the function that got it returns. And Cyclone never calls what its user wrote: a thread of
//! each participant waits for what happens ([`Participant::join`]), so that nothing here has to outlive a call from C; the one
//! callback, for its log, has no state.
//!
//! Each participant has a Cyclone domain of its own, with its own sockets and threads, so that several of one process can differ in
//! their configuration, and a new one sees the network as it is then.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use cyclors as c;

/// Where the numbers of Cyclone domains begin that stand for another one.
const ALIASES: u32 = 1000;
/// How often the thread looks around even if nothing happens.
const LOOK: Duration = Duration::from_secs(1);
/// How many things that happened are taken up at once.
const AT_ONCE: usize = 64;
/// How many writers a reader remembers.
const MOST_WRITERS: usize = 1024;
/// How many ends that have left are remembered.
const MOST_LEFT: usize = 4096;
/// Number of the guard that ends the thread, in its wait set; then the three readers of discovery, then all others.
const STOP: isize = 0;
const FIRST_FREE: isize = 4;

const DATA_AVAILABLE: u32 = 1 << c::dds_status_id_DDS_DATA_AVAILABLE_STATUS_ID;
const SUBSCRIPTION_MATCHED: u32 = 1 << c::dds_status_id_DDS_SUBSCRIPTION_MATCHED_STATUS_ID;
const PUBLICATION_MATCHED: u32 = 1 << c::dds_status_id_DDS_PUBLICATION_MATCHED_STATUS_ID;
const REQUEST_INCOMPATIBLE: u32 = 1 << c::dds_status_id_DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS_ID;
const OFFER_INCOMPATIBLE: u32 = 1 << c::dds_status_id_DDS_OFFERED_INCOMPATIBLE_QOS_STATUS_ID;
const ANY_STATE: u32 = c::DDS_ANY_STATE;
/// RTPS 2.5, section 9.6.4.9: the writer has nothing more to say of this instance.
const UNREGISTERED: u32 = 2;

/// What is known of a sample that is not taken yet.
const NO_INFO: c::dds_sample_info_t = c::dds_sample_info_t {
    sample_state: 0,
    view_state: 0,
    instance_state: 0,
    valid_data: false,
    source_timestamp: 0,
    instance_handle: 0,
    publication_handle: 0,
    disposed_generation_count: 0,
    no_writers_generation_count: 0,
    sample_rank: 0,
    generation_rank: 0,
    absolute_generation_rank: 0,
};

/// The identity of a participant, reader or writer, as RTPS writes it.
pub type Guid = [u8; 16];

/// What Cyclone refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    what: &'static str,
    why: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl std::error::Error for Error {}

/// What a call returned, if it is no error.
fn checked(what: &'static str, returned: i32) -> Result<i32, Error> {
    if returned >= 0 {
        return Ok(returned);
    }
    // SAFETY: it takes any number, and returns a text that is part of the library.
    let why = unsafe { CStr::from_ptr(c::dds_strretcode(returned)) };
    Err(Error { what, why: why.to_string_lossy().into_owned() })
}

/// A reader or writer that discovery tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub guid: Guid,
    /// Its participant.
    pub participant: Guid,
    pub is_writer: bool,
    pub topic: String,
    /// The name of its type.
    pub kind: String,
    pub is_reliable: bool,
    /// Whether it keeps, or asks for, what was said before.
    pub is_durable: bool,
}

/// What discovery tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An end of another participant or of this one was found; [`Participant::endpoints`] tells more.
    Found { guid: Guid, is_writer: bool },
    /// An end left.
    Lost(Guid),
    /// A participant left, or was silent for longer than it said it would be.
    ParticipantLost(Guid),
    /// An own end is connected with another one.
    Matched { own: Guid, other: Guid },
    /// It is not any more.
    Unmatched { own: Guid, other: Guid },
    /// An own end can't be connected with some other one of its topic.
    Incompatible { own: Guid },
}

/// What a reader asks for or a writer offers.
#[derive(Clone, Debug)]
pub struct Qos {
    /// How long a write may wait for slow readers, if what is lost is sent again; `None` if it is not.
    pub reliable: Option<Duration>,
    /// Whether the last `depth` messages are kept for those who come late.
    pub is_durable: bool,
    /// How many messages are kept.
    pub depth: usize,
    /// How long a message is worth hearing.
    pub lifespan: Option<Duration>,
    /// Whether a reader does not hear writers of its own participant.
    pub ignores_own: bool,
    /// What others are told of this end.
    pub user_data: String,
}

/// A message that arrived.
#[derive(Clone, Debug)]
pub struct Sample {
    /// In CDR, with its header of four bytes.
    pub payload: Bytes,
    pub writer: Guid,
    /// When it was written, by its writer's clock, in nanoseconds since 1970.
    pub written: i64,
}

/// Something of Cyclone's, with all that is in it.
#[derive(Debug)]
struct Entity(c::dds_entity_t);

impl Drop for Entity {
    fn drop(&mut self) {
        // SAFETY: of a handle that is deleted already, with what it was in, nothing is done.
        unsafe { c::dds_delete(self.0) };
    }
}

impl Entity {
    /// What a function that creates something returned.
    fn created(what: &'static str, returned: c::dds_entity_t) -> Result<Self, Error> {
        checked(what, returned).map(Self)
    }

    fn guid(&self) -> Result<Guid, Error> {
        let mut guid = c::dds_guid_t { v: [0; 16] };
        // SAFETY: the pointer is to where one identity can be written.
        checked("identity", unsafe { c::dds_get_guid(self.0, &mut guid) })?;
        Ok(guid.v)
    }
}

/// Quality of service in Cyclone's memory.
struct Policies(*mut c::dds_qos_t);

impl Drop for Policies {
    fn drop(&mut self) {
        // SAFETY: made by `dds_create_qos`, deleted once; Cyclone has copied what it was given.
        unsafe { c::dds_delete_qos(self.0) };
    }
}

impl Policies {
    fn new(user_data: &str) -> Self {
        // SAFETY: it never fails (Cyclone ends the process where memory does); the text is copied.
        unsafe {
            let policies = Self(c::dds_create_qos());
            c::dds_qset_userdata(policies.0, user_data.as_ptr().cast(), user_data.len());
            policies
        }
    }

    fn of(qos: &Qos) -> Self {
        let policies = Self::new(&qos.user_data);
        let to = policies.0;
        let depth = i32::try_from(qos.depth.max(1)).unwrap_or(i32::MAX);
        let (history, unlimited) = (c::dds_history_kind_DDS_HISTORY_KEEP_LAST, -1);
        // SAFETY: `to` is a quality of service, to which these write, of values that each of them takes.
        unsafe {
            c::dds_qset_writer_data_lifecycle(to, false);
            c::dds_qset_history(to, history, depth);
            match qos.reliable {
                Some(wait) => c::dds_qset_reliability(to, c::dds_reliability_kind_DDS_RELIABILITY_RELIABLE, nanoseconds(wait)),
                None => c::dds_qset_reliability(to, c::dds_reliability_kind_DDS_RELIABILITY_BEST_EFFORT, 0),
            }
            if qos.is_durable {
                c::dds_qset_durability(to, c::dds_durability_kind_DDS_DURABILITY_TRANSIENT_LOCAL);
                c::dds_qset_durability_service(to, 0, history, depth, unlimited, unlimited, unlimited);
            } else {
                c::dds_qset_durability(to, c::dds_durability_kind_DDS_DURABILITY_VOLATILE);
            }
            if let Some(lifespan) = qos.lifespan {
                c::dds_qset_lifespan(to, nanoseconds(lifespan));
            }
            if qos.ignores_own {
                c::dds_qset_ignorelocal(to, c::dds_ignorelocal_kind_DDS_IGNORELOCAL_PARTICIPANT);
            }
        }
        policies
    }
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a Cyclone domain in this process, free again when dropped.
struct DomainNumber(u32);

static NUMBERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

impl DomainNumber {
    /// That of the domain itself where it is free, since a configuration may speak of it.
    fn take(domain: u32) -> Self {
        let mut taken = locked(&NUMBERS);
        let number = std::iter::once(domain).chain(ALIASES..).find(|number| !taken.contains(number)).unwrap_or(domain);
        taken.insert(number);
        Self(number)
    }
}

impl Drop for DomainNumber {
    fn drop(&mut self) {
        locked(&NUMBERS).remove(&self.0);
    }
}

/// A participant: alone in a Cyclone domain of its own. It lasts until it and all its readers and writers are dropped.
#[derive(Clone)]
pub struct Participant(Arc<Inner>);

// In the order in which they are dropped.
struct Inner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    guid: Guid,
    participant: Entity,
    _domain: Entity,
    _number: DomainNumber,
}

/// What the thread has in common with the others.
struct Shared {
    own: Guid,
    waitset: Entity,
    stop: Entity,
    /// Readers of what discovery tells: of participants, readers, writers.
    discovery: [Entity; 3],
    has_ended: AtomicBool,
    next: AtomicIsize,
    watched: Mutex<HashMap<isize, Watched>>,
    found: Mutex<Found>,
}

/// The ends that discovery told of, by Cyclone's numbers of them.
#[derive(Default)]
struct Found {
    /// All that are there.
    there: HashMap<u64, Endpoint>,
    /// The last ones that left: what they wrote may still wait to be taken.
    left: VecDeque<(u64, Guid)>,
}

impl Found {
    /// Notes an end that is there; whether it was, too, and so has left and come back meanwhile.
    fn add(&mut self, handle: u64, end: Endpoint) -> bool {
        self.there.insert(handle, end).is_some()
    }

    /// Notes that an end has left; whether it was there.
    fn remove(&mut self, handle: u64, guid: Guid) -> bool {
        if self.left.len() >= MOST_LEFT {
            self.left.pop_front();
        }
        self.left.push_back((handle, guid));
        self.there.remove(&handle).is_some()
    }

    fn guid(&self, handle: u64) -> Option<Guid> {
        let left = || self.left.iter().rev().find(|(other, _)| *other == handle).map(|(_, guid)| *guid);
        self.there.get(&handle).map(|end| end.guid).or_else(left)
    }
}

/// An own end as the thread knows it.
struct Watched {
    entity: c::dds_entity_t,
    guid: Guid,
    is_writer: bool,
    /// What a reader does when something has arrived.
    notify: Box<dyn Fn() + Send>,
    /// Whom it is connected with.
    known: HashSet<u64>,
    /// How often it was connected with anybody.
    connected: u32,
    /// Whether that may have changed.
    is_due: bool,
}

impl Participant {
    /// Opens the network. `config` is in Cyclone's XML, or what else its variable `CYCLONEDDS_URI` takes, several separated by commas.
    /// `hear` is told what discovery tells, on a thread of the participant that it must not keep.
    ///
    /// # Errors
    /// What Cyclone says.
    pub fn join(domain: u32, config: &str, user_data: &str, hear: impl Fn(Event) + Send + 'static) -> Result<Self, Error> {
        log_to_tracing();
        let number = DomainNumber::take(domain);
        let alias = format!(
            "<CycloneDDS><Domain><Discovery><ExternalDomainId>{domain}</ExternalDomainId></Discovery></Domain></CycloneDDS>,"
        );
        let alias = if number.0 == domain { "" } else { &alias };
        let config = text("configuration", &format!("{alias}{config}"))?;
        // SAFETY: the text ends with a zero byte, and is only read.
        let entity = unsafe { c::dds_create_domain(number.0, config.as_ptr()) };
        let domain = Entity::created("domain", entity)?;
        let policies = Policies::new(user_data);
        // SAFETY: the quality of service is there until after the call; no listener is given.
        let entity = unsafe { c::dds_create_participant(number.0, policies.0, null()) };
        let participant = Entity::created("participant", entity)?;
        let guid = participant.guid()?;
        // SAFETY: the participant is there; what is created belongs to it.
        let waitset = Entity::created("wait set", unsafe { c::dds_create_waitset(participant.0) })?;
        // SAFETY: as above.
        let stop = Entity::created("guard", unsafe { c::dds_create_guardcondition(participant.0) })?;
        let builtin = |topic| {
            // SAFETY: the topics are constants of Cyclone; neither quality of service nor listener is given.
            Entity::created("discovery", unsafe { c::dds_create_reader(participant.0, topic, null(), null()) })
        };
        let discovery = [
            builtin(c::DDS_BUILTIN_TOPIC_DCPSPARTICIPANT)?,
            builtin(c::DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION)?,
            builtin(c::DDS_BUILTIN_TOPIC_DCPSPUBLICATION)?,
        ];
        let shared = Shared {
            own: guid,
            waitset,
            stop,
            discovery,
            has_ended: AtomicBool::new(false),
            next: AtomicIsize::new(FIRST_FREE),
            watched: Mutex::default(),
            found: Mutex::default(),
        };
        for (reader, n) in shared.discovery.iter().zip(STOP + 1..) {
            shared.attach(reader, n, DATA_AVAILABLE)?;
        }
        // SAFETY: both are there; the number is no pointer.
        checked("wait set", unsafe { c::dds_waitset_attach(shared.waitset.0, shared.stop.0, STOP) })?;
        let shared = Arc::new(shared);
        let watching = shared.clone();
        let thread = thread::Builder::new().name("cyclone".to_owned()).spawn(move || watching.watch(&hear));
        let thread = thread.map_err(|error| Error { what: "thread", why: error.to_string() })?;
        Ok(Self(Arc::new(Inner { shared, thread: Some(thread), guid, participant, _domain: domain, _number: number })))
    }

    /// Its identity.
    pub fn guid(&self) -> Guid {
        self.0.guid
    }

    /// Whether its thread is still there.
    pub fn is_alive(&self) -> bool {
        self.0.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// The ends of others that are there.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        locked(&self.0.shared.found).there.values().filter(|end| end.participant != self.0.guid).cloned().collect()
    }

    /// Its own ends.
    pub fn own_endpoints(&self) -> Vec<Endpoint> {
        locked(&self.0.shared.found).there.values().filter(|end| end.participant == self.0.guid).cloned().collect()
    }

    /// Listens to a topic. `notify` is called on the participant's thread, which it must not keep, when there is something to
    /// [`Reader::take`]; it may be called for nothing.
    ///
    /// # Errors
    /// What Cyclone says.
    pub fn reader(&self, topic: &str, kind: &str, qos: &Qos, notify: impl Fn() + Send + 'static) -> Result<Reader, Error> {
        let (topic, policies) = (self.topic(topic, kind)?, Policies::of(qos));
        // SAFETY: all of them are there; no listener is given. The reader keeps its topic by itself.
        let entity = unsafe { c::dds_create_reader(self.0.participant.0, topic.0, policies.0, null()) };
        let entity = Entity::created("reader", entity)?;
        let end = self.watch(entity, false, Box::new(notify), DATA_AVAILABLE | SUBSCRIPTION_MATCHED | REQUEST_INCOMPATIBLE)?;
        Ok(Reader { end, writers: Mutex::default() })
    }

    /// Writes to a topic.
    ///
    /// # Errors
    /// What Cyclone says.
    pub fn writer(&self, topic: &str, kind: &str, qos: &Qos) -> Result<Writer, Error> {
        let (topic, policies) = (self.topic(topic, kind)?, Policies::of(qos));
        // SAFETY: as for a reader.
        let entity = unsafe { c::dds_create_writer(self.0.participant.0, topic.0, policies.0, null()) };
        let entity = Entity::created("writer", entity)?;
        Ok(Writer(self.watch(entity, true, Box::new(|| ()), PUBLICATION_MATCHED | OFFER_INCOMPATIBLE)?))
    }

    fn topic(&self, name: &str, kind: &str) -> Result<Entity, Error> {
        let (name, kind) = (text("topic", name)?, text("topic", kind)?);
        // SAFETY: both end with a zero byte; that they may be written to is not made use of, and they are copied.
        let topic = unsafe {
            c::cdds_create_blob_topic(self.0.participant.0, name.as_ptr().cast_mut(), kind.as_ptr().cast_mut(), true)
        };
        Entity::created("topic", topic)
    }

    fn watch(&self, entity: Entity, is_writer: bool, notify: Box<dyn Fn() + Send>, events: u32) -> Result<End, Error> {
        let shared = &self.0.shared;
        let (guid, number) = (entity.guid()?, shared.next.fetch_add(1, Ordering::Relaxed));
        let watched = Watched { entity: entity.0, guid, is_writer, notify, known: HashSet::new(), connected: 0, is_due: true };
        locked(&shared.watched).insert(number, watched);
        let end = End { entity, guid, number, participant: self.clone() };
        shared.attach(&end.entity, number, events)?;
        Ok(end)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::Release);
        // SAFETY: no pointers.
        unsafe { c::dds_set_guardcondition(self.shared.stop.0, true) };
        if let Some(thread) = self.thread.take() {
            // It has nothing to fail at, and no end holds the participant there.
            let _ = thread.join();
        }
    }
}

/// A text for C.
fn text(what: &'static str, text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|error| Error { what, why: error.to_string() })
}

impl Shared {
    /// Lets the thread notice what happens to `entity`.
    fn attach(&self, entity: &Entity, number: isize, events: u32) -> Result<(), Error> {
        // SAFETY: no pointers; the number is what the wait set calls it by.
        checked("status", unsafe { c::dds_set_status_mask(entity.0, events) })?;
        // SAFETY: as above.
        checked("wait set", unsafe { c::dds_waitset_attach(self.waitset.0, entity.0, number) })?;
        Ok(())
    }

    /// Takes up what happens, until the end.
    fn watch(&self, hear: &dyn Fn(Event)) {
        let mut numbers = [0; AT_ONCE];
        while !self.has_ended.load(Ordering::Acquire) {
            // SAFETY: there is room for as many numbers as it is told.
            let happened = unsafe { c::dds_waitset_wait(self.waitset.0, numbers.as_mut_ptr(), AT_ONCE, nanoseconds(LOOK)) };
            let Ok(happened) = usize::try_from(happened) else { return };
            let left = self.take_discovery(hear);
            let mut watched = locked(&self.watched);
            for end in watched.values_mut() {
                // Those that are back already are told of anew.
                end.is_due |= left.iter().filter(|handle| end.known.remove(handle)).count() > 0;
            }
            for number in numbers.iter().take(happened) {
                if let Some(end) = watched.get_mut(number) {
                    end.take_status(hear);
                }
            }
            let found = locked(&self.found);
            watched.values_mut().filter(|end| end.is_due).for_each(|end| end.take_matches(&found, hear));
        }
    }

    /// Tells what discovery tells; who has left.
    fn take_discovery(&self, hear: &dyn Fn(Event)) -> Vec<u64> {
        let mut left = Vec::new();
        for (n, reader) in self.discovery.iter().enumerate() {
            let mut status = 0;
            // SAFETY: the pointer is to where one number can be written. Before the samples are taken, so that none is missed.
            unsafe { c::dds_take_status(reader.0, &mut status, DATA_AVAILABLE) };
            while self.take_builtin(reader, n, &mut left, hear) == AT_ONCE {}
        }
        left
    }

    /// Takes some samples of a reader of discovery: the `n`th; how many they were. Cyclone keeps the last one of each end: one that has
    /// left and come back may only be told of as there.
    fn take_builtin(&self, reader: &Entity, n: usize, left: &mut Vec<u64>, hear: &dyn Fn(Event)) -> usize {
        let mut samples: [*mut c_void; AT_ONCE] = [null_mut(); AT_ONCE];
        let mut infos = [NO_INFO; AT_ONCE];
        // SAFETY: there is room for as many samples as it is told. Null pointers ask for memory of Cyclone's.
        let taken = unsafe { c::dds_take(reader.0, samples.as_mut_ptr(), infos.as_mut_ptr(), AT_ONCE, AT_ONCE as u32) };
        let count = usize::try_from(taken).unwrap_or(0).min(AT_ONCE);
        for (sample, info) in samples.iter().zip(&infos).take(count) {
            let is_there = info.instance_state == c::dds_instance_state_DDS_IST_ALIVE && info.valid_data;
            if n == 0 {
                // SAFETY: what this topic is made of, of which the key is always there.
                let guid = unsafe { (*sample.cast::<c::dds_builtintopic_participant_t>()).key.v };
                if !is_there && guid != self.own {
                    hear(Event::ParticipantLost(guid));
                }
                continue;
            }
            let sample = sample.cast::<c::dds_builtintopic_endpoint_t>();
            if is_there {
                // SAFETY: what these topics are made of, complete since its data is valid, and there until it is given back.
                let end = unsafe { endpoint(&*sample, n == 2) };
                let (guid, is_writer) = (end.guid, end.is_writer);
                if !end.topic.starts_with("DCPS") {
                    if locked(&self.found).add(info.instance_handle, end) {
                        left.push(info.instance_handle);
                        hear(Event::Lost(guid));
                    }
                    hear(Event::Found { guid, is_writer });
                }
            } else {
                // SAFETY: what these topics are made of, of which the key is always there.
                let guid = unsafe { (*sample).key.v };
                if locked(&self.found).remove(info.instance_handle, guid) {
                    left.push(info.instance_handle);
                    hear(Event::Lost(guid));
                }
            }
        }
        if taken > 0 {
            // SAFETY: what was taken above is given back once, and not looked at any more.
            unsafe { c::dds_return_loan(reader.0, samples.as_mut_ptr(), taken) };
        }
        count
    }
}

/// Copies what discovery tells of an end.
///
/// # Safety
/// The pointers in it are to texts that end with a zero byte, and to a quality of service.
unsafe fn endpoint(sample: &c::dds_builtintopic_endpoint_t, is_writer: bool) -> Endpoint {
    let (mut reliability, mut durability) = Default::default();
    // SAFETY: as the caller promises; what is not told is not written.
    let (topic, kind, is_reliable, is_durable) = unsafe {
        let is_reliable = c::dds_qget_reliability(sample.qos, &mut reliability, null_mut());
        let is_durable = c::dds_qget_durability(sample.qos, &mut durability);
        (owned(sample.topic_name), owned(sample.type_name), is_reliable, is_durable)
    };
    Endpoint {
        guid: sample.key.v,
        participant: sample.participant_key.v,
        is_writer,
        topic,
        kind,
        is_reliable: is_reliable && reliability == c::dds_reliability_kind_DDS_RELIABILITY_RELIABLE,
        is_durable: is_durable && durability != c::dds_durability_kind_DDS_DURABILITY_VOLATILE,
    }
}

/// Copies a text.
///
/// # Safety
/// It is null, or ends with a zero byte.
unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl Watched {
    fn take_status(&mut self, hear: &dyn Fn(Event)) {
        let (matched, incompatible) = if self.is_writer {
            (PUBLICATION_MATCHED, OFFER_INCOMPATIBLE)
        } else {
            (SUBSCRIPTION_MATCHED, REQUEST_INCOMPATIBLE)
        };
        let data = if self.is_writer { 0 } else { DATA_AVAILABLE };
        let mut status = 0;
        // SAFETY: the pointer is to where one number can be written.
        unsafe { c::dds_take_status(self.entity, &mut status, data | matched | incompatible) };
        self.is_due |= status & matched != 0;
        if status & incompatible != 0 {
            hear(Event::Incompatible { own: self.guid });
        }
        if status & data != 0 {
            (self.notify)();
        }
    }

    /// Tells whom it is connected with now, as far as discovery has told of them: before that, and of those that have left meanwhile,
    /// nothing can be said.
    fn take_matches(&mut self, found: &Found, hear: &dyn Fn(Event)) {
        // How often first: who comes in between is looked after once more.
        let (connected, there) = (self.times_connected(), self.matches());
        let before = std::mem::replace(&mut self.connected, connected);
        let news = there.iter().filter(|handle| !self.known.contains(handle)).count();
        // If it was connected more often, somebody who is known was disconnected in between, and nobody tells who.
        let is_any_renewed = self.connected.wrapping_sub(before) as usize > news;
        let own = self.guid;
        self.known.retain(|handle| {
            let is_kept = !is_any_renewed && there.contains(handle);
            if !is_kept && let Some(other) = found.guid(*handle) {
                hear(Event::Unmatched { own, other });
            }
            is_kept
        });
        self.is_due = false;
        for handle in there {
            match found.there.get(&handle) {
                Some(end) if self.known.insert(handle) => hear(Event::Matched { own, other: end.guid }),
                Some(_) => {}
                None => self.is_due = true,
            }
        }
    }

    fn times_connected(&self) -> u32 {
        if self.is_writer {
            let mut status = c::dds_publication_matched_status_t {
                total_count: 0,
                total_count_change: 0,
                current_count: 0,
                current_count_change: 0,
                last_subscription_handle: 0,
            };
            // SAFETY: the pointer is to where such a status can be written.
            unsafe { c::dds_get_publication_matched_status(self.entity, &mut status) };
            status.total_count
        } else {
            let mut status = c::dds_subscription_matched_status_t {
                total_count: 0,
                total_count_change: 0,
                current_count: 0,
                current_count_change: 0,
                last_publication_handle: 0,
            };
            // SAFETY: as above.
            unsafe { c::dds_get_subscription_matched_status(self.entity, &mut status) };
            status.total_count
        }
    }

    fn matches(&self) -> Vec<u64> {
        let mut handles = vec![0; AT_ONCE];
        loop {
            let (to, room) = (handles.as_mut_ptr(), handles.len());
            // SAFETY: there is room for as many numbers as they are told.
            let count = unsafe {
                if self.is_writer {
                    c::dds_get_matched_subscriptions(self.entity, to, room)
                } else {
                    c::dds_get_matched_publications(self.entity, to, room)
                }
            };
            let count = usize::try_from(count).unwrap_or(0);
            if count <= room {
                handles.truncate(count);
                return handles;
            }
            handles.resize(count + AT_ONCE, 0);
        }
    }
}

/// A reader or writer. Dropping it deletes it.
struct End {
    // Deleted first, then forgotten by the thread, then the participant may go.
    entity: Entity,
    guid: Guid,
    number: isize,
    participant: Participant,
}

impl Drop for End {
    fn drop(&mut self) {
        // Before it is deleted: the thread must not take another one for it, which may get its handle.
        locked(&self.participant.0.shared.watched).remove(&self.number);
    }
}

/// The listening end of a topic.
pub struct Reader {
    end: End,
    /// The writers that it heard, by Cyclone's numbers of them.
    writers: Mutex<HashMap<u64, Guid>>,
}

impl Reader {
    /// Its identity.
    pub fn guid(&self) -> Guid {
        self.end.guid
    }

    /// The next message that has arrived, if there is one. It never waits.
    ///
    /// # Errors
    /// What Cyclone says.
    pub fn take(&self) -> Result<Option<Sample>, Error> {
        loop {
            let (mut taken, mut info) = (null_mut(), NO_INFO);
            // SAFETY: there is room for one message, as it is told.
            let count = unsafe { c::dds_takecdr(self.end.entity.0, &mut taken, 1, &mut info, ANY_STATE) };
            if checked("message", count)? == 0 || taken.is_null() {
                return Ok(None);
            }
            // SAFETY: one message, whose reference is this function's, is copied and given back.
            let payload = unsafe {
                let payload = info.valid_data.then(|| copied(taken));
                c::ddsi_serdata_unref(taken);
                payload
            };
            // Others are of writers that leave, or of nothing.
            if let Some(payload) = payload.filter(|payload| payload.len() >= 4) {
                let writer = self.writer(info.publication_handle);
                return Ok(Some(Sample { payload, writer, written: info.source_timestamp }));
            }
        }
    }

    /// The writer that Cyclone calls by this number.
    fn writer(&self, handle: u64) -> Guid {
        let mut writers = locked(&self.writers);
        if let Some(guid) = writers.get(&handle) {
            return *guid;
        }
        let found = || locked(&self.end.participant.0.shared.found).guid(handle);
        // It may leave between the two looks.
        let Some(guid) = found().or_else(|| self.matched(handle)).or_else(found) else {
            // It left long ago: only that it is one and the same is to be seen.
            let mut guid = [0; 16];
            guid[..8].copy_from_slice(&handle.to_ne_bytes());
            return guid;
        };
        if writers.len() >= MOST_WRITERS {
            writers.clear();
        }
        writers.insert(handle, guid);
        guid
    }

    fn matched(&self, handle: u64) -> Option<Guid> {
        // SAFETY: what is returned is null or an end, which is given back once.
        unsafe {
            let end = c::dds_get_matched_publication_data(self.end.entity.0, handle);
            let guid = end.as_ref().map(|end| end.key.v);
            if guid.is_some() {
                c::dds_builtintopic_free_endpoint(end);
            }
            guid
        }
    }
}

/// Copies a message out of Cyclone's memory.
///
/// # Safety
/// It is there until this returns.
unsafe fn copied(message: *const c::ddsi_serdata) -> Bytes {
    let mut bytes = c::ddsrt_iovec_t { iov_base: null_mut(), iov_len: 0 };
    // SAFETY: the whole message is asked for; it is there, and unchanged, until it is given back.
    unsafe {
        let size = c::ddsi_serdata_size(message) as usize;
        let held = c::ddsi_serdata_to_ser_ref(message, 0, size, &mut bytes);
        let copy = if bytes.iov_base.is_null() {
            Bytes::new()
        } else {
            Bytes::copy_from_slice(std::slice::from_raw_parts(bytes.iov_base.cast(), size))
        };
        c::ddsi_serdata_to_ser_unref(held, &bytes);
        copy
    }
}

/// The writing end of a topic.
pub struct Writer(End);

impl Writer {
    /// Its identity.
    pub fn guid(&self) -> Guid {
        self.0.guid
    }

    /// Writes a message in CDR, with its header. Waits for slow readers, as long as the quality of service says.
    ///
    /// # Errors
    /// What Cyclone says.
    pub fn write(&self, message: &[u8]) -> Result<(), Error> {
        // What is sent is a whole number of words: Cyclone reads that far, whatever the message's length.
        let missing = message.len().next_multiple_of(4) - message.len();
        let message = self.message(message, [0; 3].get(..missing).unwrap_or_default(), false)?;
        // SAFETY: the message is there; the function takes it over, whether it fails or not.
        checked("write", unsafe { c::dds_writecdr(self.0.entity.0, message) }).map(drop)
    }

    /// Writes that there is nothing to say any more. Readers that never heard of anything do nothing about it; but once it is
    /// [acknowledged](Self::is_acknowledged), they have met this writer, and take what it writes from then on for news.
    ///
    /// # Errors
    /// What Cyclone says.
    pub fn write_nothing(&self) -> Result<(), Error> {
        let message = self.message(&[0, 1, 0, 0], &[], true)?;
        // SAFETY: the message is there, of nobody else yet; the function takes it over.
        let written = unsafe {
            (*message).statusinfo = UNREGISTERED;
            (*message).timestamp.v = c::dds_time();
            c::dds_forwardcdr(self.0.entity.0, message)
        };
        checked("write", written).map(drop)
    }

    /// A message in Cyclone's memory.
    fn message(&self, message: &[u8], rest: &[u8], is_key: bool) -> Result<*mut c::ddsi_serdata, Error> {
        let size = message.len() + rest.len();
        if message.len() < 4 || i32::try_from(size).is_err() {
            return Err(Error { what: "write", why: format!("{} bytes are no message", message.len()) });
        }
        let part = |bytes: &[u8]| c::ddsrt_iovec_t { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() as _ };
        let parts = [part(message), part(rest)];
        let kind = if is_key { c::ddsi_serdata_kind_SDK_KEY } else { c::ddsi_serdata_kind_SDK_DATA };
        let mut sertype: *const c::ddsi_sertype = null();
        // SAFETY: the pointer is to where one can be written; the type is there as long as the writer is.
        checked("write", unsafe { c::dds_get_entity_sertype(self.0.entity.0, &mut sertype) })?;
        // SAFETY: the parts are as long as they say, together `size`, and are copied.
        let message = unsafe { c::ddsi_serdata_from_ser_iov(sertype, kind, parts.len() as _, parts.as_ptr(), size) };
        if message.is_null() {
            return Err(Error { what: "write", why: "no memory".to_owned() });
        }
        Ok(message)
    }

    /// Whether all readers that are connected have what was written.
    pub fn is_acknowledged(&self) -> bool {
        // SAFETY: no pointers.
        unsafe { c::dds_wait_for_acks(self.0.entity.0, 0) == 0 }
    }
}

/// Lets what Cyclone logs appear in this program's log.
fn log_to_tracing() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function is there as long as the program, and needs no data.
        unsafe { c::dds_set_log_sink(Some(log), null_mut()) };
    });
}

/// Takes a line of Cyclone's log.
///
/// # Safety
/// The pointer is to a record whose message is as long as it says.
unsafe extern "C" fn log(_: *mut c_void, record: *const c::dds_log_data_t) {
    // SAFETY: as Cyclone promises.
    let (priority, line) = unsafe {
        let record = &*record;
        (record.priority, std::slice::from_raw_parts(record.message.cast::<u8>(), record.size))
    };
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\n', '\0']);
    // A panic must not leave this function.
    let _ = std::panic::catch_unwind(|| match priority {
        1 | 2 => tracing::error!("Cyclone DDS: {line}"),
        4 => tracing::warn!("Cyclone DDS: {line}"),
        _ => tracing::debug!("Cyclone DDS: {line}"),
    });
}
