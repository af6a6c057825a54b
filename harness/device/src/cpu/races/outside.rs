//! Reads outside of the buffers that a launch was given.
//!
//! Memory that belongs to no buffer lies around each, so that such a read meets the cells of no
//! other tensor, with which it would seem to race.

use std::collections::BTreeMap;

/// Bytes before and behind a watched buffer that belong to no buffer.
pub const AROUND: usize = 256 << 10;

/// The buffers that the detector watches: their names and bytes, by their addresses.
#[derive(Clone, Debug, Default)]
pub struct WatchedBuffers(pub BTreeMap<usize, (String, usize)>);

impl WatchedBuffers {
    /// The buffer beside which an access to `length` bytes goes, and the place of its first byte
    /// outside, from the start of the buffer. `None` of an access inside a buffer, or far from all.
    #[inline]
    pub fn beside(&self, address: usize, length: usize) -> Option<(&str, i64)> {
        let (start, (name, bytes)) = self.0.range(..=address + AROUND).next_back()?;
        let offset = address as i64 - *start as i64;
        let bytes = *bytes as i64;
        if offset < 0 {
            return Some((name, offset));
        }
        let is_outside = offset + length as i64 > bytes && offset < bytes + AROUND as i64;
        is_outside.then(|| (name.as_str(), offset.max(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_beside_a_buffer_is_told_from_one_inside_and_one_far_away() {
        let start = 1 << 20;
        let buffers = WatchedBuffers([(start, ("x".to_owned(), 100))].into());
        let beside = |at: i64, length| {
            let found = buffers.beside((start as i64 + at) as usize, length);
            found.map(|(_, offset)| offset)
        };
        assert_eq!([beside(0, 4), beside(96, 4)], [None, None]);
        assert_eq!([beside(100, 4), beside(96, 8)], [Some(100), Some(100)]);
        assert_eq!(
            [beside(-4, 4), beside(-(AROUND as i64) - 4, 4)],
            [Some(-4), None]
        );
        assert_eq!(beside(100 + AROUND as i64, 4), None);
    }
}
