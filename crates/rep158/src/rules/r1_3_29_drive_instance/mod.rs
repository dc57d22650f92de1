//! A drive has the instance name of a degree of freedom of its joint.

use super::{Findings, Subject, rule};

rule! {
    severity: Warning,
    meaning: "A drive has an instance name that the type of its joint does not have.",
    outcome: "Engines ignore the drive: the joint moves without stiffness and damping.",
    demand: "A PhysicsDriveAPI must be named angular on a revolute joint, linear on a prismatic one, \
             and after an axis (transX to rotZ) on a PhysicsJoint.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in &subject.physics.joints {
        let prim = &subject.stage[joint.prim];
        let names: &[&str] = match prim.type_name.as_str() {
            "PhysicsRevoluteJoint" => &["angular"],
            "PhysicsPrismaticJoint" => &["linear"],
            "PhysicsJoint" => &["transX", "transY", "transZ", "rotX", "rotY", "rotZ"],
            "PhysicsFixedJoint" => &[],
            // Engines differ on the drives of balls and distances.
            _ => continue,
        };
        for instance in prim.instances_of("PhysicsDriveAPI") {
            if names.contains(&instance) {
                continue;
            }
            let message = format!(
                "the joint {} has the drive {instance}, which a {} does not have",
                prim.path, prim.type_name
            );
            let help = match names {
                [] => "remove the drive".to_owned(),
                names => format!("name the drive {}", names.join(", ")),
            };
            let stiffness = format!("drive:{instance}:physics:stiffness");
            let property = prim.value(&stiffness).map(|_| stiffness.as_str());
            findings.prim(joint.prim, property, message, help);
        }
    }
}
