//! `physics.usda`: core UsdPhysics only. Bodies with their masses, joints, colliders, the material of contacts (REP-158 §1.3).

use nalgebra::{UnitQuaternion, Vector3};

use super::author::{Attribute, Layer, Prim, Relationship, token};
use super::library::ColliderForm;
use super::numbers::{degrees, joint_axis, principal_axes, quatf, vec3f};
use super::plan::{JointPlan, Role};
use super::{Scene, codes, drives};
use crate::diagnostic::Diagnostic;
use crate::robot::{Contact, JointId, JointKind, Link, LinkId, Pose, names};

/// What contact is like where the source doesn't say: rubber-like plastic on a hard floor.
const STATIC_FRICTION: f32 = 0.8;
const DYNAMIC_FRICTION: f32 = 0.6;
const RESTITUTION: f32 = 0.0;
/// The most bytes that the paths of filtered pairs may take: in a long chain of links each path is as long as the chain.
const MAX_PAIRS_TEXT: usize = 64 << 20;
/// The stand-in for a missing mass: a ball of 1 g ...
const STAND_IN_MASS: f64 = 1e-3;
/// ... and 5 cm radius.
const STAND_IN_RADIUS: f64 = 0.05;

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Layer {
    let (mut layer, root) = super::layer(scene, "Core UsdPhysics only: bodies, joints, colliders, contact materials");
    layer.over(&root);
    let contacts = Contacts::new(scene);
    for &id in &scene.robot.tree.order {
        let (link, plan) = (&scene.robot.links[id.0], &scene.plan.links[id.0]);
        if let Some(mass) = mass_of(scene, id) {
            author_body(&mut layer, &plan.path, &mass);
            diagnostics.extend(mass.repaired.then(|| inertia_repaired(link, &mass)));
        }
        for collider in &scene.library.colliders[id.0] {
            let mut prim = layer.over(&format!("{}/collision/{}", plan.path, collider.name));
            prim.apply(["PhysicsCollisionAPI"]);
            if matches!(collider.form, ColliderForm::Mesh { .. }) {
                prim.apply(["PhysicsMeshCollisionAPI"]);
            }
            prim.apply(["MaterialBindingAPI"])
                .attribute("physics:approximation", Attribute::token("none").uniform())
                .relationship(
                    "material:binding:physics",
                    Relationship::to([contacts.path(link.contact)]).metadata("bindMaterialAs", token("weakerThanDescendants")),
                );
        }
        // Joints after the body that they hang on and before the bodies below it, so that the layer reads like the robot.
        for joint in joints_of(scene, id) {
            if let Some(plan) = &scene.plan.joints[joint.0] {
                author_joint(scene, &mut layer, joint, plan);
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
    for path in &scene.plan.articulation_roots {
        layer.over(path).apply(["PhysicsArticulationRootAPI"]);
    }
    // Between bodies that can touch at all: engines complain about others.
    let mut written = 0;
    let touches = |body: &LinkId| !scene.library.colliders[body.0].is_empty();
    for (body, others) in scene.plan.filtered_pairs.iter().filter(|(body, _)| touches(body)) {
        let others = others.iter().filter(|other| touches(other));
        let others: Vec<&str> = others.map(|other| scene.plan.links[other.0].path.as_str()).collect();
        written += others.iter().map(|path| path.len()).sum::<usize>();
        if written > MAX_PAIRS_TEXT {
            let message =
                "the pairs of links that need no collision check are too many to write: those from here on are left out";
            diagnostics.push(
                Diagnostic::new(&codes::TOO_MANY_PAIRS, scene.robot.links[body.0].place.clone(), message)
                    .help("give the SRDF fewer pairs, or use --bodies flat, which has shorter paths"),
            );
            break;
        }
        if !others.is_empty() {
            layer
                .over(&scene.plan.links[body.0].path)
                .apply(["PhysicsFilteredPairsAPI"])
                .relationship("physics:filteredPairs", Relationship::prepend(others));
        }
    }
    if scene.library.colliders.iter().any(|colliders| !colliders.is_empty()) {
        contacts.author(&mut layer);
        author_collision_group(&mut layer, &root);
    }
    layer
}

/// The joints below a link, loop-closing ones included, in the source's order.
fn joints_of(scene: &Scene<'_>, link: LinkId) -> impl Iterator<Item = JointId> {
    let closing = scene.robot.joints.iter().enumerate().filter(move |(_, j)| j.closes_loop && j.parent == link);
    scene.robot.tree.child_joints[link.0].iter().copied().chain(closing.map(|(index, _)| JointId(index)))
}

/// The mass properties of a body as they are written.
pub(super) struct Mass {
    /// kg; above zero.
    pub mass: f64,
    /// The centre of mass in the link's frame, metres.
    pub centre: Vector3<f64>,
    /// Principal moments, kg·m²: each above zero and none above the sum of the others.
    pub moments: Vector3<f64>,
    /// From the principal axes to the link's.
    pub axes: UnitQuaternion<f64>,
    /// Whether the moments are others than the source's.
    repaired: bool,
}

/// What a link weighs, if it is a body.
pub(super) fn mass_of(scene: &Scene<'_>, link: LinkId) -> Option<Mass> {
    let (link, plan) = (&scene.robot.links[link.0], &scene.plan.links[link.0]);
    if plan.role != Role::Body {
        return None;
    }
    let ball = |mass: f64| Vector3::repeat(0.4 * mass * STAND_IN_RADIUS * STAND_IN_RADIUS);
    let centre = link.inertial.as_ref().map_or(Vector3::zeros(), |i| i.origin.translation.vector);
    let Some(inertial) = link.inertial.as_ref().filter(|_| !plan.mass_missing) else {
        let axes = UnitQuaternion::identity();
        return Some(Mass { mass: STAND_IN_MASS, centre, moments: ball(STAND_IN_MASS), axes, repaired: false });
    };
    let (given, axes) = principal_axes(&inertial.inertia);
    let moments = physical_moments(&given).unwrap_or_else(|| ball(inertial.mass));
    let axes = inertial.origin.rotation * axes;
    Some(Mass { mass: inertial.mass, centre, moments, axes, repaired: moments != given })
}

/// The nearest moments that a body can have: each above zero, none above the sum of the others. `None` if none is above zero.
fn physical_moments(moments: &Vector3<f64>) -> Option<Vector3<f64>> {
    let largest = moments.max();
    let smallest_sound = f64::from(f32::MIN_POSITIVE);
    if largest <= smallest_sound {
        return None;
    }
    // What eigenvalues of a singular tensor come to by rounding is no moment either.
    let sound = moments.map(|m| if m > smallest_sound.max(1e-12 * largest) { m } else { 1e-3 * largest });
    let deficit = 2.0 * largest - sound.sum();
    // The sum of two single-precision numbers is not exact.
    if deficit <= 1e-6 * largest {
        return Some(sound);
    }
    Some(sound.map(|m| if m < largest { m + 0.5 * deficit } else { m }))
}

fn author_body(layer: &mut Layer, path: &str, mass: &Mass) {
    layer
        .over(path)
        .apply(["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
        .attribute("physics:mass", Attribute::float(mass.mass as f32))
        .attribute("physics:centerOfMass", Attribute::point3f(vec3f(&mass.centre)))
        .attribute("physics:diagonalInertia", Attribute::float3(vec3f(&mass.moments)))
        .attribute("physics:principalAxes", Attribute::quatf(quatf(&mass.axes)));
}

fn inertia_repaired(link: &Link, mass: &Mass) -> Diagnostic {
    let (place, tensor) = link.inertial.as_ref().map_or((&link.place, Default::default()), |i| (&i.place, i.inertia));
    let list = |moments: &Vector3<f64>| moments.as_slice().iter().map(|m| format!("{m:.4e}")).collect::<Vec<_>>().join(", ");
    let (given, written) = (list(&principal_axes(&tensor).0), list(&mass.moments));
    let message =
        format!("link {:?}: written with the principal moments of inertia ({written}) instead of ({given})", link.name);
    Diagnostic::new(&codes::INERTIA_REPAIRED, place.clone(), message).help("give the link its true inertia tensor")
}

fn author_joint(scene: &Scene<'_>, layer: &mut Layer, id: JointId, plan: &JointPlan) {
    let joint = &scene.robot.joints[id.0];
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
    if let Some(drive) = &joint.drive {
        drives::author(scene, &mut prim, id, drive);
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

/// The materials of contacts, each once, by what they are like; `None` is the default one.
struct Contacts {
    scope: String,
    /// Without doubles; the default first, if it is used.
    kinds: Vec<(Option<Contact>, String)>,
}

impl Contacts {
    fn new(scene: &Scene<'_>) -> Self {
        let mut kinds: Vec<Option<Contact>> = Vec::new();
        for (link, colliders) in scene.robot.links.iter().zip(&scene.library.colliders) {
            if !colliders.is_empty() && !kinds.contains(&link.contact) {
                kinds.push(link.contact);
            }
        }
        kinds.sort_by_key(Option::is_some);
        // Named by their numbers: the names stay when other links change.
        let wanted: Vec<String> = kinds.iter().map(|kind| kind.as_ref().map_or("default".to_owned(), contact_name)).collect();
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let kinds = kinds.iter().copied().zip(names::identifiers(&wanted, "contact", &[])).collect();
        Self { scope: format!("{}/PhysicsMaterials", scene.plan.root()), kinds }
    }

    fn path(&self, contact: Option<Contact>) -> String {
        let name = self.kinds.iter().find(|(kind, _)| *kind == contact).map_or("default", |(_, name)| name);
        format!("{}/{name}", self.scope)
    }

    fn author(&self, layer: &mut Layer) {
        layer.def(&self.scope, "Scope");
        for (kind, name) in &self.kinds {
            let (static_friction, dynamic_friction, restitution) = match kind {
                Some(contact) => (
                    contact.static_friction as f32,
                    contact.dynamic_friction as f32,
                    contact.restitution.map_or(RESTITUTION, |r| r as f32),
                ),
                None => (STATIC_FRICTION, DYNAMIC_FRICTION, RESTITUTION),
            };
            let path = format!("{}/{name}", self.scope);
            layer
                .def(&path, "Material")
                .apply(["PhysicsMaterialAPI"])
                .attribute("outputs:surface", Attribute::connected("token", format!("{path}/PreviewSurface.outputs:surface")))
                .attribute("physics:staticFriction", Attribute::float(static_friction))
                .attribute("physics:dynamicFriction", Attribute::float(dynamic_friction))
                .attribute("physics:restitution", Attribute::float(restitution));
            layer
                .def(&format!("{path}/PreviewSurface"), "Shader")
                .attribute("info:id", Attribute::token("UsdPreviewSurface").uniform())
                .attribute("outputs:surface", Attribute::declared("token"));
        }
    }
}

fn contact_name(contact: &Contact) -> String {
    let restitution = contact.restitution.map_or_else(String::new, |r| format!("_restitution_{r}"));
    format!("friction_{}_{}{restitution}", contact.static_friction, contact.dynamic_friction)
}

/// All colliders of the robot in one group (REP-158 §1.3.3), for scenes to filter by. It filters nothing by itself.
fn author_collision_group(layer: &mut Layer, root: &str) {
    let scope = format!("{root}/CollisionGroups");
    layer.def(&scope, "Scope");
    layer
        .def(&format!("{scope}/robot"), "PhysicsCollisionGroup")
        .relationship("collection:colliders:includes", Relationship::prepend([root]));
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use super::physical_moments;

    #[test]
    fn moments_become_those_of_a_body() {
        let repaired = |x, y, z| physical_moments(&Vector3::new(x, y, z));
        assert_eq!(repaired(1.0, 2.0, 3.0), Some(Vector3::new(1.0, 2.0, 3.0)));
        assert_eq!(repaired(1.0, 1.0, 4.0), Some(Vector3::new(2.0, 2.0, 4.0)));
        assert_eq!(repaired(-1.0, 2.0, 2.0), Some(Vector3::new(2e-3, 2.0, 2.0)));
        assert_eq!(repaired(4.0, 0.0, 0.0), repaired(4.0, -2.0, 0.0));
        assert_eq!(repaired(0.0, 0.0, -1.0), None);
        let flat = repaired(0.0, 0.0, 3.0).unwrap();
        assert!((flat.x + flat.y - flat.z).abs() < 1e-12 && flat.x > 0.0, "{flat}");
    }
}
