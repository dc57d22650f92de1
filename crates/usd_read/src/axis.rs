//! The axes of a frame.

use nalgebra::{Unit, Vector3};

/// An axis of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    /// Returns the axis that a token names.
    pub fn named(token: Option<&str>) -> Option<Self> {
        match token? {
            "X" => Some(Self::X),
            "Y" => Some(Self::Y),
            "Z" => Some(Self::Z),
            _ => None,
        }
    }

    /// Returns its unit vector.
    pub fn direction(self) -> Unit<Vector3<f64>> {
        match self {
            Self::X => Vector3::x_axis(),
            Self::Y => Vector3::y_axis(),
            Self::Z => Vector3::z_axis(),
        }
    }

    /// Returns the entry for this axis of a list for x, y, z.
    pub fn of<T: Copy>(self, [x, y, z]: [T; 3]) -> T {
        match self {
            Self::X => x,
            Self::Y => y,
            Self::Z => z,
        }
    }

    /// Returns the next axis in cyclic order.
    pub fn next(self) -> Self {
        self.of([Self::Y, Self::Z, Self::X])
    }

    /// Returns the axis other than these two.
    pub fn across(a: Self, b: Self) -> Self {
        [Self::X, Self::Y]
            .into_iter()
            .find(|axis| *axis != a && *axis != b)
            .unwrap_or(Self::Z)
    }

    /// Returns the component of a vector along the axis, and the other two in cyclic order.
    pub fn split(self, vector: &Vector3<f64>) -> (f64, [f64; 2]) {
        let [x, y, z] = (*vector).into();
        match self {
            Self::X => (x, [y, z]),
            Self::Y => (y, [z, x]),
            Self::Z => (z, [x, y]),
        }
    }
}
