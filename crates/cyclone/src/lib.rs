//! Safe bindings to Eclipse Cyclone DDS: a participant, its readers and writers of undecoded
//! messages, and discovery.
//!
//! This crate knows nothing of ROS: its caller chooses names, types and quality of service. All
//! unsafe code that calls the library is here and in `shim.c`, under three rules:
//!
//! - Entities are named by handles. Cyclone looks them up, and refuses those of deleted entities,
//!   so no handle can dangle.
//! - Memory that Cyclone lends is copied before the function that borrowed it returns.
//! - Cyclone calls no listener: a thread of each participant waits for its events
//!   ([`Participant::join`]), so nothing has to outlive a call from C. The only callback, for the
//!   log, has no state.
//!
//! Each participant has its own Cyclone domain, with its own sockets and threads: participants of
//! one process can differ in configuration, and a new one uses the network interfaces that exist at
//! that time.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::{CStr, CString};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;

mod ffi;

/// First number of the aliases of domains ([`DomainNumber`]).
const FIRST_ALIAS: u32 = 1000;
/// Maximum time for which the thread waits for an event.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of entities whose events are processed in one batch.
const EVENT_BATCH: usize = 64;
/// Maximum number of writers whose identities a reader caches.
const MAX_CACHED_WRITERS: usize = 1024;
/// Maximum number of lost endpoints whose identities are kept for samples that are not taken yet.
const MAX_LOST_ENDPOINTS: usize = 4096;
/// Maximum number of lines of Cyclone's log that are written in each [`LOG_PERIOD`].
const MAX_LOG_LINES: u32 = 5;
const LOG_PERIOD: Duration = Duration::from_secs(10);
/// Numbers in the wait set: the guard that ends the thread is 0, the three discovery readers
/// follow, then all others.
const STOP: isize = 0;
const FIRST_FREE: isize = 4;

/// The identity of a participant, reader or writer (RTPS 2.5, section 8.2.4.1).
pub type Guid = [u8; 16];

/// A call that Cyclone refused.
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

/// Turns the return code of a call into a `Result`.
fn checked(what: &'static str, returned: i32) -> Result<i32, Error> {
    if returned >= 0 {
        return Ok(returned);
    }
    // SAFETY: for any number, the function returns a static text of the library.
    let why = unsafe { CStr::from_ptr(ffi::dds_strretcode(returned)) };
    Err(Error {
        what,
        why: why.to_string_lossy().into_owned(),
    })
}

/// A reader or writer found by discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub guid: Guid,
    /// The participant it belongs to.
    pub participant: Guid,
    pub is_writer: bool,
    pub topic: String,
    pub type_name: String,
    pub is_reliable: bool,
    /// Whether its durability is more than volatile.
    pub is_durable: bool,
}

/// A change reported by discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Discovery found an endpoint, of this participant or another; [`Participant::endpoints`] has
    /// its details.
    Found { guid: Guid },
    /// An endpoint left.
    Lost(Guid),
    /// A participant left, or its lease expired.
    ParticipantLost(Guid),
    /// An endpoint of this participant is connected with another one.
    Matched { own: Guid, other: Guid },
    /// The connection has ended.
    Unmatched { own: Guid, other: Guid },
    /// An endpoint of the topic of `own` has an incompatible quality of service.
    Incompatible { own: Guid },
}

/// Quality of service of a reader or writer.
#[derive(Clone, Debug)]
pub struct Qos {
    /// For reliable endpoints, the maximum time that a write blocks on slow readers; `None` for
    /// best effort.
    pub reliable: Option<Duration>,
    /// Whether readers that join late receive the last `depth` messages.
    pub is_durable: bool,
    /// Length of the history.
    pub depth: usize,
    /// Time after which a message expires; `None` for never.
    pub lifespan: Option<Duration>,
    /// Whether a reader ignores writers of its own participant.
    pub ignores_own: bool,
    /// Maximum size of a received message, in bytes; longer ones are dropped.
    pub max_bytes: u32,
    /// The endpoint's USER_DATA.
    pub user_data: String,
}

/// A message that arrived.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The message in CDR, with its header of four bytes.
    pub payload: Bytes,
    pub writer: Guid,
    /// Time of writing by the writer's clock, in nanoseconds since 1970.
    pub written: i64,
}

/// Owns an entity of Cyclone, with all its children.
#[derive(Debug)]
struct Entity(ffi::Entity);

