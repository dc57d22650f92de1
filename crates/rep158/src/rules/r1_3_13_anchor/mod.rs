//! A fixed base is anchored by a fixed joint with an empty `body0`.

use super::{Findings, Subject, rule};
use crate::physics::End;

rule! {
    severity: Error,
    meaning: "A body is fixed to the world in another way than by a joint with an empty body0.",
    outcome: "Programs do not recognise the fixed base, and the robot falls.",
    demand: "A fixed robot base must be anchored by a PhysicsFixedJoint with an empty \
             physics:body0.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for joint in &subject.physics.joints {
        let prim = &stage[joint.prim];
        let path = &prim.path;
        let message = match &joint.ends {
            [End::Body(body), End::World] => {
                format!(
                    "the joint {path} attaches {} to the world by body0, and leaves body1 empty",
                    stage[*body].path
                )
            }
            [End::Static(id), End::Body(body)] if prim.type_name == "PhysicsFixedJoint" => {
                format!(
                    "the joint {path} fixes {} to {}, which is not a body",
                    stage[*body].path, stage[*id].path
                )
            }
            _ => continue,
        };
        let help = "target the body with physics:body1 and leave physics:body0 empty";
        findings.prim(joint.prim, Some("physics:body0"), message, help);
    }
}
