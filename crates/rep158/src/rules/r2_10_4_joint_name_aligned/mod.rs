//! ROS names of joints equal the prim names where possible.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Warning,
    meaning: "The ROS name of a joint differs from its prim name without need.",
    outcome: "People and programs that read only USD look for the joint under another name.",
    demand: "Authors should keep ros:joint:name and the prim name aligned where naming rules \
             permit.",
    section: ("Custom ROS joint names", "§2.10"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for joint in &subject.physics.joints {
        let prim = &stage[joint.prim];
        let Some(name) = prim
            .text("ros:joint:name")
            .filter(|name| *name != prim.name())
        else {
            continue;
        };
        let siblings = prim
            .parent
            .map_or(&[][..], |parent| &stage[parent].children);
        let is_taken = siblings
            .iter()
            .any(|&sibling| sibling != joint.prim && stage[sibling].name() == name);
        if ros::segment_fault(name).is_none() && !is_taken {
            let message = format!("the joint {} has the ROS name {name}", prim.path);
            let help = format!("rename the prim to {name}, or change ros:joint:name");
            findings.prim(joint.prim, Some("ros:joint:name"), message, help);
        }
    }
}
