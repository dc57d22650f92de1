//! The representation of ROS in Zenoh, as in the design document of `rmw_zenoh_cpp`: key
//! expressions of topics and services, liveliness tokens of nodes and endpoints, and the attachment
//! of every message.
//!
//! Only text and bytes: nothing here accesses the network.

use xxhash_rust::xxh3::xxh3_128;

use crate::graph::EndQos;
use crate::names::{self, NodeName};
use crate::{Durability, PublisherId, Qos, Reliability};

/// The history depth that a token omits.
const DEPTH: usize = 42;

/// Placeholder for the hash of an unknown type.
pub(super) const NO_HASH: &str =
    "RIHS01_0000000000000000000000000000000000000000000000000000000000000000";

/// The kind of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Publisher,
    Subscriber,
    Server,
    Client,
}

const KINDS: [(Kind, &str); 4] = [
    (Kind::Publisher, "MP"),
    (Kind::Subscriber, "MS"),
    (Kind::Server, "SS"),
    (Kind::Client, "SC"),
];

/// An end of a topic or service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub kind: Kind,
    /// The topic or service: `/left/scan`.
    pub name: String,
    /// Its type: `sensor_msgs/msg/LaserScan`.
    pub type_name: String,
    /// The type's hash: `RIHS01_…`.
    pub hash: String,
}

impl End {
    /// Returns the key expression of the endpoint's data.
    pub(super) fn key(&self, domain: u32) -> String {
        format!(
            "{domain}/{}/{}/{}",
            // Key expressions of Zenoh neither begin nor end with a slash.
            self.name.trim_matches('/'),
            names::dds_type(&self.type_name, ""),
            self.hash
        )
    }
}

/// A node in a session: the beginning of its tokens.
pub(super) struct Origin {
    pub domain: u32,
    /// The session's identifier.
    pub session: String,
    pub node: NodeName,
}

impl Origin {
    fn token(&self, number: u64, kind: &str) -> String {
        // A session has one node, number 0, in the root enclave, `%`.
        let (space, name) = (mangle(&self.node.namespace), &self.node.name);
        format!(
            "@ros2_lv/{}/{}/0/{number}/{kind}/%/{space}/{name}",
            self.domain, self.session
        )
    }

    /// Returns the node's token.
    pub(super) fn node(&self) -> String {
        self.token(0, "NN")
    }

    /// Returns the token of the node's `number`th endpoint, from 1.
    pub(super) fn end(&self, number: u64, end: &End, qos: Qos) -> String {
        let End {
            kind,
            name,
            type_name,
            hash,
        } = end;
        let kind = KINDS
            .iter()
            .find(|(known, _)| known == kind)
            .map_or("", |(_, text)| text);
        format!(
            "{}/{}/{}/{hash}/{}",
            self.token(number, kind),
            mangle(name),
            mangle(&names::dds_type(type_name, "")),
            qos_text(qos)
        )
    }

    /// Returns the key expression that matches all tokens of the domain.
    pub(super) fn all(&self) -> String {
        format!("@ros2_lv/{}/**", self.domain)
    }
}

/// The contents of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParsedToken {
    /// The node's fully qualified name.
    pub node: String,
    /// The endpoint; `None` if the token is the node's own.
    pub end: Option<(End, EndQos)>,
}

/// Parses a token; `None` if it does not belong to ROS.
pub(super) fn read(token: &str) -> Option<ParsedToken> {
    let mut parts = token.split('/');
    let mut next = || parts.next().filter(|part| !part.is_empty());
    let (space, _domain, _session, _node, _number) = (next()?, next()?, next()?, next()?, next()?);
    let (kind, _enclave, namespace, name) = (next()?, next()?, next()?, next()?);
    if space != "@ros2_lv" {
        return None;
    }
    let node = names::join(&demangle(namespace), &demangle(name));
    if kind == "NN" {
        return Some(ParsedToken { node, end: None });
    }
    let (kind, _) = KINDS.iter().find(|(_, text)| *text == kind)?;
    let (name, type_name, hash, qos) = (
        demangle(next()?),
        demangle(next()?),
        demangle(next()?),
        next()?,
    );
    let end = End {
        kind: *kind,
        name,
        type_name: names::ros_type(&type_name, ""),
        hash,
    };
    Some(ParsedToken {
        node,
        end: Some((end, read_qos(qos)?)),
    })
}

/// Returns the identity of an endpoint: derived from its token, and the same in every session.
pub(super) fn identity(token: &str) -> PublisherId {
    PublisherId(xxh3_128(token.as_bytes()).to_le_bytes())
}

fn mangle(name: &str) -> String {
    name.replace('/', "%")
}

