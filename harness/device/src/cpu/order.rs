//! The order in which a launch runs warps and lanes, the random numbers of a shuffled order, and
//! the masks and indices that go with it.

use crate::api::ExecutionOrder;

/// Returns the indices of the bits that are set, in ascending order.
pub fn bits(mut mask: u32) -> impl Iterator<Item = u32> + Clone {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            bit
        })
    })
}

/// Returns a mask of the `count` lowest bits, 32 at most.
pub fn lowest(count: u32) -> u32 {
    ((1u64 << count.min(32)) - 1) as u32
}

/// Returns the three-dimensional index of a block or a thread in these extents.
pub fn index_in([width, height, _]: [u32; 3], linear: u64) -> [u32; 3] {
    let (width, height) = (u64::from(width), u64::from(height));
    let index = [
        linear % width,
        linear / width % height,
        linear / (width * height),
    ];
    index.map(|i| i as u32)
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
