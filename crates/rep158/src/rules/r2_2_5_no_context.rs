//! That interfaces belong to a robot.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.2.5",
        severity: Severity::Warning,
        meaning: "An interface stands in no ROS context.",
        outcome: "It gets no namespace: with two robots in a scene their topics clash.",
    },
    demand: "Robot-wide interfaces should be placed on logical prims that descend from the RosContextAPI prim.",
    section: ("Interface Placement", "§2.2"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
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
    let stage = subject.stage;
    for interface in ros::interfaces(stage).filter(|interface| ros::robot_of(stage, interface.id).is_none()) {
        let message = format!("the {} {} stands in no RosContextAPI prim", interface.kind.word(), interface.prim.path);
        findings.prim(
            &RULE.code,
            interface.id,
            None,
            message,
            "apply RosContextAPI to the robot's root prim, and keep interfaces below it",
        );
    }
}
