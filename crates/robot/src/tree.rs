//! How joints connect links: a spanning forest, and the joints that close loops in it.

use super::{Joint, JointId, LinkId};

/// The spanning forest of a robot's links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Links with no joint above them, in the source's order. At least one unless there are no
    /// links.
    pub roots: Vec<LinkId>,
    /// The joint above each link.
    pub parent_joint: Vec<Option<JointId>>,
    /// The joints below each link, in the source's order, without those that close loops.
    pub child_joints: Vec<Vec<JointId>>,
    /// All links, each after its parent: depth first, children in the source's order.
    pub order: Vec<LinkId>,
    /// Where each link is in [`Tree::order`], and where what hangs on it ends there.
    spans: Vec<(usize, usize)>,
}

impl Tree {
    /// Builds the forest over `link_count` links and marks, in `joints`, those that close a loop.
    ///
    /// Joints are taken in order; the first that reaches a link is the one above it. In a ring
    /// without a root, the joint that would close it is the last in the source's order.
    pub fn build(link_count: usize, joints: &mut [Joint]) -> Self {
        let mut parent_joint: Vec<Option<JointId>> = vec![None; link_count];
        let mut child_joints = vec![Vec::new(); link_count];
        // Union-find over links: two links in one set are already connected.
        let mut set: Vec<usize> = (0..link_count).collect();
        fn find(set: &mut [usize], mut link: usize) -> usize {
            while set[link] != link {
                set[link] = set[set[link]];
                link = set[link];
            }
            link
        }
        for (index, joint) in joints.iter_mut().enumerate() {
            let (parent, child) = (joint.parent.0, joint.child.0);
            let (a, b) = (find(&mut set, parent), find(&mut set, child));
            joint.closes_loop = a == b || parent_joint[child].is_some();
            if !joint.closes_loop {
                set[b] = a;
                parent_joint[child] = Some(JointId(index));
                child_joints[parent].push(JointId(index));
            }
        }
        let roots: Vec<LinkId> = (0..link_count)
            .filter(|&l| parent_joint[l].is_none())
            .map(LinkId)
            .collect();
        let mut order = Vec::with_capacity(link_count);
        let mut stack: Vec<LinkId> = roots.iter().rev().copied().collect();
        while let Some(link) = stack.pop() {
            order.push(link);
            stack.extend(
                child_joints[link.0]
                    .iter()
                    .rev()
                    .map(|j: &JointId| joints[j.0].child),
            );
        }
        let mut spans = vec![(0, 0); link_count];
        for (index, link) in order.iter().enumerate() {
            spans[link.0] = (index, index + 1);
        }
        for &link in order.iter().rev() {
            if let Some(joint) = parent_joint[link.0] {
                let (end, above) = (spans[link.0].1, &mut spans[joints[joint.0].parent.0].1);
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

    /// Whether `link` is `above`, or hangs on it in the tree.
    pub fn is_below(&self, link: LinkId, above: LinkId) -> bool {
        let (start, end) = self.spans[above.0];
        (start..end).contains(&self.spans[link.0].0)
    }
}
