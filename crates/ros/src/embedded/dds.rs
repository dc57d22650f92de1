//! One DDS participant: its readers and writers of undecoded messages, and what discovery tells it.
//!
//! It is on RustDDS, or on Cyclone DDS where this is built with it and the node is to speak as `rmw_cyclonedds_cpp` does. It knows
//! nothing of nodes, and nothing here outlives its participant: that is for [`super::session`] and [`super::supervisor`].

use std::fmt;
use std::net::SocketAddr;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use serde::{Deserialize, Serialize};

use super::network::Network;
use super::rtps::Ports;
use crate::Qos;
use crate::graph::EndQos;
use urdf_usd_diagnostic::Diagnostic;

#[cfg(feature = "cyclone")]
mod cyclone;
mod rust;

/// The identity of a participant, a reader or a writer as ROS writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Gid(pub [u8; 16]);

impl Gid {
    /// What all ends of its participant begin with.
    pub(super) fn prefix(self) -> Prefix {
        let mut prefix = [0; 12];
        prefix.copy_from_slice(&self.0[..12]);
        Prefix(prefix)
    }
}

/// What the identities of a participant and its ends begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Prefix(pub [u8; 12]);

/// A topic as DDS names it: `rt/tf`, `tf2_msgs::msg::dds_::TFMessage_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DdsTopic {
    pub name: String,
    pub kind: String,
}

/// Which way an end looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// It listens.
    Reader,
    /// It writes.
    Writer,
}

/// A reader or writer in DDS terms.
pub(super) struct End {
    pub gid: Gid,
    pub direction: Direction,
    pub topic: DdsTopic,
    pub qos: EndQos,
}

/// The request that an answer is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Related {
    pub writer: Gid,
    pub number: i64,
}

/// A message that arrived.
pub(super) struct Arrived {
    /// In CDR, with its header of four bytes.
    pub payload: Bytes,
    pub writer: Gid,
    /// Its number among those of its writer: later ones have higher numbers.
    pub number: i64,
    pub related: Option<Related>,
    /// Whether it arrived before its reader was made: for an earlier reader of this topic.
    pub is_old: bool,
}

/// What discovery tells.
pub(super) enum Event {
    /// A writer was found.
    Writer(Gid),
    /// A reader was found.
    Reader,
    /// A reader or writer left.
    EndLost(Gid),
    /// A participant was found.
    Participant(Prefix),
    /// A participant left, or was silent for longer than it said it would be.
    ParticipantLost { prefix: Prefix, was_silent: bool },
    /// An own end is connected with another one.
    Matched { own: Gid, other: Gid },
    /// It is not any more. The other one may still be there.
    #[cfg_attr(not(feature = "cyclone"), allow(dead_code, reason = "RustDDS does not tell"))]
    Unmatched { own: Gid, other: Gid },
    /// An own end can't be connected with another one.
    Incompatible { own: Gid, who: &'static str, offered: String, requested: String },
}

/// Why something could not be read or written.
pub(super) struct Fault(String);

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// The same.
pub(super) type ReadError = Fault;

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One of the libraries.
enum Either<R, C> {
    Rust(R),
    #[cfg_attr(not(feature = "cyclone"), allow(dead_code, reason = "there is only the other one"))]
    Cyclone(C),
}

// Without it the second one is the first, and never met.
#[cfg(not(feature = "cyclone"))]
use rust as cyclone;

macro_rules! either {
    ($either:expr, $one:ident => $what:expr) => {
        match $either {
            Either::Rust($one) => $what,
            Either::Cyclone($one) => $what,
        }
    };
}

/// The participant.
pub(super) struct Dds(Either<rust::Dds, cyclone::Dds>);

impl Dds {
    /// Opens the network.
    pub(super) fn join(network: &Network) -> Result<Self, Diagnostic> {
        #[cfg(feature = "cyclone")]
        if let Some(config) = &network.cyclone {
            return Ok(Self(Either::Cyclone(cyclone::Dds::join(network.domain, config)?)));
        }
        rust::Dds::join(network).map(|dds| Self(Either::Rust(dds)))
    }

    /// Its identity.
    pub(super) fn gid(&self) -> Gid {
        either!(&self.0, dds => dds.gid())
    }

