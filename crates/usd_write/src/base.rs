//! `base.usda`: links as Xforms, frames, and the scopes of visuals and colliders with their
//! payloads (REP-158 §1.2, §1.3.2).

use std::collections::BTreeSet;

use super::instances::author_primitive;
use super::library::{Collider, ColliderForm, Instance, Look, Visual};
use super::plan::CLASSES;
use super::{Scene, child};
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
    let mut choices = Vec::new();
    for &link in scene.robot.tree().order() {
        if scene.is_over("base.usda") {
            break;
        }
        choices.extend(author_link(scene, &mut layer, link).into_iter().flatten());
    }
    author_selections(&mut layer, &root, &choices);
    if scene.is_over("base.usda") {
        return layer;
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

/// Authors a link with its visuals and colliders. Returns the variant sets of their scopes.
fn author_link(scene: &Scene<'_>, layer: &mut Layer, link: LinkId) -> [Option<Choice>; 2] {
    let plan = &scene.plan.links[link];
    if plan.role != Role::World {
        let name = scene.robot.links()[link].name();
        let mut prim = layer.def(&plan.path, "Xform");
        if plan.path.rsplit('/').next() != Some(name) {
            prim.display_name(name);
        }
        place(&mut prim, &plan.local, None);
    }
    let visuals = &scene.library.visuals[link];
    let colliders = &scene.library.colliders[link];
    let scope = child(&plan.path, "visual");
    let of_visuals = (!visuals.is_empty()).then(|| author_visuals(scene, layer, &scope, visuals));
    let of_colliders =
        (!colliders.is_empty()).then(|| author_colliders(scene, layer, link, colliders));
    [of_visuals.flatten(), of_colliders.flatten()]
}

/// A variant set of the scope of a link's visuals or colliders.
struct Choice {
    scope: String,
    set: &'static str,
    variants: Vec<&'static str>,
}

impl Choice {
    /// Authors the set with its variants, empty and without a selection.
    fn author(
        layer: &mut Layer,
        scope: &str,
        set: &'static str,
        variants: Vec<&'static str>,
    ) -> Self {
        layer.over(scope).variant_set(set, "");
        for variant in &variants {
            layer.over(&format!("{scope}{{{set}={variant}}}"));
        }
        Self {
            scope: scope.to_owned(),
            set,
            variants,
        }
    }

    /// Selects a variant of the set; `opinion` is a path that holds opinions about the scope.
    fn select(&self, layer: &mut Layer, opinion: &str, variant: &str) {
        layer.over(opinion).select(self.set, variant);
    }
}

/// Authors the default selections of the variant sets, and for sets that several links have one on the
/// default prim, with which a variant is selected for the whole robot.
///
/// The links' selections are then opinions in the variants of that set: a local selection of a link would
/// be stronger than any of them. So a scene or layer that selects a variant for one link, where its
/// selection is local, still takes precedence for that link.
fn author_selections(layer: &mut Layer, root: &str, choices: &[Choice]) {
    for (set, default) in [(REPRESENTATION, DEFAULT_TIER), (FIDELITY, HULL)] {
        let of_set: Vec<&Choice> = choices.iter().filter(|choice| choice.set == set).collect();
        if let [only] = of_set[..] {
            only.select(layer, &only.scope, default);
        }
        if of_set.len() < 2 {
            continue;
        }
        layer.over(root).variant_set(set, default);
        let variants: BTreeSet<&str> = of_set
            .iter()
            .flat_map(|choice| choice.variants.iter().copied())
            .collect();
        for variant in variants {
            let whole = format!("{root}{{{set}={variant}}}");
            for choice in &of_set {
                let inside = choice.scope.strip_prefix(root).unwrap_or_default();
                let opinion = format!("{whole}{}", inside.trim_start_matches('/'));
                // A link without spheres keeps its default colliders when others collide as spheres.
                let has = choice.variants.contains(&variant);
                choice.select(layer, &opinion, if has { variant } else { default });
            }
        }
    }
}

/// Authors the visuals of a link. A visual whose looks differ between tiers is authored in the
/// variants, with the same name in each. Returns the variant set, if any.
fn author_visuals(
    scene: &Scene<'_>,
    layer: &mut Layer,
    scope: &str,
    visuals: &[Visual],
) -> Option<Choice> {
    layer.scope(scope);
    let choice = visuals
        .iter()
        .any(Visual::has_tiers)
        .then(|| Choice::author(layer, scope, REPRESENTATION, TIERS.to_vec()));
    for visual in visuals {
        if !visual.has_tiers() {
            author_visual(
                scene,
                layer,
                &child(scope, &visual.name),
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
    choice
}

fn author_visual(scene: &Scene<'_>, layer: &mut Layer, path: &str, visual: &Visual, look: Look) {
    let instance = &scene.library.instances[look.instance];
    let material = &scene.library.materials[look.material].name;
    let mut prim = layer.def(path, "Xform");
    prim.apply(["MaterialBindingAPI"])
        .payload("./instances.usda", &child("/Instances", &instance.name));
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
        Relationship::to([child(&child(&scene.plan.root(), "Materials"), material)]),
    );
    place(&mut prim, &visual.pose, visual.scale.as_ref());
}

/// Authors the colliders of a link in variants of decreasing fidelity. If the link has planner
/// spheres they form another variant, without any other collider. Returns the variant set, if any.
fn author_colliders(
    scene: &Scene<'_>,
    layer: &mut Layer,
    link: LinkId,
    colliders: &[Collider],
) -> Option<Choice> {
    let scope = &child(&scene.plan.links[link].path, "collision");
    layer.scope(scope);
    let variant = |name: &str| format!("{scope}{{{FIDELITY}={name}}}");
    let is_mesh = |collider: &&Collider| matches!(collider.form, ColliderForm::Mesh { .. });
    let spheres = planning::colliders(scene.robot.planning(), link);
    let is_decomposed = scene.library.is_decomposed;
    let choice = (colliders.iter().any(|c| is_mesh(&c)) || !spheres.is_empty()).then(|| {
        // The default selection has to name an existing variant, even if only spheres need the set.
        // A variant that is chosen for the whole robot has to exist in all scopes.
        let mut variants = vec![HULL, TRIMESH];
        variants.extend(is_decomposed.then_some(CONVEX_PARTS));
        variants.extend((!spheres.is_empty()).then_some(SPHERES));
        Choice::author(layer, scope, FIDELITY, variants)
    });
    for collider in colliders {
        match &collider.form {
            ColliderForm::Primitive(geometry) => {
                let mut prim = layer.def(&child(scope, &collider.name), "");
                let shape_scale = author_primitive(&mut prim, geometry);
                finish_collider(&mut prim, collider, shape_scale.as_ref());
            }
            ColliderForm::Mesh { convex_parts, .. } => {
                if !convex_parts.is_empty() {
                    define_inactive(
                        layer,
                        &format!("{}{}", variant(CONVEX_PARTS), collider.name),
                    );
                }
                for mesh in collider.meshes(is_decomposed) {
                    let mut prim = layer.def(&mesh.path(scope), "Mesh");
                    prim.payload(
                        "./geometries.usdc",
                        &child("/Geometries", &scene.library.meshes[mesh.mesh].name),
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
    choice
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
