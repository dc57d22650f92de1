//! Instances contain no bodies, joints or ROS interfaces.

use urdf_usd_stage::Prim;

use super::{Findings, Subject, rule};
use crate::physics::{is_body, is_joint};
use crate::ros;

rule! {
    severity: Error,
    meaning: "An instanced prim is or contains a body, a joint or a prim with a ROS schema.",
    outcome: "Prims in an instance cannot be targeted or overridden, so joints and interfaces \
              break.",
    demand: "Authors must only instance leaf geometry, not prims with PhysicsRigidBodyAPI, joints \
             or Ros*API.",
    section: ("Instanceable Leaves", "§3.5"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage
        .iter()
        .filter(|(_, prim)| prim.is_instanceable && prim.instance.is_none() && prim.is_present())
    {
        let obstacle = stage
            .subtree(id)
            .find_map(|id| Some((&stage[id], instancing_obstacle(&stage[id])?)));
        let Some((found, what)) = obstacle else {
            continue;
        };
        let message = if found.path == prim.path {
            format!("{} is instanceable and {what}", prim.path)
        } else {
            format!(
                "{} is instanceable and contains {}, which {what}",
                prim.path, found.path
            )
        };
        findings.prim(
            id,
            None,
            message,
            "instance the visual or collision geometry below it instead",
        );
    }
}

/// Returns why a prim cannot be instanced, as a predicate: "is a body".
fn instancing_obstacle(prim: &Prim) -> Option<String> {
    if !prim.is_active {
        return None;
    }
    let ros_schema = || {
        ros::schemas(prim)
            .next()
            .map(|schema| format!("has {schema}"))
    };
    if is_body(prim) {
        Some("is a body".to_owned())
    } else if is_joint(prim) {
        Some("is a joint".to_owned())
    } else {
        ros_schema()
    }
}
