//! Controllers name their targets.

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
    // Actuators are left to REP158-4.2.4.
    for (id, prim) in control::controllers(subject.stage)
        .filter(|(_, prim)| !prim.has("ExtendedPhysicsActuatorAPI"))
    {
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
