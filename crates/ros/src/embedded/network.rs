//! Where the node may talk and how: the environment variables of ROS 2, read as `rcl` and `rmw_cyclonedds_cpp` read them, as a
//! configuration of Cyclone DDS.

use crate::environment::{Environment, Reach, fault};
use crate::faults::other_wire;
use urdf_usd_diagnostic::Diagnostic;

/// The highest domain: DDS has no ports for more.
const LAST_DOMAIN: u16 = 232;

/// The network settings of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// `ROS_DOMAIN_ID`: only nodes of one domain hear each other.
    pub domain: u16,
    /// `ROS_AUTOMATIC_DISCOVERY_RANGE`, `ROS_LOCALHOST_ONLY`.
    pub reach: Reach,
    /// The configuration of Cyclone DDS, in its XML.
    pub cyclone: String,
    /// That services can't be exchanged with the nodes that `RMW_IMPLEMENTATION` announces.
    pub notice: Option<Diagnostic>,
}

impl Network {
    /// Reads the settings from the process's environment.
    ///
    /// # Errors
    /// [`crate::codes::ENVIRONMENT`].
    pub fn from_env() -> Result<Self, Diagnostic> {
        Self::from_variables(&Environment::of_process())
    }

    /// The same for nodes of this program that talk only to each other: never beyond this machine, and whatever `RMW_IMPLEMENTATION`
    /// says of others.
    ///
    /// # Errors
    /// [`crate::codes::ENVIRONMENT`].
    pub fn loopback_from_env() -> Result<Self, Diagnostic> {
        Self::loopback(Environment::of_process())
    }

    fn loopback(variables: Environment) -> Result<Self, Diagnostic> {
        let variables = variables.without("RMW_IMPLEMENTATION");
        let mut network = Self::from_variables(&variables)?;
        if network.reach != Reach::Off {
            network.reach = Reach::Localhost;
            network.cyclone = format!("{},{LOOPBACK}", cyclone_config(&variables, Reach::Localhost));
        }
        Ok(network)
    }

    fn from_variables(variables: &Environment) -> Result<Self, Diagnostic> {
        variables.refuse_security()?;
        let reach = variables.reach()?;
        Ok(Self {
            domain: variables.domain(LAST_DOMAIN)?,
            reach,
            cyclone: cyclone_config(variables, reach),
            notice: variables.get("RMW_IMPLEMENTATION").map(notice).transpose()?.flatten(),
        })
    }

    /// Whether the node follows the interfaces of this machine as they come and go.
    pub(super) fn uses_all_interfaces(&self) -> bool {
        self.reach == Reach::Subnet
    }
}

/// Bounds on what peers can make Cyclone keep. The defaults leave them to the peers: a sample may have 2 GiB, of which 16 may be incomplete for
/// each writer, and one fragment pins the 1 MiB of buffer that it arrived in. The longest message of the node has 16 MiB.
const BOUNDS: &str = "<Internal><MaxSampleSize>33 MiB</MaxSampleSize><DefragReliableMaxSamples>4</DefragReliableMaxSamples>\
    <DefragUnreliableMaxSamples>2</DefragUnreliableMaxSamples><PrimaryReorderMaxSamples>32</PrimaryReorderMaxSamples>\
    <SecondaryReorderMaxSamples>32</SecondaryReorderMaxSamples><DeliveryQueueMaxSamples>128</DeliveryQueueMaxSamples></Internal>\
    <Sizing><ReceiveBufferSize>256 KiB</ReceiveBufferSize></Sizing>";

/// The one interface of nodes that talk only to each other.
const LOOPBACK: &str = "<CycloneDDS><Domain><General><Interfaces><NetworkInterface address=\"127.0.0.1\"/></Interfaces></General></Domain></CycloneDDS>";

/// How long others keep a node that is stopped, with what they asked it, and how often it announces itself. Other nodes have a lease of
/// 10 s; a conversion on a busy machine may starve the process for longer.
const LEASE: &str = "<LeaseDuration>80s</LeaseDuration>";

/// How often a node announces itself, …
const ANNOUNCED: &str = "<SPDPInterval>8s</SPDPInterval>";

