//! Frames of joints and links, derived from the transforms of their nodes.

use std::collections::HashSet;

use nalgebra::UnitQuaternion;

use super::codes;
use super::findings::Findings;
use super::joints::Draft;
use super::placement::Placement;
use super::scene::{Base, Scene, is_one};
use urdf_usd_gltf_extension::Motion;
use urdf_usd_robot::{ArenaMap, Joint, JointKind, JointProperties, Link, Robot};

/// Determines the frame of every link and sets the origins of the joints. `nodes`: the node of each
/// link.
pub fn place(
    scene: &Scene<'_>,
    drafts: &[Draft<'_>],
    robot: &mut Robot,
    nodes: &ArenaMap<Link, Option<usize>>,
    findings: &mut Findings,
) -> ArenaMap<Link, Option<Base>> {
    let mut bases: ArenaMap<Link, Option<Base>> = ArenaMap::filled(robot.links(), None);
    let mut starts = HashSet::new();
    // Parents come first, so the frame of a joint's parent link is known.
    let order = robot.tree().order().to_vec();
    for link in order {
        let node = nodes[link];
        let draft = robot.tree().parent_joint(link);
        let draft = draft.and_then(|id| drafts.get(id.index()));
        bases[link] = match draft {
            None => node.map(|node| scene.base(node)),
            Some(draft) => {
                let joint = &robot.joints()[draft.id];
                let parent = bases[joint.parent()];
                let (origin, base) = frames(scene, draft, joint, parent, node, &starts, findings);
                draft.set_origin(robot.joint_mut(draft.id), &origin, findings);
                base
            }
        };
        starts.extend(bases[link].map(|base| base.node));
    }
    // Joints that close loops come from the model's extras and have no nodes in the tree.
    for draft in drafts {
        let joint = &robot.joints()[draft.id];
        if !joint.closes_loop() {
            continue;
        }
        let origin_node = draft.origin_node.filter(|&node| node < scene.len());
        if let Some((parent, node)) = bases[joint.parent()].zip(origin_node) {
            let (origin, _) = scene.relative(&parent, node);
            draft.set_origin(robot.joint_mut(draft.id), &origin, findings);
        }
    }
    bases
}

/// Returns the joint's origin in the frame of its parent link, and the frame of its child link.
/// `node`: the node of the child link. `starts`: nodes at which the frames of other links begin.
fn frames(
    scene: &Scene<'_>,
    draft: &Draft<'_>,
    joint: &Joint,
    parent: Option<Base>,
    node: Option<usize>,
    starts: &HashSet<usize>,
    findings: &mut Findings,
) -> (Placement, Option<Base>) {
    let known = |node: &usize| *node < scene.len();
    let origin_node = draft.origin_node.filter(known);
    let first = draft.dof_nodes.first().copied().filter(known);
    let last = draft.dof_nodes.last().copied().filter(known);
    // A link without a node gets the parent node of its joint's first node as its frame.
    let parent =
        parent.or_else(|| Some(scene.base(scene.parent(origin_node.or(first).or(node)?)?)));
    let in_parent = |node: usize, findings: &mut Findings| match &parent {
        Some(parent) => {
            let (placement, is_below) = scene.relative(parent, node);
            if !is_below {
                draft.report("is not below its parent link's node", findings);
            }
            placement
        }
        None => scene.world(node),
    };
    if origin_node.is_none() {
        draft.report("has no origin node", findings);
    }
    if joint.kind() == JointKind::Fixed {
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
            .array_windows()
            .all(|&[above, below]| scene.is_below(below, above))
        && node
            .zip(last)
            .is_none_or(|(node, last)| scene.is_below(node, last));
    match first.filter(|first| is_chain && !starts.contains(first)) {
        Some(first) => {
            let above = scene.parent(first);
            if origin_node
                .zip(above)
                .is_some_and(|(origin, above)| !scene.is_below(above, origin))
            {
                draft.report("has dof nodes that are not below its origin node", findings);
            }
            // glTF applies translation before rotation. The fixed translation of a rotating dof
            // node thus belongs to the origin; the fixed rotation of a translating one belongs to
            // the child link.
            let local = *scene.local(first);
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
                .map_or_else(Placement::default, |above| scene.world(above))
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

    /// Reports that a joint of the model closes a loop.
    pub fn report_loop(&self, robot: &Robot, findings: &mut Findings) {
        // The model's extras hold only joints that close loops.
        let is_extra = self.at().contains("/extras/");
        if robot.joints()[self.id].closes_loop() && !is_extra {
            let message = format!(
                "joint {} closes a loop: its child link has a joint above it already",
                self.label()
            );
            let help = "if the loop is not meant, correct the joint's parentLink or childLink";
            findings.report(&codes::LOOP, self.at(), message, help);
        }
    }

    fn set_origin(&self, joint: &mut JointProperties, origin: &Placement, findings: &mut Findings) {
        joint.origin = origin.pose;
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

    /// Reports dof nodes that are not at their default positions.
    fn check_rest(&self, scene: &Scene<'_>, findings: &mut Findings) {
        for (&node, dof) in self.dof_nodes.iter().zip(&self.dofs) {
            let entry = scene.entry(node);
            if ["matrix", "rotation", "translation"]
                .iter()
                .all(|key| entry.json.get(key).is_none())
            {
                continue;
            }
            let at = Placement::of_node(&entry, &mut Findings::new(None));
            let at = scene.turned(node, at).pose;
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
