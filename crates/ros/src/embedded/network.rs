//! Where the node may talk and how: the environment variables of ROS 2, read as `rcl` and the `rmw` layers read them.

use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs, UdpSocket};

use crate::environment::{Environment, Reach, fault};
use urdf_usd_diagnostic::Diagnostic;

/// The highest domain: DDS has no ports for more.
const LAST_DOMAIN: u16 = 232;

/// How requests and replies of services look on the wire. The two families of DDS clients differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceWire {
    /// `rmw_fastrtps_cpp`, and `rmw_connextdds`: the identity of the request in the inline QoS.
    FastDds,
    /// `rmw_cyclonedds_cpp`: the identity in a header of the payload.
    Cyclone,
}

/// The network settings of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// `ROS_DOMAIN_ID`: only nodes of one domain hear each other.
    pub domain: u16,
    /// `ROS_AUTOMATIC_DISCOVERY_RANGE`, `ROS_LOCALHOST_ONLY`.
    pub reach: Reach,
    /// From `RMW_IMPLEMENTATION`.
    pub services: ServiceWire,
    /// `ROS_STATIC_PEERS`: machines on which nodes are looked for, by name or address, wherever they are.
    pub static_peers: Vec<String>,
    /// The configuration of Cyclone DDS, if the node is on that. It has the static peers in it.
    #[cfg(feature = "cyclone")]
    pub cyclone: Option<String>,
}

impl Network {
    /// The settings in the process's environment.
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
        let mut network = Self::from_variables(&variables.without("RMW_IMPLEMENTATION"))?;
        if network.reach == Reach::Subnet {
            network.reach = Reach::Localhost;
        }
        Ok(network)
    }

    fn from_variables(variables: &Environment) -> Result<Self, Diagnostic> {
        variables.refuse_security()?;
        let reach = variables.reach()?;
        let services = variables.get("RMW_IMPLEMENTATION").map_or(Ok(ServiceWire::FastDds), services)?;
        let is_cyclone = is_cyclone(variables.get(LIBRARY), services)?;
        let peers = variables.get("ROS_STATIC_PEERS").filter(|_| reach != Reach::Off && !is_cyclone).unwrap_or_default();
        let static_peers = peers.split(';').map(str::trim).filter(|peer| !peer.is_empty()).map(str::to_owned).collect();
        Ok(Self {
            domain: variables.domain(LAST_DOMAIN)?,
            reach,
            services,
            static_peers,
            #[cfg(feature = "cyclone")]
            cyclone: is_cyclone.then(|| cyclone_config(variables, reach)),
        })
    }

    /// The addresses of the interfaces used; `None` for all.
    pub(super) fn interfaces(&self) -> Option<Vec<IpAddr>> {
        match self.reach {
            Reach::Off => Some(Vec::new()),
            Reach::Localhost => {
                let ways = self.static_peers.iter().flat_map(|peer| addresses(peer)).filter_map(own_address);
                let mut all: Vec<IpAddr> = std::iter::once(Ipv4Addr::LOCALHOST).chain(ways).map(IpAddr::V4).collect();
                all.sort_unstable();
                all.dedup();
                Some(all)
            }
            Reach::Subnet => None,
        }
    }
}

/// The addresses of a machine. It may take a while.
pub(super) fn addresses(machine: &str) -> Vec<Ipv4Addr> {
    let found = (machine, 0).to_socket_addrs().into_iter().flatten();
    found.filter_map(|address| if let IpAddr::V4(address) = address.ip() { Some(address) } else { None }).collect()
}

/// This machine's own address on the way to another one.
pub(super) fn own_address(other: Ipv4Addr) -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Nothing is sent: the port is of no interest.
    socket.connect((other, 9)).ok()?;
    if let IpAddr::V4(address) = socket.local_addr().ok()?.ip() { Some(address) } else { None }
}

/// For how long others keep a node that is stopped, with what they asked it, and how often it tells them that it is there. The lease is
/// longer than that of other nodes, 10 s: as long as with RustDDS.
#[cfg(feature = "cyclone")]
const LEASE: &str = "<LeaseDuration>80s</LeaseDuration>";

/// How often a node tells others that it is there, …
#[cfg(feature = "cyclone")]
const ANNOUNCED: &str = "<SPDPInterval>8s</SPDPInterval>";

