//! A stage as the robot schema sees it: which prims are bodies, joints, sites and robots.

use nalgebra::Matrix4;
use urdf_usd_stage::{Prim, PrimId, PrimMap, Stage};
use urdf_usd_usd_author::isaac_schema as names;

use crate::Error;

/// A stage, and which of its prims are part of the scene.
pub struct View<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// Whether each prim and all above it are defined, active and no class.
    is_part: PrimMap<bool>,
}

impl<'a> View<'a> {
    /// Looks at a stage.
    pub fn new(stage: &'a Stage) -> Self {
        let is_part = stage.inherit(|_, prim, above| prim.is_present() && *above.unwrap_or(&true));
        Self { stage, is_part }
    }

    /// The prim at a path, if it is part of the scene.
    pub fn at(&self, path: &str) -> Option<PrimId> {
        self.stage.at(path).filter(|id| self.is_part[*id])
    }

    /// A prim and all below it, as far as they are part of the scene, in the order of the stage.
    pub fn subtree(&self, id: PrimId) -> impl Iterator<Item = PrimId> {
        self.stage.subtree(id).filter(|id| self.is_part[*id])
    }

    /// All prims that are part of the scene.
    pub fn prims(&self) -> impl Iterator<Item = (PrimId, &'a Prim)> {
        self.stage.iter().filter(|(id, _)| self.is_part[*id])
    }

    /// The prims with `IsaacRobotAPI`, in the order of the stage: robots before those within them.
    pub fn robots(&self) -> Vec<PrimId> {
        self.prims()
            .filter(|(_, prim)| prim.has(names::ROBOT_API))
            .map(|(id, _)| id)
            .collect()
    }

    /// The robot that is meant: the prim at `path`; or else the first with `IsaacRobotAPI`, the
    /// default prim, the only root prim.
    ///
    /// # Errors
    /// If there is no such prim, or none can be told.
    pub fn robot(&self, path: Option<&str>) -> Result<PrimId, Error> {
        let entry = || self.stage.entry.clone();
        if let Some(path) = path {
            return self.at(path).ok_or_else(|| Error::NoPrim {
                path: entry(),
                prim: path.to_owned(),
            });
        }
        let first = self.robots().first().copied();
        let roots = || -> Vec<PrimId> {
            self.prims()
                .filter(|(_, prim)| prim.parent.is_none())
                .map(|(id, _)| id)
                .collect()
        };
        let default = || self.stage.default_prim.filter(|id| self.is_part[*id]);
        first
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

    /// Whether a prim is a site, by the schema's name or its former one.
    pub fn is_site(&self, id: PrimId) -> bool {
        let prim = &self.stage[id];
        prim.has(names::SITE_API) || prim.has(names::REFERENCE_POINT_API)
    }

    /// Whether a prim is a robot.
    pub fn is_robot(&self, id: PrimId) -> bool {
        self.stage[id].has(names::ROBOT_API)
    }

    /// The nearest rigid body that a prim is or lies in.
    pub fn body_of(&self, id: PrimId) -> Option<PrimId> {
        std::iter::once(id)
            .chain(self.stage.ancestors(id))
            .find(|&id| self.is_body(id))
    }

    /// The body at an end of a joint (0 or 1). `None`: the world, or what is not there.
    pub fn joint_body(&self, joint: PrimId, end: usize) -> Option<PrimId> {
        self.body_of(self.at(self.joint_target(joint, end)?)?)
    }

    /// Whether an end of a joint (0 or 1) names a prim that is not there.
    pub fn is_lost(&self, joint: PrimId, end: usize) -> bool {
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

    /// Whether a joint is enabled and part of the articulation, and not one that closes a loop.
    pub fn is_articulated(&self, joint: PrimId) -> bool {
        // A rope holds nothing in place.
        let holds = self.stage[joint].type_name != "PhysicsDistanceJoint";
        holds
            && self.is_enabled(joint)
            && self.stage[joint].flag("physics:excludeFromArticulation") != Some(true)
    }

    /// Whether a joint does anything.
    pub fn is_enabled(&self, joint: PrimId) -> bool {
        self.stage[joint].flag("physics:jointEnabled") != Some(false)
    }

    /// The robot within `robot` that a prim is part of, the outermost if several are nested; or a
    /// robot elsewhere in the stage.
    pub fn nested_robot_of(&self, prim: PrimId, robot: PrimId) -> Option<PrimId> {
        let above: Vec<PrimId> = std::iter::once(robot)
            .chain(self.stage.ancestors(robot))
            .collect();
        let up = std::iter::once(prim).chain(self.stage.ancestors(prim));
        up.take_while(|id| !above.contains(id))
            .filter(|&id| self.is_robot(id))
            .last()
    }

    /// Where a prim is in another, in the stage's units and axes, for column vectors.
    pub fn within(&self, prim: PrimId, frame: PrimId) -> Option<Matrix4<f64>> {
        Some(self.stage.world(frame).try_inverse()? * self.stage.world(prim))
    }
}
