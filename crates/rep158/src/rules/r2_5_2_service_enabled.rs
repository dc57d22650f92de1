//! That a service says by yes or no whether it starts enabled.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.5.2",
        severity: Severity::Error,
        meaning: "ros:service:starts_enabled is no truth value.",
        outcome: "Simulators start the interface although it was meant to wait.",
    },
    demand: "bool ros:service:starts_enabled says whether the interface is enabled at load time.",
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
            prepend apiSchemas = ["RosServiceAPI"]
        )
        {
            uniform string ros:service:name = "set_light"
            uniform token ros:service:role = "server"
            uniform token ros:service:starts_enabled = "no"
            uniform string ros:service:type = "std_srvs/srv/SetBool"
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
            uniform bool ros:service:starts_enabled = false
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
        let name = "ros:service:starts_enabled";
        if interface.prim.value(name).is_some() && interface.prim.flag(name).is_none() {
            let message = format!("the service {} has a value for {name} that is no bool", interface.prim.path);
            findings.prim(&RULE.code, interface.id, Some(name), message, format!("author `bool {name}`, true or false"));
        }
    }
}
