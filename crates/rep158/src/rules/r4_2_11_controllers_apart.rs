//! That one controller moves a joint.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::PrimId;

use crate::Rule;
use crate::control;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.11",
        severity: Severity::Error,
        meaning: "Two controllers that both start enabled drive the same joint.",
        outcome: "They write over each other from the first step on.",
    },
    demand: "Controllers that actuate the same targets must not be active at the same time at load.",
    section: ("Control Schemas", "§4.2.3"),
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
            rel ext_physics:actuator:targets = </robot/hip>
        }

        def Scope "effort" (
            prepend apiSchemas = ["ExtendedPhysicsActuatorAPI"]
        )
        {
            rel ext_physics:actuator:targets = </robot/hip>
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

        def Scope "effort" (
            prepend apiSchemas = ["ExtendedPhysicsActuatorAPI"]
        )
        {
            bool control:starts_enabled = false
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
    let mut known: HashMap<&String, PrimId> = HashMap::new();
    for (id, prim) in control::controllers(stage).filter(|(_, prim)| control::starts(prim)) {
        for target in control::targets(prim) {
            match known.entry(target) {
                Entry::Vacant(free) => {
                    free.insert(id);
                }
                Entry::Occupied(taken) if *taken.get() == id => {}
                Entry::Occupied(taken) => {
                    let message = format!("{} and {} both drive {target} from the start", prim.path, stage[*taken.get()].path);
                    let help = "author `bool control:starts_enabled = false` on all but one of them";
                    findings.prim(&RULE.code, id, None, message, help);
                }
            }
        }
    }
}