impl Drop for Entity {
    fn drop(&mut self) {
        // Returns an error, and does nothing, if the parent was deleted before.
        ffi::dds_delete(self.0);
    }
}

impl Entity {
    /// Takes ownership of the entity that a function of Cyclone created.
    fn created(what: &'static str, returned: ffi::Entity) -> Result<Self, Error> {
        checked(what, returned).map(Self)
    }

    fn guid(&self) -> Result<Guid, Error> {
        let mut guid = [0; 16];
        // SAFETY: the pointer refers to 16 writable bytes.
        checked("identity", unsafe { ffi::dds_get_guid(self.0, &mut guid) })?;
        Ok(guid)
    }
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a Cyclone domain in this process; released when dropped.
struct DomainNumber(u32);

static NUMBERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

impl DomainNumber {
    /// Reserves the number of `domain` itself if it is free, because a configuration may refer to
    /// it, and otherwise an alias.
    fn reserve(domain: u32) -> Self {
        let mut reserved = locked(&NUMBERS);
        let number = std::iter::once(domain)
            // Beyond 232, the last domain that DDS has ports for, so an alias is no one's domain.
            .chain(FIRST_ALIAS..)
            .find(|number| !reserved.contains(number))
            .unwrap_or(domain);
        reserved.insert(number);
        Self(number)
    }
}

impl Drop for DomainNumber {
    fn drop(&mut self) {
        locked(&NUMBERS).remove(&self.0);
    }
}

/// A participant in its own Cyclone domain. It lives until it and all its readers and writers are
/// dropped.
#[derive(Clone)]
pub struct Participant(Arc<Inner>);

// Fields are in the order in which they must be dropped.
struct Inner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    guid: Guid,
    participant: Entity,
    _domain: Entity,
    _number: DomainNumber,
}

/// State shared by the participant's thread and its users.
struct Shared {
    own: Guid,
    waitset: Entity,
    stop: Entity,
    discovery: [(ffi::Discovery, Entity); 3],
    has_ended: AtomicBool,
    next: AtomicIsize,
    watched: Mutex<HashMap<isize, Watched>>,
    found: Mutex<Endpoints>,
}

/// The endpoints known to discovery, by Cyclone's instance handles.
#[derive(Default)]
struct Endpoints {
    alive: HashMap<u64, Endpoint>,
    /// The endpoints lost last: some of their samples may not have been taken yet.
    lost: VecDeque<(u64, Guid)>,
}

impl Endpoints {
    /// Adds an endpoint; returns whether it was known, and so has left and come back meanwhile.
    fn add(&mut self, handle: u64, endpoint: Endpoint) -> bool {
        self.alive.insert(handle, endpoint).is_some()
    }

    /// Removes an endpoint; returns whether it was known.
    fn remove(&mut self, handle: u64, guid: Guid) -> bool {
        if self.lost.len() >= MAX_LOST_ENDPOINTS {
            self.lost.pop_front();
        }
        self.lost.push_back((handle, guid));
        self.alive.remove(&handle).is_some()
    }

    fn guid(&self, handle: u64) -> Option<Guid> {
        let lost = || {
            self.lost
                .iter()
                .rev()
                .find(|(other, _)| *other == handle)
                .map(|(_, guid)| *guid)
        };
        self.alive
            .get(&handle)
            .map(|endpoint| endpoint.guid)
            .or_else(lost)
    }
}

/// An endpoint of this participant, as its thread tracks it.
struct Watched {
    entity: ffi::Entity,
    guid: Guid,
    is_writer: bool,
    /// Called when a reader has samples to take.
    notify: Box<dyn Fn() + Send>,
    /// Handles of the endpoints whose connection was reported.
    matched: HashSet<u64>,
    /// Total number of connections so far.
    times_matched: u32,
    /// Whether the connections may have changed since the last report.
    is_due: bool,
}

