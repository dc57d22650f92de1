//! Transforms of prims: stacks of operations (UsdGeomXformable) of any kind and precision.

use nalgebra::{
    Isometry3, Matrix3, Matrix4, Quaternion, Rotation3, Translation3, UnitQuaternion, Vector3,
};

use super::{Prim, PrimId, PrimMap, Stage, Value, doubles, texts};

/// An operation of a transform stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// The attribute with the value, such as `xformOp:translate:pivot`.
    pub attribute: String,
    /// The kind.
    pub kind: OpKind,
    /// Whether the operation is inverted (`!invert!`).
    pub is_inverse: bool,
    /// The matrix for column vectors, already inverted if [`Self::is_inverse`].
    pub matrix: Matrix4<f64>,
    /// Whether the value varies over time.
    pub is_animated: bool,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// A translation.
    Translate,
    /// A scale along the axes.
    Scale,
    /// A rotation about one axis, or about three axes in turn.
    Rotate,
    /// A rotation by a quaternion.
    Orient,
    /// An arbitrary matrix.
    Transform,
}

/// The operations of a prim, the outermost first, as `xformOpOrder` lists them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct XformStack {
    /// Whether the transforms of the ancestors are ignored (`!resetXformStack!`).
    pub resets: bool,
    /// The operations.
    pub ops: Vec<Op>,
    /// Entries of `xformOpOrder` that are not operations, or have no valid value.
    pub broken: Vec<String>,
}

/// The transform of a prim relative to its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Whether the transform is relative to the world instead.
    pub resets: bool,
    /// The matrix for column vectors.
    pub matrix: Matrix4<f64>,
}

impl Prim {
    /// Returns the operations that `xformOpOrder` lists.
    pub fn xform(&self) -> XformStack {
        let mut stack = XformStack::default();
        let Some(order) = self.value("xformOpOrder").and_then(texts) else {
            return stack;
        };
        for name in order {
            if name == "!resetXformStack!" {
                // A reset discards the operations before it.
                stack = XformStack {
                    resets: true,
                    ..XformStack::default()
                };
                continue;
            }
            match self.op(name) {
                Some(op) => stack.ops.push(op),
                None => stack.broken.push(name.to_owned()),
            }
        }
        stack
    }

    fn op(&self, name: &str) -> Option<Op> {
        let (attribute, is_inverse) = name
            .strip_prefix("!invert!")
            .map_or((name, false), |name| (name, true));
        let kind_name = attribute.strip_prefix("xformOp:")?.split(':').next()?;
        let authored = self.attributes.get(attribute)?;
        let value = authored.value.as_ref()?;
        let (kind, matrix) = matrix(kind_name, value)?;
        let matrix = if is_inverse {
            matrix.try_inverse()?
        } else {
            matrix
        };
        Some(Op {
            attribute: attribute.to_owned(),
            kind,
            is_inverse,
            matrix,
            is_animated: authored.times.len() > 1,
        })
    }

    /// Returns the transform relative to the parent, in the units of the stage.
    pub fn local(&self) -> Local {
        let stack = self.xform();
        Local {
            resets: stack.resets,
            matrix: stack
                .ops
                .iter()
                .fold(Matrix4::identity(), |all, op| all * op.matrix),
        }
    }
}

impl Stage {
    /// Returns the transform from a prim to the stage, in its units and axes, for column vectors.
    pub fn world(&self, id: PrimId) -> Matrix4<f64> {
        let mut matrix = Matrix4::identity();
        for id in std::iter::once(id).chain(self.ancestors(id)) {
            let local = self[id].local();
            matrix = local.matrix * matrix;
            if local.resets {
                break;
            }
        }
        matrix
    }

    /// Returns [`Stage::world`] for every prim, in linear time.
    pub fn worlds(&self) -> PrimMap<Matrix4<f64>> {
        self.inherit(|_, prim, above| {
            let local = prim.local();
            let above = above.filter(|_| !local.resets);
            above.copied().unwrap_or_else(Matrix4::identity) * local.matrix
        })
    }
}

