//! That an asset does not control the simulation.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.9.2",
        severity: Severity::Error,
        meaning: "An interface of the asset is one of the simulator: the clock, or of the package simulation_interfaces.",
        outcome: "Two programs answer the same calls.",
    },
    demand: "rosgraph_msgs/msg/Clock and all of the package simulation_interfaces are prohibited in assets.",
    section: ("Prohibited Interfaces", "§2.9"),
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
            uniform string ros:service:type = "simulation_interfaces/srv/SpawnEntity"
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
    for interface in ros::interfaces(subject.stage) {
        let Some(name) = interface.text("type") else { continue };
        let is_clock = matches!(name, "rosgraph_msgs/msg/Clock" | "rosgraph_msgs/Clock");
        if is_clock || name.split('/').next() == Some("simulation_interfaces") {
            let message =
                format!("the {} {} is of {name}, which is the simulator's", interface.kind.word(), interface.prim.path);
            findings.prim(
                &RULE.code,
                interface.id,
                Some(&interface.attribute("type")),
                message,
                "take it away: simulators offer it themselves",
            );
        }
    }
}
