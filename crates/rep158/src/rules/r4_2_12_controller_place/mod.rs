//! Controllers are on prims of their own, outside of bodies.

use super::{Findings, Subject, rule};
use crate::control;
use crate::physics::{is_body, is_joint, is_shape};

rule! {
    severity: Warning,
    meaning: "A controller is a body, a joint or a shape, or inside of a body.",
    outcome: "Replacing the link removes the controller.",
    demand: "Controllers should be on dedicated logical prims (e.g. /Robot/Controllers), apart \
             from the rigid bodies.",
    section: ("Control Schemas", "§4.2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in control::controllers(stage) {
        let fault = if is_body(prim) {
            "is a body".to_owned()
        } else if is_joint(prim) {
            "is a joint".to_owned()
        } else if is_shape(prim) {
            "is a shape".to_owned()
        } else if let Some(body) = stage.ancestors(id).find(|&id| is_body(&stage[id])) {
            format!("is in the link {}", stage[body].path)
        } else {
            continue;
        };
        let message = format!("the controller {} {fault}", prim.path);
        findings.prim(
            id,
            None,
            message,
            "move it to a separate prim, such as /robot/Controllers/arm, with its targets",
        );
    }
}
