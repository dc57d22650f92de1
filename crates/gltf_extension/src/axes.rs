//! From ROS axes (x forward, y left, z up) to glTF's (z forward, x left, y up), (x, y, z) → (y, z,
//! x), and back.
//!
//! The change is a rotation, so windings and angles stay as they are. Every number that reaches the
//! file with a direction in it or comes from it goes through here, and nothing else in this module
//! tree reorders components.

use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

/// A position, direction, extent or scale.
pub fn vector(v: &Vector3<f64>) -> [f64; 3] {
    [plus_zero(v.y), plus_zero(v.z), plus_zero(v.x)]
}

/// What [`vector`] made of it, undone.
pub fn to_vector([x, y, z]: [f64; 3]) -> Vector3<f64> {
    Vector3::new(z, x, y)
}

/// A quaternion in ROS axes, of one as x, y, z, w in glTF's.
pub fn to_quaternion([x, y, z, w]: [f64; 4]) -> Quaternion<f64> {
    Quaternion::new(w, z, x, y)
}

/// A linear map between vectors in ROS axes, of one between vectors in glTF's, given by its
/// columns.
pub fn to_linear([x, y, z]: [[f64; 3]; 3]) -> Matrix3<f64> {
    Matrix3::from_columns(&[to_vector(z), to_vector(x), to_vector(y)])
}

/// The same in single precision, for vertices.
pub fn vertex([x, y, z]: [f32; 3]) -> [f32; 3] {
    [y + 0.0, z + 0.0, x + 0.0]
}

/// A rotation as x, y, z, w.
pub fn rotation(q: &UnitQuaternion<f64>) -> [f64; 4] {
    [
        plus_zero(q.j),
        plus_zero(q.k),
        plus_zero(q.i),
        plus_zero(q.w),
    ]
}

/// The zero without a sign, so that equal values are equal bytes.
fn plus_zero(value: f64) -> f64 {
    value + 0.0
}

#[cfg(test)]
mod tests {
    use nalgebra::{UnitQuaternion, Vector3};

    #[test]
    fn turning_and_converting_commute() {
        let q = UnitQuaternion::from_euler_angles(0.3, -0.7, 1.9);
        let v = Vector3::new(1.0, 2.0, 3.0);
        let [x, y, z, w] = super::rotation(&q);
        let converted = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(w, x, y, z));
        assert_eq!(super::to_quaternion(super::rotation(&q)), *q.quaternion());
        assert_eq!(super::to_vector(super::vector(&v)), v);
        let linear = super::to_linear(converted.to_rotation_matrix().matrix().data.0);
        assert!((linear - q.to_rotation_matrix().matrix()).norm() < 1e-12);
        let turned = converted * Vector3::from(super::vector(&v));
        assert!((turned - Vector3::from(super::vector(&(q * v)))).norm() < 1e-12);
    }
}
