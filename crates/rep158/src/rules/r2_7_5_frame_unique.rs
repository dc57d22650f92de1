//! That each frame of a robot has a name of its own.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::PrimId;

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.7.5",
        severity: Severity::Error,
        meaning: "Two frames of a robot have the same name.",
        outcome: "TF has one of them only, jumping between two places.",
    },
    demand: "Frame names must be unique in the TF tree of a robot.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
    breaks: &[(
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
        uniform string ros:frame:id = "robot"
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
        uniform string ros:frame:id = "tool0"
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut known: HashMap<(Option<PrimId>, &str), PrimId> = HashMap::new();
    for frame in ros::frames(stage, &subject.physics) {
        match known.entry((ros::robot_of(stage, frame.id), frame.name)) {
            Entry::Vacant(free) => {
                free.insert(frame.id);
            }
            Entry::Occupied(taken) => {
                let (path, other) = (&stage[frame.id].path, &stage[*taken.get()].path);
                let message = format!("{path} is the frame {}, as {other} is", frame.name);
                let help = "rename one of them; `ros:frame:id` names a prim that is no body";
                findings.prim(&RULE.code, frame.id, frame.is_named.then_some("ros:frame:id"), message, help);
            }
        }
    }
}
