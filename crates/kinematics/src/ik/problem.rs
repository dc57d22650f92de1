//! What is wanted of links, and what joints may do for it.

#![allow(
    clippy::indexing_slicing,
    reason = "rows and columns of the normal matrix are made here; a chain's coordinates are those of its mechanism"
)]

use crate::Twist;
use nalgebra::{Point3, Unit, UnitQuaternion, Vector3};
use urdf_usd_robot::{JointId, LinkId, Pose};

use super::Outcome;
use crate::mechanism::Step;
use crate::transform::{rotation_vector, transform_error, vector};
use crate::{Chain, Error, Mechanism, Reference, Transform};

/// What is wanted of a link, in the frame of its target's base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// To be there, turned so.
    Pose(Pose),
    /// To be there (metres), however turned.
    Position(Point3<f64>),
    /// To be turned so, wherever it is.
    Orientation(UnitQuaternion<f64>),
    /// To have a point (metres) straight ahead.
    LookAt {
        /// What is ahead, in the link.
        axis: Unit<Vector3<f64>>,
        /// Where to look, in the base.
        point: Point3<f64>,
    },
}

/// A link, and what is wanted of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The link in whose frame the goal is.
    pub base: LinkId,
    /// The link to bring there.
    pub tip: LinkId,
    /// The frame on the tip that is meant, such as a tool's: in the tip's frame.
    pub frame: Pose,
    /// What is wanted.
    pub goal: Goal,
    /// What a radian off counts.
    pub rotation_weight: f64,
    /// What a metre off counts.
    pub position_weight: f64,
}

impl Target {
    /// With weights of one, for the tip's own frame.
    pub fn new(base: LinkId, tip: LinkId, goal: Goal) -> Self {
        Self {
            base,
            tip,
            frame: Pose::identity(),
            goal,
            rotation_weight: 1.0,
            position_weight: 1.0,
        }
    }
}

/// A goal as it is held against a frame.
#[derive(Clone, Copy, Debug)]
enum Aim {
    Pose(Transform),
    Position(Vector3<f64>),
    Orientation(Transform),
    LookAt {
        axis: Vector3<f64>,
        point: Vector3<f64>,
    },
}

impl From<&Goal> for Aim {
    fn from(goal: &Goal) -> Self {
        match goal {
            Goal::Pose(pose) => Self::Pose(pose.into()),
            Goal::Position(point) => Self::Position(vector(point)),
            Goal::Orientation(rotation) => Self::Orientation(Transform {
                rotation: rotation.to_rotation_matrix().into_inner(),
                translation: Vector3::zeros(),
            }),
            Goal::LookAt { axis, point } => Self::LookAt {
                axis: axis.into_inner(),
                point: vector(point),
            },
        }
    }
}

/// A target with its chain.
#[derive(Clone, Debug)]
struct Aimed {
    chain: Chain,
    /// For each of the chain's coordinates its index in [`Problem::variables`]; `None` if it is
    /// held.
    variables: Vec<Option<usize>>,
    frame: Transform,
    aim: Aim,
    rotation_weight: f64,
    position_weight: f64,
}

/// A coordinate that a problem may change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    /// The index in [`Mechanism::coordinates`].
    pub(crate) coordinate: usize,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    /// The middle of its range, where it has one.
    pub(crate) middle: Option<f64>,
    /// Whether it can go a whole turn back instead of over a limit.
    pub(crate) turns: bool,
    /// Where to start at random.
    pub(crate) start: (f64, f64),
}

/// A range that is shorter than a whole turn by at most this, radians, is one whose limits are
/// rounded: ±3.14.
const ROUNDED: f64 = 4e-3;

/// One or several targets, and the coordinates that may change for them.
#[derive(Clone, Debug)]
pub struct Problem<'m> {
    mechanism: &'m Mechanism,
    targets: Vec<Aimed>,
    held: Vec<JointId>,
    margin: f64,
    variables: Vec<Variable>,
}

