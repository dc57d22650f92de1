//! Actuators drive existing revolute or prismatic joints.

use super::{Findings, Subject, rule};
use crate::mimic::is_single_dof;

rule! {
    severity: Error,
    meaning: "An actuator targets no joint that it can drive.",
    outcome: "It drives nothing, or programs reject the asset.",
    demand: "ext_physics:actuator:targets must target existing revolute or prismatic joints.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let name = "ext_physics:actuator:targets";
    for (id, prim) in stage.present_with("ExtendedPhysicsActuatorAPI") {
        let help = format!("target revolute or prismatic joints with `rel {name}`");
        if prim.targets(name).is_empty() {
            findings.prim(
                id,
                Some(name),
                format!("the actuator {} has no targets", prim.path),
                &help,
            );
        }
        for target in prim.targets(name) {
            let message = match stage.prim_at(target) {
                None => format!(
                    "the actuator {} drives {target}, which does not exist",
                    prim.path
                ),
                Some(driven) if !is_single_dof(driven) => {
                    format!(
                        "the actuator {} drives {target}, which is not a revolute or prismatic joint",
                        prim.path
                    )
                }
                Some(_) => continue,
            };
            findings.prim(id, Some(name), message, &help);
        }
    }
}
