//! That colliders are guides and collide as they are.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::{collision_fidelity, is_collider, purpose};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.4",
        severity: Severity::Warning,
        meaning: "A collider has another purpose than `guide`, or a mesh collides as something else than itself.",
        outcome: "Renderers show colliders over the robot; engines replace the mesh each in its own way.",
    },
    demand: "Collision geometries should specify purpose = \"guide\" and physics:approximation = \"none\".",
    section: ("Collisions", "§1.3.1"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Mesh "collision" (
        prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]
    )
    {
        uniform token physics:approximation = "convexDecomposition"
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Mesh "collision" (
        prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]
    )
    {
        uniform token physics:approximation = "none"
        uniform token purpose = "guide"
    }

    def Cube "box" (
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
    {
        uniform token purpose = "guide"
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage.iter().filter(|(_, prim)| prim.is_present() && is_collider(prim)) {
        let purpose = purpose(stage, id);
        if purpose != "guide" {
            let message = format!("the collider {} has the purpose `{purpose}`", prim.path);
            let help = "author `uniform token purpose = \"guide\"` on it or on a prim above";
            findings.prim(&RULE.code, id, Some("purpose"), message, help);
        }
        // A primitive is what it is; only meshes are approximated.
        if prim.type_name != "Mesh" && !prim.has("PhysicsMeshCollisionAPI") {
            continue;
        }
        let name = "physics:approximation";
        let approximation = prim.text(name);
        // The variants of §1.3.1 are told apart by it.
        let is_chosen = approximation == Some("convexHull") && collision_fidelity(stage, id).is_some();
        if approximation != Some("none") && !is_chosen {
            let said = approximation.map_or_else(|| "no value".to_owned(), |value| format!("`{value}`"));
            let message = format!("the collider {} has {said} for {name}", prim.path);
            let help = "author `uniform token physics:approximation = \"none\"`, with points that collide as they are";
            findings.prim(&RULE.code, id, Some(name), message, help);
        }
    }
}
