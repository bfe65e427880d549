//! Seeded numbers for measurements: the same on every machine.
//!
//! Source: Steele, Lea, Flood, «Fast splittable pseudorandom number generators» (splitmix64).

/// A sequence of numbers; equal seeds give equal sequences.
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `n`, `n` not included.
    pub fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u32
    }
}
