//! That bodies and frames have a translation and a quaternion.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{texts};

use crate::Rule;
use crate::findings::Findings;
use crate::kinematic::{Kind, kinematic};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.1.6",
        severity: Severity::Error,
        meaning: "A body, joint or frame is placed by other operations than a translation and then a quaternion.",
        outcome: "Programs that read poses as ROS has them place the link somewhere else.",
    },
    demand: "Kinematic prims must use a minimal xformOpOrder stack: exactly one xformOp:translate and one xformOp:orient (quaternion).",
    section: ("Coordinate Systems & Units", "§1.1"),
    breaks: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def Xform \"link\" (\n        apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n        double3 xformOp:translate = (0, 0, 1)\n        float3 xformOp:rotateXYZ = (0, 0, 90)\n        uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:rotateXYZ\"]\n    }\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def Xform \"link\" (\n        apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n        double3 xformOp:translate = (0, 0, 1)\n        quatf xformOp:orient = (1, 0, 0, 0)\n        uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\"]\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, kind) in kinematic(subject.stage) {
        let prim = &subject.stage[id];
        let order = prim.value("xformOpOrder").and_then(texts).unwrap_or_default();
        let who = format!("the {} {}", kind.name(), prim.path);
        let message = match order.as_slice() {
            ["xformOp:translate", "xformOp:orient"] => match prim.xform().broken.first() {
                None => continue,
                Some(op) => format!("{who} lists {op}, which has no value"),
            },
            // Joints are placed by their bodies and localPos, localRot.
            [] if kind == Kind::Joint => continue,
            [] => format!("{who} has no transform"),
            ["xformOp:orient", "xformOp:translate"] => format!("{who} is moved first and turned then, about the origin of its parent"),
            other => format!("{who} is placed by {}", other.join(", ")),
        };
        let help = "author xformOp:translate and xformOp:orient, in this order and nothing else: `urdf_usd fix` converts other operations";
        findings.prim(&RULE.code, id, Some("xformOpOrder"), message, help);
    }
}
