//! The dot products of the reference, which take most of its time.

use half::bf16;
use pulp::{Simd, WithSimd};

/// One row times `B` vectors. It keeps eight sums and adds them in a fixed order, so the result
/// depends neither on the machine nor on `B`: the widest vector instructions of this machine
/// compute it, and none of them joins a multiplication and an addition, which would round
/// otherwise.
pub struct Dot<'a, const B: usize> {
    /// A row of a matrix. Its length is a multiple of eight.
    pub row: &'a [bf16],
    /// As long as the row.
    pub vectors: &'a [Vec<f64>; B],
}

/// Sums of a [`Dot`]. No machine's vectors have more lanes.
const SUMS: usize = 8;

/// So many weights are widened to f64 at a time. They stay in the first cache.
const WIDENED: usize = 128;

impl<const B: usize> WithSimd for Dot<'_, B> {
    type Output = [f64; B];

    // It has to be inlined into the function that was compiled for the instructions of `S`.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; B] {
        let vectors_of_sums = SUMS / S::F64_LANES;
        let mut sums = [[simd.splat_f64s(0.0); SUMS]; B];
        let mut wide = [0.0; WIDENED];
        for (block, narrow) in self.row.chunks(WIDENED).enumerate() {
            for (wide, narrow) in wide.iter_mut().zip(narrow) {
                *wide = widen(*narrow);
            }
            let cells = block * WIDENED..block * WIDENED + narrow.len();
            let weights = S::as_simd_f64s(&wide[..narrow.len()]).0;
            let vectors: [&[S::f64s]; B] = std::array::from_fn(|b| {
                &S::as_simd_f64s(&self.vectors[b][cells.clone()]).0[..weights.len()]
            });
            for at in (0..weights.len()).step_by(vectors_of_sums) {
                for part in 0..vectors_of_sums {
                    for b in 0..B {
                        let product = simd.mul_f64s(weights[at + part], vectors[b][at + part]);
                        sums[b][part] = simd.add_f64s(sums[b][part], product);
                    }
                }
            }
        }
        sums.map(|sums| {
            let s: &[f64] = bytemuck::cast_slice(&sums[..vectors_of_sums]);
            ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
        })
    }
}

/// A bf16 is the upper half of an f32.
#[inline]
pub fn widen(value: bf16) -> f64 {
    f64::from(f32::from_bits(u32::from(value.to_bits()) << 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value between -0.5 and 0.5.
    fn value(i: usize) -> f64 {
        (i.wrapping_mul(2_654_435_761) % 1_000) as f64 / 1_000.0 - 0.5
    }

    #[test]
    fn every_machine_adds_in_the_same_order() {
        for len in [8, 64, 120, 128, 136, 1024] {
            let row: Vec<bf16> = (0..len).map(|i| bf16::from_f64(value(i))).collect();
            let vectors: [Vec<f64>; 4] =
                std::array::from_fn(|b| (0..len).map(|i| value(i * 7 + b)).collect());
            let found = pulp::Arch::new().dispatch(Dot {
                row: &row,
                vectors: &vectors,
            });
            for (vector, found) in vectors.iter().zip(found) {
                let mut s = [0.0; SUMS];
                for (i, (weight, x)) in row.iter().zip(vector).enumerate() {
                    s[i % SUMS] += weight.to_f64() * x;
                }
                let expected = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
                assert_eq!(found.to_bits(), expected.to_bits(), "{len} cells");
            }
        }
    }
}
