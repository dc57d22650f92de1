//! The tree of prims that is mended: what the stage composes, without the arcs that it composes
//! from.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use urdf_usd_robot::{Arena, Handle, names};
use urdf_usd_stage::{Attribute, Prim, PrimId, PrimMap, Relationship, Specifier, Stage, Value};

use super::notes::Notes;

/// A node of a [`Scene`]; meaningless once the scene is arranged anew.
pub type NodeId = Handle<Node>;

/// A prim that will be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its path, in the source as in what is written.
    pub path: String,
    /// The prim of the stage it was made from.
    pub source: PrimId,
    /// The node above.
    pub parent: Option<NodeId>,
    /// The nodes below, in their order.
    pub children: Vec<NodeId>,
    pub type_name: String,
    pub kind: Option<String>,
    pub is_active: bool,
    pub schemas: Vec<String>,
    pub metadata: BTreeMap<String, Value>,
    pub attributes: BTreeMap<String, Attribute>,
    pub relationships: BTreeMap<String, Relationship>,
    /// Whether it is an instance, so that what stands below it is shared.
    pub is_instance: bool,
    /// Where all that it holds comes from, but for what is said here.
    pub origin: Option<Origin>,
}

/// Where what a prim holds comes from: the name of something in the library of instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is an instance of this prototype.
    Prototype(String),
    /// It is this material.
    Material(String),
}

/// What is different of a prim and all below it in the variants of a set.
#[derive(Clone, Debug, Default)]
pub struct Variants {
    /// The variant that is selected.
    pub selection: String,
    /// The scene with each variant, but for the selected one.
    pub others: BTreeMap<String, Arc<Scene>>,
}

/// The prims that will be written, and their variants.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Parents before their children.
    pub nodes: Arena<Node>,
    /// The default prim.
    pub root: NodeId,
    /// By the path of the prim that has the set, and its name.
    pub variants: BTreeMap<(String, String), Variants>,
    /// The variants that are composed, by the path of the prim that has the set, and its name.
    pub selections: BTreeMap<(String, String), String>,
    by_path: HashMap<String, NodeId>,
}

impl Node {
    /// A prim of which nothing is said yet.
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

    /// The paths that its relationships and connections lead to.
    pub fn leads_to(&self) -> impl Iterator<Item = &str> {
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

    /// Has what leads to `was`, or to what is below it, lead to `is` instead.
    pub fn redirect(&mut self, was: &str, is: &str) {
        let targets = self
            .relationships
            .values_mut()
            .flat_map(|relationship| &mut relationship.targets);
        for path in targets.chain(
            self.attributes
                .values_mut()
                .flat_map(|attribute| &mut attribute.connections),
        ) {
            moved(path, was, is);
        }
    }

    /// Moves it, with what it leads to, from `was` or below it to `is`.
    pub fn relocate(&mut self, was: &str, is: &str) {
        moved(&mut self.path, was, is);
        self.redirect(was, is);
    }

    /// Whether nothing of it is different in another scene.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.has_the_same_head(other)
            && self.attributes == other.attributes
            && self.relationships == other.relationships
    }

    /// The same, but for properties.
    pub fn has_the_same_head(&self, other: &Self) -> bool {
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

    /// Its own name.
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

    /// Applies a schema, if it is not.
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

    /// Has a relationship lead to one prim; one that is there keeps its metadata.
    pub fn point(&mut self, name: &str, target: String) {
        self.relationships
            .entry(name.to_owned())
            .or_default()
            .targets = vec![target];
    }

    /// Gives an attribute a value; one that is there keeps its type's flags and metadata.
    pub fn set(&mut self, name: &str, type_name: &str, value: Value) {
        let attribute = self
            .attributes
            .entry(name.to_owned())
            .or_insert_with(|| attribute(type_name));
        type_name.clone_into(&mut attribute.type_name);
        attribute.value = Some(value.into());
        attribute.times.clear();
    }

    /// The same for an attribute that may not vary in time.
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
        self.type_name.starts_with("Physics") && self.type_name.ends_with("Joint")
    }

    /// Whether its form is given by points.
    pub fn has_points(&self) -> bool {
        matches!(
            self.type_name.as_str(),
            "Mesh"
                | "Points"
                | "BasisCurves"
                | "NurbsCurves"
                | "NurbsPatch"
                | "HermiteCurves"
                | "TetMesh"
        )
    }

