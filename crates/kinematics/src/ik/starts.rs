//! Selection of a start for callers that have none.

use std::f64::consts::{PI, TAU};

use nalgebra::Vector3;

use super::problem::Variable;
use super::{Lm, Problem};
use crate::Transform;

/// Number of sampled configurations.
const COUNT: usize = 512;
/// Number of nearest samples that are refined.
const TRIES: usize = 24;
/// Number of iterations for each of them.
const STEPS: usize = 6;
/// Maximum norm of such an iteration, radians and metres: about that of six joints by half a radian. With
/// shorter steps, six iterations tell fewer starts apart.
const STEP: f64 = 1.2;
/// Cost below which no other sample is tried: from there each iteration roughly squares the error.
const NEAR: f64 = 1e-3;

/// Distance that weighs as much as a radian, as a share of the size of the tips' workspace.
const RADIAN: f64 = 0.5;

/// Samples of the configuration space of a problem with the poses of its tips, from which a start
/// is chosen.
///
/// They are computed once and remain valid whatever the targets' goals are.
///
/// A robot that is already in a configuration is better served by the solution next to it: start
/// there instead.
///
/// The same problem has the same samples, and the same goals have the same start.
#[derive(Clone, Debug)]
pub struct Starts {
    /// The problem's variables of each configuration, one after another.
    configurations: Vec<f64>,
    /// The tips of all targets of each configuration, one after another.
    tips: Vec<Transform>,
    /// Radians that weigh as much as a metre.
    per_metre: f64,
    lm: Lm,
    nearest: Vec<(f64, usize)>,
    tried: Vec<f64>,
    best: Vec<f64>,
}

impl Starts {
    /// Samples a problem, whose held coordinates keep their values in the mechanism's coordinates
    /// `q`.
    pub fn new(problem: &Problem<'_>, q: &[f64]) -> Self {
        let variables = problem.variables();
        let ratio = ratio(variables.len());
        let mut configurations = Vec::with_capacity(COUNT * variables.len());
        let mut tips = Vec::new();
        let mut at = q.to_vec();
        let mut shares = vec![0.5_f64; variables.len()];
        for _ in 0..COUNT {
            let mut stride = 1.0;
            for (variable, share) in variables.iter().zip(&mut shares) {
                stride *= ratio;
                *share = (*share + stride).fract();
                let (from, to) = one_turn(variable);
                let value = from + *share * (to - from);
                configurations.push(value);
                if let Some(at) = at.get_mut(variable.coordinate) {
                    *at = value;
                }
            }
            problem.tips(&at, &mut tips);
        }
        let per_metre = 1.0 / (RADIAN * spread(&tips));
        // Tips that are all in one place have no spread.
        let per_metre = if per_metre.is_finite() {
            per_metre
        } else {
            1.0
        };
        let mut lm = Lm::default();
        lm.iterations = STEPS;
        lm.max_step = STEP;
        Self {
            configurations,
            tips,
            per_metre,
            lm,
            nearest: Vec::with_capacity(TRIES + 1),
            tried: Vec::new(),
            best: Vec::new(),
        }
    }

    /// Writes the start for the present goals of `problem`, from which these starts were made, to
    /// the mechanism's coordinates `q`, and returns the number of iterations.
    ///
    /// It is the best of the samples nearest to the goals, each refined by a few iterations of
    /// [`Lm`]. Held coordinates are unchanged.
    pub fn choose(&mut self, problem: &Problem<'_>, q: &mut [f64]) -> usize {
        let variables = problem.variables();
        let (width, targets) = (variables.len(), problem.chains().count());
        self.nearest.clear();
        if width == 0 || targets == 0 {
            return 0;
        }
        for (configuration, tips) in self.tips.chunks_exact(targets).enumerate() {
            let far = problem.far(tips, self.per_metre);
            let is_full = self.nearest.len() == TRIES;
            if far.is_finite()
                && !(is_full && self.nearest.last().is_some_and(|(last, _)| *last <= far))
            {
                // Insertion into a short sorted list is cheaper than sorting all samples.
                let place = self.nearest.partition_point(|(nearer, _)| *nearer <= far);
                self.nearest.insert(place, (far, configuration));
                self.nearest.truncate(TRIES);
            }
        }
        let (mut cost, mut steps) = (f64::INFINITY, 0);
        self.best.clear();
        self.best.extend_from_slice(q);
        for (_, configuration) in &self.nearest {
            self.tried.clear();
            self.tried.extend_from_slice(q);
            let values = self.configurations.iter().skip(configuration * width);
            for (variable, value) in variables.iter().zip(values) {
                if let Some(at) = self.tried.get_mut(variable.coordinate) {
                    *at = *value;
                }
            }
            let outcome = self.lm.solve(problem, &mut self.tried);
            steps += outcome.iterations;
            if outcome.cost < cost {
                cost = outcome.cost;
                self.best.copy_from_slice(&self.tried);
            }
            if cost < NEAR {
                break;
            }
        }
        q.copy_from_slice(&self.best);
        steps
    }
}

/// Returns the range of starts, reduced to the middle turn if it has more than one: the others
/// repeat the same poses.
fn one_turn(variable: &Variable) -> (f64, f64) {
    let (from, to) = variable.start;
    match variable.turns && to - from > TAU {
        true => (0.5 * (from + to) - PI, 0.5 * (from + to) + PI),
        false => (from, to),
    }
}

/// Returns the ratio whose powers are the increments of an additive sequence that fills the unit
/// cube of `dimensions` dimensions evenly: the inverse of the root above one of `x^(dimensions + 1)
/// = x + 1`, for one dimension the golden ratio (the low-discrepancy sequence R of M. Roberts).
fn ratio(dimensions: usize) -> f64 {
    let mut root = 1.5_f64;
    for _ in 0..64 {
        // Each step shrinks the error to less than a third, so 64 suffice for all digits.
        root = (1.0 + root).powf(1.0 / (dimensions as f64 + 1.0));
    }
    1.0 / root
}

/// Returns the root mean square distance of points from their mean, metres.
fn spread(tips: &[Transform]) -> f64 {
    let count = tips.len() as f64;
    let mean = tips.iter().map(|tip| tip.translation).sum::<Vector3<f64>>() / count;
    (tips
        .iter()
        .map(|tip| (tip.translation - mean).norm_squared())
        .sum::<f64>()
        / count)
        .sqrt()
}
