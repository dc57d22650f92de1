//! Bodies and colliders that are shapes themselves: each gets its own prim (REP-158 §1.3.1).

use std::collections::HashMap;

use urdf_usd_stage::{Attribute, Properties, Relationship, Value};

use super::instances::GEOMETRY;
use super::notes::Notes;
use super::physics::purpose;
use super::scene::{Node, NodeId, Scene};

/// Simulation engines whose settings of a shape are settings of the collider.
const ENGINES: &[&str] = &[
    "physx", "newton", "mjc", "mujoco", "gazebo", "genesis", "drake", "bullet",
];

/// Attributes that define the form of a primitive shape.
const FORM: &[&str] = &[
    "size",
    "radius",
    "radiusTop",
    "radiusBottom",
    "height",
    "axis",
    "width",
    "length",
    "doubleSided",
];

/// Arrays that define the form of a mesh; values for rendering are not among them.
const MESH: &[&str] = &[
    "points",
    "faceVertexCounts",
    "faceVertexIndices",
    "subdivisionScheme",
    "orientation",
    "extent",
];

/// Returns whether a schema or property is a setting of a simulation engine.
fn is_of_engine(name: &str) -> bool {
    urdf_usd_rep158::vendor(name).is_some_and(|vendor| ENGINES.contains(&vendor))
}

/// Returns whether a schema of an engine is about visible and colliding shapes alike, as `MjcImageableAPI`.
fn is_of_all_shapes(name: &str) -> bool {
    matches!(name, "MjcImageableAPI" | "mjc:group")
}

/// Returns whether a schema describes a collider, and not its body.
fn is_collider_schema(schema: &str) -> bool {
    let is_setting = schema.contains("Collision") || schema.contains("CookedData");
    is_setting && (schema.starts_with("Physics") || is_of_engine(schema))
}

/// Returns whether a property describes a collider, and not its body.
fn is_collider_property(name: &str) -> bool {
    let prefix = name.split(':').next().unwrap_or_default();
    matches!(name, "physics:collisionEnabled" | "physics:approximation")
        || is_of_engine(name) && (prefix.contains("Collision") || prefix.contains("CookedData"))
        || is_contact_binding(name)
}

/// Returns whether a relationship binds a contact material.
fn is_contact_binding(name: &str) -> bool {
    name == "material:binding:physics" || name.starts_with("material:binding:collection:physics:")
}

/// Properties and schemas taken off a prim.
struct Taken {
    attributes: Properties<Attribute>,
    relationships: Properties<Relationship>,
    schemas: Vec<String>,
}

/// Takes the properties and schemas that `is_taken` accepts off a prim.
fn take(node: &mut Node, is_taken: impl Fn(&str) -> bool) -> Taken {
    let attributes = node.attributes.extract_if(.., |name, _| is_taken(name));
    let relationships = node.relationships.extract_if(.., |name, _| is_taken(name));
    let schemas = node.schemas.extract_if(.., |schema| is_taken(schema));
    Taken {
        attributes: attributes.collect(),
        relationships: relationships.collect(),
        schemas: schemas.collect(),
    }
}

/// Moves the properties and schemas that `is_moved` accepts from one prim to another.
fn transfer(scene: &mut Scene, from: NodeId, to: NodeId, is_moved: impl Fn(&str) -> bool) {
    let taken = take(&mut scene.nodes[from], is_moved);
    let node = &mut scene.nodes[to];
    node.attributes.extend(taken.attributes);
    node.relationships.extend(taken.relationships);
    for schema in taken.schemas {
        node.apply(&schema);
    }
    for node in [from, to] {
        let node = &mut scene.nodes[node];
        let is_bound = node
            .relationships
            .keys()
            .any(|name| name.starts_with("material:binding"));
        if !is_bound {
            node.schemas.retain(|schema| schema != "MaterialBindingAPI");
        } else if node
            .relationships
            .keys()
            .any(|name| is_contact_binding(name))
        {
            node.apply("MaterialBindingAPI");
        }
    }
}

