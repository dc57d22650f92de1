//! The session's settings: the environment variables of `rmw_zenoh_cpp`, and its defaults.

use ::zenoh::Config;

use crate::codes;
use crate::environment::{Environment, Reach, fault};
use urdf_usd_diagnostic::{Diagnostic, Place};

/// Differences between the session configuration that `rmw_zenoh_cpp` installs and Zenoh's
/// defaults.
///
/// It connects to the router of this machine and to others that the router announces, without
/// multicast; adds time stamps, which latched topics need; and copes with hundreds of nodes that
/// start at once.
const DEFAULTS: &[(&str, &str)] = &[
    ("mode", r#""peer""#),
    ("connect/endpoints", r#"["tcp/localhost:7447"]"#),
    ("listen/endpoints", r#"["tcp/localhost:0"]"#),
    ("scouting/multicast/enabled", "false"),
    (
        "scouting/gossip/target",
        r#"{"router": ["router", "peer"], "peer": ["router"]}"#,
    ),
    (
        "scouting/gossip/autoconnect_strategy",
        r#"{"peer": {"to_router": "always", "to_peer": "greater-zid"}}"#,
    ),
    ("timestamping/enabled", "true"),
    ("queries_default_timeout", "600000"),
    ("transport/unicast/open_timeout", "60000"),
    ("transport/unicast/accept_timeout", "60000"),
    ("transport/unicast/accept_pending", "10000"),
    ("transport/unicast/max_sessions", "10000"),
    ("transport/link/tx/lease", "60000"),
    ("transport/link/tx/keep_alive", "2"),
    (
        "transport/link/tx/queue/congestion_control/block/wait_before_close",
        "60000000",
    ),
    ("transport/shared_memory/enabled", "false"),
];

/// Settings of a session that no other can reach.
const ALONE: &[(&str, &str)] = &[
    ("connect/endpoints", "[]"),
    ("listen/endpoints", "[]"),
    ("scouting/multicast/enabled", "false"),
    ("scouting/gossip/enabled", "false"),
];

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `ROS_DOMAIN_ID`: only nodes of the same domain discover each other.
    pub(super) domain: u32,
    pub(super) config: Config,
    /// `ZENOH_ROUTER_CHECK_ATTEMPTS`: number of checks for a router before warning that there is
    /// none. `None`: no check.
    pub(super) router_checks: Option<u64>,
    /// Warnings about settings that are valid but have no effect here.
    pub without_effect: Vec<Diagnostic>,
}

impl Settings {
    /// Reads the settings from the process's environment.
    ///
    /// # Errors
    /// [`codes::ENVIRONMENT`].
    pub fn from_env() -> Result<Self, Diagnostic> {
        Self::from_variables(&Environment::from_process())
    }

    pub(super) fn from_variables(variables: &Environment) -> Result<Self, Diagnostic> {
        variables.refuse_security()?;
        let mut without_effect = Vec::new();
        let mut config = match variables.get("ZENOH_SESSION_CONFIG_URI") {
            Some(path) => Config::from_file(path).map_err(|error| {
                fault("ZENOH_SESSION_CONFIG_URI", path, &error.to_string()).help(
                    "give a Zenoh configuration file in JSON5, such as the one that rmw_zenoh_cpp installs, or unset it",
                )
            })?,
            None => configured(Config::default(), DEFAULTS)?,
        };
        for pair in variables
            .get("ZENOH_CONFIG_OVERRIDE")
            .unwrap_or_default()
            .split(';')
            .filter(|pair| !pair.trim().is_empty())
        {
            let set = pair.split_once('=').ok_or("it has no `=`".to_owned());
            let set = set.and_then(|(key, value)| {
                config
                    .insert_json5(key.trim(), value)
                    .map_err(|error| error.to_string())
            });
            set.map_err(|why| {
                fault("ZENOH_CONFIG_OVERRIDE", pair, &why)
                    .help(r#"write KEY=VALUE pairs separated by semicolons, as in connect/endpoints=["tcp/10.0.0.1:7447"]"#)
            })?;
        }
        let is_alone = variables.reach()? == Reach::Off;
        // Last, so that OFF holds whatever the file and the overrides say.
        if is_alone {
            config = configured(config, ALONE)?;
        }
        if let Some(peers) = variables.get("ROS_STATIC_PEERS") {
            let message = format!(
                "ROS_STATIC_PEERS={peers} has no effect: rmw_zenoh_cpp has no static peers"
            );
            let told = Diagnostic::new(&codes::WITHOUT_EFFECT, Place::default(), message);
            without_effect.push(told.help(
                "name other machines in ZENOH_CONFIG_OVERRIDE, or connect the routers of both",
            ));
        }
        let router_checks = match variables.get("ZENOH_ROUTER_CHECK_ATTEMPTS") {
            None => Some(1),
            Some(text) => match text.parse::<i64>() {
                Ok(0) => Some(u64::MAX),
                // A negative number asks for no check.
                Ok(attempts) => u64::try_from(attempts).ok(),
                Err(_) => {
                    let fault = fault("ZENOH_ROUTER_CHECK_ATTEMPTS", text, "not a whole number");
                    return Err(fault.help("give the seconds to look for a router; 0: until there is one; -1: not at all"));
                }
            },
        };
        // A node without discovery needs no router.
        let router_checks = router_checks.filter(|_| !is_alone);
        Ok(Self {
            domain: variables.domain(u32::MAX)?,
            config,
            router_checks,
            without_effect,
        })
    }
}

fn configured(mut config: Config, settings: &[(&str, &str)]) -> Result<Config, Diagnostic> {
    for (key, value) in settings {
        let set = config.insert_json5(key, value);
        set.map_err(|error| {
            crate::faults::transport(
                &format!("this version of Zenoh does not accept {key}={value}"),
                error,
            )
        })?;
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, Diagnostic> {
        Settings::from_variables(&Environment::from_pairs(variables))
    }

    fn value(settings: &Settings, key: &str) -> String {
        settings.config.get_json(key).expect("a key")
    }

    #[test]
    fn defaults_are_those_of_rmw_zenoh() {
        let found = settings(&[]).expect("valid");
        assert_eq!(
            (
                found.domain,
                found.router_checks,
                found.without_effect.len()
            ),
            (0, Some(1), 0)
        );
        for (key, json) in [
            ("mode", r#""peer""#),
            ("connect/endpoints", r#"["tcp/localhost:7447"]"#),
            ("listen/endpoints", r#"["tcp/localhost:0"]"#),
            ("scouting/multicast/enabled", "false"),
            ("timestamping/enabled", "true"),
        ] {
            assert_eq!(value(&found, key), json, "{key}");
        }
    }

    #[test]
    fn variables_that_are_set_apply() {
        let found = settings(&[
            ("ROS_DOMAIN_ID", "300"),
            (
                "ZENOH_CONFIG_OVERRIDE",
                r#"connect/endpoints=["tcp/10.0.0.1:7447"];scouting/gossip/enabled=false;"#,
            ),
            ("ZENOH_ROUTER_CHECK_ATTEMPTS", "-1"),
            ("ROS_STATIC_PEERS", "10.0.0.7"),
        ])
        .expect("valid");
        assert_eq!(
            (
                found.domain,
                found.router_checks,
                found.without_effect.len()
            ),
            (300, None, 1)
        );
        assert_eq!(
            value(&found, "connect/endpoints"),
            r#"["tcp/10.0.0.1:7447"]"#
        );
        assert_eq!(value(&found, "scouting/gossip/enabled"), "false");
        let endless = settings(&[("ZENOH_ROUTER_CHECK_ATTEMPTS", "0")]).expect("valid");
        assert_eq!(endless.router_checks, Some(u64::MAX));
        let file = tempfile::Builder::new()
            .suffix(".json5")
            .tempfile()
            .expect("a file");
        std::fs::write(
            file.path(),
            r#"{mode: "client", connect: {endpoints: ["tcp/10.0.0.2:1"]}}"#,
        )
        .expect("written");
        let of_file = settings(&[("ZENOH_SESSION_CONFIG_URI", &file.path().to_string_lossy())])
            .expect("valid");
        assert_eq!(
            (
                value(&of_file, "mode"),
                value(&of_file, "connect/endpoints")
            ),
            (r#""client""#.into(), r#"["tcp/10.0.0.2:1"]"#.into())
        );
    }

    #[test]
    fn discovery_off_overrides_all_other_settings() {
        let alone = settings(&[
            ("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF"),
            ("ZENOH_CONFIG_OVERRIDE", "scouting/multicast/enabled=true"),
            ("ZENOH_ROUTER_CHECK_ATTEMPTS", "5"),
        ])
        .expect("valid");
        for (key, json) in [
            ("connect/endpoints", "[]"),
            ("listen/endpoints", "[]"),
            ("scouting/multicast/enabled", "false"),
            ("scouting/gossip/enabled", "false"),
        ] {
            assert_eq!(value(&alone, key), json, "{key}");
        }
        assert_eq!(alone.router_checks, None);
    }

    #[test]
    fn unsupported_values_are_refused_with_the_remedy() {
        for (name, value) in [
            ("ROS_DOMAIN_ID", "-1"),
            ("ROS_SECURITY_ENABLE", "true"),
            ("ZENOH_SESSION_CONFIG_URI", "/no/such/file.json5"),
            ("ZENOH_CONFIG_OVERRIDE", "nonsense"),
            ("ZENOH_CONFIG_OVERRIDE", "no/such/key=1"),
            ("ZENOH_CONFIG_OVERRIDE", "mode=\"emperor\""),
            ("ZENOH_ROUTER_CHECK_ATTEMPTS", "many"),
        ] {
            let fault = settings(&[(name, value)]).expect_err(value);
            assert!(
                fault.message.starts_with(&format!("{name}={value}: ")) && !fault.help.is_empty(),
                "{fault}"
            );
        }
    }
}
