//! What becomes of each link and joint: body, frame or nothing, where its prim stands, and which
//! bodies a joint connects.
//!
//! All layers are written from one plan, so that they agree on every path. This module decides; it
//! authors nothing.

use std::collections::{BTreeMap, HashMap};

use super::isaac_schema::NAMED_POSES;
use super::lights;
use super::sensors::{self, SensorPlan};
use super::{Base, Bodies};
use urdf_usd_robot::{JointId, JointKind, LinkId, Pose, Robot, Role, Roles, names};

/// Names of children of the default prim that links and joints must not take.
pub(super) const ROOT_SCOPES: [&str; 5] = [
    "Materials",
    "PhysicsMaterials",
    "CollisionGroups",
    "Interfaces",
    NAMED_POSES,
];
/// Names of children of a link that links and joints must not take.
pub(super) const LINK_SCOPES: [&str; 3] = ["visual", "collision", SPHERES];
/// The scope of a link's spheres, and the variant in which they are its colliders.
pub(super) const SPHERES: &str = "spheres";
/// The variant set of colliders (REP-158 §1.3.2).
pub(super) const FIDELITY: &str = "collision_fidelity";
/// The variant in which meshes collide as their convex hulls.
pub(super) const HULL: &str = "convex_hull";
/// The variant in which they collide as they are.
pub(super) const TRIMESH: &str = "trimesh";

/// The most links whose prims stand in each other. Real robots have up to 20. What reads an asset
/// goes down all of them for each prim: OpenUSD's time and stack, and that of others, grow with the
/// depth.
pub(super) const MAX_NESTED: usize = 64;
/// The most bytes of the paths of all links, unless they have [`MAX_LONGER`] times as many at most
/// as they would if no link stood in another. Each stands some twenty times in the layers.
const MAX_PATHS: usize = 512 << 10;
/// See [`MAX_PATHS`].
const MAX_LONGER: usize = 4;

/// Where a link stands.
#[derive(Clone, Debug)]
pub(super) struct LinkPlan {
    pub role: Role,
    /// The prim's path; the default prim's for `Role::World`.
    pub path: String,
    /// The link whose prim holds this one's, directly or by a camera of which this is the optical
    /// frame; `None` for the default prim.
    pub holder: Option<LinkId>,
    /// The pose in the prim above it.
    pub local: Pose,
    /// The pose in the default prim, all joints at zero.
    pub rest: Pose,
    /// The nearest body at or above it; `None` where only the world is.
    pub body: Option<LinkId>,
    /// Of a body: the link whose mass and geometry it has ([`Roles::content`]).
    pub content: LinkId,
    /// Whether the inertial cannot be used as it is and a stand-in mass is written.
    pub mass_missing: bool,
}

/// Where a joint stands and what it connects.
#[derive(Clone, Debug)]
pub(super) struct JointPlan {
    pub path: String,
    /// `None`: the world.
    pub body0: Option<LinkId>,
    /// `None`: the world, which only a joint that closes a loop leads to.
    pub body1: Option<LinkId>,
    /// The joint frame (without the axis) in `body0`, or in the default prim.
    pub local0: Pose,
    /// The same frame in `body1`.
    pub local1: Pose,
}

/// What does not stand where it is in the robot's tree, since the paths would be too deep or too
/// long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flattened {
    #[default]
    Nothing,
    /// Bodies stand in the default prim, though they were to be nested.
    Bodies,
    /// Bodies stand in the default prim, and frames in the body that they are rigid in.
    Frames,
}

/// The decisions for a whole robot.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The default prim's name.
    pub name: String,
    pub flattened: Flattened,
    /// How many links deep the robot is nested in its source.
    pub depth: usize,
    pub links: Vec<LinkPlan>,
    /// `None` where a joint is not written: inside frames, and floating ones.
    pub joints: Vec<Option<JointPlan>>,
    /// Joints that hold bodies to the world where no URDF joint does (`--base fixed`): their paths
    /// and the bodies.
    pub world_joints: Vec<(String, LinkId)>,
    /// The paths of the articulation roots, one per tree of bodies (REP-158 §1.3).
    pub articulation_roots: Vec<String>,
    /// Pairs of bodies, or of the world and a body, that are not checked for collision, by the
    /// first of each in the tree's order, with the others in it.
    pub filtered_pairs: Vec<(LinkId, Vec<LinkId>)>,
    /// As [`Robot::sensors`].
    pub sensors: Vec<SensorPlan>,
    /// As [`Robot::lights`]: their paths.
    pub lights: Vec<String>,
}

