//! Groups rigidly connected links: decides which become links of the SDF and which frames, and how
//! they move.

use urdf_usd_robot::{ArenaMap, Base, JointId, JointKind, Link, LinkId, Mass, Robot, Role, Roles};

/// Motion of a link and everything rigidly attached to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// Rigidly attached to its parent link.
    Rigid,
    /// Fixed to the world, by the joint above it if there is one.
    Fixed,
    /// Free.
    Free,
    /// Moved by the joint above it.
    Joint(JointId),
}

/// The links and frames of the SDF that links of the robot become.
pub(super) struct Groups {
    /// The link of the SDF that carries each link: itself, or the link it is a frame in.
    pub carrier: ArenaMap<Link, LinkId>,
    /// Motion of each link.
    pub motion: ArenaMap<Link, Motion>,
    /// Whether each link is a moving link of the SDF without any mass rigidly attached.
    pub massless: ArenaMap<Link, bool>,
}

impl Groups {
    /// Groups the links of `robot`. A link without mass becomes a frame in the link with mass that
    /// it is fixed to: SDFormat requires links to have mass.
    pub fn new(robot: &Robot, base: Base) -> Self {
        let roles = Roles::new(robot, base);
        let motion = ArenaMap::new(robot.links(), |link, _| {
            link_motion(robot, base, &roles, link)
        });
        // The topmost link of the rigid group of each link.
        let mut top = ArenaMap::new(robot.links(), |link, _| link);
        for &link in robot.tree().order() {
            if let (Motion::Rigid, Some(joint)) = (motion[link], robot.tree().parent_joint(link)) {
                top[link] = top[robot.joints()[joint].parent()];
            }
        }
        let has_mass = |link: LinkId| {
            robot.links()[link]
                .inertial
                .as_ref()
                .and_then(Mass::of)
                .is_some()
        };
        // The first link with a mass in each rigid group, by its topmost link.
        let mut first: ArenaMap<Link, Option<LinkId>> = ArenaMap::filled(robot.links(), None);
        for &link in robot.tree().order().iter().filter(|link| has_mass(**link)) {
            first[top[link]].get_or_insert(link);
        }
        let mut carrier = ArenaMap::new(robot.links(), |link, _| link);
        for &link in robot.tree().order() {
            if has_mass(link) {
                continue;
            }
            carrier[link] = match (motion[link], robot.tree().parent_joint(link)) {
                (Motion::Rigid, Some(joint)) => carrier[robot.joints()[joint].parent()],
                _ => first[link].unwrap_or(link),
            };
        }
        let massless = ArenaMap::new(robot.links(), |link, _| {
            carrier[link] == link
                && matches!(motion[link], Motion::Free | Motion::Joint(_))
                && first[link].is_none()
        });
        Self {
            carrier,
            motion,
            massless,
        }
    }

    /// Returns whether a link of the robot is a link of the SDF.
    pub fn is_link(&self, link: LinkId) -> bool {
        self.carrier[link] == link
    }
}

fn link_motion(robot: &Robot, base: Base, roles: &Roles, link: LinkId) -> Motion {
    let fixed_if = |is_fixed: bool| {
        if is_fixed {
            Motion::Fixed
        } else {
            Motion::Free
        }
    };
    let Some(id) = robot.tree().parent_joint(link) else {
        // A root that no joint connects to the world is free, if it is a body.
        return fixed_if(
            base == Base::Fixed || Some(link) == robot.world_root() || roles.of[link] != Role::Body,
        );
    };
    let joint = &robot.joints()[id];
    let is_on_world = Some(joint.parent()) == robot.world_root();
    match joint.kind() {
        JointKind::Fixed if is_on_world => {
            fixed_if(base != Base::Floating || roles.of[link] != Role::Body)
        }
        JointKind::Fixed => Motion::Rigid,
        JointKind::Floating => {
            fixed_if(base == Base::Fixed && roles.body[joint.parent()].is_none())
        }
        JointKind::Planar => Motion::Free,
        JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic => Motion::Joint(id),
    }
}
