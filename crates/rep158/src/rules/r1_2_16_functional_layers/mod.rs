//! Geometry, physics and ROS interfaces are in separate layers.

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::{Holds, contents, first};

rule! {
    severity: Error,
    meaning: "A layer holds two of: the robot's shapes and poses, its physics, its ROS interfaces.",
    outcome: "Nobody can take one without the other: a viewer gets schemas that it does not know, \
              and a simulator without ROS gets its interfaces.",
    demand: "Assets must use functional layering to isolate core OpenUSD data from simulation and \
             ROS-specific schemas.",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    breaks: ["robot.usda", "physics.usda"],
    keeps: ["robot.usda", "physics.usda", "base.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // The root layer is left to REP158-1.2.20.
    for (index, layer) in subject.stage.layers.iter().enumerate().skip(1) {
        let contents = contents(layer);
        let core = [
            Holds::MeshData,
            Holds::Geometry,
            Holds::Looks,
            Holds::Transforms,
        ]
        .into_iter()
        .find_map(|holds| first(&contents, holds));
        let parts: Vec<_> = [
            core,
            first(&contents, Holds::Physics),
            first(&contents, Holds::Ros),
        ]
        .into_iter()
        .flatten()
        .collect();
        if parts.len() < 2 {
            continue;
        }
        let parts: Vec<String> = parts
            .iter()
            .map(|part| format!("{} ({} at {})", part.holds.name(), part.what, part.path))
            .collect();
        let message = format!("{} holds {}", layer.file_name(), parts.join(" and "));
        let help = "put physics into physics.usda, ROS interfaces into ros.usda, and shapes and poses into base.usda and what it references";
        findings.layer(LayerId(index), "", message, help);
    }
}