impl Participant {
    /// Joins the network.
    ///
    /// `config` is Cyclone's XML, or any other value of its variable `CYCLONEDDS_URI`; several are
    /// separated by commas. `hear` is called with each [`Event`] on the participant's thread, which
    /// it must not block.
    ///
    /// # Errors
    /// Fails if Cyclone refuses the configuration or the network.
    pub fn join(
        domain: u32,
        config: &str,
        user_data: &str,
        hear: impl Fn(Event) + Send + 'static,
    ) -> Result<Self, Error> {
        log_to_tracing();
        let number = DomainNumber::reserve(domain);
        let alias = format!(
            "<CycloneDDS><Domain><Discovery><ExternalDomainId>{domain}</ExternalDomainId></Discovery></Domain></CycloneDDS>,"
        );
        let alias = if number.0 == domain { "" } else { &alias };
        let config = c_string("configuration", &format!("{alias}{config}"))?;
        // SAFETY: the text is NUL-terminated and only read.
        let domain = Entity::created("domain", unsafe {
            ffi::dds_create_domain(number.0, config.as_ptr())
        })?;
        // SAFETY: the bytes are copied.
        let participant = unsafe {
            ffi::shim_create_participant(number.0, user_data.as_ptr().cast(), user_data.len())
        };
        let participant = Entity::created("participant", participant)?;
        let guid = participant.guid()?;
        let reader = |kind| {
            Entity::created(
                "discovery",
                ffi::shim_create_discovery_reader(participant.0, kind),
            )
            .map(|e| (kind, e))
        };
        let shared = Shared {
            own: guid,
            waitset: Entity::created("wait set", ffi::dds_create_waitset(participant.0))?,
            stop: Entity::created("guard", ffi::dds_create_guardcondition(participant.0))?,
            discovery: [
                reader(ffi::Discovery::Participants)?,
                reader(ffi::Discovery::Subscriptions)?,
                reader(ffi::Discovery::Publications)?,
            ],
            has_ended: AtomicBool::new(false),
            next: AtomicIsize::new(FIRST_FREE),
            watched: Mutex::default(),
            found: Mutex::default(),
        };
        for ((_, reader), number) in shared.discovery.iter().zip(STOP + 1..) {
            shared.attach(reader, number, status::data_available())?;
        }
        checked(
            "wait set",
            ffi::dds_waitset_attach(shared.waitset.0, shared.stop.0, STOP),
        )?;
        let shared = Arc::new(shared);
        let watching = shared.clone();
        let thread = thread::Builder::new()
            .name("cyclone".to_owned())
            .spawn(move || watching.watch(&hear));
        let thread = thread.map_err(|error| Error {
            what: "thread",
            why: error.to_string(),
        })?;
        Ok(Self(Arc::new(Inner {
            shared,
            thread: Some(thread),
            guid,
            participant,
            _domain: domain,
            _number: number,
        })))
    }

    /// Returns the participant's identity.
    pub fn guid(&self) -> Guid {
        self.0.guid
    }

