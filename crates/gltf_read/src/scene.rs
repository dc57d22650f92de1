//! The node tree of a document, with the transforms at rest, which is with all joints at zero.

#![allow(
    clippy::indexing_slicing,
    reason = "nodes are numbered below `len`, and every table has an entry for each"
)]

use std::collections::HashSet;

use nalgebra::Vector3;

use super::codes;
use super::findings::Findings;
use super::placement::Placement;
use urdf_usd_gltf_extension::{Entry, Json, Motion, axes};
use urdf_usd_robot::Pose;

/// Maximum number of transforms that are multiplied along a path. Longer paths use the world
/// transforms of both ends, which bounds the cost.
const MAX_STEPS: usize = 256;
/// Tolerance of the direction of a turned root node, as a chord: that of single precision.
const UPRIGHT: f64 = 1e-5;

/// The node tree.
pub struct Scene<'a> {
    /// Root object of the document.
    pub root: &'a Json,
    nodes: &'a [Json],
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    local: Vec<Placement>,
    world: Vec<Placement>,
    /// True for nodes whose axes are those of the source, with z up (see [`Self::turn`]).
    is_turned: Vec<bool>,
    /// For each node its index in depth-first order and the number of its descendants. A subtree is
    /// a contiguous range, so [`Self::is_below`] takes constant time.
    spans: Vec<(usize, usize)>,
}

/// A frame that other nodes are relative to.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    /// Node at or above all nodes of the frame.
    pub node: usize,
    /// Transform of the node in the frame.
    pub below: Placement,
    /// Transform of the frame in the root of its tree.
    pub world: Placement,
}

impl<'a> Scene<'a> {
    /// Reads the nodes of the document `root`. `driven`: the channels of nodes that joints drive,
    /// which are reset to zero. `skeletons`: the root node of each model, with the nodes of its
    /// links and joints.
    pub fn new(
        root: &'a Json,
        driven: &HashSet<(usize, Motion)>,
        skeletons: &[(usize, Vec<usize>)],
        findings: &mut Findings,
    ) -> Self {
        let nodes = root.get("nodes").map_or(&[][..], Json::items);
        let mut scene = Self {
            root,
            nodes,
            parents: vec![None; nodes.len()],
            children: vec![Vec::new(); nodes.len()],
            local: Vec::with_capacity(nodes.len()),
            world: vec![Placement::default(); nodes.len()],
            is_turned: vec![false; nodes.len()],
            spans: vec![(0, 0); nodes.len()],
        };
        for node in 0..nodes.len() {
            let entry = scene.entry(node);
            let mut local = Placement::of_node(&entry, findings);
            if driven.contains(&(node, Motion::Rotation)) {
                local.pose.rotation = Default::default();
            }
            if driven.contains(&(node, Motion::Translation)) {
                local.pose.translation = Default::default();
            }
            scene.local.push(local);
            for child in entry
                .indices("children")
                .or_report(findings)
                .unwrap_or_default()
            {
                match scene.parents.get(child) {
                    Some(None) if child != node => {
                        scene.parents[child] = Some(node);
                        scene.children[node].push(child);
                    }
                    known => {
                        let why = if known.is_some() {
                            "has a parent already"
                        } else {
                            "does not exist"
                        };
                        let message = format!("node {child}, a child of node {node}, {why}");
                        findings.report(
                            &codes::NODE_TREE,
                            &entry.below("children"),
                            message,
                            "give every node one parent",
                        );
                    }
                }
            }
        }
        for (root, frames) in skeletons {
            scene.turn(*root, frames);
        }
        scene.place(findings);
        scene
    }

