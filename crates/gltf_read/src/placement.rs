//! Transforms of nodes: translation, rotation and scale in ROS axes.

use nalgebra::{Matrix3, Matrix4, Quaternion, Rotation3, Translation3, UnitQuaternion, Vector3};

use super::codes;
use super::findings::Findings;
use urdf_usd_gltf_extension::axes;
use urdf_usd_gltf_extension::{Entry, Misfits};
use urdf_usd_robot::Pose;

/// Tolerance of a quaternion's squared norm within which it is used unchanged: the rounding error
/// of double precision.
const UNIT: f64 = 1e-12;
/// Tolerance within which a matrix counts as a rotation: the rounding error of single precision.
const RIGID: f64 = 1e-5;

/// A transform: scale, then rotation, then translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    pub pose: Pose,
    /// Scale factors; may be negative.
    pub scale: Vector3<f64>,
    /// Whether the original matrix had shear, which this transform only approximates.
    pub is_sheared: bool,
}

/// Converts a vector of a file in ROS axes, which was read as one in glTF axes.
pub fn in_source_axes(vector: &Vector3<f64>) -> Vector3<f64> {
    axes::vector(vector).into()
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            pose: Pose::identity(),
            scale: Vector3::repeat(1.0),
            is_sheared: false,
        }
    }
}

impl Placement {
    /// Creates a transform without scale.
    pub fn of(pose: Pose) -> Self {
        Self {
            pose,
            ..Self::default()
        }
    }

    /// Creates a transform with scale only.
    pub fn scaled(scale: Vector3<f64>) -> Self {
        Self {
            scale,
            ..Self::default()
        }
    }

    /// Reads the transform of a node, and reports invalid components.
    pub fn of_node(node: &Entry<'_>, findings: &mut Findings) -> Self {
        if let Some(matrix) = node.numbers::<16>("matrix").or_report(findings) {
            let [a, b, c, _, d, e, f, _, g, h, i, _, j, k, l, _] = matrix;
            let linear = axes::to_linear([[a, b, c], [d, e, f], [g, h, i]]);
            let placement = Self::of_linear(&linear, axes::to_vector([j, k, l]));
            if placement.is_sheared {
                let message = format!(
                    "the matrix of {} is no rotation, translation and scale",
                    node.at
                );
                findings.report(
                    &codes::SHEAR,
                    &node.below("matrix"),
                    message,
                    "apply it to the mesh below",
                );
            }
            return placement.checked(node, findings);
        }
        let translation = node
            .numbers("translation")
            .or_report(findings)
            .map(axes::to_vector)
            .unwrap_or_default();
        let rotation = node
            .numbers("rotation")
            .or_report(findings)
            .and_then(|numbers| {
                let rotation = to_rotation(numbers);
                if rotation.is_none() {
                    findings.misfit(&node.below("rotation"), "a rotation: it has no length");
                }
                rotation
            });
        let scale = node
            .numbers("scale")
            .or_report(findings)
            .map_or(Vector3::repeat(1.0), axes::to_vector);
        let pose = Pose::from_parts(translation.into(), rotation.unwrap_or_default());
        Self {
            pose,
            scale,
            is_sheared: false,
        }
        .checked(node, findings)
    }

    /// Returns the transform of an instance, given in glTF axes. Absent components are identity.
    pub fn of_copy(
        translation: Option<&[f64; 3]>,
        rotation: Option<&[f64; 4]>,
        scale: Option<&[f64; 3]>,
    ) -> Self {
        let translation = translation
            .map(|at| axes::to_vector(*at))
            .unwrap_or_default();
        let rotation = rotation
            .and_then(|rotation| to_rotation(*rotation))
            .unwrap_or_default();
        let scale = scale.map_or(Vector3::repeat(1.0), |scale| axes::to_vector(*scale));
        Self {
            pose: Pose::from_parts(translation.into(), rotation),
            scale,
            is_sheared: false,
        }
    }

    fn checked(self, node: &Entry<'_>, findings: &mut Findings) -> Self {
        if self.is_finite() {
            return self;
        }
        findings.report(
            &codes::BAD_VALUE,
            &node.at,
            format!("the transform of {} is not finite; it has none", node.at),
            "",
        );
        Self::default()
    }

