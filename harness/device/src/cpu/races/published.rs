//! What the fences, barriers and releasing atomics of a thread publish, and to whom.

use super::clock::VectorClock;

/// To whom an operation publishes what its thread knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// To the threads of its block.
    Block,
    /// To all threads.
    #[default]
    Device,
}

/// Clocks that a thread has released, or that a word of memory holds.
#[derive(Clone, Debug, Default)]
pub struct Released {
    /// For all threads.
    pub device: VectorClock,
    /// For the threads of the same block. It is as late as `device`, or later.
    pub block: VectorClock,
}

impl Released {
    /// Replaces what was released in this scope.
    pub fn set(&mut self, clock: &VectorClock, scope: Scope) {
        self.block = clock.clone();
        if scope == Scope::Device {
            self.device = clock.clone();
        }
    }
}

/// What loads of a word acquire.
#[derive(Default)]
pub struct Published {
    pub device: VectorClock,
    /// For the threads of some blocks, by the block's index.
    blocks: Vec<(u32, VectorClock)>,
}

impl Published {
    /// What the threads of a block alone acquire.
    pub fn of_block(&self, block: u32) -> Option<&VectorClock> {
        let found = self.blocks.iter().find(|(known, _)| *known == block);
        found.map(|(_, clock)| clock)
    }

    /// Takes what a thread of `block` releases. A store replaces what was there; another operation
    /// adds to it. `is_running` says whether a block has not ended.
    pub fn publish(
        &mut self,
        block: u32,
        released: &Released,
        is_store: bool,
        is_running: impl Fn(u32) -> bool,
    ) {
        if is_store {
            self.device = released.device.clone();
            self.blocks.clear();
        } else {
            self.device.join(&released.device);
        }
        if let Some((_, known)) = self.blocks.iter_mut().find(|(known, _)| *known == block) {
            known.join(&released.block);
        } else if !released.block.is_empty() {
            self.blocks.retain(|(known, _)| is_running(*known));
            self.blocks.push((block, released.block.clone()));
        }
    }
}
