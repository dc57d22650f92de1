//! A view of a stage for the robot schema: its bodies, joints, sites and robots.

use std::collections::{HashMap, HashSet};

use nalgebra::Matrix4;
use urdf_usd_stage::{Prim, PrimId, PrimMap, Stage};
use urdf_usd_usd_author::isaac_schema as names;

use crate::Error;

/// A stage, restricted to the prims that are part of the scene.
pub struct View<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// Whether each prim and all its ancestors are defined, active and not abstract.
    is_part: PrimMap<bool>,
}

impl<'a> View<'a> {
    /// Creates a view of a stage.
    pub fn new(stage: &'a Stage) -> Self {
        let is_part = stage.inherit(|_, prim, above| prim.is_present() && *above.unwrap_or(&true));
        Self { stage, is_part }
    }

    /// Returns the prim at a path, if it is part of the scene.
    pub fn at(&self, path: &str) -> Option<PrimId> {
        self.stage.at(path).filter(|id| self.is_part[*id])
    }

    /// Iterates over a prim and its descendants in the scene, in the order of the stage.
    pub fn subtree(&self, id: PrimId) -> impl Iterator<Item = PrimId> {
        self.stage.subtree(id).filter(|id| self.is_part[*id])
    }

    /// Iterates over all prims of the scene.
    pub fn prims(&self) -> impl Iterator<Item = (PrimId, &'a Prim)> {
        self.stage.iter().filter(|(id, _)| self.is_part[*id])
    }

    /// Returns the prims with `IsaacRobotAPI`, in the order of the stage: robots before nested ones.
    pub fn robots(&self) -> Vec<PrimId> {
        self.prims()
            .filter(|(_, prim)| prim.has(names::ROBOT_API))
            .map(|(id, _)| id)
            .collect()
    }

    /// Returns the robot: the prim at `path`, or else the first with `IsaacRobotAPI`, or the articulation
    /// that it is a part of, such as the arm of a gripper; the only articulation root that is no body or
    /// joint; the default prim; or the only root prim.
    ///
    /// # Errors
    /// If `path` has no prim, or the stage has none of the others.
    pub fn robot(&self, path: Option<&str>) -> Result<PrimId, Error> {
        let entry = || self.stage.entry.clone();
        if let Some(path) = path {
            return self.at(path).ok_or_else(|| Error::NoPrim {
                path: entry(),
                prim: path.to_owned(),
            });
        }
        let first = self.robots().first().map(|&robot| self.whole_of(robot));
        let roots = || -> Vec<PrimId> {
            self.prims()
                .filter(|(_, prim)| prim.parent.is_none())
                .map(|(id, _)| id)
                .collect()
        };
        let default = || self.stage.default_prim.filter(|id| self.is_part[*id]);
        first
            .or_else(|| self.only_articulation())
            .or_else(default)
            .or_else(|| {
                roots()
                    .as_slice()
                    .first()
                    .copied()
                    .filter(|_| roots().len() == 1)
            })
            .ok_or_else(|| Error::NoRobot {
                path: entry(),
                roots: roots().len(),
            })
    }

    /// Returns the topmost prim of the articulation that a robot is a part of, or else the robot itself.
    ///
    /// The articulation root must be outside of the robot: bodies around it without one, such as a
    /// table below it, are no articulation.
    fn whole_of(&self, robot: PrimId) -> PrimId {
        let has_root = |id: PrimId| self.stage[id].has("PhysicsArticulationRootAPI");
        if let Some(root) = self
            .stage
            .ancestors(robot)
            .find(|&id| self.is_articulation(id))
        {
            return root;
        }
        if self.subtree(robot).any(has_root) {
            return robot;
        }
        let mut neighbours: HashMap<PrimId, Vec<(PrimId, PrimId)>> = HashMap::new();
        for (joint, _) in self.prims().filter(|(id, _)| self.is_joint(*id)) {
            if !self.is_articulated(joint) {
                continue;
            }
            if let [Some(a), Some(b)] = [0, 1].map(|end| self.joint_body(joint, end)) {
                neighbours.entry(a).or_default().push((joint, b));
                neighbours.entry(b).or_default().push((joint, a));
            }
        }
        let mut queue: Vec<PrimId> = self.subtree(robot).filter(|&id| self.is_body(id)).collect();
        let mut reached: HashSet<PrimId> = queue.iter().copied().collect();
        let mut is_rooted = false;
        while let Some(body) = queue.pop() {
            for &(joint, other) in neighbours.get(&body).into_iter().flatten() {
                is_rooted |= has_root(joint) || has_root(other);
                if reached.insert(other) {
                    queue.push(other);
                }
            }
        }
        if !is_rooted {
            return robot;
        }
        let contains_all = |above: &PrimId| {
            let is_inside = |id: &PrimId| self.stage.ancestors(*id).any(|other| other == *above);
            reached.iter().all(is_inside)
        };
        let above = self.stage.ancestors(robot).find(contains_all);
        above.unwrap_or(robot)
    }

