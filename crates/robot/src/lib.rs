//! The model: a robot, independent of any file format.
//!
//! Readers build a [`Robot`], writers serialise it, tools inspect it. The reader has resolved all
//! defaults of its format: a writer never interprets an absent attribute, and opens no file, since
//! meshes and images are in the robot. Lengths are metres, angles radians, masses kilograms, frames
//! are right-handed with x forward, y left, z up (REP 103). Colours are linear.
//!
//! A [`Robot`] is valid at all times: its links, joints, materials and meshes are referred to by
//! [`Handle`]s, every handle in it refers to one of its elements, and every method that could break
//! an invariant refuses to ([`InvalidRobot`]). So a writer takes a `&Robot` and checks nothing.
//!
//! This crate must not know any file format, files or networks. A robot's ROS interface is data of
//! the model ([`Interface`]).

mod arena;
mod captured;
pub mod codes;
mod convex_parts;
mod counts;
pub mod decimal;
pub mod facts;
pub mod invariants;
pub mod kinematics;
mod light;
mod mass;
mod material;
mod merge;
mod mesh;
pub mod names;
mod planning;
mod robot;
mod roles;
mod sensor;
mod simulation;
mod solid;
mod subtree;
mod summary;
mod tree;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

pub use arena::{Arena, ArenaMap, Handle};
pub use counts::Counts;
pub use light::{Light, LightKind};
pub use mass::{Mass, principal_axes, realisable_moments};
pub use material::{
    Channel, ImageFormat, ImagePlacement, LookVariant, Map, MapRole, Material,
    PLAIN_CLEARCOAT_ROUGHNESS, PLAIN_IOR, Texture, VisualPart, Wrap,
};
pub use merge::Merged;
pub use mesh::{CacheEvicted, LazyMesh, LoadArrays, Mesh, Part, Tiers};
use nalgebra::{Isometry3, Matrix3, Unit, Vector3};
pub use planning::{
    Coordinate, DEFAULT_POSE, LinkSpheres, Planning, PlanningCollision, STATE, Sphere, SphereGroup,
    Touch, touches,
};
pub use robot::{InvalidRobot, LinkPairs, Robot, WORLD};
pub use roles::{Base, Role, Roles};
pub use sensor::{
    Camera, Captured, Durability, GLOBAL_FRAMES, History, Interface, InterfaceKind, NestedContext,
    Qos, Reliability, RosSettings, Sensor, SensorKind,
};
pub use simulation::{Actuation, Actuator, MIMIC_SOLIMP, MIMIC_SOLREF, SelfCollision, Simulation};
pub use solid::Solid;
pub use subtree::Removed;
pub use summary::{
    CollisionSummary, CoordinateSummary, PlanningSummary, PoseSummary, SpheresSummary,
};
pub use tree::Tree;

use urdf_usd_diagnostic::Place;
pub use urdf_usd_geometry::{Corners, MeshArrays, Outline};

/// A rigid transform of a child frame in its parent: metres and a unit quaternion.
pub type Pose = Isometry3<f64>;

/// A link of a [`Robot`].
pub type LinkId = Handle<Link>;
/// A joint of a [`Robot`].
pub type JointId = Handle<Joint>;
/// A material of a [`Robot`].
pub type MaterialId = Handle<Material>;
/// A mesh of a [`Robot`].
pub type MeshId = Handle<MeshSource>;

/// A rigid part of a robot, with its own frame.
///
/// The name is fixed. A [`Robot`] gives out links for reading only. Its shapes are changed by
/// [`Robot::set_visuals`] and similar methods, which check the handles in them, its other
/// properties by [`Robot::link_mut`], which returns the [`LinkProperties`] that a link dereferences
/// to.
#[derive(Clone, Debug)]
pub struct Link {
    name: String,
    /// Visual shapes.
    pub visuals: Vec<Shape>,
    /// Colliders. `Shape::material` is unused.
    pub collisions: Vec<Shape>,
    properties: LinkProperties,
}

