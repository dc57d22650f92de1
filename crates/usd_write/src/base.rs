//! `base.usda`: links as Xforms, frames, and the scopes of visuals and colliders with their
//! payloads (REP-158 §1.2, §1.3.2).

use super::Scene;
use super::instances::author_primitive;
use super::library::{Collider, ColliderForm, Instance, Look, Visual};
use super::plan::CLASSES;
use super::{lights, planning, sensors};
use urdf_usd_robot::{LinkId, Role};
use urdf_usd_usd_author::layout::{
    CONVEX_PARTS, DEFAULT_TIER, FIDELITY, HULL, REPRESENTATION, SPHERES, TIERS, TRIMESH,
};
use urdf_usd_usd_author::numbers::place;
use urdf_usd_usd_author::{Attribute, Layer, Prim, Relationship, string};

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        "Links as Xforms, frames, visual and collision scopes",
    );
    layer.def(&root, "Xform");
    for &link in scene.robot.tree().order() {
        if scene.is_over("base.usda") {
            return layer;
        }
        author_link(scene, &mut layer, link);
    }
    author_classes(scene, &mut layer);
    sensors::author(scene, &mut layer);
    lights::author(scene, &mut layer);
    if !scene.library.materials.is_empty() {
        layer
            .scope(&format!("{root}/Materials"))
            .reference("./materials.usda", "/Materials");
    }
    layer
}

/// Authors a class for each shared instance, empty, so that a scene can override all its copies at
/// once, which are instances and can't be edited one by one (REP-158 §1.2.3).
fn author_classes(scene: &Scene<'_>, layer: &mut Layer) {
    for instance in scene.library.instances.values().filter(|one| one.uses > 1) {
        layer.class(&format!("{}/{CLASSES}", scene.plan.root()), "Scope");
        layer.class(&class_of(scene, instance), "Xform");
    }
}

fn class_of(scene: &Scene<'_>, instance: &Instance) -> String {
    format!("{}/{CLASSES}/{}", scene.plan.root(), instance.name)
}

fn author_link(scene: &Scene<'_>, layer: &mut Layer, link: LinkId) {
    let plan = &scene.plan.links[link];
    if plan.role != Role::World {
        let name = scene.robot.links()[link].name();
        let mut prim = layer.def(&plan.path, "Xform");
        if !plan.path.ends_with(&format!("/{name}")) {
            prim.display_name(name);
        }
        place(&mut prim, &plan.local, None);
    }
    let visuals = &scene.library.visuals[link];
    if !visuals.is_empty() {
        author_visuals(scene, layer, &format!("{}/visual", plan.path), visuals);
    }
    let colliders = &scene.library.colliders[link];
    if !colliders.is_empty() {
        author_colliders(scene, layer, link, colliders);
    }
}

/// Authors the visuals of a link. A visual whose looks differ between tiers is authored in the
/// variants, with the same name in each.
fn author_visuals(scene: &Scene<'_>, layer: &mut Layer, scope: &str, visuals: &[Visual]) {
    layer.scope(scope);
    if visuals.iter().any(Visual::has_tiers) {
        layer.over(scope).variant_set(REPRESENTATION, DEFAULT_TIER);
    }
    for visual in visuals {
        if !visual.has_tiers() {
            author_visual(
                scene,
                layer,
                &format!("{scope}/{}", visual.name),
                visual,
                visual.default_look(),
            );
            continue;
        }
        for (tier, look) in TIERS.into_iter().zip(visual.looks) {
            let path = format!("{scope}{{{REPRESENTATION}={tier}}}{}", visual.name);
            author_visual(scene, layer, &path, visual, look);
        }
    }
}

fn author_visual(scene: &Scene<'_>, layer: &mut Layer, path: &str, visual: &Visual, look: Look) {
    let instance = &scene.library.instances[look.instance];
    let material = &scene.library.materials[look.material].name;
    let mut prim = layer.def(path, "Xform");
    prim.apply(["MaterialBindingAPI"])
        .payload("./instances.usda", &format!("/Instances/{}", instance.name));
    if instance.uses > 1 {
        prim.instanceable(true).inherit(&class_of(scene, instance));
    }
    if let Some(name) = &visual.display_name {
        prim.display_name(name);
    }
    if let Some(mesh) = &visual.stand_in_for {
        prim.custom_data([("standInFor", string(mesh))]);
    }
    prim.relationship(
        "material:binding",
        Relationship::to([format!("{}/Materials/{material}", scene.plan.root())]),
    );
    place(&mut prim, &visual.pose, visual.scale.as_ref());
}

