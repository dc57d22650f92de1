//! Actions have a role, a name and a type.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "An action lacks its role, name or type.",
    outcome: "Simulators leave it out.",
    demand: "ros:action:role (server or client), ros:action:name and ros:action:type are required.",
    section: ("Action Interface (RosActionAPI)", "§2.6"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in
        ros::interfaces(subject.stage).filter(|interface| interface.kind == Kind::Action)
    {
        let path = &interface.prim.path;
        for last in ["role", "name", "type"] {
            let message = match interface.text(last) {
                None => format!("the action {path} has no {last}"),
                Some(role) if last == "role" && !Kind::Action.roles().contains(&role) => {
                    format!("the action {path} has the role \"{role}\"")
                }
                Some(_) => continue,
            };
            let help = match last {
                "role" => "author `token ros:action:role`, \"server\" or \"client\"",
                "name" => "author `string ros:action:name`, relative to the namespace",
                _ => {
                    "author `string ros:action:type`, such as \"control_msgs/action/FollowJointTrajectory\""
                }
            };
            findings.prim(
                interface.id,
                Some(&interface.attribute(last)),
                message,
                help,
            );
        }
    }
}
