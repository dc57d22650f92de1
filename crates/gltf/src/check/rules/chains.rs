//! The chain of nodes from a joint's parent link over its origin and its degrees of freedom to its child link.

use super::super::asset::{Asset, Joint, Model, Motion, node_title, plural};
use super::super::codes;
use super::super::findings::Findings;
use super::super::hierarchy::Hierarchy;

/// That every joint has the degrees of freedom of its type, and the chain that moves its child.
pub fn check(asset: &Asset<'_>, hierarchy: &Hierarchy, findings: &mut Findings) {
    for model in &asset.models {
        for joint in &model.joints {
            counts(joint, findings);
            motions(joint, findings);
            chain(asset, model, joint, hierarchy, findings);
        }
    }
}

fn counts(joint: &Joint<'_>, findings: &mut Findings) {
    let (nodes, dofs) = (joint.dof_nodes.len(), joint.dofs.len());
    let pointer = joint.pointer();
    let places = [format!("{pointer}/dofs"), format!("{pointer}/dofNodes")];
    if nodes != dofs {
        let message = format!("{}: it has {} and {}", joint.title(), plural(nodes, "dof node"), plural(dofs, "dof"));
        findings.report(
            &codes::DOF_NODES,
            places[1].clone(),
            message,
            "give one node per degree of freedom, in the same order",
        );
    } else if let Some(kind) = joint.kind.filter(|_| dofs != joint.dof_count()) {
        let message =
            format!("{} is {}, which has {}; it lists {dofs}", joint.title(), kind.as_str(), plural(joint.dof_count(), "dof"));
        let help =
            "fixed joints have none, planar ones 2 translations, floating ones 3 translations and 3 rotations, all others 1";
        findings.report(&codes::DOF_COUNT, places[0].clone(), message, help);
    } else {
        return;
    }
    for place in places {
        findings.cover(place);
    }
}

fn motions(joint: &Joint<'_>, findings: &mut Findings) {
    let Some(kind) = joint.kind else { return };
    for (k, (dof, &expected)) in joint.dofs.iter().zip(Motion::of(kind)).enumerate() {
        let Some(motion) = dof.motion.filter(|&motion| motion != expected) else { continue };
        let message = format!(
            "{} is {}, so degree of freedom {k} is a {}; it says {}",
            joint.title(),
            kind.as_str(),
            expected.as_str(),
            motion.as_str()
        );
        let help = "change the joint's type or the motion; a floating joint's three translations come first";
        findings.report(&codes::DOF_MOTION, format!("{}/dofs/{k}/motion", joint.pointer()), message, help);
    }
}

/// A node of the chain.
struct Part {
    node: usize,
    what: String,
    pointer: String,
}

fn chain(asset: &Asset<'_>, model: &Model<'_>, joint: &Joint<'_>, hierarchy: &Hierarchy, findings: &mut Findings) {
    let pointer = joint.pointer();
    let link_node = |link: Option<usize>| link.and_then(|link| model.links.get(link)).and_then(|link| link.node);
    let part = |node: Option<usize>, what: String, pointer: String| node.map(|node| Part { node, what, pointer });
    let mut parts = vec![
        part(link_node(joint.parent), "the parent link".to_owned(), format!("{pointer}/parentLink")),
        part(joint.origin, "the origin".to_owned(), format!("{pointer}/originNode")),
    ];
    for (k, &node) in joint.dof_nodes.iter().enumerate() {
        parts.push(part(node, format!("degree of freedom {k}"), format!("{pointer}/dofNodes/{k}")));
    }
    parts.push(part(link_node(joint.child), "the child link".to_owned(), format!("{pointer}/childLink")));
    for pair in parts.windows(2) {
        let [Some(above), Some(below)] = pair else { continue };
        // One node with two parts is another rule's.
        if above.node == below.node || hierarchy.parent(below.node) == Some(above.node) {
            continue;
        }
        let [lower, upper] = [below.node, above.node].map(|node| node_title(asset.nodes, node));
        if hierarchy.is_below(below.node, above.node) {
            let message =
                format!("{}: nodes stand between {}, {upper}, and {}, {lower}", joint.title(), above.what, below.what);
            let help = "make each node of the chain a direct child of the one before";
            findings.report(&codes::CHAIN_INDIRECT, below.pointer.clone(), message, help);
        } else {
            let message = format!("{}: {}, {lower}, does not hang on {}, {upper}", joint.title(), below.what, above.what);
            let help = "the chain is: parent link's node, originNode, dofNodes in their order, child link's node, each a child of the one before";
            findings.report(&codes::CHAIN_BROKEN, below.pointer.clone(), message, help);
        }
    }
}
