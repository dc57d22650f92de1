//! Decides the role of each link and joint (body, frame or none), the path of its prim and the
//! bodies that each joint connects.
//!
//! All layers are written from one plan, so that they agree on every path. This module authors
//! nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::sensors::{self, SensorPlan};
use super::{Base, Bodies};
use super::{lights, mujoco};
use urdf_usd_robot::kinematics::Model;
use urdf_usd_robot::{
    ArenaMap, Joint, JointId, JointKind, Link, LinkId, Pose, Robot, Role, Roles, names,
};
use urdf_usd_usd_author::isaac_schema::{NAMED_POSES, SIM_NAMED_POSES};
use urdf_usd_usd_author::layout::SPHERES;

/// Names of children of the default prim that are reserved.
pub(super) const ROOT_SCOPES: [&str; 8] = [
    CLASSES,
    "Materials",
    "PhysicsMaterials",
    "CollisionGroups",
    "Interfaces",
    mujoco::SCOPE,
    NAMED_POSES,
    SIM_NAMED_POSES,
];
/// Name of the scope of classes that instances inherit.
pub(super) const CLASSES: &str = "Classes";
/// Names of children of a link that are reserved.
pub(super) const LINK_SCOPES: [&str; 3] = [VISUAL, COLLISION, SPHERES];
const VISUAL: &str = "visual";
const COLLISION: &str = "collision";

/// Maximum depth of nested link prims. Real robots reach about 20. Programs that read an asset
/// descend through all of them for each prim: time and stack of OpenUSD and others grow with the
/// depth.
pub(super) const MAX_NESTED: usize = 64;
/// Maximum total bytes of the paths of all links, unless that is at most [`MAX_LONGER`] times the
/// size of the flat paths. Each path occurs about twenty times in the layers.
const MAX_PATHS: usize = 512 << 10;
/// Permitted growth of the paths by nesting; see [`MAX_PATHS`].
const MAX_LONGER: usize = 4;

/// The role and location of a link.
#[derive(Clone, Debug)]
pub(super) struct LinkPlan {
    pub role: Role,
    /// The prim's path; the default prim's for `Role::World`.
    pub path: String,
    /// The link whose prim is the parent of this one, directly or through the camera of which this
    /// is the optical frame; `None` for the default prim.
    pub holder: Option<LinkId>,
    /// Pose relative to the parent prim.
    pub local: Pose,
    /// Pose relative to the default prim, with all joints at zero.
    pub rest: Pose,
    /// The nearest body at or above it; `None` if only the world is above.
    pub body: Option<LinkId>,
    /// For a body, the link whose mass and geometry it has ([`Roles::content`]).
    pub content: LinkId,
    /// True if the inertial is unusable and a placeholder mass is written.
    pub mass_missing: bool,
}

/// The location of a joint and the bodies it connects.
#[derive(Clone, Debug)]
pub(super) struct JointPlan {
    pub path: String,
    /// The first body; `None` for the world.
    pub body0: Option<LinkId>,
    /// The second body; `None` for the world, which only a loop-closing joint has here.
    pub body1: Option<LinkId>,
    /// The joint frame (without the axis) relative to `body0`, or to the default prim.
    pub local0: Pose,
    /// The joint frame relative to `body1`.
    pub local1: Pose,
}

/// The part of the hierarchy that is flattened because nested paths would be too deep or too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flattened {
    #[default]
    Nothing,
    /// Bodies are children of the default prim, although nesting was requested.
    Bodies,
    /// Bodies are children of the default prim, and frames are children of their rigid body.
    Frames,
}

/// The decisions for a whole robot.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The default prim's name.
    pub name: String,
    pub flattened: Flattened,
    /// Nesting depth of the robot's links in its source.
    pub depth: usize,
    pub links: ArenaMap<Link, LinkPlan>,
    /// `None` if a joint is not written: joints within a body, and floating ones.
    pub joints: ArenaMap<Joint, Option<JointPlan>>,
    /// Joints that fix bodies to the world if no URDF joint does (`--base fixed`): their paths and
    /// bodies.
    pub world_joints: Vec<(String, LinkId)>,
    /// The paths of the articulation roots, one per tree of bodies (REP-158 §1.3).
    pub articulation_roots: Vec<String>,
    /// Pairs of bodies, or of the world and a body, that are not checked for collision: by the
    /// first of each pair in tree order, with its partners.
    pub filtered_pairs: Vec<(LinkId, Vec<LinkId>)>,
    /// Parallel to [`Robot::sensors`].
    pub sensors: Vec<SensorPlan>,
    /// The paths of the lights, parallel to [`Robot::lights`].
    pub lights: Vec<String>,
}

