//! Joints that controllers move have a drive or an actuator.

use std::collections::HashSet;

use super::{Findings, Subject, rule};
use crate::control;
use crate::physics::is_joint;
use crate::registry::{Target, controllers_of};

rule! {
    severity: Warning,
    meaning: "A controller moves a joint that has neither a drive nor an actuator.",
    outcome: "Simulators have nothing to apply the commands to: the joint swings freely.",
    demand: "Position, velocity, and effort targets must be routed through normative OpenUSD dynamics \
             paradigms (e.g., UsdPhysicsDriveAPI) or universally ratified extension schemas.",
    section: ("Control Schemas", "§4.2.3"),
}

const ACTUATOR: &str = "ExtendedPhysicsActuatorAPI";

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let actuated: HashSet<&String> = stage
        .present_with(ACTUATOR)
        .flat_map(|(_, actuator)| actuator.targets("ext_physics:actuator:targets"))
        .collect();
    for (id, prim) in control::controllers(stage).filter(|(_, prim)| !prim.has(ACTUATOR)) {
        // Wheels are left to REP158-4.2.16.
        let wheels: HashSet<&String> = controllers_of(prim)
            .flat_map(|controller| {
                let driven = controller.relationships.iter();
                driven
                    .filter(|(_, target)| *target == Target::Driven)
                    .flat_map(move |(last, _)| {
                        prim.targets(&format!("{}{last}", controller.prefix))
                    })
            })
            .collect();
        let free = control::targets(prim)
            .filter(|path| !actuated.contains(path) && !wheels.contains(path))
            .filter_map(|path| stage.prim_at(path))
            .filter(|joint| is_joint(joint) && !joint.has("PhysicsDriveAPI"));
        for joint in free {
            let message = format!(
                "the controller {} moves {}, which has no drive",
                prim.path, joint.path
            );
            let help = format!(
                "apply PhysicsDriveAPI to the joint, or name it in the targets of {ACTUATOR}"
            );
            findings.prim(id, None, message, help);
        }
    }
}
