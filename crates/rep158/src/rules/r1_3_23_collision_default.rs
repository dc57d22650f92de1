//! That the colliders which all programs get are convex.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::convex::is_convex;
use crate::findings::Findings;
use crate::physics::{collision_fidelity, is_collider};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.23",
        severity: Severity::Error,
        meaning: "The default variant of collision_fidelity has a collider that is neither convex nor a primitive.",
        outcome: "Engines without concave meshes refuse it, or fill its hollows each in its own way.",
    },
    demand: "The default variant of collision_fidelity must contain convexHull or primitive shapes.",
    section: ("Collisions", "§1.3.1"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Scope "collision" (
        variants = {
            string collision_fidelity = "hull"
        }
        prepend variantSets = "collision_fidelity"
    )
    {
        variantSet "collision_fidelity" = {
            "hull" {
                def Mesh "collision_0" (
                    prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]
                )
                {
                    uniform token physics:approximation = "none"
                    int[] faceVertexCounts = [3, 3, 3, 3, 3, 3]
                    int[] faceVertexIndices = [0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4, 0, 2, 1, 0, 3, 2]
                    point3f[] points = [(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, 0.5, 0), (0, 0, 1)]
                }
            }
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
    def Scope "collision" (
        variants = {
            string collision_fidelity = "hull"
        }
        prepend variantSets = "collision_fidelity"
    )
    {
        variantSet "collision_fidelity" = {
            "hull" {
                def Mesh "collision_0" (
                    prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]
                )
                {
                    uniform token physics:approximation = "none"
                    int[] faceVertexCounts = [3, 3, 3, 3, 3, 3]
                    int[] faceVertexIndices = [0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4, 0, 2, 1, 0, 3, 2]
                    point3f[] points = [(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1)]
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
    for (id, prim) in stage.iter().filter(|(_, prim)| prim.is_present() && prim.type_name == "Mesh" && is_collider(prim)) {
        let Some(set) = collision_fidelity(stage, id).filter(|set| set.selection.is_some() && set.selection == set.authored)
        else {
            continue;
        };
        let message = match prim.text("physics:approximation") {
            Some("convexHull" | "boundingCube" | "boundingSphere") => continue,
            Some("none") | None if is_convex(prim) => continue,
            Some("none") | None => format!("the collider {} is a mesh that is not convex", prim.path),
            Some(other) => format!("the collider {} collides as `{other}`", prim.path),
        };
        let help = format!(
            "put its convex hull into the variant {}, and what it is now into another",
            set.selection.as_deref().unwrap_or_default()
        );
        findings.prim(&RULE.code, id, Some("physics:approximation"), message, help);
    }
}
