//! The bodies and joints of a stage (UsdPhysics), found by what they are and not by where they stand.

use std::collections::HashMap;

use urdf_usd_stage::{Prim, PrimId, Stage};

/// The bodies and joints of a stage.
#[derive(Clone, Debug, Default)]
pub struct Physics {
    /// Prims with PhysicsRigidBodyAPI.
    pub bodies: Vec<PrimId>,
    /// Prims of a joint type.
    pub joints: Vec<Joint>,
    /// Which of `joints` lead to a body, as its second one, by the body.
    pub joints_to: HashMap<PrimId, Vec<usize>>,
}

/// A joint prim.
#[derive(Clone, Debug)]
pub struct Joint {
    /// The prim.
    pub prim: PrimId,
    /// What the relationships name; the first of each.
    pub ends: [End; 2],
    /// `physics:excludeFromArticulation`.
    pub is_excluded: bool,
}

/// One end of a joint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// No target: the world.
    World,
    /// A body, or what stands in one: the target's nearest body at or above it.
    Body(PrimId),
    /// A prim that is no body and stands in none: it does not move.
    Static(PrimId),
    /// A path that leads to no prim.
    Missing(String),
}

/// Whether a type is a joint's, as its name says.
pub fn is_joint(prim: &Prim) -> bool {
    prim.type_name.starts_with("Physics") && prim.type_name.ends_with("Joint")
}

/// Whether a prim is a body.
pub fn is_body(prim: &Prim) -> bool {
    prim.has("PhysicsRigidBodyAPI")
}

impl Physics {
    pub(super) fn of(stage: &Stage) -> Self {
        let mut physics = Self::default();
        for (id, prim) in stage.iter().filter(|(_, prim)| prim.is_present()) {
            if is_body(prim) {
                physics.bodies.push(id);
            }
            if is_joint(prim) {
                let ends = ["physics:body0", "physics:body1"].map(|name| end(stage, prim.targets(name).first()));
                if let End::Body(body) = ends[1] {
                    physics.joints_to.entry(body).or_default().push(physics.joints.len());
                }
                let is_excluded = prim.flag("physics:excludeFromArticulation") == Some(true);
                physics.joints.push(Joint { prim: id, ends, is_excluded });
            }
        }
        physics
    }
}

fn end(stage: &Stage, target: Option<&String>) -> End {
    let Some(path) = target else { return End::World };
    let Some(id) = stage.at(path) else { return End::Missing(path.clone()) };
    let body = std::iter::once(id).chain(stage.ancestors(id)).find(|&id| is_body(&stage[id]));
    body.map_or(End::Static(id), End::Body)
}
