//! That an actuator drives joints that are there.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::extended::ONE_AXIS;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.4",
        severity: Severity::Error,
        meaning: "An actuator drives no joint, or one that is not there or has not one axis.",
        outcome: "The actuator does nothing.",
    },
    demand: "ExtendedPhysicsActuatorAPI needs ext_physics:actuator:targets, which lead to revolute or prismatic joints.",
    section: ("Physics Schemas", "§4.2.2"),
    breaks: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def PhysicsRevoluteJoint \"a\"\n    {\n    }\n\n    def Scope \"b\" (\n        apiSchemas = [\"ExtendedPhysicsActuatorAPI\"]\n    )\n    {\n    }\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def PhysicsRevoluteJoint \"a\"\n    {\n    }\n\n    def Scope \"b\" (\n        apiSchemas = [\"ExtendedPhysicsActuatorAPI\"]\n    )\n    {\n        rel ext_physics:actuator:targets = </robot/a>\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let name = "ext_physics:actuator:targets";
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present() && prim.has("ExtendedPhysicsActuatorAPI")) {
        let help = format!("let {name} name revolute or prismatic joints");
        if prim.targets(name).is_empty() {
            let message = format!("the actuator {} drives no joint", prim.path);
            findings.prim(&RULE.code, id, Some(name), message, &help);
        }
        for target in prim.targets(name) {
            let message = match subject.stage.prim_at(target) {
                Some(joint) if ONE_AXIS.contains(&joint.type_name.as_str()) => continue,
                Some(_) => format!("the actuator {} drives {target}, which is no revolute or prismatic joint", prim.path),
                None => format!("the actuator {} drives {target}, which is not there", prim.path),
            };
            findings.prim(&RULE.code, id, Some(name), message, &help);
        }
    }
}
