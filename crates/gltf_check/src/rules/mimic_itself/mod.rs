//! No joint follows itself.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A joint follows itself.",
    outcome: "It has no position.",
    demand: "A joint MUST NOT follow itself.",
    section: ("Mimics", "#mimics"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject.asset.joints() {
        let driver = joint.mimic.as_ref().and_then(|mimic| mimic.joint);
        if driver == Some(joint.index) {
            let message = format!("{} follows itself", joint.title());
            findings.report(
                format!("{}/mimic/joint", joint.pointer()),
                message,
                "name the joint that it follows",
            );
        }
    }
}
