//! Joints connect bodies.

use super::{Findings, Subject, rule};
use crate::physics::End;

rule! {
    severity: Error,
    meaning: "A joint does not connect two bodies, or a body with the world.",
    outcome: "Programs ignore the joint, so that a part of the robot falls off, or reject the \
              asset.",
    demand: "Parsers must rebuild the kinematic tree from body0 and body1 alone, so both must \
             target bodies; an empty body0 is the world.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for joint in &subject.physics.joints {
        let prim = &stage[joint.prim];
        let path = &prim.path;
        let mut is_known = false;
        for (name, end) in ["physics:body0", "physics:body1"]
            .into_iter()
            .zip(&joint.ends)
        {
            let targets = prim.targets(name);
            let message = match end {
                End::Missing(target) => {
                    format!("the joint {path} targets {target} with {name}, which does not exist")
                }
                _ if targets.len() > 1 => {
                    format!("the joint {path} has {} targets for {name}", targets.len())
                }
                _ => continue,
            };
            is_known = true;
            findings.prim(
                joint.prim,
                Some(name),
                message,
                format!("target exactly one body with {name}"),
            );
        }
        if is_known {
            continue;
        }
        let (name, message) = match &joint.ends {
            [End::Body(a), End::Body(b)] if a == b => (
                "physics:body1",
                format!(
                    "the joint {path} connects the body {} with itself",
                    stage[*a].path
                ),
            ),
            [_, End::Body(_)] | [End::Body(_), End::World] => continue,
            [_, End::Static(id)] => (
                "physics:body1",
                format!(
                    "the joint {path} targets {}, which is neither a body nor inside of one",
                    stage[*id].path
                ),
            ),
            _ => (
                "physics:body1",
                format!("the joint {path} connects no body"),
            ),
        };
        let help = "target the parent link with physics:body0 and the child link with physics:body1, both with PhysicsRigidBodyAPI";
        findings.prim(joint.prim, Some(name), message, help);
    }
}
