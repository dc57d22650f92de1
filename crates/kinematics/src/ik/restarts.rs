//! Another start where the first leads nowhere.

use super::{Lm, Outcome, Problem};
use crate::Random;

/// How often a solver is started, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarts {
    /// The most starts, the first included.
    pub attempts: usize,
    /// What the random starts follow from: the same seed, the same result.
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

/// Starts a solver at `q`, then at random configurations within the problem's bounds until the
/// problem is solved. `q` becomes the solution, or the nearest that was found.
pub fn solve(
    solver: &mut Lm,
    problem: &Problem<'_>,
    q: &mut [f64],
    restarts: &Restarts,
) -> Outcome {
    let mut best = solver.solve(problem, q);
    let mut random = Random::new(restarts.seed);
    let mut tried = Vec::new();
    while !best.is_reached && best.attempts < restarts.attempts {
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
        let outcome = solver.refine(problem, q);
        best = Outcome {
            iterations: best.iterations + outcome.iterations,
            attempts: best.attempts,
            ..outcome
        };
    }
    best
}
