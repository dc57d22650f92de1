//! The nodes of a prim index, and their order of strength.
//!
//! The order is that of `PcpCompareSiblingNodeStrength` of OpenUSD: by kind of arc, depth of the prim that
//! has the arc, strength of the node that an implied arc originates from, and number of the arc. Nodes
//! of specializes are children of the root, which makes them weaker than all others.

use std::cmp::Ordering;
use std::ops::{Index, IndexMut};

use super::super::LayerId;
use super::map::Map;
use super::paths::{PathId, Paths};

/// An index into the list of layer stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StackId(pub u32);

/// An index into the nodes of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The root node.
    pub const ROOT: Self = Self(0);

    pub fn index(self) -> u32 {
        self.0
    }
}

/// The kind of the arc that adds a node, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NodeKind {
    Root,
    Inherit,
    Variant,
    Relocate,
    Reference,
    Payload,
    Specialize,
}

impl NodeKind {
    /// Returns true for inherits and specializes.
    pub fn is_class(self) -> bool {
        matches!(self, Self::Inherit | Self::Specialize)
    }

    /// Returns the verb of the arc in messages.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Root => "contains",
            Self::Inherit => "inherits",
            Self::Variant => "selects the variant",
            Self::Relocate => "is relocated from",
            Self::Reference => "references",
            Self::Payload => "has the payload",
            Self::Specialize => "specializes",
        }
    }

    /// Returns the name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "prim",
            Self::Inherit => "inherit",
            Self::Variant => "variant",
            Self::Relocate => "relocate",
            Self::Reference => "reference",
            Self::Payload => "payload",
            Self::Specialize => "specialize",
        }
    }
}

/// A site of which a prim is composed.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub stack: StackId,
    pub path: PathId,
    pub kind: NodeKind,
    pub parent: NodeId,
    /// The node from which an implied arc was propagated; the parent for an authored arc.
    pub origin: NodeId,
    /// Number of prims in the path of the parent when the arc was added.
    pub depth: u32,
    /// Number of the arc among those of the origin.
    pub number: u32,
    pub to_parent: Map,
    pub to_root: Map,
    /// The strongest first.
    pub children: Vec<NodeId>,
    /// True if a layer has a spec at the site.
    pub has_specs: bool,
    /// True if the specs do not count: the node only propagates arcs.
    pub is_inert: bool,
    /// True if neither the node nor its descendants have specs.
    pub is_culled: bool,
    /// True if an arc of an ancestor added the node.
    pub is_ancestral: bool,
    /// True if the node exists only while payloads are loaded.
    pub is_loaded: bool,
    /// Number of elements of the path at which the node became inert; 0 for a node that contributes.
    pub restricted_at: u32,
    /// The layer with the reference or payload.
    pub source: LayerId,
}

impl Node {
    pub fn new(stack: StackId, path: PathId, kind: NodeKind, parent: NodeId) -> Self {
        Self {
            stack,
            path,
            kind,
            parent,
            origin: parent,
            depth: 0,
            number: 0,
            to_parent: Map::IDENTITY,
            to_root: Map::IDENTITY,
            children: Vec::new(),
            has_specs: false,
            is_inert: false,
            is_culled: false,
            is_ancestral: false,
            is_loaded: false,
            restricted_at: 0,
            source: LayerId(0),
        }
    }

    /// Returns whether the specs of the site count.
    pub fn contributes(&self) -> bool {
        !self.is_inert && !self.is_culled
    }

    pub fn is_at(&self, stack: StackId, path: PathId) -> bool {
        self.stack == stack && self.path == path
    }
}

/// The tree of nodes of a prim index.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
}

impl Index<NodeId> for Graph {
    type Output = Node;

    #[allow(
        clippy::indexing_slicing,
        reason = "only the graph makes the ids of its nodes"
    )]
    fn index(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }
}

impl IndexMut<NodeId> for Graph {
    #[allow(
        clippy::indexing_slicing,
        reason = "only the graph makes the ids of its nodes"
    )]
    fn index_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }
}

impl Graph {
    pub fn new(root: Node) -> Self {
        Self { nodes: vec![root] }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn root(&self) -> &Node {
        &self[NodeId::ROOT]
    }

    #[expect(clippy::cast_possible_truncation, reason = "an index has few nodes")]
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    pub fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// Returns the parent; `None` for the root.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        (id != NodeId::ROOT).then(|| self[id].parent)
    }

