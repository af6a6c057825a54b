//! The random number of a cell, which follows from a seed and the cell's index alone.
//!
//! `cells.cu` computes the same on the card, bit for bit. So nothing here may be rounded in two
//! ways: there are integers, and sums, products, quotients and square roots of f64, of which IEEE
//! 754 fixes each bit. The library's logarithm differs between processor and card, so there is one
//! of its own.

use crate::dtype::Dtype;
use crate::problem::philox::{key, philox};
use crate::worker::cell_work::CellNumbers;

/// Fills cells with these indices.
pub fn fill(
    numbers: CellNumbers,
    dtype: Dtype,
    cells: &mut [u8],
    seed: u64,
    indices: impl Iterator<Item = u64>,
) {
    let mut words = indices.map(|cell| word(seed, cell));
    let mut word = || words.next().unwrap_or(0);
    match numbers {
        CellNumbers::Normal { mean, std } => {
            let ([mean, std], largest) = ([mean, std].map(f64::from_bits), dtype.largest());
            let number = |word| mean + std * normal(unit(word));
            dtype.encode_each(cells, || number(word()).clamp(-largest, largest));
        }
        CellNumbers::Uniform { low, high } => {
            let [low, high] = [low, high].map(f64::from_bits);
            let number = |word| low + (high - low) * unit(word);
            dtype.encode_each(cells, || number(word()).clamp(low, high));
        }
        CellNumbers::Integers { low, high } => {
            dtype.encode_each_integer(cells, || integer(word(), low, high));
        }
        CellNumbers::OneOf(bits) => {
            for cell in cells.chunks_exact_mut(dtype.size()) {
                dtype.put_bits(cell, bits[(word() >> 62) as usize]);
            }
        }
    }
}

/// 64 random bits for the cell with this index. Two neighbours share a block of the generator.
pub fn word(seed: u64, cell: u64) -> u64 {
    let pair = cell / 2;
    let [a, b, c, d] = philox([pair as u32, (pair >> 32) as u32, 0, 0], key(seed));
    let (low, high) = if cell.is_multiple_of(2) {
        (a, b)
    } else {
        (c, d)
    };
    u64::from(low) | u64::from(high) << 32
}

/// A number between 0 and 1, and neither of them: the middle of one of 2⁵² equal parts.
pub fn unit(word: u64) -> f64 {
    ((word >> 12) as f64 + 0.5) * (0.5 / (1u64 << 51) as f64)
}

/// A whole number from `low` to `high`, both included.
pub fn integer(word: u64, low: i64, high: i64) -> i64 {
    let span = (high.wrapping_sub(low) as u64).wrapping_add(1);
    // 2⁶⁴ numbers are all that there are.
    let above = if span == 0 {
        word
    } else {
        ((u128::from(word) * u128::from(span)) >> 64) as u64
    };
    low.wrapping_add(above as i64)
}

