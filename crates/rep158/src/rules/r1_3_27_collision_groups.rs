//! That a scene can say what of the robot collides with what.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{Prim, PrimId};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::{is_collider, own};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.27",
        severity: Severity::Warning,
        meaning: "A robot with colliders is in no collision group.",
        outcome: "Scenes have to name every link to filter collisions.",
    },
    demand: "Assets should use PhysicsCollisionGroup for collision filtering, and may use PhysicsFilteredPairsAPI for exceptions.",
    section: ("Self-Collision Filtering", "§1.3.3"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        def Cube "collision" (
            prepend apiSchemas = ["PhysicsCollisionAPI"]
        )
        {
        }
    }

    def Xform "arm" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        def Cube "collision" (
            prepend apiSchemas = ["PhysicsCollisionAPI"]
        )
        {
        }
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
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        def Cube "collision" (
            prepend apiSchemas = ["PhysicsCollisionAPI"]
        )
        {
        }
    }

    def Xform "arm" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        def Cube "collision" (
            prepend apiSchemas = ["PhysicsCollisionAPI"]
        )
        {
        }
    }

    def PhysicsRevoluteJoint "hip"
    {
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
    }

    def PhysicsCollisionGroup "group"
    {
        prepend rel collection:colliders:includes = </robot>
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let is_group = |prim: &Prim| prim.is_present() && prim.type_name == "PhysicsCollisionGroup";
    if stage.prims.iter().any(is_group) {
        return;
    }
    let touches = |body: &PrimId| own(stage, *body).iter().any(|&id| stage[id].is_present() && is_collider(&stage[id]));
    for tree in subject.trees.robots(stage, &subject.physics) {
        if tree.bodies.iter().filter(|body| touches(body)).nth(1).is_some() {
            let first = tree.bodies[0];
            let message = format!("the colliders of the robot with the link {} are in no collision group", stage[first].path);
            let help = "add a PhysicsCollisionGroup prim whose `collection:colliders:includes` names the robot";
            findings.prim(&RULE.code, first, None, message, help);
        }
    }
}
