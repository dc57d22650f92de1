//! `KHR_implicit_shapes` and `KHR_physics_rigid_bodies`: bodies, colliders, contact properties and
//! joints for physics engines.
//!
//! The drafts can't express mimic joints, so those are not coupled. Drives without gains are left
//! out: their parameters would have to be invented.
//!
//! Links that are connected by fixed joints form one body with their total mass, at the node of the
//! topmost link. Links that are fixed to the world have no motion, so they are static.

use std::collections::BTreeMap;

use nalgebra::{Unit, UnitQuaternion, Vector3};

use super::nodes::{Nodes, placed};
use crate::json::document::Node;
use crate::json::extras::NodeExtras;
use crate::json::physics::{
    Attachment, Ball, Collider, ColliderGeometry, CollisionFilter, Cuboid, Motion, PhysicsDrive,
    PhysicsJoint, PhysicsLimit, PhysicsMaterial, RigidBodies, Round, Shape, Shapes,
};
use crate::json::values::{Index, position_or_push};
use urdf_usd_gltf_extension::axes;
use urdf_usd_robot::{
    ArenaMap, Base, Contact, Geometry, Joint, JointId, JointKind, Link, LinkId, Mass, Pose, Robot,
    Role, Roles,
};

/// Adds the physics extensions to `nodes`, and returns their objects for the document's root.
/// `base`: whether the base is fixed to the world.
pub fn add(robot: &Robot, base: Base, nodes: &mut Nodes) -> (Shapes, RigidBodies) {
    let bodies = Bodies::of(robot, base);
    bodies.add_motions(robot, nodes);
    let mut physics = Physics {
        shapes: Shapes::default(),
        bodies: RigidBodies::default(),
    };
    let filters = physics.filters(robot);
    for (id, link) in robot.links().iter() {
        physics.add_colliders(id, link, filters[id], nodes);
    }
    for (id, joint) in robot.joints().iter() {
        // A joint between static links constrains nothing.
        if bodies.moves(joint.parent()) || bodies.moves(joint.child()) {
            physics.add_joint(id, joint, nodes);
        }
    }
    (physics.shapes, physics.bodies)
}

/// The partition of links into bodies.
struct Bodies {
    /// Topmost link of each link's body, and the link's pose relative to it.
    of_link: ArenaMap<Link, (LinkId, Pose)>,
    /// Whether the body with this topmost link is dynamic.
    moving: ArenaMap<Link, bool>,
}

impl Bodies {
    fn of(robot: &Robot, base: Base) -> Self {
        let roles = Roles::new(robot, base);
        let mut of_link = ArenaMap::new(robot.links(), |id, _| (id, Pose::identity()));
        let mut moving = ArenaMap::filled(robot.links(), false);
        for &id in robot.tree().order() {
            let joint = robot
                .tree()
                .parent_joint(id)
                .map(|joint| &robot.joints()[joint]);
            // A floating base is released from the joint that fixes it to the world.
            let is_let_go =
                |joint: &Joint| base == Base::Floating && roles.of[joint.parent()] == Role::World;
            match joint.filter(|joint| joint.kind() == JointKind::Fixed && !is_let_go(joint)) {
                Some(joint) => {
                    let (top, pose) = of_link[joint.parent()];
                    of_link[id] = (top, pose * joint.origin);
                }
                None => {
                    // A base is attached to the world only, by no joint that can move it.
                    let is_base = joint.is_none_or(|joint| {
                        matches!(joint.kind(), JointKind::Fixed | JointKind::Floating)
                            && roles.body[joint.parent()].is_none()
                    });
                    moving[id] = roles.of[id] == Role::Body && !(is_base && base == Base::Fixed);
                }
            }
        }
        Self { of_link, moving }
    }

    fn moves(&self, link: LinkId) -> bool {
        self.moving[self.of_link[link].0]
    }

    fn add_motions(&self, robot: &Robot, nodes: &mut Nodes) {
        let mut masses: BTreeMap<LinkId, Vec<Mass>> = BTreeMap::new();
        for (id, link) in robot.links().iter() {
            let (top, pose) = &self.of_link[id];
            if !self.moving[*top] {
                continue;
            }
            let mass = link
                .inertial
                .as_ref()
                .and_then(Mass::of)
                .map(|mass| mass.placed(pose));
            masses.entry(*top).or_default().extend(mass);
        }
        for (top, masses) in masses {
            let mass = Mass::together(&masses).unwrap_or_else(|| Mass::stand_in(Vector3::zeros()));
            let frame = nodes.links[top].frame;
            if let Some(node) = nodes.list.get_mut(frame) {
                node.extensions.rigid_body.motion = Some(Motion::of(&mass));
            }
        }
    }
}

