//! That joints say what ROS calls them.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.10.1",
        severity: Severity::Info,
        meaning: "A joint has no ros:joint:name.",
        outcome: "Its prim's name counts: who renames the prim renames the joint.",
    },
    demand: "The custom property ros:joint:name may be applied to all joints; without it simulators use the prim name.",
    section: ("Custom ROS joint names", "§2.10"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def PhysicsRevoluteJoint "hip"
    {
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def PhysicsRevoluteJoint "hip"
    {
        custom string ros:joint:name = "hip"
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in &subject.physics.joints {
        let prim = &subject.stage[joint.prim];
        if prim.value("ros:joint:name").is_none() {
            let message = format!("the joint {} does not say what ROS calls it", prim.path);
            let help = format!("author `custom string ros:joint:name = \"{}\"`", prim.name());
            findings.prim(&RULE.code, joint.prim, Some("ros:joint:name"), message, help);
        }
    }
}
