//! Inverse kinematics: joint positions that bring links where they are wanted.
//!
//! A [`Problem`] is what is wanted: one [`Target`] or several at once, with the limits of all
//! joints on the way. [`Lm`] changes coordinates until it holds. [`solve`] starts it again elsewhere
//! where it ends in a dead end. It leads to a solution near where it starts; [`Starts`] finds a start where there is none to
//! keep to.
//!
//! ```
//! # use urdf_usd_kinematics::{Mechanism, ik::{Goal, Lm, Problem, Restarts, Starts, Target, solve}};
//! # use urdf_usd_robot::{LinkId, Robot};
//! # fn reach(robot: &Robot, base: LinkId, tip: LinkId, pose: urdf_usd_robot::Pose) -> Result<(), urdf_usd_kinematics::Error> {
//! let mechanism = Mechanism::of(robot);
//! let problem = Problem::new(&mechanism, &[Target::new(base, tip, Goal::Pose(pose))])?;
//! let mut q = mechanism.rest();
//! Starts::new(&problem, &q).choose(&problem, &mut q); // not where the robot should move from `q`
//! let outcome = solve(&mut Lm::default(), &problem, &mut q, &Restarts::default());
//! println!("{q:?}, off by {} m and {} rad", outcome.position, outcome.angle);
//! # Ok(())
//! # }
//! ```

mod lm;
mod problem;
mod restarts;
mod starts;

pub use lm::Lm;
pub use problem::{Goal, Problem, Target};
pub use restarts::{Restarts, solve};
pub use starts::Starts;

/// What came of an attempt to solve a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Whether every target is reached, as near as the solver was told.
    pub is_reached: bool,
    /// The norm of the weighted errors of all targets (metres and radians).
    pub cost: f64,
    /// The largest distance of a target from where it is wanted, metres; of those that say where.
    pub position: f64,
    /// The largest angle by which a target is turned from what is wanted, radians; of those that
    /// say how.
    pub angle: f64,
    /// How many steps were tried, over all attempts.
    pub iterations: usize,
    /// How many times it was started.
    pub attempts: usize,
}
