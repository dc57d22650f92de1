//! Pseudo-random numbers that are the same on all platforms.

/// A sequence of random numbers: SplitMix64 (Steele, Lea and Flood, 2014).
///
/// Implemented here because generated files depend on the sequence: `fastrand` and `rand` use other
/// generators, and may change them between versions.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number, of the full range.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0, inclusive, to 1, exclusive.
    pub fn unit(&mut self) -> f64 {
        // The upper 53 bits, as many as the mantissa holds.
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number between two, uniformly distributed.
    pub fn between(&mut self, lower: f64, upper: f64) -> f64 {
        lower + (upper - lower) * self.unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_reference() {
        // The first numbers of the reference implementation (Vigna, 2015) for the seed 1234567.
        let mut random = Random::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(expected.map(|_| random.number()), expected);
        assert!((0..1000).all(|_| (2.0..3.0).contains(&random.between(2.0, 3.0))));
    }
}
