//! The node tree of an asset, with ancestor queries in constant time.

use urdf_usd_gltf_extension::Json;

/// The node tree. A node with several parents belongs to the first; nodes in a cycle belong to no
/// tree.
pub struct Hierarchy {
    parents: Vec<Option<usize>>,
    /// Nodes in depth-first order: each one is followed by its descendants. Nodes in cycles and
    /// their descendants are excluded.
    pub order: Vec<usize>,
    /// Range of each node and its descendants in `order`. `a` is a descendant of `b` exactly if the
    /// start of its range is within the range of `b`.
    spans: Vec<Option<(usize, usize)>>,
    /// Additional parents of nodes: the parent, the position in its `children`, the child.
    pub further_parents: Vec<(usize, usize, usize)>,
    /// One node of each cycle.
    pub cycles: Vec<usize>,
}

impl Hierarchy {
    /// Builds the tree of the asset's `nodes`.
    pub fn of(nodes: &[Json]) -> Self {
        let mut parents = vec![None; nodes.len()];
        let mut further_parents = Vec::new();
        for (parent, node) in nodes.iter().enumerate() {
            for (entry, child) in node.list("children").iter().enumerate() {
                let Some(child) = child.index() else { continue };
                match parents.get_mut(child) {
                    Some(slot @ None) => *slot = Some(parent),
                    Some(Some(_)) => further_parents.push((parent, entry, child)),
                    None => {}
                }
            }
        }
        let mut hierarchy = Self {
            order: Vec::with_capacity(nodes.len()),
            spans: vec![None; nodes.len()],
            parents,
            further_parents,
            cycles: Vec::new(),
        };
        hierarchy.arrange();
        hierarchy.find_cycles();
        hierarchy
    }

    fn arrange(&mut self) {
        let mut children = vec![Vec::new(); self.parents.len()];
        let mut stack = Vec::new();
        // From the last node to the first: the stack then yields siblings in ascending order.
        for (node, parent) in self.parents.iter().enumerate().rev() {
            match parent.and_then(|parent| children.get_mut(parent)) {
                Some(siblings) => siblings.push(node),
                None => stack.push(node),
            }
        }
        let mut sizes = vec![1_usize; self.parents.len()];
        while let Some(node) = stack.pop() {
            self.order.push(node);
            stack.extend(children.get(node).into_iter().flatten());
        }
        // In reverse order descendants come before their ancestors, so their sizes are complete.
        for (place, &node) in self.order.iter().enumerate().rev() {
            let size = sizes.get(node).copied().unwrap_or(1);
            if let Some(span) = self.spans.get_mut(node) {
                *span = Some((place, place + size));
            }
            if let Some(above) = self.parent(node).and_then(|parent| sizes.get_mut(parent)) {
                *above += size;
            }
        }
    }

    fn find_cycles(&mut self) {
        // Nodes without a span are in cycles or below them, so each walk up from one ends in a
        // cycle. The cycle is new if the walk returns to a node of its own, and known if it meets
        // a node of an earlier walk. Every node is visited once, so the time is linear.
        let mut walk_of = vec![None; self.parents.len()];
        for start in 0..self.parents.len() {
            let mut at = Some(start).filter(|&node| self.span(node).is_none());
            while let Some(node) = at {
                match walk_of.get_mut(node) {
                    Some(walk @ None) => *walk = Some(start),
                    Some(Some(walk)) if *walk == start => {
                        self.cycles.push(node);
                        break;
                    }
                    _ => break,
                }
                at = self.parent(node);
            }
        }
    }

    /// Returns the parent of a node.
    pub fn parent(&self, node: usize) -> Option<usize> {
        self.parents.get(node).copied().flatten()
    }

    /// Returns the range of `node` and its descendants in [`Self::order`]; `None` in a cycle.
    pub fn span(&self, node: usize) -> Option<(usize, usize)> {
        self.spans.get(node).copied().flatten()
    }

    /// Returns for each node whether it, or a node above it, is one of which `is_top` holds.
    pub fn at_or_below(&self, is_top: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut found = vec![false; self.parents.len()];
        for &node in &self.order {
            let above = self.parent(node).and_then(|above| found.get(above));
            let is_found = above.copied().unwrap_or(false) || is_top(node);
            if let Some(slot) = found.get_mut(node) {
                *slot = is_found;
            }
        }
        found
    }

    /// Returns whether `node` is a descendant of `above`.
    pub fn is_below(&self, node: usize, above: usize) -> bool {
        match (self.span(node), self.span(above)) {
            (Some((place, _)), Some((start, end))) => start < place && place < end,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Hierarchy, Json};

    fn of(children: &[&[usize]]) -> Hierarchy {
        let numbers = |children: &[usize]| {
            Json::List(
                children
                    .iter()
                    .map(|&child| Json::Number(child as f64))
                    .collect(),
            )
        };
        let node =
            |children: &&[usize]| Json::Object(vec![("children".to_owned(), numbers(children))]);
        Hierarchy::of(&children.iter().map(node).collect::<Vec<_>>())
    }

    #[test]
    fn descendants_are_below_and_nothing_else_is() {
        // The tree 0 ─ 1 ─ 3, 0 ─ 2, and the single node 4.
        let tree = of(&[&[1, 2], &[3], &[], &[], &[]]);
        assert_eq!(tree.order, [0, 1, 3, 2, 4]);
        let below: Vec<(usize, usize)> = (0..5)
            .flat_map(|a| (0..5).map(move |b| (a, b)))
            .filter(|&(a, b)| tree.is_below(a, b))
            .collect();
        assert_eq!(below, [(1, 0), (2, 0), (3, 0), (3, 1)]);
        assert_eq!(
            tree.at_or_below(|node| node == 1 || node == 4),
            [false, true, false, true, true]
        );
        assert!(tree.cycles.is_empty() && tree.further_parents.is_empty());
    }

    #[test]
    fn cycles_and_further_parents_are_found_once() {
        let tree = of(&[&[1], &[2], &[1, 3], &[], &[4], &[3, 9]]);
        assert_eq!(tree.cycles, [4]);
        assert_eq!(tree.further_parents, [(2, 0, 1), (5, 0, 3)]);
        let tree = of(&[&[1], &[2], &[0, 3], &[]]);
        assert_eq!((tree.cycles.len(), tree.order.len()), (1, 0));
    }
}