    /// Whether it has a form, by points, by numbers or by many copies.
    pub fn has_form(&self) -> bool {
        self.has_points() || self.is_primitive() || self.type_name == "PointInstancer"
    }

    /// Whether its form is given by a few numbers.
    pub fn is_primitive(&self) -> bool {
        matches!(
            self.type_name.as_str(),
            "Cube"
                | "Sphere"
                | "Cylinder"
                | "Cylinder_1"
                | "Capsule"
                | "Capsule_1"
                | "Cone"
                | "Plane"
        )
    }

    /// Whether it looks along an axis of its own, which must not be turned.
    pub fn looks(&self) -> bool {
        self.type_name == "Camera" || self.type_name.ends_with("Light")
    }
}

/// Has a path that is at `was`, or below it, or a property of these, begin with `is` instead.
fn moved(path: &mut String, was: &str, is: &str) {
    if path
        .strip_prefix(was)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
    {
        path.replace_range(..was.len(), is);
    }
}

/// An attribute without a value.
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
    /// A scene of one prim.
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

    /// The prims of a stage that are there. `None` if it has no root prim to start from.
    pub fn of(stage: &Stage, notes: &mut Notes) -> Option<Self> {
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
                        "a prim that no layer defines is left out",
                        "define it, or remove what is said of it",
                    );
                }
                continue;
            }
            let parent = parent.flatten();
            for set in &prim.variant_sets {
                if let Some(selection) = &set.selection {
                    selections.insert((prim.path.clone(), set.name.clone()), selection.clone());
                }
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
                            Attribute {
                                sites: Vec::new(),
                                ..attribute.clone()
                            },
                        )
                    })
                    .collect(),
                relationships: prim
                    .relationships
                    .iter()
                    .map(|(name, relationship)| {
                        (
                            name.clone(),
                            Relationship {
                                sites: Vec::new(),
                                ..relationship.clone()
                            },
                        )
                    })
                    .collect(),
                ..Node::new(prim.path.clone(), &prim.type_name, id)
            });
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

    /// The name of the default prim.
    pub fn name(&self) -> &str {
        self.nodes[self.root].name()
    }

    pub fn at(&self, path: &str) -> Option<NodeId> {
        self.by_path.get(path).copied()
    }

    /// Adds a prim below another, or gives the one that is there.
    pub fn add(&mut self, parent: NodeId, name: &str, type_name: &str) -> NodeId {
        let path = format!("{}/{name}", self.nodes[parent].path);
        if let Some(index) = self.at(&path) {
            return index;
        }
        let source = self.nodes[parent].source;
        self.put(Node::new(path, type_name, source))
    }

    /// Adds a prim below the one that its path says.
    pub fn put(&mut self, mut node: Node) -> NodeId {
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

    /// Brings the nodes in an order, parents before their children, and forgets those that are not
    /// in it.
    pub fn arrange(&mut self, order: Vec<NodeId>) {
        let mut nodes = std::mem::take(&mut self.nodes);
        self.by_path.clear();
        let root = self.root;
        for id in order {
            let nothing = Node::new(String::new(), "", nodes[id].source);
            let is = self.put(std::mem::replace(&mut nodes[id], nothing));
            if id == root {
                self.root = is;
            }
        }
        self.selections
            .retain(|(path, _), _| self.by_path.contains_key(path));
    }

    /// A name below a prim that is not taken.
    pub fn free_name(&self, parent: NodeId, wanted: &str) -> String {
        let above = &self.nodes[parent].path;
        names::unique(wanted, |name| self.at(&format!("{above}/{name}")).is_none())
    }

    /// The node and those above it, the nearest first.
    pub fn upwards(&self, index: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(index), |&index| self.nodes[index].parent)
    }

    /// A node and all below it, parents before their children, in their order.
    pub fn subtree(&self, index: NodeId) -> Vec<NodeId> {
        let (mut all, mut stack) = (Vec::new(), vec![index]);
        while let Some(index) = stack.pop() {
            all.push(index);
            stack.extend(self.nodes[index].children.iter().rev());
        }
        all
    }

    /// All nodes, parents before their children, in their order.
    pub fn in_order(&self) -> Vec<NodeId> {
        let roots = self.nodes.iter().filter(|(_, node)| node.parent.is_none());
        roots.flat_map(|(root, _)| self.subtree(root)).collect()
    }
}
