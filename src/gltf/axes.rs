//! From ROS axes (x forward, y left, z up) to glTF's (z forward, x left, y up): (x, y, z) → (y, z, x).
//!
//! The change is a rotation, so windings and angles stay as they are. Every number that reaches the file with a direction in it
//! goes through here, and nothing else in this module tree reorders components.

use nalgebra::{UnitQuaternion, Vector3};

/// A position, direction, extent or scale.
pub fn vector(v: &Vector3<f64>) -> [f64; 3] {
    [plus_zero(v.y), plus_zero(v.z), plus_zero(v.x)]
}

/// The same in single precision, for vertices.
pub fn vertex([x, y, z]: [f32; 3]) -> [f32; 3] {
    [y + 0.0, z + 0.0, x + 0.0]
}

/// A rotation as x, y, z, w.
pub fn rotation(q: &UnitQuaternion<f64>) -> [f64; 4] {
    [plus_zero(q.j), plus_zero(q.k), plus_zero(q.i), plus_zero(q.w)]
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
        let turned = converted * Vector3::from(super::vector(&v));
        assert!((turned - Vector3::from(super::vector(&(q * v)))).norm() < 1e-12);
    }
}
