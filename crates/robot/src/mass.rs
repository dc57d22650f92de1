//! Mass properties that physics engines accept: principal moments that are physically realisable.

#![allow(
    clippy::indexing_slicing,
    reason = "indices of 3×3 matrices are below 3"
)]

use nalgebra::{Matrix3, Rotation3, SymmetricEigen, UnitQuaternion, Vector3};

use super::{Inertial, Pose};

/// Placeholder for a missing mass, kg.
const STAND_IN_MASS: f64 = 1e-3;
/// Radius of the placeholder, a solid ball, metres.
const STAND_IN_RADIUS: f64 = 0.05;
/// Minimum excess of the sum of two principal moments over the third, relative to the third. Programs
/// that rotate the tensor in single precision reject smaller ones: Newton 1.8 with MuJoCo 3.17 needs
/// up to 1e-6.
const MIN_MARGIN: f64 = 2e-6;
/// The margin after a repair: above [`MIN_MARGIN`], so that rounding to single precision keeps it.
const MARGIN: f64 = 4e-6;

/// The mass properties of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Mass {
    /// kg; above zero.
    pub mass: f64,
    /// The centre of mass in the body's frame, metres.
    pub centre: Vector3<f64>,
    /// Principal moments, kg·m²: each above zero and, by a margin, below the sum of the others.
    pub moments: Vector3<f64>,
    /// From the principal axes to the body's.
    pub axes: UnitQuaternion<f64>,
    /// Whether the source's moments were not physically realisable and were replaced.
    pub repaired: bool,
}

impl Mass {
    /// Returns the mass properties of a link, in its frame; `None` if the source gives no mass
    /// above zero.
    pub fn of(inertial: &Inertial) -> Option<Self> {
        let Pose {
            rotation,
            translation,
        } = inertial.origin;
        (inertial.mass > 0.0).then(|| {
            Self::new(
                inertial.mass,
                translation.vector,
                &inertial.inertia,
                rotation,
            )
        })
    }

    /// Returns the placeholder for a missing mass, which is never derived from a volume.
    pub fn stand_in(centre: Vector3<f64>) -> Self {
        let moments = ball(STAND_IN_MASS);
        Self {
            mass: STAND_IN_MASS,
            centre,
            moments,
            axes: UnitQuaternion::identity(),
            repaired: false,
        }
    }

    /// Returns whether an inertial is the placeholder, within single precision.
    pub fn is_stand_in(inertial: &Inertial) -> bool {
        let expected = Matrix3::from_diagonal(&ball(STAND_IN_MASS));
        (inertial.mass - STAND_IN_MASS).abs() < 1e-6 * STAND_IN_MASS
            && (inertial.inertia - expected).amax() < 1e-6 * expected.amax()
    }

    /// Creates mass properties from an inertia tensor about the centre of mass, in axes that the
    /// rotation `axes` turns into the body's.
    fn new(
        mass: f64,
        centre: Vector3<f64>,
        inertia: &Matrix3<f64>,
        axes: UnitQuaternion<f64>,
    ) -> Self {
        let (given, principal) = principal_axes(inertia);
        let moments = realisable_moments(mass, &given);
        Self {
            mass,
            centre,
            moments,
            axes: axes * principal,
            repaired: moments != given,
        }
    }

    /// Merges bodies that are rigidly connected; `parts` are in one frame. `None` if they have no
    /// mass.
    pub fn together(parts: &[Self]) -> Option<Self> {
        if let [only] = parts {
            // Without merging, its moments are not subject to the rounding of an
            // eigendecomposition.
            return Some(only.clone());
        }
        let mass: f64 = parts.iter().map(|part| part.mass).sum();
        if !(mass > 0.0 && mass.is_finite()) {
            return None;
        }
        let centre = parts
            .iter()
            .map(|part| part.centre * part.mass)
            .sum::<Vector3<f64>>()
            / mass;
        let inertia = parts.iter().map(|part| part.inertia_about(&centre)).sum();
        Some(Self::new(
            mass,
            centre,
            &inertia,
            UnitQuaternion::identity(),
        ))
    }

    /// Returns the inertia tensor about `point`, in the body's axes (parallel axis theorem).
    fn inertia_about(&self, point: &Vector3<f64>) -> Matrix3<f64> {
        let axes = self.axes.to_rotation_matrix().into_inner();
        axes * Matrix3::from_diagonal(&self.moments) * axes.transpose()
            + steiner(self.mass, &(self.centre - point))
    }

    /// Returns the same mass properties in a frame in which the body's frame is at `pose`.
    #[must_use]
    pub fn placed(&self, pose: &Pose) -> Self {
        let centre = (pose * nalgebra::Point3::from(self.centre)).coords;
        Self {
            centre,
            axes: pose.rotation * self.axes,
            ..self.clone()
        }
    }
}

