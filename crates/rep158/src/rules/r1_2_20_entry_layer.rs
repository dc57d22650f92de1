//! That the root layer only puts the others together.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::layers::{Holds, contents};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.2.20",
        severity: Severity::Error,
        meaning: "The root layer itself holds meshes, physics, materials or ROS interfaces.",
        outcome: "Whoever opens it for one of them gets all, and no other entry can use the parts.",
    },
    demand: "The final distributed asset must be a lightweight interface layer that uses Payloads to load the Features.",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    breaks: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def Xform \"link\" (\n        apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n    }\n}"))],
    keeps: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    subLayers = [@physics.usda@]\n)\n\ndef Xform \"robot\"\n{\n}")), ("physics.usda", Some("over \"robot\"\n{\n    over \"link\" (\n        prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(root) = subject.stage.root_layer() else { return };
    let own: Vec<String> = contents(root)
        .iter()
        .filter(|found| !matches!(found.holds, Holds::Transforms | Holds::Vendor))
        .map(|found| format!("{} ({} at {})", found.holds.name(), found.what, found.path))
        .collect();
    if !own.is_empty() {
        let message = format!("the root layer {} itself holds {}", root.file_name(), own.join(", "));
        let help = "put them into layers that the root layer includes by sublayers, references or payloads";
        findings.stage(&RULE.code, message, help);
    }
}