/// Statements of a source about a robot as a product; empty without one.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct About {
    /// Its purpose.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The licence of the asset.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub license: String,
    /// The origin of the asset, such as a URL.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The version of the asset.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Changes of the asset, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changelog: Vec<String>,
    /// The category of the robot: `Manipulator`, `Humanoid`.
    #[serde(rename = "robot_type", skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// The namespace of its components in a simulator, which need not be that of ROS.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// A point of interest: a tool mount, or a place for a sensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Its purpose; empty without one.
    pub description: String,
    /// The axis that points forward, if the source names one.
    pub forward: Option<SiteAxis>,
}

/// An axis of a [`Site`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteAxis {
    /// X, forward by ROS' convention (REP 103).
    X,
    /// Y.
    Y,
    /// Z.
    Z,
}

/// Mass and contact of a [`Link`].
#[derive(Clone, Debug, Default)]
pub struct LinkProperties {
    /// Mass properties, if the source gives any.
    pub inertial: Option<Inertial>,
    /// Contact properties, if the source gives any.
    pub contact: Option<Contact>,
    /// The ROS context that begins at the link, if there is one.
    pub context: Option<NestedContext>,
    /// True if the transform of a frame changes although no joint moves it (REP-158 §2.7).
    pub is_dynamic_frame: bool,
    /// The point of interest that the link is, if the source declares one.
    pub site: Option<Site>,
    /// Data of the source without an equivalent in the model.
    pub custom: Custom,
    /// The joint of the source that the link chains, if it has no counterpart there.
    pub connector: Option<Connector>,
    /// Position of the link in its source.
    pub place: Place,
}

/// Mass properties of a link.
#[derive(Clone, Debug)]
pub struct Inertial {
    /// The inertial frame in the link frame: its origin is the centre of mass.
    pub origin: Pose,
    /// kg. As given: it may be zero or negative.
    pub mass: f64,
    /// kg·m² about the centre of mass, along the axes of the inertial frame. Symmetric, as given:
    /// it may be non-physical.
    pub inertia: Matrix3<f64>,
    /// Whether it was estimated: derived from a density, or from a mass that overrides the
    /// source's.
    pub is_assumed: bool,
    /// Position in the source.
    pub place: Place,
}

/// Friction and restitution of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Coefficient of static friction; not negative.
    pub static_friction: f64,
    /// Coefficient of sliding friction; not negative, not above the static one.
    pub dynamic_friction: f64,
    /// Coefficient of restitution, from 0 (inelastic) to 1, if given.
    pub restitution: Option<f64>,
}

impl Default for Contact {
    /// Returns the default contact of sources without one: rubber-like plastic on a hard floor.
    fn default() -> Self {
        Self {
            static_friction: 0.8,
            dynamic_friction: 0.6,
            restitution: Some(0.0),
        }
    }
}

/// A piece of geometry on a link.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The name, if it has one.
    pub name: Option<String>,
    /// The shape's frame in the link frame.
    pub origin: Pose,
    /// Its geometry.
    pub geometry: Geometry,
    /// The material of the source. A mesh's own materials take precedence over it.
    pub material: Option<MaterialId>,
    /// The reference to the unreadable mesh that this shape replaces.
    pub stand_in_for: Option<String>,
    /// The index of its set of copies, if the source has such sets: shapes of one set and one mesh
    /// may be drawn as instances.
    pub instance_set: Option<usize>,
    /// Data of the source without an equivalent in the model.
    pub custom: Custom,
    /// Position in the source.
    pub place: Place,
}

