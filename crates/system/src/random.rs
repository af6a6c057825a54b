//! Random numbers of the operating system: for secrets, and for names that nobody else uses.

use rustix::rand::{GetRandomFlags, getrandom};

/// So many random bytes.
///
/// # Panics
///
/// If Linux has no random bytes. It has them from the end of its start on, and the standard
/// library's hash maps panic without them, too.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut drawn = 0;
    while drawn < N {
        let more = getrandom(&mut bytes[drawn..], GetRandomFlags::empty());
        drawn += more.expect("Linux has random bytes");
    }
    bytes
}

/// A random number.
pub fn number() -> u64 {
    u64::from_ne_bytes(bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_numbers_differ_and_all_bytes_are_drawn() {
        assert_ne!(number(), number());
        assert!(bytes::<4096>().chunks(64).all(|part| part != [0; 64]));
    }
}
