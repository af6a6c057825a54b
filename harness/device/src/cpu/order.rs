//! The order in which a launch runs warps and lanes, and the random numbers of a shuffled order.

use crate::api::ExecutionOrder;

/// Returns the indices of the bits that are set, in ascending order.
pub fn bits(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            bit
        })
    })
}

/// Returns the index of one of the bits that are set: the next one in this order. `random` is the
/// state of the random numbers.
#[inline]
pub fn choose(mask: u32, order: ExecutionOrder, random: &mut u64) -> u32 {
    match order {
        ExecutionOrder::Forward => mask.trailing_zeros(),
        ExecutionOrder::Reverse => mask.ilog2(),
        ExecutionOrder::Shuffled(_) => {
            *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let skip = (mix(*random) % u64::from(mask.count_ones())) as usize;
            bits(mask).nth(skip).unwrap_or(mask.trailing_zeros())
        }
    }
}

/// Spreads a seed over all bits: the finaliser of SplitMix64.
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
