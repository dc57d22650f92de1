//! JSON of `KHR_implicit_shapes` and `KHR_physics_rigid_bodies`.

use serde::Serialize;

use super::values::Index;

/// The object of `KHR_implicit_shapes` at the document's root.
#[derive(Debug, Default, Serialize)]
pub struct Shapes {
    pub shapes: Vec<Shape>,
}

impl Shapes {
    /// Returns whether there are no shapes.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }
}

/// A shape, centred on its node. Lengths are in metres; cylinders and capsules are along y, and the
/// height of a capsule excludes its caps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Shape {
    Box { r#box: Cuboid },
    Sphere { sphere: Ball },
    Cylinder { cylinder: Round },
    Capsule { capsule: Round },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cuboid {
    pub size: [f64; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ball {
    pub radius: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    pub height: f64,
    pub radius_bottom: f64,
    pub radius_top: f64,
}

/// The object of `KHR_physics_rigid_bodies` at the document's root.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RigidBodies {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub physics_materials: Vec<PhysicsMaterial>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub physics_joints: Vec<PhysicsJoint>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collision_filters: Vec<CollisionFilter>,
}

impl RigidBodies {
    /// Returns whether all lists are empty.
    pub fn is_empty(&self) -> bool {
        self.physics_materials.is_empty()
            && self.physics_joints.is_empty()
            && self.collision_filters.is_empty()
    }
}

/// Contact properties of a surface.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhysicsMaterial {
    pub static_friction: f64,
    pub dynamic_friction: f64,
    pub restitution: f64,
}

/// Restrictions of the relative motion of two frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhysicsJoint {
    pub limits: Vec<PhysicsLimit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<PhysicsDrive>,
}

/// A drive along or about an axis of the frame. Values are in SI units, with radians.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhysicsDrive {
    /// `linear` or `angular`.
    pub r#type: &'static str,
    /// `force` or `acceleration`.
    pub mode: &'static str,
    pub axis: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_force: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position_target: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity_target: Option<f64>,
    pub stiffness: f64,
    pub damping: f64,
}

/// A restriction of the motion along or about some axes of the frame (0: x, 1: y, 2: z).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhysicsLimit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear_axes: Option<Vec<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub angular_axes: Option<Vec<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// Collision filter: the colliders with which a collider can collide.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CollisionFilter {
    pub collision_systems: Vec<String>,
    pub not_collide_with_systems: Vec<String>,
}

/// Physical properties of a node.
#[derive(Debug, Default, Serialize)]
pub struct RigidBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub motion: Option<Motion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collider: Option<Collider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joint: Option<Attachment>,
}

impl RigidBody {
    /// Returns whether all of them are absent.
    pub fn is_empty(&self) -> bool {
        self.motion.is_none() && self.collider.is_none() && self.joint.is_none()
    }
}

/// A dynamic body. Units are kg, metres and kg·m², in the node's frame.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Motion {
    pub mass: f64,
    pub center_of_mass: [f64; 3],
    pub inertia_diagonal: [f64; 3],
    /// Rotation from the principal axes to the node's axes: x, y, z, w.
    pub inertia_orientation: [f64; 4],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Collider {
    pub geometry: ColliderGeometry,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physics_material: Option<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collision_filter: Option<Index>,
}

/// A shape of `KHR_implicit_shapes`, or the convex hull of a node's mesh.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ColliderGeometry {
    Shape {
        shape: Index,
    },
    #[serde(rename_all = "camelCase")]
    Hull {
        node: Index,
        convex_hull: bool,
    },
}

/// A joint at its node on the parent body, with the node that it connects to on the child body.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    pub connected_node: Index,
    pub joint: Index,
}
