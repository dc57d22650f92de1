//! Restarts from random configurations.

use super::{Lm, Outcome, Problem};
use crate::Random;

/// Number and seed of the starts of a solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarts {
    /// Maximum number of starts, the first included.
    pub attempts: usize,
    /// Seed of the random starts: the same seed gives the same result.
    pub seed: u64,
}

impl Default for Restarts {
    fn default() -> Self {
        Self {
            attempts: 100,
            seed: 0,
        }
    }
}

/// Runs a solver from `q`, then from random configurations within the problem's bounds, until the
/// problem is solved. `q` becomes the solution, or the best approximation found.
pub fn solve(
    solver: &mut Lm,
    problem: &Problem<'_>,
    q: &mut [f64],
    restarts: &Restarts,
) -> Outcome {
    solve_unless(solver, problem, q, restarts, || false)
}

/// Solves as [`solve`], without further attempts once `is_cancelled` returns true.
pub fn solve_unless(
    solver: &mut Lm,
    problem: &Problem<'_>,
    q: &mut [f64],
    restarts: &Restarts,
    is_cancelled: impl Fn() -> bool,
) -> Outcome {
    let mut best = solver.solve(problem, q);
    let mut random = Random::new(restarts.seed);
    let mut tried = Vec::new();
    while !best.is_reached && best.attempts < restarts.attempts && !is_cancelled() {
        tried.clear();
        tried.extend_from_slice(q);
        for variable in problem.variables() {
            if let Some(at) = tried.get_mut(variable.coordinate) {
                *at = random.between(variable.start.0, variable.start.1);
            }
        }
        let outcome = solver.solve(problem, &mut tried);
        let (iterations, attempts) = (best.iterations + outcome.iterations, best.attempts + 1);
        if outcome.is_reached || outcome.cost < best.cost {
            q.copy_from_slice(&tried);
            best = outcome;
        }
        best = Outcome {
            iterations,
            attempts,
            ..best
        };
    }
    if !best.is_reached {
        // The targets are probably out of reach: bring the best result as near as possible.
        let outcome = solver.refine(problem, q);
        best = Outcome {
            iterations: best.iterations + outcome.iterations,
            attempts: best.attempts,
            ..outcome
        };
    }
    best
}
