//! Which links of the robot are links of the SDF, which are frames in them, and how they move.

use urdf_usd_robot::{ArenaMap, Base, JointId, JointKind, Link, LinkId, Mass, Robot, Role, Roles};

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
    /// The link that each is a frame in, or the link itself: then it is a link of the SDF.
    pub carrier: ArenaMap<Link, LinkId>,
    /// Motion of each link.
    pub motion: ArenaMap<Link, Motion>,
    /// Whether each link moves and is a link of the SDF, and nothing that is rigid in it has a
    /// mass.
    pub massless: ArenaMap<Link, bool>,
}

impl Groups {
    /// A link without a mass is a frame in the link with a mass that it is fixed to: SDFormat has
    /// no links without a mass.
    pub fn of(robot: &Robot, base: Base) -> Self {
        let roles = Roles::new(robot, base);
        let motion = ArenaMap::new(robot.links(), |link, _| {
            motion_of(robot, base, &roles, link)
        });
        // The uppermost link of what each is rigid in.
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
        // By the top of what is rigid: its first link with a mass.
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

    /// Whether a link of the robot is a link of the SDF.
    pub fn is_link(&self, link: LinkId) -> bool {
        self.carrier[link] == link
    }
}

fn motion_of(robot: &Robot, base: Base, roles: &Roles, link: LinkId) -> Motion {
    let held = |is_held: bool| if is_held { Motion::Held } else { Motion::Free };
    let Some(id) = robot.tree().parent_joint(link) else {
        // What no joint of a tree holds is free, if there is anything to move.
        return held(
            base == Base::Fixed || Some(link) == robot.world_root() || roles.of[link] != Role::Body,
        );
    };
    let joint = &robot.joints()[id];
    let is_on_world = Some(joint.parent()) == robot.world_root();
    match joint.kind() {
        JointKind::Fixed if is_on_world => {
            held(base != Base::Floating || roles.of[link] != Role::Body)
        }
        JointKind::Fixed => Motion::Rigid,
        JointKind::Floating => held(base == Base::Fixed && roles.body[joint.parent()].is_none()),
        JointKind::Planar => Motion::Free,
        JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic => Motion::Joint(id),
    }
}
