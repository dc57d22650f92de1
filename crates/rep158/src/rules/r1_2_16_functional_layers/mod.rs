//! Geometry, physics and ROS interfaces are in separate layers.

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::{Content, find};

rule! {
    severity: Error,
    meaning: "A layer mixes two of: shapes and poses, physics, ROS interfaces.",
    outcome: "Programs cannot load one without the other: a viewer gets schemas that it does not \
              know, and a simulator without ROS gets ROS interfaces.",
    demand: "Assets must use functional layering to isolate core OpenUSD data from simulation and \
             ROS-specific schemas.",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    breaks: ["robot.usda", "physics.usda"],
    keeps: ["robot.usda", "physics.usda", "base.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // The root layer is left to REP158-1.2.20.
    for (index, layer) in subject.stage.layers.iter().enumerate().skip(1) {
        let contents = subject.contents(index);
        let core = [
            Content::MeshData,
            Content::Geometry,
            Content::Looks,
            Content::Transforms,
        ]
        .into_iter()
        .find_map(|content| find(contents, content));
        let parts: Vec<_> = [
            core,
            find(contents, Content::Physics),
            find(contents, Content::Ros),
        ]
        .into_iter()
        .flatten()
        .collect();
        if parts.len() < 2 {
            continue;
        }
        let parts: Vec<String> = parts
            .iter()
            .map(|part| format!("{} ({} at {})", part.content.name(), part.name, part.path))
            .collect();
        let message = format!("{} holds {}", layer.file_name(), parts.join(" and "));
        let help = "put physics into physics.usda, ROS interfaces into ros.usda, and shapes and poses into base.usda and what it references";
        findings.layer(LayerId(index), "", message, help);
    }
}
