//! Data that simulations need beyond the description of a robot: drives, collisions among its links,
//! a start inside the limits.
//!
//! Everything here is assumed by a documented rule (`docs/simulate.md`), or chosen by a user. Layers for
//! engines, MJCF and SDF contain it; neutral layers do not.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::{Command, Gains, JointId, LinkPairs, NamedPose, Robot};

/// Time constant in seconds and damping ratio of mimic relations in MuJoCo (`solref`). Its default of 20 ms lets
/// light fingers lag by 0.2 rad; less than two time steps would be unstable, which MuJoCo prevents.
pub const MIMIC_SOLREF: [f64; 2] = [0.005, 1.0];
/// Share of a violation that mimic relations remove in MuJoCo (`solimp`): from 99 % to 99.9 % at a violation of a
/// milliradian, with MuJoCo's default midpoint and power.
pub const MIMIC_SOLIMP: [f64; 5] = [0.99, 0.999, 0.001, 0.5, 2.0];

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
    /// True if the gains follow from a rule, false if a user gave them.
    pub is_assumed: bool,
}

impl Actuation {
    /// Returns the gains, target and force limit.
    fn gains(&self) -> Gains {
        Gains {
            stiffness: self.stiffness,
            damping: self.damping,
            target_position: Some(self.target),
            max_force: self.max_force,
            ..Gains::default()
        }
    }
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

/// Actuator of a joint with one degree of freedom, in SI units. Its force is
/// `gain · control + bias[0] + bias[1] · position + bias[2] · velocity`, at most `max_force`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Actuator {
    /// Commanded quantity, which is the control.
    pub command: Command,
    /// Gains for simulations, or else those of the source; `None` if neither has any.
    pub gains: Option<Gains>,
    /// Range of the control, if it is known and contains the target.
    pub control_range: Option<[f64; 2]>,
    /// Maximum torque or force, N·m or N; `None`: unlimited.
    pub max_force: Option<f64>,
    /// Control at the start.
    pub target: f64,
}

impl Actuator {
    /// Returns the actuator of a joint: that for simulations, or else the drive of its source; `None` if the
    /// joint has neither, or may exert no force.
    pub fn of(robot: &Robot, id: JointId) -> Option<Self> {
        let joint = &robot.joints()[id];
        let actuation = robot.simulation().actuation.get(&id);
        let (command, gains) = match actuation {
            Some(actuation) => (actuation.command, Some(actuation.gains())),
            None => {
                let drive = joint.drive()?;
                (drive.command, drive.gains)
            }
        };
        let gains = gains.filter(|gains| !gains.is_idle());
        if gains.is_some_and(|gains| gains.max_force == Some(0.0)) {
            return None;
        }
        let max_force = match actuation {
            Some(actuation) => actuation.max_force,
            None => gains.map_or_else(|| joint.effort(), |gains| gains.max_force),
        };
        let max_force = max_force.filter(|force| *force > 0.0 && force.is_finite());
        let target = gains.map_or(0.0, |gains| {
            let target = match command {
                Command::Effort => None,
                Command::Velocity => gains.target_velocity,
                Command::Position => gains.target_position,
            };
            target.unwrap_or(0.0)
        });
        let symmetric = |limit: f64| [-limit, limit];
        let control_range = match command {
            Command::Effort => max_force.map(symmetric),
            Command::Velocity => {
                let speed = joint.limit.and_then(|limit| limit.velocity);
                speed
                    .filter(|speed| *speed > 0.0 && speed.is_finite())
                    .map(symmetric)
            }
            Command::Position => {
                let (lower, upper) = joint.bounds().sides();
                let range = lower.zip(upper).filter(|(lower, upper)| lower < upper);
                range.map(|(lower, upper)| [lower, upper])
            }
        };
        Some(Self {
            command,
            gains,
            // A target outside of the range would be clamped.
            control_range: control_range.filter(|[low, high]| (*low..=*high).contains(&target)),
            max_force,
            target,
        })
    }

    /// Returns the gain and the bias; `None` if the gains are missing, or those of an acceleration.
    pub fn gain_and_bias(&self) -> Option<(f64, [f64; 3])> {
        let is_missing = self.gains.is_none() && self.command != Command::Effort;
        let gains = self.gains.unwrap_or_default();
        let Gains {
            stiffness, damping, ..
        } = gains;
        let speed = gains.target_velocity.unwrap_or(0.0);
        let position = gains.target_position.unwrap_or(0.0);
        // Targets that are no control are a constant of the bias.
        let of_command = match self.command {
            Command::Effort => (
                1.0,
                [stiffness * position + damping * speed, -stiffness, -damping],
            ),
            Command::Velocity => (damping, [0.0, 0.0, -damping]),
            Command::Position => (stiffness, [damping * speed, -stiffness, -damping]),
        };
        (!is_missing && !gains.is_acceleration).then_some(of_command)
    }
}
