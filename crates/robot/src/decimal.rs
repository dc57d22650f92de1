//! Human-readable numbers: shortest equivalent decimals, and roll-pitch-yaw angles of rotations.
//!
//! The caller defines equivalence: the same bits, for example, or the same number in single
//! precision.

#![allow(
    clippy::indexing_slicing,
    reason = "indices of 3×3 matrices are constants"
)]

use std::f64::consts::{PI, TAU};

use nalgebra::{Matrix3, UnitQuaternion};

/// Maximum number of significant digits of a number in double precision.
const DIGITS: usize = 17;
/// Tolerance for rounding an angle to a multiple of 15 degrees, radians.
const NEAR_STEP: f64 = 1e-6;
/// Number of decimals of angles for which no shorter ones give the same rotation: 10⁻¹⁴ rad.
const DECIMALS: usize = 14;

/// Rounds `number` to the fewest significant digits that `is_same` accepts. Returns `number` itself
/// if it accepts none.
pub fn shortest(number: f64, is_same: impl Fn(f64) -> bool) -> f64 {
    let rounded =
        (0..DIGITS).filter_map(|digits| format!("{number:.digits$e}").parse::<f64>().ok());
    rounded
        .into_iter()
        .find(|&decimal| is_same(decimal))
        .unwrap_or(number)
}

