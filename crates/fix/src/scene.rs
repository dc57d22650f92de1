//! The tree of prims that is fixed: the composed stage, without composition arcs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use urdf_usd_robot::{Arena, Handle, names};
use urdf_usd_stage::{
    Attribute, Prim, PrimId, PrimMap, Properties, Relationship, Specifier, Stage, Value,
};

use super::notes::Notes;

/// The id of a node of a [`Scene`]. [`Scene::arrange`] invalidates all ids.
pub type NodeId = Handle<Node>;

/// A prim that will be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The path, which is the same in the source and the written asset.
    pub path: String,
    /// The prim of the stage that it was created from.
    pub source: PrimId,
    /// The parent.
    pub parent: Option<NodeId>,
    /// The children, in order.
    pub children: Vec<NodeId>,
    pub type_name: String,
    pub kind: Option<String>,
    pub is_active: bool,
    pub schemas: Vec<String>,
    pub metadata: BTreeMap<String, Value>,
    pub attributes: Properties<Attribute>,
    pub relationships: Properties<Relationship>,
    /// Whether it is an instance, so that its descendants are shared.
    pub is_instance: bool,
    /// The library prim that it references, if any; the opinions here are stronger.
    pub origin: Option<Origin>,
}

/// A reference to a prim of the library, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An instance of this prototype.
    Prototype(String),
    /// This material.
    Material(String),
}

/// The variants of a set on a prim.
#[derive(Clone, Debug, Default)]
pub struct Variants {
    /// The selected variant; empty if the asset selects none.
    pub selection: String,
    /// The whole scene with each of the other variants.
    pub others: BTreeMap<String, Arc<Scene>>,
    /// The selections that each variant makes for sets below, by path of the prim and name of the set.
    pub selects: BTreeMap<String, BTreeMap<(String, String), String>>,
}

impl Variants {
    /// Returns true if a variant makes a selection for the set `key`, which then needs no local one.
    pub fn drives(&self, key: &(String, String)) -> bool {
        self.selects
            .values()
            .any(|selections| selections.contains_key(key))
    }
}

/// The prims that will be written, and their variants.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Parents before their children.
    pub nodes: Arena<Node>,
    /// The default prim.
    pub root: NodeId,
    /// Variants by path of the prim and name of the set.
    pub variants: BTreeMap<(String, String), Variants>,
    /// Composed variants by path of the prim and name of the set; empty for a set without selection.
    pub selections: BTreeMap<(String, String), String>,
    by_path: HashMap<String, NodeId>,
}

impl Node {
    /// Creates a prim without opinions.
    pub fn new(path: String, type_name: &str, source: PrimId) -> Self {
        Self {
            path,
            source,
            parent: None,
            children: Vec::new(),
            type_name: type_name.to_owned(),
            kind: None,
            is_active: true,
            schemas: Vec::new(),
            metadata: BTreeMap::new(),
            attributes: BTreeMap::new(),
            relationships: BTreeMap::new(),
            is_instance: false,
            origin: None,
        }
    }

    /// Iterates over the targets of relationships and the sources of connections.
    pub fn targets_and_sources(&self) -> impl Iterator<Item = &str> {
        let targets = self
            .relationships
            .values()
            .flat_map(|relationship| &relationship.targets);
        targets
            .chain(
                self.attributes
                    .values()
                    .flat_map(|attribute| &attribute.connections),
            )
            .map(String::as_str)
    }

    /// Replaces the path prefix `from` of all targets and sources by `to`.
    pub fn redirect(&mut self, from: &str, to: &str) {
        let targets = self
            .relationships
            .values_mut()
            .flat_map(|relationship| &mut relationship.targets);
        for path in targets.chain(
            self.attributes
                .values_mut()
                .flat_map(|attribute| &mut attribute.connections),
        ) {
            replace_prefix(path, from, to);
        }
    }

