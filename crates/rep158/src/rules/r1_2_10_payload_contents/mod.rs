//! Links, joints and ROS interfaces are outside of payloads.

use super::{Findings, Subject, rule};
use crate::layers::is_ros;

rule! {
    severity: Error,
    meaning: "A payload contains a link, joint or articulation root, or one of these or a ROS \
              interface has a payload itself.",
    outcome: "Programs that open the robot without its payloads miss a part of the kinematic tree.",
    demand: "Payloads must not encapsulate joint or link prims themselves. The kinematic topology \
             must reside in the primarily loaded scene graph.",
    section: ("Composition Arcs (LIVRPS Constraints)", "§1.2.3"),
    breaks: ["robot.usda", "link.usda"],
    keeps: ["robot.usda", "link.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let is_link = |name: &&String| {
        matches!(
            name.as_str(),
            "PhysicsRigidBodyAPI" | "PhysicsArticulationRootAPI"
        ) || (name.starts_with("Physics") && name.ends_with("Joint"))
    };
    for (id, prim) in subject.stage.present() {
        let describe = |schema: &str| {
            if schema.ends_with("API") {
                format!("has {schema}")
            } else {
                format!("is a {schema}")
            }
        };
        // ROS interfaces below a payload are left to REP158-2.1.1 and 2.2.1.
        let with_payload = || {
            std::iter::once(&prim.type_name)
                .chain(&prim.schemas)
                .find(|name| is_link(name) || is_ros(name))
                .filter(|_| prim.has_payload())
        };
        let message = if let Some(schema) = prim.payload_schemas.iter().find(is_link) {
            format!(
                "{} {} only when a payload is loaded",
                prim.path,
                describe(schema)
            )
        } else if let Some(schema) = with_payload() {
            format!("{} {} and has a payload", prim.path, describe(schema))
        } else {
            continue;
        };
        let help = "author links, joints, articulation roots and ROS interfaces in layers that are always loaded, and only their geometry in the payload of a prim below";
        findings.prim(id, None, message, help);
    }
}