/// Makes bodies that are shapes, and colliders that are visible, two prims, and moves colliders of
/// groups to their shapes.
pub fn fix(scene: &mut Scene, notes: &mut Notes) {
    // Groups within groups first.
    for index in scene.nodes.handles().rev() {
        let node = &scene.nodes[index];
        let is_shape = node.is_shape();
        if node.is_body() && is_shape {
            take_shape_out(scene, index, notes);
        } else if node.is_collider() && !is_shape {
            hand_down(scene, index, notes);
        }
    }
    let mut new_paths = HashMap::new();
    for index in scene.nodes.handles() {
        let node = &scene.nodes[index];
        let is_shape = node.is_shape();
        // An inactive prim is neither seen nor collides, and its purpose may be in other variants.
        let is_active_shape = is_shape && node.is_active;
        if node.is_collider() && is_active_shape && purpose(scene, index) != "guide" {
            new_paths.extend(split(scene, index, notes));
        }
    }
    if !new_paths.is_empty() {
        retarget(scene, &new_paths);
    }
}

/// Makes a body that is a shape an Xform, with the shape below it. The body keeps its path, for joints
/// and filtered pairs, and loses the scale of the shape.
fn take_shape_out(scene: &mut Scene, index: NodeId, notes: &mut Notes) {
    let name = scene.free_name(index, GEOMETRY);
    let node = &scene.nodes[index];
    let (path, type_name, source) = (node.path.clone(), node.type_name.clone(), node.source);
    let subsets: Vec<NodeId> = node
        .children
        .iter()
        .copied()
        .filter(|&child| scene.nodes[child].type_name == "GeomSubset")
        .collect();
    // Prims below the body inherit constant primvars from it.
    let is_inherited = |scene: &Scene, name: &str| {
        let is_constant = |name: &str| {
            let attribute = scene.nodes[index].attributes.get(name);
            let interpolation = attribute.and_then(|a| a.metadata.get("interpolation"));
            let interpolation = interpolation.and_then(urdf_usd_stage::text);
            interpolation.is_none_or(|interpolation| interpolation == "constant")
        };
        name.starts_with("primvars:") && is_constant(name.trim_end_matches(":indices"))
    };
    let kept: Vec<String> = scene.nodes[index]
        .attributes
        .keys()
        .filter(|name| is_inherited(scene, name))
        .cloned()
        .collect();
    let shape = scene.add(index, &name, &type_name);
    scene.nodes[shape].source = source;
    "Xform".clone_into(&mut scene.nodes[index].type_name);
    transfer(scene, index, shape, |name| {
        let is_form = FORM.contains(&name)
            || name == "purpose"
            || super::layers::is_heavy(name)
            || name.starts_with("primvars:");
        let is_collider = is_collider_schema(name) || is_collider_property(name);
        is_form && kept.iter().all(|kept| kept != name) || is_collider || is_of_all_shapes(name)
    });
    move_scale(scene, index, shape);
    for subset in subsets {
        move_below(scene, subset, shape);
    }
    notes.changed(
        path,
        "made the body that is a shape an Xform, with the shape as `geometry` below it",
    );
}

/// Moves the scale operation of a body to the shape below it.
fn move_scale(scene: &mut Scene, body: NodeId, shape: NodeId) {
    let node = &mut scene.nodes[body];
    let Some(scale) = node.attributes.remove("xformOp:scale") else {
        return;
    };
    node.set_uniform(
        "xformOpOrder",
        "token[]",
        Value::TokenVec(vec!["xformOp:translate".into(), "xformOp:orient".into()]),
    );
    let node = &mut scene.nodes[shape];
    let zero = openusd::gf::Vec3d {
        x: 0.0,
        y: 0.0,
        z: 0.0,
    };
    let (type_name, still) = super::frames::rotation(&nalgebra::UnitQuaternion::identity());
    node.set("xformOp:translate", "double3", Value::Vec3d(zero));
    node.set("xformOp:orient", type_name, still);
    node.attributes.insert("xformOp:scale".to_owned(), scale);
    node.set_uniform(
        "xformOpOrder",
        "token[]",
        Value::TokenVec(vec![
            "xformOp:translate".into(),
            "xformOp:orient".into(),
            "xformOp:scale".into(),
        ]),
    );
}

/// Moves a prim below another one, with all that refers to it.
fn move_below(scene: &mut Scene, moved: NodeId, parent: NodeId) {
    let from = scene.nodes[moved].path.clone();
    let to = format!("{}/{}", scene.nodes[parent].path, scene.nodes[moved].name());
    scene.reparent(moved, parent);
    for node in scene.nodes.values_mut() {
        node.relocate(&from, &to);
    }
    scene.index_paths();
}

