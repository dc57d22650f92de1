//! Every link is the child of at most one joint.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A link is the child of several joints.",
    outcome: "Its pose is undefined: a link has one node, which has one parent.",
    demand: "A link MUST be the child of at most one joint.",
    section: ("Model", "#model"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        let parents = model.parent_joints();
        for joint in &model.joints {
            let first = joint
                .child
                .and_then(|child| parents.get(child).copied().flatten());
            let Some(first) = first
                .filter(|&first| first != joint.index)
                .and_then(|first| model.joints.get(first))
            else {
                continue;
            };
            let child = model.link_title(joint.child);
            let message = format!(
                "{child} is the child of {} and of {}",
                first.title(),
                joint.title()
            );
            let help = "keep one of the joints; a joint that closes a loop belongs into the model's extras";
            findings.report(joint.read.child_link().at(), message, help);
        }
    }
}