/// The parts of a transform: a scale, and the rigid transform applied after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// The rigid transform.
    pub pose: Isometry3<f64>,
    /// The scale along the axes, or along the principal axes of a sheared transform.
    pub scale: Vector3<f64>,
}

/// Decomposes a transform as OpenUSD does (`GfMatrix4d::Factor`): shear is part of the scale, and the
/// scale of a reflection is negative along all three axes.
///
/// If the transform has no extent in one direction, the other two determine the rotation; without
/// extent in two or three directions, the rotation is the identity.
#[allow(
    clippy::indexing_slicing,
    reason = "indices of a 3×3 matrix are constants below 3"
)]
pub fn factor(matrix: &Matrix4<f64>) -> Factors {
    if let Some((pose, scale)) = rigid(matrix) {
        return Factors { pose, scale };
    }
    let linear: Matrix3<f64> = matrix.fixed_view::<3, 3>(0, 0).into_owned();
    let translation = Translation3::new(matrix[(0, 3)], matrix[(1, 3)], matrix[(2, 3)]);
    let (squares, axes) = principal_scales(&(linear.transpose() * linear));
    let sign = if linear.determinant() < 0.0 {
        -1.0
    } else {
        1.0
    };
    let scale = squares.map(|square| sign * square.max(0.0).sqrt());
    let mut images = linear * axes;
    let flat = |column: &usize| scale[*column].abs() <= 1e-9 * scale.amax();
    let is_regular = match *(0..3).filter(flat).collect::<Vec<_>>() {
        [] => true,
        // The rotation is determined by the two other directions.
        [lost] => {
            let [a, b] = [1, 2].map(|next| (lost + next) % 3);
            let normal = (images.column(a) / scale[a]).cross(&(images.column(b) / scale[b]));
            images.set_column(lost, &normal);
            true
        }
        _ => false,
    };
    let rotation = if is_regular && images.iter().all(|c| c.is_finite()) {
        for (column, scale) in scale.iter().enumerate().filter(|(column, _)| !flat(column)) {
            let unit = images.column(column) / *scale;
            images.set_column(column, &unit);
        }
        UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(
            images * axes.transpose(),
        ))
    } else {
        UnitQuaternion::identity()
    };
    Factors {
        pose: Isometry3::from_parts(translation, rotation),
        scale,
    }
}

/// Returns the eigenvalues of a symmetric matrix and its eigenvectors as columns, by the cyclic Jacobi
/// method.
///
/// The order of the eigenvalues is OpenUSD's, which matters where it applies them along the axes.
#[allow(
    clippy::indexing_slicing,
    reason = "indices of a 3×3 matrix are constants below 3"
)]
fn principal_scales(symmetric: &Matrix3<f64>) -> (Vector3<f64>, Matrix3<f64>) {
    let (mut a, mut axes) = (*symmetric, Matrix3::identity());
    for sweep in 0..50 {
        let off = a[(0, 1)].abs() + a[(0, 2)].abs() + a[(1, 2)].abs();
        if off <= f64::EPSILON * a.diagonal().amax() || !off.is_finite() {
            break;
        }
        let threshold = if sweep < 3 { 0.2 * off / 9.0 } else { 0.0 };
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[(p, q)].abs() <= threshold {
                continue;
            }
            let theta = 0.5 * (a[(q, q)] - a[(p, p)]) / a[(p, q)];
            let tangent = (1.0_f64).copysign(theta) / (theta.abs() + theta.hypot(1.0));
            let cosine = 1.0 / tangent.hypot(1.0);
            let sine = tangent * cosine;
            let mut turn = Matrix3::identity();
            (turn[(p, p)], turn[(q, q)]) = (cosine, cosine);
            (turn[(p, q)], turn[(q, p)]) = (sine, -sine);
            a = turn.transpose() * a * turn;
            axes *= turn;
        }
    }
    (a.diagonal(), axes)
}

