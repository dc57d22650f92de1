//! `ros:joint:name` is a non-empty string on a joint.

use urdf_usd_stage::Value;

use super::{Findings, Subject, rule};
use crate::physics::is_joint;

rule! {
    severity: Error,
    meaning: "ros:joint:name is empty, not a string, or not on a joint.",
    outcome: "Joint states and trajectories do not find the joint.",
    demand: "The custom property ros:joint:name, on prims of the UsdPhysicsJoint types, is the \
             single source of truth for the joint's name.",
    section: ("Custom ROS joint names", "§2.10"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present() {
        let name = "ros:joint:name";
        let Some(value) = prim.value(name) else {
            continue;
        };
        let message = match value {
            _ if !is_joint(prim) => format!("{} has {name}, but is not a joint", prim.path),
            Value::String(text) if text.trim().is_empty() => {
                format!("the joint {} has an empty {name}", prim.path)
            }
            Value::String(_) => continue,
            _ => format!("the joint {} has a {name} that is not a string", prim.path),
        };
        findings.prim(
            id,
            Some(name),
            message,
            "author `custom string ros:joint:name` on the joint, or remove it",
        );
    }
}
