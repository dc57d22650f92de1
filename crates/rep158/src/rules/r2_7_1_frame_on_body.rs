//! That a link is one frame.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.7.1",
        severity: Severity::Warning,
        meaning: "A body has RosFrameAPI.",
        outcome: "Simulators publish bodies on joints as frames anyway, so the frame may be there twice.",
    },
    demand: "RosFrameAPI is for non-physical dummy frames; bodies are published without it.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Xform "tool0" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "RosFrameAPI"]
    )
    {
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Xform "tool0" (
        prepend apiSchemas = ["RosFrameAPI"]
    )
    {
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for &id in &subject.physics.bodies {
        let prim = &subject.stage[id];
        if prim.has("RosFrameAPI") {
            let message = format!("{} is a body and has RosFrameAPI", prim.path);
            findings.prim(&RULE.code, id, None, message, "take RosFrameAPI away: its frame has the prim's name");
        }
    }
}
