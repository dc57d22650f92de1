//! `physics.usda`: core UsdPhysics only. Bodies with their masses, joints, colliders and contact
//! materials (REP-158 §1.3).

use std::collections::{HashMap, HashSet};

use nalgebra::{UnitQuaternion, Vector3};

use super::library::{Collider, ColliderForm, ColliderMeshKind};
use super::plan::JointPlan;
use super::{Scene, child, codes, drives, planning};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::{
    Contact, JointId, JointKind, Link, LinkId, Mass, Pose, Role, SelfCollision, names,
    principal_axes,
};
use urdf_usd_usd_author::layout::{CONVEX_PARTS, FIDELITY, SPHERES};
use urdf_usd_usd_author::numbers::{degrees, joint_axis, quatf, vec3f};
use urdf_usd_usd_author::{Attribute, Layer, Prim, Relationship, token};

/// Maximum bytes of the paths of filtered pairs: in a long chain of links each path is as long as
/// the chain.
const MAX_PAIRS_TEXT: usize = 64 << 20;

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        "Core UsdPhysics only: bodies, joints, colliders, contact materials",
    );
    layer.over(&root);
    let contacts = Contacts::new(scene);
    let closing = closing_joints(scene);
    for &id in scene.robot.tree().order() {
        if scene.is_over("physics.usda") {
            return layer;
        }
        let (link, plan) = (&scene.robot.links()[id], &scene.plan.links[id]);
        if let Some(mass) = mass_of(scene, id) {
            author_body(&mut layer, &plan.path, &mass);
            diagnostics.extend(
                mass.repaired
                    .then(|| inertia_repaired(&scene.robot.links()[plan.content], &mass)),
            );
        }
        let scope = child(&plan.path, "collision");
        let colliders = &scene.library.colliders[id];
        for collider in colliders {
            let mut prim = layer.over(&child(&scope, &collider.name));
            prim.apply(["PhysicsCollisionAPI"]);
            if matches!(collider.form, ColliderForm::Mesh { .. }) {
                prim.apply(["PhysicsMeshCollisionAPI"]);
            } else {
                author_approximation(&mut prim, "none");
            }
            author_contact(&mut prim, &contacts.path(link.contact));
            for mesh in collider.meshes(scene.library.is_decomposed) {
                let mut prim = layer.over(&mesh.path(&scope));
                if mesh.kind == ColliderMeshKind::Part {
                    prim.apply(["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]);
                    author_contact(&mut prim, &contacts.path(link.contact));
                    author_approximation(&mut prim, "convexHull");
                } else {
                    author_approximation(&mut prim, "none");
                }
            }
        }
        for (name, _) in planning::colliders(scene.robot.planning(), id)
            .iter()
            .filter(|_| !colliders.is_empty())
        {
            let mut prim = layer.over(&format!("{scope}{{{FIDELITY}={SPHERES}}}{name}"));
            author_contact(
                prim.apply(["PhysicsCollisionAPI"]),
                &contacts.path(link.contact),
            );
            author_approximation(&mut prim, "none");
        }
        // Each joint follows its parent body and precedes its child, so that the layer is in the
        // order of the robot.
        for joint in scene
            .robot
            .tree()
            .child_joints(id)
            .iter()
            .chain(closing.get(&id).into_iter().flatten())
            .copied()
        {
            if let Some(plan) = &scene.plan.joints[joint] {
                author_joint(scene, &mut layer, joint, plan);
            }
        }
    }
    // Without body0 (REP-158 §1.3) the first frame is in the world, where the default prim is.
    for (path, body) in &scene.plan.world_joints {
        let plan = JointPlan {
            path: path.clone(),
            body0: None,
            body1: Some(*body),
            local0: scene.plan.links[*body].rest,
            local1: Pose::identity(),
        };
        connect(
            scene,
            &mut layer.def(path, "PhysicsFixedJoint"),
            &plan,
            &UnitQuaternion::identity(),
        );
    }
    for path in &scene.plan.articulation_roots {
        layer.over(path).apply(["PhysicsArticulationRootAPI"]);
    }
    author_filtered_pairs(scene, &mut layer, &scene.plan.filtered_pairs, diagnostics);
    let mut colliders = scene.library.colliders.values();
    if colliders.any(|colliders| !colliders.is_empty()) {
        contacts.author(&mut layer);
        author_collision_group(&mut layer, &root, scene.robot.simulation().self_collision);
    }
    layer
}

/// Authors those of the pairs whose bodies have colliders: engines complain about other pairs.
pub(super) fn author_filtered_pairs(
    scene: &Scene<'_>,
    layer: &mut Layer,
    pairs: &[(LinkId, Vec<LinkId>)],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut written = 0;
    for (body, others) in pairs {
        let (paths, others) = (
            paths_that_touch(scene, *body),
            others
                .iter()
                .flat_map(|other| paths_that_touch(scene, *other)),
        );
        let others: Vec<String> = if paths.is_empty() {
            Vec::new()
        } else {
            others.collect()
        };
        if others.is_empty() {
            continue;
        }
        written += paths.len() * others.iter().map(String::len).sum::<usize>();
        if written > MAX_PAIRS_TEXT {
            let message = "the pairs of links that need no collision check are too many to write: those from here on are left out";
            diagnostics.push(
                Diagnostic::new(
                    &codes::TOO_MANY_PAIRS,
                    scene.robot.links()[*body].place.clone(),
                    message,
                )
                .help("give the SRDF fewer pairs, or use --bodies flat, which has shorter paths"),
            );
            break;
        }
        for path in paths.into_iter().chain(parts_that_touch(scene, *body)) {
            layer
                .over(&path)
                .apply(["PhysicsFilteredPairsAPI"])
                .relationship(
                    "physics:filteredPairs",
                    Relationship::prepend(others.iter().map(String::as_str)),
                );
        }
    }
}

/// Binds the contact material at `material` to a collider.
fn author_contact(prim: &mut Prim<'_>, material: &str) {
    prim.apply(["MaterialBindingAPI"]).relationship(
        "material:binding:physics",
        Relationship::to([material]).metadata("bindMaterialAs", token("weakerThanDescendants")),
    );
}

/// Authors the approximation of a collider.
///
/// Colliders are their own shape, as REP-158 §1.3.1 asks. Convex parts of a mesh say that they are
/// convex: engines otherwise treat each as a concave mesh. Hulls say so in layers for engines
/// ([`engine::author_hulls`](super::engine::author_hulls)), for which the opinion of a mesh has to be in
/// its variant: a local one would be stronger.
pub(super) fn author_approximation(prim: &mut Prim<'_>, approximation: &str) {
    let value = Attribute::token(approximation).uniform();
    prim.attribute("physics:approximation", value);
}

/// Returns the targets of `PhysicsFilteredPairsAPI` for a link: its body, or, for the world link,
/// each collider. Empty if it has no colliders.
pub(super) fn paths_that_touch(scene: &Scene<'_>, link: LinkId) -> Vec<String> {
    let plan = &scene.plan.links[link];
    let colliders = &scene.library.colliders[plan.content];
    match plan.role {
        Role::World => colliders
            .iter()
            .map(|collider| format!("{}/collision/{}", plan.path, collider.name))
            .collect(),
        _ if colliders.is_empty() => Vec::new(),
        _ => vec![plan.path.clone()],
    }
}

/// Returns the convex parts of the colliders that [`paths_that_touch`] returns, in their variant.
fn parts_that_touch(scene: &Scene<'_>, link: LinkId) -> Vec<String> {
    let plan = &scene.plan.links[link];
    if plan.role != Role::World {
        return Vec::new();
    }
    let parts = scene.library.colliders[plan.content]
        .iter()
        .flat_map(Collider::convex_parts);
    parts
        .map(|(name, _)| format!("{}/collision{{{FIDELITY}={CONVEX_PARTS}}}{name}", plan.path))
        .collect()
}

/// Returns the joints that close loops, by parent link, in the source's order.
fn closing_joints(scene: &Scene<'_>) -> HashMap<LinkId, Vec<JointId>> {
    let mut closing: HashMap<LinkId, Vec<JointId>> = HashMap::new();
    for (id, joint) in scene
        .robot
        .joints()
        .iter()
        .filter(|(_, joint)| joint.closes_loop())
    {
        closing.entry(joint.parent()).or_default().push(id);
    }
    closing
}

/// Returns the mass properties of a link in its frame, if it is a body.
pub(super) fn mass_of(scene: &Scene<'_>, link: LinkId) -> Option<Mass> {
    let plan = &scene.plan.links[link];
    let inertial = scene.robot.links()[plan.content].inertial.as_ref();
    let stand_in =
        || Mass::stand_in(inertial.map_or(Vector3::zeros(), |i| i.origin.translation.vector));
    let mass = || inertial.and_then(Mass::of).unwrap_or_else(stand_in);
    (plan.role == Role::Body).then(|| {
        if plan.content == link {
            mass()
        } else {
            mass().placed(&scene.plan.in_body(plan.content))
        }
    })
}

fn author_body(layer: &mut Layer, path: &str, mass: &Mass) {
    layer
        .over(path)
        .apply(["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
        .attribute("physics:mass", Attribute::float(mass.mass as f32))
        .attribute(
            "physics:centerOfMass",
            Attribute::point3f(vec3f(&mass.centre)),
        )
        .attribute(
            "physics:diagonalInertia",
            Attribute::float3(vec3f(&mass.moments)),
        )
        .attribute("physics:principalAxes", Attribute::quatf(quatf(&mass.axes)));
}

fn inertia_repaired(link: &Link, mass: &Mass) -> Diagnostic {
    let (place, tensor) = link
        .inertial
        .as_ref()
        .map_or((&link.place, Default::default()), |i| (&i.place, i.inertia));
    let list = |moments: &Vector3<f64>| {
        moments
            .as_slice()
            .iter()
            .map(|m| format!("{m:.6e}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (given, written) = (list(&principal_axes(&tensor).0), list(&mass.moments));
    let message = format!(
        "link {:?}: written with the principal moments of inertia ({written}) instead of ({given})",
        link.name()
    );
    let help = "give the link its true inertia tensor; if the moments agree to five digits, nothing need be done";
    Diagnostic::new(&codes::INERTIA_REPAIRED, place.clone(), message).help(help)
}

fn author_joint(scene: &Scene<'_>, layer: &mut Layer, id: JointId, plan: &JointPlan) {
    let joint = &scene.robot.joints()[id];
    let type_name = match joint.kind() {
        JointKind::Fixed => "PhysicsFixedJoint",
        JointKind::Revolute | JointKind::Continuous => "PhysicsRevoluteJoint",
        JointKind::Prismatic => "PhysicsPrismaticJoint",
        JointKind::Planar | JointKind::Floating => "PhysicsJoint",
    };
    let mut prim = layer.def(&plan.path, type_name);
    let (axis, rotation) = joint_axis(&joint.axis);
    // A fixed joint has no axis to align, so its frames keep the numbers of the source.
    let rotation = if joint.kind() == JointKind::Fixed {
        UnitQuaternion::identity()
    } else {
        rotation
    };
    connect(scene, &mut prim, plan, &rotation);
    // An articulation is a tree of joints; UsdPhysics excludes those that close loops.
    if joint.closes_loop() {
        prim.attribute(
            "physics:excludeFromArticulation",
            Attribute::bool(true).uniform(),
        );
    }
    match joint.kind() {
        JointKind::Revolute | JointKind::Continuous => {
            let bounds = joint.bounds();
            prim.attribute("physics:axis", Attribute::token(axis).uniform())
                .attribute(
                    "physics:lowerLimit",
                    Attribute::float(degrees(bounds.lower())),
                )
                .attribute(
                    "physics:upperLimit",
                    Attribute::float(degrees(bounds.upper())),
                );
        }
        JointKind::Prismatic => {
            let bounds = joint.bounds();
            prim.attribute("physics:axis", Attribute::token(axis).uniform())
                .attribute(
                    "physics:lowerLimit",
                    Attribute::float(bounds.lower() as f32),
                )
                .attribute(
                    "physics:upperLimit",
                    Attribute::float(bounds.upper() as f32),
                );
        }
        JointKind::Planar => free_the_plane(&mut prim, axis),
        JointKind::Fixed | JointKind::Floating => {}
    }
    if let Some(drive) = &joint.drive() {
        drives::author(&mut prim, joint, drive);
    }
    if plan.path.rsplit('/').next() != Some(joint.name()) {
        prim.display_name(joint.name());
    }
}

/// Authors the bodies of a joint and its frame in each, turned by `rotation` so that USD's axis is
/// the joint's axis.
fn connect(
    scene: &Scene<'_>,
    prim: &mut Prim<'_>,
    plan: &JointPlan,
    rotation: &UnitQuaternion<f64>,
) {
    let path = |link: LinkId| [&scene.plan.links[link].path];
    if let Some(body0) = plan.body0 {
        prim.relationship("physics:body0", Relationship::to(path(body0)));
    }
    if let Some(body1) = plan.body1 {
        prim.relationship("physics:body1", Relationship::to(path(body1)));
    }
    prim.attribute(
        "physics:localPos0",
        Attribute::point3f(vec3f(&plan.local0.translation.vector)),
    )
    .attribute(
        "physics:localRot0",
        Attribute::quatf(quatf(&(plan.local0.rotation * rotation))),
    )
    .attribute(
        "physics:localPos1",
        Attribute::point3f(vec3f(&plan.local1.translation.vector)),
    )
    .attribute(
        "physics:localRot1",
        Attribute::quatf(quatf(&(plan.local1.rotation * rotation))),
    );
}

/// Authors a planar joint as USD's six-axis joint: free in the plane and about its normal `axis`,
/// otherwise locked (low limit above the high one). Free axes are authored too: engines treat an
/// axis without a limit as locked.
fn free_the_plane(prim: &mut Prim<'_>, axis: &str) {
    for (kind, free_along_axis) in [("trans", false), ("rot", true)] {
        for letter in ["X", "Y", "Z"] {
            let is_free = (letter == axis) == free_along_axis;
            let (low, high) = if is_free {
                (f32::NEG_INFINITY, f32::INFINITY)
            } else {
                (1.0, -1.0)
            };
            let instance = format!("{kind}{letter}");
            prim.apply([format!("PhysicsLimitAPI:{instance}").as_str()])
                .attribute(
                    &format!("limit:{instance}:physics:low"),
                    Attribute::float(low),
                )
                .attribute(
                    &format!("limit:{instance}:physics:high"),
                    Attribute::float(high),
                );
        }
    }
}

/// The distinct contact materials of the robot; `None` is the default one.
struct Contacts {
    scope: String,
    /// The materials with their names, without duplicates; the default comes first if it is used.
    kinds: Vec<(Option<Contact>, String)>,
    /// The index of each material in `kinds`.
    index: HashMap<ContactKey, usize>,
}

/// Key of a contact material, the bits of its numbers: floats don't implement `Hash`.
type ContactKey = Option<(u64, u64, u64)>;

fn contact_key(contact: Option<Contact>) -> ContactKey {
    // Adding 0.0 turns −0.0 into 0.0, so that both have the same key.
    let bits = |number: f64| (number + 0.0).to_bits();
    contact.map(|c| {
        (
            bits(c.static_friction),
            bits(c.dynamic_friction),
            bits(restitution(&c)),
        )
    })
}

impl Contacts {
    fn new(scene: &Scene<'_>) -> Self {
        let mut kinds: Vec<Option<Contact>> = Vec::new();
        let mut seen = HashSet::new();
        for (id, link) in scene.robot.links().iter() {
            if !scene.library.colliders[id].is_empty() && seen.insert(contact_key(link.contact)) {
                kinds.push(link.contact);
            }
        }
        kinds.sort_by_key(Option::is_some);
        // Named after their numbers, so that names are stable when other links change.
        let wanted: Vec<String> = kinds
            .iter()
            .map(|kind| kind.as_ref().map_or("default".to_owned(), contact_name))
            .collect();
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let index = kinds
            .iter()
            .enumerate()
            .map(|(index, kind)| (contact_key(*kind), index))
            .collect();
        let kinds = kinds
            .iter()
            .copied()
            .zip(names::identifiers(&wanted, "contact", &[]))
            .collect();
        Self {
            scope: format!("{}/PhysicsMaterials", scene.plan.root()),
            kinds,
            index,
        }
    }

    fn path(&self, contact: Option<Contact>) -> String {
        let kind = self
            .index
            .get(&contact_key(contact))
            .and_then(|&index| self.kinds.get(index));
        let name = kind.map_or("default", |(_, name)| name);
        child(&self.scope, name)
    }

    fn author(&self, layer: &mut Layer) {
        layer.scope(&self.scope);
        for (kind, name) in &self.kinds {
            let contact = kind.unwrap_or_default();
            let path = format!("{}/{name}", self.scope);
            layer
                .def(&path, "Material")
                .apply(["PhysicsMaterialAPI"])
                .attribute(
                    "physics:staticFriction",
                    Attribute::float(contact.static_friction as f32),
                )
                .attribute(
                    "physics:dynamicFriction",
                    Attribute::float(contact.dynamic_friction as f32),
                )
                .attribute(
                    "physics:restitution",
                    Attribute::float(restitution(&contact) as f32),
                );
        }
    }
}

fn contact_name(contact: &Contact) -> String {
    let bounce = restitution(contact);
    let bounce = if bounce == 0.0 {
        String::new()
    } else {
        format!("_restitution_{bounce}")
    };
    format!(
        "friction_{}_{}{bounce}",
        contact.static_friction, contact.dynamic_friction
    )
}

/// Returns the restitution of a contact; 0 if not given.
fn restitution(contact: &Contact) -> f64 {
    contact.restitution.unwrap_or(0.0)
}

/// Authors one collision group with all colliders of the robot (REP-158 §1.3.3), for scenes to
/// filter by. It names the groups that it does not collide with: none, or itself if no links may
/// collide.
fn author_collision_group(layer: &mut Layer, root: &str, self_collision: SelfCollision) {
    let scope = format!("{root}/CollisionGroups");
    layer.scope(&scope);
    let path = format!("{scope}/robot");
    let mut group = layer.def(&path, "PhysicsCollisionGroup");
    group.relationship(
        "collection:colliders:includes",
        Relationship::prepend([root]),
    );
    let filtered = (self_collision == SelfCollision::None).then_some(path.as_str());
    group.relationship("physics:filteredGroups", Relationship::to(filtered));
}
