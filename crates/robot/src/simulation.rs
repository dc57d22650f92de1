//! Data that simulations need beyond the description of a robot: drives, collisions among its links,
//! a start inside the limits.
//!
//! Everything here is assumed by a documented rule (`docs/simulate.md`), or chosen by a user. Layers for
//! engines, MJCF and SDF contain it; neutral layers do not.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::{Command, JointId, LinkPairs, NamedPose};

/// Collisions among the links of one robot. Links that a joint connects never collide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum SelfCollision {
    /// All pairs of links collide.
    All,
    /// Pairs collide unless they touch at the start, or in every sampled configuration.
    #[default]
    NotTouching,
    /// No pair collides.
    None,
}

impl SelfCollision {
    /// All values.
    pub const ALL: [Self; 3] = [Self::All, Self::NotTouching, Self::None];

    /// Returns the value as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::NotTouching => "not-touching",
            Self::None => "none",
        }
    }
}

impl fmt::Display for SelfCollision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SelfCollision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|value| value.as_str() == text);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str).join(", ");
            format!("{text:?} is none of {names}")
        })
    }
}

/// Drive of a joint in simulations. It applies
/// `stiffness · (target − position) + damping · (target velocity − velocity)`, at most `max_force`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Actuation {
    /// Commanded quantity.
    pub command: Command,
    /// N·m/rad or N/m.
    pub stiffness: f64,
    /// N·m·s/rad or N·s/m.
    pub damping: f64,
    /// Maximum torque or force, N·m or N; `None`: unlimited.
    pub max_force: Option<f64>,
    /// Inertia of the rotor, as seen by the joint, kg·m² or kg.
    pub armature: Option<f64>,
    /// Friction of the drive that replaces that of the joint, N·m or N.
    pub friction: Option<f64>,
    /// Maximum torque or force of gravity on the joint with the base held, N·m or N.
    pub load: f64,
    /// Position that the drive holds at the start, radians or metres.
    pub target: f64,
    /// Whether the gains follow from a rule; otherwise a user gave them.
    pub is_assumed: bool,
}

/// Data that simulations need beyond the description of a robot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simulation {
    /// Collisions among the links.
    pub self_collision: SelfCollision,
    /// Pairs of links that do not collide because they touch at the start. They are not among
    /// [`Robot::disabled_collisions`](super::Robot::disabled_collisions).
    pub touching: LinkPairs,
    /// Drives by joint. Joints without one move freely.
    pub actuation: BTreeMap<JointId, Actuation>,
    /// The start, if it is not zero for every joint.
    pub home: Option<NamedPose>,
}