/// The form of a shape, centred on the shape's frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// Edge lengths along x, y, z in metres.
    Box {
        /// Metres.
        size: Vector3<f64>,
    },
    /// Along z.
    Cylinder {
        /// Metres.
        radius: f64,
        /// Metres.
        length: f64,
    },
    /// A ball.
    Sphere {
        /// Metres.
        radius: f64,
    },
    /// Along z; `length` excludes the caps.
    Capsule {
        /// Metres.
        radius: f64,
        /// Metres.
        length: f64,
    },
    /// A mesh with a scale per axis (1, 1, 1 if none was given; may be negative, never zero).
    Mesh {
        /// The mesh.
        mesh: MeshId,
        /// Factors along the mesh's own axes.
        scale: Vector3<f64>,
    },
    /// A mesh that was not read. It is neither drawn nor collides, but keeps its index, name and
    /// frame, so that the indices of the other shapes stay the same.
    Missing {
        /// Factors along the mesh's own axes, as for [`Geometry::Mesh`].
        scale: Vector3<f64>,
    },
}

/// A mesh of the robot, with its convex hull and simplified versions.
#[derive(Clone, Debug)]
pub struct MeshSource {
    /// The reference to its file as written, or another name for it. Writers name the mesh after
    /// the last part, without its ending.
    pub uri: String,
    /// The first place that refers to it.
    pub place: Place,
    /// The triangles.
    pub mesh: Arc<LazyMesh>,
    /// Its convex hull, if it is a collider and has one: closed, wound outwards, in the same
    /// coordinates.
    pub hull: Option<Arc<LazyMesh>>,
    /// Convex parts that together cover it, if it is a collider that was decomposed: closed, wound
    /// outwards, in the same coordinates. A convex mesh has one, its hull.
    pub convex_parts: Vec<Arc<LazyMesh>>,
    /// Simplified versions, if it is visible.
    pub tiers: Tiers,
}

impl MeshSource {
    /// Creates a mesh without a hull, convex parts and simplified versions.
    pub fn new(uri: impl Into<String>, place: Place, mesh: Arc<LazyMesh>) -> Self {
        Self {
            uri: uri.into(),
            place,
            mesh,
            hull: None,
            convex_parts: Vec::new(),
            tiers: Tiers::default(),
        }
    }

    /// Returns the name of the mesh: the last part of the reference, without its extension.
    pub fn stem(&self) -> &str {
        let name = self.uri.rsplit(['/', '\\']).next().unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

/// A connection of two links, and the motion that it allows.
///
/// Its name, kind and ends are fixed, and [`Robot::set_mimics`] sets the joint that it follows;
/// everything else is in its [`JointProperties`], which it dereferences to. [`Robot::joint_mut`]
/// returns those only, so that no change can invalidate the robot.
#[derive(Clone, Debug)]
pub struct Joint {
    name: String,
    kind: JointKind,
    parent: LinkId,
    child: LinkId,
    mimic: Option<Mimic>,
    closes_loop: bool,
    properties: JointProperties,
}

/// Frame, axis, limits and dynamics of a [`Joint`].
#[derive(Clone, Debug)]
pub struct JointProperties {
    /// The joint frame, which is the child's frame at zero, in the parent's frame.
    pub origin: Pose,
    /// The axis of motion in the joint frame, of unit length (the normal of a planar joint's
    /// plane).
    pub axis: Unit<Vector3<f64>>,
    /// Limits, if the source gives the element.
    pub limit: Option<Limit>,
    /// Passive behaviour, if the source gives the element.
    pub dynamics: Option<Dynamics>,
    /// Inertia of the rotor as seen by the joint, kg·m² or kg, if the source gives it.
    pub armature: Option<f64>,
    /// Soft limits, if the source gives the element.
    pub safety: Option<Safety>,
    /// Reference positions, if the source gives the element.
    pub calibration: Option<Calibration>,
    /// The drive in the source. A mimic joint may have one, which has no effect: use
    /// [`Joint::drive`].
    pub commanded: Option<Drive>,
    /// Data of the source without an equivalent in the model.
    pub custom: Custom,
    /// Position of the joint in its source.
    pub place: Place,
}

impl Default for JointProperties {
    /// At the parent's origin, along x, without limits.
    fn default() -> Self {
        Self {
            origin: Pose::identity(),
            axis: Vector3::x_axis(),
            limit: None,
            dynamics: None,
            armature: None,
            safety: None,
            calibration: None,
            commanded: None,
            custom: Custom::default(),
            place: Place::default(),
        }
    }
}

impl Deref for Link {
    type Target = LinkProperties;

    fn deref(&self) -> &LinkProperties {
        &self.properties
    }
}

impl DerefMut for Link {
    fn deref_mut(&mut self) -> &mut LinkProperties {
        &mut self.properties
    }
}

impl Deref for Joint {
    type Target = JointProperties;

    fn deref(&self) -> &JointProperties {
        &self.properties
    }
}

impl DerefMut for Joint {
    fn deref_mut(&mut self) -> &mut JointProperties {
        &mut self.properties
    }
}

impl Link {
    /// Creates a link without mass and shapes: a frame.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            visuals: Vec::new(),
            collisions: Vec::new(),
            properties: LinkProperties::default(),
        }
    }

