//! The motions of a joint's degrees of freedom are those of its type.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A degree of freedom turns where the joint's type says that it slides, or slides \
              where it should turn.",
    outcome: "The joint moves in another way than its type says.",
    demand: "Their motions MUST be those of the joint's type.",
    section: ("Joints", "#joints"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject.asset.joints() {
        let Some(kind) = joint.kind else { continue };
        for (k, (dof, &expected)) in joint.dofs.iter().zip(kind.motions()).enumerate() {
            let Some(motion) = dof.motion.filter(|&motion| motion != expected) else {
                continue;
            };
            let message = format!(
                "{} is {}, so degree of freedom {k} is a {}; it says {}",
                joint.title(),
                kind.as_str(),
                expected.as_str(),
                motion.as_str()
            );
            let help = "change the joint's type or the motion; a floating joint's three translations come first";
            findings.report(
                format!("{}/dofs/{k}/motion", joint.pointer()),
                message,
                help,
            );
        }
    }
}