    /// Replaces the path prefix `from` of the prim, and of its targets and sources, by `to`.
    pub fn relocate(&mut self, from: &str, to: &str) {
        replace_prefix(&mut self.path, from, to);
        self.redirect(from, to);
    }

    /// Whether a prim of another scene has the same opinions.
    pub fn has_same_opinions(&self, other: &Self) -> bool {
        self.has_same_head(other)
            && self.attributes == other.attributes
            && self.relationships == other.relationships
    }

    /// As [`Self::has_same_opinions`], without properties.
    pub fn has_same_head(&self, other: &Self) -> bool {
        (
            &self.type_name,
            &self.kind,
            self.is_active,
            &self.schemas,
            &self.metadata,
            &self.origin,
        ) == (
            &other.type_name,
            &other.kind,
            other.is_active,
            &other.schemas,
            &other.metadata,
            &other.origin,
        )
    }

    /// Returns the name of the prim.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether a schema is applied.
    pub fn has(&self, schema: &str) -> bool {
        self.schemas.iter().any(|applied| {
            applied == schema
                || applied
                    .strip_prefix(schema)
                    .is_some_and(|rest| rest.starts_with(':'))
        })
    }

    /// Applies a schema, unless it is applied.
    pub fn apply(&mut self, schema: &str) {
        if !self.has(schema) {
            self.schemas.push(schema.to_owned());
        }
    }

    pub fn value(&self, name: &str) -> Option<&Value> {
        self.attributes.get(name)?.value.as_deref()
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.value(name).and_then(urdf_usd_stage::text)
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.value(name).and_then(urdf_usd_stage::double)
    }

    pub fn targets(&self, name: &str) -> &[String] {
        self.relationships
            .get(name)
            .map_or(&[], |relationship| &relationship.targets)
    }

    /// Sets the only target of a relationship, whose metadata is kept.
    pub fn set_target(&mut self, name: &str, target: String) {
        self.relationships
            .entry(name.to_owned())
            .or_default()
            .targets = vec![target];
    }

    /// Sets the value and type of an attribute, whose flags and metadata are kept.
    pub fn set(&mut self, name: &str, type_name: &str, value: Value) {
        let attribute = self
            .attributes
            .entry(name.to_owned())
            .or_insert_with(|| Box::new(attribute(type_name)));
        type_name.clone_into(&mut attribute.type_name);
        attribute.value = Some(value.into());
        attribute.times.clear();
    }

    /// As [`Self::set`], for a uniform attribute.
    pub fn set_uniform(&mut self, name: &str, type_name: &str, value: Value) {
        self.set(name, type_name, value);
        if let Some(attribute) = self.attributes.get_mut(name) {
            attribute.is_uniform = true;
        }
    }

    pub fn is_body(&self) -> bool {
        self.has("PhysicsRigidBodyAPI")
    }

    pub fn is_collider(&self) -> bool {
        self.has("PhysicsCollisionAPI")
    }

    pub fn is_joint(&self) -> bool {
        is_joint_type(&self.type_name)
    }

    /// Whether points define its shape.
    pub fn has_points(&self) -> bool {
        is_points_type(&self.type_name)
    }

    /// Returns whether it is a shape.
    pub fn is_shape(&self) -> bool {
        is_shape_type(&self.type_name)
    }

    /// Whether it is a shape or a point instancer.
    pub fn has_form(&self) -> bool {
        self.is_shape() || self.type_name == "PointInstancer"
    }

    /// Whether it is a primitive shape.
    pub fn is_primitive(&self) -> bool {
        is_primitive_type(&self.type_name)
    }

    /// Whether it points along an axis of its own, which must not be rotated.
    pub fn has_direction(&self) -> bool {
        self.type_name == "Camera" || self.type_name.ends_with("Light")
    }
}

/// Returns whether a type of prims is that of a joint.
pub fn is_joint_type(type_name: &str) -> bool {
    type_name.starts_with("Physics") && type_name.ends_with("Joint")
}