    /// Returns the name in the source; unique in the robot.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the link is only a frame: no shape, no mass.
    pub fn is_empty(&self) -> bool {
        let weightless = self
            .inertial
            .as_ref()
            .is_none_or(|i| i.mass == 0.0 && i.inertia.iter().all(|&v| v == 0.0));
        weightless && self.visuals.is_empty() && self.collisions.is_empty()
    }
}

impl Joint {
    /// Creates a joint at its parent's origin, along x, without limits.
    pub fn new(name: impl Into<String>, kind: JointKind, parent: LinkId, child: LinkId) -> Self {
        Self {
            name: name.into(),
            kind,
            parent,
            child,
            mimic: None,
            closes_loop: false,
            properties: JointProperties::default(),
        }
    }

    /// Returns the same joint between other links, to be added to a robot.
    pub fn between(&self, parent: LinkId, child: LinkId) -> Self {
        Self {
            parent,
            child,
            ..self.clone()
        }
    }

    /// Returns the name in the source; unique in the robot.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type of the joint.
    pub fn kind(&self) -> JointKind {
        self.kind
    }

    /// Returns the parent link.
    pub fn parent(&self) -> LinkId {
        self.parent
    }

    /// Returns the child link.
    pub fn child(&self) -> LinkId {
        self.child
    }

    /// Returns the joint that this one follows, with factor and offset ([`Robot::set_mimics`]).
    pub fn mimic(&self) -> Option<Mimic> {
        self.mimic
    }

    /// Returns whether it closes a loop: its ends are already connected by the tree.
    pub fn closes_loop(&self) -> bool {
        self.closes_loop
    }

    /// Returns the drive. A joint that follows another has none, whatever its source says.
    pub fn drive(&self) -> Option<Drive> {
        self.commanded.filter(|_| self.mimic.is_none())
    }

    /// Returns the gains of the drive, without a maximum force that the limit gives too.
    pub fn gains(&self) -> Option<Gains> {
        let mut gains = self.drive()?.gains?;
        let effort = self.limit.and_then(|limit| limit.effort);
        gains.max_force = gains.max_force.filter(|force| effort != Some(*force));
        Some(gains)
    }

    /// Returns the maximum torque or force of the limit. Many URDFs write 0 for "unknown".
    pub fn effort(&self) -> Option<f64> {
        let effort = self.limit.and_then(|limit| limit.effort);
        effort.filter(|effort| *effort > 0.0 && effort.is_finite())
    }

    /// Returns the range of positions, in radians or metres; for a planar joint, along each
    /// direction. A continuous, fixed or floating joint has no bounds, whatever its source says.
    pub fn bounds(&self) -> Bounds {
        match (self.kind, &self.limit) {
            (JointKind::Revolute | JointKind::Prismatic | JointKind::Planar, Some(limit)) => {
                limit.bounds
            }
            _ => Bounds::NONE,
        }
    }
}