impl Plan {
    pub(super) fn new(robot: &Robot, base: Base, bodies: Bodies) -> Self {
        let roles = Roles::new(robot, base);
        let name = name_of_root(robot, &roles);
        let Nesting {
            mut links,
            bodies,
            flattened,
            depth,
        } = nest(robot, &roles, &name, bodies);
        let written: Vec<bool> = (0..robot.joints.len())
            .map(|joint| is_written(robot, &links, base, joint))
            .collect();
        let held = links_to_hold(robot, &links, &written, base);
        let children = name_children(robot, &links, &written, held.len(), bodies);
        for &link in &robot.tree.order {
            let path = match links[link.0].role {
                Role::World => format!("/{name}"),
                _ => match links[link.0].holder {
                    Some(holder) => format!("{}/{}", links[holder.0].path, children.links[link.0]),
                    None => format!("/{name}/{}", children.links[link.0]),
                },
            };
            links[link.0].path = path;
        }
        let mut joints: Vec<Option<JointPlan>> = vec![None; robot.joints.len()];
        for (index, joint) in robot.joints.iter().enumerate() {
            let Some(identifier) = &children.joints[index] else {
                continue;
            };
            let scope = joint_scope(robot, &links, JointId(index), bodies);
            let holder =
                scope.map_or_else(|| format!("/{name}"), |link| links[link.0].path.clone());
            let (parent, child) = (&links[joint.parent.0], &links[joint.child.0]);
            joints[index] = Some(JointPlan {
                path: format!("{holder}/{identifier}"),
                body0: parent.body,
                body1: child.body,
                local0: in_body(&links, joint.parent) * joint.origin,
                local1: in_body(&links, joint.child),
            });
        }
        let world_joints: Vec<_> = children
            .world_joints
            .iter()
            .map(|identifier| format!("/{name}/{identifier}"))
            .zip(held)
            .collect();
        let articulation_roots = articulation_roots(robot, &name, &links, &joints, &world_joints);
        let filtered_pairs = filtered_pairs(robot, &links);
        let mut plan = Self {
            name,
            flattened,
            depth,
            links,
            joints,
            world_joints,
            articulation_roots,
            filtered_pairs,
            sensors: Vec::new(),
            lights: Vec::new(),
        };
        plan.sensors = sensors::plan(robot, &mut plan);
        plan.lights = lights::plan(robot, &plan);
        plan
    }

    /// The names of the prims that are planned below each prim.
    pub(super) fn children(&self) -> HashMap<String, Vec<String>> {
        let links = self.links.iter().map(|link| &link.path);
        let joints = self.joints.iter().flatten().map(|joint| &joint.path);
        let added = self.world_joints.iter().map(|(path, _)| path);
        let sensors = self
            .sensors
            .iter()
            .flat_map(|sensor| &sensor.prims)
            .map(|prim| &prim.path);
        let mut children: HashMap<String, Vec<String>> = HashMap::new();
        for (parent, name) in links
            .chain(joints)
            .chain(added)
            .chain(sensors)
            .filter_map(|path| path.rsplit_once('/'))
        {
            children
                .entry(parent.to_owned())
                .or_default()
                .push(name.to_owned());
        }
        children
    }

    /// The pose of a link in its nearest body, or in the default prim.
    pub(super) fn in_body(&self, link: LinkId) -> Pose {
        in_body(&self.links, link)
    }

    /// The default prim's path.
    pub(super) fn root(&self) -> String {
        format!("/{}", self.name)
    }
}

/// The name of the default prim. It is a frame of TF by its name (REP-158 §2.7), so no link's name
/// may be the same.
fn name_of_root(robot: &Robot, roles: &Roles) -> String {
    let links = robot
        .links
        .iter()
        .zip(&roles.of)
        .filter(|(_, role)| **role != Role::World);
    let frames: Vec<&str> = links.map(|(link, _)| link.name.as_str()).collect();
    let name = names::identifiers(&[&robot.name], "robot", &[]).remove(0);
    if !frames.contains(&name.as_str()) {
        return name;
    }
    names::identifiers(&[&format!("{name}_robot")], "robot", &frames).remove(0)
}