impl Inertial {
    /// Merges the mass properties of bodies that are rigidly connected, given in one frame; axes of the result
    /// are those of the frame. Nothing is repaired: tensors are summed as given. `None` without a mass above
    /// zero.
    pub fn together(parts: &[Self]) -> Option<Self> {
        let parts: Vec<&Self> = parts.iter().filter(|part| part.mass > 0.0).collect();
        let [first, others @ ..] = &parts[..] else {
            return None;
        };
        if others.is_empty() {
            // Without merging, nothing is rounded.
            return Some((*first).clone());
        }
        let mass: f64 = parts.iter().map(|part| part.mass).sum();
        let centre_of = |part: &Self| part.origin.translation.vector;
        let weighted = parts.iter().map(|part| centre_of(part) * part.mass);
        let centre = weighted.sum::<Vector3<f64>>() / mass;
        let inertia = parts.iter().map(|part| {
            let axes = part.origin.rotation.to_rotation_matrix().into_inner();
            axes * part.inertia * axes.transpose() + steiner(part.mass, &(centre_of(part) - centre))
        });
        Some(Self {
            origin: Pose::from_parts(centre.into(), UnitQuaternion::identity()),
            mass,
            inertia: inertia.sum(),
            is_assumed: parts.iter().any(|part| part.is_assumed),
            place: first.place.clone(),
        })
    }
}

/// Returns the inertia of a point mass at `arm` (parallel axis theorem), kg·m².
pub(crate) fn steiner(mass: f64, arm: &Vector3<f64>) -> Matrix3<f64> {
    (Matrix3::identity() * arm.norm_squared() - arm * arm.transpose()) * mass
}

/// Returns the principal moments of a ball with the placeholder's radius.
fn ball(mass: f64) -> Vector3<f64> {
    Vector3::repeat(0.4 * mass * STAND_IN_RADIUS * STAND_IN_RADIUS)
}

/// Returns the principal moments of a symmetric tensor, and the rotation from its principal axes to
/// the axes of the tensor.
///
/// Eigenvectors have no inherent order and sign; those nearest to the identity are chosen, so that
/// a diagonal tensor keeps its order.
pub fn principal_axes(tensor: &Matrix3<f64>) -> (Vector3<f64>, UnitQuaternion<f64>) {
    let off_diagonal = [tensor[(0, 1)], tensor[(0, 2)], tensor[(1, 2)]];
    if off_diagonal.iter().all(|&v| v == 0.0) {
        return (tensor.diagonal(), UnitQuaternion::identity());
    }
    let eigen = SymmetricEigen::new(*tensor);
    let mut best: Option<(f64, Vector3<f64>, Matrix3<f64>)> = None;
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut axes =
            Matrix3::from_columns(&order.map(|k| eigen.eigenvectors.column(k).into_owned()));
        for k in 0..3 {
            if axes[(k, k)] < 0.0 {
                axes.column_mut(k).neg_mut();
            }
        }
        // A rotation must not mirror: flip the axis that is farthest from its counterpart.
        if axes.determinant() < 0.0 {
            let smallest = (0..3)
                .min_by(|&a, &b| axes[(a, a)].total_cmp(&axes[(b, b)]))
                .unwrap_or(0);
            axes.column_mut(smallest).neg_mut();
        }
        let moments = Vector3::from(order.map(|k| eigen.eigenvalues[k]));
        if best
            .as_ref()
            // The margin keeps the first of equally good orders, whatever the rounding.
            .is_none_or(|(trace, ..)| axes.trace() > *trace + 1e-12)
        {
            best = Some((axes.trace(), moments, axes));
        }
    }
    match best {
        Some((_, moments, axes)) => (
            moments,
            UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(axes)),
        ),
        None => (tensor.diagonal(), UnitQuaternion::identity()),
    }
}

/// Returns the principal moments of a body of this mass: the nearest physically realisable ones, or
/// those of a ball if none is above zero.
pub fn realisable_moments(mass: f64, moments: &Vector3<f64>) -> Vector3<f64> {
    physical_moments(moments).unwrap_or_else(|| ball(mass))
}

/// Returns the nearest physically realisable moments: each above zero and, with a margin for single
/// precision, below the sum of the others. `None` if none is above zero.
fn physical_moments(moments: &Vector3<f64>) -> Option<Vector3<f64>> {
    let largest = moments.max();
    let smallest_sound = f64::from(f32::MIN_POSITIVE);
    if largest <= smallest_sound {
        return None;
    }
    // Rounding gives a singular tensor tiny eigenvalues, which are no moments either.
    let mut sound = moments.map(|m| {
        if m > smallest_sound.max(1e-12 * largest) {
            m
        } else {
            1e-3 * largest
        }
    });
    if sound.sum() - largest >= largest * (1.0 + MIN_MARGIN) {
        return Some(sound);
    }
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| sound[a].total_cmp(&sound[b]));
    let [low, middle, high] = order;
    // Raise the other two by the same amount, but none above the largest.
    let deficit = sound[high] * (1.0 + MARGIN) - sound[low] - sound[middle];
    let raised = (0.5 * deficit).min(sound[high] - sound[middle]);
    sound[middle] += raised;
    sound[low] += deficit - raised;
    Some(sound)
}