    /// Returns the endpoints of other participants.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.endpoints_where(|endpoint| endpoint.participant != self.0.guid)
    }

    /// Returns the participant's own endpoints, as found by discovery.
    pub fn own_endpoints(&self) -> Vec<Endpoint> {
        self.endpoints_where(|endpoint| endpoint.participant == self.0.guid)
    }

    fn endpoints_where(&self, is_wanted: impl Fn(&&Endpoint) -> bool) -> Vec<Endpoint> {
        locked(&self.0.shared.found)
            .alive
            .values()
            .filter(is_wanted)
            .cloned()
            .collect()
    }

    /// Subscribes to a topic.
    ///
    /// `notify` is called on the participant's thread, which it must not block, when
    /// [`Reader::take`] may have a message.
    ///
    /// # Errors
    /// Fails if Cyclone refuses.
    pub fn reader(
        &self,
        topic: &str,
        type_name: &str,
        qos: &Qos,
        notify: impl Fn() + Send + 'static,
    ) -> Result<Reader, Error> {
        let topic = self.topic(topic, type_name, qos)?;
        let entity = with_ffi_qos(qos, |qos| {
            // SAFETY: `qos` and its texts live until after the call; the reader keeps a reference
            // to its topic.
            unsafe { ffi::shim_create_reader(self.0.participant.0, topic.0, qos) }
        });
        let entity = Entity::created("reader", entity)?;
        let mask = status::data_available() | status::matched(false) | status::incompatible(false);
        Ok(Reader {
            end: self.watch(entity, false, Box::new(notify), mask)?,
            writers: Mutex::default(),
        })
    }

    /// Advertises a topic.
    ///
    /// # Errors
    /// Fails if Cyclone refuses.
    pub fn writer(&self, topic: &str, type_name: &str, qos: &Qos) -> Result<Writer, Error> {
        let topic = self.topic(topic, type_name, qos)?;
        let entity = with_ffi_qos(qos, |qos| {
            // SAFETY: as for a reader.
            unsafe { ffi::shim_create_writer(self.0.participant.0, topic.0, qos) }
        });
        let entity = Entity::created("writer", entity)?;
        Ok(Writer(self.watch(
            entity,
            true,
            Box::new(|| ()),
            status::matched(true) | status::incompatible(true),
        )?))
    }

    fn topic(&self, name: &str, type_name: &str, qos: &Qos) -> Result<Entity, Error> {
        let (name, type_name) = (c_string("topic", name)?, c_string("topic", type_name)?);
        let participant = self.0.participant.0;
        // SAFETY: both texts are NUL-terminated and copied.
        let topic = unsafe {
            ffi::shim_create_topic(
                participant,
                name.as_ptr(),
                type_name.as_ptr(),
                qos.max_bytes,
            )
        };
        Entity::created("topic", topic)
    }

    fn watch(
        &self,
        entity: Entity,
        is_writer: bool,
        notify: Box<dyn Fn() + Send>,
        mask: u32,
    ) -> Result<End, Error> {
        let shared = &self.0.shared;
        let (guid, number) = (entity.guid()?, shared.next.fetch_add(1, Ordering::Relaxed));
        let matched = HashSet::new();
        let watched = Watched {
            entity: entity.0,
            guid,
            is_writer,
            notify,
            matched,
            times_matched: 0,
            // Connections made before `attach` cause no event.
            is_due: true,
        };
        // Before its events are attached, so that the thread finds it at the first one.
        locked(&shared.watched).insert(number, watched);
        // Built before `attach` may fail, so that its drop removes the endpoint again.
        let end = End {
            entity,
            guid,
            number,
            participant: self.clone(),
        };
        shared.attach(&end.entity, number, mask)?;
        Ok(end)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Before the thread is woken, so that it sees the flag.
        self.shared.has_ended.store(true, Ordering::Release);
        ffi::dds_set_guardcondition(self.shared.stop.0, true);
        if let Some(thread) = self.thread.take() {
            // The thread has already reported a panic of `hear`; a destructor can't pass it on.
            let _ = thread.join();
        }
    }
}

fn c_string(what: &'static str, text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|error| Error {
        what,
        why: error.to_string(),
    })
}

/// Calls `create` with `qos` as the shim's struct.
fn with_ffi_qos<T>(qos: &Qos, create: impl FnOnce(&ffi::Qos) -> T) -> T {
    create(&ffi::Qos {
        max_blocking: qos.reliable.map_or(0, nanoseconds),
        // `i64::MAX` is DDS_INFINITY.
        lifespan: qos.lifespan.map_or(i64::MAX, nanoseconds),
        user_data: qos.user_data.as_ptr().cast(),
        user_data_size: qos.user_data.len(),
        depth: i32::try_from(qos.depth.max(1)).unwrap_or(i32::MAX),
        is_reliable: qos.reliable.is_some(),
        is_durable: qos.is_durable,
        ignores_own: qos.ignores_own,
    })
}

/// Masks of Cyclone's communication statuses.
mod status {
    use super::ffi;

    pub(super) fn data_available() -> u32 {
        // SAFETY: a constant.
        unsafe { ffi::shim_data_available }
    }

    pub(super) fn matched(is_writer: bool) -> u32 {
        // SAFETY: constants.
        unsafe {
            if is_writer {
                ffi::shim_publication_matched
            } else {
                ffi::shim_subscription_matched
            }
        }
    }

    pub(super) fn incompatible(is_writer: bool) -> u32 {
        // SAFETY: constants.
        unsafe {
            if is_writer {
                ffi::shim_offered_incompatible
            } else {
                ffi::shim_requested_incompatible
            }
        }
    }
}

/// Reads and clears the statuses of an entity that are in `mask`.
fn take_status(entity: ffi::Entity, mask: u32) -> u32 {
    let mut status = 0;
    // SAFETY: the pointer refers to a writable number.
    unsafe { ffi::dds_take_status(entity, &mut status, mask) };
    status
}

impl Shared {
    /// Wakes the thread on those statuses of `entity` that are in `mask`.
    fn attach(&self, entity: &Entity, number: isize, mask: u32) -> Result<(), Error> {
        checked("status", ffi::dds_set_status_mask(entity.0, mask))?;
        checked(
            "wait set",
            ffi::dds_waitset_attach(self.waitset.0, entity.0, number),
        )?;
        Ok(())
    }

