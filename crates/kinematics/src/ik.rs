//! Inverse kinematics: joint positions that bring links to target poses.
//!
//! A [`Problem`] is one [`Target`] or several at once, with the limits of all joints on the path.
//! [`Lm`] improves the coordinates iteratively until they solve it, and finds a solution near its
//! start. [`solve`] restarts it elsewhere from a local minimum. [`Starts`] finds a start for
//! callers that have none.
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
pub use restarts::{Restarts, solve, solve_unless};
pub use starts::Starts;

/// Outcome of an attempt to solve a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// True if every target is reached within the solver's tolerance.
    pub is_reached: bool,
    /// The norm of the weighted errors of all targets (metres and radians).
    pub cost: f64,
    /// The largest distance of a tip from its target, metres, among targets with a position.
    pub position: f64,
    /// The largest angle between a tip and its target, radians, among targets with an orientation.
    pub angle: f64,
    /// Number of iterations, over all attempts.
    pub iterations: usize,
    /// Number of starts.
    pub attempts: usize,
}
