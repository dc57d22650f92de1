//! That frames which move are published as such.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::is_body;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.7.7",
        severity: Severity::Warning,
        meaning: "A frame moves and is declared static, or does not and is declared moving.",
        outcome: "TF keeps a moving frame where it was first, or is flooded with one that stays.",
    },
    demand: "ros:frame:static is true for frames that stay in their USD parent, false for those that an animation moves.",
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
        double3 xformOp:translate.timeSamples = {
            0: (0, 0, 0),
            1: (1, 0, 0),
        }
        uniform token[] xformOpOrder = ["xformOp:translate"]
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
        uniform bool ros:frame:static = false
        double3 xformOp:translate.timeSamples = {
            0: (0, 0, 0),
            1: (1, 0, 0),
        }
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present() && prim.has("RosFrameAPI")) {
        // The joints of a body move it, whatever is said.
        if is_body(prim) {
            continue;
        }
        let name = "ros:frame:static";
        let is_static = prim.flag(name).unwrap_or(true);
        let moves = prim.xform().ops.iter().any(|op| op.is_animated);
        let message = match (is_static, moves) {
            (true, true) => format!("the frame {} is static, but has time samples for its place", prim.path),
            (false, false) => format!("the frame {} is not static, but nothing moves it", prim.path),
            _ => continue,
        };
        findings.prim(&RULE.code, id, Some(name), message, format!("author `bool {name} = {}`", !is_static));
    }
}
