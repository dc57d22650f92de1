//! What the nodes of links and joints may have as transforms.

use super::super::asset::{Asset, Dof, Joint, Motion, node_title};
use super::super::codes;
use super::super::findings::Findings;
use super::super::transform::Transform;

/// How far from its axis, as a share of its length, a motion may be for rounding.
const ROUNDING: f64 = 1e-3;

/// Roots, links, origins and degrees of freedom.
pub fn check(asset: &Asset<'_>, findings: &mut Findings) {
    for model in &asset.models {
        root(asset, model.root, &model.title(), findings);
        for link in &model.links {
            frame(asset, link.node, &link.title(), findings);
            // The root's own transform has been looked at.
            let of_link = link.node.filter(|&node| Some(node) != model.root);
            let Some((node, transform)) = at(asset, of_link).filter(|(_, t)| t.is_rigid() && (t.moves() || t.turns())) else {
                continue;
            };
            let message = format!("{}: {} {}", link.title(), node_title(asset.nodes, node), transform.in_words());
            let help = "leave the link's node at identity: where it is belongs into the joint's originNode, for a root link above rootNode";
            findings.report(&codes::LINK_TRANSFORM, format!("/nodes/{node}"), message, help);
        }
        for joint in &model.joints {
            frame(asset, joint.origin, &joint.title(), findings);
            for (k, node, dof) in joint.driven() {
                frame(asset, Some(node), &joint.title(), findings);
                dof_node(asset, joint, k, node, dof, findings);
            }
        }
    }
}

fn at(asset: &Asset<'_>, node: Option<usize>) -> Option<(usize, Transform)> {
    Some((node?, Transform::of(asset.nodes.get(node?)?)))
}

fn root(asset: &Asset<'_>, root: Option<usize>, title: &str, findings: &mut Findings) {
    let Some((node, transform)) = at(asset, root) else { return };
    if transform.is_rigid() && !transform.moves() && !transform.turns() {
        return;
    }
    let message = format!("{title}: its rootNode, {}, {}", node_title(asset.nodes, node), transform.in_words());
    let help = match transform.turns() {
        true => {
            "convert every pose and axis to glTF's axes, (x, y, z) to (y, z, x), rather than turn the root; to place the robot, use a node above rootNode"
        }
        false => "leave rootNode at identity; to place the robot, use a node above it",
    };
    findings.report(&codes::ROOT_TRANSFORM, format!("/nodes/{node}"), message, help);
}

fn frame(asset: &Asset<'_>, node: Option<usize>, title: &str, findings: &mut Findings) {
    let Some((node, transform)) = at(asset, node).filter(|(_, transform)| !transform.is_rigid()) else { return };
    let message = format!("{title}: {} {}", node_title(asset.nodes, node), transform.in_words());
    let help = "frames are in metres and right-handed: put the scale on the visual and collision nodes, or into the meshes";
    findings.report(&codes::SCALED_FRAME, format!("/nodes/{node}"), message, help);
}

fn dof_node(asset: &Asset<'_>, joint: &Joint<'_>, k: usize, node: usize, dof: &Dof, findings: &mut Findings) {
    let subject = format!("{}: degree of freedom {k}, {},", joint.title(), node_title(asset.nodes, node));
    if asset.nodes.get(node).is_some_and(|node| node.get("matrix").is_some()) {
        let message = format!("{subject} has a matrix");
        let help = "leave the matrix out: dof nodes have translation, rotation or neither";
        findings.report(&codes::DOF_NODE_MATRIX, format!("/nodes/{node}/matrix"), message, help);
    }
    let Some((_, transform)) = at(asset, Some(node)).filter(|(_, t)| t.moves() || t.turns()) else { return };
    let (channel, is_motion) = match dof.motion {
        Some(Motion::Rotation) => ("rotation", !transform.turns() || is_along(transform.rotation.scaled_axis(), dof)),
        Some(Motion::Translation) => ("translation", !transform.moves() || is_along(transform.translation, dof)),
        None => return,
    };
    let pointer = format!("/nodes/{node}");
    if is_motion {
        let message = format!("{subject} {} at rest", transform.in_words());
        let help = "leave dof nodes at identity: fixed transforms belong into originNode, positions into `default`";
        findings.report(&codes::DOF_NODE_REST, pointer, message, help);
    } else {
        let message =
            format!("{subject} {}, and the first position that is set overwrites its {channel}", transform.in_words());
        let help = "move the fixed transform to the joint's originNode and leave the dof node at identity";
        findings.report(&codes::ORIGIN_IN_DOF, pointer, message, help);
    }
}

fn is_along(direction: nalgebra::Vector3<f64>, dof: &Dof) -> bool {
    // Without an axis nothing can be said; that is another rule's.
    dof.axis.is_none_or(|axis| direction.cross(&axis).norm() <= ROUNDING * direction.norm() * axis.norm())
}
