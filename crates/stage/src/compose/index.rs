//! Composes the index of a prim: a tree of sites, one for each arc.

use std::collections::{BTreeSet, HashSet, VecDeque};

use openusd::sdf;
use openusd::tf::Token;

use super::super::{CompositionError, DEEPEST, Value};
use super::graph::{Graph, Node, NodeId, NodeKind, StackId};
use super::layers::{Fault, fields};
use super::map::Map;
use super::messages::file_name;
use super::paths::{PathId, Paths};
use super::sites::AssetArc;
use super::{Composer, MAX_HOPS, MAX_NESTED, MAX_NODES};

/// The index of a prim.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub graph: Graph,
    /// The nodes in order of strength.
    pub order: Vec<NodeId>,
    /// True for an instance: opinions of the root node about its descendants do not count.
    pub is_instance: bool,
}

/// The arc for which an index is composed inside another one.
struct Frame<'f> {
    graph: &'f Graph,
    /// The node that has the arc.
    parent: NodeId,
    kind: NodeKind,
    to_parent: Map,
    /// The target of the arc.
    target: PathId,
    skips_duplicates: bool,
    previous: Option<&'f Frame<'f>>,
}

/// The kinds of steps in the order of evaluation. Those about variants of ancestors and of the prim
/// itself, of which the strongest comes first, are [`VariantTask`]s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Relocates,
    ImpliedRelocates,
    References,
    Payloads,
    Inherits,
    Specializes,
    ImpliedSpecializes,
    ImpliedClasses,
    AncestralVariantSets,
    VariantSets,
    Unresolved,
}

/// A variant set whose variant has to be selected.
struct VariantTask {
    prim: VariantPrim,
    set: String,
    number: u32,
}

/// The prim of variant sets.
#[derive(Clone, Copy, PartialEq, Eq)]
struct VariantPrim {
    node: NodeId,
    is_ancestral: bool,
    /// The path of the prim in the layer stack of the node.
    path: PathId,
}

/// The variant sets of a prim whose variants have to be selected, with their numbers, in order.
///
/// One queue for each prim: the strongest of all sets is the first of a queue, so that many sets of one
/// prim are not compared with each other.
struct VariantQueue {
    prim: VariantPrim,
    sets: VecDeque<(u32, String)>,
}

/// An arc to add.
struct NewArc {
    kind: NodeKind,
    parent: NodeId,
    origin: NodeId,
    stack: StackId,
    path: PathId,
    map: Map,
    number: u32,
    depth: u32,
    source: super::super::LayerId,
    /// Makes the node inert.
    is_inert: bool,
    with_ancestral: bool,
    skips_duplicates: bool,
    is_loaded: bool,
}

struct Indexer<'c, 'f> {
    composer: &'c mut Composer,
    graph: Graph,
    frame: Option<&'f Frame<'f>>,
    /// Steps by kind and order; see [`Indexer::add_step`].
    steps: BTreeSet<(Step, u32, NodeId)>,
    variants: Vec<VariantQueue>,
    /// Variant sets without a selection so far.
    unselected: Vec<VariantTask>,
}

impl Composer {
    /// Returns the index of the pseudo-root.
    pub fn root_index(&self) -> Index {
        let mut node = Node::new(self.root, PathId::ROOT, NodeKind::Root, NodeId::ROOT);
        node.has_specs = true;
        Index {
            graph: Graph::new(node),
            order: vec![NodeId::ROOT],
            is_instance: false,
        }
    }

    /// Composes the index of a child of a prim.
    pub fn child(&mut self, parent: &Index, name: &str) -> Index {
        (self.nodes, self.depth) = (0, 0);
        self.steps += parent.graph.len();
        // Reading the values of prims maps paths, too, but is bounded otherwise.
        self.paths.set_visited(self.path_steps);
        let path = self.paths.child(parent.graph.root().path, name);
        let mut graph = parent.graph.clone();
        self.move_to_child(&mut graph, path, parent.is_instance);
        let mut graph = match self.discard_moved(&mut graph, None) {
            true => graph,
            false => self.evaluate(graph, None),
        };
        self.cull(&mut graph);
        let order = graph.compact();
        let is_instance = self.is_instance(&graph);
        self.path_steps = self.paths.visited();
        Index {
            graph,
            order,
            is_instance,
        }
    }

    fn evaluate(&mut self, graph: Graph, frame: Option<&Frame<'_>>) -> Graph {
        let mut indexer = Indexer {
            composer: self,
            graph,
            frame,
            steps: BTreeSet::new(),
            variants: Vec::new(),
            unselected: Vec::new(),
        };
        indexer.run();
        indexer.graph
    }

    /// Composes the index of the target of an arc, with the opinions about its ancestors.
    fn nested(&mut self, stack: StackId, path: PathId, is_inert: bool, frame: &Frame<'_>) -> Graph {
        // From the pseudo-root, or the innermost variant, to the target.
        let mut chain = vec![path];
        while let Some(last) = chain.last()
            && *last != PathId::ROOT
            && !self.paths.is_variant(*last)
        {
            chain.push(self.paths.parent(*last));
        }
        let first = chain.pop().unwrap_or(PathId::ROOT);
        let mut root = Node::new(stack, first, NodeKind::Root, NodeId::ROOT);
        root.has_specs = first == PathId::ROOT || self.layers.has_specs(stack, first);
        let mut graph = Graph::new(root);
        if first != PathId::ROOT {
            if chain.is_empty() {
                graph.set_inert(&self.paths, NodeId::ROOT, is_inert);
            }
            graph = self.evaluate(graph, Some(frame));
        }
        while let Some(path) = chain.pop()
            && self.exceeded().is_none()
        {
            self.steps += graph.len();
            let is_instance = self.is_instance(&graph);
            self.move_to_child(&mut graph, path, is_instance);
            if chain.is_empty() && is_inert {
                graph.set_inert(&self.paths, NodeId::ROOT, true);
            }
            if !self.discard_moved(&mut graph, Some(frame)) {
                graph = self.evaluate(graph, Some(frame));
            }
        }
        graph
    }

