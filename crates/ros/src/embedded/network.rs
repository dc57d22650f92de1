//! The network settings of a node: the environment variables of ROS 2, read as `rcl` and
//! `rmw_cyclonedds_cpp` read them, as a configuration of Cyclone DDS.

use std::net::{IpAddr, ToSocketAddrs};

use crate::environment::{Environment, Reach, fault};
use crate::faults::other_wire;
use urdf_usd_diagnostic::Diagnostic;

/// Highest domain: DDS has no ports for more.
const LAST_DOMAIN: u16 = 232;

/// The network settings of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// `ROS_DOMAIN_ID`: only nodes of the same domain discover each other.
    pub domain: u16,
    /// `ROS_AUTOMATIC_DISCOVERY_RANGE`, `ROS_LOCALHOST_ONLY`.
    pub reach: Reach,
    /// `ROS_STATIC_PEERS`: names or addresses of machines on which to look for nodes, in addition
    /// to `reach`.
    pub static_peers: Vec<String>,
    /// Cyclone DDS configuration in its XML, without the static peers.
    pub cyclone: String,
    /// Notice that services can't be exchanged with the nodes of `RMW_IMPLEMENTATION`.
    pub notice: Option<Diagnostic>,
}

impl Network {
    /// Reads the settings from the process's environment.
    ///
    /// # Errors
    /// [`crate::codes::ENVIRONMENT`].
    pub fn from_env() -> Result<Self, Diagnostic> {
        Self::from_variables(&Environment::from_process())
    }

    /// Reads the settings for nodes of this program that talk only to each other: limited to this
    /// machine, and independent of `RMW_IMPLEMENTATION`.
    ///
    /// # Errors
    /// [`crate::codes::ENVIRONMENT`].
    pub fn loopback_from_env() -> Result<Self, Diagnostic> {
        Self::loopback(Environment::from_process())
    }

    fn loopback(variables: Environment) -> Result<Self, Diagnostic> {
        // Cyclone refuses an interface that is named twice.
        let variables = variables
            .without("RMW_IMPLEMENTATION")
            .without("CYCLONEDDS_URI");
        let mut network = Self::from_variables(&variables)?;
        if network.reach != Reach::Off {
            network.reach = Reach::Localhost;
            network.cyclone = format!(
                "{},{LOOPBACK}",
                cyclone_config(&variables, Reach::Localhost)
            );
        }
        Ok(network)
    }

    fn from_variables(variables: &Environment) -> Result<Self, Diagnostic> {
        variables.refuse_security()?;
        let reach = variables.reach()?;
        Ok(Self {
            domain: variables.domain(LAST_DOMAIN)?,
            reach,
            static_peers: static_peers(variables, reach),
            cyclone: cyclone_config(variables, reach),
            notice: variables
                .get("RMW_IMPLEMENTATION")
                .map(notice)
                .transpose()?
                .flatten(),
        })
    }

    /// Returns the configuration with static peers at these addresses.
    ///
    /// It contains no names, because Cyclone refuses one that can't be resolved yet.
    pub(super) fn config(&self, peers: &[IpAddr]) -> String {
        let peers: String = peers
            .iter()
            .map(|peer| format!("<Peer address=\"{peer}\"/>"))
            .collect();
        if peers.is_empty() {
            return self.cyclone.clone();
        }
        format!(
            "{},<CycloneDDS><Domain><Discovery><Peers>{peers}</Peers></Discovery></Domain></CycloneDDS>",
            self.cyclone
        )
    }

