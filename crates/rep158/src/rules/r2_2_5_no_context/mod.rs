//! ROS interfaces are below a ROS context.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Warning,
    meaning: "An interface is not below a ROS context.",
    outcome: "It gets no namespace: the topics of two robots in a scene clash.",
    demand: "Robot-wide interfaces should be placed on logical prims that descend from the \
             RosContextAPI prim.",
    section: ("Interface Placement", "§2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for interface in
        ros::interfaces(stage).filter(|interface| ros::robot_of(stage, interface.id).is_none())
    {
        let message = format!(
            "the {} {} is not below a RosContextAPI prim",
            interface.kind.label(),
            interface.prim.path
        );
        findings.prim(
            interface.id,
            None,
            message,
            "apply RosContextAPI to the robot's root prim, and keep interfaces below it",
        );
    }
}
