//! That a plane has two directions.

use super::super::basis;
use super::super::findings::Findings;
use super::super::transform::round;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};
use crate::gltf::extension::JointType;

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-planar-basis",
        severity: Severity::Error,
        meaning: "The two axes of a planar joint are not at right angles.",
        outcome: "Positions in the plane are not metres in two independent directions.",
    },
    demand: "The axes of a planar joint MUST be at right angles.",
    section: ("Joints", "#joints"),
    breaks: &[("models/0/joints/4/dofs/1/axis", Some("[1, 0, 0]"))],
    keeps: &[("models/0/joints/4/dofs/1/axis", Some("[0, 0, -1]"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for joint in subject.asset.joints().filter(|joint| joint.kind == Some(JointType::Planar)) {
        let Some([u, v]) = basis::directions::<2>(joint) else { continue };
        let cosine = u.dot(&v);
        if cosine.abs() <= basis::ROUNDING {
            continue;
        }
        let angle = round(cosine.clamp(-1.0, 1.0).acos().to_degrees());
        let message = format!("{}: the two axes of the plane are at {angle}°, not at 90°", joint.title());
        let help = "with the plane's normal n and t = [1, 0, 0] or, if n is close to that, [0, 1, 0], in the source's axes: \
                    u = n × t of length 1, v = n × u";
        findings.report(&RULE.code, format!("{}/dofs/1/axis", joint.pointer()), message, help);
    }
}
