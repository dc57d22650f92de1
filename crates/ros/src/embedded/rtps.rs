//! RTPS messages made here, for Fast DDS, where RustDDS falls short.
//!
//! **Long requests and answers.** Fast DDS knows an answer by the identity of the request beside it, in the inline QoS, and the reader that waits
//! for it by that beside the request. RustDDS 0.15 cuts what is
//! longer than a datagram into fragments and writes a byte too many before their inline QoS, so that no reader takes them. The same
//! sample is therefore sent once more from here, as it should be, under the identity of the writer in RustDDS: to the reader both are
//! one, and what it acknowledges is known there. (RTPS 2.5, sections 9.4.4, 9.4.5.5, 9.4.5.9, 9.4.5.11, 9.6.3.)
//!
//! **First requests.** A client that calls as soon as it is made writes before RustDDS knows it, which then drops the request. Fast
//! DDS would say what it has only when its heartbeat is due, after 3 s, since the acknowledgment with which RustDDS greets a writer is
//! not what it takes for a greeting. So the first request is asked for. (Section 9.4.5.13.)
//!
//! **Announcements.** RustDDS announces its participants by multicast, and to the first ports of this machine. Machines that are named
//! as static peers are told from here. (Sections 8.5.3.2, 9.6.3.2.)
//!
//! **Pulses.** RustDDS does not send to readers of its own participant. What is made here reaches one by way of the network, as the
//! words of others do. (Section 9.4.5.4.)

use std::net::Ipv4Addr;

use rustdds::Timestamp;

use super::dds::{Gid, Related};

/// The longest payload, in bytes, that RustDDS sends in one piece over any network.
pub(super) const LONGEST_WHOLE: usize = 1280;
/// Bytes of a fragment. One size per writer, and RustDDS announces this one.
const FRAGMENT: usize = 256;
/// Fragments of a datagram, which with its headers fits into what networks carry.
const FRAGMENTS_AT_ONCE: usize = 5;

/// What is sent, and by and to whom.
pub(super) struct Sample<'a> {
    pub writer: Gid,
    pub reader: Gid,
    pub number: i64,
    pub related: Related,
    /// In CDR, with its header of four bytes.
    pub payload: &'a [u8],
}

impl Sample<'_> {
    /// The datagrams that carry the sample, each on its own.
    pub(super) fn datagrams(&self) -> impl Iterator<Item = Vec<u8>> {
        let (by, to) = (self.writer.0, self.reader.0);
        let stamp = Timestamp::now().to_ticks();
        self.payload.chunks(FRAGMENT * FRAGMENTS_AT_ONCE).enumerate().map(move |(n, part)| {
            let first = n * FRAGMENTS_AT_ONCE + 1;
            let mut datagram = header(&by);
            submessage(&mut datagram, 0x0e, 0, &to[..12]); // INFO_DST
            submessage(&mut datagram, 0x09, 0, &halves(stamp)); // INFO_TS
            let body = [
                &[0, 0, 28, 0], // flags, octets from here to the inline QoS
                &to[12..],
                &by[12..],
                &number(self.number),
                &word(first),
                &half(part.len().div_ceil(FRAGMENT)),
                &half(FRAGMENT),
                &word(self.payload.len()),
                // PID_RELATED_SAMPLE_IDENTITY, and as older releases of Fast DDS number it.
                &self.parameter(0x0083),
                &self.parameter(0x800f),
                &[1, 0, 0, 0],
                part,
            ];
            submessage(&mut datagram, 0x16, 2, &body.concat()); // DATA_FRAG, with inline QoS
            datagram
        })
    }

    fn parameter(&self, id: usize) -> Vec<u8> {
        [&half(id)[..], &half(24), &self.related.writer.0, &number(self.related.number)].concat()
    }
}

/// The datagram by which `reader` asks `writer`, if it is of Fast DDS, for the first sample once more. Where there is none yet it does
/// nothing.
pub(super) fn first_again(reader: Gid, writer: Gid) -> Option<Vec<u8>> {
    let (by, to) = (reader.0, writer.0);
    let is_fast_dds = to.starts_with(&[0x01, 0x0f]);
    is_fast_dds.then(|| {
        let mut datagram = header(&by);
        submessage(&mut datagram, 0x0e, 0, &to[..12]); // INFO_DST
        // The first fragment of a set of one, in the first message of this kind.
        let body = [&by[12..], &to[12..], &number(1), &word(1), &word(1), &word(1 << 31), &word(1)];
        submessage(&mut datagram, 0x12, 0, &body.concat()); // NACK_FRAG
        datagram
    })
}

