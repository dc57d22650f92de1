//! Kinematic trees: the connected components of bodies, and the joints that close loops.

#![expect(
    clippy::indexing_slicing,
    reason = "computes on the array of a union-find, whose items are below its length"
)]

use std::collections::{HashMap, HashSet};

use urdf_usd_stage::{PrimId, Stage};

use super::physics::{End, Physics};

/// The kinematic trees of a stage.
#[derive(Clone, Debug, Default)]
pub struct Trees {
    /// The number of the tree of each body: joints that belong to articulations connect its bodies.
    tree_of: HashMap<PrimId, usize>,
    /// The indices in [`Physics::joints`] of joints whose ends are already connected by others.
    pub closing: Vec<usize>,
}

impl Trees {
    /// Builds the trees from the joints that are enabled and not excluded from articulations.
    ///
    /// A joint closes a loop if a union-find already has its ends in one set. The order of the joints
    /// in the stage decides which joint of a loop that is.
    pub fn new(stage: &Stage, physics: &Physics) -> Self {
        let number: HashMap<PrimId, usize> = physics
            .bodies
            .iter()
            .enumerate()
            .map(|(index, &id)| (id, index))
            .collect();
        let mut trees = DisjointSets::new(physics.bodies.len());
        // With one more item for the world: two joints to it close a loop, but do not connect their
        // bodies into one robot.
        let mut anchored = DisjointSets::new(physics.bodies.len() + 1);
        let mut closing = Vec::new();
        for (index, joint) in physics.joints.iter().enumerate() {
            if joint.is_excluded || stage[joint.prim].flag("physics:jointEnabled") == Some(false) {
                continue;
            }
            let node = |end: &End| match end {
                End::Body(id) => number.get(id).copied(),
                End::World | End::Static(_) => Some(physics.bodies.len()),
                End::Missing(_) => None,
            };
            let (Some(a), Some(b)) = (node(&joint.ends[0]), node(&joint.ends[1])) else {
                continue;
            };
            if a == b {
                continue;
            }
            if !anchored.union(a, b) {
                closing.push(index);
            }
            if a.max(b) < physics.bodies.len() {
                trees.union(a, b);
            }
        }
        Self {
            tree_of: number
                .iter()
                .map(|(&id, &index)| (id, trees.root(index)))
                .collect(),
            closing,
        }
    }

    /// Returns each tree with its articulation roots, in the order of the stage.
    ///
    /// A body belongs to the nearest root at or above it. A root that is the nearest for no body
    /// belongs to all bodies below it; a root on a joint, to the body of the joint.
    pub fn robots(&self, stage: &Stage, physics: &Physics) -> Vec<Robot> {
        let is_root =
            |id: PrimId| stage[id].is_present() && stage[id].has("PhysicsArticulationRootAPI");
        let above = |body: PrimId| stage.self_and_ancestors(body).filter(|&id| is_root(id));
        let nearest: HashSet<PrimId> = physics
            .bodies
            .iter()
            .filter_map(|&body| above(body).next())
            .collect();
        let mut robots: Vec<Robot> = Vec::new();
        let mut index_of: HashMap<usize, usize> = HashMap::new();
        for &body in &physics.bodies {
            let Some(&tree) = self.tree_of.get(&body) else {
                continue;
            };
            let at = *index_of.entry(tree).or_insert_with(|| {
                robots.push(Robot::default());
                robots.len() - 1
            });
            robots[at].bodies.push(body);
            let body_roots = above(body)
                .enumerate()
                .filter(|(index, id)| *index == 0 || !nearest.contains(id));
            robots[at].roots.extend(body_roots.map(|(_, id)| id));
        }
        for joint in physics.joints.iter().filter(|joint| is_root(joint.prim)) {
            let body = joint.ends.iter().rev().find_map(|end| {
                if let End::Body(id) = end {
                    Some(id)
                } else {
                    None
                }
            });
            if let Some(&at) = body.and_then(|id| index_of.get(self.tree_of.get(id)?)) {
                robots[at].roots.push(joint.prim);
            }
        }
        for robot in &mut robots {
            robot.roots.sort();
            robot.roots.dedup();
        }
        robots
    }
}

/// A kinematic tree: bodies that joints connect.
#[derive(Clone, Debug, Default)]
pub struct Robot {
    /// The bodies, in the order of the stage.
    pub bodies: Vec<PrimId>,
    /// Its articulation roots, in the order of the stage.
    pub roots: Vec<PrimId>,
}

/// Disjoint sets of indices (union-find with path halving).
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn root(&mut self, mut item: usize) -> usize {
        while self.0[item] != item {
            self.0[item] = self.0[self.0[item]];
            item = self.0[item];
        }
        item
    }

    /// Unites the sets of two items, and returns whether they were different.
    fn union(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
        a != b
    }
}