/// The pose of a link in its nearest body, or in the default prim.
fn in_body(links: &[LinkPlan], link: LinkId) -> Pose {
    match links[link.0].body {
        Some(body) => links[body.0].rest.inverse() * links[link.0].rest,
        None => links[link.0].rest,
    }
}

/// How the prims of links stand in each other.
struct Nesting {
    links: Vec<LinkPlan>,
    bodies: Bodies,
    flattened: Flattened,
    depth: usize,
}

/// Nests links as asked for, unless the paths would be too deep or too long: then bodies, and if
/// need be frames, are flat.
fn nest(robot: &Robot, roles: &Roles, name: &str, bodies: Bodies) -> Nesting {
    let placed = |bodies, flattened| {
        let links = place_links(robot, roles, bodies, flattened == Flattened::Frames);
        let Extent {
            depth,
            bytes,
            least,
        } = Extent::of(robot, &links, name);
        let fits = depth <= MAX_NESTED && bytes <= MAX_PATHS.max(MAX_LONGER * least);
        (
            Nesting {
                links,
                bodies,
                flattened,
                depth,
            },
            fits,
        )
    };
    let (wanted, fits) = placed(bodies, Flattened::Nothing);
    if fits {
        return wanted;
    }
    let depth = wanted.depth;
    let (flat, fits) = placed(Bodies::Flat, Flattened::Bodies);
    let flat = if fits {
        flat
    } else {
        placed(Bodies::Flat, Flattened::Frames).0
    };
    Nesting { depth, ..flat }
}

/// How deep links are nested, and what that costs.
struct Extent {
    /// How many links at most stand in each other.
    depth: usize,
    /// Of the paths of all links.
    bytes: usize,
    /// The same if no link stood in another.
    least: usize,
}

impl Extent {
    fn of(robot: &Robot, links: &[LinkPlan], name: &str) -> Self {
        let root = 1 + name.len();
        let mut extent = Self {
            depth: 0,
            bytes: 0,
            least: 0,
        };
        let mut of_link: Vec<(usize, usize)> = vec![(0, 0); links.len()];
        for &link in &robot.tree.order {
            let (depth, length) = links[link.0]
                .holder
                .map_or((0, root), |holder| of_link[holder.0]);
            let own = 1 + robot.links[link.0].name.len().min(names::MAX_IDENTIFIER);
            of_link[link.0] = (depth + 1, length + own);
            extent.depth = extent.depth.max(depth + 1);
            extent.bytes = extent.bytes.saturating_add(length + own);
            extent.least += root + own;
        }
        extent
    }
}

/// The place of every link. With `flat_frames` a frame stands in the body that it is rigid in, not
/// in the frame above it.
fn place_links(robot: &Robot, roles: &Roles, bodies: Bodies, flat_frames: bool) -> Vec<LinkPlan> {
    let rest = urdf_usd_robot::kinematics::Model::of(robot).poses(&[]);
    let mut plans: Vec<LinkPlan> = Vec::with_capacity(robot.links.len());
    for (index, role) in roles.of.iter().copied().enumerate() {
        let parent = robot.tree.parent_joint[index].map(|j| robot.joints[j.0].parent);
        let body = roles.body[index];
        // What floats is a tree of its own: nested, its articulation root would stand in another's.
        let floats = robot.tree.parent_joint[index]
            .is_some_and(|j| robot.joints[j.0].kind == JointKind::Floating);
        let holder = match (bodies, role) {
            (Bodies::Flat, Role::Body) => None,
            (_, Role::Body) if floats => None,
            (_, Role::Frame) if flat_frames => body,
            _ => parent.filter(|p| roles.of[p.0] != Role::World),
        };
        let local = match holder {
            Some(holder) => rest[holder.0].inverse() * rest[index],
            None => rest[index],
        };
        // The joint's own numbers where they are what is asked for: no rounding through the root.
        let local = match robot.tree.parent_joint[index] {
            Some(joint) if holder == parent => robot.joints[joint.0].origin,
            _ => local,
        };
        let content = roles.content[index];
        let has_mass = robot.links[content.0]
            .inertial
            .as_ref()
            .is_some_and(|i| i.mass > 0.0);
        let mass_missing = role == Role::Body && !has_mass;
        plans.push(LinkPlan {
            role,
            path: String::new(),
            holder,
            local,
            rest: rest[index],
            body,
            content,
            mass_missing,
        });
    }
    plans
}

