//! Classification of links as rigid bodies or frames.

use std::fmt;
use std::str::FromStr;

use super::{ArenaMap, Joint, JointKind, Link, LinkId, Robot};

/// Attachment of the base to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Base {
    /// As in the source: fixed if its root is a link named `world`.
    #[default]
    Auto,
    /// Fixed.
    Fixed,
    /// Free.
    Floating,
}

impl Base {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Fixed, Self::Floating];

    /// Returns the name, as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Fixed => "fixed",
            Self::Floating => "floating",
        }
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Base {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|value| value.as_str() == text);
        known.ok_or_else(|| {
            format!(
                "{text:?} is none of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// The role of a link in a physics engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The world itself ([`Robot::world_root`]). It is static; geometry on it is a static
    /// environment.
    World,
    /// A rigid body.
    Body,
    /// A frame, rigid in the body above it, or in the world.
    Frame,
}

/// The roles of all links.
#[derive(Clone, Debug)]
pub struct Roles {
    /// The role of each link.
    pub of: ArenaMap<Link, Role>,
    /// The nearest body at or above each link; `None` if only the world is.
    pub body: ArenaMap<Link, Option<LinkId>>,
    /// For each body, the link whose mass and geometry it takes. This is the link itself, except
    /// for an empty base of a mobile robot (`base_footprint`): it takes those of the one link that
    /// is fixed to it (`base_link`), which becomes a frame. TF edges keep the direction of the
    /// joints, and rigidly connected links move as one.
    pub content: ArenaMap<Link, LinkId>,
}

impl Roles {
    /// Computes the roles of the links of `robot`.
    pub fn new(robot: &Robot, base: Base) -> Self {
        let tree = robot.tree();
        let (world, occupied) = (robot.world_root(), occupied(robot));
        let mut roles = Self {
            of: ArenaMap::filled(robot.links(), Role::Frame),
            body: ArenaMap::filled(robot.links(), None),
            content: ArenaMap::new(robot.links(), |link, _| link),
        };
        // Links whose mass and geometry the base above them takes.
        let mut given = ArenaMap::filled(robot.links(), false);
        // From the roots outwards: a base takes from a link below it.
        for &link in tree.order() {
            let joint = tree.parent_joint(link).map(|joint| &robot.joints()[joint]);
            let is_empty = robot.links()[link].is_empty();
            let moves = joint.is_some_and(|joint| joint.kind() != JointKind::Fixed);
            // A root, or what a floating joint moves (docs/frames.md). With a floating base a fixed
            // joint does not tie the robot to the world.
            let is_base = joint.is_none_or(|joint| {
                joint.kind() == JointKind::Floating
                    || base == Base::Floating && !moves && Some(joint.parent()) == world
            });
            roles.of[link] = if Some(link) == world {
                Role::World
            } else if moves || !is_empty && !given[link] || is_base && occupied[link] {
                Role::Body
            } else {
                Role::Frame
            };
            let above = joint.and_then(|joint| roles.body[joint.parent()]);
            roles.body[link] = if roles.of[link] == Role::Body {
                Some(link)
            } else {
                above
            };
            if is_base
                && is_empty
                && roles.of[link] == Role::Body
                && let Some(content) = only_link_on(robot, link)
            {
                roles.content[link] = content;
                given[content] = true;
            }
        }
        roles
    }
}

/// Returns, for each link, whether it or a link below it must be a body of its tree: a link with
/// mass or a shape, or one that a joint moves. A floating link begins its own tree.
fn occupied(robot: &Robot) -> ArenaMap<Link, bool> {
    let mut occupied = ArenaMap::new(robot.links(), |_, link| !link.is_empty());
    // A joint that closes a loop and moves needs a body at either end.
    let moves = |joint: &&Joint| !matches!(joint.kind(), JointKind::Fixed | JointKind::Floating);
    for joint in robot
        .joints()
        .values()
        .filter(|joint| joint.closes_loop())
        .filter(moves)
    {
        (occupied[joint.parent()], occupied[joint.child()]) = (true, true);
    }
    for &link in robot.tree().order().iter().rev() {
        let Some(joint) = robot
            .tree()
            .parent_joint(link)
            .map(|joint| &robot.joints()[joint])
        else {
            continue;
        };
        occupied[joint.parent()] |= match joint.kind() {
            // A floating link is a separate base, and needs no body above it.
            JointKind::Floating => false,
            JointKind::Fixed => occupied[link],
            _ => true,
        };
    }
    occupied
}

/// Returns the only link with mass or a shape that fixed joints connect to the empty link `base`,
/// with only empty links between; `None` if there are several or none.
fn only_link_on(robot: &Robot, base: LinkId) -> Option<LinkId> {
    let (mut found, mut stack) = (None, vec![base]);
    while let Some(link) = stack.pop() {
        if robot.links()[link].is_empty() {
            let below = robot
                .tree()
                .child_joints(link)
                .iter()
                .map(|&joint| &robot.joints()[joint]);
            stack.extend(
                below
                    .filter(|joint| joint.kind() == JointKind::Fixed)
                    .map(|joint| joint.child()),
            );
        } else if found.replace(link).is_some() {
            // Several links are fixed to the base: each stays a body (docs/frames.md).
            return None;
        }
    }
    found
}
