//! Numbers, vectors and frames of several configurations at a time: one in each lane of a vector
//! register.
//!
//! Every function is inlined into [`pulp::WithSimd::with_simd`], which enables the instructions of
//! the processor; closures would not inherit them.

use std::ops::{Add, Mul, Neg, Sub};

use nalgebra::Vector3;
use pulp::Simd;
use pulp::bytemuck::{cast_slice, cast_slice_mut};

use crate::Transform;

/// A number for each configuration.
#[derive(Clone, Copy)]
pub(crate) struct Num<S: Simd> {
    simd: S,
    pub(crate) lanes: S::f64s,
}

impl<S: Simd> Num<S> {
    #[inline(always)]
    pub(crate) fn new(simd: S, lanes: S::f64s) -> Self {
        Self { simd, lanes }
    }

    /// Creates a number that is the same in all configurations.
    #[inline(always)]
    pub(crate) fn splat(simd: S, number: f64) -> Self {
        Self::new(simd, simd.splat_f64s(number))
    }

    /// Returns `self · factor + addend`, with one rounding where the processor can.
    #[inline(always)]
    pub(crate) fn times_plus(self, factor: Self, addend: Self) -> Self {
        Self::new(
            self.simd,
            self.simd
                .mul_add_e_f64s(self.lanes, factor.lanes, addend.lanes),
        )
    }

    /// Returns `addend - self · factor`, with one rounding where the processor can.
    #[inline(always)]
    pub(crate) fn times_minus(self, factor: Self, addend: Self) -> Self {
        Self::new(
            self.simd,
            self.simd
                .negate_mul_add_e_f64s(self.lanes, factor.lanes, addend.lanes),
        )
    }

    #[inline(always)]
    fn constant(self, number: f64) -> Self {
        Self::splat(self.simd, number)
    }

    /// Returns the value of a polynomial of `self`, with coefficients from the highest power down.
    #[inline(always)]
    fn polynomial<const N: usize>(self, coefficients: [f64; N]) -> Self {
        let mut sum = self.constant(0.0);
        for coefficient in coefficients {
            sum = sum.times_plus(self, self.constant(coefficient));
        }
        sum
    }

    /// Returns sine and cosine of an angle in radians, each within 1 ulp.
    ///
    /// The angle is reduced by multiples of π/2 in three parts (Cody and Waite, Software Manual for
    /// the Elementary Functions, 1980, ch. 8), and the polynomials are those of FDLIBM 5.3
    /// (`k_sin.c`, `k_cos.c`), which take the rounding error of the reduction into account. Beyond
    /// [`MAX_REDUCED`] the standard library computes them.
    #[inline(always)]
    pub(crate) fn sin_cos(self) -> (Self, Self) {
        let simd = self.simd;
        // The sum is so large that its last bits are the multiple of π/2.
        let shifted = self * self.constant(std::f64::consts::FRAC_2_PI) + self.constant(SHIFT);
        let turns = shifted - self.constant(SHIFT);
        let [first, second, third] = HALF_PI;
        // Exact: the first two parts have 33 bits, the multiple has fewer than 20.
        let coarse = turns.times_minus(self.constant(first), self);
        let correction = turns * self.constant(second);
        let fine = coarse - correction;
        let rest = turns * self.constant(third) - ((coarse - fine) - correction);
        let angle = fine - rest;
        let tail = (fine - angle) - rest;

        let square = angle * angle;
        let half = self.constant(0.5);
        let cube = square * angle;
        let sum = square.polynomial(SINE);
        let sine = angle
            - ((square * (half * tail - cube * sum) - tail) - cube * self.constant(SINE_FIRST));
        let sum = square * square.polynomial(COSINE);
        let half_square = half * square;
        let one = self.constant(1.0);
        let leading = one - half_square;
        let cosine = leading + (((one - leading) - half_square) + (square * sum - angle * tail));

        // Quarter turns swap sine and cosine, and change their signs.
        let quarter = simd.transmute_u64s_f64s(shifted.lanes);
        let (zero, one, two) = (simd.splat_u64s(0), simd.splat_u64s(1), simd.splat_u64s(2));
        let is_odd = simd.less_than_u64s(zero, simd.and_u64s(quarter, one));
        let sine_is_negative = simd.less_than_u64s(zero, simd.and_u64s(quarter, two));
        let cosine_is_negative =
            simd.less_than_u64s(zero, simd.and_u64s(simd.add_u64s(quarter, one), two));
        let (s, c) = (cosine.select(is_odd, sine), sine.select(is_odd, cosine));
        let (s, c) = (
            (-s).select(sine_is_negative, s),
            (-c).select(cosine_is_negative, c),
        );
        let limit = simd.splat_f64s(MAX_REDUCED);
        let is_beyond = simd.less_than_f64s(limit, simd.abs_f64s(self.lanes));
        if simd.first_true_m64s(is_beyond) < S::F64_LANES {
            return self.with_large_angles(s, c);
        }
        (s, c)
    }

