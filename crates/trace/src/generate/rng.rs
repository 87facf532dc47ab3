//! Random numbers that are the same for a seed on every platform and in every version: a bench
//! from last year must still run on the same trace. SplitMix64: a counter, well mixed.

/// A stream of random numbers.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `limit`.
    #[inline(always)]
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        scale(self.next(), limit)
    }

    /// A number of at least `least` with the mean `mean`: mostly small, at most four times the
    /// mean. The product of two uniform numbers has this shape, and needs no logarithm, which
    /// platforms round differently.
    pub(super) fn skewed(&mut self, least: u32, mean: u32) -> u64 {
        let bits = self.next();
        let product = ((bits >> 32) * (bits & 0xffff_ffff)) >> 32;
        let spread = u64::from(mean - least) * product;
        u64::from(least) + ((spread + (1 << 29)) >> 30)
    }
}

/// The upper half of `bits`, scaled to a number below `limit`.
#[inline(always)]
pub(super) fn scale(bits: u64, limit: u32) -> u32 {
    (((bits >> 32) * u64::from(limit)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_never_changes() {
        let mut rng = Rng::new(1);
        assert_eq!(rng.next(), 0x910a_2dec_8902_5cc1);
        assert_eq!(rng.next(), 0xbeeb_8da1_658e_ec67);
    }

    #[test]
    fn skewed_numbers_keep_their_mean_and_bounds() {
        let mut rng = Rng::new(7);
        let numbers: Vec<u64> = (0..100_000).map(|_| rng.skewed(2, 20)).collect();
        let mean = numbers.iter().sum::<u64>() as f64 / 100_000.0;
        assert!((19.5..20.5).contains(&mean), "mean {mean}");
        assert!(numbers.iter().all(|n| (2..=74).contains(n)));
        assert!((0..100).all(|_| rng.skewed(2, 2) == 2));
    }
}