impl<'m> Problem<'m> {
    /// All of `targets` at once. Every joint on the way may move within its limits, and so may
    /// those that they follow.
    ///
    /// # Errors
    /// [`Error::NoWay`].
    pub fn new(mechanism: &'m Mechanism, targets: &[Target]) -> Result<Self, Error> {
        let aimed = |target: &Target| {
            Ok(Aimed {
                chain: Chain::between(mechanism, target.base, target.tip)?,
                variables: Vec::new(),
                frame: Transform::from(&target.frame),
                aim: Aim::from(&target.goal),
                rotation_weight: target.rotation_weight,
                position_weight: target.position_weight,
            })
        };
        let targets = targets.iter().map(aimed).collect::<Result<_, _>>()?;
        let mut problem = Self {
            mechanism,
            targets,
            held: Vec::new(),
            margin: 0.0,
            variables: Vec::new(),
        };
        problem.settle();
        Ok(problem)
    }

    /// The same with joints that stay where they are. One that follows another (mimic) stays if
    /// that one does.
    #[must_use]
    pub fn holding(mut self, joints: &[JointId]) -> Self {
        let followed = &self.mechanism.followed;
        let leader = |&joint: &JointId| followed[joint].map_or(joint, |followed| followed.leader);
        self.held = joints.iter().map(leader).collect();
        self.settle();
        self
    }

    /// The same with joints kept off their limits by `margin` (radians, metres); where a range is
    /// too small for that, in its middle.
    #[must_use]
    pub fn with_margin(mut self, margin: f64) -> Self {
        self.margin = margin.max(0.0);
        self.settle();
        self
    }

    /// Wants something else of a target, by its index. There is no such target: nothing happens.
    pub fn aim(&mut self, target: usize, goal: &Goal) {
        if let Some(target) = self.targets.get_mut(target) {
            target.aim = Aim::from(goal);
        }
    }

