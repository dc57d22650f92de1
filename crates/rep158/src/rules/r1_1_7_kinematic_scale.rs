//! That bodies, joints and frames are not scaled.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::kinematic::{is_scaled, kinematic};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.1.7",
        severity: Severity::Error,
        meaning: "A body, joint or frame is scaled.",
        outcome: "Programs scale the links below it or don't, so that shapes, masses and joints no longer fit together.",
    },
    demand: "Kinematic prims (rigid bodies and joints) must maintain identity scale or omit xformOp:scale entirely.",
    section: ("Coordinate Systems & Units", "§1.1"),
    breaks: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def Xform \"link\" (\n        apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n        float3 xformOp:scale = (2, 2, 2)\n        uniform token[] xformOpOrder = [\"xformOp:scale\"]\n    }\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def Xform \"link\" (\n        apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n        double3 xformOp:translate = (0, 0, 1)\n        quatf xformOp:orient = (1, 0, 0, 0)\n        uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\"]\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, kind) in kinematic(subject.stage) {
        let prim = &subject.stage[id];
        if let Some(op) = is_scaled(prim) {
            let message = format!("the {} {} is scaled by {op}", kind.name(), prim.path);
            let help = "scale the shapes below instead, and the positions of the links below with them";
            findings.prim(&RULE.code, id, Some(&op), message, help);
        }
    }
}
