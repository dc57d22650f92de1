//! Levenberg–Marquardt with limits.

#![allow(
    clippy::indexing_slicing,
    reason = "matrices and vectors are sized by the number of variables, which bounds all loops"
)]

use super::problem::{Linear, Variable};
use super::{Outcome, Problem};

/// Damped least squares with adaptive damping (Levenberg–Marquardt). The defaults are those of
/// Isaac's solver `lm`.
///
/// Coordinates stop at their limits, and the others compensate; an angle whose range spans a whole
/// turn wraps around instead. It gives up early when progress is slow: a restart
/// ([`solve`](super::solve)) is worth more.
#[derive(Clone, Debug)]
pub struct Lm {
    /// Initial damping; it adapts.
    pub damping: f64,
    /// Maximum number of iterations.
    pub iterations: usize,
    /// The cost ([`Outcome::cost`]: metres and radians) up to which the problem counts as solved.
    pub tolerance: f64,
    /// Weight of radians, a factor of the targets' own weights.
    pub rotation_weight: f64,
    /// Weight of metres, a factor of the targets' own weights.
    pub position_weight: f64,
    /// Maximum norm of the changes of all coordinates in an iteration, radians and metres.
    pub max_step: f64,
    /// Strength of the bias towards the middle of the coordinates' ranges, in the null space of the
    /// targets.
    pub null_space_bias: f64,
    work: Work,
}

impl Default for Lm {
    fn default() -> Self {
        Self {
            damping: 1e-3,
            iterations: 30,
            tolerance: 1e-6,
            rotation_weight: 1.0,
            position_weight: 1.0,
            max_step: 0.5,
            null_space_bias: 0.05,
            work: Work::default(),
        }
    }
}

/// Share of the squared error beyond which an iteration that leaves it counts as slow.
const SLOW: f64 = 0.8;
/// Number of successive slow iterations after which the solver gives up.
const PATIENCE: usize = 3;

/// Maximum number of iterations towards a target that is out of reach, unless [`Lm::max_step`] is small.
const REFINING: usize = 1000;
/// Length of the way through the coordinates, radians and metres, for which refining has enough
/// iterations.
const WAY: f64 = 20.0;
/// Maximum number of iterations of refining, however small [`Lm::max_step`] is.
const MAX_REFINING: usize = 100_000;

/// Reusable buffers.
#[derive(Clone, Debug, Default)]
struct Work {
    at: Linear,
    next: Linear,
    /// The mechanism's coordinates of the next iteration.
    q: Vec<f64>,
    rhs: Vec<f64>,
    bounded: Bounded,
}

impl Lm {
    /// Changes the mechanism's coordinates `q` until the problem is solved, or the solver gives up.
    /// Coordinates that the problem does not depend on, or holds, are unchanged; all others end
    /// within the problem's bounds.
    pub fn solve(&mut self, problem: &Problem<'_>, q: &mut [f64]) -> Outcome {
        self.descend(problem, q, self.iterations, PATIENCE)
    }

    /// Continues where [`Lm::solve`] gives up: `q` is the best solution so far of a problem that
    /// may be out of reach, and is brought as near as possible.
    pub fn refine(&mut self, problem: &Problem<'_>, q: &mut [f64]) -> Outcome {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is between the two limits"
        )]
        let most = (WAY / self.max_step)
            .clamp(REFINING as f64, MAX_REFINING as f64)
            .ceil() as usize;
        self.descend(problem, q, most, usize::MAX)
    }
}

impl Lm {
    fn descend(
        &mut self,
        problem: &Problem<'_>,
        q: &mut [f64],
        most: usize,
        patience: usize,
    ) -> Outcome {
        let variables = problem.variables();
        // The bounded step below assumes coordinates within their bounds; the caller's may be
        // outside.
        for variable in variables {
            if let Some(at) = q.get_mut(variable.coordinate) {
                *at = at.clamp(variable.lower, variable.upper);
            }
        }
        let Self {
            tolerance,
            rotation_weight,
            position_weight,
            work,
            ..
        } = self;
        let Work {
            at,
            next,
            q: tried,
            rhs,
            bounded,
        } = work;
        tried.clear();
        tried.extend_from_slice(q);
        problem.linearise(q, *rotation_weight, *position_weight, at);
        let least = *tolerance * *tolerance;
        let mut damping = self.damping;
        let (mut iterations, mut slow) = (0, 0);
        while at.squares > least && iterations < most && slow < patience {
            iterations += 1;
            // Scale the damping with the error: more far from the solution, less near it.
            let off = at.squares.sqrt().min(1.0);
            let damped = damping * off.max(1e-6);
            // The bias distorts the step by its square, so it must vanish with the error. It may be
            // the reason for steps without progress: then leave it out.
            let bias_strength = if damping <= self.damping {
                damped * self.null_space_bias * off
            } else {
                0.0
            };
            rhs.clear();
            for (variable, gradient) in variables.iter().zip(&at.gradient) {
                let at = q.get(variable.coordinate).copied().unwrap_or(0.0);
                let bias = variable
                    .middle
                    .map_or(0.0, |middle| (middle - at) * bias_strength);
                rhs.push(gradient + bias);
            }
            if !bounded.find(&at.normal, damped, rhs, variables, q) {
                // The matrix is not positive definite. With enough damping it is.
                damping *= 10.0;
                continue;
            }
            let length = bounded.step.iter().map(|step| step * step).sum::<f64>();
            let length = length.sqrt();
            // Shorten the step as a whole, so that it keeps its direction.
            let is_shortened = length > self.max_step;
            let scale = if is_shortened {
                self.max_step / length
            } else {
                1.0
            };
            for (variable, step) in variables.iter().zip(&bounded.step) {
                let Some(to) = tried.get_mut(variable.coordinate) else {
                    continue;
                };
                let from = q.get(variable.coordinate).copied().unwrap_or(0.0);
                *to = variable.within(from + scale * step);
            }
            problem.linearise(tried, *rotation_weight, *position_weight, next);
            if next.squares < at.squares {
                // Small steps make slow progress far from a solution, which is no local minimum.
                slow = if !is_shortened && next.squares > SLOW * at.squares {
                    slow + 1
                } else {
                    0
                };
                std::mem::swap(at, next);
                q.copy_from_slice(tried);
                damping = (damping * 0.2).max(1e-9);
            } else {
                // The step changes nothing any more: this is a local minimum.
                if length < 1e-12 {
                    break;
                }
                damping = (damping * 4.0).min(1e9);
            }
        }
        let outcome = problem.measure(q, next);
        Outcome {
            is_reached: at.squares <= least,
            iterations,
            attempts: 1,
            ..outcome
        }
    }
}

