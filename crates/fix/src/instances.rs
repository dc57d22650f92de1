//! Instancing of repeated geometry (REP-158 §3.5).
//!
//! Instances of the source stay instances if they contain only visible shapes. A repeated mesh
//! becomes an Xform in its place, with the mesh below it. The contents of instances move to a library
//! without duplicates, with the materials that are bound in them: a binding cannot target prims
//! outside of the prototype.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use urdf_usd_robot::names;
use urdf_usd_stage::{PrimId, Stage, Value};

use super::layers::is_separate;
use super::notes::Notes;
use super::physics::purpose;
use super::scene::{Node, NodeId, Origin, Scene};

/// Name of the mesh below an instance that was a mesh.
pub const GEOMETRY: &str = "geometry";

/// The library of prototypes and their materials.
pub struct Library {
    /// The prototypes, by name.
    pub prototypes: Shelf,
    /// The materials of prototypes, by name.
    pub materials: Shelf,
}

/// Prims below a scope, without duplicates.
pub struct Shelf {
    pub scene: Scene,
    by_hash: HashMap<u64, Vec<String>>,
}

impl Library {
    /// Creates an empty library; `source` is any prim of the asset.
    fn new(source: PrimId) -> Self {
        Self {
            prototypes: Shelf::new("Instances", source),
            materials: Shelf::new("Materials", source),
        }
    }
}

/// Marks the instances of the stage that stay instances.
pub fn mark(scene: &mut Scene, stage: &Stage, notes: &mut Notes) {
    for index in scene.in_order() {
        let node = &scene.nodes[index];
        let is_instance = stage
            .prim_at(&node.path)
            .is_some_and(|prim| prim.is_instance);
        let is_group =
            matches!(node.type_name.as_str(), "" | "Xform" | "Scope") && node.parent.is_some();
        if !is_instance
            || !is_group
            || scene
                .upwards(index)
                .any(|above| scene.nodes[above].is_instance)
        {
            continue;
        }
        let inside = scene.subtree(index);
        if !inside.iter().any(|&index| scene.nodes[index].has_form()) {
            continue;
        }
        if is_excluded(&scene.nodes[index])
            || !inside
                .iter()
                .skip(1)
                .all(|&index| is_visual_only(&scene.nodes[index]))
            || has_outside_targets(scene, index)
        {
            notes.changed(
                &scene.nodes[index].path,
                "expanded the instance, which contains more than visible shapes",
            );
        } else {
            let node = &mut scene.nodes[index];
            node.is_instance = true;
            if node.type_name.is_empty() {
                // The type of its prototype.
                "Xform".clone_into(&mut node.type_name);
            }
        }
    }
}

/// Whether a prim must not be instanced: a body, joint, collider or ROS prim.
fn is_excluded(node: &Node) -> bool {
    node.is_body()
        || node.is_joint()
        || node.is_collider()
        || node.schemas.iter().any(|schema| schema.starts_with("Ros"))
}

/// Whether a prim is only visual, and all of its opinions belong in one layer.
fn is_visual_only(node: &Node) -> bool {
    let is_plain = node.has_form()
        || matches!(
            node.type_name.as_str(),
            "" | "Xform" | "Scope" | "GeomSubset" | "Material" | "Shader" | "NodeGraph"
        );
    let mut names = node
        .schemas
        .iter()
        .chain(node.attributes.keys())
        .chain(node.relationships.keys());
    is_plain && !names.any(|name| is_separate(name))
}

/// Whether a descendant targets a prim outside of `top`, except through a material binding.
fn has_outside_targets(scene: &Scene, top: NodeId) -> bool {
    let path = &scene.nodes[top].path;
    scene.subtree(top).into_iter().skip(1).any(|index| {
        let node = &scene.nodes[index];
        let mut sources = node
            .attributes
            .values()
            .flat_map(|attribute| &attribute.connections);
        let is_outside = |name: &str, target: &str| {
            let material = scene.at(target).filter(|_| is_binding(name));
            strip_path(target, path).is_none()
                && !material.is_some_and(|material| is_self_contained_material(scene, material))
        };
        sources.any(|source| strip_path(source, path).is_none())
            || node.relationships.iter().any(|(name, relationship)| {
                relationship
                    .targets
                    .iter()
                    .any(|target| is_outside(name, target))
            })
    })
}