/// Returns whether a type of prims is that of a shape.
pub fn is_shape_type(type_name: &str) -> bool {
    is_points_type(type_name) || is_primitive_type(type_name)
}

/// Returns whether points define the shape of a type of prims.
fn is_points_type(type_name: &str) -> bool {
    matches!(
        type_name,
        "Mesh"
            | "Points"
            | "BasisCurves"
            | "NurbsCurves"
            | "NurbsPatch"
            | "HermiteCurves"
            | "TetMesh"
    )
}

/// Returns whether a type of prims is that of a primitive shape.
fn is_primitive_type(type_name: &str) -> bool {
    matches!(
        type_name,
        "Cube" | "Sphere" | "Cylinder" | "Cylinder_1" | "Capsule" | "Capsule_1" | "Cone" | "Plane"
    )
}

/// Replaces the prefix `from` of a path at or below it, or of a property of these.
fn replace_prefix(path: &mut String, from: &str, to: &str) {
    if path
        .strip_prefix(from)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
    {
        path.replace_range(..from.len(), to);
    }
}

/// Creates an attribute without a value.
pub fn attribute(type_name: &str) -> Attribute {
    Attribute {
        type_name: type_name.to_owned(),
        is_custom: false,
        is_uniform: false,
        value: None,
        times: Vec::new(),
        connections: Vec::new(),
        metadata: BTreeMap::new(),
        sites: Vec::new(),
    }
}

impl Scene {
    /// Creates a scene of one prim.
    pub fn new(root: Node) -> Self {
        let (path, mut nodes) = (root.path.clone(), Arena::default());
        let root = nodes.push(root);
        Self {
            nodes,
            root,
            variants: BTreeMap::new(),
            selections: BTreeMap::new(),
            by_path: HashMap::from([(path, root)]),
        }
    }

    /// Reads the defined prims of a stage. Returns `None` without a default prim or a single root prim.
    pub fn from_stage(stage: &Stage, notes: &mut Notes) -> Option<Self> {
        let is_root = |prim: &Prim| prim.parent.is_none() && prim.is_present();
        let mut roots = stage
            .iter()
            .filter(|(_, prim)| is_root(prim) && prim.type_name != "PhysicsScene")
            .map(|(id, _)| id);
        let default = stage.default_prim.filter(|id| is_root(&stage[*id]));
        let root = default.or_else(|| {
            let first = roots.next()?;
            roots.next().is_none().then_some(first)
        })?;
        let mut nodes: Arena<Node> = Arena::default();
        let (mut by_path, mut selections) = (HashMap::new(), BTreeMap::new());
        let mut node_of: PrimMap<Option<NodeId>> = stage.filled(None);
        for (id, prim) in stage.iter() {
            let parent = prim.parent.map(|parent| node_of[parent]);
            if parent == Some(None) || prim.is_abstract || prim.specifier != Specifier::Def {
                if prim.specifier == Specifier::Over && parent != Some(None) {
                    notes.lost(
                        &prim.path,
                        "left out a prim that no layer defines",
                        "define it, or remove its opinions",
                    );
                }
                continue;
            }
            let parent = parent.flatten();
            for set in &prim.variant_sets {
                selections.insert(
                    (prim.path.clone(), set.name.clone()),
                    set.selection.clone().unwrap_or_default(),
                );
            }
            let node = nodes.push(Node {
                parent,
                kind: prim.kind.clone(),
                is_active: prim.is_active,
                schemas: prim.schemas.clone(),
                metadata: prim.metadata.clone(),
                attributes: prim
                    .attributes
                    .iter()
                    .map(|(name, attribute)| {
                        (
                            name.clone(),
                            Box::new(Attribute {
                                sites: Vec::new(),
                                ..Attribute::clone(attribute)
                            }),
                        )
                    })
                    .collect(),
                relationships: prim
                    .relationships
                    .iter()
                    .map(|(name, relationship)| {
                        (
                            name.clone(),
                            Box::new(Relationship {
                                sites: Vec::new(),
                                ..Relationship::clone(relationship)
                            }),
                        )
                    })
                    .collect(),
                ..Node::new(prim.path.clone(), &prim.type_name, id)
            });
            super::textures::locate(&mut nodes[node], prim, stage);
            node_of[id] = Some(node);
            if let Some(parent) = parent {
                nodes[parent].children.push(node);
            }
            by_path.insert(prim.path.clone(), node);
        }
        Some(Self {
            nodes,
            root: node_of[root]?,
            variants: BTreeMap::new(),
            selections,
            by_path,
        })
    }

