//! That a frame says by yes or no whether it stays.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.7.3",
        severity: Severity::Error,
        meaning: "ros:frame:static is no truth value.",
        outcome: "Simulators publish the frame on the wrong topic.",
    },
    demand: "bool ros:frame:static says whether the frame goes to /tf_static.",
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
        uniform token ros:frame:static = "yes"
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
        uniform bool ros:frame:static = true
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present() && prim.has("RosFrameAPI")) {
        let name = "ros:frame:static";
        if prim.value(name).is_some() && prim.flag(name).is_none() {
            let message = format!("the frame {} has a value for {name} that is no bool", prim.path);
            findings.prim(&RULE.code, id, Some(name), message, format!("author `bool {name}`, true or false"));
        }
    }
}
