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

/// Decomposes a transform into a rigid part and a scale that is applied first.
///
/// Returns `None` for a transform with shear or without volume. The scale of a reflection is negative
/// along x.
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
        scale.x = -scale.x;
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
