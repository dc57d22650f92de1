//! That a robot has one articulation root.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.2",
        severity: Severity::Error,
        meaning: "Bodies that joints connect have more than one articulation root.",
        outcome: "Physics engines take the robot apart where the second root is.",
    },
    demand: "A stage must contain at most one PhysicsArticulationRootAPI per connected kinematic tree.",
    section: ("Physics", "§1.3"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsArticulationRootAPI"]
    )
    {
    }

    def Xform "arm" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsArticulationRootAPI"]
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
            r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsArticulationRootAPI"]
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
        let Some((first, others)) = tree.roots.split_first() else { continue };
        for &other in others {
            let [other_path, first_path] = [other, *first].map(|id| &subject.stage[id].path);
            let message = format!("{other_path} is one more articulation root of the robot whose root is {first_path}");
            let help = "keep the topmost one; take the others away with `delete apiSchemas = [\"PhysicsArticulationRootAPI\"]`";
            findings.prim(&RULE.code, other, None, message, help);
        }
    }
}
