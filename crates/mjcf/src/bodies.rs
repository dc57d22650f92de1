//! Writes the tree of bodies, with masses, joints, geometry and sites.

use nalgebra::{Unit, Vector3};

use super::assets::Geom;
use super::{Writer, codes, push_pose, quaternion};
use urdf_usd_robot::{
    Actuation, ArenaMap, Base, Connector, Geometry, Inertial, Joint, JointId, JointKind, Link,
    LinkId, Mass, Pose, Robot, Role, Roles, Shape, kinematics,
};
use urdf_usd_text::xml::{Attributes, number, numbers};

/// MuJoCo's largest position (mjMAXVAL): substitute for the missing side of a one-sided limit.
const UNLIMITED: f64 = 1e10;
/// Torsional and rolling friction: MuJoCo's defaults.
const DEFAULT_FRICTION: [f64; 2] = [0.005, 0.0001];

/// Motion of a body relative to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// Fixed.
    Fixed,
    /// Free motion in the world.
    Free,
    /// By a joint.
    Joint(JointId),
    /// By the joints of a chain ([`Bodies::chain`]).
    Chain(Connector),
}

/// The bodies that links of the robot become.
pub(super) struct Bodies {
    /// The body of each link, which is its own or the one it is rigidly part of, and its pose
    /// there. `None` is the world.
    pub placement: ArenaMap<Link, (Option<LinkId>, Pose)>,
    /// Motion of each link that is a body.
    pub motion: ArenaMap<Link, Option<Motion>>,
    /// The body above each body.
    pub above: ArenaMap<Link, Option<LinkId>>,
    /// The pose of each body in the body above it, with all joints at zero.
    pub rest: ArenaMap<Link, Pose>,
    /// Whether each link moves without any mass rigidly attached.
    massless: ArenaMap<Link, bool>,
}

impl Bodies {
    pub fn new(robot: &Robot, base: Base) -> Self {
        let roles = Roles::new(robot, base);
        let mut bodies = Self {
            placement: ArenaMap::filled(robot.links(), (None, Pose::identity())),
            motion: ArenaMap::filled(robot.links(), None),
            above: ArenaMap::filled(robot.links(), None),
            rest: ArenaMap::filled(robot.links(), Pose::identity()),
            massless: ArenaMap::filled(robot.links(), false),
        };
        for &link in robot.tree().order() {
            let parent = robot.tree().parent_joint(link);
            let above = parent.map(|id| {
                let joint = &robot.joints()[id];
                let (body, pose) = bodies.placement[joint.parent()];
                (id, joint, body, pose * joint.origin)
            });
            if robot.links()[link].connector.is_some() {
                // Placed by the body at the end of its chain.
                continue;
            }
            let chain = Self::chain(robot, link);
            if let &[first, .., last] = chain.as_slice() {
                let top = robot.joints()[first].parent();
                bodies.placement[link] = (Some(link), Pose::identity());
                let connector = robot.links()[robot.joints()[last].parent()].connector;
                bodies.motion[link] = connector.map(Motion::Chain);
                bodies.above[link] = bodies.placement[top].0;
                let mut below = Pose::identity();
                for &id in chain.iter().rev() {
                    let joint = &robot.joints()[id];
                    if joint.child() != link {
                        bodies.placement[joint.child()] = (Some(link), below.inverse());
                    }
                    below = joint.origin * below;
                }
                bodies.rest[link] = bodies.placement[top].1 * below;
                continue;
            }
            // For MuJoCo, the mass of fixed child links moves a body: a base whose content was
            // moved to another link stays a body.
            let is_body = roles.of[link] == Role::Body
                || roles.of[link] == Role::Frame && !robot.links()[link].is_empty();
            if !is_body {
                bodies.placement[link] =
                    above.map_or((None, Pose::identity()), |(_, _, body, pose)| (body, pose));
                continue;
            }
            let motion = match above {
                None if base == Base::Fixed => Motion::Fixed,
                None => Motion::Free,
                Some((_, joint, ..)) if joint.kind() == JointKind::Fixed => {
                    let is_released =
                        base == Base::Floating && roles.of[joint.parent()] == Role::World;
                    if is_released {
                        Motion::Free
                    } else {
                        Motion::Fixed
                    }
                }
                // MuJoCo allows free joints in children of the world only; deeper, three slides
                // and a ball replace one.
                Some((_, joint, None, _)) if joint.kind() == JointKind::Floating => {
                    if base == Base::Fixed {
                        Motion::Fixed
                    } else {
                        Motion::Free
                    }
                }
                Some((id, ..)) => Motion::Joint(id),
            };
            bodies.placement[link] = (Some(link), Pose::identity());
            bodies.motion[link] = Some(motion);
            if let Some((_, _, body, pose)) = above {
                (bodies.above[link], bodies.rest[link]) = (body, pose);
            }
        }
        // From the leaves up: whether anything rigidly part of a body has a mass.
        let mut has_mass = ArenaMap::new(robot.links(), |_, link| {
            link.inertial.as_ref().and_then(Mass::of).is_some()
        });
        for &link in robot.tree().order().iter().rev() {
            match bodies.motion[link] {
                Some(Motion::Fixed) | None => {
                    if let Some(joint) = robot.tree().parent_joint(link) {
                        let parent = robot.joints()[joint].parent();
                        let carries_mass = has_mass[link];
                        has_mass[parent] |= carries_mass;
                    }
                }
                Some(_) => bodies.massless[link] = !has_mass[link],
            }
        }
        bodies
    }

