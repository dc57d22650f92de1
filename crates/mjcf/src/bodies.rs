//! The tree of bodies: where links are in it, their masses, joints, geometry and sites.

use nalgebra::{Unit, Vector3};

use super::assets::Geom;
use super::{Writer, codes, placed, quaternion};
use urdf_usd_robot::{
    ArenaMap, Base, Geometry, Inertial, Joint, JointId, JointKind, Link, LinkId, Mass, Pose, Robot,
    Role, Roles, Shape, kinematics,
};
use urdf_usd_text::xml::{Attributes, number, numbers};

/// MuJoCo's largest position (mjMAXVAL): what stands for a limit that there is not, beside one that
/// there is.
const UNLIMITED: f64 = 1e10;
/// Of friction that rolls and that turns: MuJoCo's own.
const OTHER_FRICTION: [f64; 2] = [0.005, 0.0001];

/// How a body moves in the one above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// Not at all.
    Held,
    /// In every way, in the world.
    Free,
    /// As a joint says.
    Joint(JointId),
}

/// What links are in MuJoCo.
pub(super) struct Bodies {
    /// The body that each link is or is rigid in, and its pose there. `None`: the world.
    pub of: ArenaMap<Link, (Option<LinkId>, Pose)>,
    /// Motion of each link that is a body.
    pub motion: ArenaMap<Link, Option<Motion>>,
    /// Whether each link moves, and neither it nor what is fixed to it has a mass.
    massless: ArenaMap<Link, bool>,
}

