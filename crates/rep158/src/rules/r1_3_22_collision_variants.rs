//! That there are simple and exact colliders.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::is_collider;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.22",
        severity: Severity::Warning,
        meaning: "The asset has colliders of meshes, but one version of them only.",
        outcome: "Engines that need convex shapes and those that want exact ones can not both use it.",
    },
    demand: "Assets should have a variant set collision_fidelity, with hulls or primitives by default.",
    section: ("Collisions", "§1.3.1"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Mesh "collision" (
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
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
    def Scope "collision" (
        variants = {
            string collision_fidelity = "convex_hull"
        }
        prepend variantSets = "collision_fidelity"
    )
    {
        variantSet "collision_fidelity" = {
            "convex_hull" {
                def Mesh "collision_0" (
                    prepend apiSchemas = ["PhysicsCollisionAPI"]
                )
                {
                }
            }
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
    if stage.prims.iter().any(|prim| prim.variant_sets.iter().any(|set| set.name == "collision_fidelity")) {
        return;
    }
    let mut colliders = stage.iter().filter(|(_, prim)| prim.is_present() && prim.type_name == "Mesh" && is_collider(prim));
    let Some((id, first)) = colliders.next() else { return };
    let message = match colliders.count() {
        0 => format!("the collider {} is a mesh and stands in no variant set collision_fidelity", first.path),
        more => {
            format!("the collider {} and {more} more are meshes and stand in no variant set collision_fidelity", first.path)
        }
    };
    let help = "give the collision scopes the variants `convex_hull` (selected) and `trimesh`";
    findings.prim(&RULE.code, id, None, message, help);
}