    /// Runs the participant's thread.
    fn watch(&self, hear: &dyn Fn(Event)) {
        let mut numbers = [0; EVENT_BATCH];
        while !self.has_ended.load(Ordering::Acquire) {
            let timeout = nanoseconds(POLL_INTERVAL);
            // SAFETY: the buffer has room for the number of elements that is passed.
            let triggered = unsafe {
                ffi::dds_waitset_wait(self.waitset.0, numbers.as_mut_ptr(), EVENT_BATCH, timeout)
            };
            let Ok(triggered) = usize::try_from(triggered) else {
                return;
            };
            // Discovery first: a connection is reported only with an endpoint that is known.
            let lost = self.take_discovery(hear);
            // `hear` and `notify` run under this lock, so they must not create or drop endpoints.
            let mut watched = locked(&self.watched);
            for end in watched.values_mut() {
                // An endpoint that has already come back is reported as a new connection.
                end.is_due |= lost
                    .iter()
                    // Not `any`, which would leave the handles after the first one in the set.
                    .filter(|handle| end.matched.remove(handle))
                    .count()
                    > 0;
            }
            for number in numbers.iter().take(triggered) {
                if let Some(end) = watched.get_mut(number) {
                    end.take_status(hear);
                }
            }
            let found = locked(&self.found);
            watched
                .values_mut()
                .filter(|end| end.is_due)
                .for_each(|end| end.report_matches(&found, hear));
        }
    }

    /// Reports endpoints and participants found and lost; returns the handles of the endpoints
    /// lost.
    fn take_discovery(&self, hear: &dyn Fn(Event)) -> Vec<u64> {
        let mut lost = Vec::new();
        for (kind, reader) in &self.discovery {
            // Cleared before samples are taken, so that a sample that arrives meanwhile is not
            // missed.
            take_status(reader.0, status::data_available());
            let mut found = ffi::Found::default();
            // SAFETY: the pointer refers to a writable struct.
            while unsafe { ffi::shim_take_found(reader.0, *kind, &mut found) } > 0 {
                self.note(*kind, &found, &mut lost, hear);
                // SAFETY: it was taken from this reader, and is released once.
                unsafe { ffi::shim_release_found(reader.0, &mut found) };
            }
        }
        lost
    }

    /// Records a participant or endpoint that was found or lost.
    ///
    /// Cyclone keeps only the last sample of each: for an endpoint that has left and come back, it
    /// reports only that the endpoint exists.
    fn note(
        &self,
        kind: ffi::Discovery,
        found: &ffi::Found,
        lost: &mut Vec<u64>,
        hear: &dyn Fn(Event),
    ) {
        let guid = found.guid;
        if kind == ffi::Discovery::Participants {
            if !found.is_alive && guid != self.own {
                hear(Event::ParticipantLost(guid));
            }
            return;
        }
        if !found.is_alive {
            if locked(&self.found).remove(found.handle, guid) {
                lost.push(found.handle);
                hear(Event::Lost(guid));
            }
            return;
        }
        // SAFETY: the texts of a living endpoint are valid until it is released.
        let (topic, type_name) = unsafe { (owned(found.topic), owned(found.type_name)) };
        // The topics of discovery itself (DDS 1.4, section 2.2.5) are not the application's.
        if topic.starts_with("DCPS") {
            return;
        }
        let endpoint = Endpoint {
            guid,
            participant: found.participant,
            is_writer: kind == ffi::Discovery::Publications,
            topic,
            type_name,
            is_reliable: found.is_reliable,
            is_durable: found.is_durable,
        };
        if locked(&self.found).add(found.handle, endpoint) {
            lost.push(found.handle);
            hear(Event::Lost(guid));
        }
        hear(Event::Found { guid });
    }
}

