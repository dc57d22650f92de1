//! The bodies and joints of a stage (UsdPhysics), found by type and schema, not by place.

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
    /// The indices of joints by their second body.
    joints_to: HashMap<PrimId, Vec<usize>>,
}

/// A joint prim.
#[derive(Clone, Debug)]
pub struct Joint {
    /// The prim.
    pub prim: PrimId,
    /// The first targets of `physics:body0` and `physics:body1`.
    pub ends: [End; 2],
    /// `physics:excludeFromArticulation`.
    pub is_excluded: bool,
}

/// The target of one end of a joint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// No target: the world.
    World,
    /// The nearest body at or above the target.
    Body(PrimId),
    /// A prim that is neither a body nor inside of one, so that it does not move.
    Static(PrimId),
    /// A path without a prim.
    Missing(String),
}

/// Whether a prim is a joint, by the name of its type.
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

/// Whether a prim is a shape with a surface.
pub fn is_shape(prim: &Prim) -> bool {
    is_geometry(&prim.type_name) && prim.type_name != "Volume"
}

/// Returns the purpose of a prim: its own, or that of the nearest ancestor with one, or `default`.
pub fn purpose(stage: &Stage, id: PrimId) -> &str {
    stage
        .self_and_ancestors(id)
        .find_map(|id| stage[id].text("purpose"))
        .unwrap_or("default")
}

/// Whether a prim is a visible shape: not a collider, and not of the purpose `guide`.
pub fn is_visual(stage: &Stage, id: PrimId) -> bool {
    let prim = &stage[id];
    is_shape(prim) && prim.is_present() && !is_collider(prim) && purpose(stage, id) != "guide"
}

/// Returns the prims of a body: itself and its descendants, without those of nested bodies.
pub fn own_prims(stage: &Stage, body: PrimId) -> Vec<PrimId> {
    let mut prims = Vec::new();
    let mut stack = vec![body];
    while let Some(id) = stack.pop() {
        prims.push(id);
        stack.extend(
            stage[id]
                .children
                .iter()
                .rev()
                .filter(|&&child| !is_body(&stage[child])),
        );
    }
    prims
}

/// Returns the nearest variant set `collision_fidelity` at or above a prim.
pub fn collision_fidelity(stage: &Stage, id: PrimId) -> Option<&VariantSet> {
    let mut here = stage.self_and_ancestors(id);
    here.find_map(|id| {
        stage[id]
            .variant_sets
            .iter()
            .find(|set| set.name == "collision_fidelity")
    })
}

/// Returns the prim at or above `id` that binds a physics material, and the path of the material.
///
/// A binding for all purposes does not count (§1.3.4). A collection-based binding is stronger than a
/// direct one on the same prim.
pub fn bound_material(stage: &Stage, id: PrimId) -> Option<(PrimId, String)> {
    stage.self_and_ancestors(id).find_map(|holder| {
        let prim = &stage[holder];
        let by_collection = prim.relationships.iter().find_map(|(name, relationship)| {
            let [collection, material] = relationship.targets.as_slice() else {
                return None;
            };
            let is_binding = name.starts_with("material:binding:collection:physics:");
            (is_binding && is_member(stage, collection, &stage[id].path))
                .then(|| (holder, material.clone()))
        });
        by_collection.or_else(|| {
            Some((
                holder,
                prim.targets("material:binding:physics").first()?.clone(),
            ))
        })
    })
}

/// Whether a collection (`/robot.collection:name`) includes a prim: its longest matching target is
/// included, not excluded.
fn is_member(stage: &Stage, collection: &str, path: &str) -> bool {
    let Some((holder, name)) = collection.split_once('.') else {
        return false;
    };
    let Some(prim) = stage.prim_at(holder) else {
        return false;
    };
    let longest_match = |kind: &str| {
        let targets = prim.targets(&format!("{name}:{kind}")).iter();
        let above = targets.filter(|above| {
            path.strip_prefix(above.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        above.map(String::len).max()
    };
    longest_match("includes") > longest_match("excludes")
}

impl Physics {
    /// Returns the joints whose second body is `body`.
    pub fn joints_to(&self, body: PrimId) -> impl Iterator<Item = &Joint> {
        let indices = self.joints_to.get(&body).into_iter().flatten();
        indices.filter_map(|&index| self.joints.get(index))
    }

    pub(super) fn new(stage: &Stage) -> Self {
        let mut physics = Self::default();
        for (id, prim) in stage.present() {
            if is_body(prim) {
                physics.bodies.push(id);
            }
            if is_joint(prim) {
                let ends = ["physics:body0", "physics:body1"]
                    .map(|name| resolve_end(stage, prim.targets(name).first()));
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

fn resolve_end(stage: &Stage, target: Option<&String>) -> End {
    let Some(path) = target else {
        return End::World;
    };
    let Some(id) = stage.at(path) else {
        return End::Missing(path.clone());
    };
    let body = stage.self_and_ancestors(id).find(|&id| is_body(&stage[id]));
    body.map_or(End::Static(id), End::Body)
}
