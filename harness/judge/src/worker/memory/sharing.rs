//! Buffers that two processes have, and buffers without guard zones.
//!
//! The judge's own worker allocates what the other workers of a run launch on, guard zones included,
//! and each of them maps its part. So what a kernel does to the memory of its process cannot reach
//! what the judge knows of the buffers. What the judge holds for itself, such as inputs and expected
//! results, no other process maps, and it needs no guard zones.

use super::{Buffer, BufferId, Content, Device, FRONT, present};
use lab_device::{DeviceError, MemoryRange};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
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
}

/// Freed memory of held buffers, which waits for others of the same size: to get memory from the
/// driver and to give it back takes longer than most of what is done with it.
#[derive(Default)]
pub struct Spare {
    /// Bytes and address.
    blocks: Vec<(usize, u64)>,
    bytes: usize,
}

impl Spare {
    /// Most bytes that wait.
    const MOST: usize = 2 << 30;

    fn take(&mut self, bytes: usize) -> Option<u64> {
        let at = self.blocks.iter().rposition(|(size, _)| *size == bytes)?;
        self.bytes -= bytes;
        Some(self.blocks.swap_remove(at).1)
    }

    /// Returns false if there is no room.
    fn put(&mut self, bytes: usize, address: u64) -> bool {
        let fits = self.bytes + bytes <= Self::MOST;
        if fits {
            self.bytes += bytes;
            self.blocks.push((bytes, address));
        }
        fits
    }

    fn empty(&mut self) -> Vec<u64> {
        self.bytes = 0;
        self.blocks.drain(..).map(|(_, address)| address).collect()
    }
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
        let (block, descriptor) = self.driver.alloc_shared(bytes).or_else(|_| {
            self.free_spare()?;
            self.driver.alloc_shared(bytes)
        })?;
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
        self.plain.insert(id.0, Plain { block, range });
    }

    /// Makes a buffer that the judge holds for itself, with this content; with unspecified content if
    /// there is none.
    pub fn hold(&mut self, bytes: usize, content: &[u8]) -> Result<BufferId, DeviceError> {
        let address = match self.spare.take(bytes) {
            Some(address) => address,
            None => self.allocate_held(bytes)?,
        };
        let id = BufferId(self.next_shared(1));
        self.add_plain(id, address, MemoryRange { address, bytes });
        if !content.is_empty() {
            self.driver.upload(address, content)?;
        }
        Ok(id)
    }

    /// New memory; where the device has too little, it first gets back what is spare.
    fn allocate_held(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        self.driver.alloc_exact(bytes).or_else(|_| {
            self.free_spare()?;
            self.driver.alloc_exact(bytes)
        })
    }

    /// Gives the device back what is spare.
    pub(super) fn free_spare(&mut self) -> Result<(), DeviceError> {
        let mut addresses = self.spare.empty().into_iter();
        addresses.try_for_each(|address| self.driver.free(address))
    }

    /// [`Device::hold`] of copies of these buffers.
    pub fn hold_copies(&mut self, of: &[BufferId]) -> Result<Vec<BufferId>, DeviceError> {
        let copy = |of: &BufferId| {
            let from = self.range(*of)?;
            let id = self.hold(from.bytes, &[])?;
            let to = self.range(id)?;
            self.driver
                .copy_before(from.address, to.address, from.bytes)?;
            Ok(id)
        };
        of.iter().map(copy).collect()
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
        if !self.plain.contains_key(&id.0) {
            return Ok(false);
        }
        self.freed.insert(id.0);
        self.free_unused()?;
        Ok(true)
    }

    /// Frees the allocations all of whose buffers are freed, and are the content of no input.
    pub(super) fn free_unused(&mut self) -> Result<(), DeviceError> {
        if self.freed.is_empty() {
            return Ok(());
        }
        let buffers = self.buffers.values();
        let used: BTreeSet<u64> = buffers
            .filter_map(|buffer| buffer.content.held_at())
            .collect();
        let is_unused = |id: &u32| {
            let plain = self.plain.get(id);
            plain.is_some_and(|plain| !used.contains(&plain.range.address))
        };
        let (unused, used): (BTreeSet<u32>, BTreeSet<u32>) = std::mem::take(&mut self.freed)
            .into_iter()
            .partition(is_unused);
        self.freed = used;
        for id in unused {
            let Some(plain) = self.plain.remove(&id) else {
                continue;
            };
            let is_mapped = plain.range.address != plain.block;
            let mut others = self.plain.values();
            if is_mapped && others.any(|other| other.block == plain.block) {
                continue;
            }
            let spare = !is_mapped && self.spare.put(plain.range.bytes, plain.block);
            if !spare {
                self.driver.finish()?;
                self.driver.free(plain.block)?;
            }
        }
        Ok(())
    }

    /// Frees these buffers, and every buffer of these owners, whose workers have ended.
    pub fn free_all(&mut self, owners: &[u32], buffers: &[BufferId]) -> Result<(), DeviceError> {
        let (plain, guarded): (Vec<BufferId>, Vec<BufferId>) =
            (buffers.iter().copied()).partition(|id| self.plain.contains_key(&id.0));
        guarded.into_iter().try_for_each(|id| self.free(id))?;
        let of_owner = |(id, buffer): (&u32, &Buffer)| {
            (owners.contains(&buffer.owner) && !buffer.is_freed).then_some(BufferId(*id))
        };
        let left: Vec<BufferId> = self.buffers.iter().filter_map(of_owner).collect();
        left.into_iter().try_for_each(|id| self.free(id))?;
        self.freed.extend(plain.into_iter().map(|id| id.0));
        self.free_unused()
    }

    /// Prepares buffers for a launch of another process: fills these, and expects that the launch
    /// writes to the given ones.
    pub fn prepare_launch(
        &mut self,
        owner: u32,
        fills: Vec<(BufferId, u32)>,
        given: &[BufferId],
    ) -> Result<(), DeviceError> {
        self.fill_all(&fills, super::Filling::Ahead)?;
        self.expect_launch(owner)?;
        for id in given {
            if present(&mut self.buffers, *id).is_ok() {
                self.address(*id)?;
            }
        }
        self.driver.finish()
    }
}
