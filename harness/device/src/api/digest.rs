//! Digests of device memory, and the noise that fills guard zones: both depend on a secret key, so
//! that no kernel can compute them. `cuda/driver/digest.cu` computes the same on a GPU.

/// A range of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// The device address of the first byte.
    pub address: u64,
    /// The length in bytes.
    pub bytes: usize,
}

/// Mixes a value with a key, so that each bit of the result depends on every bit of both.
pub(crate) fn mix(value: u64, key: u64) -> u64 {
    let x = (value ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 29
}

/// Returns the digest of a range that holds these bytes: the sum of its mixed 32-bit words. The
/// words are those of the memory, so bytes before and after the range that share a word with it
/// count as zeros.
pub fn digest(bytes: &[u8], address: u64, key: u64) -> u64 {
    let head = (address % 4) as usize;
    let word = |index: usize| {
        let byte = |at: usize| {
            (4 * index + at)
                .checked_sub(head)
                .and_then(|at| bytes.get(at))
                .copied()
        };
        u32::from_le_bytes([0, 1, 2, 3].map(|at| byte(at).unwrap_or(0)))
    };
    let words = if bytes.is_empty() {
        0
    } else {
        (head + bytes.len()).div_ceil(4)
    };
    (0..words).fold(0, |sum, i| {
        u64::wrapping_add(sum, mix((i as u64) << 32 | u64::from(word(i)), key))
    })
}

/// Words of noise, after which the noise repeats: 1 MiB.
pub(crate) const NOISE_WORDS: usize = 1 << 18;

/// The first word of the noise that has small numbers in place of huge ones.
pub const SMALL_NOISE: u64 = 1 << 60;

/// Word `i` of the noise: random in some of its bits, positive if `i` is even and negative if it is
/// odd.
///
/// Read as a float of 32 or 16 bits or as an integer, a word before [`SMALL_NOISE`] is a huge
/// number. So a kernel that reads behind the end of an input finds what changes its sum, its maximum
/// or its minimum. Each later word is a float between 1 and 2, which changes where a kernel adds to
/// it behind the end of an output: a huge one would stay the same.
pub(crate) fn noise_word(i: u64, key: u64) -> u32 {
    let random = (mix(i, key) >> 32) as u32;
    let sign = if i.is_multiple_of(2) { 0 } else { 0x8000_8000 };
    let number = match i < SMALL_NOISE {
        true => random & 0x03ff_03ff | 0x7800_7800,
        false => random & 0x007f_007f | 0x3f80_3f80,
    };
    number | sign
}

/// An endless sequence of words that a key determines: first huge numbers, then small ones.
pub struct Noise {
    key: u64,
    /// The first [`NOISE_WORDS`] in little endian, and those from [`SMALL_NOISE`] on.
    bytes: [Vec<u8>; 2],
}

impl Noise {
    /// The noise of this key.
    pub fn new(key: u64) -> Noise {
        let bytes = [0, SMALL_NOISE].map(|first| {
            let words = (first..first + NOISE_WORDS as u64).map(|i| noise_word(i, key));
            words.flat_map(u32::to_le_bytes).collect()
        });
        Noise { key, bytes }
    }

    /// The key.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Returns `length` bytes, from byte `from` of the sequence, in parts.
    pub fn parts(&self, from: u64, length: usize) -> impl Iterator<Item = &[u8]> {
        let bytes = &self.bytes[usize::from(from >= 4 * SMALL_NOISE)];
        let all = bytes.len();
        let (mut at, mut rest) = ((from % all as u64) as usize, length);
        std::iter::from_fn(move || {
            let part = &bytes[at..][..(all - at).min(rest)];
            (at, rest) = (0, rest - part.len());
            (!part.is_empty()).then_some(part)
        })
    }

    /// Returns `length` bytes, from byte `from` of the sequence.
    pub fn bytes(&self, from: u64, length: usize) -> Vec<u8> {
        let mut found = Vec::with_capacity(length);
        self.parts(from, length)
            .for_each(|part| found.extend_from_slice(part));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_every_byte_and_on_its_place() {
        let bytes: Vec<u8> = (1..=23).collect();
        let right = digest(&bytes, 0x1000, 7);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_ne!(digest(&changed, 0x1000, 7), right, "byte {at}");
        }
        let mut swapped = bytes.clone();
        swapped.swap(4, 8);
        assert_ne!(digest(&swapped, 0x1000, 7), right);
        assert_ne!(digest(&bytes, 0x1000, 8), right, "the key counts");
        assert_eq!(
            digest(&bytes, 0x2000, 7),
            right,
            "the place of the range does not"
        );
        assert_ne!(digest(&bytes[..22], 0x1000, 7), right);
    }

    #[test]
    fn a_range_that_begins_within_a_word_has_its_own_digest() {
        let padded = [0, 0, 1, 2, 3, 4, 5, 0];
        assert_eq!(
            digest(&[1, 2, 3, 4, 5], 0x1002, 9),
            digest(&padded, 0x1000, 9)
        );
        assert_eq!(digest(&[], 0x1003, 9), 0);
    }

    #[test]
    fn noise_is_huge_and_of_either_sign_in_turn() {
        let bytes = Noise::new(5).bytes(0, 1 << 16);
        for (i, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
            let (float, whole) = (f32::from_le_bytes(*word), i32::from_le_bytes(*word));
            assert!(float.is_finite() && float.abs() > 1e34, "{float}");
            assert_eq!((float > 0.0, whole > 0), (i % 2 == 0, i % 2 == 0));
            let halves = word
                .as_chunks::<2>()
                .0
                .iter()
                .map(|half| u16::from_le_bytes(*half));
            // In f16 from 32768 on, and no infinity.
            assert!(
                halves
                    .into_iter()
                    .all(|half| (0x7800..0x7c00).contains(&(half & 0x7fff)))
            );
        }
    }

    #[test]
    fn whatever_is_added_to_small_noise_changes_it() {
        let bytes = Noise::new(5).bytes(4 * SMALL_NOISE, 1 << 16);
        for (i, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
            let float = f32::from_le_bytes(*word);
            assert!((1.0..2.0).contains(&float.abs()), "{float}");
            assert_eq!(float > 0.0, i % 2 == 0);
            // In f16 between 1.875 and 2.
            for half in word.as_chunks::<2>().0 {
                let half = u16::from_le_bytes(*half) & 0x7fff;
                assert!((0x3f80..0x4000).contains(&half), "{half:#x}");
            }
        }
    }

    #[test]
    fn noise_goes_on_after_its_last_word() {
        let noise = Noise::new(3);
        let all = 4 * NOISE_WORDS;
        let whole = noise.bytes(0, 2 * all + 8);
        assert_eq!(whole[..all], whole[all..2 * all]);
        assert_eq!(noise.bytes(all as u64 - 3, 10), whole[all - 3..all + 7]);
        assert_eq!(whole[4..8], noise_word(1, 3).to_le_bytes());
        assert_ne!(whole[..64], Noise::new(4).bytes(0, 64));
    }
}
