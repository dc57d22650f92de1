//! Joints that close a loop are excluded from the articulation.

use super::{Findings, Subject, rule};
use crate::physics::End;

rule! {
    severity: Error,
    meaning: "A joint that closes a loop is not excluded from the articulation.",
    outcome: "Engines with reduced coordinates reject the robot or drop a joint of their choice.",
    demand: "Articulations must form a spanning tree: joints that close a loop must set \
             physics:excludeFromArticulation = true.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let closing = subject.trees.closing.iter();
    for joint in closing.filter_map(|&index| subject.physics.joints.get(index)) {
        let [a, b] = joint.ends.each_ref().map(|end| match end {
            End::Body(id) => subject.stage[*id].path.as_str(),
            _ => "the world",
        });
        let path = &subject.stage[joint.prim].path;
        let message =
            format!("the joint {path} closes a loop: other joints already connect {a} with {b}");
        let help = "set `uniform bool physics:excludeFromArticulation = true` on the joint that closes the loop";
        findings.prim(
            joint.prim,
            Some("physics:excludeFromArticulation"),
            message,
            help,
        );
    }
}
