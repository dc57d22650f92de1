//! Joints that follow others.

use super::super::asset::Asset;
use super::super::codes;
use super::super::findings::Findings;

/// That whoever follows, follows one other joint, and in one step.
pub fn check(asset: &Asset<'_>, findings: &mut Findings) {
    for model in &asset.models {
        for joint in &model.joints {
            let Some(mimic) = &joint.mimic else { continue };
            let pointer = format!("{}/mimic", joint.pointer());
            let driver = mimic.joint.and_then(|driver| model.joints.get(driver));
            let dofs = |joint: &super::super::asset::Joint<'_>| format!("{} has {}", joint.title(), joint.dof_count());
            let without_one = [Some(joint), driver].into_iter().flatten().find(|joint| joint.dof_count() != 1);
            if let Some(culprit) = without_one {
                let message =
                    format!("{}: a mimic is between joints with one degree of freedom, and {}", joint.title(), dofs(culprit));
                findings.report(&codes::MIMIC_DOFS, &pointer, message, "leave `mimic` out and set the joint on its own");
            }
            let Some(driver) = driver else { continue };
            if driver.index == joint.index {
                let message = format!("{} follows itself", joint.title());
                findings.report(&codes::MIMIC_ITSELF, format!("{pointer}/joint"), message, "name the joint that it follows");
            } else if driver.mimic.is_some() {
                let message = format!("{} follows {}, which follows another joint itself", joint.title(), driver.title());
                let help = "follow the joint at the end of the chain: multiply the multipliers, and add the offsets as they come through";
                findings.report(&codes::MIMIC_CHAIN, format!("{pointer}/joint"), message, help);
            }
        }
    }
}
