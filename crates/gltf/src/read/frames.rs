//! The frames of joints and links, by where their nodes are.

use std::collections::HashSet;

use nalgebra::UnitQuaternion;

use super::codes;
use super::findings::Findings;
use super::joints::Draft;
use super::placement::Placement;
use super::scene::{Base, Scene, is_one};
use crate::extension::Motion;
use urdf_usd_robot::{JointKind, Tree};

/// Finds the frame of every link, and sets the origins of the joints. `nodes`: the links' own
/// nodes.
pub fn place(
    scene: &Scene<'_>,
    drafts: &mut [Draft<'_>],
    tree: &Tree,
    nodes: &[Option<usize>],
    findings: &mut Findings,
) -> Vec<Option<Base>> {
    let mut bases: Vec<Option<Base>> = vec![None; nodes.len()];
    let mut starts = HashSet::new();
    for &link in &tree.order {
        let node = nodes.get(link.0).copied().flatten();
        let draft = tree
            .parent_joint
            .get(link.0)
            .copied()
            .flatten()
            .and_then(|id| drafts.get_mut(id.0));
        let base = match draft {
            None => node.map(|node| scene.base(node)),
            Some(draft) => {
                let parent = bases.get(draft.joint.parent.0).copied().flatten();
                let (origin, base) = frames(scene, draft, parent, node, &starts, findings);
                draft.set_origin(&origin, findings);
                base
            }
        };
        starts.extend(base.map(|base| base.node));
        if let Some(slot) = bases.get_mut(link.0) {
            *slot = base;
        }
    }
    // Those that the writer kept in the model's extras have no nodes.
    for draft in drafts.iter_mut().filter(|draft| draft.joint.closes_loop) {
        let parent = bases.get(draft.joint.parent.0).copied().flatten();
        if let (Some(parent), Some(node)) =
            (parent, draft.origin_node.filter(|&node| node < scene.len()))
        {
            let (origin, _) = scene.relative(&parent, node);
            draft.set_origin(&origin, findings);
        }
    }
    bases
}

/// Where the frame of a joint is in that of its parent link, and the frame of its child link.
/// `node`: the child link's own node. `starts`: nodes at which the frames of other links begin.
fn frames(
    scene: &Scene<'_>,
    draft: &Draft<'_>,
    parent: Option<Base>,
    node: Option<usize>,
    starts: &HashSet<usize>,
    findings: &mut Findings,
) -> (Placement, Option<Base>) {
    let known = |node: &usize| *node < scene.len();
    let origin_node = draft.origin_node.filter(known);
    let first = draft.dof_nodes.first().copied().filter(known);
    let last = draft.dof_nodes.last().copied().filter(known);
    // A link without a node has the frame that its joints hang in.
    let parent =
        parent.or_else(|| Some(scene.base(scene.parents[origin_node.or(first).or(node)?]?)));
    let in_parent = |node: usize, findings: &mut Findings| match &parent {
        Some(parent) => {
            let (placement, is_below) = scene.relative(parent, node);
            if !is_below {
                draft.report("is not below its parent link's node", findings);
            }
            placement
        }
        None => scene.world[node],
    };
    if origin_node.is_none() {
        draft.report("has no origin node", findings);
    }
    if draft.joint.kind == JointKind::Fixed {
        let target = node.or(origin_node);
        if let (Some(node), Some(origin)) = (node, origin_node)
            && !scene.is_below(node, origin)
        {
            draft.report(
                "does not lead from its origin node to its child link's node",
                findings,
            );
        }
        let origin = target.map_or_else(Placement::default, |target| in_parent(target, findings));
        return (origin, target.map(|target| scene.base(target)));
    }
    let is_chain = draft.dof_nodes.len() == draft.dofs.len()
        && draft.dof_nodes.iter().all(known)
        && draft
            .dof_nodes
            .windows(2)
            .all(|pair| scene.is_below(pair[1], pair[0]))
        && node
            .zip(last)
            .is_none_or(|(node, last)| scene.is_below(node, last));
    match first.filter(|first| is_chain && !starts.contains(first)) {
        Some(first) => {
            let above = scene.parents[first];
            if origin_node
                .zip(above)
                .is_some_and(|(origin, above)| !scene.is_below(above, origin))
            {
                draft.report("has dof nodes that are not below its origin node", findings);
            }
            // What else the first node has comes before a rotation, and after a translation.
            let local = scene.local[first];
            let (before, below) = match draft.dofs.first().map(|dof| dof.motion) {
                Some(Motion::Rotation) => (
                    Placement::of(local.pose.translation.into()),
                    Placement::scaled(local.scale),
                ),
                _ => (Placement::default(), local),
            };
            let frame = above
                .map_or_else(Placement::default, |above| in_parent(above, findings))
                .then(&before);
            let world = above
                .map_or_else(Placement::default, |above| scene.world[above])
                .then(&before);
            draft.check_rest(scene, findings);
            (
                frame,
                Some(Base {
                    node: first,
                    below,
                    world,
                }),
            )
        }
        None => {
            draft.report(
                "has no chain of dof nodes that ends at its child link's node",
                findings,
            );
            let target = origin_node.or(node);
            (
                target.map_or_else(Placement::default, |target| in_parent(target, findings)),
                node.map(|node| scene.base(node)),
            )
        }
    }
}

impl Draft<'_> {
    fn report(&self, what: &str, findings: &mut Findings) {
        let message = format!("joint {} {what}", self.label());
        let help = "let its origin node be a child of the parent link's node, the dof nodes a chain below, and the child link's node at its end";
        findings.report(&codes::JOINT_NODES, self.at(), message, help);
    }

    /// Reports a joint of the model itself that closes a loop.
    pub fn report_loop(&self, findings: &mut Findings) {
        // One of the model's extras is there because it does.
        let is_extra = self.at().contains("/extras/");
        if self.joint.closes_loop && !is_extra {
            let message = format!(
                "joint {} closes a loop: its child link has a joint above it already",
                self.label()
            );
            let help = "if the loop is not meant, correct the joint's parentLink or childLink";
            findings.report(&codes::LOOP, self.at(), message, help);
        }
    }

    fn set_origin(&mut self, origin: &Placement, findings: &mut Findings) {
        self.joint.origin = origin.pose;
        if origin.is_sheared {
            let message = format!("the frame of joint {} is sheared", self.label());
            findings.report(
                &codes::SHEAR,
                self.at(),
                message,
                "scale meshes, not frames",
            );
        } else if !is_one(&origin.scale) {
            let message = format!("the frame of joint {} is scaled", self.label());
            findings.report(
                &codes::SCALED_FRAME,
                self.at(),
                message,
                "scale meshes, not frames",
            );
        }
    }

    /// Reports dof nodes that are not where the default positions put them.
    fn check_rest(&self, scene: &Scene<'_>, findings: &mut Findings) {
        for (&node, dof) in self.dof_nodes.iter().zip(&self.dofs) {
            let entry = scene.entry(node);
            if ["matrix", "rotation", "translation"]
                .iter()
                .all(|key| entry.json.get(key).is_none())
            {
                continue;
            }
            let at = Placement::of_node(&entry, &mut Findings::new(None)).pose;
            let set = match dof.motion {
                Motion::Rotation => at
                    .rotation
                    .angle_to(&UnitQuaternion::from_axis_angle(&dof.axis, dof.default)),
                Motion::Translation => {
                    (at.translation.vector - dof.axis.into_inner() * dof.default).norm()
                }
            };
            let still = match dof.motion {
                Motion::Rotation => at.rotation.angle(),
                Motion::Translation => at.translation.vector.norm(),
            };
            if set > 1e-6 && still > 1e-6 {
                let message = format!(
                    "node {node}, a dof of joint {}, is not at its default position",
                    self.label()
                );
                let help =
                    "give the origin node what is fixed, and let the dof node have no transform";
                findings.report(&codes::REST, &entry.at, message, help);
            }
        }
    }
}