/// The link in whose prim a joint stands: beside the child, in the parent (REP-158 §1.3). With flat
/// bodies: in the default prim.
fn joint_scope(
    robot: &Robot,
    links: &[LinkPlan],
    joint: JointId,
    bodies: Bodies,
) -> Option<LinkId> {
    let parent = robot.joints[joint.0].parent;
    match bodies {
        Bodies::Flat => None,
        Bodies::Nested => Some(parent).filter(|p| links[p.0].role != Role::World),
    }
}

/// Whether a joint of the URDF becomes a joint prim.
fn is_written(robot: &Robot, links: &[LinkPlan], base: Base, joint: usize) -> bool {
    let joint = &robot.joints[joint];
    let (parent, child) = (&links[joint.parent.0], &links[joint.child.0]);
    if joint.kind == JointKind::Floating || child.body == parent.body {
        return false;
    }
    // A free base is not held to the world.
    let is_free = base == Base::Floating && joint.kind == JointKind::Fixed;
    let is_held = !is_free || parent.body.is_some() && child.body.is_some();
    is_held && (joint.closes_loop || child.role == Role::Body)
}

/// The topmost bodies that `--base fixed` has to hold by itself, because no joint of the URDF does.
fn links_to_hold(robot: &Robot, links: &[LinkPlan], written: &[bool], base: Base) -> Vec<LinkId> {
    let is_topmost = |link: &LinkId| {
        let joint = robot.tree.parent_joint[link.0];
        links[link.0].role == Role::Body
            && joint
                .is_none_or(|j| links[robot.joints[j.0].parent.0].body.is_none() && !written[j.0])
    };
    match base {
        Base::Fixed => robot
            .tree
            .order
            .iter()
            .copied()
            .filter(is_topmost)
            .collect(),
        _ => Vec::new(),
    }
}

/// One root for each tree that joints make of the bodies, without those that close loops. A single
/// tree has it on the default prim, from where readers find the base, fixed or not. Several trees
/// have it each where UsdPhysics wants it: on the joint that holds the base to the world, else on
/// the base.
fn articulation_roots(
    robot: &Robot,
    name: &str,
    links: &[LinkPlan],
    joints: &[Option<JointPlan>],
    world_joints: &[(String, LinkId)],
) -> Vec<String> {
    let mut held: BTreeMap<LinkId, &str> = world_joints
        .iter()
        .map(|(path, body)| (*body, path.as_str()))
        .collect();
    let mut above: BTreeMap<LinkId, LinkId> = BTreeMap::new();
    for (plan, _) in joints
        .iter()
        .zip(&robot.joints)
        .filter(|(_, joint)| !joint.closes_loop)
    {
        match plan {
            Some(JointPlan {
                body0: Some(body0),
                body1: Some(body1),
                ..
            }) => {
                above.insert(*body1, *body0);
            }
            Some(JointPlan {
                body0: None,
                body1: Some(body1),
                path,
                ..
            }) => {
                held.entry(*body1).or_insert(path);
            }
            _ => {}
        }
    }
    let is_base = |link: &LinkId| links[link.0].role == Role::Body && !above.contains_key(link);
    let bases: Vec<LinkId> = robot.tree.order.iter().copied().filter(is_base).collect();
    match bases[..] {
        [] => Vec::new(),
        [_] => vec![format!("/{name}")],
        _ => bases
            .iter()
            .map(|base| {
                held.get(base)
                    .map_or_else(|| links[base.0].path.clone(), |p| (*p).to_owned())
            })
            .collect(),
    }
}