    /// Converts the frames of a model whose root node turns the axes of its source, in which z is
    /// up, to glTF's: option B of the extension's draft. The axes of the frames become glTF's, as if
    /// each pose had been converted, and nothing else moves.
    fn turn(&mut self, root: usize, frames: &[usize]) {
        let is_up = |placement: &Placement| {
            let up = placement.pose.rotation * Vector3::x();
            (up - Vector3::z()).norm() < UPRIGHT
        };
        if !self.local.get(root).is_some_and(is_up) || self.is_turned[root] {
            return;
        }
        self.is_turned[root] = true;
        let mut turned = vec![root];
        for &frame in frames.iter().filter(|frame| **frame < self.nodes.len()) {
            // The nodes between two frames turn with them.
            let mut way = Vec::new();
            let mut at = Some(frame);
            while let Some(node) = at.filter(|&node| !self.is_turned[node]) {
                self.is_turned[node] = true;
                way.push(node);
                at = self.parents[node];
            }
            // A node that is not below the root keeps its axes.
            if at.is_none() {
                way.drain(..).for_each(|node| self.is_turned[node] = false);
            }
            turned.extend(way);
        }
        let below: Vec<usize> = turned
            .iter()
            .flat_map(|&node| &self.children[node])
            .copied()
            .filter(|&child| !self.is_turned[child])
            .collect();
        for node in turned.into_iter().chain(below) {
            self.local[node] = self.turned(node, self.local[node]);
        }
    }

    /// Converts the transform of a node, as it is in the file, to the axes of its parent and itself.
    pub fn turned(&self, node: usize, local: Placement) -> Placement {
        let is_above = self.parents[node].is_some_and(|parent| self.is_turned[parent]);
        let turn = |rotation| Placement::of(Pose::from_parts(Vector3::zeros().into(), rotation));
        match (is_above, self.is_turned[node]) {
            (true, true) => local.in_source_axes(),
            (true, false) => turn(axes::turn().inverse()).then(&local),
            (false, true) => {
                let mut local = local.then(&turn(axes::turn()));
                if local.pose.rotation.angle() < UPRIGHT {
                    local.pose.rotation = Default::default();
                }
                local
            }
            (false, false) => local,
        }
    }

    /// Returns whether the axes of a node are those of the source in the file.
    pub fn is_turned(&self, node: usize) -> bool {
        self.is_turned.get(node).copied().unwrap_or(false)
    }

    /// Returns the transform of what is at a node itself, such as a mesh.
    pub fn contents(&self, node: usize) -> Placement {
        if self.is_turned(node) {
            Placement::of(Pose::from_parts(
                Vector3::zeros().into(),
                axes::turn().inverse(),
            ))
        } else {
            Placement::default()
        }
    }

    /// Computes the world transforms, and breaks cycles by detaching one node of each.
    fn place(&mut self, findings: &mut Findings) {
        let mut is_placed = vec![false; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        let roots = (0..self.nodes.len())
            .filter(|&node| self.parents[node].is_none())
            .collect::<Vec<_>>();
        // Nodes that no root reaches are in a cycle or below one.
        for start in roots.into_iter().chain(0..self.nodes.len()) {
            if is_placed[start] {
                continue;
            }
            if let Some(parent) = self.parents[start].take() {
                let message = format!("node {start} is below itself");
                findings.report(
                    &codes::NODE_TREE,
                    &format!("/nodes/{parent}/children"),
                    message,
                    "break the circle of children",
                );
                self.children[parent].retain(|&child| child != start);
            }
            let mut open = vec![start];
            while let Some(node) = open.pop() {
                is_placed[node] = true;
                self.spans[node].0 = order.len();
                order.push(node);
                let above =
                    self.parents[node].map_or_else(Placement::default, |parent| self.world[parent]);
                let world = above.then(&self.local[node]);
                self.world[node] = if world.is_finite() { world } else { above };
                // Siblings may be in any order: a subtree is contiguous in each.
                open.extend(&self.children[node]);
            }
        }
        for &node in order.iter().rev() {
            if let Some(parent) = self.parents[node] {
                self.spans[parent].1 += self.spans[node].1 + 1;
            }
        }
    }

    /// Returns the parent of a node.
    pub fn parent(&self, node: usize) -> Option<usize> {
        self.parents[node]
    }

    /// Returns the children of a node.
    pub fn children(&self, node: usize) -> &[usize] {
        &self.children[node]
    }

    /// Returns the transform of a node in its parent, with driven channels at zero.
    pub fn local(&self, node: usize) -> &Placement {
        &self.local[node]
    }

    /// Returns the transform of a node in the root of its tree.
    pub fn world(&self, node: usize) -> Placement {
        self.world[node]
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the JSON of a node; null if there is no such node.
    pub fn entry(&self, node: usize) -> Entry<'a> {
        Entry {
            json: self.nodes.get(node).unwrap_or(&Json::Null),
            at: format!("/nodes/{node}"),
        }
    }

    /// Returns the name of a node, if it has one.
    pub fn name(&self, node: usize) -> Option<&'a str> {
        self.nodes
            .get(node)?
            .get("name")?
            .text()
            .filter(|name| !name.is_empty())
    }

