//! The detector of one launch: it takes barriers, fences, atomics and accesses as they run, and
//! collects the races.

use super::IndexMap;
use super::executed::ExecutedInstructions;
use super::outside::WatchedBuffers;
use super::past::Past;
use super::published::{Published, Scope};
use super::report::{
    self, BarrierScope, MemorySpace, OutsideRead, Race, RaceKind, RaceLogLine, RacingAccess,
};
use super::shadow::{ShadowAccess, ShadowMemory};
use super::thread::{ThreadId, ThreadState, join_all};
use crate::api::{Result, volume};
use crate::cpu::abi::WARP;
use crate::cpu::order::index_in;
use std::collections::{HashMap, HashSet};

/// Races that are reported of one launch; further ones are dropped.
const MAX_RACES: usize = 50;

/// What an atomic operation does with its word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AtomicOperation {
    Load,
    Store,
    /// Reads, modifies and writes.
    Modify,
}

/// How an atomic operation orders other accesses, as C++'s memory orders say.
#[derive(Clone, Copy)]
pub struct Order {
    pub acquires: bool,
    pub releases: bool,
}

/// How an instruction accesses memory.
#[derive(Clone, Copy)]
pub struct AccessKind {
    pub writes: bool,
    /// Atomic, volatile, or past a cache: such accesses do not race with each other.
    pub relaxed: bool,
    /// Reads and writes in one operation.
    pub modifies: bool,
}

/// The race detector of one launch.
pub struct RaceDetector {
    grid: [u32; 3],
    block: [u32; 3],
    threads_per_block: usize,
    /// Address at which the module's image begins.
    image: usize,
    /// The threads of each block that has begun.
    blocks: IndexMap<u32, Vec<ThreadState>>,
    shadow: ShadowMemory,
    /// For each word that an atomic or a volatile store wrote: what a load of the word
    /// acquires.
    words: IndexMap<usize, Published>,
    /// Pairs of instructions that were reported, with the scope of the missing barrier.
    reported: HashSet<(u32, u32, BarrierScope)>,
    races: Vec<Race>,
    buffers: WatchedBuffers,
    /// By the instruction and the name of the buffer.
    outside: HashMap<(u32, String), OutsideRead>,
    /// How many further accesses are looked at.
    left: u64,
    executed: ExecutedInstructions,
    /// A write that races with an earlier write. The memory may tell, once it was made, that both
    /// wrote the same.
    pub unsettled: Option<UnsettledWrite>,
}

/// A write that races with an earlier write, unless both write the same value: kernels often let
/// many threads store one result, and compute-sanitizer's racecheck reports no error then.
pub struct UnsettledWrite {
    pub address: usize,
    pub length: usize,
    /// The bytes before the write.
    pub before: Vec<u8>,
    race: Race,
    key: (u32, u32, BarrierScope),
}

impl RaceDetector {
    /// `grid` in blocks, `block` in threads; `image` is the address at which the module's image
    /// begins.
    pub fn new(
        grid: [u32; 3],
        block: [u32; 3],
        image: usize,
        buffers: WatchedBuffers,
    ) -> RaceDetector {
        RaceDetector {
            grid,
            block,
            threads_per_block: volume(block) as usize,
            image,
            blocks: IndexMap::default(),
            shadow: ShadowMemory::default(),
            words: IndexMap::default(),
            reported: HashSet::new(),
            races: Vec::new(),
            buffers,
            outside: HashMap::new(),
            left: report::most_accesses(),
            executed: ExecutedInstructions::default(),
            unsettled: None,
        }
    }

    /// Appends the races and the executed instructions to the log that `LAB_RACES` names.
    pub fn write_log(mut self) -> Result {
        if let Some(write) = self.unsettled.take() {
            // The launch failed at this write.
            self.settle(write);
        }
        let executed = RaceLogLine::Executed(self.executed.list());
        let races = self.races.into_iter().map(RaceLogLine::Race);
        let outside = self.outside.into_values().map(RaceLogLine::Outside);
        report::append(&races.chain(outside).chain([executed]).collect::<Vec<_>>())
    }

    /// The instruction before `pc` is about to access memory. On a thread's own stack nothing races.
    #[inline]
    pub fn executes(&mut self, pc: usize, is_on_stack: bool) {
        let is_watched = is_on_stack || self.left > 0;
        self.executed.note(pc.wrapping_sub(self.image), is_watched);
    }