/// Bodies next to each other, whose colliders overlap at the joint as a rule, and what the source
/// says.
fn filtered_pairs(robot: &Robot, links: &[LinkPlan]) -> Vec<(LinkId, Vec<LinkId>)> {
    let mut position = vec![0; links.len()];
    // By link: the body that it is rigid in, or the world.
    let mut rigid_in: Vec<Option<LinkId>> = vec![None; links.len()];
    for (index, &link) in robot.tree.order.iter().enumerate() {
        position[link.0] = index;
        let above = robot.tree.parent_joint[link.0]
            .and_then(|joint| rigid_in[robot.joints[joint.0].parent.0]);
        rigid_in[link.0] = if links[link.0].role == Role::Frame {
            above
        } else {
            Some(link)
        };
    }
    // A joint on a frame connects the body that the frame is rigid in; what the source says of a
    // frame without colliders says nothing of that body. What floats is connected to nothing.
    let connecting = robot
        .joints
        .iter()
        .filter(|joint| joint.kind != JointKind::Floating);
    let adjacent = connecting.map(|joint| (rigid_in[joint.parent.0], rigid_in[joint.child.0]));
    let with_content = |link: LinkId| rigid_in[link.0].filter(|body| links[body.0].content == link);
    let said = robot
        .disabled_collisions
        .iter()
        .map(|&(one, other)| (with_content(one), with_content(other)));
    let mut pairs: BTreeMap<usize, BTreeMap<usize, LinkId>> = BTreeMap::new();
    for (one, other) in adjacent.chain(said) {
        let (Some(one), Some(other)) = (one, other) else {
            continue;
        };
        let (first, second) = if position[one.0] <= position[other.0] {
            (one, other)
        } else {
            (other, one)
        };
        if first != second {
            pairs
                .entry(position[first.0])
                .or_default()
                .insert(position[second.0], second);
        }
    }
    pairs
        .into_iter()
        .map(|(first, others)| (robot.tree.order[first], others.into_values().collect()))
        .collect()
}

struct Children {
    links: Vec<String>,
    joints: Vec<Option<String>>,
    world_joints: Vec<String>,
}

