//! Rigid transforms as matrices: the form that is quickest to put one after another.

use nalgebra::{Matrix3, Point3, Rotation3, Translation3, UnitQuaternion, Vector3};
use urdf_usd_robot::Pose;

/// A rigid transform of a child frame in its parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    /// From the child's axes to the parent's; a rotation.
    pub rotation: Matrix3<f64>,
    /// The child's origin in the parent, metres.
    pub translation: Vector3<f64>,
}

impl Transform {
    /// No motion.
    pub const IDENTITY: Self = Self {
        rotation: Matrix3::new(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        translation: Vector3::new(0.0, 0.0, 0.0),
    };

    /// `self`, then `next` in the frame that it leads to.
    #[inline]
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        Self {
            rotation: self.rotation * next.rotation,
            translation: self.rotation * next.translation + self.translation,
        }
    }

    /// The parent in the child.
    #[inline]
    #[must_use]
    pub fn inverse(&self) -> Self {
        let rotation = self.rotation.transpose();
        Self {
            rotation,
            translation: -(rotation * self.translation),
        }
    }

    /// A point of the child in the parent, metres.
    #[inline]
    pub fn point(&self, point: &Vector3<f64>) -> Vector3<f64> {
        self.rotation * point + self.translation
    }

    /// The same as a [`Pose`].
    pub fn pose(&self) -> Pose {
        let rotation =
            UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(self.rotation));
        Pose::from_parts(Translation3::from(self.translation), rotation)
    }

    /// Turned about its own z axis by an angle in radians.
    #[inline]
    pub(crate) fn turned(&self, angle: f64) -> Self {
        let (sine, cosine) = angle.sin_cos();
        let (x, y) = (self.rotation.column(0), self.rotation.column(1));
        let rotation =
            Matrix3::from_columns(&[x * cosine + y * sine, y * cosine - x * sine, self.z()]);
        Self {
            rotation,
            translation: self.translation,
        }
    }

    /// Moved along its own z axis by a distance in metres.
    #[inline]
    pub(crate) fn slid(&self, distance: f64) -> Self {
        Self {
            rotation: self.rotation,
            translation: self.translation + self.z() * distance,
        }
    }

    /// Its z axis in the parent.
    #[inline]
    pub(crate) fn z(&self) -> Vector3<f64> {
        self.rotation.column(2).into_owned()
    }
}

impl From<&Pose> for Transform {
    fn from(pose: &Pose) -> Self {
        Self {
            rotation: pose.rotation.to_rotation_matrix().into_inner(),
            translation: pose.translation.vector,
        }
    }
}

impl From<Pose> for Transform {
    fn from(pose: Pose) -> Self {
        Self::from(&pose)
    }
}

/// How far a pose is from another: what would have to be done to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoseError {
    /// The turn, as axis times angle in radians (at most π), in the axes of the frame that both
    /// poses are in.
    pub rotation: Vector3<f64>,
    /// The way, metres, in the same axes.
    pub position: Vector3<f64>,
}

impl PoseError {
    /// Rotation (x, y, z), then position (x, y, z): the order of Isaac's `pose_error`.
    pub fn to_array(&self) -> [f64; 6] {
        let (r, p) = (self.rotation, self.position);
        [r.x, r.y, r.z, p.x, p.y, p.z]
    }
}

/// What takes `actual` to `desired`, both in one frame: a turn about the origin of `actual`, and a
/// shift of it.
pub fn pose_error(desired: &Pose, actual: &Pose) -> PoseError {
    transform_error(&Transform::from(desired), &Transform::from(actual))
}

#[inline]
pub(crate) fn transform_error(desired: &Transform, actual: &Transform) -> PoseError {
    PoseError {
        rotation: rotation_vector(&(desired.rotation * actual.rotation.transpose())),
        position: desired.translation - actual.translation,
    }
}

/// Axis times angle of a rotation matrix, the angle from 0 to π.
#[inline]
pub(crate) fn rotation_vector(m: &Matrix3<f64>) -> Vector3<f64> {
    // Twice the axis times the sine of the angle.
    let w = Vector3::new(
        m[(2, 1)] - m[(1, 2)],
        m[(0, 2)] - m[(2, 0)],
        m[(1, 0)] - m[(0, 1)],
    );
    let (sine, cosine) = (0.5 * w.norm(), 0.5 * (m.trace() - 1.0));
    if sine < 1e-4 && cosine < 0.0 {
        // Near a half turn the sine says too little of the axis.
        return UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(*m))
            .scaled_axis();
    }
    // Angle over sine goes to 1 with the angle.
    if sine < 1e-9 {
        w * 0.5
    } else {
        w * (0.5 * sine.atan2(cosine) / sine)
    }
}

/// The point, as a vector.
pub(crate) fn vector(point: &Point3<f64>) -> Vector3<f64> {
    point.coords
}
