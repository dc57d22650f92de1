//! The spanning forest of the links, and the joints that close loops in it.

use super::{Arena, ArenaMap, Joint, JointId, Link, LinkId};

/// The spanning forest of a robot's links. Joints that close loops are not in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    roots: Vec<LinkId>,
    parent_joint: ArenaMap<Link, Option<JointId>>,
    child_joints: ArenaMap<Link, Vec<JointId>>,
    order: Vec<LinkId>,
    /// The range in [`Tree::order`] of each link with its descendants.
    spans: ArenaMap<Link, (usize, usize)>,
}

impl Tree {
    pub(crate) fn new(links: &Arena<Link>, joints: &Arena<Joint>) -> Self {
        let mut parent_joint = ArenaMap::filled(links, None);
        let mut child_joints = ArenaMap::filled(links, Vec::new());
        for (id, joint) in joints.iter().filter(|(_, joint)| !joint.closes_loop()) {
            parent_joint[joint.child()] = Some(id);
            child_joints[joint.parent()].push(id);
        }
        let roots: Vec<LinkId> = links
            .handles()
            .filter(|&link| parent_joint[link].is_none())
            .collect();
        // Depth first: the links below a link are consecutive in `order`, which `spans` relies on.
        let mut order = Vec::with_capacity(links.len());
        let mut stack: Vec<LinkId> = roots.iter().rev().copied().collect();
        while let Some(link) = stack.pop() {
            order.push(link);
            let children = child_joints[link].iter().rev();
            stack.extend(children.map(|&joint| joints[joint].child()));
        }
        let mut spans = ArenaMap::filled(links, (0, 0));
        for (index, &link) in order.iter().enumerate() {
            spans[link] = (index, index + 1);
        }
        for &link in order.iter().rev() {
            if let Some(joint) = parent_joint[link] {
                // From the last link to the first, so that a child's span is complete before its
                // parent's.
                let end = spans[link].1;
                let above = &mut spans[joints[joint].parent()].1;
                *above = end.max(*above);
            }
        }
        Self {
            roots,
            parent_joint,
            child_joints,
            order,
            spans,
        }
    }

    /// Returns the links with no joint above them, in the source's order. At least one unless there
    /// are no links.
    pub fn roots(&self) -> &[LinkId] {
        &self.roots
    }

    /// Returns the joint above a link; `None` for a root.
    pub fn parent_joint(&self, link: LinkId) -> Option<JointId> {
        self.parent_joint[link]
    }

    /// Returns the joints below a link, in the source's order.
    pub fn child_joints(&self, link: LinkId) -> &[JointId] {
        &self.child_joints[link]
    }

    /// Returns all links, each after its parent: depth first, children in the source's order.
    pub fn order(&self) -> &[LinkId] {
        &self.order
    }

    /// Returns a link and all its descendants, each after its parent.
    pub fn below(&self, link: LinkId) -> &[LinkId] {
        let (start, end) = self.spans[link];
        self.order.get(start..end).unwrap_or_default()
    }

    /// Returns whether `link` is `above` or one of its descendants.
    pub fn is_below(&self, link: LinkId, above: LinkId) -> bool {
        let (start, end) = self.spans[above];
        (start..end).contains(&self.spans[link].0)
    }
}
