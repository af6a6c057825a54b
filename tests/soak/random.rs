//! The choice of random keys and times.

/// Knuth's MMIX generator; its upper half is good enough to press keys by.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    pub fn of<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len() as u64) as usize]
    }
}