/// Decomposes a transform into a rigid part and a scale along the axes that is applied first.
///
/// Returns `None` for a transform with shear or without volume. The scale of a reflection is negative
/// along all axes, as in [`factor`].
pub fn rigid(matrix: &Matrix4<f64>) -> Option<(Isometry3<f64>, Vector3<f64>)> {
    let linear: Matrix3<f64> = matrix.fixed_view::<3, 3>(0, 0).into_owned();
    let mut scale = Vector3::new(
        linear.column(0).norm(),
        linear.column(1).norm(),
        linear.column(2).norm(),
    );
    if !linear.iter().all(|c| c.is_finite()) || scale.iter().any(|factor| *factor < 1e-12) {
        return None;
    }
    if linear.determinant() < 0.0 {
        scale = -scale;
    }
    let rotation = Matrix3::from_columns(&[
        linear.column(0) / scale.x,
        linear.column(1) / scale.y,
        linear.column(2) / scale.z,
    ]);
    if (rotation.transpose() * rotation - Matrix3::identity())
        .abs()
        .max()
        > 1e-6
    {
        return None;
    }
    let rotation =
        UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(rotation));
    let translation = Translation3::new(matrix[(0, 3)], matrix[(1, 3)], matrix[(2, 3)]);
    Some((Isometry3::from_parts(translation, rotation), scale))
}

/// Returns the frame of a joint in the world, at one of its ends, as UsdPhysics parses it.
///
/// `body` is the transform from the body to the world, or of the world itself. `target` is that of the
/// prim that `physics:body0` or `physics:body1` names, if it is another. `local` is the authored frame,
/// which the scale of the body moves along its axes.
pub fn joint_frame(
    body: &Matrix4<f64>,
    target: Option<&Matrix4<f64>>,
    local: &Isometry3<f64>,
) -> Isometry3<f64> {
    let in_body = target.and_then(|target| {
        let anchor = body.try_inverse()? * target * local.to_homogeneous();
        Some(factor(&anchor).pose)
    });
    let mut local = in_body.unwrap_or(*local);
    let Factors { pose, scale } = factor(body);
    local.translation.vector.component_mul_assign(&scale);
    pose * local
}

fn matrix(kind: &str, value: &Value) -> Option<(OpKind, Matrix4<f64>)> {
    let components = doubles(value)?;
    let vector = || <[f64; 3]>::try_from(components.clone()).ok();
    // Returns a vector with the single component along an axis, and `other` along the others.
    let along = |axis: Axis, other: f64| {
        let component = *components.first()?;
        Some(match axis {
            Axis::X => Vector3::new(component, other, other),
            Axis::Y => Vector3::new(other, component, other),
            Axis::Z => Vector3::new(other, other, component),
        })
    };
    let single = |axis: Axis| {
        let &[angle] = components.as_slice() else {
            return None;
        };
        Some(axis.rotation(angle).to_homogeneous())
    };
    Some(match kind {
        "translate" => (
            OpKind::Translate,
            Translation3::from(Vector3::from(vector()?)).to_homogeneous(),
        ),
        "translateX" | "translateY" | "translateZ" => {
            let translation = along(axis_of(kind)?, 0.0)?;
            (
                OpKind::Translate,
                Translation3::from(translation).to_homogeneous(),
            )
        }
        "scale" => (
            OpKind::Scale,
            Matrix4::new_nonuniform_scaling(&Vector3::from(vector()?)),
        ),
        "scaleX" | "scaleY" | "scaleZ" => {
            let scale = along(axis_of(kind)?, 1.0)?;
            (OpKind::Scale, Matrix4::new_nonuniform_scaling(&scale))
        }
        "rotateX" | "rotateY" | "rotateZ" => (OpKind::Rotate, single(axis_of(kind)?)?),
        "orient" => {
            let [w, x, y, z] = components.try_into().ok()?;
            let quaternion = Quaternion::new(w, x, y, z);
            let is_unit = quaternion.norm() > 1e-9 && quaternion.norm().is_finite();
            let rotation = if is_unit {
                UnitQuaternion::from_quaternion(quaternion)
            } else {
                UnitQuaternion::identity()
            };
            (OpKind::Orient, rotation.to_homogeneous())
        }
        // USD matrices are for row vectors: the last row is the translation.
        "transform" => (
            OpKind::Transform,
            Matrix4::from_row_slice(<[f64; 16]>::try_from(components).ok()?.as_slice()).transpose(),
        ),
        _ => {
            // rotateXYZ rotates about x first.
            let order = kind.strip_prefix("rotate")?;
            let [x, y, z] = vector()?;
            if !matches!(order, "XYZ" | "XZY" | "YXZ" | "YZX" | "ZXY" | "ZYX") {
                return None;
            }
            let mut rotation = Rotation3::identity();
            for letter in order.chars() {
                let axis = Axis::named(letter)?;
                let angle = match axis {
                    Axis::X => x,
                    Axis::Y => y,
                    Axis::Z => z,
                };
                rotation = axis.rotation(angle) * rotation;
            }
            (OpKind::Rotate, rotation.to_homogeneous())
        }
    })
}

