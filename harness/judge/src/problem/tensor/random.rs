//! Random choices that follow from a seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// At most so many of the sets: those that a window launches, in their order. A kernel can know
/// neither the order nor the number.
pub fn draw_sets(rng: &mut ChaCha8Rng, sets: usize, most: usize, emulated: bool) -> Vec<usize> {
    let mut drawn: Vec<usize> = (0..sets).collect();
    shuffle(rng, &mut drawn);
    let most = most.clamp(1, sets.max(1));
    // The emulated device is slow, and its times mean nothing.
    let left_out = if emulated {
        most - 1
    } else {
        below(rng, most / 4 + 1)
    };
    drawn.truncate(most - left_out);
    drawn
}

/// Brings the items into a random order (R. A. Fisher and F. Yates).
pub fn shuffle<T>(rng: &mut ChaCha8Rng, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(rng, last + 1));
    }
}

/// A number from 0 to `end` − 1; 0 if `end` is 0. The bias of the remainder is far below what a
/// test could see: `end` is small beside 2⁶⁴.
pub fn below(rng: &mut ChaCha8Rng, end: usize) -> usize {
    (rng.next_u64() % end.max(1) as u64) as usize
}

/// A number that follows from the secret seed and that a worker may know: a kernel that reads the
/// worker's memory learns nothing of the seed, and so of the inputs.
pub fn told(seed: u64, what_for: &str) -> u64 {
    number_of(&format!("told to a worker: {seed} {what_for}"))
}

/// A number that follows from a text.
pub fn number_of(text: &str) -> u64 {
    let hash = blake3::hash(text.as_bytes());
    let first = hash.as_bytes().first_chunk();
    first.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
