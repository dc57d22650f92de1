//! `physics.usda`: core UsdPhysics only. Bodies with their masses, joints, colliders, the material of contacts (REP-158 §1.3).

use nalgebra::{UnitQuaternion, Vector3};

use super::author::{Attribute, Layer, Prim, Relationship, token};
use super::library::ColliderForm;
use super::numbers::{degrees, joint_axis, principal_axes, quatf, vec3f};
use super::plan::{JointPlan, Role};
use super::{Scene, codes};
use crate::diagnostic::Diagnostic;
use crate::robot::{Joint, JointId, JointKind, Link, LinkId, Pose};

/// What contact is like where the source doesn't say: rubber-like plastic on a hard floor.
const STATIC_FRICTION: f32 = 0.8;
const DYNAMIC_FRICTION: f32 = 0.6;
const RESTITUTION: f32 = 0.0;
/// The stand-in for a missing mass: a ball of 1 g ...
const STAND_IN_MASS: f64 = 1e-3;
/// ... and 5 cm radius.
const STAND_IN_RADIUS: f64 = 0.05;

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Layer {
    let (mut layer, root) = super::layer(scene, "Core UsdPhysics only: bodies, joints, colliders, the contact material");
    layer.over(&root).apply(["PhysicsArticulationRootAPI"]);
    let contact = format!("{root}/PhysicsMaterials/default");
    let mut has_colliders = false;
    for &id in &scene.robot.tree.order {
        let (link, plan) = (&scene.robot.links[id.0], &scene.plan.links[id.0]);
        if plan.role == Role::Body {
            diagnostics.extend(author_body(&mut layer, &plan.path, link, plan.mass_missing));
        }
        for collider in &scene.library.colliders[id.0] {
            has_colliders = true;
            let mut prim = layer.over(&format!("{}/collision/{}", plan.path, collider.name));
            prim.apply(["PhysicsCollisionAPI"]);
            if matches!(collider.form, ColliderForm::Mesh { .. }) {
                prim.apply(["PhysicsMeshCollisionAPI"]);
            }
            prim.apply(["MaterialBindingAPI"])
                .attribute("physics:approximation", Attribute::token("none").uniform())
                .relationship(
                    "material:binding:physics",
                    Relationship::to([&contact]).metadata("bindMaterialAs", token("weakerThanDescendants")),
                );
        }
        // Joints after the body that they hang on and before the bodies below it, so that the layer reads like the robot.
        for joint in joints_of(scene, id) {
            if let Some(plan) = &scene.plan.joints[joint.0] {
                author_joint(scene, &mut layer, &scene.robot.joints[joint.0], plan);
            }
        }
    }
    for (path, body) in &scene.plan.world_joints {
        let plan = JointPlan {
            path: path.clone(),
            body0: None,
            body1: *body,
            local0: scene.plan.links[body.0].rest,
            local1: Pose::identity(),
        };
        connect(scene, &mut layer.def(path, "PhysicsFixedJoint"), &plan, &UnitQuaternion::identity());
    }
    if has_colliders {
        author_contact(&mut layer, &contact);
    }
    layer
}

/// The joints below a link, loop-closing ones included, in the source's order.
fn joints_of(scene: &Scene<'_>, link: LinkId) -> impl Iterator<Item = JointId> {
    let closing = scene.robot.joints.iter().enumerate().filter(move |(_, j)| j.closes_loop && j.parent == link);
    scene.robot.tree.child_joints[link.0].iter().copied().chain(closing.map(|(index, _)| JointId(index)))
}

/// The mass that a body is given, in kg.
pub(super) fn mass(link: &Link, missing: bool) -> f64 {
    link.inertial.as_ref().filter(|_| !missing).map_or(STAND_IN_MASS, |inertial| inertial.mass)
}

fn author_body(layer: &mut Layer, path: &str, link: &Link, mass_missing: bool) -> Option<Diagnostic> {
    let mut prim = layer.over(path);
    prim.apply(["PhysicsRigidBodyAPI", "PhysicsMassAPI"]);
    let ball = |mass: f64| Vector3::repeat(0.4 * mass * STAND_IN_RADIUS * STAND_IN_RADIUS);
    let Some(inertial) = link.inertial.as_ref().filter(|_| !mass_missing) else {
        let centre = link.inertial.as_ref().map_or(Vector3::zeros(), |i| i.origin.translation.vector);
        author_mass(&mut prim, STAND_IN_MASS, &centre, &ball(STAND_IN_MASS), [1.0, 0.0, 0.0, 0.0]);
        return None;
    };
    let (moments, axes) = principal_axes(&inertial.inertia);
    let largest = moments.max();
    let smallest_sound = f64::from(f32::MIN_POSITIVE);
    let repaired = match largest {
        _ if moments.iter().all(|&m| m > smallest_sound) => None,
        largest if largest > smallest_sound => Some(moments.map(|m| if m > smallest_sound { m } else { largest * 1e-3 })),
        _ => Some(ball(inertial.mass)),
    };
    let written = repaired.unwrap_or(moments);
    let orientation = quatf(&(inertial.origin.rotation * axes));
    author_mass(&mut prim, inertial.mass, &inertial.origin.translation.vector, &written, orientation);
    repaired.map(|_| {
        let message =
            format!("link {:?}: principal moments of inertia {:?} are not all above zero", link.name, moments.as_slice());
        Diagnostic::new(&codes::INERTIA_REPAIRED, inertial.place.clone(), message).help("give the link its true inertia tensor")
    })
}