    /// The mechanism.
    pub fn mechanism(&self) -> &'m Mechanism {
        self.mechanism
    }

    /// The chains of the targets.
    pub fn chains(&self) -> impl Iterator<Item = &Chain> {
        self.targets.iter().map(|target| &target.chain)
    }

    /// Returns the index of the first target that no free joint moves in the frame of its base:
    /// what is wanted of it holds already, or never will.
    pub fn unmoved(&self) -> Option<usize> {
        self.targets.iter().position(|target| {
            let mut coordinates = target.chain.coordinates().iter();
            coordinates.all(|coordinate| self.range(*coordinate).is_none())
        })
    }

    /// The range of a coordinate (an index into [`Mechanism::coordinates`]) that a solution is in;
    /// `None` if it does not change.
    pub fn range(&self, coordinate: usize) -> Option<(f64, f64)> {
        let variable = self
            .variables
            .iter()
            .find(|variable| variable.coordinate == coordinate)?;
        Some((variable.lower, variable.upper))
    }

    /// Adds where the targets' frames are with the mechanism's coordinates `q`.
    pub(crate) fn tips(&self, q: &[f64], out: &mut Vec<Transform>) {
        let mut of_chain = Vec::new();
        for target in &self.targets {
            of_chain.resize(target.chain.coordinates().len(), 0.0);
            target.chain.gather(q, &mut of_chain);
            out.push(target.chain.forward(&of_chain).then(&target.frame));
        }
    }

    /// How far such frames are from what is wanted, for comparison: the sum of the squares of
    /// weighted radians, as which metres count `per_metre` times. Quicker than the errors, and the
    /// same where angles are small.
    pub(crate) fn far(&self, tips: &[Transform], per_metre: f64) -> f64 {
        let mut sum = 0.0;
        for (target, tip) in self.targets.iter().zip(tips) {
            let way = |to: &Vector3<f64>| {
                (to - tip.translation).norm_squared() * (target.position_weight * per_metre).powi(2)
            };
            // Of rotations, three minus the sum of all products is half the sum of all squared
            // differences.
            let turn = |to: &Transform| {
                (3.0 - to.rotation.dot(&tip.rotation)) * target.rotation_weight.powi(2)
            };
            sum += match &target.aim {
                Aim::Pose(pose) => way(&pose.translation) + turn(pose),
                Aim::Position(point) => way(point),
                Aim::Orientation(rotation) => turn(rotation),
                Aim::LookAt { .. } => {
                    let [_, turn] = target.errors(tip);
                    turn.norm_squared() * target.rotation_weight.powi(2)
                }
            };
        }
        sum
    }

    pub(crate) fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn settle(&mut self) {
        let Self {
            mechanism,
            targets,
            held,
            margin,
            variables,
        } = self;
        variables.clear();
        for target in targets {
            target.variables.clear();
            for &coordinate in target.chain.coordinates() {
                let about = mechanism.coordinates()[coordinate];
                if held.contains(&about.joint) {
                    target.variables.push(None);
                    continue;
                }
                let known = variables
                    .iter()
                    .position(|known| known.coordinate == coordinate);
                target
                    .variables
                    .push(Some(known.unwrap_or(variables.len())));
                if known.is_none() {
                    let (lower, upper) =
                        kept_off(about.bounds.lower(), about.bounds.upper(), *margin);
                    let middle =
                        (lower.is_finite() && upper.is_finite()).then_some(0.5 * (lower + upper));
                    let (from, to) = about.range();
                    let start = (from.max(lower), to.min(upper));
                    // A whole turn must be the same for all that follow, too.
                    let is_whole = |step: &Step| {
                        step.coordinate != coordinate || step.is_turn && step.factor.fract() == 0.0
                    };
                    let is_round = upper - lower >= std::f64::consts::TAU - ROUNDED
                        && mechanism.steps.iter().all(is_whole);
                    let turns = about.is_angle && is_round;
                    variables.push(Variable {
                        coordinate,
                        lower,
                        upper,
                        middle,
                        turns,
                        start,
                    });
                }
            }
        }
    }

    /// How far the targets are from what is wanted with the mechanism's coordinates `q`: an outcome
    /// of no iterations, which is reached if the cost is at most `tolerance`.
    pub fn outcome(&self, q: &[f64], tolerance: f64) -> Outcome {
        let outcome = self.measure(q, &mut Linear::default());
        Outcome {
            is_reached: outcome.cost <= tolerance,
            ..outcome
        }
    }

    /// The same in room that is there, without a verdict.
    pub(crate) fn measure(&self, q: &[f64], room: &mut Linear) -> Outcome {
        let (mut squares, mut position, mut angle) = (0.0, 0.0_f64, 0.0_f64);
        for target in &self.targets {
            room.of_chain.resize(target.chain.coordinates().len(), 0.0);
            target.chain.gather(q, &mut room.of_chain);
            let [way, turn] =
                target.errors(&target.chain.forward(&room.of_chain).then(&target.frame));
            squares += (way * target.position_weight).norm_squared()
                + (turn * target.rotation_weight).norm_squared();
            position = position.max(way.norm());
            angle = angle.max(turn.norm());
        }
        Outcome {
            is_reached: false,
            cost: squares.sqrt(),
            position,
            angle,
            iterations: 0,
            attempts: 0,
        }
    }
}

/// A range without `margin` at both ends.
fn kept_off(lower: f64, upper: f64, margin: f64) -> (f64, f64) {
    // Only a range with two ends has a middle.
    if !(upper - lower).is_finite() || upper - lower > 2.0 * margin {
        (lower + margin, upper - margin)
    } else {
        let middle = 0.5 * (lower + upper);
        (middle, middle)
    }
}

/// What a solver works on, with all the room that it needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Linear {
    /// Normal matrix, row by row, lower triangle; and right-hand side: `JᵀJ` and `Jᵀe`.
    pub(crate) normal: Vec<f64>,
    pub(crate) gradient: Vec<f64>,
    /// The sum of squared weighted errors.
    pub(crate) squares: f64,
    columns: Vec<Twist>,
    of_chain: Vec<f64>,
}

