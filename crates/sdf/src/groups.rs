//! Which links of the robot are links of the SDF, which are frames in them, and how they move.

use urdf_usd_robot::{Base, JointId, JointKind, LinkId, Mass, Robot, Role, Roles};

/// How a link moves, with all that is rigid in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// It is fixed to the link above it.
    Rigid,
    /// It is held to the world, by the joint above it if there is one.
    Held,
    /// As it likes.
    Free,
    /// As the joint above it says.
    Joint(JointId),
}

/// What links are in the SDF.
pub(super) struct Groups {
    /// By link: the one that it is a frame in, or the link itself: then it is a link of the SDF.
    pub carrier: Vec<LinkId>,
    /// By link.
    pub motion: Vec<Motion>,
    /// By link: whether it moves and is a link of the SDF, and nothing that is rigid in it has a
    /// mass.
    pub massless: Vec<bool>,
}

impl Groups {
    /// A link without a mass is a frame in the link with a mass that it is fixed to: SDFormat has
    /// no links without a mass.
    pub fn of(robot: &Robot, base: Base) -> Self {
        let roles = Roles::new(robot, base);
        let count = robot.links.len();
        let (mut motion, mut top) = (
            vec![Motion::Held; count],
            (0..count).map(LinkId).collect::<Vec<_>>(),
        );
        for &link in &robot.tree.order {
            motion[link.0] = motion_of(robot, base, &roles, link);
            if let (Motion::Rigid, Some(joint)) = (motion[link.0], robot.tree.parent_joint[link.0])
            {
                top[link.0] = top[robot.joints[joint.0].parent.0];
            }
        }
        let has_mass = |link: LinkId| {
            robot.links[link.0]
                .inertial
                .as_ref()
                .and_then(Mass::of)
                .is_some()
        };
        // By the top of what is rigid: its first link with a mass.
        let mut first: Vec<Option<LinkId>> = vec![None; count];
        for &link in robot.tree.order.iter().filter(|link| has_mass(**link)) {
            first[top[link.0].0].get_or_insert(link);
        }
        let mut carrier: Vec<LinkId> = (0..count).map(LinkId).collect();
        for &link in &robot.tree.order {
            if has_mass(link) {
                continue;
            }
            carrier[link.0] = match (motion[link.0], robot.tree.parent_joint[link.0]) {
                (Motion::Rigid, Some(joint)) => carrier[robot.joints[joint.0].parent.0],
                _ => first[link.0].unwrap_or(link),
            };
        }
        let massless = (0..count).map(|link| {
            carrier[link].0 == link
                && matches!(motion[link], Motion::Free | Motion::Joint(_))
                && first[link].is_none()
        });
        Self {
            massless: massless.collect(),
            carrier,
            motion,
        }
    }

    /// Whether a link of the robot is a link of the SDF.
    pub fn is_link(&self, link: LinkId) -> bool {
        self.carrier[link.0] == link
    }
}

fn motion_of(robot: &Robot, base: Base, roles: &Roles, link: LinkId) -> Motion {
    let held = |is_held: bool| if is_held { Motion::Held } else { Motion::Free };
    let Some(id) = robot.tree.parent_joint[link.0] else {
        // What no joint of a tree holds is free, if there is anything to move.
        return held(
            base == Base::Fixed
                || Some(link) == robot.world_root()
                || roles.of[link.0] != Role::Body,
        );
    };
    let joint = &robot.joints[id.0];
    let is_on_world = Some(joint.parent) == robot.world_root();
    match joint.kind {
        JointKind::Fixed if is_on_world => {
            held(base != Base::Floating || roles.of[link.0] != Role::Body)
        }
        JointKind::Fixed => Motion::Rigid,
        JointKind::Floating => held(base == Base::Fixed && roles.body[joint.parent.0].is_none()),
        JointKind::Planar => Motion::Free,
        JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic => Motion::Joint(id),
    }
}