/// … and how often to those of this machine alone, for as long as it is there. Cyclone 0.10, which ROS 2 Jazzy has, announces itself there
/// to 127.0.0.1, and Cyclone 11 does not listen to announcements over an interface that it has not chosen for all else: such nodes
/// meet by the announcements of this one, to each port that one may be at, whether or not a node was there before.
const ANNOUNCED_HERE: &str = "<SPDPInterval>1s</SPDPInterval><InitialLocatorPruneDelay>inf</InitialLocatorPruneDelay>";

/// Makes Cyclone's configuration as `rcl` and `rmw_cyclonedds_cpp` of Jazzy do: our bounds, what ROS says, and on top of both what
/// `CYCLONEDDS_URI` says.
///
/// Multicast carries discovery only: data by multicast saves nothing for a node that publishes to a few subscribers, and loses on
/// wireless networks.
pub(super) fn cyclone_config(variables: &Environment, reach: Reach) -> String {
    let is_localhost_only = variables.get("ROS_LOCALHOST_ONLY") == Some("1");
    let is_left_to_cyclone = !is_localhost_only && variables.get("ROS_AUTOMATIC_DISCOVERY_RANGE") == Some("SYSTEM_DEFAULT");
    let own = variables.get("CYCLONEDDS_URI").unwrap_or_default();
    if is_left_to_cyclone {
        return format!("<CycloneDDS><Domain>{BOUNDS}</Domain></CycloneDDS>,{own}");
    }
    let peers = variables.get("ROS_STATIC_PEERS").filter(|_| reach != Reach::Off && !is_localhost_only).unwrap_or_default();
    let peers = peers.split(';').map(str::trim).filter(|peer| !peer.is_empty());
    let localhost = (reach == Reach::Localhost).then_some("localhost");
    let peers: String =
        localhost.into_iter().chain(peers).map(|peer| format!("<Peer address=\"{}\"/>", escaped(peer))).collect();
    let multicast = if reach == Reach::Subnet { "spdp" } else { "false" };
    let discovery = if reach == Reach::Off {
        // Only participants with the same tag discover each other.
        format!("<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{}</Tag>", std::process::id())
    } else {
        "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>".to_owned()
    };
    let announced = if reach == Reach::Localhost { ANNOUNCED_HERE } else { ANNOUNCED };
    let peers = if peers.is_empty() { peers } else { format!("<Peers>{peers}</Peers>") };
    format!(
        "<CycloneDDS><Domain><General><AllowMulticast>{multicast}</AllowMulticast></General>{BOUNDS}\
         <Discovery>{LEASE}{announced}{discovery}{peers}</Discovery></Domain></CycloneDDS>,{own}"
    )
}

