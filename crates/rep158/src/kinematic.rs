//! The prims that make up the tree of links: bodies, joints and frames.

use urdf_usd_stage::{OpKind, Prim, PrimId, Stage};

use super::physics::{is_body, is_joint};

/// What a prim is in the tree of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It has PhysicsRigidBodyAPI.
    Body,
    /// It is of a joint type.
    Joint,
    /// It has RosFrameAPI, and is no body.
    Frame,
}

impl Kind {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Joint => "joint",
            Self::Frame => "frame",
        }
    }
}

/// All bodies, joints and frames that take part in the scene.
pub fn kinematic(stage: &Stage) -> impl Iterator<Item = (PrimId, Kind)> + '_ {
    stage.present().filter_map(|(id, prim)| {
        let kind = match prim {
            prim if is_body(prim) => Kind::Body,
            prim if is_joint(prim) => Kind::Joint,
            prim if prim.has("RosFrameAPI") => Kind::Frame,
            _ => return None,
        };
        Some((id, kind))
    })
}

/// The operation that scales a prim, if one does.
pub fn is_scaled(prim: &Prim) -> Option<String> {
    let ops = prim.xform().ops;
    let scale = ops.into_iter().find(|op| {
        op.kind == OpKind::Scale && (op.matrix - nalgebra::Matrix4::identity()).amax() > 1e-9
    })?;
    Some(scale.attribute)
}