fn demangle(name: &str) -> String {
    name.replace('%', "/")
}

/// Writes `reliability:durability:history,depth:deadline:lifespan:liveliness`.
///
/// Each part is a number of `rmw`, and empty for the default: reliable, volatile, keep-last,
/// without time limits.
fn qos_text(qos: Qos) -> String {
    let reliability = if qos.reliability == Reliability::BestEffort {
        "2"
    } else {
        ""
    };
    let durability = if qos.durability == Durability::TransientLocal {
        "1"
    } else {
        ""
    };
    let depth = Some(qos.depth.max(1))
        .filter(|depth| *depth != DEPTH)
        .map(|depth| depth.to_string())
        .unwrap_or_default();
    let lifespan = qos.lifespan.map_or_else(
        || ",".to_owned(),
        |time| format!("{},{}", time.as_secs(), time.subsec_nanos()),
    );
    format!("{reliability}:{durability}:,{depth}:,:{lifespan}:,,")
}

fn read_qos(text: &str) -> Option<EndQos> {
    let mut parts = text.split(':');
    let (reliability, durability, history) = (parts.next()?, parts.next()?, parts.next()?);
    let (history, depth) = history.split_once(',')?;
    let depth = if depth.is_empty() {
        DEPTH
    } else {
        depth.parse().ok()?
    };
    Some(EndQos {
        reliability: if reliability == "2" {
            Reliability::BestEffort
        } else {
            Reliability::Reliable
        },
        durability: if durability == "1" {
            Durability::TransientLocal
        } else {
            Durability::Volatile
        },
        // 2 is RMW_QOS_POLICY_HISTORY_KEEP_ALL.
        depth: (history != "2").then_some(depth),
    })
}

/// The attachment of a message, a request or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attached {
    /// Sequence number of a publisher's messages or a client's requests; an answer has the number
    /// of its request.
    pub number: i64,
    /// Time of sending, in nanoseconds since 1970.
    pub stamp: i64,
    /// The publisher or client; in an answer, the client that asked.
    pub sender: PublisherId,
}

/// Length of a sender's identity, in bytes.
const IDENTITY: u8 = 16;

