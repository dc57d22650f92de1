//! That what is about the whole robot is on no link.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::is_body;
use crate::ros::{self, Interface};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.2.7",
        severity: Severity::Warning,
        meaning: "An interface to the whole robot stands in a link.",
        outcome: "A link that is replaced takes it along.",
    },
    demand: "Robot-wide interfaces (e.g. JointState, FollowJointTrajectory) should be on logical prims, apart from the rigid bodies.",
    section: ("Interface Placement", "§2.2"),
    breaks: &[(
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
            uniform string ros:topic:name = "scan"
            uniform double ros:topic:publish_rate = 10
            uniform token ros:topic:role = "publisher"
            uniform string ros:topic:type = "sensor_msgs/msg/JointState"
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
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def Scope "Interfaces"
    {
        def Xform "scan" (
            prepend apiSchemas = ["RosTopicAPI"]
        )
        {
            uniform string ros:topic:name = "scan"
            uniform double ros:topic:publish_rate = 10
            uniform token ros:topic:role = "publisher"
            uniform string ros:topic:type = "sensor_msgs/msg/JointState"
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
    for wide in ros::interfaces(stage).filter(Interface::is_robot_wide) {
        let Some(body) = stage.ancestors(wide.id).find(|&id| is_body(&stage[id])) else { continue };
        let message = format!("{} is about the whole robot, but stands in the link {}", wide.prim.path, stage[body].path);
        findings.prim(&RULE.code, wide.id, None, message, "move it into a scope such as /robot/Interfaces");
    }
}
