//! That the ROS domain exists.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::Value;

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.1.6",
        severity: Severity::Error,
        meaning: "ros:context:domain_id is no number from 0 to 232.",
        outcome: "Simulators can not join the domain.",
    },
    demand: "int ros:context:domain_id overrides the ROS domain; ROS has the domains 0 to 232.",
    section: ("The ROS Context (RosContextAPI)", "§2.1"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    uniform int ros:context:domain_id = 300
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
    uniform int ros:context:domain_id = 42
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in ros::contexts(subject.stage) {
        let name = "ros:context:domain_id";
        let said = match prim.value(name) {
            None | Some(Value::Int(0..=232)) => continue,
            Some(Value::Int(other)) => format!("{other}"),
            Some(_) => "no int".to_owned(),
        };
        let message = format!("the ROS domain of {} is {said}", prim.path);
        findings.prim(
            &RULE.code,
            id,
            Some(name),
            message,
            "author an int from 0 to 232, or take it away: ROS_DOMAIN_ID counts then",
        );
    }
}
