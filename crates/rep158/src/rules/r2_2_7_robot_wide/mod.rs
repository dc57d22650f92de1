//! Robot-wide interfaces are outside of links.

use super::{Findings, Subject, rule};
use crate::physics::is_body;
use crate::ros::{self, Interface};

rule! {
    severity: Warning,
    meaning: "An interface to the whole robot is in a link.",
    outcome: "Replacing the link removes the interface.",
    demand: "Robot-wide interfaces (e.g. JointState, FollowJointTrajectory) should be on logical \
             prims, apart from the rigid bodies.",
    section: ("Interface Placement", "§2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for wide in ros::interfaces(stage).filter(Interface::is_robot_wide) {
        let Some(body) = stage.ancestors(wide.id).find(|&id| is_body(&stage[id])) else {
            continue;
        };
        let message = format!(
            "{} concerns the whole robot, but is in the link {}",
            wide.prim.path, stage[body].path
        );
        findings.prim(
            wide.id,
            None,
            message,
            "move it into a scope such as /robot/Interfaces",
        );
    }
}
