//! Joints are siblings of their child links.

use super::{Findings, Subject, rule};
use crate::physics::End;

rule! {
    severity: Warning,
    meaning: "A joint is not a sibling of its child link.",
    outcome: "A part of the robot that another asset references lacks its joint.",
    demand: "Authors should place the joint prim as a sibling of the child link, within the parent \
             link.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for joint in subject
        .physics
        .joints
        .iter()
        .filter(|joint| !joint.is_excluded)
    {
        let End::Body(child) = joint.ends[1] else {
            continue;
        };
        if stage[joint.prim].parent == stage[child].parent {
            continue;
        }
        let message = format!(
            "the joint {} is not a sibling of its child link {}",
            stage[joint.prim].path, stage[child].path
        );
        let place = stage[child]
            .parent
            .map_or("/", |parent| &stage[parent].path);
        findings.prim(joint.prim, None, message, format!("move it into {place}"));
    }
}
