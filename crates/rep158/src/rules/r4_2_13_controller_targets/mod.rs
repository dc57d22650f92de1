//! Controllers name their targets.

use urdf_usd_stage::Prim;

use super::{Findings, Subject, rule};
use crate::control;

rule! {
    severity: Error,
    meaning: "A controller names no targets.",
    outcome: "Simulators guess the targets from its place, or skip the controller.",
    demand: "Controllers must declare their targets by relationships or UsdCollectionAPI \
             collections.",
    section: ("Control Schemas", "§4.2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // Actuators are left to REP158-4.2.4, controllers of the registry to REP158-4.2.16.
    let is_other = |prim: &Prim| {
        let is_ros = |schema: &String| control::is_ros_controller(schema);
        !prim.has("ExtendedPhysicsActuatorAPI") && !prim.schemas.iter().any(is_ros)
    };
    for (id, prim) in control::controllers(subject.stage).filter(|(_, prim)| is_other(prim)) {
        if control::targets(prim).next().is_none() {
            let message = format!("the controller {} names no targets", prim.path);
            findings.prim(
                id,
                None,
                message,
                "author a relationship to the joints that it moves",
            );
        }
    }
}
