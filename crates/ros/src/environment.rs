//! The environment variables of ROS 2 that all networks share, read as `rcl` and the `rmw` layers
//! read them.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use super::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// The range of discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// No other nodes.
    Off,
    /// Nodes on this machine.
    Localhost,
    /// Nodes on every network that this machine is in.
    Subnet,
}

/// Environment variables.
pub(super) struct Environment(HashMap<String, String>);

impl Environment {
    /// Returns the variables of the process.
    pub(super) fn from_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(text).collect())
    }

    /// Returns a variable's value; `None` if it is unset or blank.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// Returns the variables without one of them.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    /// Returns `ROS_DOMAIN_ID`: only nodes of the same domain discover each other.
    ///
    /// `last` is the network's highest domain.
    pub(super) fn domain<T: FromStr + PartialOrd + Display>(
        &self,
        last: T,
    ) -> Result<T, Diagnostic> {
        let text = self.get("ROS_DOMAIN_ID").unwrap_or("0");
        let domain = text.parse().ok().filter(|domain| *domain <= last);
        domain.ok_or_else(|| {
            let help = format!(
                "use a whole number from 0 to {last}; up to 101 is safest with DDS on Linux"
            );
            fault("ROS_DOMAIN_ID", text, "not a domain ID").help(help)
        })
    }

    /// Returns the range that `ROS_AUTOMATIC_DISCOVERY_RANGE` and `ROS_LOCALHOST_ONLY` set.
    pub(super) fn reach(&self) -> Result<Reach, Diagnostic> {
        // The older variable, if set, wins over the newer one, as in Jazzy.
        match self.get("ROS_LOCALHOST_ONLY") {
            Some("1") => return Ok(Reach::Localhost),
            None | Some("0") => {}
            Some(other) => {
                return Err(fault("ROS_LOCALHOST_ONLY", other, "neither 0 nor 1")
                    .help("use 0 or 1, or unset it"));
            }
        }
        match self.get("ROS_AUTOMATIC_DISCOVERY_RANGE") {
            Some("OFF") => Ok(Reach::Off),
            Some("LOCALHOST") => Ok(Reach::Localhost),
            None | Some("SUBNET" | "SYSTEM_DEFAULT") => Ok(Reach::Subnet),
            Some(other) => {
                let fault = fault("ROS_AUTOMATIC_DISCOVERY_RANGE", other, "unknown range");
                Err(fault.help("use one of OFF, LOCALHOST, SUBNET, SYSTEM_DEFAULT"))
            }
        }
    }

    /// Refuses `ROS_SECURITY_ENABLE`: a node that must encrypt must not communicate in the clear.
    pub(super) fn refuse_security(&self) -> Result<(), Diagnostic> {
        if self
            .get("ROS_SECURITY_ENABLE")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
        {
            let fault = fault(
                "ROS_SECURITY_ENABLE",
                "true",
                "this build has neither encryption nor access control",
            );
            return Err(fault.help(
                "unset it, or build the package in a ROS workspace with its client rclrs or r2r (docs/ros.md), which support SROS 2",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
impl Environment {
    pub(super) fn from_pairs(variables: &[(&str, &str)]) -> Self {
        Self(
            variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }
}

/// Returns the diagnostic for a variable's value that this node does not support.
pub(super) fn fault(name: &str, value: &str, why: &str) -> Diagnostic {
    let place = Place {
        element: name.to_owned(),
        ..Place::default()
    };
    Diagnostic::new(&codes::ENVIRONMENT, place, format!("{name}={value}: {why}"))
}
