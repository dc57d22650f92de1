//! Random numbers that are the same everywhere for the same seed (SplitMix64).

use crate::Mechanism;

/// How far a distance without bounds is taken to go either way, metres.
const UNLIMITED_SLIDE: f64 = 1.0;

/// A sequence of random numbers, good enough to choose configurations.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }

    /// From 0, inclusive, to 1, exclusive.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From `lower` to `upper`, evenly.
    pub fn between(&mut self, lower: f64, upper: f64) -> f64 {
        lower + (upper - lower) * self.unit()
    }

    /// A configuration within bounds: angles without bounds go half a turn either way, distances a
    /// metre.
    pub fn configuration(&mut self, mechanism: &Mechanism, q: &mut [f64]) {
        for (coordinate, to) in mechanism.coordinates().iter().zip(q) {
            let (lower, upper) = range(coordinate);
            *to = self.between(lower, upper);
        }
    }
}

/// Finite bounds of a coordinate.
pub(crate) fn range(coordinate: &crate::Coordinate) -> (f64, f64) {
    let most = if coordinate.is_angle {
        std::f64::consts::PI
    } else {
        UNLIMITED_SLIDE
    };
    match coordinate.bounds.sides() {
        (Some(lower), Some(upper)) => (lower, upper),
        (Some(lower), None) => (lower, lower + 2.0 * most),
        (None, Some(upper)) => (upper - 2.0 * most, upper),
        (None, None) => (-most, most),
    }
}