/// … and how often those of this machine alone, for as long as it is there. Cyclone 0.10, which ROS 2 Jazzy has, announces itself there to
/// 127.0.0.1, and Cyclone 11 does not listen to announcements that come by an interface that it has not chosen for all else: so such nodes
/// meet by the announcements of this one, to each port that one may be at, whether or not somebody was there before.
#[cfg(feature = "cyclone")]
const ANNOUNCED_HERE: &str = "<SPDPInterval>1s</SPDPInterval><InitialLocatorPruneDelay>inf</InitialLocatorPruneDelay>";

/// Cyclone's configuration as `rcl` and `rmw_cyclonedds_cpp` of Jazzy make it: what ROS says, and on top of it what the variable of
/// Cyclone's own says.
#[cfg(feature = "cyclone")]
pub(super) fn cyclone_config(variables: &Environment, reach: Reach) -> String {
    let is_localhost_only = variables.get("ROS_LOCALHOST_ONLY") == Some("1");
    let is_left_to_cyclone = !is_localhost_only && variables.get("ROS_AUTOMATIC_DISCOVERY_RANGE") == Some("SYSTEM_DEFAULT");
    let own = variables.get("CYCLONEDDS_URI").unwrap_or_default();
    if is_left_to_cyclone {
        return own.to_owned();
    }
    let peers = variables.get("ROS_STATIC_PEERS").filter(|_| reach != Reach::Off && !is_localhost_only).unwrap_or_default();
    let peers = peers.split(';').map(str::trim).filter(|peer| !peer.is_empty());
    let localhost = (reach == Reach::Localhost).then_some("localhost");
    let peers: String =
        localhost.into_iter().chain(peers).map(|peer| format!("<Peer address=\"{}\"/>", escaped(peer))).collect();
    let general = if reach == Reach::Subnet { "" } else { "<General><AllowMulticast>false</AllowMulticast></General>" };
    let discovery = if reach == Reach::Off {
        // Whoever wants to hear of it would have to have the same tag.
        format!("<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{}</Tag>", std::process::id())
    } else {
        "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>".to_owned()
    };
    let announced = if reach == Reach::Localhost { ANNOUNCED_HERE } else { ANNOUNCED };
    let peers = if peers.is_empty() { peers } else { format!("<Peers>{peers}</Peers>") };
    format!(
        "<CycloneDDS><Domain>{general}<Discovery>{LEASE}{announced}{discovery}{peers}</Discovery></Domain></CycloneDDS>,{own}"
    )
}

/// A text as the value of an attribute.
#[cfg(feature = "cyclone")]
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Which DDS library the node is on, unless it is chosen for it: `rustdds` or `cyclone`.
const LIBRARY: &str = "URDF_USD_DDS";

/// Whether the node is on Cyclone DDS: where this is built with it and all others are on it, unless `library` says otherwise. It can't
/// carry services of Fast DDS: its programming interface does not reach the inline QoS.
fn is_cyclone(library: Option<&str>, services: ServiceWire) -> Result<bool, Diagnostic> {
    match (library, cfg!(feature = "cyclone"), services) {
        (Some("rustdds"), ..) => Ok(false),
        (None, is_built, services) => Ok(is_built && services == ServiceWire::Cyclone),
        (Some("cyclone"), true, ServiceWire::Cyclone) => Ok(true),
        (Some("cyclone"), true, ServiceWire::FastDds) => {
            let fault = fault(LIBRARY, "cyclone", "services of Fast DDS can't be carried through it");
            Err(fault.help("rustdds, or unset; or run all nodes with RMW_IMPLEMENTATION=rmw_cyclonedds_cpp"))
        }
        (Some("cyclone"), false, _) => Err(fault(LIBRARY, "cyclone", "this build is without it")
            .help("build it with the Cargo feature `cyclone` (docs/ros.md)")),
        (Some(other), ..) => Err(fault(LIBRARY, other, "no such library").help("rustdds or cyclone")),
    }
}