impl Plan {
    pub(super) fn new(robot: &Robot, base: Base, bodies: Bodies) -> Self {
        let roles = Roles::new(robot, base);
        let name = name_of_root(robot);
        let Nesting {
            mut links,
            bodies,
            flattened,
            depth,
        } = nest(robot, &roles, &name, bodies);
        let written = ArenaMap::new(robot.joints(), |_, joint| is_written(&links, base, joint));
        let held = links_to_hold(robot, &links, &written, base);
        let children = name_children(robot, &links, &written, held.len(), bodies);
        for &link in robot.tree().order() {
            let path = match links[link].role {
                Role::World => format!("/{name}"),
                _ => match links[link].holder {
                    Some(holder) => format!("{}/{}", links[holder].path, children.links[link]),
                    None => format!("/{name}/{}", children.links[link]),
                },
            };
            links[link].path = path;
        }
        let joints = ArenaMap::new(robot.joints(), |id, joint| {
            let identifier = children.joints[id].as_ref()?;
            let scope = joint_scope(&links, joint, bodies);
            let holder = scope.map_or_else(|| format!("/{name}"), |link| links[link].path.clone());
            Some(JointPlan {
                path: format!("{holder}/{identifier}"),
                body0: links[joint.parent()].body,
                body1: links[joint.child()].body,
                local0: in_body(&links, joint.parent()) * joint.origin,
                local1: in_body(&links, joint.child()),
            })
        });
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

    /// Returns the names of the planned children of each prim.
    pub(super) fn children(&self) -> HashMap<String, Vec<String>> {
        let links = self.links.values().map(|link| &link.path);
        let joints = self.joints.values().flatten().map(|joint| &joint.path);
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

    /// Returns the pose of a link relative to its nearest body, or to the default prim.
    pub(super) fn in_body(&self, link: LinkId) -> Pose {
        in_body(&self.links, link)
    }

    /// Returns the default prim's path.
    pub(super) fn root(&self) -> String {
        format!("/{}", self.name)
    }
}

/// Returns the name of the default prim. It is the name of a TF frame (REP-158 §2.7), so it must
/// differ from the names of all links.
pub(super) fn name_of_root(robot: &Robot) -> String {
    let links = robot
        .links()
        .iter()
        .filter(|(id, _)| robot.world_root() != Some(*id));
    let frames: Vec<&str> = links.map(|(_, link)| link.name()).collect();
    let name = names::identifiers(&[robot.name()], "robot", &[]).remove(0);
    if !frames.contains(&name.as_str()) {
        return name;
    }
    names::identifiers(&[&format!("{name}_robot")], "robot", &frames).remove(0)
}

/// Returns the pose of a link relative to its nearest body, or to the default prim.
fn in_body(links: &ArenaMap<Link, LinkPlan>, link: LinkId) -> Pose {
    match links[link].body {
        Some(body) => links[body].rest.inverse() * links[link].rest,
        None => links[link].rest,
    }
}

/// The hierarchy of link prims.
struct Nesting {
    links: ArenaMap<Link, LinkPlan>,
    bodies: Bodies,
    flattened: Flattened,
    depth: usize,
}

/// Nests links as requested. If the paths are too deep or too long, flattens bodies and, if that is
/// not enough, frames.
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
    // Report the requested depth, not that of the flattened layout.
    Nesting { depth, ..flat }
}

/// Nesting depth of links, and the size of their paths.
struct Extent {
    /// Maximum number of links nested in each other.
    depth: usize,
    /// Total bytes of the paths of all links.
    bytes: usize,
    /// Total bytes of the paths if no link were nested.
    least: usize,
}

impl Extent {
    fn of(robot: &Robot, links: &ArenaMap<Link, LinkPlan>, name: &str) -> Self {
        let root = 1 + name.len();
        let mut extent = Self {
            depth: 0,
            bytes: 0,
            least: 0,
        };
        let mut of_link = ArenaMap::filled(robot.links(), (0, 0));
        for &link in robot.tree().order() {
            let (depth, length) = links[link]
                .holder
                .map_or((0, root), |holder| of_link[holder]);
            let own = 1 + robot.links()[link].name().len().min(names::MAX_IDENTIFIER);
            of_link[link] = (depth + 1, length + own);
            extent.depth = extent.depth.max(depth + 1);
            extent.bytes = extent.bytes.saturating_add(length + own);
            extent.least += root + own;
        }
        extent
    }
}

/// Places every link. With `flat_frames` the parent of a frame is the body it is rigidly attached
/// to, not the frame above it.
fn place_links(
    robot: &Robot,
    roles: &Roles,
    bodies: Bodies,
    flat_frames: bool,
) -> ArenaMap<Link, LinkPlan> {
    let mut poses = Model::of(robot).poses(&[]).into_iter();
    let rest = ArenaMap::new(robot.links(), |_, _| {
        poses.next().unwrap_or_else(Pose::identity)
    });
    ArenaMap::new(robot.links(), |link, _| {
        let role = roles.of[link];
        let above = robot.tree().parent_joint(link).map(|j| &robot.joints()[j]);
        let parent = above.map(Joint::parent);
        let body = roles.body[link];
        // A floating link starts a tree: nested, its articulation root would be inside another one.
        let floats = above.is_some_and(|joint| joint.kind() == JointKind::Floating);
        let holder = match (bodies, role) {
            (Bodies::Flat, Role::Body) => None,
            (_, Role::Body) if floats => None,
            (_, Role::Frame) if flat_frames => body,
            _ => parent.filter(|&parent| roles.of[parent] != Role::World),
        };
        let local = match (above, holder) {
            // Use the joint's own numbers where they apply: going through the root would round
            // them.
            (Some(joint), _) if holder == parent => joint.origin,
            (_, Some(holder)) => rest[holder].inverse() * rest[link],
            (_, None) => rest[link],
        };
        let content = roles.content[link];
        let has_mass = robot.links()[content]
            .inertial
            .as_ref()
            .is_some_and(|i| i.mass > 0.0);
        LinkPlan {
            role,
            path: String::new(),
            holder,
            local,
            rest: rest[link],
            body,
            content,
            mass_missing: role == Role::Body && !has_mass,
        }
    })
}

/// Returns the link under whose prim a joint is authored: the parent's, beside the child (REP-158
/// §1.3), or the default prim if bodies are flat.
fn joint_scope(links: &ArenaMap<Link, LinkPlan>, joint: &Joint, bodies: Bodies) -> Option<LinkId> {
    match bodies {
        Bodies::Flat => None,
        Bodies::Nested => Some(joint.parent()).filter(|&p| links[p].role != Role::World),
    }
}

/// Returns whether a joint of the URDF becomes a joint prim.
fn is_written(links: &ArenaMap<Link, LinkPlan>, base: Base, joint: &Joint) -> bool {
    let (parent, child) = (&links[joint.parent()], &links[joint.child()]);
    if joint.kind() == JointKind::Floating || child.body == parent.body {
        return false;
    }
    // A floating base is not attached to the world.
    let is_free = base == Base::Floating && joint.kind() == JointKind::Fixed;
    let is_held = !is_free || parent.body.is_some() && child.body.is_some();
    is_held && (joint.closes_loop() || child.role == Role::Body)
}

/// Returns the topmost bodies that `--base fixed` must fix to the world because no URDF joint does.
fn links_to_hold(
    robot: &Robot,
    links: &ArenaMap<Link, LinkPlan>,
    written: &ArenaMap<Joint, bool>,
    base: Base,
) -> Vec<LinkId> {
    let is_topmost = |link: &LinkId| {
        let joint = robot.tree().parent_joint(*link);
        links[*link].role == Role::Body
            && joint.is_none_or(|j| links[robot.joints()[j].parent()].body.is_none() && !written[j])
    };
    match base {
        Base::Fixed => robot
            .tree()
            .order()
            .iter()
            .copied()
            .filter(is_topmost)
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns one articulation root per tree of joints, ignoring joints that close loops. A single
/// tree has it on the default prim, where readers look for the base, fixed or not. With several
/// trees each root is where UsdPhysics expects it: on the joint that fixes the base to the world,
/// else on the base.
fn articulation_roots(
    robot: &Robot,
    name: &str,
    links: &ArenaMap<Link, LinkPlan>,
    joints: &ArenaMap<Joint, Option<JointPlan>>,
    world_joints: &[(String, LinkId)],
) -> Vec<String> {
    let mut held: BTreeMap<LinkId, &str> = world_joints
        .iter()
        .map(|(path, body)| (*body, path.as_str()))
        .collect();
    let mut above: BTreeMap<LinkId, LinkId> = BTreeMap::new();
    for (id, _) in robot
        .joints()
        .iter()
        .filter(|(_, joint)| !joint.closes_loop())
    {
        match &joints[id] {
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
    let is_base = |link: &LinkId| links[*link].role == Role::Body && !above.contains_key(link);
    let bases: Vec<LinkId> = robot
        .tree()
        .order()
        .iter()
        .copied()
        .filter(is_base)
        .collect();
    match bases[..] {
        [] => Vec::new(),
        [_] => vec![format!("/{name}")],
        _ => bases
            .iter()
            .map(|&base| {
                held.get(&base)
                    .map_or_else(|| links[base].path.clone(), |p| (*p).to_owned())
            })
            .collect(),
    }
}

/// Returns the pairs to filter: adjacent bodies, whose colliders usually overlap at the joint, and
/// the pairs that the source disables.
fn filtered_pairs(robot: &Robot, links: &ArenaMap<Link, LinkPlan>) -> Vec<(LinkId, Vec<LinkId>)> {
    let mut position = ArenaMap::filled(robot.links(), 0);
    // The body that each link is rigidly attached to, or the world.
    let mut rigid_in: ArenaMap<Link, Option<LinkId>> = ArenaMap::filled(robot.links(), None);
    for (index, &link) in robot.tree().order().iter().enumerate() {
        position[link] = index;
        let above = robot
            .tree()
            .parent_joint(link)
            .and_then(|joint| rigid_in[robot.joints()[joint].parent()]);
        rigid_in[link] = if links[link].role == Role::Frame {
            above
        } else {
            Some(link)
        };
    }
    // A joint on a frame connects the body of that frame. A pair in the source that names a frame
    // without colliders does not apply to the frame's body. Floating links are not adjacent to
    // anything.
    let connecting = robot
        .joints()
        .values()
        .filter(|joint| joint.kind() != JointKind::Floating);
    let adjacent = connecting.map(|joint| (rigid_in[joint.parent()], rigid_in[joint.child()]));
    let with_content = |link: LinkId| rigid_in[link].filter(|&body| links[body].content == link);
    let filtered = robot.filtered_collisions();
    let said = filtered
        .iter()
        .map(|(one, other)| (with_content(one), with_content(other)));
    // Sorted by the tree positions of both bodies.
    let mut pairs: BTreeMap<usize, (LinkId, BTreeMap<usize, LinkId>)> = BTreeMap::new();
    for (one, other) in adjacent.chain(said) {
        let (Some(one), Some(other)) = (one, other) else {
            continue;
        };
        let (first, second) = if position[one] <= position[other] {
            (one, other)
        } else {
            (other, one)
        };
        if first != second {
            pairs
                .entry(position[first])
                .or_insert_with(|| (first, BTreeMap::new()))
                .1
                .insert(position[second], second);
        }
    }
    pairs
        .into_values()
        .map(|(first, others)| (first, others.into_values().collect()))
        .collect()
}

/// The names of the prims of links and joints.
struct Children {
    links: ArenaMap<Link, String>,
    /// `None` for joints that are not written.
    joints: ArenaMap<Joint, Option<String>>,
    world_joints: Vec<String>,
}

/// The links and joints with the same parent prim.
#[derive(Default)]
struct Siblings {
    links: Vec<LinkId>,
    joints: Vec<JointId>,
}

/// Returns whether the prim of `holder`, or the default prim, has a scope called `name`, which no link
/// and no joint in it can be called. A scope of shapes exists only where there are shapes.
fn is_scope(
    robot: &Robot,
    links: &ArenaMap<Link, LinkPlan>,
    holder: Option<LinkId>,
    name: &str,
) -> bool {
    // The world's shapes are in the default prim.
    let shown = match holder {
        Some(link) => Some(links[link].content),
        None => robot.world_root(),
    };
    let has =
        |is_shown: fn(&Link) -> bool| shown.is_some_and(|link| is_shown(&robot.links()[link]));
    match name {
        VISUAL => has(|link| !link.visuals.is_empty()),
        COLLISION => has(|link| !link.collisions.is_empty()),
        SPHERES => {
            let of = holder.or(robot.world_root());
            let groups = &robot.planning().groups;
            let mut spheres = groups.iter().flat_map(|group| &group.spheres);
            spheres.any(|(link, _)| Some(*link) == of)
        }
        _ => holder.is_none() && ROOT_SCOPES.contains(&name),
    }
}

/// Assigns identifiers to links and joints. If a link and a joint share a name the link keeps it,
/// because its prim's name is its TF frame.
fn name_children(
    robot: &Robot,
    links: &ArenaMap<Link, LinkPlan>,
    written: &ArenaMap<Joint, bool>,
    world_joints: usize,
    bodies: Bodies,
) -> Children {
    // A body's prim name is its TF frame (REP-158 §2.7), so links are named in one pass over the
    // whole robot: two names that encode to the same identifier would be one TF frame, wherever
    // they are in the tree.
    let link_names: Vec<&str> = robot.links().values().map(|link| link.name()).collect();
    let holders: Vec<Option<LinkId>> = links.values().map(|link| link.holder).collect();
    let is_reserved = |index: usize, name: &str| {
        let holder = holders.get(index).copied().flatten();
        is_scope(robot, links, holder, name)
    };
    let mut identifiers = names::identifiers_without(&link_names, "link", is_reserved).into_iter();
    let mut out = Children {
        links: ArenaMap::new(robot.links(), |_, _| identifiers.next().unwrap_or_default()),
        joints: ArenaMap::filled(robot.joints(), None),
        world_joints: Vec::new(),
    };
    // Grouped in one pass: a scan per parent would be quadratic in the number of links.
    let mut by_holder: BTreeMap<Option<LinkId>, Siblings> = BTreeMap::new();
    by_holder.entry(None).or_default();
    for (id, link) in links.iter().filter(|(_, link)| link.role != Role::World) {
        by_holder.entry(link.holder).or_default().links.push(id);
    }
    for (id, joint) in robot.joints().iter().filter(|(id, _)| written[*id]) {
        by_holder
            .entry(joint_scope(links, joint, bodies))
            .or_default()
            .joints
            .push(id);
    }
    for (holder, siblings) in by_holder {
        let mut wanted: Vec<&str> = siblings
            .joints
            .iter()
            .map(|&joint| robot.joints()[joint].name())
            .collect();
        if holder.is_none() {
            wanted.extend(std::iter::repeat_n("world_joint", world_joints));
        }
        let of_links: HashSet<&str> = siblings
            .links
            .iter()
            .map(|&link| out.links[link].as_str())
            .collect();
        let is_reserved =
            |_, name: &str| of_links.contains(name) || is_scope(robot, links, holder, name);
        let mut identifiers = names::identifiers_without(&wanted, "joint", is_reserved).into_iter();
        for (&joint, identifier) in siblings.joints.iter().zip(identifiers.by_ref()) {
            out.joints[joint] = Some(identifier);
        }
        out.world_joints.extend(identifiers);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use urdf_usd_robot::{Planning, Sphere, SphereGroup};

    const MASS: &str = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>";

    /// Returns a chain of links, each slightly rotated and offset from the previous one.
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

    #[test]
    fn links_keep_names_that_no_scope_beside_them_has() {
        let shape = "<geometry><sphere radius='1'/></geometry>";
        let mut text = format!(
            "<robot name='r'><link name='base'>{MASS}<visual>{shape}</visual></link><link name='Materials'/>"
        );
        for (n, name) in ["visual", "collision", "Interfaces", "spheres"]
            .iter()
            .enumerate()
        {
            text += &format!(
                "<link name='{name}'/><joint name='j{n}' type='fixed'><parent link='base'/><child link='{name}'/></joint>"
            );
        }
        let robot = urdf_usd_urdf::read(&(text + "</robot>"), None)
            .robot
            .unwrap();
        let plan = Plan::new(&robot, Base::Auto, Bodies::Nested);
        let mut paths: Vec<&str> = plan.links.values().map(|link| link.path.as_str()).collect();
        paths.sort_unstable();
        let expected = [
            "/r/Materials_1",
            "/r/base",
            "/r/base/Interfaces",
            "/r/base/collision",
            "/r/base/spheres",
            "/r/base/visual_1",
        ];
        assert_eq!(paths, expected);

        let mut checked = robot.clone();
        let sphere = Sphere {
            center: nalgebra::Point3::origin(),
            radius: 0.1,
        };
        let base = robot.link_named("base").unwrap();
        checked
            .set_planning(Planning {
                groups: vec![SphereGroup {
                    name: "g".to_owned(),
                    spheres: vec![(base, vec![sphere])],
                }],
                ..Planning::default()
            })
            .unwrap();
        let plan = Plan::new(&checked, Base::Auto, Bodies::Nested);
        let spheres = &plan.links[checked.link_named("spheres").unwrap()];
        assert_eq!(spheres.path, "/r/base/spheres_1");
    }

    fn levels(plan: &Plan) -> usize {
        plan.links
            .values()
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
                .values()
                .flatten()
                .all(|joint| joint.path.matches('/').count() == 2)
        );
        // An explicitly requested flat layout is not reported.
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
        let rest = Model::of(&robot).poses(&[]);
        let root = robot.links().handle(0);
        for (link, rest) in plan.links.values().zip(&rest).skip(1) {
            assert_eq!((link.role, link.holder), (Role::Frame, root));
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
        // Only sixty links deep, but a hundred chains with names of maximum length.
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
