//! That a robot can be simulated alone.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.28",
        severity: Severity::Warning,
        meaning: "Bodies that joints connect have no articulation root.",
        outcome: "Engines simulate each body for itself, held by soft joints, and controllers find no robot.",
    },
    demand: "Assets should be self-contained with an articulation root for standalone use.",
    section: ("Physics", "§1.3"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def Xform "arm" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def PhysicsRevoluteJoint "hip"
    {
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["PhysicsArticulationRootAPI"]
)
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def Xform "arm" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def PhysicsRevoluteJoint "hip"
    {
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for tree in subject.trees.robots(subject.stage, &subject.physics) {
        if tree.bodies.len() > 1 && tree.roots.is_empty() {
            let first = tree.bodies[0];
            let path = &subject.stage[first].path;
            let message = format!("the {} links that hang together with {path} have no articulation root", tree.bodies.len());
            let help = "apply PhysicsArticulationRootAPI to the robot's root prim";
            findings.prim(&RULE.code, first, None, message, help);
        }
    }
}
