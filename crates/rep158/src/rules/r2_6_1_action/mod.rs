//! Actions have a role, a name and a type.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "An action lacks its role, name or type.",
    outcome: "Simulators skip the action.",
    demand: "ros:action:role (server or client), ros:action:name and ros:action:type are required.",
    section: ("Action Interface (RosActionAPI)", "§2.6"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let example = "control_msgs/action/FollowJointTrajectory";
    ros::check_required(subject.stage, Kind::Action, example, findings);
}