/// Whether a prim is a material without targets outside of itself.
fn is_self_contained_material(scene: &Scene, material: NodeId) -> bool {
    let Node {
        path, type_name, ..
    } = &scene.nodes[material];
    let has_outside_targets = |index: NodeId| {
        scene.nodes[index]
            .targets_and_sources()
            .any(|target| strip_path(target, path).is_none())
    };
    type_name == "Material" && !scene.subtree(material).into_iter().any(has_outside_targets)
}

fn is_binding(name: &str) -> bool {
    name == "material:binding"
        || name == "material:binding:full"
        || name == "material:binding:preview"
}

/// Returns the rest of a path at or below `above`, or of a property of these.
fn strip_path<'a>(path: &'a str, above: &str) -> Option<&'a str> {
    path.strip_prefix(above)
        .filter(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
}

/// Moves the contents of instances, and repeated meshes, into a library.
///
/// Takes the scenes of all variants, as a mesh that is repeated in one may be part of others too.
/// `source` is any prim of the asset.
pub fn share(source: PrimId, mut scenes: Vec<(&mut Scene, &mut Notes)>) -> Library {
    let mut library = Library::new(source);
    let mut repeated: HashSet<u64> = HashSet::new();
    let mut meshes: Vec<Vec<(NodeId, u64)>> = Vec::new();
    for (scene, _) in &scenes {
        let found = candidates(scene);
        let mut seen = HashSet::new();
        // Hashes suffice here: a collision only adds a prototype with one instance, because
        // `Shelf::insert` compares the contents.
        repeated.extend(
            found
                .iter()
                .map(|(_, hash)| *hash)
                .filter(|hash| !seen.insert(*hash)),
        );
        meshes.push(found);
    }
    for ((scene, notes), meshes) in scenes.iter_mut().zip(meshes) {
        for (mesh, _) in meshes
            .into_iter()
            .filter(|(_, hash)| repeated.contains(hash))
        {
            wrap_mesh(scene, mesh);
            notes.changed(
                &scene.nodes[mesh].path,
                format!(
                    "replaced the repeated mesh by an instance, with the mesh below it as {GEOMETRY}"
                ),
            );
        }
        for index in scene.in_order() {
            if scene.nodes[index].is_instance {
                let content = prototype_content(scene, index, &mut library.materials);
                let name = library
                    .prototypes
                    .insert(content, scene.nodes[index].name());
                scene.nodes[index].origin = Some(Origin::Prototype(name));
            }
        }
        for node in scene.nodes.values_mut().filter(|node| node.is_instance) {
            node.children.clear();
        }
        // This drops the nodes below instances, which the library has now.
        scene.arrange(scene.in_order());
    }
    library
}

/// Returns the meshes that may be instanced, with hashes of their contents.
fn candidates(scene: &Scene) -> Vec<(NodeId, u64)> {
    let targets: BTreeSet<&str> = scene
        .nodes
        .values()
        .flat_map(Node::targets_and_sources)
        .collect();
    // The targets are sorted, so that those below a path are consecutive.
    let is_named = |path: &str| {
        targets
            .range(format!("{path}/").as_str()..)
            .next()
            .is_some_and(|target| target.starts_with(&format!("{path}/")))
    };
    let mut found = Vec::new();
    for index in scene.in_order() {
        let node = &scene.nodes[index];
        let is_mesh = node.type_name == "Mesh"
            && node.parent.is_some()
            && node.is_active
            && node.value("points").is_some();
        if !is_mesh
            || is_excluded(node)
            || node.schemas.iter().any(|schema| schema.starts_with("Skel"))
        {
            continue;
        }
        let is_shared = |above: NodeId| {
            let above = &scene.nodes[above];
            above.is_instance || matches!(above.type_name.as_str(), "PointInstancer" | "Material")
        };
        let is_subset = |&child: &NodeId| {
            let child = &scene.nodes[child];
            child.type_name == "GeomSubset"
                && child.children.is_empty()
                && is_visual_only(child)
                && child.name() != GEOMETRY
        };
        if purpose(scene, index) == "guide"
            || scene.upwards(index).any(is_shared)
            || !node.children.iter().all(is_subset)
            || is_named(&node.path)
            || has_outside_targets(scene, index)
        {
            continue;
        }
        let mut hasher = DefaultHasher::new();
        for (name, attribute) in node
            .attributes
            .iter()
            .filter(|(name, _)| is_shape_attribute(node, name))
        {
            (name, &attribute.type_name).hash(&mut hasher);
            hash_value(attribute.value.as_deref(), &mut hasher);
        }
        for &child in &node.children {
            let child = &scene.nodes[child];
            child.name().hash(&mut hasher);
            for (name, attribute) in &child.attributes {
                name.hash(&mut hasher);
                hash_value(attribute.value.as_deref(), &mut hasher);
            }
            child
                .relationships
                .iter()
                .for_each(|(name, relationship)| (name, &relationship.targets).hash(&mut hasher));
        }
        found.push((index, hasher.finish()));
    }
    found
}