    /// Returns the joints between a link and the nearest link above that is no connector, from above.
    pub fn chain(robot: &Robot, link: LinkId) -> Vec<JointId> {
        let is_connector = |id: JointId| {
            let parent = robot.joints()[id].parent();
            Some(parent).filter(|parent| robot.links()[*parent].connector.is_some())
        };
        let first = robot.tree().parent_joint(link);
        let up = |id: &JointId| robot.tree().parent_joint(is_connector(*id)?);
        let mut chain: Vec<JointId> = std::iter::successors(first, up).collect();
        chain.reverse();
        chain
    }

    /// Returns the body of a link, which is its own or the one it is rigidly part of.
    pub fn body(&self, link: LinkId) -> Option<LinkId> {
        self.placement[link].0
    }
}

impl Writer<'_> {
    /// Writes the world with all bodies.
    pub(super) fn world(&mut self) {
        let robot = self.robot;
        self.to.open("worldbody", Vec::new());
        let mut open: Vec<LinkId> = Vec::new();
        let mut below: Vec<(Option<LinkId>, LinkId)> = Vec::new();
        for &link in robot.tree().order() {
            below.push((self.above(link), link));
        }
        // The order of the tree is depth first, so that a stack of open bodies suffices.
        for (above, link) in below {
            if robot.links()[link].connector.is_some() {
                continue;
            }
            while open.last().copied() != above && !open.is_empty() {
                open.pop();
                self.to.close();
            }
            match self.bodies.motion[link] {
                Some(motion) => {
                    self.body(link, motion);
                    open.push(link);
                }
                None if robot.world_root() == Some(link) => self.shapes(link),
                None => {
                    let name = self.names.links[link].clone();
                    self.site(&name, &self.bodies.placement[link].1.clone());
                }
            }
            self.sensor_sites(link);
            self.loop_sites(link);
        }
        while open.pop().is_some() {
            self.to.close();
        }
        self.to.close();
    }

    /// Returns the parent body of a link's body, or the body that the link is rigidly part of.
    fn above(&self, link: LinkId) -> Option<LinkId> {
        if self.bodies.motion[link].is_none() {
            return self.bodies.body(link);
        }
        self.bodies.above[link]
    }

    /// Writes a site with a unique name, which is returned.
    pub(super) fn site(&mut self, name: &str, pose: &Pose) -> String {
        let name = self.names.sites.unique_or(name, "site");
        let mut site = vec![("name", name.clone())];
        push_pose(&mut site, pose);
        site.push(("group", "4".to_owned()));
        self.to.leaf("site", site);
        name
    }

    /// Opens a body, and writes its joints, inertia and geometry.
    fn body(&mut self, link: LinkId, motion: Motion) {
        let robot = self.robot;
        let mut attributes = vec![("name", self.names.links[link].clone())];
        push_pose(&mut attributes, &self.bodies.rest[link]);
        self.to.open("body", attributes);
        match motion {
            Motion::Fixed => {}
            Motion::Free => {
                let joint = robot
                    .tree()
                    .parent_joint(link)
                    .filter(|&joint| robot.joints()[joint].kind() == JointKind::Floating);
                let name = joint
                    .and_then(|joint| self.names.joints[joint].last())
                    .unwrap_or(&self.names.free[link]);
                let name = name.clone();
                self.to.leaf("freejoint", vec![("name", name)]);
            }
            Motion::Joint(id) => self.joint(id, &Pose::identity()),
            Motion::Chain(Connector::Chain) => {
                for id in Bodies::chain(robot, link) {
                    let child = robot.joints()[id].child();
                    let at = self.bodies.placement[child].1;
                    self.joint(id, &at);
                }
            }
            Motion::Chain(Connector::Ball) => self.ball(link),
        }
        self.inertial(link);
        self.shapes(link);
    }

    fn inertial(&mut self, link: LinkId) {
        let source = &self.robot.links()[link];
        let mass = source.inertial.as_ref().and_then(Mass::of);
        let mass = if self.bodies.massless[link] {
            let message = format!("link \"{}\" moves but has no mass", source.name());
            self.findings.report(
                &codes::MASS,
                &source.place,
                message,
                "set its mass and inertia",
            );
            let centre = source
                .inertial
                .as_ref()
                .map_or_else(Vector3::zeros, |inertial| {
                    inertial.origin.translation.vector
                });
            Mass::stand_in(centre)
        } else if let Some(mass) = mass {
            mass
        } else {
            return;
        };
        if let Some(Inertial { place, .. }) = source.inertial.as_ref().filter(|_| mass.repaired) {
            let message = format!(
                "a principal moment of inertia of link \"{}\" is not positive, or not below the sum of the others",
                source.name()
            );
            self.findings
                .report(&codes::INERTIA, place, message, "correct the tensor");
        }
        let mut attributes = vec![("pos", numbers(mass.centre.iter().copied()))];
        if mass.axes.angle() != 0.0 {
            attributes.push(("quat", quaternion(&mass.axes)));
        }
        attributes.push(("mass", number(mass.mass)));
        attributes.push(("diaginertia", numbers(mass.moments.iter().copied())));
        self.to.leaf("inertial", attributes);
    }

    /// Writes the ball joint that the hinges above a body are.
    fn ball(&mut self, link: LinkId) {
        let robot = self.robot;
        let chain = Bodies::chain(robot, link);
        let Some(&first) = chain.first() else { return };
        let joint = &robot.joints()[first];
        let name = self.names.joints[first]
            .first()
            .cloned()
            .unwrap_or_default();
        let mut attributes: Attributes = vec![("name", name), ("type", "ball".to_owned())];
        let at = self.bodies.placement[joint.child()].1.translation.vector;
        if at != Vector3::zeros() {
            attributes.push(("pos", numbers(at.iter().copied())));
        }
        attributes.extend(passive(joint, None));
        self.to.leaf("joint", attributes);
        if chain.iter().any(|id| range(&robot.joints()[*id]).is_some()) {
            let message = format!(
                "the limits of the ball joint of link \"{}\" are left out of the MJCF",
                robot.links()[link].name()
            );
            let help = "set a range, which limits the whole rotation, if that is close enough";
            self.findings
                .report(&codes::BALL, &joint.place, message, help);
        }
    }

    /// Writes the joints of a body, as many as the robot's joint has names. `at`: the joint's frame
    /// in the body.
    fn joint(&mut self, id: JointId, at: &Pose) {
        let robot = self.robot;
        let joint = &robot.joints()[id];
        let names = self.names.joints[id].clone();
        let slides = |axis: &Unit<Vector3<f64>>| ("slide", Some(axis.into_inner()));
        let parts: Vec<(&str, Option<Vector3<f64>>)> = match joint.kind() {
            JointKind::Fixed => Vec::new(),
            JointKind::Revolute | JointKind::Continuous => {
                vec![("hinge", Some(joint.axis.into_inner()))]
            }
            JointKind::Prismatic => vec![slides(&joint.axis)],
            JointKind::Planar => {
                let (u, v) = kinematics::planar_basis(&joint.axis);
                vec![slides(&u), slides(&v)]
            }
            JointKind::Floating => {
                let mut parts = [Vector3::x_axis(), Vector3::y_axis(), Vector3::z_axis()]
                    .iter()
                    .map(slides)
                    .collect::<Vec<_>>();
                parts.push(("ball", None));
                parts
            }
        };
        for ((kind, axis), name) in parts.into_iter().zip(names) {
            let mut attributes: Attributes = vec![("name", name), ("type", kind.to_owned())];
            if at.translation.vector != Vector3::zeros() {
                attributes.push(("pos", numbers(at.translation.vector.iter().copied())));
            }
            if let Some(axis) = axis {
                let axis = at.rotation * axis;
                attributes.push(("axis", numbers(axis.iter().copied())));
            }
            // MuJoCo refuses a range without extent; `constraints` holds such a joint.
            if let Some((lower, upper)) = range(joint).filter(|(lower, upper)| lower < upper) {
                attributes.push(("range", numbers([lower, upper])));
            }
            let actuation = robot.simulation().actuation.get(&id);
            let force = actuation.and_then(|actuation| actuation.max_force);
            if let Some(effort) = force.or(joint.effort()).filter(|_| kind != "ball") {
                attributes.push(("actuatorfrcrange", numbers([-effort, effort])));
            }
            attributes.extend(passive(joint, actuation));
            self.to.leaf("joint", attributes);
        }
    }

    fn shapes(&mut self, link: LinkId) {
        let robot = self.robot;
        let source = &robot.links()[link];
        let friction = source.contact.map(|contact| {
            numbers([
                contact.dynamic_friction,
                DEFAULT_FRICTION[0],
                DEFAULT_FRICTION[1],
            ])
        });
        for (class, shapes) in [
            ("visual", &source.visuals),
            ("collision", &source.collisions),
        ] {
            for (index, shape) in shapes.iter().enumerate() {
                let geoms = self.assets.geoms(link, class == "visual", index).to_vec();
                if let Some(form) = form(shape) {
                    let look = geoms.first().and_then(|geom| geom.material.clone());
                    self.geom(class, shape, form, look, &friction);
                }
                for Geom { mesh, material } in geoms {
                    let Some(mesh) = mesh else { continue };
                    self.geom(
                        class,
                        shape,
                        vec![("type", "mesh".to_owned()), ("mesh", mesh)],
                        material,
                        &friction,
                    );
                }
            }
        }
    }

    fn geom(
        &mut self,
        class: &str,
        shape: &Shape,
        form: Attributes,
        material: Option<String>,
        friction: &Option<String>,
    ) {
        let mut attributes: Attributes = Vec::new();
        if let Some(name) = &shape.name {
            attributes.push(("name", self.names.geoms.unique_or(name, class)));
        }
        attributes.push(("class", class.to_owned()));
        attributes.extend(form);
        push_pose(&mut attributes, &shape.origin);
        attributes.extend(material.map(|material| ("material", material)));
        if class == "collision" {
            attributes.extend(friction.clone().map(|friction| ("friction", friction)));
        }
        self.to.leaf("geom", attributes);
    }
}

