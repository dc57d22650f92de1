//! ROS domain ids are between 0 and 232.

use urdf_usd_stage::Value;

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "ros:context:domain_id is not a number from 0 to 232.",
    outcome: "Simulators cannot join the domain.",
    demand: "int ros:context:domain_id overrides the ROS domain; ROS has the domains 0 to 232.",
    section: ("The ROS Context (RosContextAPI)", "§2.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in ros::contexts(subject.stage) {
        let name = "ros:context:domain_id";
        let domain = match prim.value(name) {
            None | Some(Value::Int(0..=232)) => continue,
            Some(Value::Int(other)) => format!("{other}"),
            Some(_) => "not an int".to_owned(),
        };
        let message = format!("the ROS domain of {} is {domain}", prim.path);
        findings.prim(
            id,
            Some(name),
            message,
            "author an int from 0 to 232, or remove it to use ROS_DOMAIN_ID",
        );
    }
}