/// Copies a text.
///
/// # Safety
/// `text` must be null or NUL-terminated.
unsafe fn owned(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

impl Watched {
    fn take_status(&mut self, hear: &dyn Fn(Event)) {
        let (matched, incompatible) = (
            status::matched(self.is_writer),
            status::incompatible(self.is_writer),
        );
        let data = if self.is_writer {
            0
        } else {
            status::data_available()
        };
        let status = take_status(self.entity, data | matched | incompatible);
        self.is_due |= status & matched != 0;
        if status & incompatible != 0 {
            hear(Event::Incompatible { own: self.guid });
        }
        if status & data != 0 {
            (self.notify)();
        }
    }

    /// Reports connections made and ended, if discovery still knows the other endpoint.
    ///
    /// A connection with an endpoint not yet found, or already lost, stays due.
    fn report_matches(&mut self, found: &Endpoints, hear: &dyn Fn(Event)) {
        // The count is read first: a connection made between the two calls causes another check.
        let (times, current) = (
            ffi::shim_times_matched(self.entity, self.is_writer),
            self.current_matches(),
        );
        let before = std::mem::replace(&mut self.times_matched, times);
        let new = current
            .iter()
            .filter(|handle| !self.matched.contains(handle))
            .count();
        // There were more connections than new endpoints: a known one was disconnected and
        // connected again, and Cyclone does not say which.
        let is_any_renewed = self.times_matched.wrapping_sub(before) as usize > new;
        let own = self.guid;
        self.matched.retain(|handle| {
            let is_kept = !is_any_renewed && current.contains(handle);
            if !is_kept && let Some(other) = found.guid(*handle) {
                hear(Event::Unmatched { own, other });
            }
            is_kept
        });
        self.is_due = false;
        for handle in current {
            match found.alive.get(&handle) {
                Some(end) if self.matched.insert(handle) => hear(Event::Matched {
                    own,
                    other: end.guid,
                }),
                Some(_) => {}
                None => self.is_due = true,
            }
        }
    }

    /// Returns the handles of the connected endpoints.
    fn current_matches(&self) -> Vec<u64> {
        let get = if self.is_writer {
            ffi::dds_get_matched_subscriptions
        } else {
            ffi::dds_get_matched_publications
        };
        let mut handles = vec![0; EVENT_BATCH];
        loop {
            let room = handles.len();
            // SAFETY: the buffer has room for the number of elements that is passed.
            let count = usize::try_from(unsafe { get(self.entity, handles.as_mut_ptr(), room) })
                .unwrap_or(0);
            if count <= room {
                handles.truncate(count);
                return handles;
            }
            // Some more, because further endpoints may connect before the next call.
            handles.resize(count + EVENT_BATCH, 0);
        }
    }
}

/// A reader or writer. Dropping it deletes it.
struct End {
    // Deleted first; the participant may end with the last of its endpoints.
    entity: Entity,
    guid: Guid,
    number: isize,
    participant: Participant,
}

impl Drop for End {
    fn drop(&mut self) {
        // Before the entity is deleted: a new one may get its handle, which the thread must not
        // confuse with this one.
        locked(&self.participant.0.shared.watched).remove(&self.number);
    }
}

/// A subscription to a topic.
pub struct Reader {
    end: End,
    /// Identities of writers, by Cyclone's instance handles.
    writers: Mutex<HashMap<u64, Guid>>,
}

impl Reader {
    /// Returns the reader's identity.
    pub fn guid(&self) -> Guid {
        self.end.guid
    }

    /// Takes the next message from the queue, if there is one. Never waits.
    ///
    /// # Errors
    /// Fails if Cyclone refuses.
    pub fn take(&self) -> Result<Option<Sample>, Error> {
        loop {
            let mut message = ffi::Message::default();
            // SAFETY: the pointer refers to a writable struct.
            if checked("message", unsafe {
                ffi::shim_take_message(self.end.entity.0, &mut message)
            })? == 0
            {
                return Ok(None);
            }
            let payload = (!message.bytes.is_null()).then(|| {
                // SAFETY: the bytes are valid until the message is released.
                Bytes::copy_from_slice(unsafe {
                    std::slice::from_raw_parts(message.bytes, message.size)
                })
            });
            // SAFETY: it was taken above, and is released once.
            unsafe { ffi::shim_release_message(&mut message) };
            // A sample without payload only announces that a writer is leaving.
            if let Some(payload) = payload {
                return Ok(Some(Sample {
                    payload,
                    writer: self.writer(message.writer),
                    written: message.written,
                }));
            }
        }
    }

    /// Returns the identity of the writer with this instance handle.
    fn writer(&self, handle: u64) -> Guid {
        let mut writers = locked(&self.writers);
        if let Some(guid) = writers.get(&handle) {
            return *guid;
        }
        let found = || locked(&self.end.participant.0.shared.found).guid(handle);
        // The writer may leave between the two calls, so discovery is asked again.
        let Some(guid) = found().or_else(|| self.matched(handle)).or_else(found) else {
            // It left long ago and its identity was dropped: substitute a value that is unique to
            // it.
            let mut guid = [0; 16];
            guid[..8].copy_from_slice(&handle.to_ne_bytes());
            return guid;
        };
        if writers.len() >= MAX_CACHED_WRITERS {
            // Discovery still knows the writers in use, so the cache refills.
            writers.clear();
        }
        writers.insert(handle, guid);
        guid
    }

    fn matched(&self, handle: u64) -> Option<Guid> {
        let mut guid = [0; 16];
        // SAFETY: the pointer refers to 16 writable bytes.
        unsafe { ffi::shim_matched_publication(self.end.entity.0, handle, &mut guid) }
            .then_some(guid)
    }
}

/// The writer of a topic.
pub struct Writer(End);

impl Writer {
    /// Returns the writer's identity.
    pub fn guid(&self) -> Guid {
        self.0.guid
    }

    /// Writes a message in CDR, with its header. Blocks on slow readers up to the time in its
    /// quality of service.
    ///
    /// # Errors
    /// Fails if Cyclone refuses, for instance if slow readers leave no room.
    pub fn write(&self, message: &[u8]) -> Result<(), Error> {
        // SAFETY: the bytes are copied.
        checked("write", unsafe {
            ffi::shim_write(self.0.entity.0, message.as_ptr(), message.len())
        })
        .map(drop)
    }

    /// Writes an unregistration, which delivers nothing.
    ///
    /// Once it is [acknowledged](Self::is_acknowledged), every reader has seen a heartbeat of this
    /// writer, and delivers what is written afterwards.
    ///
    /// # Errors
    /// Fails if Cyclone refuses.
    pub fn write_unregister(&self) -> Result<(), Error> {
        checked("write", ffi::shim_write_unregister(self.0.entity.0)).map(drop)
    }

    /// Returns whether all connected readers have acknowledged everything written.
    pub fn is_acknowledged(&self) -> bool {
        // A time limit of 0 turns the wait into a poll.
        ffi::dds_wait_for_acks(self.0.entity.0, 0) == 0
    }
}

/// Redirects Cyclone's log to `tracing`, from the first participant on.
fn log_to_tracing() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| ffi::shim_set_log(log));
}