    /// Whether it stays good whatever happens but for a change of this machine's addresses: it meets again by itself whom it has given
    /// up, or who has given it up, its threads don't end, and it forgets who has left.
    pub(super) fn is_lasting(&self) -> bool {
        matches!(self.0, Either::Cyclone(_))
    }

    /// Where it takes what others send.
    pub(super) fn ports(&self) -> Ports {
        either!(&self.0, dds => dds.ports())
    }

    /// Whether its threads are still there.
    pub(super) fn is_alive(&self) -> bool {
        either!(&self.0, dds => dds.is_alive())
    }

    /// Listens to `topic`. `cached`: how many messages of all publishers together may wait to be read.
    pub(super) fn reader(&self, topic: &DdsTopic, qos: Qos, cached: usize) -> Result<Reader, Diagnostic> {
        Ok(Reader(match &self.0 {
            Either::Rust(dds) => Either::Rust(dds.reader(topic, qos, cached)?),
            Either::Cyclone(dds) => Either::Cyclone(dds.reader(topic, qos, cached)?),
        }))
    }

    /// Writes to `topic`.
    pub(super) fn writer(&self, topic: &DdsTopic, qos: Qos) -> Result<Writer, Diagnostic> {
        Ok(Writer(match &self.0 {
            Either::Rust(dds) => Either::Rust(dds.writer(topic, qos)?),
            Either::Cyclone(dds) => Either::Cyclone(dds.writer(topic, qos)?),
        }))
    }

    /// Tells `hear` what discovery tells, until the future is dropped.
    pub(super) async fn listen(&self, hear: impl FnMut(Event)) {
        either!(&self.0, dds => dds.listen(hear).await);
    }

    /// Waits until the library has done what it was asked for, a moment.
    pub(super) fn let_finish(&self) {
        either!(&self.0, dds => dds.let_finish());
    }

    /// The ends of others that discovery knows.
    pub(super) fn ends(&self) -> impl Iterator<Item = End> {
        let ends: Vec<End> = either!(&self.0, dds => dds.ends().collect());
        ends.into_iter()
    }

    /// Where `reader` takes datagrams; nowhere if it is not known.
    pub(super) fn addresses(&self, reader: Gid) -> Vec<SocketAddr> {
        either!(&self.0, dds => dds.addresses(reader))
    }

    /// Lets a writer on Fast DDS send its first sample once more; see [`super::rtps`].
    pub(super) fn ask_for_first(&self, reader: Gid, writer: Gid) {
        either!(&self.0, dds => dds.ask_for_first(reader, writer));
    }
}

/// The listening end of a topic.
pub(super) struct Reader(Either<rust::Reader, cyclone::Reader>);

impl Reader {
    pub(super) fn gid(&self) -> Gid {
        either!(&self.0, reader => reader.gid())
    }

    /// What arrives, without end.
    pub(super) fn stream(&self) -> impl Stream<Item = Result<Arrived, ReadError>> + '_ {
        match &self.0 {
            Either::Rust(reader) => reader.stream().left_stream(),
            Either::Cyclone(reader) => reader.stream().right_stream(),
        }
    }
}

/// The writing end of a topic. Messages are in CDR, little-endian, with their header of four bytes.
pub(super) struct Writer(Either<rust::Writer, cyclone::Writer>);

impl Writer {
    pub(super) fn gid(&self) -> Gid {
        either!(&self.0, writer => writer.gid())
    }

    /// Writes, about another message if there is one, to all readers or only one, as far as the library can; returns the number of
    /// what was written.
    pub(super) async fn write(&self, message: Bytes, related: Option<Related>, only: Option<Gid>) -> Result<i64, Fault> {
        either!(&self.0, writer => writer.write(message, related, only).await)
    }

    /// Whether all readers have what was written.
    pub(super) fn is_acknowledged(&self) -> bool {
        either!(&self.0, writer => writer.is_acknowledged())
    }

    /// Waits until all readers have what was written.
    pub(super) async fn acknowledged(&self) {
        either!(&self.0, writer => writer.acknowledged().await);
    }

    /// Writes at once, or not at all if the network is busy.
    pub(super) fn write_now(&self, message: Bytes) {
        either!(&self.0, writer => writer.write_now(message));
    }

    /// Waits until all readers that are connected now take what is written from now on for news.
    ///
    /// A reader under Cyclone takes all that was written before the first heartbeat it sees for history that is none of its business.
    pub(super) async fn settle(&self) {
        either!(&self.0, writer => writer.settle().await);
    }
}