    /// Discards all opinions about a prim if a relocate moved it away from one of its sites, and returns
    /// whether it did: no arc may bring it in there.
    fn discard_moved(&mut self, graph: &mut Graph, frame: Option<&Frame<'_>>) -> bool {
        let is_moved = |id: &NodeId| {
            let node = &graph[*id];
            let relocates = self.layers.moved(node.stack);
            node.contributes() && relocates.is_some_and(|moved| moved.is_source(node.path))
        };
        let Some(moved) = graph.ids().find(is_moved) else {
            return false;
        };
        if let Some(frame) = frame {
            let parent = &frame.graph[frame.parent];
            let message = format!(
                "the {} targets {}, which a relocate moves or removes; name the path to which it moves",
                frame.kind.name(),
                self.paths.text(graph[moved].path)
            );
            let layer = self.layers.stack(parent.stack).root;
            self.add_error(CompositionError {
                message,
                layer: Some(self.layers.layer(layer).identifier.clone()),
                path: Some(self.paths.text(parent.path)),
            });
        }
        graph.set_inert(&self.paths, NodeId::ROOT, true);
        for child in graph.root().children.clone() {
            graph.elide(child);
        }
        true
    }

    /// Turns the index of a prim into the beginning of that of its child.
    fn move_to_child(&mut self, graph: &mut Graph, path: PathId, is_instance: bool) {
        if is_instance {
            for (id, is_shared) in self.shared_nodes(graph) {
                if !is_shared {
                    graph.set_inert(&self.paths, id, true);
                }
            }
        }
        for (index, node) in graph.nodes_mut().iter_mut().enumerate() {
            node.path = self.paths.child_like(node.path, path);
            node.has_specs = node.has_specs && self.layers.has_specs(node.stack, node.path);
            node.is_ancestral = index > 0;
        }
    }

    /// Returns the nodes of an instance, the strongest first, and whether they are part of what instances
    /// share: a node of an arc of the prim itself, or below one.
    ///
    /// Stops at the first shared node of each branch; all nodes below it contribute.
    fn shared_nodes(&self, graph: &Graph) -> Vec<(NodeId, bool)> {
        let mut found = vec![(NodeId::ROOT, false)];
        let mut stack: Vec<(NodeId, bool)> = Vec::new();
        let root = graph.root().children.iter().rev();
        stack.extend(root.map(|child| (*child, false)));
        while let Some((id, is_direct)) = stack.pop() {
            let node = &graph[id];
            if node.is_culled {
                continue;
            }
            let is_direct = is_direct || !node.is_ancestral;
            let is_shared = is_direct && node.has_specs;
            found.push((id, is_shared));
            if !is_shared {
                stack.extend(node.children.iter().rev().map(|child| (*child, is_direct)));
            }
        }
        found
    }

    /// Returns whether the prim of an index is an instance.
    fn is_instance(&self, graph: &Graph) -> bool {
        if graph.len() < 2 {
            return false;
        }
        if !self
            .shared_nodes(graph)
            .iter()
            .any(|(_, is_shared)| *is_shared)
        {
            return false;
        }
        for id in graph.subtree(NodeId::ROOT) {
            let node = &graph[id];
            if !node.contributes() {
                continue;
            }
            for (member, spec) in self.layers.specs(node.stack, node.path) {
                if spec.fields & fields::INSTANCEABLE != 0 {
                    let value = self.layers.opened(member.layer).field(spec, "instanceable");
                    if let Some(Value::Bool(flag)) = value {
                        return flag;
                    }
                }
            }
        }
        false
    }

    /// Marks the nodes without opinions, except those of arcs of the prim itself.
    fn cull(&self, graph: &mut Graph) {
        // The copies of specializes come first: the nodes of the arcs stay as long as they do.
        let copies = graph.root().children.iter().copied();
        let copies: Vec<NodeId> = copies.filter(|child| graph.is_propagated(*child)).collect();
        for copy in copies.into_iter().rev() {
            for id in graph.subtree(copy).into_iter().rev() {
                self.cull_node(graph, id);
            }
        }
        for id in graph.subtree(NodeId::ROOT).into_iter().rev() {
            self.cull_node(graph, id);
        }
    }

    fn cull_node(&self, graph: &mut Graph, id: NodeId) {
        let node = &graph[id];
        if id == NodeId::ROOT || node.is_culled {
            return;
        }
        if graph.levels_below_arc(&self.paths, id) == 0 || (node.has_specs && node.contributes()) {
            return;
        }
        // OpenUSD keeps inherits of nested classes in the root layer stack.
        if node.kind == NodeKind::Inherit && node.stack == self.root {
            let first = match node.origin == node.parent {
                true => id,
                false => graph.first_origin(id).0,
            };
            if self.paths.len(graph.target(&self.paths, first)) > 1 {
                return;
            }
        }
        let owner = graph.owner(id);
        let is_kept = |id: &NodeId| !graph[*id].is_culled;
        if node.children.iter().any(is_kept) || (owner != id && is_kept(&owner)) {
            return;
        }
        graph.cull(&self.paths, id);
    }

    /// Returns the names of the children of a prim, in order: from the weakest site to the strongest, each
    /// appends its new names and then applies its order.
    pub fn child_names(&self, index: &Index) -> Vec<Token> {
        let mut names: Vec<Token> = Vec::new();
        let mut known: HashSet<Token> = HashSet::new();
        let mut moved: HashSet<&str> = HashSet::new();
        let is_direct = |id: NodeId| {
            let mut chain = index.graph.chain(id);
            chain.any(|above| above != NodeId::ROOT && !index.graph[above].is_ancestral)
        };
        for id in index.order.iter().rev() {
            let node = &index.graph[*id];
            if !node.contributes() || (index.is_instance && !(node.has_specs && is_direct(*id))) {
                continue;
            }
            if let Some(relocates) = self.layers.moved(node.stack) {
                moved.extend(relocates.rename(&self.paths, node.path, &mut names));
                known = names.iter().cloned().collect();
            }
            for member in self.layers.stack(node.stack).members.iter().rev() {
                let opened = self.layers.opened(member.layer);
                let root_field = |key: &str| {
                    let value = opened.data.try_field(&sdf::Path::abs_root(), key).ok()??;
                    Some(value.into_owned())
                };
                let (children, order) = match node.path {
                    PathId::ROOT => (root_field("primChildren"), root_field("primOrder")),
                    path => {
                        let Some(spec) = opened.specs.get(&path).copied() else {
                            continue;
                        };
                        let has_order = spec.fields & fields::ORDER != 0;
                        let order = has_order.then(|| opened.field(spec, "primOrder"));
                        (opened.field(spec, "primChildren"), order.flatten())
                    }
                };
                if let Some(Value::TokenVec(children)) = children {
                    names.extend(
                        children
                            .into_iter()
                            .filter(|name| known.insert(name.clone())),
                    );
                }
                if let Some(Value::TokenVec(order)) = order {
                    sdf::apply_ordering(&mut names, &order);
                }
            }
        }
        names.retain(|name| !moved.contains(name.as_str()));
        names
    }
}

