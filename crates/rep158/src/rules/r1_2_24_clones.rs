//! That a robot is not there many times.

use std::collections::BTreeMap;

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{ArcKind, PrimId};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::{is_body, is_joint};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.2.24",
        severity: Severity::Error,
        meaning: "The same articulated asset is referenced many times side by side.",
        outcome: "The file fixes how many robots are simulated, and every simulator that makes copies itself makes copies of copies.",
    },
    demand: "Authors must distribute a single, self-contained canonical environment, and must not bake arrays of physics-enabled clones into the source file.",
    section: ("Parallel Simulation and Instancing", "§1.2.6"),
    breaks: &[("world.usda", Some("def Xform \"robot\"\n{\n    def \"env_0\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_1\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_2\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_3\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_4\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_5\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_6\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_7\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_8\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_9\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_10\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_11\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_12\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_13\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_14\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n    def \"env_15\" (\n        references = @robot.usda@\n    )\n    {\n    }\n\n}")), ("robot.usda", Some("def Xform \"robot\" (\n    apiSchemas = [\"PhysicsRigidBodyAPI\"]\n)\n{\n}"))],
    keeps: &[("world.usda", Some("def Xform \"robot\"\n{\n    def \"env_0\" (\n        references = @robot.usda@\n    )\n    {\n    }\n}")), ("robot.usda", Some("def Xform \"robot\" (\n    apiSchemas = [\"PhysicsRigidBodyAPI\"]\n)\n{\n}"))],
    turn: Turn::Usual,
    check,
};

/// As many copies as nobody makes by hand.
const MANY: usize = 16;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut copies: BTreeMap<_, Vec<PrimId>> = BTreeMap::new();
    for (id, prim) in stage.iter().filter(|(_, prim)| prim.is_present() && prim.instance.is_none()) {
        for arc in prim.arcs.iter().filter(|arc| matches!(arc.kind, ArcKind::Reference | ArcKind::Payload)) {
            copies.entry((prim.parent, &arc.asset, &arc.prim)).or_default().push(id);
        }
    }
    for ((_, asset, path), ids) in copies.into_iter().filter(|(_, ids)| ids.len() >= MANY) {
        if stage.subtree(ids[0]).any(|id| is_body(&stage[id]) || is_joint(&stage[id])) {
            let what = if asset.is_empty() { path } else { asset };
            let message = format!("{what} is there {} times, first at {}", ids.len(), stage[ids[0]].path);
            findings.prim(&RULE.code, ids[0], None, message, "leave one, and let the simulator make the copies");
        }
    }
}