    /// Returns `self` in the lanes of `mask`, `other` in the rest.
    #[inline(always)]
    fn select(self, mask: S::m64s, other: Self) -> Self {
        Self::new(
            self.simd,
            self.simd.select_f64s(mask, self.lanes, other.lanes),
        )
    }

    /// Returns sine and cosine with those of large angles computed by the standard library.
    #[cold]
    fn with_large_angles(self, sine: Self, cosine: Self) -> (Self, Self) {
        let angles = [self.lanes];
        let (mut sine, mut cosine) = ([sine.lanes], [cosine.lanes]);
        let sines = cast_slice_mut::<_, f64>(&mut sine).iter_mut();
        let cosines = cast_slice_mut::<_, f64>(&mut cosine);
        for (angle, (sine, cosine)) in cast_slice::<_, f64>(&angles).iter().zip(sines.zip(cosines))
        {
            if angle.abs() > MAX_REDUCED {
                (*sine, *cosine) = angle.sin_cos();
            }
        }
        let ([sine], [cosine]) = (sine, cosine);
        (Self::new(self.simd, sine), Self::new(self.simd, cosine))
    }
}

/// Largest angle that is reduced here, radians. Up to it the reduction has more than 53 correct
/// bits even beside a multiple of π/2.
const MAX_REDUCED: f64 = 1024.0;
/// 1.5 · 2⁵²: adding it rounds to an integer.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// π/2 in three parts.
const HALF_PI: [f64; 3] = [
    f64::from_bits(0x3FF9_21FB_5440_0000),
    f64::from_bits(0x3DD0_B461_1A60_0000),
    f64::from_bits(0x3BA3_198A_2E03_7073),
];
/// (sin x - x) / x³ at 0.
const SINE_FIRST: f64 = -1.666_666_666_666_663_2e-1;
/// The following coefficients, in powers of x².
const SINE: [f64; 5] = [
    1.589_690_995_211_55e-10,
    -2.505_076_025_340_686_3e-8,
    2.755_731_370_707_006_8e-6,
    -1.984_126_982_985_795e-4,
    8.333_333_333_322_49e-3,
];
/// (cos x - 1 + x²/2) / x⁴ in powers of x².
const COSINE: [f64; 6] = [
    -1.135_964_755_778_819_5e-11,
    2.087_572_321_298_175e-9,
    -2.755_731_435_139_066_3e-7,
    2.480_158_728_947_673e-5,
    -1.388_888_888_887_411e-3,
    4.166_666_666_666_66e-2,
];

impl<S: Simd> Add for Num<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(self.simd, self.simd.add_f64s(self.lanes, other.lanes))
    }
}

impl<S: Simd> Sub for Num<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(self.simd, self.simd.sub_f64s(self.lanes, other.lanes))
    }
}

impl<S: Simd> Mul for Num<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self::new(self.simd, self.simd.mul_f64s(self.lanes, other.lanes))
    }
}

impl<S: Simd> Neg for Num<S> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(self.simd, self.simd.neg_f64s(self.lanes))
    }
}

