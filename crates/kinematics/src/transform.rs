//! Rigid transforms as matrices, the fastest form to compose.

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

    /// Composes `self` with `next`, which is in the frame that `self` leads to.
    #[inline]
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        Self {
            rotation: self.rotation * next.rotation,
            translation: self.rotation * next.translation + self.translation,
        }
    }

    /// Returns the inverse: the parent in the child.
    #[inline]
    #[must_use]
    pub fn inverse(&self) -> Self {
        let rotation = self.rotation.transpose();
        Self {
            rotation,
            translation: -(rotation * self.translation),
        }
    }

    /// Transforms a point of the child to the parent, metres.
    #[inline]
    pub fn point(&self, point: &Vector3<f64>) -> Vector3<f64> {
        self.rotation * point + self.translation
    }

    /// Converts it to a [`Pose`].
    pub fn pose(&self) -> Pose {
        let rotation =
            UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(self.rotation));
        Pose::from_parts(Translation3::from(self.translation), rotation)
    }

    /// Rotates it about its own z axis by an angle in radians.
    #[inline]
    pub(crate) fn turned(&self, angle: f64) -> Self {
        let (sine, cosine) = angle.sin_cos();
        // Two columns change, which is cheaper than a product of matrices.
        let (x, y) = (self.rotation.column(0), self.rotation.column(1));
        let rotation =
            Matrix3::from_columns(&[x * cosine + y * sine, y * cosine - x * sine, self.z()]);
        Self {
            rotation,
            translation: self.translation,
        }
    }

    /// Translates it along its own z axis by a distance in metres.
    #[inline]
    pub(crate) fn slid(&self, distance: f64) -> Self {
        Self {
            rotation: self.rotation,
            translation: self.translation + self.z() * distance,
        }
    }

    /// Returns its z axis in the parent.
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

/// The difference between two poses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoseError {
    /// The rotation, as axis times angle in radians (at most π), in the axes of the common frame.
    pub rotation: Vector3<f64>,
    /// The translation, metres, in the same axes.
    pub position: Vector3<f64>,
}

impl PoseError {
    /// Returns rotation (x, y, z), then position (x, y, z): the order of Isaac's `pose_error`.
    pub fn to_array(&self) -> [f64; 6] {
        let (r, p) = (self.rotation, self.position);
        [r.x, r.y, r.z, p.x, p.y, p.z]
    }
}

/// Returns the motion from `actual` to `desired`, both in one frame: a rotation about the origin of
/// `actual`, and a translation.
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

/// Returns axis times angle of a rotation matrix, the angle from 0 to π.
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
        // Near half a turn the sine loses the axis.
        return UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(*m))
            .scaled_axis();
    }
    // Angle over sine approaches 1.
    if sine < 1e-9 {
        w * 0.5
    } else {
        w * (0.5 * sine.atan2(cosine) / sine)
    }
}

/// Returns a point as a vector.
pub(crate) fn vector(point: &Point3<f64>) -> Vector3<f64> {
    point.coords
}
