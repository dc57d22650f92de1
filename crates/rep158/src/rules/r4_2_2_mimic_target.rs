//! That a mimic joint follows one joint that is there.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::extended::{ONE_AXIS, mimics};
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.2",
        severity: Severity::Error,
        meaning: "A mimic joint follows no joint, more than one, or one that can't be followed.",
        outcome: "The joint does not move with the other.",
    },
    demand: "ExtendedPhysicsMimicAPI needs ext_physics:mimic:joint with exactly one target, a revolute or prismatic joint.",
    section: ("Physics Schemas", "§4.2.2"),
    breaks: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def PhysicsRevoluteJoint \"a\"\n    {\n    }\n\n    def PhysicsRevoluteJoint \"b\" (\n        apiSchemas = [\"ExtendedPhysicsMimicAPI\"]\n    )\n    {\n        rel ext_physics:mimic:joint = </robot/c>\n    }\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def PhysicsRevoluteJoint \"a\"\n    {\n    }\n\n    def PhysicsRevoluteJoint \"b\" (\n        apiSchemas = [\"ExtendedPhysicsMimicAPI\"]\n    )\n    {\n        rel ext_physics:mimic:joint = </robot/a>\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let name = "ext_physics:mimic:joint";
    for id in mimics(subject.stage) {
        let prim = &subject.stage[id];
        // Of other prims REP158-4.2.1 says that they can't mimic.
        if !ONE_AXIS.contains(&prim.type_name.as_str()) {
            continue;
        }
        let message = match prim.targets(name) {
            [] => format!("{} is to mimic a joint, and {name} names none", prim.path),
            [target] => match subject.stage.prim_at(target) {
                None => format!("{} is to mimic {target}, which is not there", prim.path),
                Some(leader) if !ONE_AXIS.contains(&leader.type_name.as_str()) => {
                    format!("{} is to mimic {target}, which is no revolute or prismatic joint", prim.path)
                }
                Some(_) => continue,
            },
            targets => format!("{} is to mimic {} joints", prim.path, targets.len()),
        };
        findings.prim(&RULE.code, id, Some(name), message, format!("let {name} name one revolute or prismatic joint"));
    }
}
