//! What the detector knows of one CUDA thread.

use super::clock::VectorClock;
use super::published::{Released, Scope};
use std::collections::HashSet;

/// A thread: the linear index of its block, and its linear index in the block.
pub type ThreadId = (u32, u32);

/// One thread.
#[derive(Default)]
pub struct ThreadState {
    /// The thread's own time. It advances at each release.
    pub time: u32,
    /// What happened before the thread's next access.
    pub clock: VectorClock,
    /// The thread's clock at its last fence or barrier. A relaxed store publishes this clock.
    pub released: Released,
    /// Clocks that relaxed loads read, and the scope that a fence must have at least to acquire
    /// them. A list, because many threads usually hold the same clocks, and joining them here would
    /// copy each.
    pub unacquired: Vec<(VectorClock, Scope)>,
    /// The scope of the thread's atomics and fences.
    pub scope: Scope,
}

impl ThreadState {
    /// Returns the clock with all that the thread knows and has done, and advances the thread's
    /// time: later accesses are not part of what was released.
    pub fn release(&mut self, (block, thread): ThreadId, threads_per_block: usize) -> VectorClock {
        self.clock
            .learn(block, threads_per_block, [(thread, self.time)].into_iter());
        self.time += 1;
        self.clock.clone()
    }

    /// Passes a barrier, which is also a fence of this scope.
    pub fn pass_barrier(&mut self, all: &VectorClock, scope: Scope) {
        self.clock = all.clone();
        self.released.set(all, scope);
        self.unacquired.clear();
        self.time += 1;
    }
}

/// Joins the clocks of `threads` into `all`, and those they have not acquired yet. Clocks that
/// threads share are joined once.
pub fn join_all<'a>(all: &mut VectorClock, threads: impl Iterator<Item = &'a ThreadState>) {
    let mut seen = HashSet::new();
    let clocks_of = |thread: &'a ThreadState| {
        let unacquired = thread.unacquired.iter().map(|(clock, _)| clock);
        std::iter::once(&thread.clock).chain(unacquired)
    };
    for clock in threads.flat_map(clocks_of) {
        if seen.insert(clock.id()) {
            all.join(clock);
        }
    }
}
