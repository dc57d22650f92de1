//! The local transform of a node.

use nalgebra::{Matrix3, Quaternion, Rotation3, UnitQuaternion, Vector3};

use urdf_usd_gltf_extension::Json;

/// Tolerance in metres and radians.
const NOTHING: f64 = 1e-6;
/// Tolerance for scales and cosines, for the rounding of single precision.
const ROUNDING: f64 = 1e-4;

/// A transform: scale, then rotation, then translation.
pub struct Transform {
    pub translation: Vector3<f64>,
    pub rotation: UnitQuaternion<f64>,
    /// Scale factors; x is negative if the transform mirrors.
    pub scale: Vector3<f64>,
    is_sheared: bool,
}

impl Transform {
    /// Reads the transform of a glTF node; absent and invalid components are identity.
    pub fn of(node: &Json) -> Self {
        if let Some(matrix) = node.get("matrix").and_then(Json::numbers::<16>) {
            return Self::of_matrix(&matrix);
        }
        let [x, y, z, w] = node
            .get("rotation")
            .and_then(Json::numbers)
            .unwrap_or([0.0, 0.0, 0.0, 1.0]);
        Self {
            translation: node
                .get("translation")
                .and_then(Json::numbers::<3>)
                .unwrap_or_default()
                .into(),
            rotation: UnitQuaternion::try_new(Quaternion::new(w, x, y, z), f64::MIN_POSITIVE)
                .unwrap_or_default(),
            scale: node
                .get("scale")
                .and_then(Json::numbers)
                .unwrap_or([1.0; 3])
                .into(),
            is_sheared: false,
        }
    }

    /// Decomposes a column-major matrix.
    fn of_matrix(matrix: &[f64; 16]) -> Self {
        let [a, b, c, _, d, e, f, _, g, h, i, _, j, k, l, _] = *matrix;
        let columns = [[a, b, c], [d, e, f], [g, h, i], [j, k, l]];
        let [x, y, z, translation] = columns.map(Vector3::from);
        // A rotation can't mirror, so a scale factor takes the sign.
        let sign = if x.cross(&y).dot(&z) < 0.0 { -1.0 } else { 1.0 };
        let scale = Vector3::new(sign * x.norm(), y.norm(), z.norm());
        let axes = [x / scale.x, y / scale.y, z / scale.z];
        let [a, b, c] = &axes;
        let is_orthogonal = [(a, b), (b, c), (c, a)]
            .iter()
            .all(|(one, other)| one.dot(other).abs() <= ROUNDING);
        let rotation = match is_orthogonal {
            true => UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(
                Matrix3::from_columns(&axes),
            )),
            false => UnitQuaternion::identity(),
        };
        Self {
            translation,
            rotation,
            scale,
            is_sheared: !is_orthogonal,
        }
    }

    /// Returns whether the transform preserves lengths and handedness.
    pub fn is_rigid(&self) -> bool {
        !self.is_sheared && self.scale.iter().all(|s| (s - 1.0).abs() <= ROUNDING)
    }

    /// Returns whether there is a translation.
    pub fn moves(&self) -> bool {
        self.translation.norm() > NOTHING
    }

    /// Returns whether there is a rotation.
    pub fn turns(&self) -> bool {
        self.rotation.angle() > NOTHING
    }

    /// Describes the transform.
    pub fn in_words(&self) -> String {
        let [x, y, z] = self.translation.into();
        let mut words = Vec::new();
        if self.is_sheared {
            words.push("is sheared".to_owned());
        } else if !self.is_rigid() {
            let [x, y, z] = self.scale.into();
            words.push(format!(
                "is scaled by {}, {}, {}",
                round(x),
                round(y),
                round(z)
            ));
        }
        if self.moves() {
            words.push(format!(
                "moves by {}, {}, {} m",
                round(x),
                round(y),
                round(z)
            ));
        }
        if self.turns() {
            words.push(format!(
                "turns by {}°",
                round(self.rotation.angle().to_degrees())
            ));
        }
        words.join(" and ")
    }
}

/// Formats a number with at most six decimals, without trailing zeros.
pub fn round(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e15).contains(&value.abs()) {
        return format!("{value:e}");
    }
    let text = format!("{value:.6}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Json, Transform, round};

    fn of(text: &str) -> Transform {
        Transform::of(&serde_json::from_str::<Json>(text).unwrap())
    }

    #[test]
    fn matrices_are_taken_apart() {
        let turned = of(r#"{"matrix": [0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 1]}"#);
        assert!(turned.is_rigid() && turned.moves());
        assert!((turned.rotation.angle().to_degrees() - 90.0).abs() < 1e-9);
        let mirrored = of(r#"{"matrix": [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}"#);
        assert!(!mirrored.is_rigid() && mirrored.scale.x == -1.0 && !mirrored.turns());
        assert!(!of(r#"{"matrix": [1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}"#).is_rigid());
        assert!(!of(r#"{"matrix": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}"#).is_rigid());
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.1 + 0.2, -0.0, 90.0, 1e-9].map(round),
            ["0.3", "0", "90", "1e-9"]
        );
    }
}
