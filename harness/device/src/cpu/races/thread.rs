//! What the detector knows of one CUDA thread.

use super::past::Past;
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
    pub past: Past,
    /// What happened before the thread's last fence or barrier. A relaxed store publishes it.
    pub released: Released,
    /// What relaxed loads read, and the scope that a fence must have at least to acquire
    /// them. A list, because many threads usually hold the same, and joining them here would
    /// copy each.
    pub unacquired: Vec<(Past, Scope)>,
    /// The scope of the thread's atomics and fences.
    pub scope: Scope,
}

impl ThreadState {
    /// Returns all that the thread knows and has done, and advances the thread's
    /// time: later accesses are not part of what was released.
    pub fn release(&mut self, (block, thread): ThreadId, threads_per_block: usize) -> Past {
        self.past
            .learn(block, threads_per_block, [(thread, self.time)].into_iter());
        self.time += 1;
        self.past.clone()
    }

    /// Passes a barrier, which is also a fence of this scope.
    pub fn pass_barrier(&mut self, all: &Past, scope: Scope) {
        self.past = all.clone();
        self.released.set(all, scope);
        self.unacquired.clear();
        self.time += 1;
    }
}

/// Joins what `threads` know into `all`, and what they have not acquired yet. What threads share is
/// joined once.
pub fn join_all<'a>(all: &mut Past, threads: impl Iterator<Item = &'a ThreadState>) {
    let mut seen = HashSet::new();
    let known_by = |thread: &'a ThreadState| {
        let unacquired = thread.unacquired.iter().map(|(past, _)| past);
        std::iter::once(&thread.past).chain(unacquired)
    };
    for past in threads.flat_map(known_by) {
        if seen.insert(past.id()) {
            all.join(past);
        }
    }
}
