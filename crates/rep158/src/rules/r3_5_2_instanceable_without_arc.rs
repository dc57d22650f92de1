//! That what is instanceable has something to share.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.5.2",
        severity: Severity::Error,
        meaning: "A prim is instanceable and has no reference or payload.",
        outcome: "OpenUSD ignores the flag: nothing is shared.",
    },
    demand: "The prim must compose its geometry via a composition arc (Reference or Payload) for instanceable=true to be valid.",
    section: ("Instanceable Leaves", "§3.5"),
    breaks: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def Xform \"bolt\" (\n        instanceable = true\n    )\n    {\n    }\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\"\n{\n    def Xform \"bolt\" (\n        instanceable = true\n        references = @bolt.usda@\n    )\n    {\n    }\n}")), ("bolt.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\"\n    {\n        int[] faceVertexIndices = [0, 1, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_instanceable && prim.is_present() && prim.instance.is_none()) {
        if !prim.is_instance {
            let message = format!("{} is instanceable and has no reference or payload", prim.path);
            findings.prim(&RULE.code, id, None, message, "bring in its shape by a reference or payload, or remove instanceable");
        }
    }
}