/// Moves the settings of a collider that is a group of shapes to the shapes, as PhysX reads them.
fn hand_down(scene: &mut Scene, index: NodeId, notes: &mut Notes) {
    let shapes: Vec<NodeId> = scene
        .subtree(index)
        .into_iter()
        .filter(|&below| {
            let node = &scene.nodes[below];
            let of_same_body = scene
                .upwards(below)
                .take_while(|&above| above != index)
                .all(|above| !scene.nodes[above].is_body());
            node.is_shape() && of_same_body
        })
        .collect();
    let path = scene.nodes[index].path.clone();
    if shapes.is_empty() {
        notes.left(
            path,
            "the collider has no shape, nor a shape below it",
            "apply PhysicsCollisionAPI to shapes",
        );
        return;
    }
    let is_moved = |name: &str| {
        (is_collider_schema(name) || is_collider_property(name)) && !is_contact_binding(name)
    };
    let taken = take(&mut scene.nodes[index], is_moved);
    for shape in shapes {
        let node = &mut scene.nodes[shape];
        // The nearest collider counts.
        if node.is_collider() {
            continue;
        }
        for schema in &taken.schemas {
            node.apply(schema);
        }
        // Settings of the shape are stronger.
        for (name, attribute) in &taken.attributes {
            let attribute = attribute.clone();
            node.attributes.entry(name.clone()).or_insert(attribute);
        }
        for (name, relationship) in &taken.relationships {
            let relationship = relationship.clone();
            node.relationships
                .entry(name.clone())
                .or_insert(relationship);
        }
    }
    notes.changed(
        path,
        "moved the collider from the group to the shapes below it",
    );
}

/// Splits a visible collider into a visual shape and a collider with the purpose `guide`.
///
/// Returns the former path of the collider, and its new one.
fn split(scene: &mut Scene, index: NodeId, notes: &mut Notes) -> Option<(String, String)> {
    let Some(parent) = scene.nodes[index].parent else {
        notes.left(
            &scene.nodes[index].path,
            "the root prim is a visible collider",
            "put the shape below the root prim",
        );
        return None;
    };
    let name = scene.free_name(parent, &format!("{}_collision", scene.nodes[index].name()));
    let type_name = scene.nodes[index].type_name.clone();
    let copy = scene.add(parent, &name, &type_name);
    let node = &scene.nodes[index];
    // A binding for all purposes to a material with physics is one for physics, too.
    let contact = node
        .targets("material:binding")
        .first()
        .filter(|_| node.targets("material:binding:physics").is_empty())
        .filter(|path| {
            let material = scene.at(path);
            material.is_some_and(|material| scene.nodes[material].has("PhysicsMaterialAPI"))
        })
        .cloned();
    let is_shared = |name: &str| {
        FORM.contains(&name)
            || MESH.contains(&name)
            || name == "visibility"
            || name.starts_with("xformOp")
            || is_of_all_shapes(name)
    };
    let shared: Vec<_> = node
        .attributes
        .iter()
        .filter(|(name, _)| is_shared(name))
        .map(|(name, attribute)| (name.clone(), attribute.clone()))
        .collect();
    let shared_schemas: Vec<String> = node
        .schemas
        .iter()
        .filter(|schema| is_of_all_shapes(schema))
        .cloned()
        .collect();
    let (source, old_path) = (node.source, node.path.clone());
    let collider = &mut scene.nodes[copy];
    collider.source = source;
    collider.attributes.extend(shared);
    if let Some(contact) = contact {
        collider.set_target("material:binding:physics", contact);
    }
    collider.set_uniform("purpose", "token", Value::Token("guide".into()));
    transfer(scene, index, copy, |name| {
        let is_physics = name.starts_with("Physics") || name.starts_with("physics:");
        (is_physics || is_contact_binding(name) || is_of_engine(name)) && !is_of_all_shapes(name)
    });
    for schema in shared_schemas {
        scene.nodes[copy].apply(&schema);
    }
    let new_path = scene.nodes[copy].path.clone();
    notes.changed(
        &old_path,
        "split the visible collider into two prims, NAME and NAME_collision",
    );
    Some((old_path, new_path))
}

/// Replaces the paths of colliders that have been split in all targets, in one pass: a scene may have
/// thousands.
fn retarget(scene: &mut Scene, new_paths: &HashMap<String, String>) {
    for node in scene.nodes.values_mut() {
        for (name, relationship) in &mut node.relationships {
            // These mean the collider, whose path is new; all other targets mean the visual shape.
            if name.contains("filteredPairs")
                || name.starts_with("collection:") && name.contains("collider")
            {
                for target in &mut relationship.targets {
                    if let Some(new_path) = new_paths.get(target) {
                        target.clone_from(new_path);
                    }
                }
            }
        }
    }
}
