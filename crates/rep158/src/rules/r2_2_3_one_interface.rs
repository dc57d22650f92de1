//! That a prim is one interface.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::Kind;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.2.3",
        severity: Severity::Error,
        meaning: "A prim is several interfaces.",
        outcome: "Programs find one of them only.",
    },
    demand: "Multiple interfaces must be distributed across separate prims, one interface per prim.",
    section: ("Interface Placement", "§2.2"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Scope "Interfaces"
    {
        def Xform "interface" (
            prepend apiSchemas = ["RosTopicAPI", "RosServiceAPI"]
        )
        {
        }
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
    def Scope "Interfaces"
    {
        def Xform "interface" (
            prepend apiSchemas = ["RosTopicAPI"]
        )
        {
        }
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present()) {
        let schemas: Vec<&str> = Kind::ALL.into_iter().map(Kind::schema).filter(|schema| prim.has(schema)).collect();
        if schemas.len() > 1 {
            let message = format!("{} is several interfaces: {}", prim.path, schemas.join(", "));
            findings.prim(&RULE.code, id, None, message, "give each a prim of its own");
        }
    }
}
