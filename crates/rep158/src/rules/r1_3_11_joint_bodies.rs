//! That joints connect bodies.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::physics::End;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.11",
        severity: Severity::Error,
        meaning: "A joint does not lead to a body.",
        outcome: "Programs leave the joint out, and what it held falls off, or refuse the asset.",
    },
    demand: "Parsers must rebuild the kinematic tree from body0 and body1 alone, so both must lead to bodies; an empty body0 is the world.",
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
        rel physics:body1 = </robot/leg>
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
    let stage = subject.stage;
    for joint in &subject.physics.joints {
        let prim = &stage[joint.prim];
        let path = &prim.path;
        let mut is_known = false;
        for (name, end) in ["physics:body0", "physics:body1"].into_iter().zip(&joint.ends) {
            let targets = prim.targets(name);
            let message = match end {
                End::Missing(target) => format!("the joint {path} has {target} for {name}, which does not exist"),
                _ if targets.len() > 1 => format!("the joint {path} has {} targets for {name}", targets.len()),
                _ => continue,
            };
            is_known = true;
            findings.prim(&RULE.code, joint.prim, Some(name), message, format!("let {name} lead to one body"));
        }
        if is_known {
            continue;
        }
        let (name, message) = match &joint.ends {
            [End::Body(a), End::Body(b)] if a == b => {
                ("physics:body1", format!("the joint {path} connects the body {} with itself", stage[*a].path))
            }
            [_, End::Body(_)] | [End::Body(_), End::World] => continue,
            [_, End::Static(id)] => {
                ("physics:body1", format!("the joint {path} leads to {}, which is no body and stands in none", stage[*id].path))
            }
            _ => ("physics:body1", format!("the joint {path} connects no body")),
        };
        let help =
            "let physics:body0 lead to the parent link and physics:body1 to the child link, both with PhysicsRigidBodyAPI";
        findings.prim(&RULE.code, joint.prim, Some(name), message, help);
    }
}