impl Round {
    fn new(radius: f64, height: f64) -> Self {
        Self {
            height,
            radius_bottom: radius,
            radius_top: radius,
        }
    }
}

impl Shape {
    /// Returns `None` for a mesh, and for a shape without extent, which the extension forbids.
    fn of(geometry: &Geometry) -> Option<Self> {
        let (shape, least) = match *geometry {
            Geometry::Box { size } => (
                Self::Box {
                    r#box: Cuboid {
                        size: axes::vector(&size),
                    },
                },
                size.min(),
            ),
            Geometry::Cylinder { radius, length } => (
                Self::Cylinder {
                    cylinder: Round::new(radius, length),
                },
                radius.min(length),
            ),
            Geometry::Capsule { radius, length } if length > 0.0 => (
                Self::Capsule {
                    capsule: Round::new(radius, length),
                },
                radius,
            ),
            Geometry::Sphere { radius } | Geometry::Capsule { radius, .. } => (
                Self::Sphere {
                    sphere: Ball { radius },
                },
                radius,
            ),
            Geometry::Mesh { .. } | Geometry::Missing { .. } => return None,
        };
        (least > 0.0).then_some(shape)
    }
}

impl PhysicsMaterial {
    fn of(contact: &Contact) -> Self {
        let &Contact {
            static_friction,
            dynamic_friction,
            restitution,
        } = contact;
        Self {
            static_friction,
            dynamic_friction,
            restitution: restitution.unwrap_or(0.0),
        }
    }
}

impl Motion {
    fn of(mass: &Mass) -> Self {
        Self {
            mass: mass.mass,
            center_of_mass: axes::vector(&mass.centre),
            // The change of axes permutes the principal moments.
            inertia_diagonal: axes::vector(&mass.moments),
            inertia_orientation: axes::rotation(&mass.axes),
        }
    }
}

struct Physics {
    shapes: Shapes,
    bodies: RigidBodies,
}

impl Physics {
    /// Creates the collision filters. Each link with disabled pairs gets a collision system named
    /// after it.
    fn filters(&mut self, robot: &Robot) -> ArenaMap<Link, Option<Index>> {
        let mut others: BTreeMap<LinkId, Vec<String>> = BTreeMap::new();
        let name = |link: LinkId| robot.links()[link].name().to_owned();
        for (a, b) in robot.disabled_collisions().iter() {
            others.entry(a).or_default().push(name(b));
            others.entry(b).or_default().push(name(a));
        }
        let mut filters = ArenaMap::filled(robot.links(), None);
        for (link, not_collide_with_systems) in others {
            filters[link] = Some(self.bodies.collision_filters.len());
            let collision_systems = vec![name(link)];
            self.bodies.collision_filters.push(CollisionFilter {
                collision_systems,
                not_collide_with_systems,
            });
        }
        filters
    }

    fn add_colliders(
        &mut self,
        id: LinkId,
        link: &Link,
        collision_filter: Option<Index>,
        nodes: &mut Nodes,
    ) {
        for (shape, &node) in link.collisions.iter().zip(&nodes.links[id].collisions) {
            let geometry = match Shape::of(&shape.geometry) {
                Some(shape) => ColliderGeometry::Shape {
                    shape: position_or_push(&mut self.shapes.shapes, shape),
                },
                None if shows_mesh(&nodes.list, node) => ColliderGeometry::Hull {
                    node,
                    convex_hull: true,
                },
                None => continue,
            };
            let contact = link.contact.as_ref().map(PhysicsMaterial::of);
            let physics_material = contact
                .map(|contact| position_or_push(&mut self.bodies.physics_materials, contact));
            if let Some(node) = nodes.list.get_mut(node) {
                node.extensions.rigid_body.collider = Some(Collider {
                    geometry,
                    physics_material,
                    collision_filter,
                });
            }
        }
    }

