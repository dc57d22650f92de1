//! That a robot can be put elsewhere with a namespace of its own.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::PrimId;

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.1.5",
        severity: Severity::Error,
        meaning: "The asset's context is not on its default prim.",
        outcome: "Who references the asset can not give it another namespace.",
    },
    demand: "A modular asset's root namespace must be authored on its defaultPrim.",
    section: ("Hierarchical Namespace Concatenation", "§2.1.1"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    kind = "component"
)
{
    def Xform "base" (
        prepend apiSchemas = ["RosContextAPI"]
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
    kind = "component"
    prepend apiSchemas = ["RosContextAPI"]
)
{
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let Some(root) = stage.default_prim else { return };
    // A scene of several robots has none of its own.
    let is_scene = matches!(stage[root].kind.as_deref(), Some("assembly" | "group"));
    if is_scene || ros::is_context(&stage[root]) {
        return;
    }
    let is_top = |id: PrimId| ros::robot_of(stage, id) == Some(id);
    for (id, prim) in ros::contexts(stage).filter(|(id, _)| is_top(*id)) {
        let message = format!("{} has RosContextAPI, but the default prim {} has not", prim.path, stage[root].path);
        findings.prim(
            &RULE.code,
            id,
            None,
            message,
            format!("apply RosContextAPI to {}, with the namespace", stage[root].path),
        );
    }
}