impl Variable {
    /// Moves `position` into the range: by whole turns if the range spans one, up to rounded
    /// limits, otherwise to the nearest limit.
    fn within(&self, position: f64) -> f64 {
        let turn = std::f64::consts::TAU;
        if self.turns && position > self.upper {
            // Rounded limits span slightly less than a turn, hence the clamp.
            return (position - turn * ((position - self.upper) / turn).ceil()).max(self.lower);
        }
        if self.turns && position < self.lower {
            return (position + turn * ((self.lower - position) / turn).ceil()).min(self.upper);
        }
        position.clamp(self.lower, self.upper)
    }
}

/// Buffers of [`Bounded::find`].
#[derive(Clone, Debug, Default)]
struct Bounded {
    /// The solution.
    step: Vec<f64>,
    /// For each coordinate, true if it is free, not stopped by a limit.
    is_free: Vec<bool>,
    /// The steps of the coordinates that are stopped.
    stops: Vec<f64>,
    factor: Vec<f64>,
}

impl Bounded {
    /// Solves `(A + damping) x = b` within limits, by an active set: coordinates that would exceed
    /// their limits stop there, and the system is solved again for the others. Returns false if
    /// there is no solution.
    fn find(
        &mut self,
        a: &[f64],
        damping: f64,
        b: &[f64],
        variables: &[Variable],
        q: &[f64],
    ) -> bool {
        let Self {
            step,
            is_free,
            stops,
            factor,
        } = self;
        let size = variables.len();
        let at = |variable: &Variable| q.get(variable.coordinate).copied().unwrap_or(0.0);
        is_free.clear();
        stops.clear();
        for (variable, b) in variables.iter().zip(b) {
            let at = at(variable);
            // A coordinate at a limit, pulled beyond it, is held from the start. One that wraps has
            // no limit.
            is_free.push(
                !(at <= variable.lower && *b < 0.0 || at >= variable.upper && *b > 0.0)
                    || variable.turns,
            );
            stops.push(0.0);
        }
        loop {
            step.clear();
            step.extend_from_slice(b);
            for i in 0..size {
                for c in (0..size).filter(|c| !is_free[*c] && stops[*c] != 0.0) {
                    step[i] -= a[i.max(c) * size + i.min(c)] * stops[c];
                }
            }
            if !solve(a, size, damping, is_free, factor, step) {
                return false;
            }
            let mut is_over = false;
            for (index, variable) in variables.iter().enumerate() {
                let (from, to) = (at(variable), at(variable) + step[index]);
                if is_free[index]
                    && !variable.turns
                    && !(variable.lower..=variable.upper).contains(&to)
                {
                    (is_free[index], stops[index], is_over) =
                        (false, to.clamp(variable.lower, variable.upper) - from, true);
                }
            }
            // Each pass stops at least one more coordinate, so the loop ends.
            if !is_over {
                break;
            }
        }
        for index in (0..size).filter(|index| !is_free[*index]) {
            step[index] = stops[index];
        }
        true
    }
}

/// Solves `(A + damping) x = b` for the free coordinates by Cholesky decomposition; the others are
/// zero. `A` is the lower triangle; `x` replaces `b`. Returns false if the matrix is not positive
/// definite.
fn solve(
    a: &[f64],
    size: usize,
    damping: f64,
    is_free: &[bool],
    factor: &mut Vec<f64>,
    b: &mut [f64],
) -> bool {
    factor.clear();
    factor.extend_from_slice(a);
    for i in 0..size {
        if !is_free[i] {
            b[i] = 0.0;
            continue;
        }
        for j in 0..=i {
            if !is_free[j] {
                continue;
            }
            let mut sum = factor[i * size + j];
            for k in (0..j).filter(|k| is_free[*k]) {
                sum -= factor[i * size + k] * factor[j * size + k];
            }
            if i == j {
                let pivot = sum + damping;
                if pivot <= 0.0 || !pivot.is_finite() {
                    return false;
                }
                factor[i * size + i] = pivot.sqrt();
            } else {
                factor[i * size + j] = sum / factor[j * size + j];
            }
        }
    }
    for i in (0..size).filter(|i| is_free[*i]) {
        let sum: f64 = (0..i)
            .filter(|k| is_free[*k])
            .map(|k| factor[i * size + k] * b[k])
            .sum();
        b[i] = (b[i] - sum) / factor[i * size + i];
    }
    for i in (0..size).rev().filter(|i| is_free[*i]) {
        let sum: f64 = (i + 1..size)
            .filter(|k| is_free[*k])
            .map(|k| factor[k * size + i] * b[k])
            .sum();
        b[i] = (b[i] - sum) / factor[i * size + i];
    }
    true
}
