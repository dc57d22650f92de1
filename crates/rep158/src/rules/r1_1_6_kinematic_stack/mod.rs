//! Bodies, joints and frames are placed by a translation and a quaternion.

use urdf_usd_stage::texts;

use super::{Findings, Subject, rule};
use crate::kinematic::{Kind, kinematic};

rule! {
    severity: Error,
    meaning: "A body, joint or frame is placed by other operations than a translation and then a \
              quaternion.",
    outcome: "Programs that read poses as ROS has them place the link somewhere else.",
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
        let who = format!("the {} {}", kind.name(), prim.path);
        let message = match order.as_slice() {
            ["xformOp:translate", "xformOp:orient"] => match prim.xform().broken.first() {
                None => continue,
                Some(op) => format!("{who} lists {op}, which has no value"),
            },
            // Joints are placed by their bodies, localPos and localRot.
            [] if kind == Kind::Joint => continue,
            [] => format!("{who} has no transform"),
            ["xformOp:orient", "xformOp:translate"] => {
                format!("{who} is moved first and turned then, about the origin of its parent")
            }
            other => format!("{who} is placed by {}", other.join(", ")),
        };
        let help = "author xformOp:translate and xformOp:orient, in this order and nothing else: `urdf_usd fix` converts other operations";
        findings.prim(id, Some("xformOpOrder"), message, help);
    }
}