/// Identifiers of links and joints. Where a link and a joint share a name the link keeps it, since
/// its prim's name is its TF frame.
fn name_children(
    robot: &Robot,
    links: &[LinkPlan],
    written: &[bool],
    world_joints: usize,
    bodies: Bodies,
) -> Children {
    let mut out = Children {
        links: Vec::new(),
        joints: vec![None; written.len()],
        world_joints: Vec::new(),
    };
    // A body's prim name is its TF frame (REP-158 §2.7), so links are named in one pass over the
    // whole robot: two names that become one by encoding would otherwise be one frame, wherever in
    // the tree they stand.
    let link_names: Vec<&str> = robot.links.iter().map(|link| link.name.as_str()).collect();
    let scopes: Vec<&str> = LINK_SCOPES.iter().chain(&ROOT_SCOPES).copied().collect();
    out.links = names::identifiers(&link_names, "link", &scopes);
    // Gathered in one pass each: a scan per holder would be quadratic in the links.
    let mut by_holder: BTreeMap<Option<LinkId>, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    by_holder.entry(None).or_default();
    for (index, link) in links
        .iter()
        .enumerate()
        .filter(|(_, link)| link.role != Role::World)
    {
        by_holder.entry(link.holder).or_default().0.push(index);
    }
    for (index, _) in written.iter().enumerate().filter(|(_, written)| **written) {
        by_holder
            .entry(joint_scope(robot, links, JointId(index), bodies))
            .or_default()
            .1
            .push(index);
    }
    for (holder, (held, joints)) in by_holder {
        let mut siblings: Vec<&str> = joints
            .iter()
            .map(|&j| robot.joints[j].name.as_str())
            .collect();
        if holder.is_none() {
            siblings.extend(std::iter::repeat_n("world_joint", world_joints));
        }
        let reserved: Vec<&str> = held
            .iter()
            .map(|&i| out.links[i].as_str())
            .chain(scopes.iter().copied())
            .collect();
        let mut identifiers = names::identifiers(&siblings, "joint", &reserved).into_iter();
        for (&index, identifier) in joints.iter().zip(identifiers.by_ref()) {
            out.joints[index] = Some(identifier);
        }
        out.world_joints.extend(identifiers);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASS: &str = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>";

    /// A chain of links, each turned and moved a little in the one before.
    fn chain(
        count: usize,
        inside: impl Fn(usize) -> &'static str,
        kind: &str,
        name: impl Fn(usize) -> String,
    ) -> Robot {
        let mut text = "<robot name='r'>".to_owned();
        for n in 0..count {
            text += &format!("<link name='{}'>{}</link>", name(n), inside(n));
            if n > 0 {
                let (parent, child) = (name(n - 1), name(n));
                text += &format!(
                    "<joint name='j{n}' type='{kind}'><parent link='{parent}'/><child link='{child}'/><origin xyz='0.1 0 0' rpy='0 0 0.2'/></joint>"
                );
            }
        }
        urdf_usd_urdf::read(&(text + "</robot>"), None)
            .robot
            .unwrap()
    }

    fn levels(plan: &Plan) -> usize {
        plan.links
            .iter()
            .map(|link| link.path.matches('/').count() - 1)
            .max()
            .unwrap()
    }

    #[test]
    fn bodies_are_flat_where_depth_would_square() {
        let of = |count: usize, bodies| {
            Plan::new(
                &chain(count, |_| MASS, "continuous", |n| format!("l{n}")),
                Base::Auto,
                bodies,
            )
        };
        let (nested, deep) = (
            of(MAX_NESTED, Bodies::Nested),
            of(MAX_NESTED + 1, Bodies::Nested),
        );
        assert_eq!(
            (levels(&nested), nested.flattened),
            (MAX_NESTED, Flattened::Nothing)
        );
        assert_eq!(
            (levels(&deep), deep.flattened, deep.depth),
            (1, Flattened::Bodies, MAX_NESTED + 1)
        );
        assert!(
            deep.joints
                .iter()
                .flatten()
                .all(|joint| joint.path.matches('/').count() == 2)
        );
        // What was asked for anyway is nothing to tell.
        assert_eq!(
            of(MAX_NESTED + 1, Bodies::Flat).flattened,
            Flattened::Nothing
        );
    }

    #[test]
    fn frames_stand_in_their_body_where_depth_would_square() {
        let inside = |n: usize| if n == 0 { MASS } else { "" };
        let robot = chain(200, inside, "fixed", |n| format!("l{n}"));
        let plan = Plan::new(&robot, Base::Auto, Bodies::Nested);
        assert_eq!((levels(&plan), plan.flattened), (2, Flattened::Frames));
        let rest = urdf_usd_robot::kinematics::Model::of(&robot).poses(&[]);
        for (link, rest) in plan.links.iter().zip(&rest).skip(1) {
            assert_eq!((link.role, link.holder), (Role::Frame, Some(LinkId(0))));
            assert!((link.local.to_homogeneous() - rest.to_homogeneous()).amax() < 1e-9);
        }
    }

    #[test]
    fn the_default_prim_is_called_as_no_link_is() {
        for (name, link, root) in [
            ("rover", "base", "rover"),
            ("rover", "rover", "rover_robot"),
            ("my rover", "my_rover", "my_rover_robot"),
            ("w", "world", "w"),
        ] {
            let text = format!(
                "<robot name='{name}'><link name='{link}'>{MASS}</link><link name='rover_arm'/></robot>"
            );
            let robot = urdf_usd_urdf::read(&text, None).robot.unwrap();
            assert_eq!(Plan::new(&robot, Base::Auto, Bodies::Nested).name, root);
        }
    }

    #[test]
    fn long_names_count_too() {
        // Sixty links deep only, but a hundred times, with names as long as they may be.
        let long = |n: usize| format!("{}{n}", "a".repeat(240));
        let one = chain(60, |_| MASS, "continuous", long);
        assert_eq!(
            Plan::new(&one, Base::Auto, Bodies::Nested).flattened,
            Flattened::Nothing
        );
        let links: String = (0..3000)
            .map(|n| format!("<link name='{}'>{MASS}</link>", long(n)))
            .collect();
        let joints = (0..3000).filter(|n| n % 60 != 0).map(|n| {
            let (parent, child) = (long(n - 1), long(n));
            format!("<joint name='j{n}' type='fixed'><parent link='{parent}'/><child link='{child}'/></joint>")
        });
        let text = format!(
            "<robot name='r'>{links}{}</robot>",
            joints.collect::<String>()
        );
        let many = urdf_usd_urdf::read(&text, None).robot.unwrap();
        let plan = Plan::new(&many, Base::Auto, Bodies::Nested);
        assert_eq!(
            (levels(&plan), plan.flattened, plan.depth),
            (1, Flattened::Bodies, 60)
        );
    }
}
