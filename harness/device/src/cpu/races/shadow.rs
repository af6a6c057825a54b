//! The last accesses to each word of memory.

use super::IndexMap;
use super::report::RaceKind;

/// One access: what a later access must know to tell whether the two race.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShadowAccess {
    /// Linear index of the block in the grid.
    pub block: u32,
    /// Linear index of the thread in its block.
    pub thread: u16,
    /// The accessed bytes of the word, one bit each; 0 means no access.
    pub bytes: u8,
    /// Atomic, volatile, or past a cache: such accesses do not race with each other.
    pub relaxed: bool,
    pub writes: bool,
    /// Reads and writes in one operation.
    pub modifies: bool,
    /// An atomic of the block's scope: threads of other blocks may come between.
    pub in_block: bool,
    /// Of a read: the record of another one was dropped for it.
    pub crowded: bool,
    /// The thread's time.
    pub time: u32,
    /// Address of the instruction after the access, in bytes from the start of the module's image.
    pub pc: u32,
}

impl ShadowAccess {
    pub fn same_thread(&self, other: &ShadowAccess) -> bool {
        self.thread == other.thread && self.block == other.block
    }

    /// Whether a further access adds nothing to this one.
    fn covers(&self, other: &ShadowAccess) -> bool {
        self.same_thread(other)
            && self.time == other.time
            && other.bytes & !self.bytes == 0
            && self.relaxed == other.relaxed
            && self.in_block == other.in_block
    }

    /// Why the two race unless something orders them: they share a byte, one writes, and not both
    /// are relaxed, or one is so for its block only.
    fn conflicts(&self, other: &ShadowAccess) -> Option<RaceKind> {
        let is_conflict = self.bytes & other.bytes != 0
            && (self.writes || other.writes)
            && !self.same_thread(other);
        if !is_conflict {
            None
        } else if !(self.relaxed && other.relaxed) {
            Some(RaceKind::Unordered)
        } else if (self.in_block || other.in_block) && self.block != other.block {
            Some(RaceKind::BlockScope)
        } else {
            None
        }
    }
}

/// Bytes of a word.
const WORD: usize = 4;
const PAGE: usize = 4096;
/// Unordered accesses that are kept of a word. Where there are more, some are dropped, and their
/// races are missed.
const WRITES: usize = 2;
const READS: usize = 4;

#[derive(Clone, Copy, Default)]
struct Word {
    writes: [ShadowAccess; WRITES],
    reads: [ShadowAccess; READS],
}

/// Bytes that the detector keeps for each byte that a launch accesses.
pub const SHADOW_PER_BYTE: usize = size_of::<Word>() / WORD;

/// The last accesses to memory, by page and word.
#[derive(Default)]
pub struct ShadowMemory {
    pages: Vec<Box<[Word]>>,
    /// The index in `pages` of the page at an address.
    known: IndexMap<usize, usize>,
    /// The page that was used last, and its index: most accesses are to the same page as the one
    /// before.
    last: Option<(usize, usize)>,
    /// Counts accesses; decides which record of a full word is replaced.
    turn: usize,
}

impl ShadowMemory {
    /// Records an access to `length` bytes. `before` says whether an earlier access happened before
    /// this one. Returns an earlier access that races with this one, and why.
    #[inline]
    pub fn access(
        &mut self,
        address: usize,
        length: usize,
        access: ShadowAccess,
        before: impl Fn(&ShadowAccess) -> bool,
    ) -> Option<(ShadowAccess, RaceKind)> {
        let mut found = None;
        let end = address + length;
        let mut at = address & !(WORD - 1);
        while at < end {
            let page = self.page(at & !(PAGE - 1));
            let page_end = (at & !(PAGE - 1)) + PAGE;
            while at < end.min(page_end) {
                let (first, last) = (address.max(at) - at, end.min(at + WORD) - at);
                let bytes = ((1u8 << last) - 1) & !((1u8 << first) - 1);
                let word = &mut self.pages[page][at % PAGE / WORD];
                self.turn = self.turn.wrapping_add(1);
                found = found.or(word.access(ShadowAccess { bytes, ..access }, &before, self.turn));
                at += WORD;
            }
        }
        found
    }

    /// A write to one of these bytes.
    pub fn last_write(&self, address: usize, length: usize) -> Option<ShadowAccess> {
        (address..address + length).step_by(WORD).find_map(|at| {
            let page = &self.pages[*self.known.get(&(at & !(PAGE - 1)))?];
            let writes = page[at % PAGE / WORD].writes;
            writes.into_iter().find(|write| write.bytes != 0)
        })
    }