    /// Returns the frame of a node.
    pub fn base(&self, node: usize) -> Base {
        Base {
            node,
            below: Placement::default(),
            world: self.world[node],
        }
    }

    /// Returns the transform of `node` in the frame `base`, and whether it is at or below that
    /// frame's node.
    pub fn relative(&self, base: &Base, node: usize) -> (Placement, bool) {
        let is_below = self.is_below(node, base.node);
        let mut way = Vec::new();
        let mut at = Some(node).filter(|_| is_below);
        while let Some(here) = at.filter(|&here| here != base.node && way.len() < MAX_STEPS) {
            way.push(here);
            at = self.parents[here];
        }
        let placement = if at == Some(base.node) {
            // Frames of a robot have no scale: the scale above a frame applies to its contents.
            let start = Placement::scaled(base.world.scale).then(&base.below);
            way.iter()
                .rev()
                .fold(start, |placement, &node| placement.then(&self.local[node]))
        } else {
            let world = self.world[node];
            Placement {
                pose: base.world.pose.inverse() * world.pose,
                ..world
            }
        };
        (
            if placement.is_finite() {
                placement
            } else {
                Placement::default()
            },
            is_below,
        )
    }

    /// Returns whether `node` is `above` or one of its descendants.
    pub fn is_below(&self, node: usize, above: usize) -> bool {
        let (start, count) = self.spans[above];
        (start..=start + count).contains(&self.spans[node].0)
    }
}

/// Returns whether a scale is 1 within single precision.
pub fn is_one(scale: &Vector3<f64>) -> bool {
    (scale - Vector3::repeat(1.0)).amax() < 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(text: &str, test: impl FnOnce(Scene<'_>, Vec<urdf_usd_diagnostic::Diagnostic>)) {
        let json: Json = serde_json::from_str(text).unwrap();
        let mut findings = Findings::new(None);
        let scene = Scene::new(
            &json,
            &HashSet::from([(1, Motion::Rotation)]),
            &[],
            &mut findings,
        );
        test(scene, findings.finish());
    }

    #[test]
    fn nodes_are_where_their_ancestors_put_them() {
        let text = r#"{"nodes": [
            {"scale": [2, 2, 2], "children": [1]},
            {"translation": [1, 0, 0], "rotation": [0, 1, 0, 0], "children": [2]},
            {"translation": [0, 0, 1], "children": [3]},
            {"translation": [1, 0, 0], "scale": [3, 1, 1]},
            {"translation": [0, 5, 0]}
        ]}"#;
        scene(text, |scene, findings| {
            assert!(findings.is_empty());
            let (found, is_below) = scene.relative(&scene.base(1), 3);
            // Node 1 has its rotation driven by a joint; glTF's x is y in ROS axes.
            assert_eq!(
                (found.pose.translation.vector, is_below),
                (Vector3::new(2.0, 2.0, 0.0), true)
            );
            assert_eq!(found.scale, Vector3::new(2.0, 6.0, 2.0));
            let (found, is_below) = scene.relative(&scene.base(4), 2);
            assert_eq!(
                (found.pose.translation.vector, is_below),
                (Vector3::new(2.0, 2.0, -5.0), false)
            );
        });
    }

    #[test]
    fn what_is_no_tree_becomes_one() {
        let text = r#"{"nodes": [
            {"children": [1, 9]}, {"children": [1, 2]}, {"children": [1]}, {"children": [4]}, {"children": [3]}
        ]}"#;
        scene(text, |scene, findings| {
            assert_eq!(
                findings.iter().map(|d| d.code).collect::<Vec<_>>(),
                ["gltf-read-node-tree"; 4]
            );
            assert_eq!(scene.parents, [None, Some(0), Some(1), None, Some(3)]);
            assert_eq!(scene.children[4], [0; 0]);
        });
    }
}
