//! That only joints with one axis mimic.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::extended::{ONE_AXIS, mimics};
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.1",
        severity: Severity::Warning,
        meaning: "A prim that is no revolute or prismatic joint has ExtendedPhysicsMimicAPI.",
        outcome: "There is no one position that could follow another: programs ignore it.",
    },
    demand: "Extended physics schemas are declarative parameters that can be implemented across simulators: ExtendedPhysicsMimicAPI is for revolute and prismatic joints.",
    section: ("Physics Schemas", "§4.2.2"),
    breaks: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def PhysicsRevoluteJoint \"a\"\n    {\n    }\n\n    def PhysicsFixedJoint \"b\" (\n        apiSchemas = [\"ExtendedPhysicsMimicAPI\"]\n    )\n    {\n        rel ext_physics:mimic:joint = </robot/a>\n    }\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def PhysicsRevoluteJoint \"a\"\n    {\n    }\n\n    def PhysicsRevoluteJoint \"b\" (\n        apiSchemas = [\"ExtendedPhysicsMimicAPI\"]\n    )\n    {\n        rel ext_physics:mimic:joint = </robot/a>\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for id in mimics(subject.stage) {
        let prim = &subject.stage[id];
        if !ONE_AXIS.contains(&prim.type_name.as_str()) {
            let what = if prim.type_name.is_empty() { "a prim without type" } else { &prim.type_name };
            let message = format!("{} is to mimic a joint, and is {what}", prim.path);
            findings.prim(&RULE.code, id, None, message, "apply ExtendedPhysicsMimicAPI to a revolute or prismatic joint only");
        }
    }
}
