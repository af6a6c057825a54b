//! The race detector of the cpu device: which two accesses to the same bytes does nothing bring into an order?
//!
//! The compiler's thread instrumentation (`-fsanitize=thread`) calls [`race_hooks`](super::scheduler::race_hooks) at each access; `libtsan` is not linked,
//! because it knows neither these threads nor these barriers. Each thread has a vector clock ([`clock`]), each word of memory its last
//! accesses ([`shadow`]), as in FastTrack (Flanagan and Freund, PLDI 2009). One access comes before another where the same
//! thread made both, or a chain of these leads from one to the other:
//! - `__syncthreads` and its kin, over the threads of a block; the grid's barrier, over all threads;
//! - `__syncwarp` and `sync()` of a group of lanes, over these lanes. A shuffle or a vote orders nothing in memory, as CUDA's
//!   documentation has it;
//! - an atomic that releases and one of the same word that acquires and comes after it. CUDA's own atomic functions count as
//!   both, which is more than they promise: a fence that is missing beside them is not found;
//! - a volatile or cache-bypassing store after a fence or a barrier, and a load of that word before one: C++'s fences.
//!   So a tagged word carries its value, and other memory only where a fence or a barrier stands between.
//!
//! All this is independent of the order in which the threads happened to run. What is not seen: accesses inside `memcpy`
//! of many bytes, and, of many unordered accesses to a word, those of all but a few threads. The stacks of the threads are
//! nobody else's and are left out. A launch is followed on one core.

mod clock;
mod shadow;

use crate::api::DeviceError;
use crate::cpu::abi::WARP;
use clock::Clock;
use serde::{Deserialize, Serialize};
use shadow::Shadow;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};

/// The environment variable that names the file of what is found.
pub const LOG: &str = "LAB_RACES";

/// Races that are told of one launch.
const MOST: usize = 50;

/// Two accesses that race. One of them writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Race {
    pub shared: bool,
    /// In the order in which they came.
    pub accesses: [Party; 2],
}

/// One of two accesses that race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    pub block: [u32; 3],
    pub thread: [u32; 3],
    pub writes: bool,
    /// Where it returns to, from the image's beginning.
    pub pc: u64,
    /// Of the warp in its block.
    pub warp: u32,
}

/// The smallest group that two threads are both in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    Warp,
    Block,
    Grid,
}

impl Reach {
    pub fn of([a, b]: &[Party; 2]) -> Reach {
        match (a.block == b.block, a.warp == b.warp) {
            (true, true) => Reach::Warp,
            (true, false) => Reach::Block,
            (false, _) => Reach::Grid,
        }
    }
}

struct Thread {
    time: u32,
    clock: Clock,
    /// What it knew at its last fence, and gives away with a relaxed store.
    released: Clock,
    /// What relaxed loads brought, and its next fence takes in. A list, because most of it is brought to many threads alike.
    brought: Vec<Clock>,
}

/// What an atomic does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    Load,
    Store,
    Modify,
}

/// One launch.
pub struct Races {
    grid: [u32; 3],
    dim: [u32; 3],
    /// Where the image lies.
    base: usize,
    /// By block; `None` of those that have not begun.
    blocks: HashMap<u32, Vec<Thread>>,
    shadow: Shadow,
    /// What a word carries that atomics or volatile stores wrote to.
    words: HashMap<usize, Clock>,
    /// By the two places and how far apart the threads were.
    told: HashSet<(u32, u32, Reach)>,
    found: Vec<Race>,
}

/// A thread by its block and its place in it.
type Who = (u32, u32);

impl Races {
    pub fn new(grid: [u32; 3], dim: [u32; 3], base: usize) -> Races {
        Races {
            grid,
            dim,
            base,
            blocks: HashMap::new(),
            shadow: Shadow::default(),
            words: HashMap::new(),
            told: HashSet::new(),
            found: Vec::new(),
        }
    }

    /// Tells what was found: a line of JSON for each, at the end of the file that [`LOG`] names.
    pub fn log(self) -> Result<(), DeviceError> {
        let Some(path) = std::env::var_os(LOG).filter(|_| !self.found.is_empty()) else { return Ok(()) };
        let lines: Result<Vec<String>, _> = self.found.iter().map(serde_json::to_string).collect();
        let write = |lines: Vec<String>| {
            let mut file = File::options().append(true).create(true).open(&path)?;
            lines.iter().try_for_each(|line| writeln!(file, "{line}"))
        };
        lines.map_err(io::Error::from).and_then(write).map_err(|e| {
            DeviceError::Driver(format!(
                "the races that were found cannot be written to {}: {e}",
                path.display()
            ))
        })
    }

    /// All threads of a block are about to begin.
    pub fn begin(&mut self, block: u32) {
        let thread =
            |_| Thread { time: 1, clock: Clock::default(), released: Clock::default(), brought: Vec::new() };
        self.blocks.insert(block, (0..self.threads()).map(thread).collect());
    }

    pub fn end(&mut self, block: u32) {
        self.blocks.remove(&block);
    }

    /// Memory gets a new owner.
    pub fn forget(&mut self, address: usize, length: usize) {
        self.shadow.forget(address, length);
        if self.words.len() < length {
            self.words.retain(|word, _| !(address..address + length).contains(word));
        } else {
            (address..address + length).for_each(|word| drop(self.words.remove(&word)));
        }
    }