/// Whether an attribute belongs to the shape of a mesh, and not to its instance.
///
/// Constant primvars are inherited, so that instances of one shape may differ in them.
fn is_shape_attribute(node: &Node, name: &str) -> bool {
    if let Some(primvar) = name.strip_prefix("primvars:") {
        let primvar = primvar.strip_suffix(":indices").unwrap_or(primvar);
        let values = node.attributes.get(&format!("primvars:{primvar}"));
        let interpolation = values
            .and_then(|values| values.metadata.get("interpolation"))
            .and_then(urdf_usd_stage::text);
        return !matches!(interpolation, None | Some("constant"));
    }
    super::layers::is_heavy(name) || name == "doubleSided" || name.starts_with("subsetFamily:")
}

/// Replaces a mesh by an Xform with the mesh below it.
fn wrap_mesh(scene: &mut Scene, index: NodeId) {
    let path = scene.nodes[index].path.clone();
    let parts: Vec<NodeId> = scene.subtree(index).into_iter().skip(1).collect();
    let shape_attributes = {
        let node = &scene.nodes[index];
        node.attributes
            .keys()
            .filter(|name| is_shape_attribute(node, name))
            .cloned()
            .collect::<HashSet<_>>()
    };
    let children = std::mem::take(&mut scene.nodes[index].children);
    let mesh = scene.add(index, GEOMETRY, "Mesh");
    for part in parts {
        let new_path = format!("{path}/{GEOMETRY}");
        scene.nodes[part].relocate(&path, &new_path);
    }
    for &child in &children {
        scene.nodes[child].parent = Some(mesh);
    }
    let node = &mut scene.nodes[index];
    "Xform".clone_into(&mut node.type_name);
    node.is_instance = true;
    let attributes = node
        .attributes
        .extract_if(.., |name, _| shape_attributes.contains(name))
        .collect();
    scene.nodes[mesh].attributes = attributes;
    scene.nodes[mesh].children = children;
}