    /// Decomposes a matrix. The rotation comes from its columns by Gram–Schmidt orthogonalisation;
    /// a mirroring matrix gets a negative scale along x. Shear is dropped.
    fn of_linear(linear: &Matrix3<f64>, translation: Vector3<f64>) -> Self {
        let mut scale = Vector3::from_fn(|k, _| linear.column(k).norm());
        if (scale - Vector3::repeat(1.0)).amax() < RIGID {
            scale = Vector3::repeat(1.0);
        }
        let largest = scale.amax();
        if !(largest.is_finite() && scale.amin() > largest * 1e-9) {
            return Self {
                pose: Pose::from_parts(translation.into(), UnitQuaternion::identity()),
                scale,
                is_sheared: true,
            };
        }
        // A rotation can't mirror, so a scale factor takes the sign.
        if linear.determinant() < 0.0 {
            scale.x = -scale.x;
        }
        let [a, b, c] = [0, 1, 2].map(|k| linear.column(k));
        let columns = [a / scale.x, b / scale.y, c / scale.z];
        let x = columns[0].normalize();
        let y = (columns[1] - x * x.dot(&columns[1])).try_normalize(1e-9);
        let apart = columns[0].dot(&columns[1]).abs()
            + columns[1].dot(&columns[2]).abs()
            + columns[2].dot(&columns[0]).abs();
        let Some(y) = y else {
            return Self {
                pose: Pose::from_parts(translation.into(), UnitQuaternion::identity()),
                scale,
                is_sheared: true,
            };
        };
        let rotation =
            Rotation3::from_matrix_unchecked(Matrix3::from_columns(&[x, y, x.cross(&y)]));
        let pose = Pose::from_parts(
            Translation3::from(translation),
            UnitQuaternion::from_rotation_matrix(&rotation),
        );
        Self {
            pose,
            scale,
            is_sheared: apart > RIGID,
        }
    }

    fn linear(&self) -> Matrix3<f64> {
        self.pose.rotation.to_rotation_matrix().matrix() * Matrix3::from_diagonal(&self.scale)
    }

    /// Returns the homogeneous matrix.
    pub fn to_matrix(self) -> Matrix4<f64> {
        self.pose.to_homogeneous() * Matrix4::new_nonuniform_scaling(&self.scale)
    }

    /// Composes this transform with `inner`, which is applied first. Identical components are
    /// passed on unchanged instead of being multiplied, so that they are not rounded.
    pub fn then(&self, inner: &Self) -> Self {
        if *inner == Self::default() {
            return *self;
        }
        let one = Vector3::repeat(1.0);
        let is_sheared = self.is_sheared || inner.is_sheared;
        if self.scale == one {
            let pose = if self.pose == Pose::identity() {
                inner.pose
            } else {
                self.pose * inner.pose
            };
            return Self {
                pose,
                scale: inner.scale,
                is_sheared,
            };
        }
        let moved = inner.pose.translation.vector.component_mul(&self.scale);
        let translation = self.pose.translation.vector + self.pose.rotation * moved;
        // A uniform scale commutes with rotations, and any scale with identity. Only other
        // combinations need a matrix.
        let is_uniform =
            self.scale.iter().all(|&factor| factor == self.scale.x) && self.scale.x > 0.0;
        if is_uniform || inner.pose.rotation == UnitQuaternion::identity() {
            let pose =
                Pose::from_parts(translation.into(), self.pose.rotation * inner.pose.rotation);
            return Self {
                pose,
                scale: self.scale.component_mul(&inner.scale),
                is_sheared,
            };
        }
        // A non-uniform scale around a rotation can shear.
        let composed = Self::of_linear(&(self.linear() * inner.linear()), translation);
        Self {
            is_sheared: is_sheared || composed.is_sheared,
            ..composed
        }
    }

    /// Returns the same transform between frames whose axes are not those of glTF but of its source
    /// with z up, so that the numbers of the file are in ROS axes already.
    pub fn in_source_axes(self) -> Self {
        let [x, y, z, w] = axes::rotation(&self.pose.rotation);
        let rotation = UnitQuaternion::new_unchecked(Quaternion::new(w, x, y, z));
        Self {
            pose: Pose::from_parts(
                in_source_axes(&self.pose.translation.vector).into(),
                rotation,
            ),
            scale: in_source_axes(&self.scale),
            ..self
        }
    }

    /// Returns whether all components are finite.
    pub fn is_finite(&self) -> bool {
        let numbers = self
            .pose
            .translation
            .vector
            .iter()
            .chain(self.pose.rotation.coords.iter())
            .chain(&self.scale);
        numbers.into_iter().all(|number| number.is_finite())
    }

    /// Returns whether translation and rotation are negligible.
    pub fn is_still(&self) -> bool {
        self.pose.translation.vector.amax() < 1e-9 && self.pose.rotation.angle() < 1e-9
    }
}