/// A vector for each configuration.
#[derive(Clone, Copy)]
pub(crate) struct Vector<S: Simd> {
    pub(crate) x: Num<S>,
    pub(crate) y: Num<S>,
    pub(crate) z: Num<S>,
}

impl<S: Simd> Vector<S> {
    #[inline(always)]
    pub(crate) fn splat(simd: S, vector: &Vector3<f64>) -> Self {
        Self {
            x: Num::splat(simd, vector.x),
            y: Num::splat(simd, vector.y),
            z: Num::splat(simd, vector.z),
        }
    }

    #[inline(always)]
    pub(crate) fn dot(&self, other: &Self) -> Num<S> {
        self.x
            .times_plus(other.x, self.y.times_plus(other.y, self.z * other.z))
    }

    #[inline(always)]
    pub(crate) fn cross(&self, other: &Self) -> Self {
        Self {
            x: self.z.times_minus(other.y, self.y * other.z),
            y: self.x.times_minus(other.z, self.z * other.x),
            z: self.y.times_minus(other.x, self.x * other.y),
        }
    }

    /// Returns `self · factor + addend`.
    #[inline(always)]
    pub(crate) fn times_plus(&self, factor: Num<S>, addend: &Self) -> Self {
        Self {
            x: self.x.times_plus(factor, addend.x),
            y: self.y.times_plus(factor, addend.y),
            z: self.z.times_plus(factor, addend.z),
        }
    }

    /// Returns `addend - self · factor`.
    #[inline(always)]
    pub(crate) fn times_minus(&self, factor: Num<S>, addend: &Self) -> Self {
        Self {
            x: self.x.times_minus(factor, addend.x),
            y: self.y.times_minus(factor, addend.y),
            z: self.z.times_minus(factor, addend.z),
        }
    }
}

impl<S: Simd> Add for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self {
            x: self.x + other.x,
            y: self.y + other.y,
            z: self.z + other.z,
        }
    }
}

impl<S: Simd> Sub for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self {
            x: self.x - other.x,
            y: self.y - other.y,
            z: self.z - other.z,
        }
    }
}

impl<S: Simd> Mul<Num<S>> for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: Num<S>) -> Self {
        Self {
            x: self.x * factor,
            y: self.y * factor,
            z: self.z * factor,
        }
    }
}

/// A [`Transform`] for each configuration: the axes of the child in the parent, and its origin.
#[derive(Clone, Copy)]
pub(crate) struct Frame<S: Simd> {
    pub(crate) x: Vector<S>,
    pub(crate) y: Vector<S>,
    pub(crate) z: Vector<S>,
    pub(crate) origin: Vector<S>,
}

impl<S: Simd> Frame<S> {
    #[inline(always)]
    pub(crate) fn splat(simd: S, frame: &Transform) -> Self {
        Self {
            x: Vector::splat(simd, &frame.rotation.column(0).into()),
            y: Vector::splat(simd, &frame.rotation.column(1).into()),
            z: Vector::splat(simd, &frame.rotation.column(2).into()),
            origin: Vector::splat(simd, &frame.translation),
        }
    }

    /// Rotates a vector of the child to the parent, and adds `addend`.
    #[inline(always)]
    fn rotated_plus(&self, vector: &Vector<S>, addend: &Vector<S>) -> Vector<S> {
        let sum = self.x.times_plus(vector.x, addend);
        let sum = self.y.times_plus(vector.y, &sum);
        self.z.times_plus(vector.z, &sum)
    }

    /// Rotates a vector of the child to the parent.
    #[inline(always)]
    pub(crate) fn rotated(&self, vector: &Vector<S>) -> Vector<S> {
        let sum = self.y.times_plus(vector.y, &(self.x * vector.x));
        self.z.times_plus(vector.z, &sum)
    }

    /// Rotates a vector of the parent to the child.
    #[inline(always)]
    pub(crate) fn unrotated(&self, vector: &Vector<S>) -> Vector<S> {
        Vector {
            x: self.x.dot(vector),
            y: self.y.dot(vector),
            z: self.z.dot(vector),
        }
    }