    /// Reports a write that was unsettled and has changed the memory.
    pub fn settle(&mut self, write: UnsettledWrite) {
        self.report(write.key, write.race);
    }

    fn report(&mut self, key: (u32, u32, BarrierScope), race: Race) {
        if self.races.len() < MAX_RACES && self.reported.insert(key) {
            self.races.push(race);
        }
    }

    /// The threads of `block` are about to begin.
    pub fn block_begins(&mut self, block: u32) {
        let thread = |_| ThreadState {
            time: 1,
            ..ThreadState::default()
        };
        let threads = (0..self.threads_per_block).map(thread);
        self.blocks.insert(block, threads.collect());
    }

    /// The threads of `block` have returned.
    pub fn block_ended(&mut self, block: u32) {
        self.blocks.remove(&block);
    }

    /// Forgets all accesses to `length` bytes at `address`: the memory now belongs to another
    /// block.
    pub fn reset_memory(&mut self, address: usize, length: usize) {
        self.shadow.reset(address, length);
        if self.words.len() < length {
            self.words
                .retain(|word, _| !(address..address + length).contains(word));
        } else {
            (address..address + length).for_each(|word| drop(self.words.remove(&word)));
        }
    }

    /// These threads of `block` have met at a barrier.
    pub fn threads_met(&mut self, block: u32, threads: impl Iterator<Item = u32> + Clone) {
        let Some(states) = self.blocks.get_mut(&block) else {
            return;
        };
        let mut all = Past::default();
        join_all(&mut all, threads.clone().map(|t| &states[t as usize]));
        let times = threads.clone().map(|t| (t, states[t as usize].time));
        all.learn(block, self.threads_per_block, times);
        threads.for_each(|t| states[t as usize].pass_barrier(&all, Scope::Block));
    }

    /// All threads of the launch have met at the grid's barrier.
    pub fn grid_met(&mut self) {
        let mut all = Past::default();
        for (block, threads) in &self.blocks {
            join_all(&mut all, threads.iter());
            let times = (0..).zip(threads.iter().map(|thread| thread.time));
            all.learn(*block, self.threads_per_block, times);
        }
        self.blocks
            .values_mut()
            .flatten()
            .for_each(|thread| thread.pass_barrier(&all, Scope::Device));
    }

    /// A memory fence: acquires what relaxed loads read before it, and releases to relaxed stores
    /// after it.
    pub fn fence(&mut self, id: ThreadId) {
        let Some(thread) = thread_of(&mut self.blocks, id) else {
            return;
        };
        let scope = thread.scope;
        for (past, needs) in std::mem::take(&mut thread.unacquired) {
            if needs == Scope::Device && scope == Scope::Block {
                thread.unacquired.push((past, needs));
            } else {
                thread.past.join(&past);
            }
        }
        let past = thread.release(id, self.threads_per_block);
        thread.released.set(&past, scope);
    }

    /// The atomics and fences of a thread have this scope from now on.
    pub fn set_scope(&mut self, id: ThreadId, is_block: bool) {
        if let Some(thread) = thread_of(&mut self.blocks, id) {
            thread.scope = if is_block {
                Scope::Block
            } else {
                Scope::Device
            };
        }
    }

    /// An atomic operation on a word.
    pub fn atomic(
        &mut self,
        id: ThreadId,
        word: usize,
        operation: AtomicOperation,
        Order { acquires, releases }: Order,
    ) {
        let published = self.words.entry(word).or_default();
        let Some(thread) = thread_of(&mut self.blocks, id) else {
            return;
        };
        let scope = thread.scope;
        if operation != AtomicOperation::Store {
            let of_block = published.of_block(id.0).map(|past| (past, Scope::Block));
            for (past, needs) in of_block
                .into_iter()
                .chain([(&published.device, Scope::Device)])
            {
                let is_known = |(known, has): &(Past, Scope)| {
                    known.id() == past.id() && (*has == Scope::Block || needs == Scope::Device)
                };
                if acquires && (needs == Scope::Block || scope == Scope::Device) {
                    thread.past.join(past);
                } else if !past.is_empty() && !thread.unacquired.iter().any(is_known) {
                    thread.unacquired.push((past.clone(), needs));
                }
            }
        }
        if operation == AtomicOperation::Load {
            return;
        }
        let mut released = thread.released.clone();
        if releases {
            released.set(&thread.release(id, self.threads_per_block), scope);
        }
        let is_store = operation == AtomicOperation::Store;
        let blocks = &self.blocks;
        published.publish(id.0, &released, is_store, |block| {
            blocks.contains_key(&block)
        });
    }