impl Indexer<'_, '_> {
    fn run(&mut self) {
        self.add_steps_below(NodeId::ROOT, false, false);
        while self.composer.exceeded().is_none() {
            let ancestral = (Step::AncestralVariantSets, u32::MAX, NodeId::ROOT);
            let first = self.steps.first().copied().filter(|step| *step < ancestral);
            if let Some(step) = first {
                self.steps.remove(&step);
                self.take(step.0, step.2);
            } else if let Some(task) = self.next_variant(true) {
                self.select(task);
            } else if let Some(step) = self
                .steps
                .first()
                .copied()
                .filter(|step| step.0 < Step::Unresolved)
            {
                self.steps.remove(&step);
                self.take(step.0, step.2);
            } else if let Some(task) = self.next_variant(false) {
                self.select(task);
            } else if let Some(step) = self.steps.pop_first() {
                self.take(step.0, step.2);
            } else {
                break;
            }
        }
    }

    fn take(&mut self, step: Step, node: NodeId) {
        match step {
            Step::Relocates => self.add_relocated(node),
            Step::ImpliedRelocates => self.imply_relocated(node),
            Step::References => self.add_assets(node, NodeKind::Reference),
            Step::Payloads => self.add_assets(node, NodeKind::Payload),
            Step::Inherits => self.add_classes(node, NodeKind::Inherit),
            Step::Specializes => self.add_classes(node, NodeKind::Specialize),
            Step::ImpliedSpecializes => self.propagate_specializes(node),
            Step::ImpliedClasses => self.imply_classes(node),
            Step::AncestralVariantSets => self.find_ancestral_variant_sets(node),
            Step::VariantSets => {
                if self.graph[node].contributes() {
                    self.find_variant_sets(node, self.graph[node].path, false);
                }
            }
            Step::Unresolved => self.check_target(node),
        }
    }

    /// Adds a step. Nodes of implied classes are evaluated from the last to the first, so that those of
    /// ancestors come after their descendants.
    fn add_step(&mut self, step: Step, node: NodeId) {
        let order = match step {
            Step::ImpliedClasses => u32::MAX - node.index(),
            _ => node.index(),
        };
        self.steps.insert((step, order, node));
    }

    /// Adds the steps of a new node, and of those that were grafted with it.
    fn add_steps(&mut self, id: NodeId, is_grafted: bool) {
        if self.graph[id].kind.is_class() {
            let first = self.first_of_classes(id);
            self.add_step(Step::ImpliedClasses, first);
        } else if self.graph.has_class_child(id) {
            self.add_step(Step::ImpliedClasses, id);
        }
        let has_specialize = |id: &NodeId| self.graph[*id].kind == NodeKind::Specialize;
        if self.frame.is_none() && self.graph.subtree(id).iter().any(has_specialize) {
            self.add_step(Step::ImpliedSpecializes, id);
        }
        self.add_steps_below(id, is_grafted, true);
    }

    fn add_steps_below(&mut self, top: NodeId, is_grafted: bool, is_new: bool) {
        let is_outermost = self.frame.is_none();
        for id in self.graph.subtree(top) {
            let node = &self.graph[id];
            let (stack, path, kind) = (node.stack, node.path, node.kind);
            if is_outermost && is_new && matches!(kind, NodeKind::Reference | NodeKind::Payload) {
                self.add_step(Step::Unresolved, id);
            }
            if is_outermost && is_grafted {
                self.add_step(Step::AncestralVariantSets, id);
            }
            if kind == NodeKind::Relocate {
                self.add_step(Step::ImpliedRelocates, id);
            }
            let node = &self.graph[id];
            let contributes = node.contributes();
            if contributes && !is_grafted && self.composer.layers.moved(stack).is_some() {
                self.add_step(Step::Relocates, id);
            }
            let node = &self.graph[id];
            if !contributes || !node.has_specs {
                continue;
            }
            let has = self.composer.layers.fields(stack, path);
            if is_outermost && has & fields::VARIANT_SETS != 0 {
                self.add_step(Step::VariantSets, id);
            }
            if is_grafted {
                continue;
            }
            for (field, step) in [
                (fields::REFERENCES, Step::References),
                (fields::PAYLOAD, Step::Payloads),
                (fields::INHERITS, Step::Inherits),
                (fields::SPECIALIZES, Step::Specializes),
            ] {
                if has & field != 0 {
                    self.add_step(step, id);
                }
            }
        }
    }

    /// Returns the node at which the propagation of a class begins: the prim that has the first arc of the
    /// chain of classes, also across those of ancestors.
    fn first_of_classes(&self, id: NodeId) -> NodeId {
        let mut first = id;
        while self.graph[first].kind.is_class() {
            let (instance, class) = self.graph.class_hierarchy(&self.composer.paths, first);
            if instance == first {
                break;
            }
            first = instance;
            if self.graph[instance].kind.is_class() {
                let above = self.graph.target(&self.composer.paths, instance);
                if self
                    .composer
                    .paths
                    .has_prefix(self.graph[class].path, above)
                {
                    break;
                }
            }
        }
        first
    }

    /// Returns whether an arc leads to a prim that contains the one with the arc, or that it contains.
    fn is_cycle(&mut self, parent: NodeId, stack: StackId, path: PathId) -> bool {
        self.composer.steps += self.graph.len();
        if is_nested(&self.composer.paths, &self.graph, parent, stack, path) {
            return true;
        }
        let (mut path, mut root, mut frame) = (path, self.graph.root().path, self.frame);
        while let Some(at) = frame {
            path = self.in_frame(at, root, path);
            self.composer.steps += at.graph.len();
            if is_nested(&self.composer.paths, at.graph, at.parent, stack, path) {
                return true;
            }
            root = at.graph.root().path;
            frame = at.previous;
        }
        false
    }

    /// Returns whether an arc only propagates a class to the source of a relocate, where its site has no
    /// meaning.
    fn is_below_relocate(&self, arc: &NewArc) -> bool {
        arc.kind.is_class()
            && arc.parent != arc.origin
            && (self.graph.chain(arc.parent))
                .map(|id| self.kind(id))
                .find(|kind| !kind.is_class())
                == Some(NodeKind::Relocate)
    }

    /// Returns the kind that a node has in the graph of which this one becomes a part.
    fn kind(&self, id: NodeId) -> NodeKind {
        match self.frame {
            Some(frame) if id == NodeId::ROOT => frame.kind,
            _ => self.graph[id].kind,
        }
    }

    /// Returns the path of a node when its graph is part of that of the frame: the graph is composed for an
    /// ancestor of the target first.
    fn in_frame(&mut self, frame: &Frame<'_>, root: PathId, path: PathId) -> PathId {
        match path == root {
            true => frame.target,
            false => self.composer.paths.replace_prefix(frame.target, root, path),
        }
    }