impl Problem<'_> {
    /// Works out errors, normal matrix and right-hand side for the mechanism's coordinates `q`;
    /// weights count `rotation` and `position` times.
    pub(crate) fn linearise(&self, q: &[f64], rotation: f64, position: f64, out: &mut Linear) {
        let size = self.variables.len();
        out.normal.clear();
        out.normal.resize(size * size, 0.0);
        out.gradient.clear();
        out.gradient.resize(size, 0.0);
        out.squares = 0.0;
        for target in &self.targets {
            let count = target.chain.coordinates().len();
            out.of_chain.resize(count, 0.0);
            out.columns.resize(count, Twist::zeros());
            target.chain.gather(q, &mut out.of_chain);
            let tip = target
                .chain
                .jacobian(&out.of_chain, Reference::Base, &mut out.columns)
                .then(&target.frame);
            let errors = target.errors(&tip);
            let weights = Weights {
                rotation: rotation * target.rotation_weight,
                position: position * target.position_weight,
            };
            let [way, turn] = errors;
            let error = Twist::from_iterator(
                (way * weights.position)
                    .iter()
                    .chain((turn * weights.rotation).iter())
                    .copied(),
            );
            out.squares += error.norm_squared();
            target.reduce(&tip, weights, &mut out.columns);
            for (i, (column, row)) in out.columns.iter().zip(&target.variables).enumerate() {
                let Some(row) = *row else { continue };
                out.gradient[row] += column.dot(&error);
                for (other, at) in out.columns.iter().zip(&target.variables).take(i + 1) {
                    let Some(at) = *at else { continue };
                    out.normal[row.max(at) * size + row.min(at)] += column.dot(other);
                }
            }
        }
    }
}

/// What a radian and a metre off count.
#[derive(Clone, Copy)]
struct Weights {
    rotation: f64,
    position: f64,
}

impl Aimed {
    /// Position and rotation that are missing.
    #[inline]
    fn errors(&self, tip: &Transform) -> [Vector3<f64>; 2] {
        match &self.aim {
            Aim::Pose(pose) => {
                let error = transform_error(pose, tip);
                [error.position, error.rotation]
            }
            Aim::Position(point) => [point - tip.translation, Vector3::zeros()],
            Aim::Orientation(wanted) => [
                Vector3::zeros(),
                rotation_vector(&(wanted.rotation * tip.rotation.transpose())),
            ],
            Aim::LookAt { axis, point } => [
                Vector3::zeros(),
                between(&(tip.rotation * axis), &(point - tip.translation)),
            ],
        }
    }

    /// Turns spatial twists into how the errors shrink, weighted.
    #[inline]
    fn reduce(&self, tip: &Transform, weights: Weights, columns: &mut [Twist]) {
        let Weights { rotation, position } = weights;
        let parts = |twist: &Twist| -> (Vector3<f64>, Vector3<f64>) {
            (
                twist.fixed_rows::<3>(0).into(),
                twist.fixed_rows::<3>(3).into(),
            )
        };
        for column in columns {
            let (linear, angular) = parts(column);
            let linear = linear + angular.cross(&tip.translation);
            let (linear, angular) = match &self.aim {
                Aim::Pose(_) => (linear * position, angular * rotation),
                Aim::Position(_) => (linear * position, Vector3::zeros()),
                Aim::Orientation(_) => (Vector3::zeros(), angular * rotation),
                Aim::LookAt { axis, point } => {
                    let ahead = tip.rotation * axis;
                    let to = point - tip.translation;
                    let distance = to.norm_squared().max(1e-12);
                    // Turning about the line of sight does nothing; moving aside turns the line.
                    let aside = to.cross(&linear) / distance;
                    (
                        Vector3::zeros(),
                        (angular - ahead * ahead.dot(&angular) + aside) * rotation,
                    )
                }
            };
            *column = Twist::new(
                linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
            );
        }
    }
}

/// The shortest turn, axis times angle, from one direction to another, whose length does not
/// matter.
fn between(from: &Vector3<f64>, to: &Vector3<f64>) -> Vector3<f64> {
    let cross = from.cross(to);
    let (sine, cosine) = (cross.norm(), from.dot(to));
    if sine > 1e-12 * (cosine.abs() + sine) {
        return cross * (sine.atan2(cosine) / sine);
    }
    if cosine >= 0.0 {
        return Vector3::zeros();
    }
    // Straight behind: about any axis across.
    let helper = if from.x.abs() < 0.9 {
        Vector3::x()
    } else {
        Vector3::y()
    };
    from.cross(&helper).normalize() * std::f64::consts::PI
}