    /// Iterates over a node and those above it, up to the root.
    pub fn chain(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(id), |id| self.parent(*id))
    }

    /// Returns the nodes of a subtree in order of strength.
    pub fn subtree(&self, top: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut stack = vec![top];
        while let Some(id) = stack.pop() {
            found.push(id);
            stack.extend(self[id].children.iter().rev());
        }
        found
    }

    /// Makes a node inert, or lets it contribute.
    pub fn set_inert(&mut self, paths: &Paths, id: NodeId, is_inert: bool) {
        let node = &mut self[id];
        if node.is_inert != is_inert {
            node.is_inert = is_inert;
            node.restricted_at = if node.contributes() {
                0
            } else {
                paths.len(node.path)
            };
        }
    }

    pub fn cull(&mut self, paths: &Paths, id: NodeId) {
        let node = &mut self[id];
        if !node.is_culled {
            node.is_culled = true;
            node.restricted_at = paths.len(node.path);
        }
    }

    /// Discards the opinions of a subtree, also those about ancestors.
    pub fn elide(&mut self, top: NodeId) {
        for id in self.subtree(top) {
            let node = &mut self[id];
            node.is_culled = true;
            node.restricted_at = 1;
        }
    }

    /// Returns the node that contributes a site.
    pub fn at_site(&self, stack: StackId, path: PathId) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|node| node.is_at(stack, path) && node.contributes())
    }

    /// Adds a node below its parent.
    #[expect(clippy::cast_possible_truncation, reason = "an index has few nodes")]
    pub fn insert(&mut self, paths: &Paths, node: Node) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let parent = node.parent;
        self.nodes.push(node);
        self.attach(paths, parent, id);
        id
    }

    /// Adds the nodes of another graph. Its root becomes `top`.
    #[expect(clippy::cast_possible_truncation, reason = "an index has few nodes")]
    pub fn graft(&mut self, paths: &mut Paths, mut top: Node, other: Self) -> NodeId {
        let base = self.nodes.len() as u32;
        let shifted = |id: NodeId| NodeId(id.0 + base);
        let (parent, to_root) = (top.parent, top.to_root.clone());
        let is_loaded = top.is_loaded;
        for (index, mut node) in other.nodes.into_iter().enumerate() {
            node.children
                .iter_mut()
                .for_each(|child| *child = shifted(*child));
            node.is_loaded |= is_loaded;
            if index == 0 {
                top.children = node.children;
                top.has_specs = node.has_specs;
                top.is_inert = node.is_inert;
                top.is_culled = node.is_culled;
                top.restricted_at = node.restricted_at;
                self.nodes.push(top.clone());
                continue;
            }
            node.parent = shifted(node.parent);
            node.origin = shifted(node.origin);
            node.to_root = to_root.compose(paths, &node.to_root);
            self.nodes.push(node);
        }
        let id = NodeId(base);
        self.attach(paths, parent, id);
        id
    }

    /// Adds a node to the children of its parent, in order of strength.
    ///
    /// Strength is not transitive among specializes, so that the order of comparisons counts: as OpenUSD,
    /// with the strongest sibling, with the weakest and then with those between.
    fn attach(&mut self, paths: &Paths, parent: NodeId, id: NodeId) {
        let children = &self[parent].children;
        let is_before = |other: &NodeId| self.compare_siblings(paths, id, *other) == Ordering::Less;
        let place = match (children.first(), children.last()) {
            (Some(first), _) if is_before(first) => 0,
            (_, Some(last)) if is_before(last) => {
                let weaker = children.iter().position(is_before);
                weaker.unwrap_or(children.len())
            }
            _ => children.len(),
        };
        self[parent].children.insert(place, id);
    }

    /// Sorts the nodes by strength and drops those that are culled, except the origins of others. Returns
    /// the nodes in order of strength, without those that are culled.
    #[expect(clippy::cast_possible_truncation, reason = "an index has few nodes")]
    pub fn compact(&mut self) -> Vec<NodeId> {
        let order = self.subtree(NodeId::ROOT);
        let mut is_kept = vec![false; self.nodes.len()];
        for id in &order {
            if self[*id].is_culled {
                continue;
            }
            // The node, the chain of its origins, and the parents of those.
            let mut next = Some(*id);
            while let Some(at) = next {
                for above in self.chain(at) {
                    match is_kept.get_mut(above.0 as usize) {
                        Some(kept) if !*kept => *kept = true,
                        _ => break,
                    }
                }
                let node = &self[at];
                next = (at != NodeId::ROOT && node.origin != node.parent).then_some(node.origin);
            }
        }
        let kept = |id: &NodeId| is_kept.get(id.0 as usize).copied().unwrap_or_default();
        let order: Vec<NodeId> = order.into_iter().filter(kept).collect();
        let mut moved = vec![NodeId::ROOT; self.nodes.len()];
        for (index, id) in order.iter().enumerate() {
            if let Some(slot) = moved.get_mut(id.0 as usize) {
                *slot = NodeId(index as u32);
            }
        }
        let to = |id: NodeId| moved.get(id.0 as usize).copied().unwrap_or(NodeId::ROOT);
        let nodes = order.iter().map(|id| {
            let mut node = self[*id].clone();
            node.parent = to(node.parent);
            node.origin = to(node.origin);
            node.children.retain(kept);
            node.children
                .iter_mut()
                .for_each(|child| *child = to(*child));
            node
        });
        self.nodes = nodes.collect();
        self.ids().filter(|id| !self[*id].is_culled).collect()
    }

    /// Returns the number of levels of the path below the prim that has the arc of a node.
    pub fn levels_below_arc(&self, paths: &Paths, id: NodeId) -> u32 {
        let parent = self.parent(id);
        parent.map_or(0, |parent| {
            paths
                .prims(self[parent].path)
                .saturating_sub(self[id].depth)
        })
    }

    /// Returns the path without some levels.
    fn above(paths: &Paths, mut path: PathId, levels: u32) -> PathId {
        for _ in 0..levels {
            path = paths.parent(paths.prim(path));
        }
        path
    }

    /// Returns the path of a node when its arc was added.
    pub fn target(&self, paths: &Paths, id: NodeId) -> PathId {
        Self::above(paths, self[id].path, self.levels_below_arc(paths, id))
    }

    /// Returns the path of the parent of a node when the arc was added.
    pub fn arc_path(&self, paths: &Paths, id: NodeId) -> PathId {
        let levels = self.levels_below_arc(paths, id);
        let parent = self.parent(id);
        parent.map_or(PathId::ROOT, |parent| {
            Self::above(paths, self[parent].path, levels)
        })
    }

    /// Returns whether a node is a copy, below the root, of the node of a specialize.
    pub fn is_propagated(&self, id: NodeId) -> bool {
        let node = &self[id];
        let origin = &self[node.origin];
        id != NodeId::ROOT
            && node.kind == NodeKind::Specialize
            && node.parent == NodeId::ROOT
            && node.origin != NodeId::ROOT
            && node.is_at(origin.stack, origin.path)
    }

    /// Returns the node that has the arc of a copy below the root, and other nodes as they are.
    fn original(&self, id: NodeId) -> NodeId {
        if self.is_propagated(id) {
            self[id].origin
        } else {
            id
        }
    }

    /// Returns whether the arc of a node is below that of `top`, or is the same.
    fn is_nested(&self, id: NodeId, top: NodeId) -> bool {
        let above = |id: &NodeId| match self.is_propagated(*id) {
            true => Some(self[*id].origin),
            false => self.parent(*id),
        };
        std::iter::successors(Some(id), above).any(|above| above == top)
    }

    /// Returns the node whose children are those of a node: its copy below the root for that of a
    /// specialize.
    pub fn owner(&self, id: NodeId) -> NodeId {
        if self[id].kind != NodeKind::Specialize {
            return id;
        }
        let mut copies = self.root().children.iter().copied();
        let copy = copies.find(|child| self[*child].origin == id && self.is_propagated(*child));
        copy.unwrap_or(id)
    }

    /// Returns whether a node has children of inherits or specializes.
    pub fn has_class_child(&self, id: NodeId) -> bool {
        let children = &self[self.owner(id)].children;
        children.iter().any(|child| self[*child].kind.is_class())
    }

    /// Returns the nodes at both ends of the chain of inherits and specializes to which `id` belongs: the
    /// prim that has the first arc, and the first class.
    pub fn class_hierarchy(&self, paths: &Paths, id: NodeId) -> (NodeId, NodeId) {
        let mut instance = self.original(id);
        let levels = self.levels_below_arc(paths, instance);
        let mut class = instance;
        while self[instance].kind.is_class() && self.levels_below_arc(paths, instance) == levels {
            class = instance;
            match self.parent(instance) {
                Some(parent) => instance = self.original(parent),
                None => break,
            }
        }
        (instance, class)
    }

    /// Returns the node of the prim that has the first arc of a chain of classes. A relocated prim has those
    /// of its source.
    fn instance_of(&self, paths: &Paths, id: NodeId) -> NodeId {
        let mut instance = self.class_hierarchy(paths, id).0;
        while self[instance].kind == NodeKind::Relocate {
            instance = self[instance].parent;
        }
        instance
    }

    /// Returns the authored arc from which the arc of a node was propagated, and the number of steps.
    pub fn first_origin(&self, id: NodeId) -> (NodeId, usize) {
        let (mut id, mut steps) = (id, 0);
        while id != NodeId::ROOT && self[id].origin != self[id].parent && steps <= self.nodes.len()
        {
            id = self[id].origin;
            steps += 1;
        }
        (id, steps)
    }

    /// Compares two nodes by strength; the stronger is less.
    pub fn compare(&self, paths: &Paths, a: NodeId, b: NodeId) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let mut a_chain: Vec<NodeId> = self.chain(a).collect();
        let mut b_chain: Vec<NodeId> = self.chain(b).collect();
        loop {
            match (a_chain.pop(), b_chain.pop()) {
                (Some(a), Some(b)) if a == b => {}
                (Some(a), Some(b)) => return self.order_of_siblings(paths, a, b),
                (None, Some(_)) => return Ordering::Less,
                (Some(_), None) => return Ordering::Greater,
                (None, None) => return Ordering::Equal,
            }
        }
    }

    /// Compares two attached nodes with the same parent by their place.
    fn order_of_siblings(&self, paths: &Paths, a: NodeId, b: NodeId) -> Ordering {
        let siblings = &self[self[a].parent].children;
        let place = |id: NodeId| siblings.iter().position(|sibling| *sibling == id);
        match (place(a), place(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => self.compare_siblings(paths, a, b),
        }
    }

    /// Compares two nodes with the same parent by strength.
    fn compare_siblings(&self, paths: &Paths, a: NodeId, b: NodeId) -> Ordering {
        let (x, y) = (&self[a], &self[b]);
        let by_kind = x.kind.cmp(&y.kind);
        let by_number = x.number.cmp(&y.number);
        if by_kind != Ordering::Equal {
            return by_kind;
        }
        if x.kind == NodeKind::Specialize {
            return self.compare_specializes(paths, a, b).unwrap_or(by_number);
        }
        let by_depth = y.depth.cmp(&x.depth);
        let by_origin = || match x.origin == y.origin {
            true => Ordering::Equal,
            false => self.compare(paths, x.origin, y.origin),
        };
        by_depth.then_with(by_origin).then(by_number)
    }

    /// Compares two nodes of specializes with the same parent; `None` if the numbers of their arcs decide.
    fn compare_specializes(&self, paths: &Paths, a: NodeId, b: NodeId) -> Option<Ordering> {
        let (x, y) = (&self[a], &self[b]);
        let ((a_first, a_steps), (b_first, b_steps)) = (self.first_origin(a), self.first_origin(b));
        // The target of a specialize is weaker than its source, however deep the source is.
        let is_nested = self.is_nested(a_first, b_first) || self.is_nested(b_first, a_first);
        if !is_nested && x.depth != y.depth {
            return Some(y.depth.cmp(&x.depth));
        }
        let is_authored = |node: &Node| node.origin == node.parent;
        let is_implied = |node: &Node| {
            let origin = &self[node.origin];
            !node.is_at(origin.stack, origin.path)
        };
        // An implied arc is an opinion of the root layer stack, and stronger than a copy.
        let by_implied = || match (is_implied(x), is_implied(y)) {
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            _ => None,
        };
        if x.origin == y.origin {
            return match is_authored(x) || is_authored(y) {
                true => None,
                false => by_implied(),
            };
        }
        if a_first != b_first {
            return Some(self.compare(paths, a_first, b_first));
        }
        // Both originate from the same arc: the one that was propagated to a higher prim is stronger, then
        // the one that was propagated further.
        let depth = |node: &Node| match is_authored(node) {
            true => 0,
            false => self[self.instance_of(paths, node.origin)].depth,
        };
        let by_depth = depth(x).cmp(&depth(y));
        let by_steps = b_steps.cmp(&a_steps);
        let order = by_depth.then(by_steps);
        if order != Ordering::Equal {
            return Some(order);
        }
        let root = self.root().stack;
        let is_local = x.stack == root && y.stack == root && !is_authored(x) && !is_authored(y);
        let by_implied = if is_local { by_implied() } else { None };
        by_implied.or_else(|| Some(self.compare(paths, x.origin, y.origin)))
    }
}