/// The datagram that brings `reader`, which must not be reliable, the `count`th message of `writer`.
pub(super) fn pulse(reader: Gid, writer: Gid, count: i64) -> Vec<u8> {
    let (to, by) = (reader.0, writer.0);
    let mut datagram = header(&by);
    submessage(&mut datagram, 0x0e, 0, &to[..12]); // INFO_DST
    // Flags, octets from here to the payload, which is one byte and its padding.
    let body = [&[0, 0, 16, 0], &to[12..], &by[12..], &number(count), &[0, 1, 0, 3], &[0; 4]];
    submessage(&mut datagram, 0x15, 4, &body.concat()); // DATA, with a payload
    datagram
}

/// The ports of a participant: RTPS 2.5, section 9.6.2.3.
pub(super) struct Ports {
    /// Where it takes discovery.
    pub discovery: u16,
    /// Where it takes what is said on topics.
    pub topics: u16,
}

/// The ports of the `participant`th participant of a machine.
pub(super) fn ports(domain: u16, participant: u16) -> Ports {
    let port = |n: u32| u16::try_from(7400 + 250 * u32::from(domain) + n + 2 * u32::from(participant)).unwrap_or(u16::MAX);
    Ports { discovery: port(10), topics: port(11) }
}

/// The datagram that announces `participant`, which is found at `address`.
pub(super) fn announcement(participant: Gid, address: Ipv4Addr, ports: &Ports) -> Vec<u8> {
    /// Participants, publications, subscriptions and liveliness, both ends of each; topics, as RustDDS has it.
    const ENDPOINTS: usize = 0x0c3f | 0x3000_0000;
    /// In seconds; said again much more often.
    const LEASE: usize = 80;
    let locator = |port: u16| [&word(1)[..], &word(port.into()), &[0; 12], &address.octets()].concat();
    let parameters: [(usize, Vec<u8>); 7] = [
        (0x0015, vec![2, 4, 0, 0]),                // PID_PROTOCOL_VERSION
        (0x0016, vec![0x01, 0x12, 0, 0]),          // PID_VENDORID
        (0x0050, participant.0.to_vec()),          // PID_PARTICIPANT_GUID
        (0x0032, locator(ports.discovery)),        // PID_METATRAFFIC_UNICAST_LOCATOR
        (0x0031, locator(ports.topics)),           // PID_DEFAULT_UNICAST_LOCATOR
        (0x0058, word(ENDPOINTS).to_vec()),        // PID_BUILTIN_ENDPOINT_SET
        (0x0002, [word(LEASE), word(0)].concat()), // PID_PARTICIPANT_LEASE_DURATION
    ];
    let mut datagram = header(&participant.0);
    // Flags, octets from here to the payload; to nobody in particular, from the writer that announces participants; in PL_CDR.
    let mut body = [&[0, 0, 16, 0], &[0; 4][..], &[0, 1, 0, 0xc2], &number(1), &[0, 3, 0, 0]].concat();
    for (id, value) in parameters {
        body.extend([half(id), half(value.len())].concat());
        body.extend(value);
    }
    body.extend([1, 0, 0, 0]);
    submessage(&mut datagram, 0x15, 4, &body); // DATA, with a payload
    datagram
}

fn header(by: &[u8; 16]) -> Vec<u8> {
    // Version 2.4 and the vendor, as RustDDS has them.
    [b"RTPS\x02\x04\x01\x12", &by[..12]].concat()
}

/// Appends a submessage; all of them are written in little endian.
fn submessage(message: &mut Vec<u8>, kind: u8, flags: u8, body: &[u8]) {
    message.extend([kind, flags | 1]);
    message.extend(half(body.len()));
    message.extend(body);
}

fn half(value: usize) -> [u8; 2] {
    u16::try_from(value).unwrap_or(u16::MAX).to_le_bytes()
}

fn word(value: usize) -> [u8; 4] {
    u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes()
}

fn number(number: i64) -> [u8; 8] {
    halves(number.cast_unsigned())
}

/// The upper half, then the lower one.
fn halves(value: u64) -> [u8; 8] {
    value.rotate_left(32).to_le_bytes()
}
