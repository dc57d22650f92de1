//! Lower limits are not above upper limits.

use super::{Findings, Subject, rule};
use urdf_usd_gltf_extension::JointType;

rule! {
    severity: Error,
    meaning: "A lower limit is above the upper limit.",
    outcome: "No position is allowed; loaders that clamp may fail.",
    demand: "`lower` MUST NOT be greater than `upper`.",
    section: ("Limits", "#limits"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // Continuous joints are left to kinematics-continuous-bounds.
    for joint in subject
        .asset
        .joints()
        .filter(|joint| joint.kind != Some(JointType::Continuous))
    {
        for (k, dof) in joint.dofs.iter().enumerate() {
            let Some((lower, upper)) = dof.reversed_limits() else {
                continue;
            };
            let message = format!(
                "{}: the lower limit {lower} is above the upper limit {upper}",
                joint.title()
            );
            let at = format!("{}/dofs/{k}/limit", joint.pointer());
            findings.report(at, message, "swap `lower` and `upper`");
        }
    }
}