/// Authors the colliders of a link in variants of decreasing fidelity. If the link has planner
/// spheres they form another variant, without any other collider.
fn author_colliders(scene: &Scene<'_>, layer: &mut Layer, link: LinkId, colliders: &[Collider]) {
    let scope = &format!("{}/collision", scene.plan.links[link].path);
    layer.scope(scope);
    let variant = |name: &str| format!("{scope}{{{FIDELITY}={name}}}");
    let is_mesh = |collider: &&Collider| matches!(collider.form, ColliderForm::Mesh { .. });
    let spheres = planning::colliders(scene.robot.planning(), link);
    let is_decomposed = scene.library.is_decomposed;
    if colliders.iter().any(|c| is_mesh(&c)) || !spheres.is_empty() {
        layer.over(scope).variant_set(FIDELITY, HULL);
        // The default selection has to name an existing variant, even if only spheres need the set.
        // A variant that is chosen for the whole robot has to exist in all scopes.
        let parts = is_decomposed.then_some(CONVEX_PARTS);
        std::iter::once(HULL)
            .chain(parts)
            .chain([TRIMESH])
            .for_each(|name| drop(layer.over(&variant(name))));
    }
    for collider in colliders {
        match &collider.form {
            ColliderForm::Primitive(geometry) => {
                let mut prim = layer.def(&format!("{scope}/{}", collider.name), "");
                let shape_scale = author_primitive(&mut prim, geometry);
                finish_collider(&mut prim, collider, shape_scale.as_ref());
            }
            ColliderForm::Mesh {
                convex_hull,
                trimesh,
                convex_parts,
            } => {
                let mut shapes = vec![
                    (HULL, collider.name.clone(), *convex_hull),
                    (TRIMESH, collider.name.clone(), *trimesh),
                ];
                if is_decomposed && convex_parts.is_empty() {
                    shapes.push((CONVEX_PARTS, collider.name.clone(), *convex_hull));
                }
                if !convex_parts.is_empty() {
                    define_inactive(
                        layer,
                        &format!("{}{}", variant(CONVEX_PARTS), collider.name),
                    );
                }
                let parts = collider.convex_parts();
                shapes.extend(parts.map(|(name, mesh)| (CONVEX_PARTS, name, mesh)));
                for (in_variant, name, mesh) in shapes {
                    let mut prim = layer.def(&format!("{}{name}", variant(in_variant)), "Mesh");
                    prim.payload(
                        "./geometries.usdc",
                        &format!("/Geometries/{}", scene.library.meshes[mesh].name),
                    );
                    finish_collider(&mut prim, collider, collider.scale.as_ref());
                }
            }
        }
    }
    if !spheres.is_empty() {
        // Primitives are outside of the variants, so this variant has to deactivate them.
        let variant = variant(SPHERES);
        for collider in colliders {
            let path = format!("{variant}{}", collider.name);
            if is_mesh(&collider) {
                define_inactive(layer, &path);
            } else {
                layer.over(&path).active(false);
            }
        }
        for (name, sphere) in spheres {
            planning::author_sphere(&mut layer.def(&format!("{variant}{name}"), ""), sphere);
        }
    }
}

/// Defines a collider, which other layers author properties on, in a variant without its shape: it
/// would otherwise be an undefined prim there.
fn define_inactive(layer: &mut Layer, path: &str) {
    layer.def(path, "Mesh").active(false);
}

fn finish_collider(
    prim: &mut Prim<'_>,
    collider: &Collider,
    scale: Option<&nalgebra::Vector3<f64>>,
) {
    prim.attribute("purpose", Attribute::token("guide").uniform());
    if let Some(name) = &collider.display_name {
        prim.display_name(name);
    }
    place(prim, &collider.pose, scale);
}