    /// Returns whether a node contributes this site already, also in the graphs around this one.
    fn is_duplicate(&mut self, stack: StackId, path: PathId) -> bool {
        self.composer.steps += self.graph.len();
        if self.graph.at_site(stack, path) {
            return true;
        }
        let (mut path, mut root, mut frame) = (path, self.graph.root().path, self.frame);
        while let Some(at) = frame {
            path = self.in_frame(at, root, path);
            self.composer.steps += at.graph.len();
            if at.graph.at_site(stack, path) {
                return true;
            }
            root = at.graph.root().path;
            frame = at.previous;
        }
        false
    }

    /// Returns the site with a path, for messages.
    fn identifier(&self, stack: StackId) -> String {
        let layers = &self.composer.layers;
        layers.layer(layers.stack(stack).root).identifier.clone()
    }

    fn report_cycle(&mut self, arc: &NewArc) {
        let mut hops = vec![(arc.kind, arc.path)];
        let (mut graph, mut node, mut frame) = (&self.graph, arc.parent, self.frame);
        let first = loop {
            while let Some(parent) = graph.parent(node) {
                hops.push((graph[node].kind, graph[node].path));
                node = parent;
            }
            let Some(at) = frame else {
                break (graph.root().stack, graph.root().path);
            };
            hops.push((at.kind, graph.root().path));
            (graph, node, frame) = (at.graph, at.parent, at.previous);
        };
        let paths = &self.composer.paths;
        let count = hops.len();
        let hops = hops.into_iter().rev().enumerate();
        let hops: Vec<String> = hops
            .filter(|(index, _)| *index < MAX_HOPS || index + 1 == count)
            .map(|(_, (kind, path))| format!("{} {}", kind.verb(), paths.text(path)))
            .collect();
        let path = paths.text(first.1);
        let message = format!(
            "{path} is composed of itself: it {}; this arc is not composed",
            hops.join(", which ")
        );
        let layer = Some(self.identifier(first.0));
        self.composer.add_error(CompositionError {
            message,
            layer,
            path: Some(path),
        });
    }

    /// Adds a node for an arc, and the steps of the node.
    fn add(&mut self, mut arc: NewArc) -> Option<NodeId> {
        let is_too_deep = self.composer.paths.prims(arc.path) as usize > DEEPEST;
        if self.composer.nodes >= MAX_NODES {
            self.report_limit(is_too_deep);
            return None;
        }
        // The steps of the node and its place among the others depend on the nodes so far.
        self.composer.steps += self.graph.len();
        let may_cycle = arc.kind != NodeKind::Variant && !self.is_below_relocate(&arc);
        if may_cycle && self.is_cycle(arc.parent, arc.stack, arc.path) {
            // A propagated class that maps to the prim itself is no arc that a layer has.
            if arc.parent == arc.origin || arc.path != self.graph[arc.parent].path {
                self.report_cycle(&arc);
            }
            return None;
        }
        arc.skips_duplicates |= self.frame.is_some_and(|frame| frame.skips_duplicates);
        if arc.skips_duplicates && self.is_duplicate(arc.stack, arc.path) {
            return None;
        }
        let is_too_nested = arc.with_ancestral && self.composer.depth >= MAX_NESTED;
        if is_too_deep || is_too_nested {
            self.report_limit(is_too_deep);
            return None;
        }
        self.composer.nodes += 1;
        let parent = &self.graph[arc.parent];
        let to_root = parent.to_root.compose(&mut self.composer.paths, &arc.map);
        let mut node = Node::new(arc.stack, arc.path, arc.kind, arc.parent);
        node.is_loaded = parent.is_loaded || self.graph[arc.origin].is_loaded || arc.is_loaded;
        node.origin = arc.origin;
        node.depth = arc.depth;
        node.number = arc.number;
        node.source = arc.source;
        node.to_parent = arc.map.clone();
        node.to_root = to_root;
        let id = if arc.with_ancestral {
            let frame = Frame {
                graph: &self.graph,
                parent: arc.parent,
                kind: arc.kind,
                to_parent: arc.map,
                target: arc.path,
                skips_duplicates: arc.skips_duplicates,
                previous: self.frame,
            };
            self.composer.depth += 1;
            let nested = self
                .composer
                .nested(arc.stack, arc.path, arc.is_inert, &frame);
            self.composer.depth -= 1;
            // The asset is not read: do not map the nodes of each level of a chain on the way back.
            if self.composer.exceeded().is_some() {
                return None;
            }
            self.composer.steps += nested.len();
            self.graph.graft(&mut self.composer.paths, node, nested)
        } else {
            node.has_specs = match arc.path {
                PathId::ROOT => true,
                path => self.composer.layers.has_specs(arc.stack, path),
            };
            if arc.is_inert {
                node.is_inert = true;
                node.restricted_at = 1;
            }
            self.graph.insert(&self.composer.paths, node)
        };
        self.add_steps(id, arc.with_ancestral);
        if arc.path == PathId::ROOT {
            for id in self.graph.subtree(id) {
                self.graph.set_inert(&self.composer.paths, id, true);
            }
        }
        Some(id)
    }

    fn report_limit(&mut self, is_too_deep: bool) {
        let mut root = &self.graph;
        let mut frame = self.frame;
        while let Some(at) = frame {
            (root, frame) = (at.graph, at.previous);
        }
        let path = self.composer.paths.text(root.root().path);
        let reason = match is_too_deep {
            true => format!("lead to a prim nested more than {DEEPEST} deep"),
            false if self.composer.nodes >= MAX_NODES => {
                format!(
                    "lead to more than {MAX_NODES} sites: let prims that need the same target refer to it once"
                )
            }
            false => format!("form a chain of more than {MAX_NESTED} arcs"),
        };
        self.composer.add_error(CompositionError {
            message: format!(
                "the references, payloads, inherits and specializes of {path} {reason}; the others are not composed"
            ),
            layer: Some(self.identifier(root.root().stack)),
            path: Some(path),
        });
    }

    /// Returns the map of an arc from a node to a target.
    fn map_of(&mut self, target: PathId, node: NodeId, offset: sdf::LayerOffset) -> Map {
        let paths = &mut self.composer.paths;
        let (stack, path) = (self.graph[node].stack, self.graph[node].path);
        let source = paths.plain(path);
        let map = Map::new(paths, target, source, offset);
        let Some(moved) = self.composer.layers.moved(stack) else {
            return map;
        };
        // Composing takes the square of the number of relocates, and each relocated prim has the arcs above it.
        let key = (stack, source, target);
        if let Some(known) = self.composer.relocating.get(&key) {
            return known.with_offset(offset);
        }
        let Some(moved) = moved.map(paths, source) else {
            return map;
        };
        let map = moved.compose(paths, &map);
        self.composer.relocating.insert(key, map.clone());
        map
    }

