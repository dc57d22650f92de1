//! The motion of one link relative to another.

use nalgebra::{Vector3, Vector6};
use urdf_usd_robot::{JointId, LinkId};

use crate::mechanism::{Mechanism, Step};
use crate::{Error, Transform};

/// Velocity of a frame per unit (radian or metre) of a position: linear, then angular.
pub type Twist = Vector6<f64>;

/// The point and the axes of a Jacobian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reference {
    /// The point of the tip that is at the base's origin, in the base's axes: the spatial Jacobian.
    #[default]
    Base,
    /// The tip's origin, in the base's axes.
    TipInBase,
    /// The tip's origin, in the tip's axes: the body Jacobian.
    Tip,
}

/// A rotation about, or a translation along, the z axis of the frame that `before` leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motion {
    pub(crate) before: Transform,
    pub(crate) is_turn: bool,
    /// The index in the chain's coordinates.
    pub(crate) coordinate: usize,
    pub(crate) factor: f64,
    pub(crate) offset: f64,
}

/// A joint on the path from the base of a chain to its tip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainJoint {
    /// The joint.
    pub joint: JointId,
    /// True if the path goes from its child to its parent.
    pub is_backward: bool,
}

/// The path of joints from one link to another, up and down the tree, with its forward kinematics
/// and Jacobian.
///
/// Its coordinates are those of the mechanism that it depends on ([`Chain::coordinates`]), in the
/// order of the path. Fixed joints cost nothing: they are folded into the next one.
#[derive(Clone, Debug)]
pub struct Chain {
    base: LinkId,
    tip: LinkId,
    pub(crate) motions: Vec<Motion>,
    pub(crate) tail: Transform,
    coordinates: Vec<usize>,
    joints: Vec<ChainJoint>,
}

impl Chain {
    /// Returns the chain from `base` to `tip`.
    ///
    /// # Errors
    /// [`Error::NoWay`] if they are in two trees.
    pub fn between(mechanism: &Mechanism, base: LinkId, tip: LinkId) -> Result<Self, Error> {
        let (from, to) = (mechanism.seats[base], mechanism.seats[tip]);
        if mechanism.root(base) != mechanism.root(tip) {
            return Err(Error::NoWay { base, tip });
        }
        // A step comes after its parent, so the later of two cannot be above the other.
        let (mut up, mut down) = (Vec::new(), Vec::new());
        let (mut a, mut b) = (from.on, to.on);
        while a != b {
            let (at, way) = if a > b {
                (&mut a, &mut up)
            } else {
                (&mut b, &mut down)
            };
            let Some(step) = mechanism.step(*at) else {
                break;
            };
            way.push(step);
            *at = step.parent;
        }
        let (mut motions, mut coordinates) =
            (Vec::with_capacity(up.len() + down.len()), Vec::new());
        let mut before = from.pose.inverse();
        let mut add = |step: &Step, sign: f64, before: Transform| {
            let of = step.coordinate;
            let known = coordinates.iter().position(|known| *known == of);
            let coordinate = known.unwrap_or_else(|| {
                coordinates.push(of);
                coordinates.len() - 1
            });
            let (factor, offset) = (sign * step.factor, sign * step.offset);
            motions.push(Motion {
                before,
                is_turn: step.is_turn,
                coordinate,
                factor,
                offset,
            });
        };
        for step in up {
            // On the way up a step is inverted: the opposite motion first, then the inverse of its
            // origin.
            add(step, -1.0, before);
            before = step.origin.inverse();
        }
        for step in down.into_iter().rev() {
            add(step, 1.0, before.then(&step.origin));
            before = Transform::IDENTITY;
        }
        let joints = joints(mechanism, base, tip);
        Ok(Self {
            base,
            tip,
            motions,
            tail: before.then(&to.pose),
            coordinates,
            joints,
        })
    }

    /// Returns the link that the tip's pose is relative to.
    pub fn base(&self) -> LinkId {
        self.base
    }

    /// Returns the link that moves.
    pub fn tip(&self) -> LinkId {
        self.tip
    }

