//! The axes of a planar joint are orthogonal.

use super::{Findings, Subject, rule};
use crate::basis;
use crate::transform::round;
use urdf_usd_gltf_extension::JointType;

rule! {
    severity: Error,
    meaning: "The two axes of a planar joint are not at right angles.",
    outcome: "Positions in the plane are not metres in two independent directions.",
    demand: "The axes of a planar joint MUST be at right angles.",
    section: ("Joints", "#joints"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject
        .asset
        .joints()
        .filter(|joint| joint.kind == Some(JointType::Planar))
    {
        let Some([u, v]) = basis::directions::<2>(joint) else {
            continue;
        };
        let cosine = u.dot(&v);
        if cosine.abs() <= basis::ROUNDING {
            continue;
        }
        let angle = round(cosine.clamp(-1.0, 1.0).acos().to_degrees());
        let message = format!(
            "{}: the two axes of the plane are at {angle}°, not at 90°",
            joint.title()
        );
        let help = "with the plane's normal n and t = [1, 0, 0] or, if n is close to that, [0, 1, 0], in the source's axes: \
                    u = n × t of length 1, v = n × u";
        findings.report(format!("{}/dofs/1/axis", joint.pointer()), message, help);
    }
}
