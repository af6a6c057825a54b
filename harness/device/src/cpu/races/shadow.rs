//! Who accessed each word of memory last: the shadow of what a kernel touches.

use std::collections::HashMap;

/// One access, as far as a later one must know it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Access {
    pub block: u32,
    /// Within its block.
    pub thread: u16,
    /// The bytes of the word, a bit each; 0 is no access.
    pub bytes: u8,
    /// Through an atomic, a volatile or a cache-bypassing access, which may meet others of their kind.
    pub relaxed: bool,
    pub writes: bool,
    /// The thread's time.
    pub time: u32,
    /// Return address, from the image's beginning.
    pub pc: u32,
}

impl Access {
    pub fn same_thread(&self, other: &Access) -> bool {
        self.thread == other.thread && self.block == other.block
    }

    /// Whether the two may not meet: one writes, and not both are made for that.
    fn conflicts(&self, other: &Access) -> bool {
        self.bytes & other.bytes != 0
            && (self.writes || other.writes)
            && !(self.relaxed && other.relaxed)
            && !self.same_thread(other)
    }
}

/// Bytes of a word.
const WORD: usize = 4;
const PAGE: usize = 4096;
/// Unordered accesses of a word that are remembered; of more, some are forgotten, and with them some races.
const WRITES: usize = 2;
const READS: usize = 4;

#[derive(Clone, Copy, Default)]
struct Word {
    writes: [Access; WRITES],
    reads: [Access; READS],
}

#[derive(Default)]
pub struct Shadow {
    pages: HashMap<usize, Box<[Word]>>,
    turn: usize,
}

impl Shadow {
    /// Takes in an access to `length` bytes. `before` tells whether an earlier access came before it for certain; an
    /// earlier one that did not, and must not meet this one, is answered.
    pub fn access(
        &mut self,
        address: usize,
        length: usize,
        access: Access,
        before: impl Fn(&Access) -> bool,
    ) -> Option<Access> {
        let mut found = None;
        let end = address + length;
        let mut at = address & !(WORD - 1);
        while at < end {
            let page = self
                .pages
                .entry(at & !(PAGE - 1))
                .or_insert_with(|| vec![Word::default(); PAGE / WORD].into());
            let page_end = (at & !(PAGE - 1)) + PAGE;
            while at < end.min(page_end) {
                let (first, last) = (address.max(at) - at, end.min(at + WORD) - at);
                let bytes = ((1u8 << last) - 1) & !((1u8 << first) - 1);
                let word = &mut page[at % PAGE / WORD];
                self.turn = self.turn.wrapping_add(1);
                found = found.or(word.access(Access { bytes, ..access }, &before, self.turn));
                at += WORD;
            }
        }
        found
    }

    /// Forgets what was done to memory that others get now.
    pub fn forget(&mut self, address: usize, length: usize) {
        let end = address + length;
        let mut at = address & !(WORD - 1);
        while at < end {
            let page_end = (at & !(PAGE - 1)) + PAGE;
            if let Some(page) = self.pages.get_mut(&(at & !(PAGE - 1))) {
                let (first, last) =
                    (at % PAGE / WORD, (end.min(page_end) - (page_end - PAGE)).div_ceil(WORD));
                page[first..last].fill(Word::default());
            }
            at = page_end;
        }
    }
}

impl Word {
    #[inline]
    fn access(&mut self, access: Access, before: &impl Fn(&Access) -> bool, turn: usize) -> Option<Access> {
        let races = |earlier: &&Access| earlier.conflicts(&access) && !before(earlier);
        let found = self.writes.iter().find(races);
        let found = if access.writes { found.or(self.reads.iter().find(races)) } else { found }.copied();
        if access.writes {
            // What came before this write is behind it for all that come; what raced with it was told.
            for earlier in self.writes.iter_mut().chain(&mut self.reads) {
                if earlier.bytes & !access.bytes == 0 {
                    *earlier = Access::default();
                }
            }
            put(&mut self.writes, access, turn, before);
        } else {
            put(&mut self.reads, access, turn, before);
        }
        found
    }
}

/// In place of one that it stands for: of the same thread, or known to be earlier. Else where room is, else in turn.
fn put(slots: &mut [Access], access: Access, turn: usize, before: &impl Fn(&Access) -> bool) {
    let covered = |earlier: &Access| {
        earlier.bytes & !access.bytes == 0 && (earlier.same_thread(&access) || before(earlier))
    };
    let place = slots
        .iter()
        .position(|slot| slot.bytes != 0 && covered(slot))
        .or_else(|| slots.iter().position(|slot| slot.bytes == 0))
        .unwrap_or(turn % slots.len());
    slots[place] = access;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(thread: u16, writes: bool) -> Access {
        Access { thread, writes, time: 1, ..Access::default() }
    }

    /// Accesses `(thread, writes, address, length)` with nothing ordered: the threads of the first pair that races.
    fn race(accesses: &[(u16, bool, usize, usize)]) -> Option<(u16, u16)> {
        let mut shadow = Shadow::default();
        accesses.iter().find_map(|(thread, writes, address, length)| {
            let earlier = shadow.access(*address, *length, access(*thread, *writes), |_| false)?;
            Some((earlier.thread, *thread))
        })
    }

    #[test]
    fn a_write_meets_whatever_touches_one_of_its_bytes() {
        assert_eq!(race(&[(0, true, 16, 4), (1, false, 19, 1)]), Some((0, 1)));
        assert_eq!(race(&[(0, false, 14, 8), (1, true, 16, 2)]), Some((0, 1)));
        assert_eq!(race(&[(0, true, 4094, 4), (1, true, 4096, 16)]), Some((0, 1)));
    }

    #[test]
    fn neighbours_readers_and_a_thread_alone_meet_nobody() {
        assert_eq!(race(&[(0, true, 16, 2), (1, true, 18, 2), (0, false, 16, 2), (1, false, 18, 2)]), None);
        assert_eq!(race(&[(0, false, 16, 4), (1, false, 16, 4), (2, false, 16, 4)]), None);
        assert_eq!(race(&[(0, true, 16, 4), (0, false, 16, 4), (0, true, 16, 4)]), None);
    }

    #[test]
    fn one_of_many_readers_is_still_remembered() {
        let mut all: Vec<_> = (0..100).map(|thread| (thread, false, 32, 4)).collect();
        all.push((200, true, 32, 4));
        assert!(race(&all).is_some());
    }

    #[test]
    fn atomics_meet_atomics_but_no_plain_access() {
        let relaxed = |thread| Access { relaxed: true, ..access(thread, true) };
        let mut shadow = Shadow::default();
        assert_eq!(shadow.access(8, 4, relaxed(0), |_| false), None);
        assert_eq!(shadow.access(8, 4, relaxed(1), |_| false), None);
        assert!(shadow.access(8, 4, access(2, false), |_| false).is_some());
    }

    #[test]
    fn memory_that_is_given_to_others_begins_anew() {
        let mut shadow = Shadow::default();
        shadow.access(4090, 12, access(0, true), |_| false);
        shadow.forget(4088, 16);
        assert_eq!(shadow.access(4090, 12, access(1, true), |_| false), None);
    }
}
