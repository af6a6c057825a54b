//! Philox4x32-10, a random number generator by counter: a number follows from a seed and a position,
//! on every device alike.
//!
//! Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). The test
//! uses the known-answer vectors of the authors' Random123 library.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Returns four random words for a counter and a key.
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut a, mut b, mut c, mut d] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let p0 = u64::from(MULTIPLIERS[0]) * u64::from(a);
        let p1 = u64::from(MULTIPLIERS[1]) * u64::from(c);
        (a, b, c, d) = (
            (p1 >> 32) as u32 ^ b ^ k0,
            p1 as u32,
            (p0 >> 32) as u32 ^ d ^ k1,
            p0 as u32,
        );
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [a, b, c, d]
}

/// Turns a 64-bit seed into a key: low word, high word.
pub fn key(seed: u64) -> [u32; 2] {
    [seed as u32, (seed >> 32) as u32]
}

/// The Gumbel noise of every token at step `t`: `−ln(−ln(uniform))` with
/// `uniform = ((word >> 9) + 0.5) · 2⁻²³`.
pub fn gumbel(seed: u64, t: u32, tokens: u32) -> impl Iterator<Item = f64> {
    (0..tokens.div_ceil(4))
        .flat_map(move |quad| philox([quad, t, 0, 0], key(seed)))
        .map(|word| {
            let uniform = (f64::from(word >> 9) + 0.5) * 2f64.powi(-23);
            -(-uniform.ln()).ln()
        })
}

/// Numbers distributed uniformly over (−1, 1). Each `stream` gives other numbers. It is at least 1,
/// so that they differ from the noise of the same seed, whose counters end in two zeros.
pub fn evenly(seed: u64, stream: u32) -> impl Iterator<Item = f64> {
    debug_assert!(stream > 0, "stream 0 is the sampling noise");
    (0..)
        .flat_map(move |quad| philox([quad, 0, stream, 0], key(seed)))
        .map(|word| (f64::from(word >> 8) + 0.5) * 2f64.powi(-23) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `philox4x32 10` in Random123's `kat_vectors`: counter, key, answer.
    #[test]
    fn the_published_known_answers_come_out() {
        let zeros = philox([0; 4], [0; 2]);
        assert_eq!(zeros, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = philox([u32::MAX; 4], [u32::MAX; 2]);
        assert_eq!(ones, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = philox(
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
        );
        assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn noise_has_the_mean_and_spread_of_a_gumbel_distribution() {
        let draws: Vec<f64> = (0..400)
            .flat_map(|t| gumbel(0x0123_4567_89ab_cdef, t, 256))
            .collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!((mean - 0.577_216).abs() < 0.02, "mean {mean}");
        assert!(
            (variance - std::f64::consts::PI.powi(2) / 6.0).abs() < 0.05,
            "variance {variance}"
        );
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let first: Vec<f64> = evenly(7, 1).take(8).collect();
        let second: Vec<f64> = evenly(7, 2).take(8).collect();
        assert_ne!(first, second);
        assert!(first.iter().chain(&second).all(|v| v.abs() < 1.0));
    }
}
