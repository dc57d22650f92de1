//! ROS names of joints are unique within a robot.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "Two joints of a robot have the same ROS name.",
    outcome: "A command moves the wrong joint, and joint states overwrite each other.",
    demand: "ros:joint:name is the identity of a joint for ROS, so no two joints of a robot may \
             share it.",
    section: ("Custom ROS joint names", "§2.10"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut known: HashMap<(Option<PrimId>, &str), PrimId> = HashMap::new();
    for joint in &subject.physics.joints {
        let prim = &stage[joint.prim];
        let name = prim
            .text("ros:joint:name")
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| prim.name());
        match known.entry((ros::robot_of(stage, joint.prim), name)) {
            Entry::Vacant(free) => {
                free.insert(joint.prim);
            }
            Entry::Occupied(taken) => {
                let message = format!(
                    "the joint {} has the ROS name {name}, as does {}",
                    prim.path,
                    stage[*taken.get()].path
                );
                findings.prim(
                    joint.prim,
                    Some("ros:joint:name"),
                    message,
                    "give one of them another ros:joint:name",
                );
            }
        }
    }
}
