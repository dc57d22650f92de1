//! Inverse kinematics problems: targets for links, and the coordinates that may change.

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

/// The goal of a link, in the frame of its target's base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// A position and orientation.
    Pose(Pose),
    /// A position (metres), with any orientation.
    Position(Point3<f64>),
    /// An orientation, at any position.
    Orientation(UnitQuaternion<f64>),
    /// A point (metres) straight ahead.
    LookAt {
        /// The direction that counts as ahead, in the link.
        axis: Unit<Vector3<f64>>,
        /// The point to look at, in the base.
        point: Point3<f64>,
    },
}

/// A link and its goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The link whose frame the goal is in.
    pub base: LinkId,
    /// The link to move.
    pub tip: LinkId,
    /// The frame to bring to the goal, such as a tool's, in the tip's frame.
    pub frame: Pose,
    /// The goal.
    pub goal: Goal,
    /// Weight of an error of one radian.
    pub rotation_weight: f64,
    /// Weight of an error of one metre.
    pub position_weight: f64,
}

impl Target {
    /// Creates a target with weights of one, for the tip's own frame.
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

/// A goal in the form in which errors are computed.
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
    /// For each of the chain's coordinates, its index in [`Problem::variables`]; `None` if it is
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
    /// The middle of its range, if it has two limits.
    pub(crate) middle: Option<f64>,
    /// True if its range spans a whole turn, so that it wraps around instead of exceeding a limit.
    pub(crate) turns: bool,
    /// The range of random starts.
    pub(crate) start: (f64, f64),
}

/// Tolerance, in radians, for ranges of a whole turn with rounded limits, such as ±3.14.
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
    /// Creates a problem of all `targets` at once. Every joint on the path may move within its
    /// limits, and so may the joints that they follow.
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

    /// Holds joints at their positions. A joint that follows another (mimic) holds its leader.
    #[must_use]
    pub fn holding(mut self, joints: &[JointId]) -> Self {
        let followed = &self.mechanism.followed;
        let leader = |&joint: &JointId| followed[joint].map_or(joint, |followed| followed.leader);
        self.held = joints.iter().map(leader).collect();
        self.settle();
        self
    }

    /// Keeps joints away from their limits by `margin` (radians, metres); a joint whose range is
    /// too small for that is kept in its middle.
    #[must_use]
    pub fn with_margin(mut self, margin: f64) -> Self {
        self.margin = margin.max(0.0);
        self.settle();
        self
    }

    /// Changes the goal of the target at an index; does nothing if there is no such target.
    pub fn aim(&mut self, target: usize, goal: &Goal) {
        if let Some(target) = self.targets.get_mut(target) {
            target.aim = Aim::from(goal);
        }
    }

    /// Returns the mechanism.
    pub fn mechanism(&self) -> &'m Mechanism {
        self.mechanism
    }

    /// Returns the chains of the targets.
    pub fn chains(&self) -> impl Iterator<Item = &Chain> {
        self.targets.iter().map(|target| &target.chain)
    }

    /// Returns the index of the first target that no free joint moves in the frame of its base, so
    /// that it is either reached already or can't be.
    pub fn unmoved(&self) -> Option<usize> {
        self.targets.iter().position(|target| {
            let mut coordinates = target.chain.coordinates().iter();
            coordinates.all(|coordinate| self.range(*coordinate).is_none())
        })
    }

    /// Returns the range of a coordinate (an index into [`Mechanism::coordinates`]) in solutions;
    /// `None` if it does not change.
    pub fn range(&self, coordinate: usize) -> Option<(f64, f64)> {
        let variable = self
            .variables
            .iter()
            .find(|variable| variable.coordinate == coordinate)?;
        Some((variable.lower, variable.upper))
    }

    /// Appends the targets' frames at the mechanism's coordinates `q`.
    pub(crate) fn tips(&self, q: &[f64], out: &mut Vec<Transform>) {
        let mut of_chain = Vec::new();
        for target in &self.targets {
            of_chain.resize(target.chain.coordinates().len(), 0.0);
            target.chain.gather(q, &mut of_chain);
            out.push(target.chain.forward(&of_chain).then(&target.frame));
        }
    }

    /// Returns a measure of the distance of tips from their goals, for comparison: the sum of
    /// squared weighted radians, with a metre equal to `per_metre` radians. Cheaper than the
    /// errors, and equal to them for small angles.
    pub(crate) fn far(&self, tips: &[Transform], per_metre: f64) -> f64 {
        let mut sum = 0.0;
        for (target, tip) in self.targets.iter().zip(tips) {
            let way = |to: &Vector3<f64>| {
                (to - tip.translation).norm_squared() * (target.position_weight * per_metre).powi(2)
            };
            // For rotation matrices, 3 - tr(AᵀB) is half the squared Frobenius norm of A - B, about
            // the squared angle.
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
                // Several targets may depend on one coordinate, which is one variable.
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
                    // A whole turn must also be a whole number of turns for all followers.
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

    /// Evaluates the mechanism's coordinates `q`: an outcome of no iterations, which is reached if
    /// the cost is at most `tolerance`.
    pub fn outcome(&self, q: &[f64], tolerance: f64) -> Outcome {
        let outcome = self.measure(q, &mut Linear::default());
        Outcome {
            is_reached: outcome.cost <= tolerance,
            ..outcome
        }
    }

    /// Evaluates `q` using existing buffers; `is_reached` is not computed.
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

/// Returns a range reduced by `margin` at both ends.
fn kept_off(lower: f64, upper: f64, margin: f64) -> (f64, f64) {
    // Only a range with two limits has a middle.
    if !(upper - lower).is_finite() || upper - lower > 2.0 * margin {
        (lower + margin, upper - margin)
    } else {
        let middle = 0.5 * (lower + upper);
        (middle, middle)
    }
}

/// The linearised problem, with its buffers.
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
    /// Computes errors, normal matrix and right-hand side at the mechanism's coordinates `q`;
    /// `rotation` and `position` are factors of the weights.
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
                    // Variables may be in another order than the chain's coordinates: stay in the
                    // lower triangle.
                    out.normal[row.max(at) * size + row.min(at)] += column.dot(other);
                }
            }
        }
    }
}

