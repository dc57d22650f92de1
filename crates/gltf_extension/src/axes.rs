//! Conversion from ROS axes (x forward, y left, z up) to glTF's (z forward, x left, y up), (x, y,
//! z) → (y, z, x), and back.
//!
//! The conversion is a rotation, so windings and angles stay the same. Every directional number in
//! a file is converted here; no other code reorders components.

use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

/// Converts a position, direction, extent or scale to glTF axes.
pub fn vector(v: &Vector3<f64>) -> [f64; 3] {
    [plus_zero(v.y), plus_zero(v.z), plus_zero(v.x)]
}

/// Converts a result of [`vector`] back.
pub fn to_vector([x, y, z]: [f64; 3]) -> Vector3<f64> {
    Vector3::new(z, x, y)
}

/// Converts a quaternion x, y, z, w in glTF axes to one in ROS axes.
pub fn to_quaternion([x, y, z, w]: [f64; 4]) -> Quaternion<f64> {
    Quaternion::new(w, z, x, y)
}

/// Converts a linear map in glTF axes, given by its columns, to one in ROS axes.
pub fn to_linear([x, y, z]: [[f64; 3]; 3]) -> Matrix3<f64> {
    Matrix3::from_columns(&[to_vector(z), to_vector(x), to_vector(y)])
}

/// Returns the conversion from glTF axes to ROS axes as a rotation, which is the same in both.
pub fn turn() -> UnitQuaternion<f64> {
    UnitQuaternion::new_unchecked(Quaternion::new(0.5, 0.5, 0.5, 0.5))
}

/// Converts a vertex to glTF axes, in single precision.
pub fn vertex([x, y, z]: [f32; 3]) -> [f32; 3] {
    [y + 0.0, z + 0.0, x + 0.0]
}

/// Converts a rotation to glTF axes, as x, y, z, w.
pub fn rotation(q: &UnitQuaternion<f64>) -> [f64; 4] {
    [
        plus_zero(q.j),
        plus_zero(q.k),
        plus_zero(q.i),
        plus_zero(q.w),
    ]
}

/// Removes the sign of zero, so that equal values have equal bytes.
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
        assert!((super::turn() * v - super::to_vector(v.into())).norm() < 1e-12);
        let linear = super::to_linear(converted.to_rotation_matrix().matrix().data.0);
        assert!((linear - q.to_rotation_matrix().matrix()).norm() < 1e-12);
        let turned = converted * Vector3::from(super::vector(&v));
        assert!((turned - Vector3::from(super::vector(&(q * v)))).norm() < 1e-12);
    }
}