    /// Returns whether a prim is an articulation root that is neither a body nor a joint: the topmost prim of
    /// a robot.
    fn is_articulation(&self, id: PrimId) -> bool {
        self.stage[id].has("PhysicsArticulationRootAPI") && !self.is_body(id) && !self.is_joint(id)
    }

    /// Returns the articulation of a stage with one.
    fn only_articulation(&self) -> Option<PrimId> {
        let mut roots = self
            .prims()
            .map(|(id, _)| id)
            .filter(|&id| self.is_articulation(id));
        let first = roots.next();
        first.filter(|_| roots.next().is_none())
    }

    /// Whether a prim is a rigid body.
    pub fn is_body(&self, id: PrimId) -> bool {
        let prim = &self.stage[id];
        prim.has("PhysicsRigidBodyAPI") && prim.flag("physics:rigidBodyEnabled") != Some(false)
    }

    /// Whether a prim is a joint of UsdPhysics.
    pub fn is_joint(&self, id: PrimId) -> bool {
        let name = self.stage[id].type_name.as_str();
        name.starts_with("Physics") && name.ends_with("Joint")
    }

    /// Whether a prim is a site, by the current or the former schema.
    pub fn is_site(&self, id: PrimId) -> bool {
        let prim = &self.stage[id];
        prim.has(names::SITE_API) || prim.has(names::REFERENCE_POINT_API)
    }

    /// Whether a prim is a robot.
    pub fn is_robot(&self, id: PrimId) -> bool {
        self.stage[id].has(names::ROBOT_API)
    }

    /// Returns the nearest rigid body at or above a prim.
    pub fn body_of(&self, id: PrimId) -> Option<PrimId> {
        std::iter::once(id)
            .chain(self.stage.ancestors(id))
            .find(|&id| self.is_body(id))
    }

    /// Returns the body at an end of a joint (0 or 1); `None` for the world or a dangling target.
    pub fn joint_body(&self, joint: PrimId, end: usize) -> Option<PrimId> {
        self.body_of(self.at(self.joint_target(joint, end)?)?)
    }

    /// Whether an end of a joint (0 or 1) targets a prim that does not exist.
    pub fn has_dangling_end(&self, joint: PrimId, end: usize) -> bool {
        self.joint_target(joint, end)
            .is_some_and(|target| self.at(target).is_none())
    }

    fn joint_target(&self, joint: PrimId, end: usize) -> Option<&'a String> {
        self.stage[joint]
            .targets(if end == 0 {
                "physics:body0"
            } else {
                "physics:body1"
            })
            .first()
    }

    /// Whether a joint is enabled and not excluded from the articulation.
    pub fn is_articulated(&self, joint: PrimId) -> bool {
        // A distance joint only limits the distance of its bodies.
        let is_rigid = self.stage[joint].type_name != "PhysicsDistanceJoint";
        is_rigid
            && self.is_enabled(joint)
            && self.stage[joint].flag("physics:excludeFromArticulation") != Some(true)
    }

    /// Whether a joint is enabled.
    pub fn is_enabled(&self, joint: PrimId) -> bool {
        self.stage[joint].flag("physics:jointEnabled") != Some(false)
    }

    /// Returns the outermost robot that contains a prim, below `robot` or elsewhere in the stage.
    pub fn nested_robot_of(&self, prim: PrimId, robot: PrimId) -> Option<PrimId> {
        let above: Vec<PrimId> = std::iter::once(robot)
            .chain(self.stage.ancestors(robot))
            .collect();
        let up = std::iter::once(prim).chain(self.stage.ancestors(prim));
        up.take_while(|id| !above.contains(id))
            .filter(|&id| self.is_robot(id))
            .last()
    }

    /// Returns the transform from a prim to another, in the units and axes of the stage, for column
    /// vectors.
    pub fn within(&self, prim: PrimId, frame: PrimId) -> Option<Matrix4<f64>> {
        Some(self.stage.world(frame).try_inverse()? * self.stage.world(prim))
    }
}