impl Bodies {
    pub fn of(robot: &Robot, base: Base) -> Self {
        let roles = Roles::new(robot, base);
        let mut bodies = Self {
            of: ArenaMap::filled(robot.links(), (None, Pose::identity())),
            motion: ArenaMap::filled(robot.links(), None),
            massless: ArenaMap::filled(robot.links(), false),
        };
        for &link in robot.tree().order() {
            let parent = robot.tree().parent_joint(link);
            let above = parent.map(|id| {
                let joint = &robot.joints()[id];
                let (body, pose) = bodies.of[joint.parent()];
                (id, joint, body, pose * joint.origin)
            });
            // A base that has another link's content leaves it to that link here: MuJoCo moves a
            // body by what is fixed to it.
            let is_body = roles.of[link] == Role::Body
                || roles.of[link] == Role::Frame && !robot.links()[link].is_empty();
            if !is_body {
                bodies.of[link] =
                    above.map_or((None, Pose::identity()), |(_, _, body, pose)| (body, pose));
                continue;
            }
            let motion = match above {
                None if base == Base::Fixed => Motion::Held,
                None => Motion::Free,
                Some((_, joint, ..)) if joint.kind() == JointKind::Fixed => {
                    let is_let_go =
                        base == Base::Floating && roles.of[joint.parent()] == Role::World;
                    if is_let_go {
                        Motion::Free
                    } else {
                        Motion::Held
                    }
                }
                Some((_, joint, None, _)) if joint.kind() == JointKind::Floating => {
                    if base == Base::Fixed {
                        Motion::Held
                    } else {
                        Motion::Free
                    }
                }
                Some((id, ..)) => Motion::Joint(id),
            };
            bodies.of[link] = (Some(link), Pose::identity());
            bodies.motion[link] = Some(motion);
        }
        // From the leaves: whether what is rigid in a body has a mass.
        let mut has_mass = ArenaMap::new(robot.links(), |_, link| {
            link.inertial.as_ref().and_then(Mass::of).is_some()
        });
        for &link in robot.tree().order().iter().rev() {
            match bodies.motion[link] {
                Some(Motion::Held) | None => {
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

    /// The body that a link is or is rigid in.
    pub fn body(&self, link: LinkId) -> Option<LinkId> {
        self.of[link].0
    }
}

impl Writer<'_> {
    /// The element of the world with all bodies in it.
    pub(super) fn world(&mut self) {
        let robot = self.robot;
        self.to.open("worldbody", Vec::new());
        let mut open: Vec<LinkId> = Vec::new();
        let mut below: Vec<(Option<LinkId>, LinkId)> = Vec::new();
        for &link in robot.tree().order() {
            below.push((self.above(link), link));
        }
        for (above, link) in below {
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
                    self.site(&name, &self.bodies.of[link].1.clone());
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

    /// The body that a link's body hangs on, or that the link is rigid in.
    fn above(&self, link: LinkId) -> Option<LinkId> {
        if self.bodies.motion[link].is_none() {
            return self.bodies.body(link);
        }
        let joint = self.robot.tree().parent_joint(link)?;
        self.bodies.body(self.robot.joints()[joint].parent())
    }

    /// A site, whose name is free; gives it back.
    pub(super) fn site(&mut self, name: &str, pose: &Pose) -> String {
        let name = self.names.sites.unique_or(name, "site");
        let mut site = vec![("name", name.clone())];
        placed(&mut site, pose);
        site.push(("group", "4".to_owned()));
        self.to.leaf("site", site);
        name
    }

    /// Begins a body.
    fn body(&mut self, link: LinkId, motion: Motion) {
        let robot = self.robot;
        let mut attributes = vec![("name", self.names.links[link].clone())];
        if let Some(joint) = robot
            .tree()
            .parent_joint(link)
            .map(|joint| &robot.joints()[joint])
        {
            placed(
                &mut attributes,
                &(self.bodies.of[joint.parent()].1 * joint.origin),
            );
        }
        self.to.open("body", attributes);
        match motion {
            Motion::Held => {}
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
            Motion::Joint(id) => self.joint(id),
        }
        self.inertial(link);
        self.shapes(link);
    }

    fn inertial(&mut self, link: LinkId) {
        let of = &self.robot.links()[link];
        let mass = of.inertial.as_ref().and_then(Mass::of);
        let mass = if self.bodies.massless[link] {
            let message = format!("link \"{}\" moves and has no mass", of.name());
            self.findings.report(
                &codes::MASS,
                &of.place,
                message,
                "give it the mass and inertia that it has",
            );
            let centre = of
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
        if let Some(Inertial { place, .. }) = of.inertial.as_ref().filter(|_| mass.repaired) {
            let message = format!("the inertia of link \"{}\" is that of no body", of.name());
            self.findings
                .report(&codes::INERTIA, place, message, "correct the tensor");
        }
        let mut attributes = vec![("pos", numbers(mass.centre.iter().copied()))];
        if mass.axes.angle() != 0.0 {
            attributes.push(("quat", quaternion(&mass.axes)));
        }
        attributes.push(("mass", number(mass.mass)));
        attributes.push(("diaginertia", numbers(sound(mass.moments).iter().copied())));
        self.to.leaf("inertial", attributes);
    }

    /// The joints of a body: as many as there are names for the robot's one.
    fn joint(&mut self, id: JointId) {
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
            if let Some(axis) = axis {
                attributes.push(("axis", numbers(axis.iter().copied())));
            }
            if let Some((lower, upper)) = range(joint).filter(|(lower, upper)| lower < upper) {
                attributes.push(("range", numbers([lower, upper])));
            }
            if let Some(effort) = effort(joint).filter(|_| kind != "ball") {
                attributes.push(("actuatorfrcrange", numbers([-effort, effort])));
            }
            let dynamics = joint.dynamics.unwrap_or_default();
            for (name, value) in [
                ("damping", dynamics.damping),
                ("frictionloss", dynamics.friction),
            ] {
                attributes.extend(
                    value
                        .filter(|value| *value > 0.0 && value.is_finite())
                        .map(|value| (name, number(value))),
                );
            }
            self.to.leaf("joint", attributes);
        }
    }

    fn shapes(&mut self, link: LinkId) {
        let robot = self.robot;
        let of = &robot.links()[link];
        let friction = of.contact.map(|contact| {
            numbers([
                contact.dynamic_friction,
                OTHER_FRICTION[0],
                OTHER_FRICTION[1],
            ])
        });
        for (class, shapes) in [("visual", &of.visuals), ("collision", &of.collisions)] {
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
        placed(&mut attributes, &shape.origin);
        attributes.extend(material.map(|material| ("material", material)));
        if class == "collision" {
            attributes.extend(friction.clone().map(|friction| ("friction", friction)));
        }
        self.to.leaf("geom", attributes);
    }
}

/// The form of a solid with some extent; `None` of a mesh.
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

/// Whether a solid is one; true of meshes.
pub(super) fn has_extent(geometry: &Geometry) -> bool {
    match *geometry {
        Geometry::Box { size } => size.iter().all(|&edge| edge > 0.0),
        Geometry::Cylinder { radius, length } => radius > 0.0 && length > 0.0,
        Geometry::Capsule { radius, length } => radius > 0.0 && length >= 0.0,
        Geometry::Sphere { radius } => radius > 0.0,
        Geometry::Mesh { .. } | Geometry::Missing { .. } => true,
    }
}

/// Moments that keep the triangle inequality to the last bit, as MuJoCo wants it.
pub(super) fn sound(moments: Vector3<f64>) -> Vector3<f64> {
    let deficit = 2.0 * moments.max() - moments.sum();
    let largest = moments.max();
    // Half to each of the others, and a little for rounding.
    if deficit > 0.0 {
        moments.map(|moment| {
            if moment < largest {
                moment + 0.5 * deficit + 1e-12 * largest
            } else {
                moment
            }
        })
    } else {
        moments
    }
}

/// The positions that a joint is held to; `None` if there are no limits.
pub(super) fn range(joint: &Joint) -> Option<(f64, f64)> {
    let (lower, upper) = joint.bounds().sides();
    (lower.is_some() || upper.is_some())
        .then(|| (lower.unwrap_or(-UNLIMITED), upper.unwrap_or(UNLIMITED)))
}

/// The largest torque or force of a joint, if it has one. Zero is how many a URDF says that it
/// doesn't know.
pub(super) fn effort(joint: &Joint) -> Option<f64> {
    joint
        .limit
        .and_then(|limit| limit.effort)
        .filter(|effort| *effort > 0.0 && effort.is_finite())
}
