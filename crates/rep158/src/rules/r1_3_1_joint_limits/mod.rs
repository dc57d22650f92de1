//! Joint limits are authored.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The lower or upper limit of a joint is not authored.",
    outcome: "Whether the joint is limited depends on the program; the schema defaults to no \
              limit.",
    demand: "Joint limits must be authored explicitly; a joint without limits has -inf and inf.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in &subject.physics.joints {
        let prim = &subject.stage[joint.prim];
        let mut demand = |name: &str, side: &str| {
            if prim.value(name).is_none() {
                let message = format!("the joint {} has no {side}", prim.path);
                let help = format!("author {name}; -inf and inf mean no limit");
                findings.prim(joint.prim, Some(name), message, help);
            }
        };
        if matches!(
            prim.type_name.as_str(),
            "PhysicsRevoluteJoint" | "PhysicsPrismaticJoint"
        ) {
            demand("physics:lowerLimit", "lower limit");
            demand("physics:upperLimit", "upper limit");
        }
        for axis in prim.instances_of("PhysicsLimitAPI") {
            demand(
                &format!("limit:{axis}:physics:low"),
                &format!("lower limit of {axis}"),
            );
            demand(
                &format!("limit:{axis}:physics:high"),
                &format!("upper limit of {axis}"),
            );
        }
    }
}