impl Attached {
    /// Returns the attachment of a message that is sent now.
    pub(super) fn now(number: i64, sender: PublisherId) -> Self {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            number,
            stamp: i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
            sender,
        }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        [
            &self.number.to_le_bytes()[..],
            &self.stamp.to_le_bytes(),
            &[IDENTITY],
            &self.sender.0,
        ]
        .concat()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        let (stamp, rest) = rest.split_first_chunk()?;
        let sender = rest.strip_prefix(&[IDENTITY])?.try_into().ok()?;
        Some(Self {
            number: i64::from_le_bytes(*number),
            stamp: i64::from_le_bytes(*stamp),
            sender: PublisherId(sender),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn origin(namespace: &str) -> Origin {
        let node = NodeName {
            name: "listener".to_owned(),
            namespace: namespace.to_owned(),
        };
        Origin {
            domain: 2,
            session: "aac3178e146ba6f1fc6e6a4085e77f21".to_owned(),
            node,
        }
    }

    fn end(kind: Kind, name: &str, type_name: &str, hash: &str) -> End {
        End {
            kind,
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            hash: hash.to_owned(),
        }
    }

    /// The examples of the design document of `rmw_zenoh_cpp` (branch jazzy, "Graph Cache" and
    /// "Topic and Service name mapping").
    #[test]
    fn keys_and_tokens_are_those_of_rmw_zenoh() {
        const TEXT: &str =
            "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
        const ADD: &str = "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a";
        let chatter = end(Kind::Subscriber, "/chatter", "std_msgs/msg/String", TEXT);
        assert_eq!(
            chatter.key(0),
            format!("0/chatter/std_msgs::msg::dds_::String_/{TEXT}")
        );
        let robot = End {
            name: "/robot1/chatter".to_owned(),
            ..chatter.clone()
        };
        assert_eq!(
            robot.key(0),
            format!("0/robot1/chatter/std_msgs::msg::dds_::String_/{TEXT}")
        );
        let add = end(
            Kind::Server,
            "/add_two_ints",
            "example_interfaces/srv/AddTwoInts",
            ADD,
        );
        assert_eq!(
            add.key(2),
            format!("2/add_two_ints/example_interfaces::srv::dds_::AddTwoInts_/{ADD}")
        );

        let origin = origin("/");
        assert_eq!(
            origin.node(),
            "@ros2_lv/2/aac3178e146ba6f1fc6e6a4085e77f21/0/0/NN/%/%/listener"
        );
        assert_eq!(
            origin.end(10, &chatter, Qos::reliable(10)),
            format!(
                "@ros2_lv/2/aac3178e146ba6f1fc6e6a4085e77f21/0/10/MS/%/%/listener/%chatter/std_msgs::msg::dds_::String_/{TEXT}/::,10:,:,:,,"
            )
        );
        assert!(origin.end(10, &add, Qos::reliable(10)).ends_with(&format!(
            "/SS/%/%/listener/%add_two_ints/example_interfaces::srv::dds_::AddTwoInts_/{ADD}/::,10:,:,:,,"
        )));
        let token = read("@ros2_lv/2/8b2/0/10/MP/%/%/talker/%chatter/std_msgs::msg::dds_::String_/RIHS01_df/::,7:,:,:,,")
            .expect("a token");
        assert_eq!(token.node, "/talker");
        let qos = EndQos {
            reliability: Reliability::Reliable,
            durability: Durability::Volatile,
            depth: Some(7),
        };
        assert_eq!(
            token.end,
            Some((
                end(
                    Kind::Publisher,
                    "/chatter",
                    "std_msgs/msg/String",
                    "RIHS01_df"
                ),
                qos
            ))
        );
    }

    #[test]
    fn tokens_round_trip() {
        let scan = end(
            Kind::Publisher,
            "/left/scan",
            "sensor_msgs/msg/LaserScan",
            NO_HASH,
        );
        for (qos, text) in [
            (Qos::best_effort(5), "2::,5:,:,:,,"),
            (Qos::latched(42), ":1:,:,:,:,,"),
            (
                Qos {
                    lifespan: Some(Duration::from_millis(10_500)),
                    ..Qos::latched(1000)
                },
                ":1:,1000:,:10,500000000:,,",
            ),
        ] {
            let token = origin("/left/arm").end(3, &scan, qos);
            assert!(token.ends_with(&format!("/{text}")), "{token}");
            let heard = EndQos {
                reliability: qos.reliability,
                durability: qos.durability,
                depth: Some(qos.depth),
            };
            assert_eq!(
                read(&token),
                Some(ParsedToken {
                    node: "/left/arm/listener".to_owned(),
                    end: Some((scan.clone(), heard))
                })
            );
        }
        assert_eq!(
            read_qos(":1:2,5:,:,:,,").map(|qos| qos.depth),
            Some(None),
            "all are kept"
        );
        let node = origin("/left").node();
        assert_eq!(
            read(&node),
            Some(ParsedToken {
                node: "/left/listener".to_owned(),
                end: None
            })
        );
        for nonsense in [
            "",
            "@ros2_lv",
            "@other/2/a/0/0/NN/%/%/n",
            "@ros2_lv/2/a/0/0/XX/%/%/n",
            "@ros2_lv/2/a/0/1/MP/%/%/n/%t",
        ] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }

    /// The output of `ros2 topic info -v` for a publisher under rmw_zenoh_cpp 0.2.10, and its
    /// token.
    #[test]
    fn identities_are_those_of_rmw_zenoh() {
        let token = "@ros2_lv/72/5f3dc59f792bbfd515bf7f14b6e5867e/0/4/MP/%/%/_ros2cli_2866/%chatter/std_msgs::msg::dds_::String_/\
                     RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18/::,10:,:,:,,";
        let printed = [
            0xe6, 0x4b, 0xe1, 0xed, 0xfe, 0x6f, 0x4a, 0x5f, 0xd2, 0x72, 0x87, 0x3b, 0xc8, 0xa3,
            0x0f, 0x71,
        ];
        assert_eq!(identity(token), PublisherId(printed));
    }

    #[test]
    fn attachments_are_laid_out_as_in_the_design_document() {
        let attached = Attached {
            number: 258,
            stamp: -2,
            sender: PublisherId(std::array::from_fn(|n| n as u8)),
        };
        let bytes = attached.to_bytes();
        assert_eq!(bytes.len(), 8 + 8 + 1 + 16);
        assert_eq!(
            (&bytes[..3], &bytes[8..10], bytes[16], &bytes[17..20]),
            (&[2, 1, 0][..], &[254, 255][..], 16, &[0, 1, 2][..])
        );
        assert_eq!(Attached::from_bytes(&bytes), Some(attached));
        assert_eq!(Attached::from_bytes(&bytes[..32]), None);
        assert!(Attached::now(1, PublisherId::default()).stamp > 1_600_000_000_000_000_000);
    }

    proptest! {
        #[test]
        fn no_token_panics(token in "(@ros2_lv/)?[a-zA-Z0-9%:,_/]{0,120}", bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = (read(&token), read_qos(&token), Attached::from_bytes(&bytes));
        }
    }
}