    /// Composes it with a constant transform, as [`Transform::then`].
    #[inline(always)]
    pub(crate) fn then(&self, simd: S, next: &Transform) -> Self {
        let next = Self::splat(simd, next);
        Self {
            x: self.rotated(&next.x),
            y: self.rotated(&next.y),
            z: self.rotated(&next.z),
            origin: self.rotated_plus(&next.origin, &self.origin),
        }
    }

    /// Rotates it about its z axis by an angle in radians, or translates it along this axis by a
    /// distance in metres.
    #[inline(always)]
    pub(crate) fn moved(&self, is_turn: bool, by: Num<S>) -> Self {
        if is_turn {
            let (sine, cosine) = by.sin_cos();
            Self {
                x: self.y.times_plus(sine, &(self.x * cosine)),
                y: self.x.times_minus(sine, &(self.y * cosine)),
                ..*self
            }
        } else {
            Self {
                origin: self.z.times_plus(by, &self.origin),
                ..*self
            }
        }
    }

    /// Returns the elements of the homogeneous matrix in row-major order.
    #[inline(always)]
    pub(crate) fn elements(&self, simd: S) -> [Num<S>; 16] {
        let (zero, one) = (Num::splat(simd, 0.0), Num::splat(simd, 1.0));
        let Self { x, y, z, origin } = self;
        #[rustfmt::skip]
        let elements = [
            x.x, y.x, z.x, origin.x,
            x.y, y.y, z.y, origin.y,
            x.z, y.z, z.z, origin.z,
            zero, zero, zero, one,
        ];
        elements
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, WithSimd};

    use super::*;
    use crate::Random;

    struct SinCos<'a>(&'a [f64]);

    impl WithSimd for SinCos<'_> {
        type Output = Vec<(f64, f64)>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let mut found = Vec::new();
            for angles in self.0.chunks(S::F64_LANES) {
                let angle = Num::new(simd, simd.partial_load_f64s(angles));
                let (sine, cosine) = angle.sin_cos();
                let (sine, cosine) = ([sine.lanes], [cosine.lanes]);
                let sine = cast_slice::<_, f64>(&sine);
                let pairs = sine.iter().zip(cast_slice::<_, f64>(&cosine));
                let pairs = pairs.take(angles.len());
                found.extend(pairs.map(|(sine, cosine)| (*sine, *cosine)));
            }
            found
        }
    }

    /// Returns the distance of two numbers in units of the last place of the second.
    fn ulps(ours: f64, theirs: f64) -> f64 {
        let unit = theirs.abs().next_up() - theirs.abs();
        (ours - theirs).abs() / unit
    }

    #[test]
    fn sines_are_those_of_the_standard_library_within_an_ulp() {
        let mut random = Random::new(1);
        let mut angles: Vec<f64> = (0..200_000).map(|_| random.between(-7.0, 7.0)).collect();
        angles.extend((0..200_000).map(|_| random.between(-2000.0, 2000.0)));
        // The floating-point numbers beside multiples of π/4, whose sines or cosines are smallest.
        angles.extend((-1310..1310).flat_map(|turn| {
            let angle = f64::from(turn) * std::f64::consts::FRAC_PI_4;
            [angle, angle.next_up(), angle.next_down()]
        }));
        angles.extend([0.0, -0.0, 5e-324, 1e-300, -1e-20, 1e22, 1e300]);
        for found in [
            Arch::new().dispatch(SinCos(&angles)),
            SinCos(&angles).with_simd(pulp::Scalar::new()),
        ] {
            for ((sine, cosine), angle) in found.into_iter().zip(&angles) {
                let (expected_sine, expected_cosine) = angle.sin_cos();
                assert!(ulps(sine, expected_sine) <= 1.0, "sin {angle:e}: {sine:e}");
                let distance = ulps(cosine, expected_cosine);
                assert!(distance <= 1.0, "cos {angle:e}: {cosine:e}");
            }
        }
        for (sine, cosine) in Arch::new().dispatch(SinCos(&[f64::NAN, f64::INFINITY])) {
            assert!(sine.is_nan() && cosine.is_nan());
        }
    }
}
