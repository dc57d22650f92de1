//! A start for those who have none.

use std::f64::consts::{PI, TAU};

use nalgebra::Vector3;

use super::problem::Variable;
use super::{Lm, Problem};
use crate::Transform;

/// How many configurations are looked over ...
const COUNT: usize = 512;
/// ... how many of them are tried ...
const TRIES: usize = 24;
/// ... with how many steps each ...
const STEPS: usize = 6;
/// ... and the cost from which on none can do better: from there every step about squares the
/// error.
const NEAR: f64 = 1e-3;

/// Of the size of the space that the tips reach, what counts as much as a radian.
const RADIAN: f64 = 0.5;

/// Configurations all over the ranges of a problem's coordinates, and where they bring its tips:
/// where to look for a start if the caller has none. It is made once and holds for whatever the
/// targets are aimed at.
///
/// A robot that stands somewhere is better served by the solution next to where it stands: start
/// there.
///
/// The same problem has the same configurations, and the same goals have the same start.
#[derive(Clone, Debug)]
pub struct Starts {
    /// Configuration by configuration, the problem's variables.
    configurations: Vec<f64>,
    /// Configuration by configuration, the tips of all targets.
    tips: Vec<Transform>,
    /// How many radians a metre off counts as.
    per_metre: f64,
    lm: Lm,
    nearest: Vec<(f64, usize)>,
    tried: Vec<f64>,
    best: Vec<f64>,
}

impl Starts {
    /// For a problem whose coordinates that may not change are as in the mechanism's coordinates
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
        let per_metre = if per_metre.is_finite() {
            per_metre
        } else {
            1.0
        };
        let mut lm = Lm::default();
        lm.iterations = STEPS;
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

    /// Puts the start for what `problem`, which these starts are for, is aimed at into the
    /// mechanism's coordinates `q`, and says how many steps it took to find it: of the
    /// configurations whose tips are nearest, the one that a few steps of [`Lm`] bring nearest,
    /// after these steps. Coordinates that may not change stay.
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

/// Where to start: of more than a whole turn the one in the middle, since the others are the same
/// poses.
fn one_turn(variable: &Variable) -> (f64, f64) {
    let (from, to) = variable.start;
    match variable.turns && to - from > TAU {
        true => (0.5 * (from + to) - PI, 0.5 * (from + to) + PI),
        false => (from, to),
    }
}

/// The ratio whose powers, added again and again to a point of the unit cube of so many dimensions,
/// fill it evenly: the inverse of the root above one of `x^(dimensions + 1) = x + 1`, which is the
/// golden ratio for one dimension.
fn ratio(dimensions: usize) -> f64 {
    let mut root = 1.5_f64;
    for _ in 0..64 {
        root = (1.0 + root).powf(1.0 / (dimensions as f64 + 1.0));
    }
    1.0 / root
}

/// How far points are from their mean: the root of the mean of the squares, metres.
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