/// Converts a quaternion in glTF axes to a rotation in ROS axes; `None` if it is zero.
pub fn to_rotation(numbers: [f64; 4]) -> Option<UnitQuaternion<f64>> {
    let quaternion = axes::to_quaternion(numbers);
    if (quaternion.norm_squared() - 1.0).abs() < UNIT {
        return Some(UnitQuaternion::new_unchecked(quaternion));
    }
    // The squared norm of huge components overflows, so the result is checked.
    UnitQuaternion::try_new(quaternion, 1e-9)
        .filter(|rotation| (rotation.coords.norm_squared() - 1.0).abs() < 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use urdf_usd_gltf_extension::Json;

    fn placement(scale: [f64; 3]) -> Placement {
        let rotation = UnitQuaternion::from_euler_angles(0.3, -0.8, 1.2);
        Placement {
            pose: Pose::from_parts(Translation3::new(1.0, -2.0, 0.5), rotation),
            scale: scale.into(),
            is_sheared: false,
        }
    }

    fn difference(a: &Placement, b: Matrix4<f64>) -> f64 {
        (a.to_matrix() - b).abs().max()
    }

    #[test]
    fn composing_is_multiplying() {
        let scales = [[1.0; 3], [2.0; 3], [-1.0, 1.0, 1.0], [-0.5; 3]];
        for outer in scales.map(placement) {
            for inner in [[1.0; 3], [2.0, 3.0, -4.0]].map(placement) {
                let composed = outer.then(&inner);
                assert!(
                    difference(&composed, outer.to_matrix() * inner.to_matrix()) < 1e-12,
                    "{outer:?} {inner:?}"
                );
                assert!(!composed.is_sheared);
            }
        }
        let flat = placement([1.0, 2.0, 3.0]);
        assert!(flat.then(&placement([1.0; 3])).is_sheared);
        let straight = Placement {
            pose: Pose::translation(1.0, 2.0, 3.0),
            ..flat
        };
        let composed = flat.then(&straight);
        assert!(
            !composed.is_sheared
                && difference(&composed, flat.to_matrix() * straight.to_matrix()) < 1e-12
        );
        assert_eq!(Placement::default().then(&flat), flat);
        assert_eq!(flat.then(&Placement::default()), flat);
    }

    fn of_node(text: &str) -> (Placement, Vec<urdf_usd_diagnostic::Diagnostic>) {
        let json: Json = serde_json::from_str(text).unwrap();
        let mut findings = Findings::new(None);
        let placement = Placement::of_node(
            &Entry {
                json: &json,
                at: "/nodes/0".into(),
            },
            &mut findings,
        );
        (placement, findings.finish())
    }

    #[test]
    fn a_matrix_is_taken_apart() {
        // A quarter turn about glTF's y, with scale and translation.
        let (found, findings) = of_node(r#"{"matrix": [0,0,-2,0, 0,3,0,0, 4,0,0,0, 5,6,7,1]}"#);
        assert!(findings.is_empty());
        let (expected, _) = of_node(
            r#"{"rotation": [0, 0.7071067811865476, 0, 0.7071067811865476], "scale": [2, 3, 4], "translation": [5, 6, 7]}"#,
        );
        assert!(difference(&found, expected.to_matrix()) < 1e-12);
        // The rounding of single precision does not count as scale.
        let (found, _) =
            of_node(r#"{"matrix": [0.8660254,0,-0.5,0, 0,1,0,0, 0.5,0,0.8660254,0, 0,0,0,1]}"#);
        assert_eq!(found.scale, Vector3::repeat(1.0));
        assert!((found.pose.rotation.angle() - 30_f64.to_radians()).abs() < 1e-6);
    }

    #[test]
    fn what_is_no_transform_is_a_finding() {
        for (text, code) in [
            (
                r#"{"matrix": [1,0,0,0, 1,1,0,0, 0,0,1,0, 0,0,0,1]}"#,
                "gltf-read-shear",
            ),
            (
                r#"{"matrix": [0,0,0,0, 0,0,0,0, 0,0,0,0, 0,0,0,1]}"#,
                "gltf-read-shear",
            ),
            (r#"{"matrix": [1, 2]}"#, "gltf-read-bad-value"),
            (
                r#"{"matrix": [1e300,1,0,0, 1e300,1,0,0, 0,0,1e-300,0, 0,0,0,1]}"#,
                "gltf-read-shear",
            ),
            (r#"{"rotation": [0, 0, 0, 0]}"#, "gltf-read-bad-value"),
            (
                r#"{"rotation": [1e300, 1e300, 1e300, 1e300]}"#,
                "gltf-read-bad-value",
            ),
            (r#"{"translation": "x"}"#, "gltf-read-bad-value"),
        ] {
            let (found, findings) = of_node(text);
            assert_eq!(findings.first().map(|d| d.code), Some(code), "{text}");
            assert!(found.is_finite(), "{text}");
        }
    }
}