/// The motion of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum JointKind {
    /// No motion.
    Fixed,
    /// About the axis, within limits.
    Revolute,
    /// About the axis, without limits.
    Continuous,
    /// Along the axis, within limits.
    Prismatic,
    /// In the plane across the axis.
    Planar,
    /// Any motion.
    Floating,
}

impl JointKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Fixed,
        Self::Revolute,
        Self::Continuous,
        Self::Prismatic,
        Self::Planar,
        Self::Floating,
    ];

    /// Returns its name in URDF, which most formats share.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Revolute => "revolute",
            Self::Continuous => "continuous",
            Self::Prismatic => "prismatic",
            Self::Planar => "planar",
            Self::Floating => "floating",
        }
    }
}

/// A link without content that chains the degrees of freedom of one joint of the source, because a
/// joint of the model has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// A joint with any degrees of freedom, one after the other.
    Chain,
    /// A ball joint: the chain has three hinges about orthogonal axes through one point.
    Ball,
}

impl Connector {
    /// Returns the name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Ball => "ball",
        }
    }

    /// Returns the connector with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Chain, Self::Ball]
            .into_iter()
            .find(|connector| connector.as_str() == name)
    }
}

/// A range of positions, in radians or metres: the lower is never above the upper, and neither is
/// NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    lower: f64,
    upper: f64,
}

impl Bounds {
    /// All positions.
    pub const NONE: Self = Self {
        lower: f64::NEG_INFINITY,
        upper: f64::INFINITY,
    };

    /// Returns the range between two positions, in either order. A missing or NaN side is
    /// unlimited.
    pub fn between(lower: Option<f64>, upper: Option<f64>) -> Self {
        let side =
            |side: Option<f64>, none: f64| side.filter(|side| !side.is_nan()).unwrap_or(none);
        let (a, b) = (side(lower, f64::NEG_INFINITY), side(upper, f64::INFINITY));
        Self {
            lower: a.min(b),
            upper: a.max(b),
        }
    }

    /// Returns the lower limit; negative infinity if there is none.
    pub fn lower(self) -> f64 {
        self.lower
    }

    /// Returns the upper limit; infinity if there is none.
    pub fn upper(self) -> f64 {
        self.upper
    }

    /// Returns the finite limits.
    pub fn sides(self) -> (Option<f64>, Option<f64>) {
        (
            Some(self.lower).filter(|side| side.is_finite()),
            Some(self.upper).filter(|side| side.is_finite()),
        )
    }

    /// Returns whether a position is in the range.
    pub fn contains(self, position: f64) -> bool {
        (self.lower..=self.upper).contains(&position)
    }

    /// Clamps `position` to the range.
    pub fn nearest(self, position: f64) -> f64 {
        position.max(self.lower).min(self.upper)
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self::NONE
    }
}

/// Limits of a joint, in radians or metres and their rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limit {
    /// The range in the source. Whether it applies depends on the joint's kind: use
    /// [`Joint::bounds`].
    pub bounds: Bounds,
    /// Maximum torque or force in N·m or N, if given.
    pub effort: Option<f64>,
    /// Maximum speed in rad/s or m/s, if given.
    pub velocity: Option<f64>,
}

/// Passive behaviour of a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dynamics {
    /// N·m·s/rad or N·s/m, if given.
    pub damping: Option<f64>,
    /// N·m or N, if given.
    pub friction: Option<f64>,
}

/// Drive of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// Commanded quantity.
    pub command: Command,
    /// The initial position in radians or metres, if given.
    pub initial_position: Option<f64>,
    /// Gains and targets, if the source gives them.
    pub gains: Option<Gains>,
}

/// Gains and targets of a drive. It applies
/// `stiffness · (target position − position) + damping · (target velocity − velocity)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gains {
    /// N·m/rad or N/m; 1/s² if the drive sets an acceleration.
    pub stiffness: f64,
    /// N·m·s/rad or N·s/m; 1/s if the drive sets an acceleration.
    pub damping: f64,
    /// Radians or metres, if given.
    pub target_position: Option<f64>,
    /// Rad/s or m/s, if given.
    pub target_velocity: Option<f64>,
    /// Maximum torque or force of the drive in N·m or N, if limited.
    pub max_force: Option<f64>,
    /// True if the drive sets an acceleration instead of a force.
    pub is_acceleration: bool,
}

