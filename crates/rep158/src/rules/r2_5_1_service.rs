//! That a service is complete.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.5.1",
        severity: Severity::Error,
        meaning: "A service lacks its role, name or type.",
        outcome: "Simulators leave it out.",
    },
    demand: "ros:service:role (server or client), ros:service:name and ros:service:type are required.",
    section: ("Service Interface (RosServiceAPI)", "§2.5"),
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
            prepend apiSchemas = ["RosServiceAPI"]
        )
        {
            uniform string ros:service:name = "set_light"
            uniform token ros:service:role = "server"
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
            prepend apiSchemas = ["RosServiceAPI"]
        )
        {
            uniform string ros:service:name = "set_light"
            uniform token ros:service:role = "server"
            uniform string ros:service:type = "std_srvs/srv/SetBool"
        }
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage).filter(|interface| interface.kind == Kind::Service) {
        let path = &interface.prim.path;
        for last in ["role", "name", "type"] {
            let message = match interface.text(last) {
                None => format!("the service {path} has no {last}"),
                Some(role) if last == "role" && !Kind::Service.roles().contains(&role) => {
                    format!("the service {path} has the role \"{role}\"")
                }
                Some(_) => continue,
            };
            let help = match last {
                "role" => "author `token ros:service:role`, \"server\" or \"client\"",
                "name" => "author `string ros:service:name`, relative to the namespace",
                _ => "author `string ros:service:type`, such as \"std_srvs/srv/SetBool\"",
            };
            findings.prim(&RULE.code, interface.id, Some(&interface.attribute(last)), message, help);
        }
    }
}