    /// Adds the source of a relocated prim, with the opinions about its ancestors.
    fn add_relocated(&mut self, id: NodeId) {
        let paths = &self.composer.paths;
        let node = &self.graph[id];
        if !node.contributes() && self.graph.levels_below_arc(paths, id) == 0 {
            return;
        }
        let (stack, depth) = (node.stack, paths.prims(node.path));
        let moved = self.composer.layers.moved(stack);
        let Some(path) = moved.and_then(|moved| moved.source(node.path)) else {
            return;
        };
        // Opinions that arcs bring in at the target, other than those of variants, do not count.
        for child in node.children.clone() {
            if self.graph[child].kind != NodeKind::Variant {
                self.graph.elide(child);
            }
        }
        let added = self.add(NewArc {
            kind: NodeKind::Relocate,
            parent: id,
            origin: id,
            stack,
            path,
            map: Map::IDENTITY,
            number: 0,
            depth,
            source: super::super::LayerId(0),
            is_inert: true,
            with_ancestral: true,
            skips_duplicates: false,
            is_loaded: false,
        });
        let Some(added) = added else {
            return;
        };
        let specs: Vec<_> = self.composer.layers.specs(stack, path).collect();
        for (member, _) in specs {
            let message = "the opinions of this prim do not count, as a relocate moves it; write them at its new path".to_owned();
            self.composer.report(message, Some(member), Some(path));
        }
        self.discard_moved_below(added);
    }

    /// Discards the opinions below a source that other relocates move elsewhere.
    fn discard_moved_below(&mut self, top: NodeId) {
        let mut open = vec![top];
        while let Some(id) = open.pop() {
            for child in self.graph[id].children.clone() {
                let node = &self.graph[child];
                let moved = self.composer.layers.moved(node.stack);
                if node.kind == NodeKind::Relocate {
                    continue;
                }
                if node.contributes() && moved.is_some_and(|moved| moved.is_source(node.path)) {
                    self.graph.elide(child);
                } else {
                    open.push(child);
                }
            }
        }
    }

    /// Propagates the source of a relocate across the arc that brings in the relocated prim: arcs of the
    /// layer stack above may refer to it.
    fn imply_relocated(&mut self, id: NodeId) {
        let node = &self.graph[id];
        let path = node.path;
        let above = self.graph.parent(id);
        let across = above.and_then(|above| Some((above, self.graph.parent(above)?)));
        let Some((above, parent)) = across.filter(|_| !node.is_ancestral) else {
            return;
        };
        let map = &self.graph[above].to_parent;
        let Some(path) = map.to_target(&mut self.composer.paths, path) else {
            return;
        };
        let mut known = self.graph[parent]
            .children
            .iter()
            .map(|id| &self.graph[*id]);
        if known.any(|known| known.path == path && known.kind == NodeKind::Relocate) {
            return;
        }
        let node = &self.graph[parent];
        self.add(NewArc {
            kind: NodeKind::Relocate,
            parent,
            origin: id,
            stack: node.stack,
            path,
            map: Map::IDENTITY,
            number: 0,
            depth: self.composer.paths.prims(node.path),
            source: super::super::LayerId(0),
            is_inert: true,
            with_ancestral: false,
            skips_duplicates: false,
            is_loaded: false,
        });
    }

    /// Adds the references or payloads of a node.
    fn add_assets(&mut self, id: NodeId, kind: NodeKind) {
        let node = &self.graph[id];
        let (stack, path) = (node.stack, node.path);
        let arcs = self.composer.asset_arcs(stack, path, kind);
        let mut is_loaded = false;
        if kind == NodeKind::Payload && !arcs.is_empty() {
            // Without a path in the stage, a payload cannot be unloaded.
            is_loaded = self.is_in_stage(id, path);
            if is_loaded && !self.composer.loads_payloads {
                return;
            }
        }
        for (number, arc) in (0..).zip(arcs) {
            self.add_asset(id, kind, number, &arc, is_loaded);
        }
    }

    fn add_asset(
        &mut self,
        id: NodeId,
        kind: NodeKind,
        number: u32,
        arc: &AssetArc,
        is_loaded: bool,
    ) {
        let (stack, path) = (self.graph[id].stack, self.graph[id].path);
        let source = Some(arc.source);
        let name = kind.name();
        let composer = &mut *self.composer;
        let is_prim = |prim: &sdf::Path| {
            prim.is_abs() && prim.is_prim_path() && !prim.contains_prim_variant_selection()
        };
        if !arc.prim.is_empty() && !is_prim(&arc.prim) {
            let message = format!(
                "the {name} targets {}, which is not the path of a prim",
                arc.prim.as_str()
            );
            return composer.report(message, source, Some(path));
        }
        let mut offset = arc.offset;
        if offset.is_valid_composition() {
            // OpenUSD does not apply the offsets of sublayers to references within the layer stack.
            if !arc.identifier.is_empty() {
                offset = arc.source.offset.concatenate(&offset);
            }
        } else {
            let message = format!(
                "the time offset of the {name} @{}@ is not valid, and is ignored",
                arc.asset
            );
            composer.report(message, source, Some(path));
            offset = sdf::LayerOffset::IDENTITY;
        }
        let is_internal = arc.identifier.is_empty();
        let target = if is_internal {
            stack
        } else {
            let root = match composer.layers.open(&mut composer.paths, &arc.identifier) {
                Ok(root) => root,
                Err(fault) => {
                    let asset = &arc.asset;
                    let message = match fault {
                        Fault::Missing => format!("the {name} @{asset}@ does not exist"),
                        Fault::Unreadable(reason) => {
                            format!("the {name} @{asset}@ cannot be read: {reason}")
                        }
                    };
                    return composer.report(message, source, Some(path));
                }
            };
            let rate = |layer| composer.layers.opened(layer).time_codes_per_second;
            offset.scale *= rate(arc.source.layer) / rate(root);
            composer
                .layers
                .stack_of(&mut composer.paths, root, Some(stack))
        };
        let root = composer.layers.stack(target).root;
        let (prim, is_inert) = match arc.prim.is_empty() {
            false => (Some(arc.prim.clone()), false),
            true => {
                let prim = composer.layers.opened(root).default_prim();
                let is_missing = prim.is_none();
                if is_missing {
                    let layer = file_name(&composer.layers.layer(root).identifier).to_owned();
                    let message =
                        format!("the {name} names no prim, and {layer} has no default prim");
                    composer.report(message, None, Some(path));
                }
                (prim, is_missing)
            }
        };
        let prim = prim.and_then(|prim| composer.paths.parse(prim.as_str()));
        let prim = prim.unwrap_or(PathId::ROOT);
        let mut map = self.map_of(prim, id, offset);
        let paths = &mut self.composer.paths;
        if is_internal {
            map = map.with_identity(paths);
        }
        let (len, depth) = (paths.len(prim), paths.prims(path));
        self.add(NewArc {
            kind,
            parent: id,
            origin: id,
            stack: target,
            path: prim,
            map,
            number,
            depth,
            source: arc.source.layer,
            is_inert,
            with_ancestral: len != 1,
            skips_duplicates: false,
            is_loaded,
        });
    }

