//! That a mesh that is there many times is shared.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{PrimId, int_array, vectors};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.5.1",
        severity: Severity::Error,
        meaning: "The same mesh is there many times, and is not instanced.",
        outcome: "Programs keep each in memory and draw each for itself.",
    },
    demand: "Repetitive geometry (bolts, LED arrays on a sensor) must utilize native OpenUSD instancing to minimize memory footprint.",
    section: ("Instanceable Leaves", "§3.5"),
    breaks: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def \"bolt_0\" (\n        references = @bolt.usda@\n    )\n    {\n    }\n\n    def \"bolt_1\" (\n        references = @bolt.usda@\n    )\n    {\n    }\n\n    def \"bolt_2\" (\n        references = @bolt.usda@\n    )\n    {\n    }\n\n}")), ("bolt.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\"\n    {\n        int[] faceVertexIndices = [0, 1, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n    }\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def \"bolt_0\" (\n        instanceable = true\n        references = @bolt.usda@\n    )\n    {\n    }\n\n    def \"bolt_1\" (\n        instanceable = true\n        references = @bolt.usda@\n    )\n    {\n    }\n\n    def \"bolt_2\" (\n        instanceable = true\n        references = @bolt.usda@\n    )\n    {\n    }\n\n}")), ("bolt.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\"\n    {\n        int[] faceVertexIndices = [0, 1, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

/// So many of one mesh are repetitive.
const MANY: usize = 3;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut same: HashMap<u64, Vec<PrimId>> = HashMap::new();
    for (id, prim) in stage.iter().filter(|(_, prim)| prim.type_name == "Mesh" && prim.is_present() && prim.instance.is_none()) {
        // An instancer's prototypes are shared; a collider has to be a prim that its body can name.
        let above = || std::iter::once(id).chain(stage.ancestors(id));
        let is_shared = above().any(|above| stage[above].type_name == "PointInstancer");
        let is_collider = prim.has("PhysicsCollisionAPI") || above().any(|above| stage[above].text("purpose") == Some("guide"));
        let Some(points) = prim.value("points").filter(|_| !is_shared && !is_collider).and_then(vectors) else { continue };
        let mut hasher = DefaultHasher::new();
        for coordinate in points.iter().flatten() {
            coordinate.to_bits().hash(&mut hasher);
        }
        prim.value("faceVertexIndices").and_then(int_array).hash(&mut hasher);
        same.entry(hasher.finish()).or_default().push(id);
    }
    let mut many: Vec<Vec<PrimId>> = same.into_values().filter(|ids| ids.len() >= MANY).collect();
    many.sort();
    for ids in many {
        let message = format!("the mesh {} is there {} times, and none is an instance", stage[ids[0]].path, ids.len());
        findings.prim(&RULE.code, ids[0], None, message, "reference one mesh from all of them, and set instanceable = true on the prims that do");
    }
}
