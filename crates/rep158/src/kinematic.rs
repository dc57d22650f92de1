//! The prims of the kinematic tree: bodies, joints and frames.

use urdf_usd_stage::{OpKind, Prim, PrimId, Stage};

use super::physics::{is_body, is_joint};

/// The role of a prim in the kinematic tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A prim with PhysicsRigidBodyAPI.
    Body,
    /// A prim of a joint type.
    Joint,
    /// A prim with RosFrameAPI that is not a body.
    Frame,
}

impl Kind {
    /// Returns the name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Joint => "joint",
            Self::Frame => "frame",
        }
    }
}

/// Iterates over all present bodies, joints and frames.
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

/// Returns the attribute of the operation that scales a prim.
pub fn scale_op(prim: &Prim) -> Option<String> {
    let ops = prim.xform().ops;
    let scale = ops.into_iter().find(|op| {
        op.kind == OpKind::Scale && (op.matrix - nalgebra::Matrix4::identity()).amax() > 1e-9
    })?;
    Some(scale.attribute)
}
