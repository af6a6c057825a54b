//! A digest of memory that host and device compute alike: [`digest`] here, `lab_digest` in `cuda/tools.cu`.
//!
//! The digest is the sum over all 32-bit words of a 64-bit mix of the word, its place and a key. A sum needs no order,
//! so the threads of a GPU compute it in any order. The mix is the output function of SplitMix64 (G. L. Steele, D. Lea
//! and C. H. Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). The judge draws the key in each run,
//! so a kernel cannot write other bytes with the same digest.

/// Returns the digest of these bytes. A last word with less than 4 bytes is filled up with zeros.
///
/// ```
/// use lab_device::digest;
///
/// assert_eq!(digest(b"abcd", 1), digest(b"abcd", 1));
/// assert_ne!(digest(b"abcdefgh", 1), digest(b"efghabcd", 1));
/// assert_ne!(digest(b"abc", 1), digest(b"abc\0", 1));
/// ```
pub fn digest(bytes: &[u8], key: u64) -> u64 {
    let mut words = bytes.chunks_exact(4);
    let mut sum = mix(bytes.len() as u64 ^ key);
    let mut place = 0;
    for word in &mut words {
        sum =
            sum.wrapping_add(mix_word(u32::from_le_bytes([word[0], word[1], word[2], word[3]]), place, key));
        place += 1;
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let mut word = [0; 4];
        word[..rest.len()].copy_from_slice(rest);
        sum = sum.wrapping_add(mix_word(u32::from_le_bytes(word), place, key));
    }
    sum
}

/// The part of the word number `place`.
fn mix_word(word: u32, place: u64, key: u64) -> u64 {
    mix((place << 32 | u64::from(word)) ^ key)
}

fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_that_of_splitmix64() {
        // The first output of SplitMix64 with the seed 0, from the authors' reference implementation.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn every_byte_and_its_place_matter() {
        let bytes: Vec<u8> = (0..41).collect();
        let whole = digest(&bytes, 7);
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(digest(&other, 7), whole, "byte {at}");
        }
        assert_ne!(digest(&bytes, 8), whole);
        assert_ne!(digest(&bytes[..40], 7), whole);
    }
}