    /// Returns the name of the default prim.
    pub fn name(&self) -> &str {
        self.nodes[self.root].name()
    }

    pub fn at(&self, path: &str) -> Option<NodeId> {
        self.by_path.get(path).copied()
    }

    /// Returns the child of a prim, which is created if it does not exist.
    pub fn add(&mut self, parent: NodeId, name: &str, type_name: &str) -> NodeId {
        let path = format!("{}/{name}", self.nodes[parent].path);
        if let Some(index) = self.at(&path) {
            return index;
        }
        let source = self.nodes[parent].source;
        self.insert(Node::new(path, type_name, source))
    }

    /// Adds a prim below the parent in its path.
    pub fn insert(&mut self, mut node: Node) -> NodeId {
        node.parent = node
            .path
            .rsplit_once('/')
            .and_then(|(above, _)| self.at(above));
        node.children.clear();
        let (parent, path) = (node.parent, node.path.clone());
        let id = self.nodes.push(node);
        if let Some(parent) = parent {
            self.nodes[parent].children.push(id);
        }
        self.by_path.insert(path, id);
        id
    }

    /// Moves a node below another one. Its path and those of its descendants stay: relocate all nodes,
    /// and then call [`Self::index_paths`].
    pub fn reparent(&mut self, node: NodeId, parent: NodeId) {
        if let Some(above) = self.nodes[node].parent.replace(parent) {
            self.nodes[above].children.retain(|child| *child != node);
        }
        self.nodes[parent].children.push(node);
    }

    /// Finds nodes by their present paths.
    pub fn index_paths(&mut self) {
        self.by_path = self
            .nodes
            .iter()
            .map(|(id, node)| (node.path.clone(), id))
            .collect();
    }

    /// Sorts the nodes into an order, parents before their children, and drops those that are not in
    /// it.
    pub fn arrange(&mut self, order: Vec<NodeId>) {
        let mut nodes = std::mem::take(&mut self.nodes);
        self.by_path.clear();
        let root = self.root;
        for id in order {
            let placeholder = Node::new(String::new(), "", nodes[id].source);
            let new = self.insert(std::mem::replace(&mut nodes[id], placeholder));
            if id == root {
                self.root = new;
            }
        }
        self.selections
            .retain(|(path, _), _| self.by_path.contains_key(path));
    }

    /// Returns an unused name below a prim.
    pub fn free_name(&self, parent: NodeId, wanted: &str) -> String {
        let above = &self.nodes[parent].path;
        names::unique(wanted, |name| self.at(&format!("{above}/{name}")).is_none())
    }

    /// Iterates over a node and its ancestors, the nearest first.
    pub fn upwards(&self, index: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(index), |&index| self.nodes[index].parent)
    }

    /// Returns a node and its descendants, parents before their children.
    pub fn subtree(&self, index: NodeId) -> Vec<NodeId> {
        let (mut all, mut stack) = (Vec::new(), vec![index]);
        while let Some(index) = stack.pop() {
            all.push(index);
            stack.extend(self.nodes[index].children.iter().rev());
        }
        all
    }

    /// Returns all nodes, parents before their children.
    pub fn in_order(&self) -> Vec<NodeId> {
        let roots = self.nodes.iter().filter(|(_, node)| node.parent.is_none());
        roots.flat_map(|(root, _)| self.subtree(root)).collect()
    }
}
