//! The environment variables of ROS 2 that are not about one kind of network, read as `rcl` and the
//! `rmw` layers read them.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use super::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// How far the node looks for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nobody.
    Off,
    /// This machine.
    Localhost,
    /// Every network this machine is in.
    Subnet,
}

/// The variables.
pub(super) struct Environment(HashMap<String, String>);

impl Environment {
    /// Those of the process.
    pub(super) fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(text).collect())
    }

    /// A variable's value; `None` if it is not set, or to nothing.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// The variables but for one.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    /// `ROS_DOMAIN_ID`: only nodes of one domain hear each other. `last` is the highest that the
    /// network has.
    pub(super) fn domain<T: FromStr + PartialOrd + Display>(
        &self,
        last: T,
    ) -> Result<T, Diagnostic> {
        let text = self.get("ROS_DOMAIN_ID").unwrap_or("0");
        let domain = text.parse().ok().filter(|domain| *domain <= last);
        domain.ok_or_else(|| {
            let help =
                format!("a whole number from 0 to {last}; up to 101 is safest with DDS on Linux");
            fault("ROS_DOMAIN_ID", text, "not a domain").help(help)
        })
    }

    /// `ROS_AUTOMATIC_DISCOVERY_RANGE` and `ROS_LOCALHOST_ONLY`.
    pub(super) fn reach(&self) -> Result<Reach, Diagnostic> {
        // The older variable, where set, holds against the newer one, as in Jazzy.
        match self.get("ROS_LOCALHOST_ONLY") {
            Some("1") => return Ok(Reach::Localhost),
            None | Some("0") => {}
            Some(other) => {
                return Err(
                    fault("ROS_LOCALHOST_ONLY", other, "neither 0 nor 1").help("0, 1, or unset")
                );
            }
        }
        match self.get("ROS_AUTOMATIC_DISCOVERY_RANGE") {
            Some("OFF") => Ok(Reach::Off),
            Some("LOCALHOST") => Ok(Reach::Localhost),
            None | Some("SUBNET" | "SYSTEM_DEFAULT") => Ok(Reach::Subnet),
            Some(other) => {
                let fault = fault("ROS_AUTOMATIC_DISCOVERY_RANGE", other, "no such range");
                Err(fault.help("one of OFF, LOCALHOST, SUBNET, SYSTEM_DEFAULT"))
            }
        }
    }

    /// Refuses `ROS_SECURITY_ENABLE`: a node that is told to encrypt must not speak in the clear.
    pub(super) fn refuse_security(&self) -> Result<(), Diagnostic> {
        if self
            .get("ROS_SECURITY_ENABLE")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
        {
            let fault = fault(
                "ROS_SECURITY_ENABLE",
                "true",
                "this build speaks without encryption or access control",
            );
            return Err(fault.help(
                "unset it, or build the package in a ROS workspace with its client rclrs (docs/ros.md), which knows SROS 2",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
impl Environment {
    pub(super) fn of(variables: &[(&str, &str)]) -> Self {
        Self(
            variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }
}

/// A variable's value that can't be honoured.
pub(super) fn fault(name: &str, value: &str, why: &str) -> Diagnostic {
    let place = Place {
        element: name.to_owned(),
        ..Place::default()
    };
    Diagnostic::new(&codes::ENVIRONMENT, place, format!("{name}={value}: {why}"))
}