#[cfg(test)]
mod tests {
    use nalgebra::{Rotation3, Translation3};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_tensor_is_rebuilt_from_its_principal_axes(m in prop::array::uniform9(-1.0..1.0f64)) {
            let a = Matrix3::from_row_slice(&m);
            let tensor = a * a.transpose();
            let (moments, axes) = principal_axes(&tensor);
            let rotation = Rotation3::from(axes).into_inner();
            let rebuilt = rotation * Matrix3::from_diagonal(&moments) * rotation.transpose();
            prop_assert!((rebuilt - tensor).norm() < 1e-9 * tensor.norm().max(1.0));
        }
    }

    #[test]
    fn a_diagonal_tensor_keeps_its_order() {
        let (moments, axes) = principal_axes(&Matrix3::from_diagonal(&Vector3::new(3.0, 1.0, 2.0)));
        assert_eq!(moments, Vector3::new(3.0, 1.0, 2.0));
        assert!(axes.angle() < 1e-12);
    }

    #[test]
    fn moments_become_those_of_a_body() {
        let repaired = |x, y, z| physical_moments(&Vector3::new(x, y, z));
        let near = |moments: Option<Vector3<f64>>, x: f64, y: f64, z: f64| {
            let apart = moments.unwrap() - Vector3::new(x, y, z);
            assert!(apart.amax() < 1e-12, "{apart}");
        };
        assert_eq!(repaired(1.0, 2.0, 2.9), Some(Vector3::new(1.0, 2.0, 2.9)));
        near(repaired(1.0, 2.0, 3.0), 1.000006, 2.000006, 3.0);
        near(repaired(1.0, 1.0, 4.0), 2.000008, 2.000008, 4.0);
        assert_eq!(repaired(-1.0, 2.0, 2.0), Some(Vector3::new(2e-3, 2.0, 2.0)));
        // A thin rod: neither of the equal moments exceeds the other.
        near(repaired(1e-9, 2.0, 2.0), 8e-6, 2.0, 2.0);
        assert_eq!(repaired(4.0, 0.0, 0.0), repaired(4.0, -2.0, 0.0));
        assert_eq!(repaired(0.0, 0.0, -1.0), None);
        let flat = repaired(0.0, 0.0, 3.0).unwrap();
        assert!(
            flat.x > 0.0 && flat.x + flat.y > flat.z && flat.z == 3.0,
            "{flat}"
        );
    }

    #[test]
    fn a_repair_outlives_single_precision() {
        for moments in [
            [1.0, 2.0, 3.0],
            [1e-9, 0.3e-9, 0.7e-9],
            [0.1, 0.1, 5.0],
            [1e-8, 2.0, 2.0],
            [3.0, 1.0, 2.0 + 5e-6],
        ] {
            let once = physical_moments(&moments.into()).unwrap();
            let single = once.map(|moment| f64::from(moment as f32));
            assert_eq!(physical_moments(&single), Some(single), "{moments:?}");
        }
    }

    #[test]
    fn two_balls_on_a_stick_are_a_dumbbell() {
        let ball = |x: f64| Mass {
            mass: 2.0,
            centre: Vector3::new(x, 0.0, 0.0),
            moments: Vector3::repeat(0.1),
            axes: UnitQuaternion::identity(),
            repaired: false,
        };
        let pose = Pose::from_parts(
            Translation3::new(0.0, 0.0, 1.0),
            UnitQuaternion::from_euler_angles(0.3, 0.2, 0.1),
        );
        let both = Mass::together(&[ball(-1.0), ball(3.0)])
            .unwrap()
            .placed(&pose);
        assert_eq!((both.mass, both.repaired), (4.0, false));
        assert!(
            (both.centre - (pose * nalgebra::Point3::new(1.0, 0.0, 0.0)).coords).norm() < 1e-12
        );
        // 2 · 0.1 along the stick; 2 · (0.1 + 2 · 2²) across it.
        let axes = Rotation3::from(pose.rotation.inverse() * both.axes).into_inner();
        let tensor = axes * Matrix3::from_diagonal(&both.moments) * axes.transpose();
        assert!(
            (tensor - Matrix3::from_diagonal(&Vector3::new(0.2, 16.2, 16.2))).norm() < 1e-9,
            "{tensor}"
        );
        assert_eq!(Mass::together(&[]), None);
    }
}
