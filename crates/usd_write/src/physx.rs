//! `physx.usda`: the overlay for the PhysX engine, with the schemas of physx-usd-schemas 25.11 (prefixes
//! `physx*:`, `state:`), which Isaac Sim reads too.
//!
//! PhysX 5.11 also reads `newton:*`, and calls some of these schemas deprecated; older versions read
//! only these.

use super::drives::Dof;
use super::plan::JointPlan;
use super::{Scene, codes, engine};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::{Joint, JointId, Role, SelfCollision};
use urdf_usd_usd_author::dialects::{self, Dialect, Quantity};
use urdf_usd_usd_author::{Attribute, Layer};

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        "Drives and what UsdPhysics cannot say, in the words of PhysX",
    );
    layer.over(&root);
    let self_collision = scene.robot.simulation().self_collision;
    for path in &scene.plan.articulation_roots {
        layer.over(path).apply(["PhysxArticulationAPI"]).attribute(
            "physxArticulation:enabledSelfCollisions",
            Attribute::bool(self_collision != SelfCollision::None),
        );
    }
    // PhysX damps rotations of every body by 0.05/s, which no description says and no other engine does.
    for link in scene.plan.links.values() {
        if link.role == Role::Body {
            layer
                .over(&link.path)
                .apply(["PhysxRigidBodyAPI"])
                .attribute("physxRigidBody:angularDamping", Attribute::float(0.0));
        }
    }
    engine::author_drives(scene, &mut layer);
    engine::author_hulls(scene, &mut layer);
    let start = engine::start(scene);
    for (id, joint) in scene.robot.joints().iter() {
        if let Some(plan) = &scene.plan.joints[id] {
            author_joint(scene, &mut layer, id, joint, plan);
            if let Some(position) = start.get(&id) {
                author_state(&mut layer, joint, plan, *position);
            }
        }
    }
    for following in engine::mimics(scene, "PhysX", &codes::PHYSX_MIMIC, diagnostics) {
        engine::author_mimic(scene, &mut layer, &following, Dialect::Physx, None);
    }
    layer
}

/// Authors PhysxJointAPI (armature, speed limit) and PhysxJointAxisAPI (friction, damping).
fn author_joint(
    scene: &Scene<'_>,
    layer: &mut Layer,
    id: JointId,
    joint: &Joint,
    plan: &JointPlan,
) {
    let Some(dof) = Dof::of(joint) else {
        return;
    };
    let mut passive = engine::passive(scene, id, joint);
    passive.retain(|(quantity, value)| {
        *value > 0.0 || !matches!(quantity, Quantity::Friction | Quantity::Damping)
    });
    let words = dialects::passive(Dialect::Physx, dof.motion(), &passive);
    engine::author_words(layer, &plan.path, &words, None);
}

/// Authors the position of a joint at the start.
fn author_state(layer: &mut Layer, joint: &Joint, plan: &JointPlan, position: f64) {
    if let Some(dof) = Dof::of(joint) {
        let schema = format!("PhysicsJointStateAPI:{}", dof.instance);
        let name = format!("state:{}:physics:position", dof.instance);
        let position = Some(dof.position(position));
        engine::author_floats(layer, &plan.path, &schema, [(&name, position)]);
    }
}
