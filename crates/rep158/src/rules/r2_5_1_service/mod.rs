//! Services have a role, a name and a type.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "A service lacks its role, name or type.",
    outcome: "Simulators skip the service.",
    demand: "ros:service:role (server or client), ros:service:name and ros:service:type are \
             required.",
    section: ("Service Interface (RosServiceAPI)", "§2.5"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let example = "std_srvs/srv/SetBool";
    ros::check_required(subject.stage, Kind::Service, example, findings);
}