/// Weights of an error of a radian and a metre.
#[derive(Clone, Copy)]
struct Weights {
    rotation: f64,
    position: f64,
}

impl Aimed {
    /// Returns the errors of position and rotation.
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

    /// Converts spatial twists to weighted rates at which the errors shrink.
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
            // From the velocity at the base's origin to that of the tip.
            let linear = linear + angular.cross(&tip.translation);
            let (linear, angular) = match &self.aim {
                Aim::Pose(_) => (linear * position, angular * rotation),
                Aim::Position(_) => (linear * position, Vector3::zeros()),
                Aim::Orientation(_) => (Vector3::zeros(), angular * rotation),
                Aim::LookAt { axis, point } => {
                    let ahead = tip.rotation * axis;
                    let to = point - tip.translation;
                    // At the point itself the direction is undefined: bound its rate.
                    let distance = to.norm_squared().max(1e-12);
                    // Rotation about the line of sight has no effect; translation sideways rotates
                    // the line.
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

/// Returns the shortest rotation, axis times angle, between two directions of any length.
fn between(from: &Vector3<f64>, to: &Vector3<f64>) -> Vector3<f64> {
    let cross = from.cross(to);
    let (sine, cosine) = (cross.norm(), from.dot(to));
    // Relative to both, since the directions may have any length.
    if sine > 1e-12 * (cosine.abs() + sine) {
        return cross * (sine.atan2(cosine) / sine);
    }
    if cosine >= 0.0 {
        return Vector3::zeros();
    }
    // Opposite directions: any perpendicular axis will do.
    let helper = if from.x.abs() < 0.9 {
        Vector3::x()
    } else {
        Vector3::y()
    };
    from.cross(&helper).normalize() * std::f64::consts::PI
}
