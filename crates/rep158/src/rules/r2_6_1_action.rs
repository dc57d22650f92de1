//! That an action is complete.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.6.1",
        severity: Severity::Error,
        meaning: "An action lacks its role, name or type.",
        outcome: "Simulators leave it out.",
    },
    demand: "ros:action:role (server or client), ros:action:name and ros:action:type are required.",
    section: ("Action Interface (RosActionAPI)", "§2.6"),
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
            uniform token ros:action:role = "publisher"
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
        let path = &interface.prim.path;
        for last in ["role", "name", "type"] {
            let message = match interface.text(last) {
                None => format!("the action {path} has no {last}"),
                Some(role) if last == "role" && !Kind::Action.roles().contains(&role) => {
                    format!("the action {path} has the role \"{role}\"")
                }
                Some(_) => continue,
            };
            let help = match last {
                "role" => "author `token ros:action:role`, \"server\" or \"client\"",
                "name" => "author `string ros:action:name`, relative to the namespace",
                _ => "author `string ros:action:type`, such as \"control_msgs/action/FollowJointTrajectory\"",
            };
            findings.prim(&RULE.code, interface.id, Some(&interface.attribute(last)), message, help);
        }
    }
}