fn author_mass(prim: &mut Prim<'_>, mass: f64, centre: &Vector3<f64>, moments: &Vector3<f64>, axes: [f32; 4]) {
    prim.attribute("physics:mass", Attribute::float(mass as f32))
        .attribute("physics:centerOfMass", Attribute::point3f(vec3f(centre)))
        .attribute("physics:diagonalInertia", Attribute::float3(vec3f(moments)))
        .attribute("physics:principalAxes", Attribute::quatf(axes));
}

fn author_joint(scene: &Scene<'_>, layer: &mut Layer, joint: &Joint, plan: &JointPlan) {
    let type_name = match joint.kind {
        JointKind::Fixed => "PhysicsFixedJoint",
        JointKind::Revolute | JointKind::Continuous => "PhysicsRevoluteJoint",
        JointKind::Prismatic => "PhysicsPrismaticJoint",
        JointKind::Planar | JointKind::Floating => "PhysicsJoint",
    };
    let mut prim = layer.def(&plan.path, type_name);
    let (axis, rotation) = joint_axis(&joint.axis);
    let rotation = if joint.kind == JointKind::Fixed { UnitQuaternion::identity() } else { rotation };
    connect(scene, &mut prim, plan, &rotation);
    if joint.closes_loop {
        prim.attribute("physics:excludeFromArticulation", Attribute::bool(true).uniform());
    }
    match joint.kind {
        JointKind::Revolute | JointKind::Continuous => {
            let (lower, upper) = joint.position_limits();
            prim.attribute("physics:axis", Attribute::token(axis).uniform())
                .attribute("physics:lowerLimit", Attribute::float(degrees(lower)))
                .attribute("physics:upperLimit", Attribute::float(degrees(upper)));
        }
        JointKind::Prismatic => {
            let (lower, upper) = joint.position_limits();
            prim.attribute("physics:axis", Attribute::token(axis).uniform())
                .attribute("physics:lowerLimit", Attribute::float(lower as f32))
                .attribute("physics:upperLimit", Attribute::float(upper as f32));
        }
        JointKind::Planar => free_the_plane(&mut prim, axis),
        JointKind::Fixed | JointKind::Floating => {}
    }
    if !plan.path.ends_with(&format!("/{}", joint.name)) {
        prim.display_name(&joint.name);
    }
}

/// The bodies and the joint's frame in each, turned by `rotation` so that USD's axis is the joint's.
fn connect(scene: &Scene<'_>, prim: &mut Prim<'_>, plan: &JointPlan, rotation: &UnitQuaternion<f64>) {
    let path = |link: LinkId| [&scene.plan.links[link.0].path];
    if let Some(body0) = plan.body0 {
        prim.relationship("physics:body0", Relationship::to(path(body0)));
    }
    prim.relationship("physics:body1", Relationship::to(path(plan.body1)))
        .attribute("physics:localPos0", Attribute::point3f(vec3f(&plan.local0.translation.vector)))
        .attribute("physics:localRot0", Attribute::quatf(quatf(&(plan.local0.rotation * rotation))))
        .attribute("physics:localPos1", Attribute::point3f(vec3f(&plan.local1.translation.vector)))
        .attribute("physics:localRot1", Attribute::quatf(quatf(&(plan.local1.rotation * rotation))));
}

/// A planar joint: USD's six-axis joint, free along the plane and about its normal `axis`, locked (low above high) otherwise.
/// Free axes are said too: engines take an axis without a limit as locked.
fn free_the_plane(prim: &mut Prim<'_>, axis: &str) {
    for (kind, free_along_axis) in [("trans", false), ("rot", true)] {
        for letter in ["X", "Y", "Z"] {
            let is_free = (letter == axis) == free_along_axis;
            let (low, high) = if is_free { (f32::NEG_INFINITY, f32::INFINITY) } else { (1.0, -1.0) };
            let instance = format!("{kind}{letter}");
            prim.apply([format!("PhysicsLimitAPI:{instance}").as_str()])
                .attribute(&format!("limit:{instance}:physics:low"), Attribute::float(low))
                .attribute(&format!("limit:{instance}:physics:high"), Attribute::float(high));
        }
    }
}

fn author_contact(layer: &mut Layer, path: &str) {
    let scope = path.rsplit_once('/').map_or(path, |(scope, _)| scope);
    layer.def(scope, "Scope");
    layer
        .def(path, "Material")
        .apply(["PhysicsMaterialAPI"])
        .attribute("outputs:surface", Attribute::connected("token", format!("{path}/PreviewSurface.outputs:surface")))
        .attribute("physics:staticFriction", Attribute::float(STATIC_FRICTION))
        .attribute("physics:dynamicFriction", Attribute::float(DYNAMIC_FRICTION))
        .attribute("physics:restitution", Attribute::float(RESTITUTION));
    layer
        .def(&format!("{path}/PreviewSurface"), "Shader")
        .attribute("info:id", Attribute::token("UsdPreviewSurface").uniform())
        .attribute("outputs:surface", Attribute::declared("token"));
}
