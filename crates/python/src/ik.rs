//! Inverse kinematics of batches of targets.

use std::sync::atomic::{AtomicBool, Ordering};

use nalgebra::{Matrix3, Point3, Rotation3, Translation3, UnitQuaternion};
use numpy::{PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_kinematics::ik::{Goal, Lm, Problem, Restarts, Starts, Target, solve_unless};
use urdf_usd_kinematics::{POSE, codes, names};
use urdf_usd_robot::Pose;

use crate::arrays::{Parts, Results, by_row, calculate};
use crate::failure::found;
use crate::robot::Robot;

/// Number of elements of a target that is a position.
const POSITION: usize = 3;
/// Number of targets that a thread takes at once.
const TARGETS: usize = 8;
/// Number of attempts during which Ctrl-C may wait: less than 0.2 s.
const MANY_ATTEMPTS: usize = 1000;

/// The arguments of `Robot.ik` that are the same for each target.
#[derive(FromPyObject)]
pub struct Settings {
    /// The link to move.
    #[pyo3(item)]
    link: String,
    /// The link in whose frame targets are.
    #[pyo3(item)]
    base: Option<String>,
    /// Names of joints that keep their positions.
    #[pyo3(item)]
    fixed: Vec<String>,
    /// Distance from limits, rad or m.
    #[pyo3(item)]
    margin: f64,
    /// Maximum number of starts.
    #[pyo3(item)]
    attempts: usize,
    /// Maximum number of iterations of an attempt.
    #[pyo3(item)]
    iterations: usize,
    /// Error, m and rad, at which a target counts as reached.
    #[pyo3(item)]
    tolerance: f64,
    /// Seed of random starts.
    #[pyo3(item)]
    seed: u64,
    /// The robot is at the configurations: the solution near them is sought.
    #[pyo3(item)]
    is_from: bool,
    /// Targets are positions, with any orientation.
    #[pyo3(item)]
    is_position: bool,
}

impl Settings {
    /// Returns the goal that numbers describe: a position, or a homogeneous matrix by rows.
    fn goal(&self, numbers: &[f64]) -> Goal {
        if let (true, [x, y, z]) = (self.is_position, numbers) {
            return Goal::Position(Point3::new(*x, *y, *z));
        }
        let at = |index: usize| numbers.get(index).copied().unwrap_or(0.0);
        let turn = Matrix3::from_fn(|row, column| at(4 * row + column));
        let turn = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(turn));
        Goal::Pose(Pose::from_parts(
            Translation3::new(at(3), at(7), at(11)),
            turn,
        ))
    }
}

/// Returns for each row of `rows`, a configuration followed by a target, the solution, followed by
/// whether it is reached (1 or 0), the distance (m) and the angle (rad) that are left, and the
/// number of attempts.
pub fn solutions<'py>(
    py: Python<'py>,
    robot: &Robot,
    rows: &PyReadonlyArray2<'py, f64>,
    settings: &Settings,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let Robot {
        robot: model,
        mechanism,
        ..
    } = robot;
    let refuse = |diagnostic: Diagnostic| found(&[diagnostic]);
    let base = robot.link(settings.base.as_deref())?;
    let tip = robot.link(Some(&settings.link))?;
    let fixed = settings
        .fixed
        .iter()
        .map(|name| names::joint(model, name).map_err(refuse))
        .collect::<PyResult<Vec<_>>>()?;
    let width = match settings.is_position {
        true => POSITION,
        false => POSE,
    };
    let target = Target::new(base, tip, settings.goal(&[0.0; POSE]));
    let problem = Problem::new(mechanism, &[target])
        .map_err(|error| refuse(names::no_way(model, error)))?
        .holding(&fixed)
        .with_margin(settings.margin);
    if problem.unmoved().is_some() {
        let message = format!("no joint moves \"{}\" relative to the base", settings.link);
        let help = "choose another base or link, or fix fewer joints";
        let stop = Diagnostic::new(&codes::NO_MOTION, names::of_file(model), message);
        return Err(refuse(stop.help(help)));
    }
    let rest = mechanism.rest();
    let starts = (!settings.is_from).then(|| Starts::new(&problem, &rest));
    let mut solver = Lm::default();
    (solver.tolerance, solver.iterations) = (settings.tolerance, settings.iterations);
    let restarts = Restarts {
        attempts: settings.attempts,
        seed: settings.seed,
    };
    let count = mechanism.coordinates().len();
    let scratch = || (problem.clone(), starts.clone(), solver.clone());
    let targets = rows.shape().first().copied().unwrap_or(0);
    let parts = Parts {
        rows: TARGETS,
        is_long: targets.saturating_mul(settings.attempts) >= MANY_ATTEMPTS,
    };
    let (columns, results) = (count + width, count + 4);
    let cancelled = AtomicBool::new(false);
    let part = by_row(
        columns,
        results,
        scratch,
        |(problem, starts, solver): &mut (Problem<'_>, Option<Starts>, Lm), row, out| {
            let (from, target) = row.split_at_checked(count).unwrap_or_default();
            problem.aim(0, &settings.goal(target));
            let (q, about) = out.split_at_mut_checked(count).unwrap_or_default();
            q.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            if let Some(starts) = starts {
                starts.choose(problem, q);
            }
            // One target may take minutes.
            let is_cancelled = || cancelled.load(Ordering::Relaxed);
            let outcome = solve_unless(solver, problem, q, &restarts, is_cancelled);
            let numbers = [
                f64::from(u8::from(outcome.is_reached)),
                outcome.position,
                outcome.angle,
                outcome.attempts as f64,
            ];
            about
                .iter_mut()
                .zip(numbers)
                .for_each(|(to, from)| *to = from);
        },
    );
    let results = Results::new(results);
    calculate(py, rows, columns, results, parts, &cancelled, part)
}
