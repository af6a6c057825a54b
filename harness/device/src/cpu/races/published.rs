//! What the fences, barriers and releasing atomics of a thread publish, and to whom.

use super::past::Past;

/// To whom an operation publishes what its thread knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// To the threads of its block.
    Block,
    /// To all threads.
    #[default]
    Device,
}

/// What a thread has released.
#[derive(Clone, Debug, Default)]
pub struct Released {
    /// For all threads.
    pub device: Past,
    /// For the threads of the same block. It is as late as `device`, or later.
    pub block: Past,
}

impl Released {
    /// Replaces what was released in this scope.
    pub fn set(&mut self, past: &Past, scope: Scope) {
        self.block = past.clone();
        match scope {
            Scope::Device => self.device = past.clone(),
            Scope::Block => self.device.end_loads(past),
        }
    }
}

/// What loads of a word acquire.
#[derive(Default)]
pub struct Published {
    pub device: Past,
    /// For the threads of some blocks, by the block's index.
    blocks: Vec<(u32, Past)>,
}

impl Published {
    /// What the threads of a block alone acquire.
    pub fn of_block(&self, block: u32) -> Option<&Past> {
        let found = self.blocks.iter().find(|(known, _)| *known == block);
        found.map(|(_, past)| past)
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
