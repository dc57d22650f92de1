//! The node chain of a joint: parent link, origin, degrees of freedom, child link.

use super::Subject;
use super::asset::{Joint, Model};

/// A node of a chain.
#[derive(Clone)]
pub struct Part {
    pub node: usize,
    /// Description of the node's role in the joint.
    pub what: String,
    pub pointer: String,
}

/// Two consecutive nodes of a chain, the second of which is not a child of the first.
pub struct Gap<'s, 'a> {
    pub joint: &'s Joint<'a>,
    pub above: Part,
    pub below: Part,
    /// Whether the second node is still a descendant of the first.
    pub is_below: bool,
}

/// Returns the gaps in the chains of all joints.
pub fn gaps<'s, 'a>(subject: &'s Subject<'a>) -> impl Iterator<Item = Gap<'s, 'a>> {
    let joints = subject
        .asset
        .models
        .iter()
        .flat_map(|model| model.joints.iter().map(move |joint| (model, joint)));
    joints.flat_map(|(model, joint)| of_joint(subject, model, joint))
}

fn of_joint<'s, 'a>(
    subject: &'s Subject<'a>,
    model: &Model<'a>,
    joint: &'s Joint<'a>,
) -> Vec<Gap<'s, 'a>> {
    let parts = parts(model, joint);
    let pairs = parts.windows(2).filter_map(|pair| match pair {
        [Some(above), Some(below)] => Some((above, below)),
        _ => None,
    });
    let gap = |(above, below): (&Part, &Part)| {
        // A node with two roles is left to kinematics-shared-node.
        let is_whole =
            above.node == below.node || subject.hierarchy.parent(below.node) == Some(above.node);
        let is_below = subject.hierarchy.is_below(below.node, above.node);
        (!is_whole).then(|| Gap {
            joint,
            above: above.clone(),
            below: below.clone(),
            is_below,
        })
    };
    pairs.filter_map(gap).collect()
}

fn parts(model: &Model<'_>, joint: &Joint<'_>) -> Vec<Option<Part>> {
    let link_node = |link: Option<usize>| {
        link.and_then(|link| model.links.get(link))
            .and_then(|link| link.node)
    };
    let part = |node: Option<usize>, what: String, pointer: String| {
        node.map(|node| Part {
            node,
            what,
            pointer,
        })
    };
    let read = &joint.read;
    let mut parts = vec![
        part(
            link_node(joint.parent),
            "the parent link".to_owned(),
            read.parent_link().at(),
        ),
        part(
            joint.origin,
            "the origin".to_owned(),
            read.origin_node().at(),
        ),
    ];
    for (k, &node) in joint.dof_nodes.iter().enumerate() {
        parts.push(part(
            node,
            format!("degree of freedom {k}"),
            format!("{}/{k}", read.dof_nodes().at()),
        ));
    }
    parts.push(part(
        link_node(joint.child),
        "the child link".to_owned(),
        read.child_link().at(),
    ));
    parts
}
