//! Services have a role, a name and a type.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "A service lacks its role, name or type.",
    outcome: "Simulators leave it out.",
    demand: "ros:service:role (server or client), ros:service:name and ros:service:type are \
             required.",
    section: ("Service Interface (RosServiceAPI)", "§2.5"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in
        ros::interfaces(subject.stage).filter(|interface| interface.kind == Kind::Service)
    {
        let path = &interface.prim.path;
        for last in ["role", "name", "type"] {
            let message = match interface.text(last) {
                None => format!("the service {path} has no {last}"),
                Some(role) if last == "role" && !Kind::Service.roles().contains(&role) => {
                    format!("the service {path} has the role \"{role}\"")
                }
                Some(_) => continue,
            };
            let help = match last {
                "role" => "author `token ros:service:role`, \"server\" or \"client\"",
                "name" => "author `string ros:service:name`, relative to the namespace",
                _ => "author `string ros:service:type`, such as \"std_srvs/srv/SetBool\"",
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
