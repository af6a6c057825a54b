//! Buffers that two processes have, and buffers without guard zones.
//!
//! The judge's own worker allocates what the other workers of a run launch on, guard zones included,
//! and each of them maps its part. So what a kernel does to the memory of its process cannot reach
//! what the judge knows of the buffers. What the judge holds for itself, such as inputs and expected
//! results, no other process maps, and it needs no guard zones.

use super::{Buffer, BufferId, Content, Device, FRONT, present};
use lab_device::{DeviceError, MemoryRange};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;

/// The first number of a buffer that the judge's own worker has allocated for others. A worker's
/// own buffers have lower ones.
pub const FIRST: u32 = 1 << 30;

/// Whether the judge's own worker has allocated a buffer.
pub fn is_shared(id: BufferId) -> bool {
    id.0 >= FIRST
}

/// A buffer without guard zones.
pub struct Plain {
    /// The address of its allocation.
    block: u64,
    pub range: MemoryRange,
    /// It was freed, and is still the content of an input.
    is_freed: bool,
}

/// An allocation that another process maps.
#[derive(Debug, Serialize, Deserialize)]
pub struct SharedBlock {
    /// All of it, in whole pages.
    pub bytes: usize,
    /// Its buffers: the number, the offset and the bytes of each.
    pub buffers: Vec<(BufferId, usize, usize)>,
}

impl Device {
    fn next_shared(&mut self, count: usize) -> u32 {
        let first = self.next_shared;
        self.next_shared += count as u32;
        first
    }

    /// Makes buffers between guard zones that another process can map: names and bytes.
    pub fn allocate_shared(
        &mut self,
        owner: u32,
        wanted: Vec<(String, usize)>,
    ) -> Result<(SharedBlock, OwnedFd), DeviceError> {
        let bytes = self.layout(&wanted)?.pop().unwrap_or(0);
        let (block, descriptor) = self.driver.alloc_shared(bytes)?;
        let first = self.next_shared(wanted.len());
        let ids = self.lay_out(owner, block, FRONT, first, wanted)?;
        // Another process reads what was filled here.
        self.driver.finish()?;
        let mut buffers = Vec::with_capacity(ids.len());
        for id in ids {
            let buffer = self.get(id)?;
            buffers.push((id, (buffer.address() - block) as usize, buffer.bytes));
        }
        Ok((SharedBlock { bytes, buffers }, descriptor))
    }

    /// Maps what [`Device::allocate_shared`] of another process has made.
    pub fn map(&mut self, memory: &OwnedFd, shared: &SharedBlock) -> Result<(), DeviceError> {
        let block = self.driver.map_shared(memory, shared.bytes)?;
        for (id, offset, bytes) in &shared.buffers {
            let range = MemoryRange {
                address: block + *offset as u64,
                bytes: *bytes,
            };
            self.add_plain(*id, block, range);
        }
        Ok(())
    }

    fn add_plain(&mut self, id: BufferId, block: u64, range: MemoryRange) {
        let plain = Plain {
            block,
            range,
            is_freed: false,
        };
        self.plain.insert(id.0, plain);
    }

    /// Makes a buffer that the judge holds for itself, with this content; with unspecified content if
    /// there is none.
    pub fn hold(&mut self, bytes: usize, content: &[u8]) -> Result<BufferId, DeviceError> {
        self.free_unused()?;
        let address = self.driver.alloc_exact(bytes)?;
        let id = BufferId(self.next_shared(1));
        self.add_plain(id, address, MemoryRange { address, bytes });
        if !content.is_empty() {
            self.driver.upload(address, content)?;
        }
        Ok(id)
    }

    /// [`Device::hold`] of a copy of a buffer.
    pub fn hold_copy(&mut self, of: BufferId) -> Result<BufferId, DeviceError> {
        let from = self.range(of)?;
        let id = self.hold(from.bytes, &[])?;
        let to = self.range(id)?;
        self.driver
            .copy_before(from.address, to.address, from.bytes)?;
        Ok(id)
    }

    /// Copies a held buffer into another one of its size; `is_input` declares it an input there.
    pub fn copy(
        &mut self,
        held: BufferId,
        to: BufferId,
        is_input: bool,
    ) -> Result<(), DeviceError> {
        let from = self.range(held)?;
        let address = self.opened(to, from.bytes)?;
        self.driver.copy_before(from.address, address, from.bytes)?;
        match is_input {
            true => self.seal_as(to, Content::SealedAs(from)),
            false => Ok(()),
        }
    }

    /// Frees a buffer without guard zones; returns false for another one.
    pub(super) fn free_plain(&mut self, id: BufferId) -> Result<bool, DeviceError> {
        let Some(plain) = self.plain.get_mut(&id.0) else {
            return Ok(false);
        };
        plain.is_freed = true;
        self.free_unused()?;
        Ok(true)
    }

    /// Frees the allocations all of whose buffers are freed, and are the content of no input.
    pub(super) fn free_unused(&mut self) -> Result<(), DeviceError> {
        let buffers = self.buffers.values();
        let used: Vec<u64> = buffers
            .filter_map(|buffer| buffer.content.held_at())
            .collect();
        let is_used = |plain: &Plain| !plain.is_freed || used.contains(&plain.range.address);
        let kept: Vec<u64> = self
            .plain
            .values()
            .filter(|plain| is_used(plain))
            .map(|plain| plain.block)
            .collect();
        let all = std::mem::take(&mut self.plain).into_iter();
        let (kept, unused) = all.partition(|(_, plain)| kept.contains(&plain.block));
        self.plain = kept;
        let mut blocks: Vec<u64> = unused
            .into_values()
            .map(|plain: Plain| plain.block)
            .collect();
        blocks.dedup();
        if !blocks.is_empty() {
            self.driver.finish()?;
        }
        blocks
            .into_iter()
            .try_for_each(|block| self.driver.free(block))
    }

    /// Frees every buffer of an owner, whose worker has ended.
    pub fn release(&mut self, owner: u32) -> Result<(), DeviceError> {
        let of_owner = |(id, buffer): (&u32, &Buffer)| {
            (buffer.owner == owner && !buffer.is_freed).then_some(BufferId(*id))
        };
        let ids: Vec<BufferId> = self.buffers.iter().filter_map(of_owner).collect();
        ids.into_iter().try_for_each(|id| self.free(id))
    }

    /// Prepares buffers for a launch of another process: fills these, and expects that the launch
    /// writes to the given ones.
    pub fn prepare_launch(
        &mut self,
        owner: u32,
        fills: Vec<(BufferId, u32)>,
        given: &[BufferId],
    ) -> Result<(), DeviceError> {
        for (buffer, pattern) in fills {
            self.fill(buffer, pattern, super::Filling::Ahead)?;
        }
        self.expect_launch(owner)?;
        for id in given {
            if present(&mut self.buffers, *id).is_ok() {
                self.address(*id)?;
            }
        }
        self.driver.finish()
    }
}
