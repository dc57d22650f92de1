//! Limits and default positions.

use super::super::asset::{Asset, Dof, Joint};
use super::super::codes;
use super::super::findings::Findings;
use urdf_usd_robot::JointKind;

/// Limits of every degree of freedom.
pub fn check(asset: &Asset<'_>, findings: &mut Findings) {
    for joint in asset.models.iter().flat_map(|model| &model.joints) {
        for (k, dof) in joint.dofs.iter().enumerate() {
            limits(joint, k, dof, findings);
        }
    }
}

fn limits(joint: &Joint<'_>, k: usize, dof: &Dof, findings: &mut Findings) {
    let pointer = || format!("{}/dofs/{k}", joint.pointer());
    if joint.kind == Some(JointKind::Continuous) {
        let bounds = [("lower", dof.lower), ("upper", dof.upper)];
        for (name, bound) in bounds.iter().filter_map(|(name, bound)| Some((name, (*bound)?))) {
            let message = format!("{} is continuous, and its {name} limit is {bound}", joint.title());
            let help = "leave `lower` and `upper` out, or make the joint revolute";
            findings.report(&codes::CONTINUOUS_BOUNDS, format!("{}/limit/{name}", pointer()), message, help);
        }
        return;
    }
    if let Some((lower, upper)) = dof.lower.zip(dof.upper).filter(|(lower, upper)| lower > upper) {
        let message = format!("{}: the lower limit {lower} is above the upper limit {upper}", joint.title());
        findings.report(&codes::LIMITS_REVERSED, format!("{}/limit", pointer()), message, "swap `lower` and `upper`");
        return;
    }
    // A follower is where its driver puts it.
    if let Some(range) = dof.range_without(dof.default).filter(|_| joint.mimic.is_none()) {
        let message = format!("{}: the default position {} is outside {range}", joint.title(), dof.default);
        let pointer = format!("{}/default", pointer());
        findings.report(
            &codes::DEFAULT_OUTSIDE_LIMITS,
            pointer,
            message,
            "give a default within the limits; where it is absent it is 0",
        );
    }
}
