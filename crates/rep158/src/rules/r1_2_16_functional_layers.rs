//! That the robot's body, its physics and its ROS interfaces are in layers of their own.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{LayerId};

use crate::Rule;
use crate::findings::Findings;
use crate::layers::{Holds, contents, first};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.2.16",
        severity: Severity::Error,
        meaning: "A layer holds two of: the robot's shapes and poses, its physics, its ROS interfaces.",
        outcome: "Nobody can take one without the other: a viewer gets schemas that it does not know, and a simulator without ROS gets its interfaces.",
    },
    demand: "Assets must use functional layering to isolate core OpenUSD data from simulation and ROS-specific schemas.",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    breaks: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    subLayers = [@physics.usda@]\n)\n\ndef Xform \"robot\"\n{\n}")), ("physics.usda", Some("def Xform \"robot\"\n{\n    def Xform \"link\" (\n        apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n        double3 xformOp:translate = (0, 0, 1)\n        uniform token[] xformOpOrder = [\"xformOp:translate\"]\n    }\n}"))],
    keeps: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    subLayers = [@physics.usda@, @base.usda@]\n)\n\ndef Xform \"robot\"\n{\n}")), ("physics.usda", Some("over \"robot\"\n{\n    over \"link\" (\n        prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n    }\n}")), ("base.usda", Some("def Xform \"robot\"\n{\n    def Xform \"link\"\n    {\n        double3 xformOp:translate = (0, 0, 1)\n        uniform token[] xformOpOrder = [\"xformOp:translate\"]\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // Of the root layer, which should hold none of it, REP158-1.2.20 says it.
    for (index, layer) in subject.stage.layers.iter().enumerate().skip(1) {
        let contents = contents(layer);
        let core = [Holds::MeshData, Holds::Geometry, Holds::Looks, Holds::Transforms].into_iter().find_map(|holds| first(&contents, holds));
        let parts: Vec<_> = [core, first(&contents, Holds::Physics), first(&contents, Holds::Ros)].into_iter().flatten().collect();
        if parts.len() < 2 {
            continue;
        }
        let parts: Vec<String> = parts.iter().map(|part| format!("{} ({} at {})", part.holds.name(), part.what, part.path)).collect();
        let message = format!("{} holds {}", layer.file_name(), parts.join(" and "));
        let help = "put physics into physics.usda, ROS interfaces into ros.usda, and shapes and poses into base.usda and what it references";
        findings.layer(&RULE.code, LayerId(index), "", message, help);
    }
}
