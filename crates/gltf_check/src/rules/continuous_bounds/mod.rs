//! Continuous joints have no position limits.

use super::{Findings, Subject, rule};
use urdf_usd_gltf_extension::JointType;

rule! {
    severity: Warning,
    meaning: "A continuous joint has a lower or an upper limit.",
    outcome: "Some loaders stop the joint there, others turn it on.",
    demand: "A continuous joint SHOULD have neither `lower` nor `upper`.",
    section: ("Limits", "#limits"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject
        .asset
        .joints()
        .filter(|joint| joint.kind == Some(JointType::Continuous))
    {
        for (k, dof) in joint.dofs.iter().enumerate() {
            let bounds = [("lower", dof.lower), ("upper", dof.upper)];
            for (name, bound) in bounds
                .iter()
                .filter_map(|(name, bound)| Some((name, (*bound)?)))
            {
                let message = format!(
                    "{} is continuous, and its {name} limit is {bound}",
                    joint.title()
                );
                let at = format!("{}/dofs/{k}/limit/{name}", joint.pointer());
                findings.report(
                    at,
                    message,
                    "leave `lower` and `upper` out, or make the joint revolute",
                );
            }
        }
    }
}
