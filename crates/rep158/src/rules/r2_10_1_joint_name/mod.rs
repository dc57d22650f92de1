//! Joints have a ROS name.

use super::{Findings, Subject, rule};

rule! {
    severity: Info,
    meaning: "A joint has no ros:joint:name.",
    outcome: "ROS uses the name of the prim: renaming the prim renames the joint.",
    demand: "The custom property ros:joint:name may be applied to all joints; without it \
             simulators use the prim name.",
    section: ("Custom ROS joint names", "§2.10"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in &subject.physics.joints {
        let prim = &subject.stage[joint.prim];
        if prim.value("ros:joint:name").is_none() {
            let message = format!("the joint {} has no ros:joint:name", prim.path);
            let help = format!(
                "author `custom string ros:joint:name = \"{}\"`",
                prim.name()
            );
            findings.prim(joint.prim, Some("ros:joint:name"), message, help);
        }
    }
}
