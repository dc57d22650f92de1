//! Bodies, joints and frames are placed by a translation and a quaternion.

use urdf_usd_stage::texts;

use super::{Findings, Subject, rule};
use crate::kinematic::{Kind, kinematic};

rule! {
    severity: Error,
    meaning: "A body, joint or frame has other transform operations than a translation followed by \
              a quaternion.",
    outcome: "Programs that read only a translation and an orientation place the link wrongly.",
    demand: "Kinematic prims must use a minimal xformOpOrder stack: exactly one xformOp:translate \
             and one xformOp:orient (quaternion).",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, kind) in kinematic(subject.stage) {
        let prim = &subject.stage[id];
        let order = prim
            .value("xformOpOrder")
            .and_then(texts)
            .unwrap_or_default();
        let name = format!("the {} {}", kind.name(), prim.path);
        let message = match order.as_slice() {
            ["xformOp:translate", "xformOp:orient"] => match prim.xform().broken.first() {
                None => continue,
                Some(op) => format!("{name} lists {op}, which has no value"),
            },
            // Joints are placed by their bodies, localPos and localRot.
            [] if kind == Kind::Joint => continue,
            [] => format!("{name} has no transform"),
            ["xformOp:orient", "xformOp:translate"] => {
                format!(
                    "{name} lists xformOp:orient before xformOp:translate, so it rotates about the origin of its parent"
                )
            }
            other => format!("{name} is placed by {}", other.join(", ")),
        };
        let help = "author xformOp:translate and xformOp:orient, in this order and nothing else: `urdf_usd fix` converts other operations";
        findings.prim(id, Some("xformOpOrder"), message, help);
    }
}