/// The number that a standard normal variable falls below with probability `p`: PPND16 of M. J.
/// Wichura, "Algorithm AS 241: The percentage points of the normal distribution" (Applied
/// Statistics 37, 1988).
pub fn normal(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    let r = (-logarithm(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let far = if r <= 5.0 {
        ratio(r - 1.6, &NEAR)
    } else {
        ratio(r - 5.0, &FAR)
    };
    if q < 0.0 { -far } else { far }
}

/// Numerator and denominator, the constant first.
type Ratio = [[f64; 8]; 2];

fn ratio(r: f64, [above, below]: &Ratio) -> f64 {
    let sum = |of: &[f64; 8]| of.iter().rev().fold(0.0, |sum, factor| sum * r + factor);
    sum(above) / sum(below)
}

#[allow(clippy::excessive_precision, reason = "the digits of the paper")]
const CENTRE: Ratio = [
    [
        3.387_132_872_796_366_608,
        1.331_416_678_917_843_774_5e2,
        1.971_590_950_306_551_442_7e3,
        1.373_169_376_550_946_112_5e4,
        4.592_195_393_154_987_145_7e4,
        6.726_577_092_700_870_085_3e4,
        3.343_057_558_358_812_810_5e4,
        2.509_080_928_730_122_672_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091_125_2e1,
        6.871_870_074_920_579_083e2,
        5.394_196_021_424_751_107_7e3,
        2.121_379_430_158_659_586_7e4,
        3.930_789_580_009_271_061e4,
        2.872_908_573_572_194_267_4e4,
        5.226_495_278_852_854_561e3,
    ],
];

#[allow(clippy::excessive_precision, reason = "the digits of the paper")]
const NEAR: Ratio = [
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_9,
        5.769_497_221_460_691_405_5,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        2.417_807_251_774_506_117_7e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_4e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_4,
        6.897_673_349_851_000_045_5e-1,
        1.481_039_764_274_800_745_9e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
];

#[allow(clippy::excessive_precision, reason = "the digits of the paper")]
const FAR: Ratio = [
    [
        6.657_904_643_501_103_777_2,
        5.463_784_911_164_114_369_9,
        1.784_826_539_917_291_335_8,
        2.965_605_718_285_048_912_3e-1,
        2.653_218_952_657_612_309_3e-2,
        1.242_660_947_388_078_438_6e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        5.998_322_065_558_879_376_9e-1,
        1.369_298_809_227_358_053_1e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591e-4,
        1.846_318_317_510_054_681_8e-5,
        1.421_511_758_316_445_888_7e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
];

/// The natural logarithm of a positive normal number, to a few units in the last place.
fn logarithm(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    /// The bits of the exponent of 1.
    const ONE: u64 = 1023 << 52;
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits(bits & MANTISSA | ONE);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    // ln m = 2·artanh((m − 1) / (m + 1)), by its series.
    let f = (m - 1.0) / (m + 1.0);
    let s = f * f;
    let series = SERIES
        .iter()
        .rev()
        .fold(0.0, |sum, factor| sum * s + factor);
    exponent as f64 * std::f64::consts::LN_2 + f * series
}

/// 2 / (2·k + 1).
const SERIES: [f64; 12] = [
    2.0,
    2.0 / 3.0,
    2.0 / 5.0,
    2.0 / 7.0,
    2.0 / 9.0,
    2.0 / 11.0,
    2.0 / 13.0,
    2.0 / 15.0,
    2.0 / 17.0,
    2.0 / 19.0,
    2.0 / 21.0,
    2.0 / 23.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_published_tables() {
        for (p, expected) in [
            (0.5, 0.0),
            (0.75, 0.674_489_750_196_081_7),
            (0.975, 1.959_963_984_540_054),
            (0.999, 3.090_232_306_167_813_5),
            (1e-10, -6.361_340_902_404_056),
            (1e-15, -7.941_345_326_170_998),
        ] {
            assert!((normal(p) - expected).abs() < 1e-12, "{p}: {}", normal(p));
        }
        assert!(normal(unit(0)).is_finite() && normal(unit(u64::MAX)).is_finite());
        assert!(unit(0) > 0.0 && unit(u64::MAX) < 1.0);
    }

    #[test]
    fn the_logarithm_is_that_of_the_library() {
        for x in [1e-300, 1e-16, 0.01, 0.074, 0.5, 0.999, 1.0, 3.0, 1e10] {
            let (own, other) = (logarithm(x), f64::ln(x));
            assert!(
                (own - other).abs() <= 4e-16 * other.abs().max(1.0),
                "{x}: {own}"
            );
        }
    }

    #[test]
    fn whole_numbers_reach_both_ends_and_no_further() {
        for (low, high) in [
            (0, 0),
            (-3, 4),
            (i64::MIN, i64::MAX),
            (i64::MAX - 1, i64::MAX),
        ] {
            assert_eq!(
                (integer(0, low, high), integer(u64::MAX, low, high)),
                (low, high)
            );
        }
    }

    #[test]
    fn neighbours_and_seeds_differ() {
        let words: Vec<u64> = (0..1000).map(|cell| word(7, cell)).collect();
        let mut all = words.clone();
        all.extend((0..1000).map(|cell| word(8, cell)));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2000);
        let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
        assert!((31_500..32_500).contains(&ones), "{ones}");
    }
}