    /// Returns whether a path of a node has an equivalent in the stage.
    fn is_in_stage(&mut self, id: NodeId, path: PathId) -> bool {
        let path = self.composer.paths.plain(path);
        let mut at = payload_path(self.composer, &self.graph, id, path);
        let mut frame = self.frame;
        while let (Some(path), Some(around)) = (at, frame) {
            let path = across(self.composer, &around.to_parent, around.kind, path);
            at = path
                .and_then(|path| payload_path(self.composer, around.graph, around.parent, path));
            frame = around.previous;
        }
        at.is_some()
    }

    /// Reports a reference or payload to a prim that no layer has.
    fn check_target(&mut self, id: NodeId) {
        let levels = self.graph.levels_below_arc(&self.composer.paths, id);
        let exists = self
            .graph
            .subtree(id)
            .into_iter()
            .any(|below| match levels {
                0 => self.graph[below].has_specs,
                _ => {
                    let target = self.graph.target(&self.composer.paths, below);
                    self.composer
                        .layers
                        .has_specs(self.graph[below].stack, target)
                }
            });
        if exists || self.graph[id].path == PathId::ROOT {
            return;
        }
        let target = self.graph.target(&self.composer.paths, id);
        let site = self.graph.arc_path(&self.composer.paths, id);
        let node = &self.graph[id];
        let message = format!(
            "the {} targets {}, which is not in {}",
            node.kind.name(),
            self.composer.paths.text(target),
            file_name(&self.identifier(node.stack))
        );
        self.composer.add_error(CompositionError {
            message,
            layer: Some(self.composer.layers.layer(node.source).identifier.clone()),
            path: Some(self.composer.paths.text(site)),
        });
    }

    /// Adds the inherits or specializes of a node.
    fn add_classes(&mut self, id: NodeId, kind: NodeKind) {
        let (stack, path) = (self.graph[id].stack, self.graph[id].path);
        let classes = self.composer.class_arcs(stack, path, kind);
        for (number, class) in (0..).zip(classes) {
            let is_prim = class.is_prim_path() && !class.contains_prim_variant_selection();
            let class_path = self.composer.paths.parse(class.as_str());
            let Some(class_path) = class_path.filter(|path| is_prim && *path != PathId::ROOT)
            else {
                let message = format!(
                    "the {} targets {}, which is not the path of a prim",
                    kind.name(),
                    class.as_str()
                );
                self.composer.add_error(CompositionError {
                    message,
                    layer: Some(self.identifier(stack)),
                    path: Some(self.composer.paths.text(path)),
                });
                continue;
            };
            let map = self.map_of(class_path, id, sdf::LayerOffset::IDENTITY);
            let map = map.with_identity(&mut self.composer.paths);
            self.add_class(kind, id, id, map, number, None);
        }
    }

    /// Adds the arc of an inherit or specialize to a node. `same` is the site from which it was propagated.
    ///
    /// Returns the node, which may exist already.
    fn add_class(
        &mut self,
        kind: NodeKind,
        parent: NodeId,
        origin: NodeId,
        map: Map,
        number: u32,
        same: Option<(StackId, PathId)>,
    ) -> Option<NodeId> {
        let above = &self.graph[parent];
        let (stack, parent_path) = (above.stack, above.path);
        let path = class_path(self.composer, parent_path, &map)?;
        let known = match self.kind(parent) {
            NodeKind::Relocate => self.same_class(parent, kind, &map, origin),
            _ => self.child_at(parent, stack, path),
        };
        if known.is_some() {
            return known;
        }
        let contributes = path != parent_path && Some((stack, path)) != same;
        let depth = self.composer.paths.prims(parent_path);
        let is_root_prim = self.composer.paths.len(path) == 1;
        let mut arc = NewArc {
            kind,
            parent,
            origin,
            stack,
            path,
            map,
            number,
            depth,
            source: super::super::LayerId(0),
            is_inert: !contributes,
            with_ancestral: contributes && !is_root_prim,
            skips_duplicates: contributes,
            is_loaded: false,
        };
        // The opinions of a specialize are weaker than all others, so its node is a child of the root: where
        // the arc is, an inert node propagates it.
        if kind == NodeKind::Specialize && (parent != NodeId::ROOT || self.frame.is_some()) {
            arc.is_inert = true;
            arc.with_ancestral = false;
            arc.skips_duplicates = false;
            let node = self.add(arc)?;
            if self.frame.is_none() {
                return self.propagate_specialize(node);
            }
            return Some(node);
        }
        self.add(arc)
    }

    /// Returns the child of a node at a site.
    fn child_at(&self, parent: NodeId, stack: StackId, path: PathId) -> Option<NodeId> {
        let mut children = self.graph[parent].children.iter().copied();
        children.find(|child| self.graph[*child].is_at(stack, path))
    }

    /// Returns the child of the source of a relocate for a class. The sites of classes there have no meaning.
    fn same_class(
        &self,
        parent: NodeId,
        kind: NodeKind,
        map: &Map,
        origin: NodeId,
    ) -> Option<NodeId> {
        let levels = |id| self.graph.levels_below_arc(&self.composer.paths, id);
        let mut children = self.graph[parent].children.iter().copied();
        children.find(|child| {
            let node = &self.graph[*child];
            node.kind == kind && node.to_parent == *map && levels(node.origin) == levels(origin)
        })
    }

    /// Copies the node of a specialize to the children of the root.
    fn propagate_specialize(&mut self, id: NodeId) -> Option<NodeId> {
        let node = &self.graph[id];
        let (stack, path) = (node.stack, node.path);
        if let Some(known) = self.child_at(NodeId::ROOT, stack, path) {
            return Some(known);
        }
        let node = &self.graph[id];
        let arc = NewArc {
            kind: NodeKind::Specialize,
            parent: NodeId::ROOT,
            origin: id,
            stack,
            path,
            map: node.to_root.clone(),
            number: node.number,
            depth: self.composer.paths.prims(self.graph.root().path),
            source: node.source,
            is_inert: false,
            with_ancestral: self.composer.paths.len(path) != 1,
            skips_duplicates: true,
            is_loaded: false,
        };
        self.add(arc)
    }

