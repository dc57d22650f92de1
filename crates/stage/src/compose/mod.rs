//! Composes the prims of an asset: computes the sites of opinions about each prim, in order of strength.
//!
//! The algorithm is that of OpenUSD's Pcp (`primIndex.cpp`, release 25.02 and later), which evaluates the
//! arcs of a prim in the order of their kinds and propagates inherits and specializes across the other
//! arcs. The index of a prim begins as that of its parent, each node moved to the child, so that a prim
//! without arcs takes little more than a copy.
//!
//! Limits bound the work: an asset of a few kilobytes can describe 2^30 arcs.

mod graph;
mod index;
mod layers;
mod map;
mod messages;
mod paths;
mod relocates;
mod sites;

use std::collections::{BTreeMap, HashMap};

use super::CompositionError;
pub(crate) use graph::{NodeId, NodeKind, StackId};
pub(crate) use index::Index;
use layers::Member;
pub(crate) use layers::{Fault, Layers};
pub(crate) use paths::{PathId, Paths};
pub(crate) use sites::edit;

/// Maximum number of nodes of a prim index. Adding a node takes time in proportion to their number.
const MAX_NODES: usize = 4096;

/// Maximum number of arcs to nested prims, and of the ancestors of their targets, whose indices are
/// composed one inside the other.
const MAX_NESTED: usize = 2000;

/// Maximum number of nodes that the composition of an asset of small layers visits: less than a second of
/// work.
const MAX_STEPS: usize = 20_000_000;

/// Number of further nodes for each prim that a layer has.
const STEPS_PER_LAYER_PRIM: usize = 200;

/// Maximum number of elements of paths that composition visits to compare and map them: the maps of a chain
/// of arcs grow with its length.
const MAX_PATH_STEPS: usize = 10 * MAX_STEPS;

/// Maximum number of different paths in the namespaces of all nodes, about 100 bytes each.
const MAX_PATHS: usize = 16_000_000;

/// Maximum number of composition errors that are kept.
const MAX_ERRORS: usize = 10_000;

/// Maximum number of arcs that the message about a cycle names.
const MAX_HOPS: usize = 8;

/// Selected variants, by path of the prim and by set.
pub(crate) type Selections = BTreeMap<String, BTreeMap<String, String>>;

/// The layers of an asset, and the state of composing it.
pub(crate) struct Composer {
    pub paths: Paths,
    pub layers: Layers,
    /// The root layer stack.
    pub root: StackId,
    /// Selected variants that override those of the layers.
    chosen: HashMap<PathId, BTreeMap<String, String>>,
    loads_payloads: bool,
    /// The maps of arcs with relocates by layer stack, source and target, without offsets.
    relocating: HashMap<(StackId, PathId, PathId), map::Map>,
    pub errors: Vec<CompositionError>,
    /// Number of nodes that were added for the current prim.
    nodes: usize,
    /// Number of indices that are being composed one inside the other.
    depth: usize,
    steps: usize,
    /// Number of elements of paths that were visited.
    path_steps: usize,
}

impl Composer {
    /// Composes the asset with this root layer, and with overlays in front of it.
    pub fn new(
        mut layers: Layers,
        mut paths: Paths,
        root: super::LayerId,
        overlays: &[super::LayerId],
        chosen: &Selections,
        loads_payloads: bool,
    ) -> Self {
        let stack = layers.stack_of(&mut paths, root, None);
        let members: Vec<_> = layers
            .stack(stack)
            .members
            .iter()
            .map(|member| member.layer)
            .collect();
        for layer in members {
            layers.set_local(layer);
        }
        for overlay in overlays {
            layers.overlay(&mut paths, stack, *overlay);
        }
        let chosen = chosen
            .iter()
            .filter_map(|(path, sets)| Some((paths.parse(path)?, sets.clone())));
        Self {
            chosen: chosen.collect(),
            paths,
            layers,
            root: stack,
            loads_payloads,
            relocating: HashMap::new(),
            errors: Vec::new(),
            nodes: 0,
            depth: 0,
            steps: 0,
            path_steps: 0,
        }
    }

    /// Adds an error.
    fn report(&mut self, message: String, source: Option<Member>, path: Option<PathId>) {
        let layer = source.map(|member| self.layers.layer(member.layer).identifier.clone());
        let path = path.map(|path| self.paths.text(path));
        self.add_error(CompositionError {
            message,
            layer,
            path,
        });
    }

    /// Adds an error unless there are too many, or it repeats the last one.
    fn add_error(&mut self, error: CompositionError) {
        if self.errors.len() < MAX_ERRORS && self.errors.last() != Some(&error) {
            self.errors.push(error);
        }
    }

    /// Returns the limit that composition exceeded, if any.
    pub fn exceeded(&self) -> Option<String> {
        let further = STEPS_PER_LAYER_PRIM * self.layers.prims();
        let is_exceeded = self.steps > MAX_STEPS + further
            || self.paths.visited() > MAX_PATH_STEPS + 10 * further
            || self.paths.count() > MAX_PATHS;
        is_exceeded.then(|| {
            let relocates = match self.layers.has_relocates {
                true => ", and relocate fewer prims",
                false => "",
            };
            format!("its references, payloads, inherits and specializes lead to too many paths: let prims that need the same target refer to it once, and shorten chains of such arcs{relocates}")
        })
    }

    /// Returns the errors so far.
    pub fn take_errors(&mut self) -> Vec<CompositionError> {
        let mut errors = std::mem::take(&mut self.errors);
        errors.append(&mut self.layers.errors);
        errors
    }
}
