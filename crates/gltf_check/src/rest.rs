//! The transforms of nodes at rest.

use nalgebra::Vector3;

use super::Subject;
use super::asset::{Dof, Joint, node_title};
use super::transform::Transform;
use urdf_usd_gltf_extension::Motion;

/// How far from its axis, as a share of its length, a motion may be for rounding.
const ROUNDING: f64 = 1e-3;

/// A dof node that is not at identity.
pub struct Displaced<'s, 'a> {
    pub joint: &'s Joint<'a>,
    /// Which degree of freedom of the joint.
    pub k: usize,
    pub node: usize,
    pub transform: Transform,
    /// What the degree of freedom sets.
    pub channel: &'static str,
    /// Whether some position of the degree of freedom gives what is in its channel.
    pub is_motion: bool,
}

/// All dof nodes that are not at identity and whose motion is known.
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
    // Without an axis nothing can be said; that is another rule's.
    dof.axis.is_none_or(|axis| {
        direction.cross(&axis).norm() <= ROUNDING * direction.norm() * axis.norm()
    })
}

/// The transform of a node, if there is one.
pub fn transform_of(subject: &Subject<'_>, node: Option<usize>) -> Option<(usize, Transform)> {
    Some((node?, Transform::of(subject.asset.nodes.get(node?)?)))
}

/// What messages call degree of freedom `k` of a joint, whose node is `node`.
pub fn dof_title(subject: &Subject<'_>, joint: &Joint<'_>, k: usize, node: usize) -> String {
    format!(
        "{}: degree of freedom {k}, {},",
        joint.title(),
        node_title(subject.asset.nodes, node)
    )
}
