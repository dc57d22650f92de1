//! Default positions are within the joint limits.

use super::{Findings, Subject, rule};
use urdf_usd_gltf_extension::JointType;

rule! {
    severity: Warning,
    meaning: "The default position of a degree of freedom is outside its limits.",
    outcome: "The robot starts where it may not be.",
    demand: "`default` SHOULD be within the limits; that of a joint with a mimic is its driver's \
             business.",
    section: ("Degrees of freedom", "#degrees-of-freedom"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject.asset.joints() {
        // The position of a follower comes from its driver.
        if joint.kind == Some(JointType::Continuous) || joint.mimic.is_some() {
            continue;
        }
        for (k, dof) in joint.dofs.iter().enumerate() {
            let Some(range) = dof.range_without(dof.default) else {
                continue;
            };
            let message = format!(
                "{}: the default position {} is outside {range}",
                joint.title(),
                dof.default
            );
            let help = "give a default within the limits; where it is absent it is 0";
            findings.report(
                format!("{}/dofs/{k}/default", joint.pointer()),
                message,
                help,
            );
        }
    }
}