    /// Copies the nodes of the specializes below a node to the children of the root.
    fn propagate_specializes(&mut self, top: NodeId) {
        if top == NodeId::ROOT {
            return;
        }
        let mut open = vec![top];
        while let Some(id) = open.pop() {
            let (node, parent) = (&self.graph[id], &self.graph[self.graph[id].parent]);
            // Below the source of a relocate, such a node only propagates a class.
            if node.parent != node.origin
                && parent.kind == NodeKind::Relocate
                && parent.is_at(node.stack, node.path)
            {
                continue;
            }
            open.extend(node.children.iter().rev());
            if node.kind == NodeKind::Specialize {
                self.propagate_specialize(id);
            }
        }
    }

    /// Propagates the inherits and specializes of a node to its parent.
    fn imply_classes(&mut self, id: NodeId) {
        let Some(parent) = self.graph.parent(id) else {
            return;
        };
        if self.graph.is_propagated(id) || !self.graph.has_class_child(id) {
            return;
        }
        // A class is outside of the namespace that a reference maps.
        let transfer = self.graph[id]
            .to_parent
            .with_identity(&mut self.composer.paths);
        // Pairs of a node and the one to which its classes are propagated.
        let mut open = vec![(parent, id, transfer, true)];
        while let Some((to, from, transfer, is_first)) = open.pop()
            && self.composer.exceeded().is_none()
        {
            // Classes skip the source of a relocate, whose site no class has.
            if self.graph[to].kind == NodeKind::Relocate {
                let node = &self.graph[to];
                let (above, map) = (node.parent, node.to_parent.clone());
                let paths = &mut self.composer.paths;
                let transfer = map.with_identity(paths).compose(paths, &transfer);
                open.push((above, from, transfer, is_first));
                self.add_step(Step::ImpliedClasses, to);
                continue;
            }
            let children = self.graph[self.graph.owner(from)].children.clone();
            let levels = self.graph.levels_below_arc(&self.composer.paths, from);
            for child in children {
                let node = &self.graph[child];
                let kind = node.kind;
                if !kind.is_class() {
                    continue;
                }
                // This arc continues the chain of classes of which `from` is part.
                if is_first
                    && self.graph[from].kind.is_class()
                    && self.graph.levels_below_arc(&self.composer.paths, child) == levels
                {
                    continue;
                }
                let (number, same) = (node.number, (node.stack, node.path));
                let class_map = node.to_parent.clone();
                let paths = &mut self.composer.paths;
                let map = match transfer == Map::IDENTITY {
                    true => class_map.clone(),
                    false => {
                        let inverse = transfer.inverse(paths);
                        let map = class_map.compose(paths, &inverse);
                        transfer.compose(paths, &map).with_identity(paths)
                    }
                };
                let known = self.graph[to].children.iter().copied();
                let mut known = known.filter(|id| !self.graph.is_propagated(*id));
                let known = known
                    .find(|id| self.graph[*id].origin == child && self.graph[*id].to_parent == map);
                let added = match known {
                    Some(known) => Some(known),
                    None => self.add_class(kind, to, child, map.clone(), number, Some(same)),
                };
                if let Some(added) = added
                    && self.graph.has_class_child(child)
                {
                    let paths = &mut self.composer.paths;
                    let inner = transfer.compose(paths, &class_map);
                    let transfer = map.inverse(paths).compose(paths, &inner);
                    open.push((self.graph.owner(added), child, transfer, false));
                }
            }
            self.composer.steps += 1;
        }
    }

    fn find_ancestral_variant_sets(&mut self, id: NodeId) {
        let mut path = self.composer.paths.parent(self.graph[id].path);
        while path != PathId::ROOT {
            if self.counts_at(id, path) {
                self.find_variant_sets(id, path, true);
            }
            // The sets above were evaluated when this variant was selected.
            if self.composer.paths.is_variant(path) {
                break;
            }
            path = self.composer.paths.parent(path);
        }
    }

    fn find_variant_sets(&mut self, node: NodeId, path: PathId, is_ancestral: bool) {
        let stack = self.graph[node].stack;
        if self.composer.layers.fields(stack, path) & fields::VARIANT_SETS == 0 {
            return;
        }
        let sets: VecDeque<_> = (0..).zip(self.composer.variant_sets(stack, path)).collect();
        let prim = VariantPrim {
            node,
            is_ancestral,
            path,
        };
        if !sets.is_empty() {
            self.variants.push(VariantQueue { prim, sets });
        }
    }

    /// Adds the sets without a selection to the queues again.
    fn retry_unselected(&mut self) {
        for VariantTask { prim, set, number } in self.unselected.drain(..) {
            match self.variants.last_mut() {
                Some(last)
                    if last.prim == prim
                        && last.sets.back().is_some_and(|(known, _)| *known < number) =>
                {
                    last.sets.push_back((number, set));
                }
                _ => self.variants.push(VariantQueue {
                    prim,
                    sets: VecDeque::from([(number, set)]),
                }),
            }
        }
    }

    /// Returns whether the opinions of a node about one of its ancestors count.
    fn counts_at(&self, id: NodeId, path: PathId) -> bool {
        let restricted_at = self.graph[id].restricted_at;
        restricted_at == 0 || restricted_at > self.composer.paths.len(path)
    }

    /// Removes and returns the variant set to select next.
    fn next_variant(&mut self, is_ancestral: bool) -> Option<VariantTask> {
        // Comparing two nodes takes time in proportion to their depth.
        let depths = self
            .variants
            .iter()
            .map(|queue| self.graph.chain(queue.prim.node).count());
        self.composer.steps += depths.sum::<usize>();
        let paths = &self.composer.paths;
        let queues = self.variants.iter_mut().enumerate();
        let queues = queues.filter(|(_, queue)| queue.prim.is_ancestral == is_ancestral);
        let graph = &self.graph;
        let (index, first) = queues.min_by(|(_, a), (_, b)| {
            let by_node = graph.compare(paths, a.prim.node, b.prim.node);
            let number = |queue: &VariantQueue| queue.sets.front().map(|(number, _)| *number);
            by_node.then_with(|| (a.prim.path, number(a)).cmp(&(b.prim.path, number(b))))
        })?;
        let prim = first.prim;
        let next = first.sets.pop_front();
        if first.sets.is_empty() {
            self.variants.swap_remove(index);
        }
        let (number, set) = next?;
        Some(VariantTask { prim, set, number })
    }

