//! Namespaces are valid ROS names.

use urdf_usd_stage::Value;

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "A namespace is not a valid ROS name.",
    outcome: "Simulators reject the topics of the robot, or each changes their names in its own \
              way.",
    demand: "A namespace is a bare name without / at its ends, or an absolute name that begins \
             with /; ~ and {} are not allowed.",
    section: ("Hierarchical Namespace Concatenation", "§2.1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in ros::contexts(subject.stage) {
        let name = "ros:context:namespace";
        let Some(value) = prim.value(name) else {
            continue;
        };
        let fault = match value {
            Value::String(namespace) if namespace.is_empty() => continue,
            Value::String(namespace) => {
                ros::name_fault(namespace).map(|fault| format!("\"{namespace}\", which {fault}"))
            }
            _ => Some("not a string".to_owned()),
        };
        if let Some(fault) = fault {
            let message = format!("the namespace of {} is {fault}", prim.path);
            findings.prim(
                id,
                Some(name),
                message,
                "use letters, digits and underscores, such as \"robot_1\"",
            );
        }
    }
}
