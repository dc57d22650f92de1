//! The root layer only composes other layers.

use super::{Findings, Subject, rule};
use crate::layers::Content;

rule! {
    severity: Error,
    meaning: "The root layer itself holds meshes, physics, materials or ROS interfaces.",
    outcome: "Programs that need one of them load all of them, and no other entry layer can reuse \
              the parts.",
    demand: "The final distributed asset must be a lightweight interface layer that uses Payloads \
             to load the Features.",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    keeps: ["robot.usda", "physics.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(root) = subject.stage.root_layer() else {
        return;
    };
    let own: Vec<String> = (subject.contents(0).iter())
        .filter(|found| !matches!(found.content, Content::Transforms | Content::Vendor))
        .map(|found| {
            format!(
                "{} ({} at {})",
                found.content.name(),
                found.name,
                found.path
            )
        })
        .collect();
    if !own.is_empty() {
        let message = format!(
            "the root layer {} itself holds {}",
            root.file_name(),
            own.join(", ")
        );
        let help = "move them into layers that the root layer includes by sublayers, references or payloads";
        findings.stage(message, help);
    }
}
