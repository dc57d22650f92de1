//! `ros:service:starts_enabled` is a Boolean.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "ros:service:starts_enabled is not a Boolean.",
    outcome: "Simulators enable the interface at load, even if it was meant to start disabled.",
    demand: "bool ros:service:starts_enabled says whether the interface is enabled at load time.",
    section: ("Interface Resolution", "§2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    ros::check_starts_enabled(subject.stage, Kind::Service, findings);
}