/// Escapes a text as the value of an XML attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Returns the notice about an RMW whose services look otherwise.
///
/// # Errors
/// [`crate::codes::ENVIRONMENT`] for an RMW whose nodes this build can't meet at all.
fn notice(rmw: &str) -> Result<Option<Diagnostic>, Diagnostic> {
    match rmw {
        "rmw_cyclonedds_cpp" => Ok(None),
        "rmw_fastrtps_cpp" | "rmw_fastrtps_dynamic_cpp" | "rmw_connextdds" => {
            Ok(Some(other_wire(&format!("RMW_IMPLEMENTATION={rmw}"))))
        }
        "rmw_zenoh_cpp" => Err(fault("RMW_IMPLEMENTATION", rmw, "this build speaks DDS, not Zenoh")
            .help(
                "build it with the Cargo feature `zenoh` (docs/ros.md), or in a ROS workspace with its client rclrs, which takes any RMW; or \
                 run all nodes with rmw_cyclonedds_cpp or rmw_fastrtps_cpp; or connect the two with zenoh-bridge-ros2dds",
            )),
        _ => {
            Err(fault("RMW_IMPLEMENTATION", rmw, "this build does not know it").help("rmw_cyclonedds_cpp or rmw_fastrtps_cpp"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(variables: &[(&str, &str)]) -> Result<Network, Diagnostic> {
        Network::from_variables(&Environment::of(variables))
    }

    #[test]
    fn defaults_are_those_of_jazzy() {
        let network = network(&[("ROS_DOMAIN_ID", "")]).expect("valid");
        assert_eq!((network.domain, network.reach, network.notice.as_ref()), (0, Reach::Subnet, None));
        assert!(network.uses_all_interfaces());
    }

    #[test]
    fn what_is_set_is_followed() {
        for (variables, reach) in [
            (&[("ROS_LOCALHOST_ONLY", "1")][..], Reach::Localhost),
            (&[("ROS_LOCALHOST_ONLY", "1"), ("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")], Reach::Localhost),
            (&[("ROS_LOCALHOST_ONLY", "0"), ("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")], Reach::Off),
            (&[("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")], Reach::Localhost),
            (&[("ROS_AUTOMATIC_DISCOVERY_RANGE", "SYSTEM_DEFAULT")], Reach::Subnet),
        ] {
            assert_eq!(network(variables).map(|n| n.reach), Ok(reach), "{variables:?}");
        }
        assert_eq!(network(&[("ROS_DOMAIN_ID", "42")]).map(|n| n.domain), Ok(42));
    }

    #[test]
    fn an_rmw_whose_services_look_otherwise_is_taken_with_a_notice() {
        for (rmw, is_noticed) in [("rmw_cyclonedds_cpp", false), ("rmw_fastrtps_cpp", true), ("rmw_connextdds", true)] {
            let notice = network(&[("RMW_IMPLEMENTATION", rmw)]).expect("valid").notice;
            assert_eq!(notice.is_some(), is_noticed, "{rmw}");
            assert!(notice.is_none_or(|notice| notice.message.contains(rmw) && !notice.help.is_empty()));
        }
    }

    #[test]
    fn cyclone_is_configured_as_its_rmw_does_it_within_our_bounds() {
        let config = |variables: &[(&str, &str)]| network(variables).expect("valid").cyclone;
        let indices = "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>";
        let off = format!("<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{}</Tag>", std::process::id());
        let peers = |peers: &[&str]| {
            let peers: String = peers.iter().map(|peer| format!("<Peer address=\"{peer}\"/>")).collect();
            format!("<Peers>{peers}</Peers>")
        };
        for (variables, multicast, discovery) in [
            (&[][..], "spdp", format!("{ANNOUNCED}{indices}")),
            (
                &[("ROS_STATIC_PEERS", "10.0.0.7; a\"&b;")],
                "spdp",
                format!("{ANNOUNCED}{indices}{}", peers(&["10.0.0.7", "a&quot;&amp;b"])),
            ),
            (
                &[("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"), ("ROS_STATIC_PEERS", "h")],
                "false",
                format!("{ANNOUNCED_HERE}{indices}{}", peers(&["localhost", "h"])),
            ),
            (
                &[("ROS_LOCALHOST_ONLY", "1"), ("ROS_STATIC_PEERS", "h")],
                "false",
                format!("{ANNOUNCED_HERE}{indices}{}", peers(&["localhost"])),
            ),
            (&[("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF"), ("ROS_STATIC_PEERS", "h")], "false", format!("{ANNOUNCED}{off}")),
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
        assert_eq!(left_to_cyclone, format!("<CycloneDDS><Domain>{BOUNDS}</Domain></CycloneDDS>,<CycloneDDS/>"));
    }

    #[test]
    fn nodes_that_talk_to_each_other_stay_on_this_machine_and_need_no_rmw() {
        for rmw in ["", "rmw_zenoh_cpp", "rmw_cyclonedds_cpp", "rmw_x"] {
            let network = Network::loopback(Environment::of(&[("RMW_IMPLEMENTATION", rmw)])).expect(rmw);
            assert_eq!((network.reach, network.notice), (Reach::Localhost, None), "{rmw}");
            assert!(network.cyclone.ends_with(LOOPBACK), "{}", network.cyclone);
        }
        let off = Network::loopback(Environment::of(&[("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")]));
        assert_eq!(off.map(|network| network.reach), Ok(Reach::Off));
    }

    #[test]
    fn what_can_t_be_honoured_is_refused_with_the_remedy() {
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
            assert!(fault.message.starts_with(&format!("{name}={value}: ")) && !fault.help.is_empty(), "{fault}");
        }
    }
}