/// Writes a line of Cyclone's log.
///
/// Cyclone warns of every malformed packet, so the rate is limited and suppressed lines are
/// counted.
extern "C" fn log(level: ffi::Level, line: *const std::ffi::c_char, size: usize) {
    static LIMIT: Mutex<LogLimit> = Mutex::new(LogLimit {
        since: None,
        lines: 0,
        dropped: 0,
    });
    if !matches!(level, ffi::Level::Debug) {
        match locked(&LIMIT).admit(Instant::now()) {
            None => return,
            Some(0) => {}
            Some(dropped) => tracing::warn!("Cyclone DDS: {dropped} more lines were not logged"),
        }
    }
    // SAFETY: Cyclone passes the length of the line.
    let line =
        String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(line.cast::<u8>(), size) });
    let line = line.trim_end_matches(['\n', '\0']);
    match level {
        ffi::Level::Error => tracing::error!("Cyclone DDS: {line}"),
        ffi::Level::Warning => tracing::warn!("Cyclone DDS: {line}"),
        ffi::Level::Debug => tracing::debug!("Cyclone DDS: {line}"),
    }
}

/// A rate limiter that admits [`MAX_LOG_LINES`] in each [`LOG_PERIOD`].
struct LogLimit {
    since: Option<Instant>,
    lines: u32,
    dropped: u64,
}

impl LogLimit {
    /// Returns whether a line is admitted, and if so the number of lines suppressed before it.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        if self
            .since
            .is_none_or(|since| now.duration_since(since) >= LOG_PERIOD)
        {
            (self.since, self.lines) = (Some(now), 0);
        }
        if self.lines == MAX_LOG_LINES {
            self.dropped += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_log_lines_is_counted_and_not_written() {
        let (start, mut limit) = (
            Instant::now(),
            LogLimit {
                since: None,
                lines: 0,
                dropped: 0,
            },
        );
        let admitted: Vec<_> = (0..100).filter_map(|_| limit.admit(start)).collect();
        assert_eq!(admitted, [0; MAX_LOG_LINES as usize]);
        assert_eq!(
            limit.admit(start + LOG_PERIOD),
            Some(100 - u64::from(MAX_LOG_LINES))
        );
        assert_eq!(limit.admit(start + LOG_PERIOD), Some(0));
    }
}
