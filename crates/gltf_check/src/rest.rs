//! Transforms of nodes at rest.

use nalgebra::Vector3;

use super::Subject;
use super::asset::{Dof, Joint, node_title};
use super::transform::Transform;
use urdf_usd_gltf_extension::Motion;

/// Tolerance of the angle between a motion and its axis, as a sine.
const ROUNDING: f64 = 1e-3;

/// A dof node with a transform other than identity.
pub struct Displaced<'s, 'a> {
    pub joint: &'s Joint<'a>,
    /// Index of the degree of freedom in the joint.
    pub k: usize,
    pub node: usize,
    pub transform: Transform,
    /// Name of the channel that the degree of freedom drives.
    pub channel: &'static str,
    /// Whether the transform in that channel is one that the degree of freedom can reach.
    pub is_motion: bool,
}

/// Returns all dof nodes that have a known motion and are not at identity.
pub fn displaced<'s, 'a>(subject: &'s Subject<'a>) -> impl Iterator<Item = Displaced<'s, 'a>> {
    let dofs = subject.asset.joints().flat_map(|joint| {
        joint
            .driven()
            .map(move |(k, node, dof)| (joint, k, node, dof))
    });
    dofs.filter_map(|(joint, k, node, dof)| {
        let (node, transform) =
            transform_of(subject, Some(node)).filter(|(_, t)| t.moves() || t.turns())?;
        let motion = dof.motion?;
        let is_motion = match motion {
            Motion::Rotation => {
                !transform.turns() || is_along(transform.rotation.scaled_axis(), dof)
            }
            Motion::Translation => !transform.moves() || is_along(transform.translation, dof),
        };
        Some(Displaced {
            joint,
            k,
            node,
            transform,
            channel: motion.as_str(),
            is_motion,
        })
    })
}

fn is_along(direction: Vector3<f64>, dof: &Dof) -> bool {
    // A missing axis is left to another rule.
    dof.axis.is_none_or(|axis| {
        direction.cross(&axis).norm() <= ROUNDING * direction.norm() * axis.norm()
    })
}

/// Returns the transform of a node, if it exists.
pub fn transform_of(subject: &Subject<'_>, node: Option<usize>) -> Option<(usize, Transform)> {
    Some((node?, Transform::of(subject.asset.nodes.get(node?)?)))
}

/// Returns the name of degree of freedom `k` of a joint, with its `node`, for messages.
pub fn dof_title(subject: &Subject<'_>, joint: &Joint<'_>, k: usize, node: usize) -> String {
    format!(
        "{}: degree of freedom {k}, {},",
        joint.title(),
        node_title(subject.asset.nodes, node)
    )
}
