//! Declarations of `shim.c`, and of the functions of Cyclone whose arguments are numbers, handles
//! and texts.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use crate::Guid;

/// A handle of Cyclone; negative values are errors.
pub(crate) type Entity = i32;

/// `shim_qos`: quality of service. Times are in nanoseconds.
#[repr(C)]
pub(crate) struct Qos {
    pub max_blocking: i64,
    pub lifespan: i64,
    pub user_data: *const c_void,
    pub user_data_size: usize,
    pub depth: i32,
    pub is_reliable: bool,
    pub is_durable: bool,
    pub ignores_own: bool,
}

/// `shim_found`: a participant or endpoint that was found or lost. The pointers are null or valid
/// until [`shim_release_found`].
#[repr(C)]
pub(crate) struct Found {
    pub handle: u64,
    pub topic: *const c_char,
    pub type_name: *const c_char,
    pub loan: *mut c_void,
    pub guid: Guid,
    pub participant: Guid,
    pub is_alive: bool,
    pub is_reliable: bool,
    pub is_durable: bool,
}

/// `shim_message`: a sample. `bytes` is null or valid until [`shim_release_message`].
#[repr(C)]
pub(crate) struct Message {
    pub sample: *mut c_void,
    pub bytes: *const u8,
    pub size: usize,
    pub writer: u64,
    pub written: i64,
}

/// `discovery`: the kind of entity that a discovery reader reports.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) enum Discovery {
    Participants,
    Subscriptions,
    Publications,
}

/// `level`: the severity of a log line.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "made in C")]
pub(crate) enum Level {
    Error,
    Warning,
    Debug,
}

unsafe extern "C" {
    pub(crate) static shim_data_available: u32;
    pub(crate) static shim_subscription_matched: u32;
    pub(crate) static shim_publication_matched: u32;
    pub(crate) static shim_requested_incompatible: u32;
    pub(crate) static shim_offered_incompatible: u32;

    pub(crate) fn shim_create_participant(
        domain: u32,
        user_data: *const c_void,
        size: usize,
    ) -> Entity;
    pub(crate) fn shim_create_topic(
        participant: Entity,
        name: *const c_char,
        type_name: *const c_char,
        max_size: u32,
    ) -> Entity;
    pub(crate) fn shim_create_reader(participant: Entity, topic: Entity, qos: *const Qos)
    -> Entity;
    pub(crate) fn shim_create_writer(participant: Entity, topic: Entity, qos: *const Qos)
    -> Entity;
    pub(crate) safe fn shim_create_discovery_reader(participant: Entity, kind: Discovery)
    -> Entity;
    pub(crate) fn shim_take_found(reader: Entity, kind: Discovery, to: *mut Found) -> i32;
    pub(crate) fn shim_release_found(reader: Entity, found: *mut Found);
    pub(crate) fn shim_take_message(reader: Entity, to: *mut Message) -> i32;
    pub(crate) fn shim_release_message(message: *mut Message);
    pub(crate) fn shim_write(writer: Entity, bytes: *const u8, size: usize) -> i32;
    pub(crate) safe fn shim_write_unregister(writer: Entity) -> i32;
    pub(crate) safe fn shim_times_matched(entity: Entity, is_writer: bool) -> u32;
    pub(crate) fn shim_matched_publication(reader: Entity, handle: u64, guid: *mut Guid) -> bool;
    pub(crate) safe fn shim_set_log(line: extern "C" fn(Level, *const c_char, usize));

    pub(crate) fn dds_create_domain(domain: u32, config: *const c_char) -> Entity;
    pub(crate) safe fn dds_create_waitset(participant: Entity) -> Entity;
    pub(crate) safe fn dds_create_guardcondition(participant: Entity) -> Entity;
    pub(crate) safe fn dds_set_guardcondition(guard: Entity, is_triggered: bool) -> i32;
    pub(crate) safe fn dds_waitset_attach(waitset: Entity, entity: Entity, number: isize) -> i32;
    pub(crate) fn dds_waitset_wait(
        waitset: Entity,
        numbers: *mut isize,
        count: usize,
        timeout: i64,
    ) -> i32;
    pub(crate) safe fn dds_set_status_mask(entity: Entity, mask: u32) -> i32;
    pub(crate) fn dds_take_status(entity: Entity, status: *mut u32, mask: u32) -> i32;
    pub(crate) fn dds_get_guid(entity: Entity, guid: *mut Guid) -> i32;
    pub(crate) fn dds_get_matched_subscriptions(
        writer: Entity,
        handles: *mut u64,
        count: usize,
    ) -> i32;
    pub(crate) fn dds_get_matched_publications(
        reader: Entity,
        handles: *mut u64,
        count: usize,
    ) -> i32;
    pub(crate) safe fn dds_wait_for_acks(writer: Entity, timeout: i64) -> i32;
    pub(crate) safe fn dds_delete(entity: Entity) -> i32;
    pub(crate) safe fn dds_strretcode(code: i32) -> *const c_char;
}

impl Default for Found {
    fn default() -> Self {
        Self {
            handle: 0,
            topic: null(),
            type_name: null(),
            loan: null_mut(),
            guid: [0; 16],
            participant: [0; 16],
            is_alive: false,
            is_reliable: false,
            is_durable: false,
        }
    }
}

impl Default for Message {
    fn default() -> Self {
        Self {
            sample: null_mut(),
            bytes: null(),
            size: 0,
            writer: 0,
            written: 0,
        }
    }
}