    /// Returns all joints on the path, from the base to the tip, fixed ones included.
    pub fn joints(&self) -> &[ChainJoint] {
        &self.joints
    }

    /// Returns the coordinates that it depends on, as indices into [`Mechanism::coordinates`].
    pub fn coordinates(&self) -> &[usize] {
        &self.coordinates
    }

    /// Copies the chain's coordinates from the mechanism's.
    pub fn gather(&self, mechanism: &[f64], q: &mut [f64]) {
        for (at, to) in self.coordinates.iter().zip(q) {
            *to = mechanism.get(*at).copied().unwrap_or(0.0);
        }
    }

    /// Copies the chain's coordinates into the mechanism's.
    pub fn scatter(&self, q: &[f64], mechanism: &mut [f64]) {
        for (at, from) in self.coordinates.iter().zip(q) {
            if let Some(to) = mechanism.get_mut(*at) {
                *to = *from;
            }
        }
    }

    /// Returns the pose of the tip in the base for the chain's coordinates `q`.
    pub fn forward(&self, q: &[f64]) -> Transform {
        let mut frame = Transform::IDENTITY;
        for motion in &self.motions {
            frame = motion.apply(&frame, q);
        }
        frame.then(&self.tail)
    }

    /// Returns the pose of the tip in the base, and writes the Jacobian with respect to the chain's
    /// coordinates `q`: linear velocity, then angular velocity, per unit (radian or metre).
    /// `columns` has as many elements as there are coordinates.
    pub fn jacobian(&self, q: &[f64], reference: Reference, columns: &mut [Twist]) -> Transform {
        columns.fill(Twist::zeros());
        let mut frame = Transform::IDENTITY;
        for motion in &self.motions {
            frame = motion.apply(&frame, q);
            let Some(column) = columns.get_mut(motion.coordinate) else {
                continue;
            };
            // Added to the column: joints that follow another share its coordinate.
            let z = frame.z() * motion.factor;
            if motion.is_turn {
                add(column, &frame.translation.cross(&z), &z);
            } else {
                add(column, &z, &Vector3::zeros());
            }
        }
        let tip = frame.then(&self.tail);
        match reference {
            Reference::Base => {}
            Reference::TipInBase => {
                for column in columns {
                    let angular: Vector3<f64> = column.fixed_rows::<3>(3).into();
                    add(column, &angular.cross(&tip.translation), &Vector3::zeros());
                }
            }
            Reference::Tip => {
                let view = tip.rotation.transpose();
                for column in columns {
                    let (linear, angular): (Vector3<f64>, Vector3<f64>) = (
                        column.fixed_rows::<3>(0).into(),
                        column.fixed_rows::<3>(3).into(),
                    );
                    *column = Twist::zeros();
                    add(
                        column,
                        &(view * (linear + angular.cross(&tip.translation))),
                        &(view * angular),
                    );
                }
            }
        }
        tip
    }
}

impl Motion {
    #[inline]
    fn apply(&self, frame: &Transform, q: &[f64]) -> Transform {
        let by = self.factor * q.get(self.coordinate).copied().unwrap_or(0.0) + self.offset;
        Step::moved(&frame.then(&self.before), self.is_turn, by)
    }
}

#[inline]
fn add(column: &mut Twist, linear: &Vector3<f64>, angular: &Vector3<f64>) {
    *column += Twist::new(
        linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
    );
}

/// Returns the joints from one link to another of the same tree.
fn joints(mechanism: &Mechanism, base: LinkId, tip: LinkId) -> Vec<ChainJoint> {
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let (mut a, mut b) = (base, tip);
    while a != b {
        // Step up from the link that is not above the other.
        let is_backward = !mechanism.tree.is_below(b, a);
        let (at, way) = if is_backward {
            (&mut a, &mut up)
        } else {
            (&mut b, &mut down)
        };
        let Some(joint) = mechanism.tree.parent_joint(*at) else {
            break;
        };
        way.push(ChainJoint { joint, is_backward });
        *at = mechanism.joints[joint].parent;
    }
    up.extend(down.into_iter().rev());
    up
}