/// Returns the shortest decimal of a number in single precision: 4.2, not 4.199999809265137.
pub fn of_single(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

/// Returns roll, pitch and yaw of `rotation`, in radians: angles about the fixed axes x, y and z,
/// in that order. They have as few digits as `is_same` allows, which returns whether a rotation is
/// equivalent to `rotation`.
///
/// Returns the solution with the smaller angles of the two; in gimbal lock (pitch at a right
/// angle), the one with zero roll. Multiples of 15 degrees are exact in double precision.
pub fn roll_pitch_yaw(
    rotation: &UnitQuaternion<f64>,
    is_same: impl Fn(&UnitQuaternion<f64>) -> bool,
) -> [f64; 3] {
    let turn = Turn(rotation.to_rotation_matrix().into_inner());
    let is_same = |[roll, pitch, yaw]: [f64; 3]| {
        is_same(&UnitQuaternion::from_euler_angles(roll, pitch, yaw))
    };
    let (rolls, most) = (turn.rolls(), turn.roll_decimals());
    for decimals in 0..=DIGITS {
        for &roll in &rolls {
            for round in [stepped, kept] {
                // Pitch and yaw compensate for the rounding of roll.
                let angles = turn
                    .after(round(roll, decimals.min(most)))
                    .map(|angle| round(angle, decimals));
                // An angle just beyond half a turn is equivalent to one just before it, of the
                // other sign.
                for turned in [[0.0, 0.0], [PI, 0.0], [0.0, PI], [PI, PI]] {
                    let other = |angle: f64, turned: f64| match turned {
                        0.0 => Some(angle),
                        _ if angle.abs() < PI - NEAR_STEP => None,
                        _ => Some(round(angle - TAU.copysign(angle), decimals)),
                    };
                    if let (Some(roll), Some(yaw)) =
                        (other(angles[0], turned[0]), other(angles[2], turned[1]))
                        && is_same([roll, angles[1], yaw])
                    {
                        return [roll, angles[1], yaw];
                    }
                }
            }
        }
    }
    let [roll, pitch, yaw] = turn.after(kept(rolls[0], most));
    [roll, kept(pitch, DECIMALS), kept(yaw, DECIMALS)]
}

/// A rotation as a matrix.
struct Turn(Matrix3<f64>);

impl Turn {
    /// Returns roll with the pitch and yaw that complete it.
    fn after(&self, roll: f64) -> [f64; 3] {
        let m = &self.0;
        let (sin, cos) = roll.sin_cos();
        let pitch = (-m[(2, 0)]).atan2(sin * m[(2, 1)] + cos * m[(2, 2)]);
        let yaw = (sin * m[(0, 2)] - cos * m[(0, 1)]).atan2(cos * m[(1, 1)] - sin * m[(1, 2)]);
        [roll, pitch, yaw]
    }

    /// Returns the number of significant decimals of roll: near gimbal lock, roll and yaw are
    /// nearly interchangeable.
    fn roll_decimals(&self) -> usize {
        let level = self.0[(2, 1)].hypot(self.0[(2, 2)]);
        (DECIMALS as f64 + (1.01 * level).log10().floor()).clamp(0.0, DECIMALS as f64) as usize
    }

    /// Returns the candidates for roll, the simplest first; at least one.
    fn rolls(&self) -> Vec<f64> {
        let m = &self.0;
        let level = m[(2, 1)].hypot(m[(2, 2)]);
        // Gimbal lock: only the sum or difference of roll and yaw is determined.
        if level < 1e-15 {
            return vec![0.0];
        }
        let roll = m[(2, 1)].atan2(m[(2, 2)]);
        let mut rolls = vec![roll, roll - PI.copysign(roll)];
        let size = |roll: &f64| {
            self.after(*roll)
                .iter()
                .map(|angle| angle.abs())
                .sum::<f64>()
        };
        rolls.sort_by(|a, b| size(a).total_cmp(&size(b)));
        // Near gimbal lock, which few digits don't distinguish from it.
        rolls.extend((level < 1e-3).then_some(0.0));
        rolls
    }
}

/// Rounds an angle to a multiple of 15 degrees if it is near one, otherwise to `decimals`.
fn stepped(angle: f64, decimals: usize) -> f64 {
    step_near(angle).unwrap_or_else(|| rounded(angle, decimals))
}

/// Rounds an angle to `decimals`, unless it is a multiple of 15 degrees up to rounding errors,
/// which is returned exactly.
fn kept(angle: f64, decimals: usize) -> f64 {
    let rounded = rounded(angle, decimals);
    // Test the rounded angle too: otherwise a second call could round it to the multiple.
    let near = [angle, rounded]
        .map(|angle| step_near(angle).filter(|step| (step - angle).abs() < 1.5e-14));
    near.into_iter().flatten().next().unwrap_or(rounded)
}

fn rounded(number: f64, decimals: usize) -> f64 {
    format!("{number:.decimals$}")
        .parse::<f64>()
        .unwrap_or(number)
        + 0.0
}

/// Returns the multiple of 15 degrees within 10⁻⁶ rad of an angle, exact in double precision.
pub fn step_near(angle: f64) -> Option<f64> {
    let steps = (angle * 12.0 / PI).round();
    // In lowest terms, so that multiples of 90 and 45 degrees are exact.
    let divisor = [12.0, 6.0, 4.0, 3.0, 2.0]
        .into_iter()
        .find(|divisor| steps % divisor == 0.0)
        .unwrap_or(1.0);
    let step = steps / divisor * PI / (12.0 / divisor);
    ((step - angle).abs() < NEAR_STEP).then_some(step + 0.0)
}

#[cfg(test)]
#[allow(clippy::approx_constant, reason = "angles as people write them")]
mod tests {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

    use proptest::prelude::*;

    use super::*;

    fn of(angles: [f64; 3]) -> UnitQuaternion<f64> {
        let [roll, pitch, yaw] = angles;
        UnitQuaternion::from_euler_angles(roll, pitch, yaw)
    }

    #[test]
    fn angles_come_back_as_people_wrote_them() {
        for angles in [
            [0.0, 0.0, 0.0],
            [0.1, -0.2, 0.3],
            [0.0, 1.5708, 0.0],
            [1.5708, 1.5708, 0.0],
            [0.0, -1.570796, 0.7],
            [3.14159, 0.0, -1.5707],
            [0.0, 0.0, 3.14159265359],
            [PI, 0.0, FRAC_PI_2],
            [0.0, FRAC_PI_2, -FRAC_PI_4],
            [0.0, -FRAC_PI_2, 1e-6],
            [1e-9, 0.0, 1e-3],
        ] {
            let rotation = of(angles);
            assert_eq!(
                roll_pitch_yaw(&rotation, |other| *other == rotation),
                angles
            );
        }
    }

    #[test]
    fn numbers_are_as_short_as_they_may_be() {
        assert_eq!(shortest(f64::from(0.3_f32), |x| x as f32 == 0.3), 0.3);
        assert_eq!(shortest(0.1 + 0.2, |x| (x - 0.3_f64).abs() < 1e-15), 0.3);
        assert_eq!(shortest(0.1 + 0.2, |x| x == 0.1 + 0.2), 0.1 + 0.2);
        assert_eq!(
            (of_single(4.2), of_single(-1e-9), of_single(0.5)),
            (4.2, -1e-9, 0.5)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

        #[test]
        fn angles_make_the_rotation(v in prop::array::uniform3(-7.0..7.0f64), steps in prop::array::uniform3(-4..4i32), mix in 0..64u8) {
            let written = [0.0, 1.57, 1.5708, 1.570796, 3.14159, 1.5707963267, -1.5708, -3.1415926];
            let angles: [f64; 3] = std::array::from_fn(|k| match (mix >> (2 * k)) & 3 {
                0 => v[k],
                1 => f64::from(steps[k]) * FRAC_PI_2,
                2 => written[usize::from((steps[k] + 4) as u8)],
                _ => (v[k] * 1e4).round() / 1e4,
            });
            let rotation = of(angles);
            let found = of(roll_pitch_yaw(&rotation, |other| *other == rotation));
            prop_assert!((found.to_homogeneous() - rotation.to_homogeneous()).amax() < 1e-12);
            let again = of(roll_pitch_yaw(&found, |other| *other == found));
            prop_assert!((again.to_homogeneous() - found.to_homogeneous()).amax() < 1e-12);
        }
    }
}
