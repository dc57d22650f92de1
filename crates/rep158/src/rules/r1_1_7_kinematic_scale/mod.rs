//! Bodies, joints and frames have no scale.

use super::{Findings, Subject, rule};
use crate::kinematic::{kinematic, scale_op};

rule! {
    severity: Error,
    meaning: "A body, joint or frame is scaled.",
    outcome: "Some programs scale the links below it and others do not, so that shapes, masses and \
              joints no longer fit together.",
    demand: "Kinematic prims (rigid bodies and joints) must maintain identity scale or omit \
             xformOp:scale entirely.",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, kind) in kinematic(subject.stage) {
        let prim = &subject.stage[id];
        if let Some(op) = scale_op(prim) {
            let message = format!("the {} {} is scaled by {op}", kind.name(), prim.path);
            let help =
                "scale the shapes below instead, and the positions of the links below with them";
            findings.prim(id, Some(&op), message, help);
        }
    }
}
