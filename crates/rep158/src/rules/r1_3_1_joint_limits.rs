//! That a revolute or prismatic joint has limits.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.1",
        severity: Severity::Error,
        meaning: "A revolute or prismatic joint has no lower or no upper limit.",
        outcome: "Whether it is limited depends on the program: the schema's default is no limit.",
    },
    demand: "Joint limits must be authored explicitly; a joint without limits has -inf and inf.",
    section: ("Physics and Dynamics", "§1.3"),
    breaks: &[("robot.usda", Some(
        "def Xform \"robot\"\n{\n    def PhysicsRevoluteJoint \"hip\"\n    {\n        float physics:lowerLimit = -90\n    }\n}",
    ))],
    keeps: &[("robot.usda", Some(
        "def Xform \"robot\"\n{\n    def PhysicsRevoluteJoint \"hip\"\n    {\n        float physics:lowerLimit = -90\n        float physics:upperLimit = 90\n    }\n}",
    ))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in &subject.physics.joints {
        let prim = &subject.stage[joint.prim];
        if !matches!(prim.type_name.as_str(), "PhysicsRevoluteJoint" | "PhysicsPrismaticJoint") {
            continue;
        }
        for (name, side) in [("physics:lowerLimit", "lower"), ("physics:upperLimit", "upper")] {
            if prim.value(name).is_none() {
                let message = format!("the joint {} has no {side} limit", prim.path);
                let help = format!("author {name}; -inf and inf mean that there is none");
                findings.prim(&RULE.code, joint.prim, Some(name), message, help);
            }
        }
    }
}
