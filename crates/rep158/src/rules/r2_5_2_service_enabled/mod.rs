//! `ros:service:starts_enabled` is a Boolean.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "ros:service:starts_enabled is no truth value.",
    outcome: "Simulators start the interface although it was meant to wait.",
    demand: "bool ros:service:starts_enabled says whether the interface is enabled at load time.",
    section: ("Interface Resolution", "§2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in
        ros::interfaces(subject.stage).filter(|interface| interface.kind == Kind::Service)
    {
        let name = "ros:service:starts_enabled";
        if interface.prim.value(name).is_some() && interface.prim.flag(name).is_none() {
            let message = format!(
                "the service {} has a value for {name} that is no bool",
                interface.prim.path
            );
            findings.prim(
                interface.id,
                Some(name),
                message,
                format!("author `bool {name}`, true or false"),
            );
        }
    }
}