fn services(rmw: &str) -> Result<ServiceWire, Diagnostic> {
    match rmw {
        "rmw_fastrtps_cpp" | "rmw_fastrtps_dynamic_cpp" | "rmw_connextdds" => Ok(ServiceWire::FastDds),
        "rmw_cyclonedds_cpp" => Ok(ServiceWire::Cyclone),
        "rmw_zenoh_cpp" => Err(fault("RMW_IMPLEMENTATION", rmw, "this build speaks DDS, not Zenoh")
            .help(
                "build it with the Cargo feature `zenoh` (docs/ros.md), or in a ROS workspace with its client rclrs, which takes any RMW; or \
                 run all nodes with rmw_fastrtps_cpp or rmw_cyclonedds_cpp; or connect the two with zenoh-bridge-ros2dds",
            )),
        _ => {
            Err(fault("RMW_IMPLEMENTATION", rmw, "this build does not know it").help("rmw_fastrtps_cpp or rmw_cyclonedds_cpp"))
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
        assert_eq!((network.domain, network.reach, network.services), (0, Reach::Subnet, ServiceWire::FastDds));
        assert_eq!(network.interfaces(), None);
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
        assert_eq!(network(&[("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp")]).map(|n| n.services), Ok(ServiceWire::Cyclone));
    }

    #[test]
    fn static_peers_are_listed_between_semicolons_and_reached_whatever_the_range() {
        let peers = |variables: &[(&str, &str)]| network(variables).map(|network| network.static_peers);
        assert_eq!(peers(&[("ROS_STATIC_PEERS", "10.0.0.7; robot.local;")]), Ok(vec!["10.0.0.7".into(), "robot.local".into()]));
        let off = [("ROS_STATIC_PEERS", "10.0.0.7"), ("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")];
        assert_eq!(peers(&off), Ok(Vec::new()));
        let here = network(&[("ROS_STATIC_PEERS", "127.0.0.1"), ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")]);
        assert_eq!(here.map(|network| network.interfaces()), Ok(Some(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])));
    }

    #[cfg(feature = "cyclone")]
    #[test]
    fn cyclone_is_configured_as_its_rmw_does_it() {
        let config = |variables: &[(&str, &str)]| {
            let rmw = [("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp")];
            let network = network(&[&rmw[..], variables].concat()).expect("valid");
            assert!(network.static_peers.is_empty(), "{variables:?}");
            network.cyclone.expect("on Cyclone")
        };
        let indices = "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>";
        let silent = "<General><AllowMulticast>false</AllowMulticast></General>";
        for (variables, expected) in [
            (&[][..], format!("<Discovery>{LEASE}{ANNOUNCED}{indices}</Discovery>")),
            (
                &[("ROS_STATIC_PEERS", "10.0.0.7; a\"&b;")],
                format!(
                    "<Discovery>{LEASE}{ANNOUNCED}{indices}<Peers><Peer address=\"10.0.0.7\"/><Peer address=\"a&quot;&amp;b\"/></Peers></Discovery>"
                ),
            ),
            (
                &[("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"), ("ROS_STATIC_PEERS", "h")],
                format!(
                    "{silent}<Discovery>{LEASE}{ANNOUNCED_HERE}{indices}<Peers><Peer address=\"localhost\"/><Peer address=\"h\"/></Peers></Discovery>"
                ),
            ),
            (
                &[("ROS_LOCALHOST_ONLY", "1"), ("ROS_STATIC_PEERS", "h")],
                format!(
                    "{silent}<Discovery>{LEASE}{ANNOUNCED_HERE}{indices}<Peers><Peer address=\"localhost\"/></Peers></Discovery>"
                ),
            ),
            (
                &[("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF"), ("ROS_STATIC_PEERS", "h")],
                format!(
                    "{silent}<Discovery>{LEASE}{ANNOUNCED}<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{}</Tag></Discovery>",
                    std::process::id()
                ),
            ),
        ] {
            assert_eq!(config(variables), format!("<CycloneDDS><Domain>{expected}</Domain></CycloneDDS>,"), "{variables:?}");
        }
        let own = ("CYCLONEDDS_URI", "<CycloneDDS/>");
        assert!(config(&[own]).ends_with("</CycloneDDS>,<CycloneDDS/>"));
        assert_eq!(config(&[own, ("ROS_AUTOMATIC_DISCOVERY_RANGE", "SYSTEM_DEFAULT")]), "<CycloneDDS/>");
        assert_eq!(network(&[own]).expect("valid").cyclone, None);
    }

    #[test]
    fn nodes_that_talk_to_each_other_stay_on_this_machine_and_need_no_rmw() {
        for rmw in ["", "rmw_zenoh_cpp", "rmw_cyclonedds_cpp", "rmw_x"] {
            let network = Network::loopback(Environment::of(&[("RMW_IMPLEMENTATION", rmw)])).expect(rmw);
            assert_eq!((network.reach, network.services), (Reach::Localhost, ServiceWire::FastDds), "{rmw}");
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
            ("URDF_USD_DDS", "x"),
            ("URDF_USD_DDS", "cyclone"),
        ] {
            let fault = network(&[(name, value)]).expect_err(value);
            assert!(fault.message.starts_with(&format!("{name}={value}: ")) && !fault.help.is_empty(), "{fault}");
        }
    }
}
