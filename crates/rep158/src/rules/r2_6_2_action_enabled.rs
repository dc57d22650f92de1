//! That an action says by yes or no whether it starts enabled.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.6.2",
        severity: Severity::Error,
        meaning: "ros:action:starts_enabled is no truth value.",
        outcome: "Simulators start the interface although it was meant to wait.",
    },
    demand: "bool ros:action:starts_enabled says whether the interface is enabled at load time.",
    section: ("Interface Resolution", "§2.3"),
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
            prepend apiSchemas = ["RosActionAPI"]
        )
        {
            uniform string ros:action:name = "follow_joint_trajectory"
            uniform token ros:action:role = "server"
            uniform token ros:action:starts_enabled = "no"
            uniform string ros:action:type = "control_msgs/action/FollowJointTrajectory"
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
            prepend apiSchemas = ["RosActionAPI"]
        )
        {
            uniform string ros:action:name = "follow_joint_trajectory"
            uniform token ros:action:role = "server"
            uniform bool ros:action:starts_enabled = false
            uniform string ros:action:type = "control_msgs/action/FollowJointTrajectory"
        }
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage).filter(|interface| interface.kind == Kind::Action) {
        let name = "ros:action:starts_enabled";
        if interface.prim.value(name).is_some() && interface.prim.flag(name).is_none() {
            let message = format!("the action {} has a value for {name} that is no bool", interface.prim.path);
            findings.prim(&RULE.code, interface.id, Some(name), message, format!("author `bool {name}`, true or false"));
        }
    }
}