    /// Returns the addresses of the static peers that can be resolved now. Waits for name servers
    /// if one is a name.
    pub(super) fn resolve_static_peers(&self) -> Vec<IpAddr> {
        let found = self
            .static_peers
            .iter()
            .flat_map(|peer| (peer.as_str(), 0).to_socket_addrs().into_iter().flatten());
        let mut found: Vec<IpAddr> = found
            .map(|address| address.ip())
            .filter(IpAddr::is_ipv4)
            .collect();
        // In a fixed order, because the keeper compares the list with the previous one.
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns whether a static peer is a name, whose address may change.
    pub(super) fn has_named_peers(&self) -> bool {
        self.static_peers
            .iter()
            .any(|peer| peer.parse::<IpAddr>().is_err())
    }

    /// Returns whether the node follows the interfaces of this machine as they come and go.
    pub(super) fn uses_all_interfaces(&self) -> bool {
        self.reach == Reach::Subnet
    }
}

/// Bounds on the memory that peers can make Cyclone hold.
///
/// Its defaults leave this to the peers: a sample may have 2 GiB, 16 may be incomplete for each
/// writer, and one fragment pins the 1 MiB buffer that it arrived in. The longest message of the
/// node has 16 MiB.
const BOUNDS: &str = "<Internal><MaxSampleSize>33 MiB</MaxSampleSize><DefragReliableMaxSamples>4</DefragReliableMaxSamples>\
    <DefragUnreliableMaxSamples>2</DefragUnreliableMaxSamples><PrimaryReorderMaxSamples>32</PrimaryReorderMaxSamples>\
    <SecondaryReorderMaxSamples>32</SecondaryReorderMaxSamples><DeliveryQueueMaxSamples>128</DeliveryQueueMaxSamples></Internal>\
    <Sizing><ReceiveBufferSize>256 KiB</ReceiveBufferSize></Sizing>";

/// Configuration of nodes that talk only to each other: one interface, loopback.
const LOOPBACK: &str = "<CycloneDDS><Domain><General><Interfaces><NetworkInterface address=\"127.0.0.1\"/></Interfaces></General></Domain></CycloneDDS>";

/// Lease that this node announces: how long others keep a stopped node and its requests.
///
/// Other nodes announce 10 s; a conversion on a busy machine may starve the process for longer.
const LEASE: &str = "<LeaseDuration>80s</LeaseDuration>";

/// Interval between announcements of the participant.
const ANNOUNCE_INTERVAL: &str = "<SPDPInterval>8s</SPDPInterval>";

/// Interval between announcements on this machine alone, without an end.
///
/// Cyclone 0.10 (ROS 2 Jazzy) announces itself there to 127.0.0.1, and Cyclone 11 ignores
/// announcements over an interface that it has not chosen for everything else. Such nodes discover
/// each other only by the announcements of this one, which go to every port that a node may use,
/// whether or not one answered before.
const LOCAL_ANNOUNCE_INTERVAL: &str =
    "<SPDPInterval>1s</SPDPInterval><InitialLocatorPruneDelay>inf</InitialLocatorPruneDelay>";

/// Builds Cyclone's configuration as `rcl` and `rmw_cyclonedds_cpp` of Jazzy do: our bounds, then
/// the variables of ROS, then `CYCLONEDDS_URI`.
///
/// Only discovery uses multicast: data by multicast saves nothing for a node with few subscribers,
/// and loses packets on wireless networks.
pub(super) fn cyclone_config(variables: &Environment, reach: Reach) -> String {
    let is_localhost_only = variables.get("ROS_LOCALHOST_ONLY") == Some("1");
    let is_left_to_cyclone = !is_localhost_only
        && variables.get("ROS_AUTOMATIC_DISCOVERY_RANGE") == Some("SYSTEM_DEFAULT");
    let own = variables.get("CYCLONEDDS_URI").unwrap_or_default();
    // SYSTEM_DEFAULT leaves discovery to the configuration of the RMW; only our bounds remain.
    if is_left_to_cyclone {
        return format!("<CycloneDDS><Domain>{BOUNDS}</Domain></CycloneDDS>,{own}");
    }
    let peers = if reach == Reach::Localhost {
        "<Peers><Peer address=\"localhost\"/></Peers>"
    } else {
        ""
    };
    let multicast = if reach == Reach::Subnet {
        "spdp"
    } else {
        "false"
    };
    let discovery = if reach == Reach::Off {
        // Only participants with the same tag discover each other.
        format!(
            "<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{}</Tag>",
            std::process::id()
        )
    } else {
        "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>".to_owned()
    };
    let announced = if reach == Reach::Localhost {
        LOCAL_ANNOUNCE_INTERVAL
    } else {
        ANNOUNCE_INTERVAL
    };
    format!(
        "<CycloneDDS><Domain><General><AllowMulticast>{multicast}</AllowMulticast></General>{BOUNDS}\
         <Discovery>{LEASE}{announced}{discovery}{peers}</Discovery></Domain></CycloneDDS>,{own}"
    )
}

/// Returns the machines of `ROS_STATIC_PEERS`, if `rcl` would use them.
fn static_peers(variables: &Environment, reach: Reach) -> Vec<String> {
    let is_followed = reach != Reach::Off
        && variables.get("ROS_LOCALHOST_ONLY") != Some("1")
        && variables.get("ROS_AUTOMATIC_DISCOVERY_RANGE") != Some("SYSTEM_DEFAULT");
    let peers = variables
        .get("ROS_STATIC_PEERS")
        .filter(|_| is_followed)
        .unwrap_or_default();
    peers
        .split(';')
        .map(str::trim)
        .filter(|peer| !peer.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the notice about an RMW that carries services differently.
///
/// # Errors
/// [`crate::codes::ENVIRONMENT`] for an RMW whose nodes this build can't communicate with.
fn notice(rmw: &str) -> Result<Option<Diagnostic>, Diagnostic> {
    match rmw {
        "rmw_cyclonedds_cpp" => Ok(None),
        "rmw_fastrtps_cpp" | "rmw_fastrtps_dynamic_cpp" | "rmw_connextdds" => {
            Ok(Some(other_wire(&format!("RMW_IMPLEMENTATION={rmw}"))))
        }
        "rmw_zenoh_cpp" => Err(fault("RMW_IMPLEMENTATION", rmw, "this build speaks DDS, not Zenoh")
            .help(
                "build it with the Cargo feature `zenoh` (docs/ros.md), or in a ROS workspace with its client rclrs or r2r, which take any RMW; or \
                 run all nodes with rmw_cyclonedds_cpp or rmw_fastrtps_cpp; or connect the two with zenoh-bridge-ros2dds",
            )),
        _ => {
            Err(fault("RMW_IMPLEMENTATION", rmw, "unknown RMW").help("use rmw_cyclonedds_cpp or rmw_fastrtps_cpp"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(variables: &[(&str, &str)]) -> Result<Network, Diagnostic> {
        Network::from_variables(&Environment::from_pairs(variables))
    }

    #[test]
    fn defaults_are_those_of_jazzy() {
        let network = network(&[("ROS_DOMAIN_ID", "")]).expect("valid");
        assert_eq!(
            (network.domain, network.reach, network.notice.as_ref()),
            (0, Reach::Subnet, None)
        );
        assert!(network.uses_all_interfaces());
    }

    #[test]
    fn variables_that_are_set_apply() {
        for (variables, reach) in [
            (&[("ROS_LOCALHOST_ONLY", "1")][..], Reach::Localhost),
            (
                &[
                    ("ROS_LOCALHOST_ONLY", "1"),
                    ("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET"),
                ],
                Reach::Localhost,
            ),
            (
                &[
                    ("ROS_LOCALHOST_ONLY", "0"),
                    ("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF"),
                ],
                Reach::Off,
            ),
            (
                &[("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")],
                Reach::Localhost,
            ),
            (
                &[("ROS_AUTOMATIC_DISCOVERY_RANGE", "SYSTEM_DEFAULT")],
                Reach::Subnet,
            ),
        ] {
            assert_eq!(
                network(variables).map(|n| n.reach),
                Ok(reach),
                "{variables:?}"
            );
        }
        assert_eq!(
            network(&[("ROS_DOMAIN_ID", "42")]).map(|n| n.domain),
            Ok(42)
        );
    }

    #[test]
    fn an_rmw_of_another_service_wire_is_accepted_with_a_notice() {
        for (rmw, is_noticed) in [
            ("rmw_cyclonedds_cpp", false),
            ("rmw_fastrtps_cpp", true),
            ("rmw_connextdds", true),
        ] {
            let notice = network(&[("RMW_IMPLEMENTATION", rmw)])
                .expect("valid")
                .notice;
            assert_eq!(notice.is_some(), is_noticed, "{rmw}");
            assert!(
                notice.is_none_or(|notice| notice.message.contains(rmw) && !notice.help.is_empty())
            );
        }
    }

    #[test]
    fn cyclone_is_configured_as_its_rmw_does_it_within_our_bounds() {
        let config = |variables: &[(&str, &str)]| network(variables).expect("valid").cyclone;
        let indices = "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>";
        let off = format!(
            "<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{}</Tag>",
            std::process::id()
        );
        let here = "<Peers><Peer address=\"localhost\"/></Peers>";
        for (variables, multicast, discovery) in [
            (&[][..], "spdp", format!("{ANNOUNCE_INTERVAL}{indices}")),
            (
                &[("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")],
                "false",
                format!("{LOCAL_ANNOUNCE_INTERVAL}{indices}{here}"),
            ),
            (
                &[("ROS_LOCALHOST_ONLY", "1")],
                "false",
                format!("{LOCAL_ANNOUNCE_INTERVAL}{indices}{here}"),
            ),
            (
                &[("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")],
                "false",
                format!("{ANNOUNCE_INTERVAL}{off}"),
            ),
        ] {
            let expected = format!(
                "<CycloneDDS><Domain><General><AllowMulticast>{multicast}</AllowMulticast></General>{BOUNDS}\
                 <Discovery>{LEASE}{discovery}</Discovery></Domain></CycloneDDS>,"
            );
            assert_eq!(config(variables), expected, "{variables:?}");
        }
        let own = ("CYCLONEDDS_URI", "<CycloneDDS/>");
        assert!(config(&[own]).ends_with("</CycloneDDS>,<CycloneDDS/>"));
        let left_to_cyclone = config(&[own, ("ROS_AUTOMATIC_DISCOVERY_RANGE", "SYSTEM_DEFAULT")]);
        assert_eq!(
            left_to_cyclone,
            format!("<CycloneDDS><Domain>{BOUNDS}</Domain></CycloneDDS>,<CycloneDDS/>")
        );
    }

    #[test]
    fn static_peers_are_followed_as_rcl_follows_them_and_names_may_be_unknown() {
        let peers = ("ROS_STATIC_PEERS", "10.0.0.7; nowhere.invalid;");
        let with = |variable| network(&[peers, variable]).expect("valid");
        let here = with(("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"));
        assert_eq!(here.static_peers, ["10.0.0.7", "nowhere.invalid"]);
        assert!(here.has_named_peers());
        let found = here.resolve_static_peers();
        assert_eq!(found, [IpAddr::from([10, 0, 0, 7])]);
        assert!(here.config(&found).ends_with(
            "<Peers><Peer address=\"10.0.0.7\"/></Peers></Discovery></Domain></CycloneDDS>"
        ));
        for variable in [
            ("ROS_LOCALHOST_ONLY", "1"),
            ("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF"),
        ] {
            assert!(with(variable).static_peers.is_empty(), "{variable:?}");
        }
    }

    #[test]
    fn nodes_that_talk_to_each_other_stay_on_this_machine_and_need_no_rmw() {
        for rmw in ["", "rmw_zenoh_cpp", "rmw_cyclonedds_cpp", "rmw_x"] {
            let variables = [("RMW_IMPLEMENTATION", rmw), ("CYCLONEDDS_URI", LOOPBACK)];
            let network = Network::loopback(Environment::from_pairs(&variables)).expect(rmw);
            assert_eq!(
                network.cyclone.matches("127.0.0.1").count(),
                1,
                "{}",
                network.cyclone
            );
            assert_eq!(
                (network.reach, network.notice),
                (Reach::Localhost, None),
                "{rmw}"
            );
            assert!(network.cyclone.ends_with(LOOPBACK), "{}", network.cyclone);
        }
        let off = Network::loopback(Environment::from_pairs(&[(
            "ROS_AUTOMATIC_DISCOVERY_RANGE",
            "OFF",
        )]));
        assert_eq!(off.map(|network| network.reach), Ok(Reach::Off));
    }

    #[test]
    fn unsupported_values_are_refused_with_the_remedy() {
        for (name, value) in [
            ("ROS_DOMAIN_ID", "233"),
            ("ROS_DOMAIN_ID", "-1"),
            ("ROS_DOMAIN_ID", "x"),
            ("ROS_LOCALHOST_ONLY", "yes"),
            ("ROS_AUTOMATIC_DISCOVERY_RANGE", "WORLD"),
            ("RMW_IMPLEMENTATION", "rmw_zenoh_cpp"),
            ("RMW_IMPLEMENTATION", "rmw_x"),
            ("ROS_SECURITY_ENABLE", "true"),
        ] {
            let fault = network(&[(name, value)]).expect_err(value);
            assert!(
                fault.message.starts_with(&format!("{name}={value}: ")) && !fault.help.is_empty(),
                "{fault}"
            );
        }
    }
}
