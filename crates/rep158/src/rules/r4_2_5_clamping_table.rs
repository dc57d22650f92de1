//! That the table of a clamping can be read.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{double_array};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.5",
        severity: Severity::Error,
        meaning: "The positions and efforts of a clamping do not match, or the positions do not ascend.",
        outcome: "Programs can't say which effort belongs to a position.",
    },
    demand: "The lookup positions and efforts of ExtendedPhysicsPositionBasedClampingAPI must be of equal length, and the positions ascend.",
    section: ("Physics Schemas", "§4.2.2"),
    breaks: &[("robot.usda", Some("def Scope \"robot\" (\n    apiSchemas = [\"ExtendedPhysicsPositionBasedClampingAPI\"]\n)\n{\n    float[] ext_physics:clamp_position:lookupPositions = [0, 2, 1]\n    float[] ext_physics:clamp_position:lookupEfforts = [1, 2, 3]\n}"))],
    keeps: &[("robot.usda", Some("def Scope \"robot\" (\n    apiSchemas = [\"ExtendedPhysicsPositionBasedClampingAPI\"]\n)\n{\n    float[] ext_physics:clamp_position:lookupPositions = [0, 1, 2]\n    float[] ext_physics:clamp_position:lookupEfforts = [1, 2, 3]\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let (positions_name, efforts_name) = ("ext_physics:clamp_position:lookupPositions", "ext_physics:clamp_position:lookupEfforts");
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present() && prim.has("ExtendedPhysicsPositionBasedClampingAPI")) {
        let array = |name: &str| prim.value(name).and_then(double_array).unwrap_or_default();
        let (positions, efforts) = (array(positions_name), array(efforts_name));
        if positions.len() != efforts.len() {
            let message = format!("{} has {} positions and {} efforts", prim.path, positions.len(), efforts.len());
            findings.prim(&RULE.code, id, Some(positions_name), message, "author as many positions as efforts");
        }
        // A position that is no number ascends neither.
        if let Some(pair) = positions.windows(2).find(|pair| pair[0].partial_cmp(&pair[1]) != Some(std::cmp::Ordering::Less)) {
            let message = format!("the positions of {} do not ascend: {} comes before {}", prim.path, pair[0], pair[1]);
            findings.prim(&RULE.code, id, Some(positions_name), message, "sort the positions, each with its effort");
        }
    }
}