/// Returns the attributes of the damping and friction of a joint.
fn passive(joint: &Joint, actuation: Option<&Actuation>) -> Attributes {
    let dynamics = joint.dynamics.unwrap_or_default();
    let friction = actuation.and_then(|actuation| actuation.friction);
    [
        (
            "armature",
            actuation
                .and_then(|actuation| actuation.armature)
                .or(joint.armature),
        ),
        ("damping", dynamics.damping),
        ("frictionloss", friction.or(dynamics.friction)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .filter(|(_, value)| *value > 0.0 && value.is_finite())
    .map(|(name, value)| (name, number(value)))
    .collect()
}

/// Returns the attributes of a primitive shape with positive extent; `None` for a mesh.
fn form(shape: &Shape) -> Option<Attributes> {
    if !has_extent(&shape.geometry) {
        return None;
    }
    let (kind, size) = match shape.geometry {
        Geometry::Box { size } => ("box", numbers(size.iter().map(|edge| edge / 2.0))),
        Geometry::Cylinder { radius, length } => ("cylinder", numbers([radius, length / 2.0])),
        Geometry::Sphere { radius } => ("sphere", number(radius)),
        // MuJoCo has no capsule without a cylindrical part.
        Geometry::Capsule {
            radius,
            length: 0.0,
        } => ("sphere", number(radius)),
        Geometry::Capsule { radius, length } => ("capsule", numbers([radius, length / 2.0])),
        Geometry::Mesh { .. } | Geometry::Missing { .. } => return None,
    };
    Some(vec![("type", kind.to_owned()), ("size", size)])
}

/// Returns whether a primitive shape has positive extent; true for meshes.
pub(super) fn has_extent(geometry: &Geometry) -> bool {
    match *geometry {
        Geometry::Box { size } => size.iter().all(|&edge| edge > 0.0),
        Geometry::Cylinder { radius, length } => radius > 0.0 && length > 0.0,
        Geometry::Capsule { radius, length } => radius > 0.0 && length >= 0.0,
        Geometry::Sphere { radius } => radius > 0.0,
        Geometry::Mesh { .. } | Geometry::Missing { .. } => true,
    }
}

/// Returns the limits of a joint; `None` if it has none.
pub(super) fn range(joint: &Joint) -> Option<(f64, f64)> {
    let (lower, upper) = joint.bounds().sides();
    (lower.is_some() || upper.is_some())
        .then(|| (lower.unwrap_or(-UNLIMITED), upper.unwrap_or(UNLIMITED)))
}
