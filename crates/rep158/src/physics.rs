//! The bodies and joints of a stage (UsdPhysics), found by what they are and not by where they
//! stand.

use std::collections::HashMap;

use urdf_usd_stage::{Prim, PrimId, Stage, VariantSet};

use super::layers::is_geometry;

/// The bodies and joints of a stage.
#[derive(Clone, Debug, Default)]
pub struct Physics {
    /// Prims with PhysicsRigidBodyAPI.
    pub bodies: Vec<PrimId>,
    /// Prims of a joint type.
    pub joints: Vec<Joint>,
    /// The indices of the joints whose second body is this, by body.
    joints_to: HashMap<PrimId, Vec<usize>>,
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

/// Whether a prim is a collider.
pub fn is_collider(prim: &Prim) -> bool {
    prim.has("PhysicsCollisionAPI")
}

/// Whether a prim is a shape with a surface: one that can be seen or touched.
pub fn is_shape(prim: &Prim) -> bool {
    is_geometry(&prim.type_name) && prim.type_name != "Volume"
}

/// The purpose of a prim: its own, or that of the nearest prim above that has one; `default` if
/// none has.
pub fn purpose(stage: &Stage, id: PrimId) -> &str {
    stage
        .self_and_ancestors(id)
        .find_map(|id| stage[id].text("purpose"))
        .unwrap_or("default")
}

/// What is to be seen: a shape that is no collider and has another purpose than to guide.
pub fn is_visual(stage: &Stage, id: PrimId) -> bool {
    let prim = &stage[id];
    is_shape(prim) && prim.is_present() && !is_collider(prim) && purpose(stage, id) != "guide"
}

/// A body and what stands in it, without the bodies that it contains and what stands in these.
pub fn own(stage: &Stage, body: PrimId) -> Vec<PrimId> {
    let mut own = Vec::new();
    let mut stack = vec![body];
    while let Some(id) = stack.pop() {
        own.push(id);
        stack.extend(
            stage[id]
                .children
                .iter()
                .rev()
                .filter(|&&child| !is_body(&stage[child])),
        );
    }
    own
}

/// The variant set `collision_fidelity` that a prim stands in, if it does.
pub fn collision_fidelity(stage: &Stage, id: PrimId) -> Option<&VariantSet> {
    let mut here = stage.self_and_ancestors(id);
    here.find_map(|id| {
        stage[id]
            .variant_sets
            .iter()
            .find(|set| set.name == "collision_fidelity")
    })
}

/// The material that is bound to a prim for physics: the prim that binds it, itself or one above,
/// and the material's path. A binding for all purposes is none (§1.3.4).
pub fn bound_material(stage: &Stage, id: PrimId) -> Option<(PrimId, String)> {
    stage.self_and_ancestors(id).find_map(|holder| {
        let prim = &stage[holder];
        let of_collection = prim.relationships.iter().find_map(|(name, relationship)| {
            let [collection, material] = relationship.targets.as_slice() else {
                return None;
            };
            let is_binding = name.starts_with("material:binding:collection:physics:");
            (is_binding && is_member(stage, collection, &stage[id].path))
                .then(|| (holder, material.clone()))
        });
        of_collection.or_else(|| {
            Some((
                holder,
                prim.targets("material:binding:physics").first()?.clone(),
            ))
        })
    })
}

/// Whether a collection (`/robot.collection:name`) includes a prim with all that stands below its
/// targets.
fn is_member(stage: &Stage, collection: &str, path: &str) -> bool {
    let Some((holder, name)) = collection.split_once('.') else {
        return false;
    };
    let Some(prim) = stage.prim_at(holder) else {
        return false;
    };
    let longest = |kind: &str| {
        let targets = prim.targets(&format!("{name}:{kind}")).iter();
        let above = targets.filter(|above| {
            path.strip_prefix(above.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        above.map(String::len).max()
    };
    longest("includes") > longest("excludes")
}

impl Physics {
    /// Returns the joints whose second body is `body`.
    pub fn joints_to(&self, body: PrimId) -> impl Iterator<Item = &Joint> {
        let indices = self.joints_to.get(&body).into_iter().flatten();
        indices.filter_map(|&index| self.joints.get(index))
    }

    pub(super) fn of(stage: &Stage) -> Self {
        let mut physics = Self::default();
        for (id, prim) in stage.present() {
            if is_body(prim) {
                physics.bodies.push(id);
            }
            if is_joint(prim) {
                let ends = ["physics:body0", "physics:body1"]
                    .map(|name| end(stage, prim.targets(name).first()));
                if let End::Body(body) = ends[1] {
                    physics
                        .joints_to
                        .entry(body)
                        .or_default()
                        .push(physics.joints.len());
                }
                let is_excluded = prim.flag("physics:excludeFromArticulation") == Some(true);
                physics.joints.push(Joint {
                    prim: id,
                    ends,
                    is_excluded,
                });
            }
        }
        physics
    }
}

fn end(stage: &Stage, target: Option<&String>) -> End {
    let Some(path) = target else {
        return End::World;
    };
    let Some(id) = stage.at(path) else {
        return End::Missing(path.clone());
    };
    let body = stage.self_and_ancestors(id).find(|&id| is_body(&stage[id]));
    body.map_or(End::Static(id), End::Body)
}
