//! That a link keeps what is seen apart from what is touched.

use urdf_usd_stage::{PrimId, Stage};
use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::physics::{is_body, is_collider, is_shape, is_visual, own};
use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.24",
        severity: Severity::Warning,
        meaning: "A link's visual and collision shapes do not stand in scopes of their own.",
        outcome: "Who hides, replaces or exports one of the two has to look at every shape.",
    },
    demand: "The visual and collision scopes of a link should be sibling children: /{link}/visual and /{link}/collision.",
    section: ("Visual Representation", "§1.3.2"),
    breaks: &[("robot.usda", Some(r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        def Cube "shape"
        {
        }
    }
}"#))],
    keeps: &[("robot.usda", Some(r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        def Scope "visual"
        {
            def Cube "shape"
            {
            }
        }
    }
}"#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for &body in &subject.physics.bodies {
        let path = &stage[body].path;
        for &child in stage[body].children.iter().filter(|&&child| !is_body(&stage[child])) {
            let prim = &stage[child];
            let mut seen = own(stage, child).into_iter().filter(|&id| stage[id].is_present());
            let (mut visual, mut collider) = (None, None);
            seen.by_ref().for_each(|id| {
                if is_collider(&stage[id]) {
                    collider = collider.or(Some(id));
                } else if is_visual(stage, id) && !has_collider_above(stage, id, child) {
                    visual = visual.or(Some(id));
                }
            });
            let message = match (visual, collider) {
                _ if prim.is_present() && is_shape(prim) => {
                    format!("the shape {} stands right in the link {path}, and in no visual or collision scope", prim.path)
                }
                (Some(visual), Some(collider)) => format!(
                    "the link {path} has what is seen ({}) and what is touched ({}) in one place",
                    stage[visual].path, stage[collider].path
                ),
                _ => continue,
            };
            let help = "move what is seen into a child `visual` of the link and what is touched into a child `collision`";
            findings.prim(&RULE.code, child, None, message, help);
        }
    }
}

/// Whether a prim stands in a collider that is `top` or stands in it: it is a part of what is touched.
fn has_collider_above(stage: &Stage, id: PrimId, top: PrimId) -> bool {
    id != top && stage.ancestors(id).take_while(|&above| Some(above) != stage[top].parent).any(|above| is_collider(&stage[above]))
}