    /// A load at `pc` of memory that no thread of the launch may write.
    pub fn read_only(&mut self, id: ThreadId, address: usize, length: usize, pc: usize) {
        let Some(write) = self.shadow.last_write(address, length) else {
            return;
        };
        let read = ShadowAccess {
            block: id.0,
            thread: id.1 as u16,
            pc: pc.wrapping_sub(self.image) as u32,
            ..ShadowAccess::default()
        };
        self.report_both(RaceKind::ReadOnly, MemorySpace::Global, [write, read]);
    }

    /// An access to the local memory of another thread. `pc` is the address of the instruction after
    /// it.
    pub fn access_to_local(&mut self, id: ThreadId, writes: bool, pc: usize) {
        let access = ShadowAccess {
            block: id.0,
            thread: id.1 as u16,
            writes,
            pc: pc.wrapping_sub(self.image) as u32,
            ..ShadowAccess::default()
        };
        self.report_both(RaceKind::Local, MemorySpace::Local, [access, access]);
    }

    fn report_both(&mut self, kind: RaceKind, memory: MemorySpace, both: [ShadowAccess; 2]) {
        let accesses = both.map(|access| self.racing(&access));
        let key = (both[0].pc, both[1].pc, BarrierScope::of(&accesses));
        self.report(
            key,
            Race {
                kind,
                memory,
                accesses,
            },
        );
    }

    /// An access to `length` bytes at `address` that a thread is about to make. `pc` is the address
    /// of the instruction after it. `memory` is called only where the access races.
    #[inline]
    pub fn access(
        &mut self,
        id: ThreadId,
        address: usize,
        length: usize,
        kind: AccessKind,
        pc: usize,
        memory: impl FnOnce() -> MemorySpace,
    ) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let Some(thread) = self
            .blocks
            .get(&id.0)
            .and_then(|block| block.get(id.1 as usize))
        else {
            return;
        };
        let access = ShadowAccess {
            block: id.0,
            thread: id.1 as u16,
            bytes: 0,
            relaxed: kind.relaxed,
            writes: kind.writes,
            modifies: kind.modifies,
            in_block: kind.relaxed && thread.scope == Scope::Block,
            crowded: false,
            time: thread.time,
            pc: pc.wrapping_sub(self.image) as u32,
        };
        if let Some((buffer, offset)) = self.buffers.beside(address, length) {
            let key = (access.pc, buffer.to_owned());
            if !kind.writes && self.outside.len() < MAX_RACES && !self.outside.contains_key(&key) {
                let (read, buffer) = (self.racing(&access), key.1.clone());
                let outside = OutsideRead {
                    read,
                    buffer,
                    offset,
                };
                self.outside.insert(key, outside);
            }
            return;
        }
        let past = &thread.past;
        let happened_before =
            |earlier: &ShadowAccess| earlier.same_thread(&access) || past.holds(earlier);
        let found = self.shadow.access(address, length, access, happened_before);
        let Some((earlier, kind)) = found else {
            return;
        };
        let accesses = [self.racing(&earlier), self.racing(&access)];
        let key = (earlier.pc, access.pc, BarrierScope::of(&accesses));
        if self.races.len() == MAX_RACES || self.reported.contains(&key) {
            return;
        }
        let race = Race {
            kind,
            memory: memory(),
            accesses,
        };
        let may_be_equal = earlier.relaxed == access.relaxed && kind != RaceKind::BlockScope;
        if earlier.writes && access.writes && may_be_equal {
            self.unsettled = Some(UnsettledWrite {
                address,
                length,
                before: Vec::new(),
                race,
                key,
            });
        } else {
            self.report(key, race);
        }
    }

    fn racing(&self, access: &ShadowAccess) -> RacingAccess {
        let thread = u32::from(access.thread);
        RacingAccess {
            block: index_in(self.grid, access.block.into()),
            thread: index_in(self.block, thread.into()),
            writes: access.writes,
            pc: access.pc.into(),
            warp: thread / WARP,
        }
    }
}

fn thread_of(
    blocks: &mut IndexMap<u32, Vec<ThreadState>>,
    (block, thread): ThreadId,
) -> Option<&mut ThreadState> {
    blocks.get_mut(&block)?.get_mut(thread as usize)
}
