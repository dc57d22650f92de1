//! That interfaces are not on links themselves.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::is_body;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.2.2",
        severity: Severity::Error,
        meaning: "A body is an interface.",
        outcome: "A link that is replaced takes its topics with it, and a second sensor has no place.",
    },
    demand: "Interfaces must be placed on a child Xform of the physical link, or on logical prims apart from the links.",
    section: ("Interface Placement", "§2.2"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "RosTopicAPI"]
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
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        def Xform "scan" (
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
    for interface in ros::interfaces(subject.stage).filter(|interface| is_body(interface.prim)) {
        let message = format!(
            "the body {} is a {} itself: it has {}",
            interface.prim.path,
            interface.kind.word(),
            interface.kind.schema()
        );
        findings.prim(
            &RULE.code,
            interface.id,
            None,
            message,
            "add a child Xform and move the ROS schema and its attributes there",
        );
    }
}