    /// The index of the page at an address.
    #[inline]
    fn page(&mut self, address: usize) -> usize {
        if let Some((_, index)) = self.last.filter(|(last, _)| *last == address) {
            return index;
        }
        let next = self.pages.len();
        let index = *self.known.entry(address).or_insert(next);
        if index == next {
            self.pages.push(vec![Word::default(); PAGE / WORD].into());
        }
        self.last = Some((address, index));
        index
    }

    /// Drops the records of `length` bytes.
    pub fn reset(&mut self, address: usize, length: usize) {
        let end = address + length;
        let mut at = address & !(WORD - 1);
        while at < end {
            let page_end = (at & !(PAGE - 1)) + PAGE;
            if let Some(page) = self
                .known
                .get(&(at & !(PAGE - 1)))
                .map(|index| &mut self.pages[*index])
            {
                let (first, last) = (
                    at % PAGE / WORD,
                    (end.min(page_end) - (page_end - PAGE)).div_ceil(WORD),
                );
                page[first..last].fill(Word::default());
            }
            at = page_end;
        }
    }
}

impl Word {
    #[inline]
    fn access(
        &mut self,
        access: ShadowAccess,
        before: &impl Fn(&ShadowAccess) -> bool,
        turn: usize,
    ) -> Option<(ShadowAccess, RaceKind)> {
        // The thread has read these bytes since it last released, and nobody has written to them
        // since: a write drops the reads before it.
        if !access.writes && self.reads.iter().any(|earlier| earlier.covers(&access)) {
            return None;
        }
        let races = |earlier: &ShadowAccess| {
            let why = earlier.conflicts(&access)?;
            (!before(earlier)).then_some((*earlier, why))
        };
        let mut found = self.writes.iter().find_map(races);
        if access.writes {
            let of_reads = || self.reads.iter().find_map(races);
            found = found
                .or_else(of_reads)
                .or_else(|| self.undoes(&access, before));
        }
        if access.writes {
            // A later access that is ordered after this write is ordered after those before it too,
            // and a race with this write was just reported: the earlier records are not needed any
            // more.
            for earlier in self.writes.iter_mut().chain(&mut self.reads) {
                if earlier.bytes & !access.bytes == 0 {
                    *earlier = ShadowAccess::default();
                }
            }
            put(&mut self.writes, access, turn, before);
        } else {
            put(&mut self.reads, access, turn, before);
        }
        found
    }
}

impl Word {
    /// A write of another thread that a relaxed store undoes, and that nothing orders before it. Its
    /// thread has loaded the word since its last fence, and stores what it made of a value that may
    /// be gone; or neither it nor a thread before it has looked at the word since. Else they have
    /// waited for what was written.
    fn undoes(
        &self,
        access: &ShadowAccess,
        before: &impl Fn(&ShadowAccess) -> bool,
    ) -> Option<(ShadowAccess, RaceKind)> {
        if !access.relaxed || access.modifies {
            return None;
        }
        let undone = |write: &&ShadowAccess| {
            write.bytes & access.bytes != 0 && !write.same_thread(access) && !before(write)
        };
        let write = self.writes.iter().find(undone)?;
        let seen = |read: &&ShadowAccess| {
            read.bytes & access.bytes != 0 && (read.same_thread(access) || before(read))
        };
        let mut seen = self.reads.iter().filter(seen).peekable();
        let kind = if seen.peek().is_none() {
            let is_unknown = self.reads.iter().any(|read| read.crowded);
            (!is_unknown).then_some(RaceKind::Unordered)
        } else {
            let is_fresh =
                |read: &ShadowAccess| read.same_thread(access) && read.time == access.time;
            seen.any(is_fresh).then_some(RaceKind::LostUpdate)
        };
        kind.map(|kind| (*write, kind))
    }
}