/// Returns the contents of an instance, by relative paths, with the materials that are bound in it.
fn prototype_content(scene: &Scene, top: NodeId, materials: &mut Shelf) -> Vec<Node> {
    let path = &scene.nodes[top].path;
    let mut nodes = vec![Node::new(String::new(), "Xform", scene.nodes[top].source)];
    nodes.extend(scene.subtree(top).into_iter().skip(1).map(|index| Node {
        is_instance: false,
        ..scene.nodes[index].clone()
    }));
    let outside: BTreeSet<String> = nodes
        .iter()
        .flat_map(|node| {
            node.relationships
                .iter()
                .filter(|(name, _)| is_binding(name))
        })
        .flat_map(|(_, relationship)| relationship.targets.clone())
        .filter(|target| strip_path(target, path).is_none())
        .collect();
    let mut known: HashSet<String> = nodes.iter().map(|node| node.path.clone()).collect();
    for target in outside {
        let Some(material) = scene.at(&target) else {
            continue;
        };
        let scope = format!("{path}/Materials");
        if known.insert(scope.clone()) {
            nodes.push(Node::new(scope.clone(), "Scope", scene.nodes[top].source));
        }
        let name = scene.nodes[material].name();
        let name = names::unique(name, |name| known.insert(format!("{scope}/{name}")));
        let inside = format!("{scope}/{name}");
        for node in nodes.iter_mut() {
            node.redirect(&target, &inside);
        }
        let parts = scene.subtree(material).into_iter().map(|part| {
            let mut node = scene.nodes[part].clone();
            node.relocate(&target, &inside);
            node
        });
        // Keep the order: parents before their children, and these before the next sibling.
        let last = nodes
            .iter()
            .rposition(|node| strip_path(&node.path, &scope).is_some())
            .unwrap_or_default();
        nodes.splice(last + 1..last + 1, parts.collect::<Vec<_>>());
    }
    nodes.iter_mut().for_each(|node| node.relocate(path, ""));
    // Move materials to their own library.
    let mut rest: Vec<Node> = Vec::new();
    let mut nodes = nodes.into_iter().peekable();
    while let Some(node) = nodes.next() {
        if node.type_name != "Material" {
            rest.push(node);
            continue;
        }
        let (path, source) = (node.path.clone(), node.source);
        let mut material = vec![node];
        while let Some(part) = nodes.next_if(|part| strip_path(&part.path, &path).is_some()) {
            material.push(part);
        }
        material
            .iter_mut()
            .for_each(|node| node.relocate(&path, ""));
        let mut node = Node::new(path, "Material", source);
        let name = materials.insert(material, node.name());
        node.origin = Some(Origin::Material(name));
        rest.push(node);
    }
    rest
}

impl Shelf {
    fn new(root: &str, source: PrimId) -> Self {
        Self {
            scene: Scene::new(Node::new(format!("/{root}"), "Scope", source)),
            by_hash: HashMap::new(),
        }
    }

    /// Adds a content unless an equal one exists, and returns its name. Paths are relative to its first
    /// prim.
    fn insert(&mut self, mut content: Vec<Node>, wanted: &str) -> String {
        let mut hasher = DefaultHasher::new();
        for node in &content {
            (&node.path, &node.type_name).hash(&mut hasher);
            for (name, attribute) in &node.attributes {
                name.hash(&mut hasher);
                hash_value(attribute.value.as_deref(), &mut hasher);
            }
        }
        let known = self.by_hash.entry(hasher.finish()).or_default();
        let root = self.scene.nodes[self.scene.root].path.clone();
        for name in known.iter() {
            let top = format!("{root}/{name}");
            content.iter_mut().for_each(|node| node.relocate("", &top));
            let existing = self
                .scene
                .at(&top)
                .map(|index| self.scene.subtree(index))
                .unwrap_or_default();
            let is_same = existing.len() == content.len()
                && existing.iter().zip(&content).all(|(&index, node)| {
                    let existing = &self.scene.nodes[index];
                    existing.path == node.path && existing.has_same_opinions(node)
                });
            if is_same {
                return name.clone();
            }
            content.iter_mut().for_each(|node| node.relocate(&top, ""));
        }
        let name = self.scene.free_name(self.scene.root, wanted);
        known.push(name.clone());
        let top = format!("{root}/{name}");
        for mut node in content {
            node.relocate("", &top);
            self.scene.insert(node);
        }
        name
    }
}

/// Hashes a value. Equal values have equal hashes.
pub fn hash_value(value: Option<&Value>, hasher: &mut DefaultHasher) {
    match value {
        Some(Value::Vec3fVec(all)) => all
            .iter()
            .for_each(|v| [v.x, v.y, v.z].map(f32::to_bits).hash(hasher)),
        Some(Value::Vec2fVec(all)) => all
            .iter()
            .for_each(|v| [v.x, v.y].map(f32::to_bits).hash(hasher)),
        Some(Value::FloatVec(all)) => all.iter().for_each(|x| x.to_bits().hash(hasher)),
        Some(Value::IntVec(all)) => all.hash(hasher),
        Some(Value::Bool(flag)) => flag.hash(hasher),
        Some(value) => {
            urdf_usd_stage::text(value).hash(hasher);
            urdf_usd_stage::array_len(value).hash(hasher);
            urdf_usd_stage::doubles(value)
                .unwrap_or_default()
                .iter()
                .for_each(|x| x.to_bits().hash(hasher));
        }
        None => {}
    }
}
