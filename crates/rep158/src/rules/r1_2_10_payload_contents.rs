//! That payloads hold no links, joints or ROS interfaces.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::layers::is_ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.2.10",
        severity: Severity::Error,
        meaning: "A link or joint is there only with a payload, or a link, joint or ROS interface bears one itself.",
        outcome: "Programs that read the robot without its meshes miss a part of its tree.",
    },
    demand: "Payloads must not encapsulate joint or link prims themselves. The kinematic topology must reside in the primarily loaded scene graph.",
    section: ("Composition Arcs (LIVRPS Constraints)", "§1.2.3"),
    breaks: &[("robot.usda", Some("def Xform \"robot\" (\n    payload = @link.usda@\n)\n{\n}")), ("link.usda", Some("def Xform \"robot\"\n{\n    def Xform \"link\" (\n        apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n    }\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def Xform \"link\" (\n        apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n        def Xform \"visual\" (\n            payload = @link.usda@\n        )\n        {\n        }\n    }\n}")), ("link.usda", Some("def Xform \"robot\"\n{\n    def Cube \"shape\"\n    {\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let is_link = |name: &&String| *name == "PhysicsRigidBodyAPI" || (name.starts_with("Physics") && name.ends_with("Joint"));
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present()) {
        let says = |schema: &str| if schema.ends_with("API") { format!("has {schema}") } else { format!("is a {schema}") };
        // Of ROS interfaces below a payload REP158-2.1.1 and 2.2.1 tell.
        let bearing = || std::iter::once(&prim.type_name).chain(&prim.schemas).find(|name| is_link(name) || is_ros(name)).filter(|_| prim.bears_payload());
        let message = if let Some(schema) = prim.payload_schemas.iter().find(is_link) {
            format!("{} {} only when a payload is loaded", prim.path, says(schema))
        } else if let Some(schema) = bearing() {
            format!("{} {} and bears a payload", prim.path, says(schema))
        } else {
            continue;
        };
        let help = "author links, joints and ROS interfaces in layers that are always loaded, and only their geometry in the payload of a prim below";
        findings.prim(&RULE.code, id, None, message, help);
    }
}
