//! That an actuator drives joints.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::mimic::is_single;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.4",
        severity: Severity::Error,
        meaning: "An actuator leads to no joint that it can drive.",
        outcome: "It drives nothing, or the asset is refused.",
    },
    demand: "ext_physics:actuator:targets must lead to existing revolute or prismatic joints.",
    section: ("Physics Schemas", "§4.2.2"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def PhysicsRevoluteJoint "hip"
    {
    }

    def Scope "Controllers"
    {
        def Scope "motor" (
            prepend apiSchemas = ["ExtendedPhysicsActuatorAPI"]
        )
        {
            rel ext_physics:actuator:targets = </robot/knee>
        }
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
    }

    def Scope "Controllers"
    {
        def Scope "motor" (
            prepend apiSchemas = ["ExtendedPhysicsActuatorAPI"]
        )
        {
            rel ext_physics:actuator:targets = </robot/hip>
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
    let name = "ext_physics:actuator:targets";
    for (id, prim) in stage.iter().filter(|(_, prim)| prim.is_present() && prim.has("ExtendedPhysicsActuatorAPI")) {
        let help = format!("let `rel {name}` lead to revolute or prismatic joints");
        if prim.targets(name).is_empty() {
            findings.prim(&RULE.code, id, Some(name), format!("the actuator {} drives nothing", prim.path), &help);
        }
        for target in prim.targets(name) {
            let message = match stage.prim_at(target) {
                None => format!("the actuator {} drives {target}, which does not exist", prim.path),
                Some(driven) if !is_single(driven) => {
                    format!("the actuator {} drives {target}, which is no revolute or prismatic joint", prim.path)
                }
                Some(_) => continue,
            };
            findings.prim(&RULE.code, id, Some(name), message, &help);
        }
    }
}