/// An axis of a frame.
#[derive(Clone, Copy)]
enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    fn named(letter: char) -> Option<Self> {
        match letter {
            'X' => Some(Self::X),
            'Y' => Some(Self::Y),
            'Z' => Some(Self::Z),
            _ => None,
        }
    }

    /// Returns the rotation about the axis by an angle in degrees.
    fn rotation(self, degrees: f64) -> Rotation3<f64> {
        let about = match self {
            Self::X => Vector3::x_axis(),
            Self::Y => Vector3::y_axis(),
            Self::Z => Vector3::z_axis(),
        };
        Rotation3::from_axis_angle(&about, degrees.to_radians())
    }
}

/// Returns the axis of an operation such as `translateX`.
fn axis_of(kind: &str) -> Option<Axis> {
    Axis::named(kind.chars().last()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a symmetric matrix has only eigenvalues of one sign.
    fn is_definite(matrix: &Matrix3<f64>, sign: f64) -> bool {
        (matrix - matrix.transpose()).amax() < 1e-9
            && matrix
                .symmetric_eigenvalues()
                .iter()
                .all(|value| value * sign > 0.0)
    }

    #[test]
    fn a_reflection_is_negative_along_all_axes() {
        let turn = Rotation3::from_euler_angles(0.3, -0.8, 2.0);
        let shears = [
            Matrix3::identity(),
            Matrix3::new(1.0, 0.4, -0.2, 0.0, 1.0, 0.3, 0.0, 0.0, 1.0),
        ];
        for (signs, shear) in (0..8).flat_map(|signs| shears.map(|shear| (signs, shear))) {
            let sign = |axis: usize| if signs >> axis & 1 == 1 { -1.0 } else { 1.0 };
            let scale = Vector3::new(sign(0), 2.0 * sign(1), 0.5 * sign(2));
            let linear = turn.matrix() * Matrix3::from_diagonal(&scale) * shear;
            let matrix =
                Translation3::new(1.0, 2.0, 3.0).to_homogeneous() * linear.to_homogeneous();
            let Factors { pose, scale } = factor(&matrix);
            assert_eq!(pose.translation.vector, Vector3::new(1.0, 2.0, 3.0));
            let handed = linear.determinant().signum();
            assert!(scale.iter().all(|factor| factor * handed > 0.0), "{scale}");
            // The remaining matrix is symmetric: the scale along perpendicular axes.
            let left = pose.rotation.to_rotation_matrix().inverse() * linear;
            assert!(is_definite(&left, handed), "{left}");
            assert!((scale.product() - linear.determinant()).abs() < 1e-9);
        }
    }

    #[test]
    fn a_flat_transform_keeps_its_rotation() {
        let turn = Rotation3::from_euler_angles(0.3, -0.8, 2.0);
        let flat =
            turn.to_homogeneous() * Matrix4::new_nonuniform_scaling(&Vector3::new(2.0, 0.0, 3.0));
        let rotation = factor(&flat).pose.rotation;
        assert!(rotation.angle_to(&UnitQuaternion::from_rotation_matrix(&turn)) < 1e-9);
        assert_eq!(factor(&Matrix4::zeros()).pose, Isometry3::identity());
    }
}
