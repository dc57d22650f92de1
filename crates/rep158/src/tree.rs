//! Which bodies hang together by joints, and which joints close loops.

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
    /// Which tree a body is in: bodies with the same number hang together by joints that belong to
    /// articulations.
    tree_of: HashMap<PrimId, usize>,
    /// The joints, by their index in [`Physics::joints`], whose ends others connect already.
    pub closing: Vec<usize>,
}

impl Trees {
    /// The trees that the joints make which are enabled and not excluded from articulations.
    pub fn of(stage: &Stage, physics: &Physics) -> Self {
        let number: HashMap<PrimId, usize> = physics
            .bodies
            .iter()
            .enumerate()
            .map(|(index, &id)| (id, index))
            .collect();
        let mut apart = Sets::new(physics.bodies.len());
        // One more for the world, which holds bodies but does not make one robot of all that it
        // holds.
        let mut held = Sets::new(physics.bodies.len() + 1);
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
            if !held.join(a, b) {
                closing.push(index);
            }
            if a.max(b) < physics.bodies.len() {
                apart.join(a, b);
            }
        }
        Self {
            tree_of: number
                .iter()
                .map(|(&id, &index)| (id, apart.root(index)))
                .collect(),
            closing,
        }
    }

    /// Each tree with its articulation roots, in the order of the stage. A body belongs to the
    /// nearest root at or above it; a root that is the nearest for no body belongs to all that
    /// stands below it; one on a joint, to what the joint holds.
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
        let mut place: HashMap<usize, usize> = HashMap::new();
        for &body in &physics.bodies {
            let Some(&tree) = self.tree_of.get(&body) else {
                continue;
            };
            let at = *place.entry(tree).or_insert_with(|| {
                robots.push(Robot::default());
                robots.len() - 1
            });
            robots[at].bodies.push(body);
            let of_body = above(body)
                .enumerate()
                .filter(|(index, id)| *index == 0 || !nearest.contains(id));
            robots[at].roots.extend(of_body.map(|(_, id)| id));
        }
        for joint in physics.joints.iter().filter(|joint| is_root(joint.prim)) {
            let held = joint.ends.iter().rev().find_map(|end| {
                if let End::Body(id) = end {
                    Some(id)
                } else {
                    None
                }
            });
            if let Some(&at) = held.and_then(|id| place.get(self.tree_of.get(id)?)) {
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

/// Bodies that hang together by joints.
#[derive(Clone, Debug, Default)]
pub struct Robot {
    /// The bodies, in the order of the stage.
    pub bodies: Vec<PrimId>,
    /// Its articulation roots, in the order of the stage.
    pub roots: Vec<PrimId>,
}

/// Sets that are joined (union-find).
struct Sets(Vec<usize>);

impl Sets {
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

    /// Joins the sets of two items; false if they are one already.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
        a != b
    }
}
