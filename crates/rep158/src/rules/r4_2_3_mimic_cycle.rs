//! That no mimic joint follows itself.

use std::collections::BTreeSet;

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{PrimId};

use crate::Rule;
use crate::extended::mimics;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.3",
        severity: Severity::Error,
        meaning: "Mimic joints follow each other in a circle.",
        outcome: "No joint leads, so a solver finds no position or another at each start.",
    },
    demand: "ExtendedPhysicsMimicAPI relationships must lead to a joint that follows none.",
    section: ("Physics Schemas", "§4.2.2"),
    breaks: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def PhysicsRevoluteJoint \"a\" (\n        apiSchemas = [\"ExtendedPhysicsMimicAPI\"]\n    )\n    {\n        rel ext_physics:mimic:joint = </robot/b>\n    }\n\n    def PhysicsRevoluteJoint \"b\" (\n        apiSchemas = [\"ExtendedPhysicsMimicAPI\"]\n    )\n    {\n        rel ext_physics:mimic:joint = </robot/a>\n    }\n\n    def PhysicsRevoluteJoint \"c\"\n    {\n    }\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def PhysicsRevoluteJoint \"a\" (\n        apiSchemas = [\"ExtendedPhysicsMimicAPI\"]\n    )\n    {\n        rel ext_physics:mimic:joint = </robot/b>\n    }\n\n    def PhysicsRevoluteJoint \"b\" (\n        apiSchemas = [\"ExtendedPhysicsMimicAPI\"]\n    )\n    {\n        rel ext_physics:mimic:joint = </robot/c>\n    }\n\n    def PhysicsRevoluteJoint \"c\"\n    {\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let followers: BTreeSet<PrimId> = mimics(stage).collect();
    let leader = |id: PrimId| stage[id].targets("ext_physics:mimic:joint").first().and_then(|path| stage.at(path)).filter(|id| followers.contains(id));
    let mut done = BTreeSet::new();
    for &first in &followers {
        let mut chain = vec![first];
        while let Some(next) = leader(chain[chain.len() - 1]).filter(|next| !done.contains(next)) {
            if let Some(begin) = chain.iter().position(|&id| id == next) {
                let names: Vec<&str> = chain[begin..].iter().chain([&next]).map(|&id| stage[id].path.as_str()).collect();
                let message = format!("mimic joints follow each other: {}", names.join(", "));
                findings.prim(&RULE.code, next, Some("ext_physics:mimic:joint"), message, "let one of them lead: remove ExtendedPhysicsMimicAPI from it");
                break;
            }
            chain.push(next);
        }
        done.extend(chain);
    }
}