    /// Adds the joint with a node on each body. The x axis of both nodes is the joint's axis.
    fn add_joint(&mut self, id: JointId, joint: &Joint, nodes: &mut Nodes) {
        let Some(limits) = limits(joint) else { return };
        let frame_of = |link: LinkId| nodes.links[link].frame;
        let (child, parent) = (frame_of(joint.child()), frame_of(joint.parent()));
        let above = match &nodes.joints[id] {
            Some(chain) => chain.origin,
            // A joint that closes a loop has no nodes in the tree.
            None => nodes.add(
                placed(format!("joint_{}_origin", joint.name()), &joint.origin),
                parent,
            ),
        };
        let along = along(axes::vector(&joint.axis));
        let anchor = |name: String| Node {
            name,
            rotation: along,
            ..Node::default()
        };
        let extras = Some(NodeExtras::Anchor {
            anchor: joint.name().to_owned(),
        });
        let connected_node = nodes.add(
            Node {
                extras,
                ..anchor(format!("joint_{}_anchor", joint.name()))
            },
            child,
        );
        let frame = nodes.add(anchor(format!("joint_{}_frame", joint.name())), above);
        let joint = position_or_push(
            &mut self.bodies.physics_joints,
            PhysicsJoint {
                limits,
                drives: drive(joint).into_iter().collect(),
            },
        );
        if let Some(node) = nodes.list.get_mut(frame) {
            node.extensions.rigid_body.joint = Some(Attachment {
                connected_node,
                joint,
            });
        }
    }
}

/// Returns the restrictions of a joint in a frame whose x is its axis; `None` for a floating joint,
/// and for a fixed joint within one body.
fn limits(joint: &Joint) -> Option<Vec<PhysicsLimit>> {
    let linear = |axes: &[u8], min, max| PhysicsLimit {
        linear_axes: Some(axes.to_vec()),
        min,
        max,
        ..PhysicsLimit::default()
    };
    let angular = |axes: &[u8], min, max| PhysicsLimit {
        angular_axes: Some(axes.to_vec()),
        min,
        max,
        ..PhysicsLimit::default()
    };
    let none = Some(0.0);
    let (lower, upper) = joint.bounds().sides();
    let is_limited = lower.or(upper).is_some();
    let mut limits = match joint.kind() {
        JointKind::Revolute | JointKind::Continuous => {
            vec![linear(&[0, 1, 2], none, none), angular(&[1, 2], none, none)]
        }
        JointKind::Prismatic => vec![linear(&[1, 2], none, none), angular(&[0, 1, 2], none, none)],
        JointKind::Planar => vec![linear(&[0], none, none), angular(&[1, 2], none, none)],
        // Fixed joints of the tree merge links into one body. One that closes a loop connects two
        // bodies, so it must be written.
        JointKind::Fixed if joint.closes_loop() => vec![
            linear(&[0, 1, 2], none, none),
            angular(&[0, 1, 2], none, none),
        ],
        JointKind::Fixed | JointKind::Floating => return None,
    };
    if is_limited {
        match joint.kind() {
            JointKind::Revolute => limits.push(angular(&[0], lower, upper)),
            JointKind::Prismatic => limits.push(linear(&[0], lower, upper)),
            _ => {}
        }
    }
    Some(limits)
}

/// Returns the drive of a joint in a frame whose x is its axis; `None` if it has no gains.
fn drive(joint: &Joint) -> Option<PhysicsDrive> {
    let gains = joint.drive()?.gains?;
    let kind = match joint.kind() {
        JointKind::Revolute | JointKind::Continuous => "angular",
        JointKind::Prismatic => "linear",
        JointKind::Fixed | JointKind::Planar | JointKind::Floating => return None,
    };
    Some(PhysicsDrive {
        r#type: kind,
        mode: if gains.is_acceleration {
            "acceleration"
        } else {
            "force"
        },
        axis: 0,
        max_force: gains.max_force,
        position_target: gains.target_position,
        velocity_target: gains.target_velocity,
        stiffness: gains.stiffness,
        damping: gains.damping,
    })
}

/// Returns the rotation from x to `axis`; `None` if it is identity.
fn along(axis: [f64; 3]) -> Option<[f64; 4]> {
    // `rotation_between_axis` has no result for opposite axes.
    let half_turn = || UnitQuaternion::from_axis_angle(&Vector3::z_axis(), std::f64::consts::PI);
    let axis = Unit::new_normalize(Vector3::from(axis));
    let q =
        UnitQuaternion::rotation_between_axis(&Vector3::x_axis(), &axis).unwrap_or_else(half_turn);
    let rotation = [q.i, q.j, q.k, q.w].map(|x| x + 0.0);
    (rotation != [0.0, 0.0, 0.0, 1.0]).then_some(rotation)
}

/// Returns whether a node or one of its children has a mesh.
fn shows_mesh(nodes: &[Node], node: Index) -> bool {
    let shows = |node: Index| nodes.get(node).is_some_and(|node| node.mesh.is_some());
    shows(node)
        || nodes
            .get(node)
            .is_some_and(|node| node.children.iter().any(|&child| shows(child)))
}