    /// Adds the selected variant of a set.
    fn select(&mut self, task: VariantTask) {
        let prim = task.prim;
        if !self.counts_at(prim.node, prim.path) {
            return;
        }
        // Looking for a selection takes time in proportion to the number of nodes.
        if self.composer.nodes >= MAX_NODES {
            return self.report_limit(false);
        }
        let Some((variant, is_loaded)) = self.selected(&task) else {
            self.unselected.push(task);
            return;
        };
        let node = &self.graph[prim.node];
        let (stack, path) = (node.stack, node.path);
        let paths = &mut self.composer.paths;
        let selected = paths.variant(prim.path, &task.set, &variant);
        let variant_path = paths.replace_prefix(path, prim.path, selected);
        let depth = paths.prims(prim.path);
        // As for the inherit below which it is: see `add_class`.
        let skips_duplicates = prim.is_ancestral
            && self.graph.chain(prim.node).any(|id| {
                let node = &self.graph[id];
                node.kind.is_class()
                    && !node.is_inert
                    && self.graph.levels_below_arc(&self.composer.paths, id) == 0
            });
        let added = self.add(NewArc {
            kind: NodeKind::Variant,
            parent: prim.node,
            origin: prim.node,
            stack,
            path: variant_path,
            map: Map::IDENTITY,
            number: task.number,
            depth,
            source: super::super::LayerId(0),
            is_inert: false,
            with_ancestral: prim.is_ancestral,
            skips_duplicates,
            is_loaded,
        });
        // The variant may select variants of sets that had no selection.
        if added.is_some() {
            self.retry_unselected();
        }
    }

    /// Returns the selected variant of a set, and whether it depends on a payload.
    fn selected(&mut self, task: &VariantTask) -> Option<(String, bool)> {
        let (top, path) = self.strongest(task.prim.node, self.composer.paths.plain(task.prim.path));
        // The nodes below it, the strongest first, with the path of the prim in their namespaces.
        let mut nodes: Vec<(NodeId, PathId)> = Vec::new();
        let mut stack = vec![(top, path)];
        while let Some((id, path)) = stack.pop() {
            nodes.push((id, path));
            for child in self.graph[id].children.iter().rev() {
                let map = &self.graph[*child].to_parent;
                if let Some(path) = map.to_source(&mut self.composer.paths, path) {
                    stack.push((*child, path));
                }
            }
        }
        self.composer.steps += nodes.len();
        for (id, path) in &nodes {
            if self.graph[*id].kind != NodeKind::Variant {
                continue;
            }
            let target = self.graph.target(&self.composer.paths, *id);
            let paths = &self.composer.paths;
            if let Some((set, variant)) = paths.selection(target)
                && set == task.set
                && paths.prim(target) == *path
            {
                return Some((variant.to_owned(), self.graph[*id].is_loaded));
            }
        }
        for (id, path) in nodes {
            if !self.counts_at(id, path) {
                continue;
            }
            let node = &self.graph[id];
            let (stack, is_loaded) = (node.stack, node.is_loaded);
            let mut site = path;
            if node.kind == NodeKind::Variant {
                let target = self.graph.target(&self.composer.paths, id);
                let plain = self.composer.paths.plain(target);
                site = self.composer.paths.replace_prefix(path, plain, target);
            }
            if let Some(variant) = self.composer.selection(stack, site, &task.set) {
                return Some((variant, is_loaded)).filter(|(variant, _)| !variant.is_empty());
            }
        }
        None
    }

    /// Returns the highest node to which a path maps, and the path there.
    fn strongest(&mut self, id: NodeId, path: PathId) -> (NodeId, PathId) {
        let paths = &mut self.composer.paths;
        let (mut at, mut mapped) = (id, path);
        if let Some(path) = self.graph[id].to_root.to_target(paths, path) {
            (at, mapped) = (NodeId::ROOT, path);
        } else {
            while let Some(parent) = self.graph.parent(at)
                && let Some(path) = self.graph[at].to_parent.to_target(paths, mapped)
            {
                (at, mapped) = (parent, path);
            }
        }
        let target = self.graph.target(&self.composer.paths, at);
        let plain = self.composer.paths.plain(target);
        if at != id && target != plain {
            mapped = self.composer.paths.replace_prefix(mapped, plain, target);
        }
        (at, mapped)
    }
}

/// Returns whether a site contains, or is contained by, that of a node or of one above it.
fn is_nested(paths: &Paths, graph: &Graph, id: NodeId, stack: StackId, path: PathId) -> bool {
    graph.chain(id).any(|id| {
        let node = &graph[id];
        node.stack == stack
            && (paths.has_prefix(node.path, path) || paths.has_prefix(path, node.path))
    })
}

/// Maps a path of a node to its parent, for the decision whether a payload is loaded. The identity of an arc
/// within a layer stack does not count.
fn across(composer: &mut Composer, map: &Map, kind: NodeKind, path: PathId) -> Option<PathId> {
    let is_asset = matches!(kind, NodeKind::Reference | NodeKind::Payload);
    match is_asset && map.has_identity() {
        true => map.without_identity().to_target(&mut composer.paths, path),
        false => map.to_target(&mut composer.paths, path),
    }
}

/// As [`across`], to the root of a graph.
fn payload_path(
    composer: &mut Composer,
    graph: &Graph,
    id: NodeId,
    path: PathId,
) -> Option<PathId> {
    let map = &graph[id].to_root;
    let mapped = map.to_target(&mut composer.paths, path)?;
    if mapped != path || !map.has_identity() {
        return Some(mapped);
    }
    let (mut id, mut path) = (id, path);
    while let Some(parent) = graph.parent(id) {
        path = across(composer, &graph[id].to_parent, graph[id].kind, path)?;
        id = parent;
    }
    Some(path)
}

/// Returns the path of the class that a prim has by the map of an arc. The selections of the path of the
/// prim are kept: a class beside it is in the same variant.
fn class_path(composer: &mut Composer, parent: PathId, map: &Map) -> Option<PathId> {
    let paths = &mut composer.paths;
    if !paths.has_variants(parent) {
        return map.to_source(paths, parent);
    }
    let mut variant = parent;
    while !paths.is_variant(variant) {
        variant = paths.parent(variant);
    }
    let plain = paths.plain(parent);
    let class = map.to_source(paths, plain)?;
    let plain = paths.plain(variant);
    Some(paths.replace_prefix(class, plain, variant))
}
