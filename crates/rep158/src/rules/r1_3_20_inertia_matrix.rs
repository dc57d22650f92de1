//! That there is one inertia only.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{array_len, doubles};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.20",
        severity: Severity::Error,
        meaning: "A prim has an inertia matrix as an attribute of its own.",
        outcome: "Programs that read it and those that do not simulate different robots.",
    },
    demand: "Custom 6-value inertia attributes must not be authored: physics:diagonalInertia and physics:principalAxes are the only source.",
    section: ("Physics", "§1.3"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {
        custom float[] newton:inertia = [1, 0, 0, 1, 0, 1]
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
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {
        float3 physics:diagonalInertia = (1, 1, 1)
        float physics:mass = 1
        quatf physics:principalAxes = (1, 0, 0, 0)
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present()) {
        for (name, attribute) in prim.attributes.iter() {
            let last = name.rsplit(':').next().unwrap_or_default();
            let of_inertia = name.to_lowercase().contains("inertia") && !name.starts_with("physics:diagonalInertia");
            let count = attribute
                .value
                .as_ref()
                .map_or(0, |value| array_len(value).or_else(|| doubles(value).map(|all| all.len())).unwrap_or(0));
            let is_matrix = of_inertia && (matches!(count, 6 | 9) || attribute.type_name.starts_with("matrix3"));
            // One matrix is reported once: by its first element.
            let is_element = matches!(last.to_lowercase().as_str(), "ixx");
            if is_matrix || is_element {
                let message = format!("{} has the inertia matrix {name}", prim.path);
                let help =
                    "author its eigenvalues as physics:diagonalInertia and its axes as physics:principalAxes, and take it away";
                findings.prim(&RULE.code, id, Some(name), message, help);
            }
        }
    }
}