/// Replaces a record that `access` makes unnecessary: one of the same thread, or one that happened
/// before. Otherwise takes a free slot, and if there is none, the next in turn.
#[inline]
fn put(
    slots: &mut [ShadowAccess],
    access: ShadowAccess,
    turn: usize,
    before: &impl Fn(&ShadowAccess) -> bool,
) {
    let covered = |earlier: &ShadowAccess| {
        earlier.bytes & !access.bytes == 0 && (earlier.same_thread(&access) || before(earlier))
    };
    let place = slots
        .iter()
        .position(|slot| slot.bytes != 0 && covered(slot))
        .or_else(|| slots.iter().position(|slot| slot.bytes == 0));
    let drops = |old: &ShadowAccess| old.crowded || old.bytes != 0 && !old.same_thread(&access);
    let crowded = place.is_none_or(|place| drops(&slots[place]));
    slots[place.unwrap_or(turn % slots.len())] = ShadowAccess { crowded, ..access };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(thread: u16, writes: bool) -> ShadowAccess {
        ShadowAccess {
            thread,
            writes,
            time: 1,
            ..ShadowAccess::default()
        }
    }

    /// Accesses `(thread, writes, address, length)` with nothing ordered: the threads of the first
    /// pair that races.
    fn race(accesses: &[(u16, bool, usize, usize)]) -> Option<(u16, u16)> {
        let mut shadow = ShadowMemory::default();
        accesses
            .iter()
            .find_map(|(thread, writes, address, length)| {
                let earlier =
                    shadow.access(*address, *length, access(*thread, *writes), |_| false)?;
                Some((earlier.0.thread, *thread))
            })
    }

    #[test]
    fn a_write_races_with_any_access_to_one_of_its_bytes() {
        assert_eq!(race(&[(0, true, 16, 4), (1, false, 19, 1)]), Some((0, 1)));
        assert_eq!(race(&[(0, false, 14, 8), (1, true, 16, 2)]), Some((0, 1)));
        assert_eq!(
            race(&[(0, true, 4094, 4), (1, true, 4096, 16)]),
            Some((0, 1))
        );
    }

    #[test]
    fn other_bytes_two_reads_and_one_thread_do_not_race() {
        assert_eq!(
            race(&[
                (0, true, 16, 2),
                (1, true, 18, 2),
                (0, false, 16, 2),
                (1, false, 18, 2)
            ]),
            None
        );
        assert_eq!(
            race(&[(0, false, 16, 4), (1, false, 16, 4), (2, false, 16, 4)]),
            None
        );
        assert_eq!(
            race(&[(0, true, 16, 4), (0, false, 16, 4), (0, true, 16, 4)]),
            None
        );
    }

    #[test]
    fn a_write_after_many_reads_still_races() {
        let mut all: Vec<_> = (0..100).map(|thread| (thread, false, 32, 4)).collect();
        all.push((200, true, 32, 4));
        assert!(race(&all).is_some());
    }

    /// An access by an atomic, or by a volatile load or store.
    fn relaxed(thread: u16, writes: bool, modifies: bool) -> ShadowAccess {
        ShadowAccess {
            relaxed: true,
            modifies,
            ..access(thread, writes)
        }
    }

    /// Why the last of these accesses to one word races, with nothing ordered.
    fn last_race(accesses: &[ShadowAccess]) -> Option<RaceKind> {
        let mut shadow = ShadowMemory::default();
        let races = accesses
            .iter()
            .map(|access| shadow.access(8, 4, *access, |_| false));
        races.last().flatten().map(|(_, kind)| kind)
    }

    #[test]
    fn atomics_race_with_plain_accesses_only() {
        let atomic = |thread| relaxed(thread, true, true);
        assert_eq!(last_race(&[atomic(0), atomic(1)]), None);
        let plain = last_race(&[atomic(0), atomic(1), access(2, false)]);
        assert_eq!(plain, Some(RaceKind::Unordered));
    }

    #[test]
    fn a_store_that_may_undo_another_races() {
        let (load, store) = (|t| relaxed(t, false, false), |t| relaxed(t, true, false));
        let update = [load(0), store(0), load(1), store(1)];
        assert_eq!(last_race(&update), Some(RaceKind::LostUpdate));
        assert_eq!(last_race(&[store(0), store(1)]), Some(RaceKind::Unordered));
        // A thread that has waited for the word, and passed a fence, gives it on.
        let later = ShadowAccess {
            time: 2,
            ..store(1)
        };
        assert_eq!(last_race(&[store(0), load(1), later]), None);
    }

    #[test]
    fn an_atomic_of_the_block_is_none_for_another_block() {
        let of_block = |block| ShadowAccess {
            block,
            in_block: true,
            ..relaxed(0, true, true)
        };
        let both = last_race(&[of_block(0), of_block(1)]);
        assert_eq!(both, Some(RaceKind::BlockScope));
    }

    #[test]
    fn memory_that_is_reset_has_no_earlier_accesses() {
        let mut shadow = ShadowMemory::default();
        shadow.access(4090, 12, access(0, true), |_| false);
        shadow.reset(4088, 16);
        assert_eq!(shadow.access(4090, 12, access(1, true), |_| false), None);
    }
}
