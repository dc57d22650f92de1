//! `extended_physics.usda`: mimic joints as ExtendedPhysicsMimicAPI (REP-158 §4.2.2 of June 2026), only where
//! the robot has any. Since July 2026, they are only in the layers of engines.

use super::drives::Dof;
use super::{Overlay, Scene, codes, engine};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_usd_author::Layer;
use urdf_usd_usd_author::dialects::{self, Dialect, Motion};

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Layer> {
    if scene.options.mimics_in_engines {
        report_lost(scene, diagnostics);
        return None;
    }
    let (mut layer, _) = super::layer(scene, "ext_physics:* (mimic joints)");
    let mut any = false;
    let joints = scene.robot.joints();
    for (joint, plan) in joints.values().zip(scene.plan.joints.values()) {
        let (Some(plan), Some(mimic)) = (plan, joint.mimic()) else {
            continue;
        };
        let Some(leader) = &scene.plan.joints[mimic.joint] else {
            continue;
        };
        let motion = |joint| Dof::of(joint).map_or(Motion::Linear, Dof::motion);
        any = true;
        let relation = dialects::Mimic {
            motions: [joint, &joints[mimic.joint]].map(motion),
            axes: [""; 2],
            multiplier: mimic.multiplier,
            offset: mimic.offset,
        };
        let opinions = dialects::mimic(Dialect::ExtendedPhysics, &relation);
        engine::author_relation(&mut layer, &plan.path, &leader.path, opinions, None);
    }
    any.then_some(layer)
}

/// Reports the mimic joints that no layer of an engine has.
fn report_lost(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let overlays = &scene.options.overlays;
    let has_engine = overlays.iter().copied().any(Overlay::has_drives);
    let relations = engine::relations(scene);
    let names = |are_lost: bool| -> Vec<String> {
        let joints = scene.robot.joints();
        relations
            .iter()
            .filter(|(_, following)| are_lost == (!has_engine || following.is_err()))
            .map(|(id, _)| format!("{:?}", joints[*id].name()))
            .collect()
    };
    let mut report = |message: String, help: &str| {
        let place = scene.robot.place.clone();
        diagnostics.push(Diagnostic::new(&codes::MIMIC, place, message).help(help));
    };
    let lost = names(true);
    if !lost.is_empty() {
        let message = format!(
            "no OpenUSD layer says that these joints follow others: {}; REP-158 of July 2026 has mimic joints only in \
             layers of engines",
            super::list(&lost)
        );
        let help = if has_engine {
            "let a joint that turns follow one that turns, and one that slides one that slides, or write the neutral layer with --rep158 2026-06"
        } else {
            "add --overlays newton,physx,mujoco, each of which keeps them for its engine"
        };
        report(message, help);
    }
    let kept = names(false);
    if scene.options.usdz && !kept.is_empty() {
        let message = format!(
            "{}.usdz has no layers of engines, so these joints follow no other in it: {}",
            scene.options.entry,
            super::list(&kept)
        );
        report(message, "use the layers of the format usd");
    }
}