impl Gains {
    /// Returns the names in OpenUSD of the properties that have an effect, for messages.
    pub fn to_words(&self) -> String {
        let is_set = |value: Option<f64>| value.is_some_and(|value| value != 0.0);
        let names = [
            ("stiffness", self.stiffness != 0.0),
            ("damping", self.damping != 0.0),
            ("targetPosition", is_set(self.target_position)),
            ("targetVelocity", is_set(self.target_velocity)),
            ("maxForce", self.max_force.is_some()),
            ("type", self.is_acceleration),
        ];
        let set = names.iter().filter(|(_, is_set)| *is_set);
        set.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// Returns whether the drive does nothing.
    pub fn is_idle(&self) -> bool {
        self.stiffness == 0.0 && self.damping == 0.0
    }
}

/// The commanded quantity of a drive.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, serde::Serialize,
)]
pub enum Command {
    /// Torque or force.
    Effort,
    /// Speed.
    Velocity,
    /// Position.
    Position,
}

impl Command {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Effort, Self::Velocity, Self::Position];

    /// Returns the command with this name in ros2_control.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|command| command.as_str() == name)
    }

    /// Returns its name in ros2_control.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Effort => "effort",
            Self::Velocity => "velocity",
            Self::Position => "position",
        }
    }
}

/// `position = multiplier · position(joint) + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mimic {
    /// The joint that is followed. Chains of mimics never form a cycle.
    pub joint: JointId,
    /// Factor.
    pub multiplier: f64,
    /// Radians or metres.
    pub offset: f64,
}

/// A named pose of a robot, or of a group of its joints.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPose {
    /// The name in the source; not empty.
    pub name: String,
    /// The group of joints that it sets; `None`: the robot.
    pub group: Option<String>,
    /// The base and tip links of the group, if it is a chain.
    pub chain: Option<(LinkId, LinkId)>,
    /// The joints that it sets and their positions (radians or metres; see
    /// [`kinematics::position_count`]), in the robot's order, each joint once. Joints that follow
    /// others are never among them.
    pub positions: Vec<(JointId, Vec<f64>)>,
    /// The joints among them that inverse kinematics must not move, in the robot's order.
    pub fixed: Vec<JointId>,
    /// Position in the source.
    pub place: Place,
}

/// The safety controller of a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Safety {
    /// Radians or metres, if given.
    pub soft_lower_limit: Option<f64>,
    /// Radians or metres, if given.
    pub soft_upper_limit: Option<f64>,
    /// Gain, if given.
    pub k_position: Option<f64>,
    /// Gain, if given.
    pub k_velocity: Option<f64>,
}

/// Reference positions of a joint, in radians or metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// At a rising edge, if given.
    pub rising: Option<f64>,
    /// At a falling edge, if given.
    pub falling: Option<f64>,
    /// The old `reference_position`, if given.
    pub reference_position: Option<f64>,
}

/// Data of a source without an equivalent in the model, kept verbatim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Custom {
    /// Attributes, in the source's order, with their qualified names.
    pub attributes: Vec<(String, String)>,
    /// Elements, in the source's order.
    pub elements: Vec<Element>,
}

impl Custom {
    /// Returns whether there is no such data.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty() && self.elements.is_empty()
    }
}

/// An element of a source, kept as it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// The qualified name.
    pub name: String,
    /// Attributes in the source's order, with their qualified names.
    pub attributes: Vec<(String, String)>,
    /// Text directly inside it, trimmed; empty if there is none.
    pub text: String,
    /// Elements inside it, in the source's order.
    pub children: Vec<Element>,
    /// Position in the source.
    pub place: Place,
}