    /// Some threads of a block have met at a barrier.
    pub fn meet(&mut self, block: u32, who: impl Iterator<Item = u32> + Clone) {
        let count = self.threads();
        let Some(threads) = self.blocks.get_mut(&block) else { return };
        let mut all = Clock::default();
        join_all(&mut all, who.clone().map(|t| &threads[t as usize]));
        all.learn(block, count, who.clone().map(|t| (t, threads[t as usize].time)));
        who.for_each(|t| threads[t as usize].pass(&all));
    }

    /// All threads have met.
    pub fn meet_all(&mut self) {
        let count = self.threads();
        let mut all = Clock::default();
        for (block, threads) in &self.blocks {
            join_all(&mut all, threads.iter());
            all.learn(*block, count, (0..).zip(threads.iter().map(|thread| thread.time)));
        }
        self.blocks.values_mut().flatten().for_each(|thread| thread.pass(&all));
    }

    pub fn fence(&mut self, who: Who) {
        let count = self.threads();
        let Some(thread) = self.thread(who) else { return };
        std::mem::take(&mut thread.brought).iter().for_each(|brought| thread.clock.join(brought));
        thread.released = thread.snapshot(who, count);
    }

    /// An atomic of a word, with C++'s orders: does it acquire, does it release?
    pub fn atomic(&mut self, who: Who, word: usize, what: Atomic, acquires: bool, releases: bool) {
        let count = self.threads();
        let carried = self.words.entry(word).or_default();
        let Some(thread) = self.blocks.get_mut(&who.0).and_then(|block| block.get_mut(who.1 as usize)) else {
            return;
        };
        if what != Atomic::Store {
            if acquires {
                thread.clock.join(carried);
            } else if carried.knows_anything()
                && !thread.brought.iter().any(|brought| brought.id() == carried.id())
            {
                thread.brought.push(carried.clone());
            }
        }
        if what == Atomic::Load {
            return;
        }
        let gives = if releases { thread.snapshot(who, count) } else { thread.released.clone() };
        match what {
            Atomic::Store => *carried = gives,
            _ => carried.join(&gives),
        }
    }

    /// An access that a thread is about to make. `shared`: it is to its block's shared memory.
    pub fn access(
        &mut self,
        who: Who,
        address: usize,
        length: usize,
        kind: Kind,
        pc: usize,
        shared: impl FnOnce() -> bool,
    ) {
        let Some(thread) = self.blocks.get(&who.0).and_then(|block| block.get(who.1 as usize)) else {
            return;
        };
        let access = shadow::Access {
            block: who.0,
            thread: who.1 as u16,
            bytes: 0,
            relaxed: kind.relaxed,
            writes: kind.writes,
            time: thread.time,
            pc: pc.wrapping_sub(self.base) as u32,
        };
        let clock = &thread.clock;
        let before = |earlier: &shadow::Access| {
            earlier.same_thread(&access) || clock.of(earlier.block, earlier.thread.into()) >= earlier.time
        };
        let Some(earlier) = self.shadow.access(address, length, access, before) else { return };
        let accesses = [self.party(&earlier), self.party(&access)];
        let reach = Reach::of(&accesses);
        if self.found.len() < MOST && self.told.insert((earlier.pc, access.pc, reach)) {
            self.found.push(Race { shared: shared(), accesses });
        }
    }

    fn party(&self, access: &shadow::Access) -> Party {
        let t = u32::from(access.thread);
        Party {
            block: place(access.block, self.grid),
            thread: place(t, self.dim),
            writes: access.writes,
            pc: access.pc.into(),
            warp: t / WARP,
        }
    }

    fn threads(&self) -> usize {
        self.dim.iter().product::<u32>() as usize
    }

    fn thread(&mut self, (block, t): Who) -> Option<&mut Thread> {
        self.blocks.get_mut(&block)?.get_mut(t as usize)
    }
}

/// How memory is accessed.
#[derive(Clone, Copy)]
pub struct Kind {
    pub writes: bool,
    pub relaxed: bool,
}

impl Thread {
    /// All that it knows and did until now; what it does from here on is later.
    fn snapshot(&mut self, (block, t): Who, threads: usize) -> Clock {
        self.clock.learn(block, threads, [(t, self.time)].into_iter());
        self.time += 1;
        self.clock.clone()
    }

    /// Passes a barrier, which is a fence too.
    fn pass(&mut self, all: &Clock) {
        self.clock = all.clone();
        self.released = all.clone();
        self.brought.clear();
        self.time += 1;
    }
}

/// What these threads know and were brought, each piece once.
fn join_all<'a>(all: &mut Clock, threads: impl Iterator<Item = &'a Thread>) {
    let mut seen = HashSet::new();
    for clock in threads.flat_map(|thread| std::iter::once(&thread.clock).chain(&thread.brought)) {
        if seen.insert(clock.id()) {
            all.join(clock);
        }
    }
}

fn place(linear: u32, [width, height, _]: [u32; 3]) -> [u32; 3] {
    let (width, height) = (width.max(1), height.max(1));
    [linear % width, linear / width % height, linear / width / height]
}
