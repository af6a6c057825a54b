//! Buffers that two processes have, and buffers without guard zones.
//!
//! The judge's own worker allocates what the other workers of a run launch on, guard zones
//! included, and each of them maps its part. So what a kernel does to the memory of its process
//! cannot reach what the judge knows of the buffers. What the judge holds for itself, such as
//! inputs and expected results, no other process maps, and it needs no guard zones.
//!
//! A worker of CUDA C++ can only read its inputs: a store into one ends the launch.

use super::{Buffer, BufferId, BufferUse, Content, Device, FRONT, present};
use itertools::Itertools as _;
use lab_device::{DeviceError, MemoryRange, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

/// The first number of a buffer that the judge's own worker has allocated for others. A worker's
/// own buffers have lower ones.
pub const FIRST: u32 = 1 << 30;

/// The alignment of buffers that are held in one allocation.
const ALIGNED: usize = 256;

/// Whether the judge's own worker has allocated a buffer.
pub fn is_shared(id: BufferId) -> bool {
    id.0 >= FIRST
}

/// A buffer without guard zones.
pub struct Plain {
    /// The allocation that it is in, alone or with others.
    block: Block,
    pub range: MemoryRange,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Block {
    address: u64,
    /// Bytes of memory that this process holds for itself; `None` of a mapped allocation.
    held: Option<usize>,
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SharedBlock {
    /// All of it, in whole pages.
    pub bytes: usize,
    /// Its buffers: the number, the offset and the bytes of each.
    pub buffers: Vec<(BufferId, usize, usize)>,
    /// The worker that maps it can only read it.
    pub is_read_only: bool,
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
        used: BufferUse,
    ) -> Result<(SharedBlock, OwnedFd)> {
        let bytes = self.layout(owner, &wanted)?.pop().unwrap_or(0);
        let (block, descriptor) = self.driver.alloc_shared(bytes).or_else(|_| {
            self.free_spare()?;
            self.driver.alloc_shared(bytes)
        })?;
        let first = self.next_shared(wanted.len());
        let ids = self.lay_out((owner, used), block, FRONT, first, wanted)?;
        // Another process reads what was filled here.
        self.driver.finish()?;
        let mut buffers = Vec::with_capacity(ids.len());
        for id in ids {
            let buffer = self.get(id)?;
            buffers.push((id, (buffer.address() - block) as usize, buffer.bytes));
        }
        let shared = SharedBlock {
            bytes,
            buffers,
            is_read_only: used == BufferUse::ReadOnly,
        };
        Ok((shared, descriptor))
    }

    /// Maps what [`Device::allocate_shared`] of another process has made.
    pub fn map(&mut self, memory: &OwnedFd, shared: &SharedBlock) -> Result {
        let block = Block {
            address: (self.driver).map_shared(memory, shared.bytes, shared.is_read_only)?,
            held: None,
        };
        for (id, offset, bytes) in &shared.buffers {
            let range = MemoryRange {
                address: block.address + *offset as u64,
                bytes: *bytes,
            };
            self.plain.insert(id.0, Plain { block, range });
        }
        Ok(())
    }

    /// Makes a buffer that the judge holds for itself, with this content; with unspecified content
    /// if there is none.
    pub fn hold(&mut self, bytes: usize, content: &[u8]) -> Result<BufferId> {
        let id = self.hold_all(&[bytes])?[0];
        if !content.is_empty() {
            let address = self.range(id)?.address;
            self.driver.upload(address, content)?;
        }
        Ok(id)
    }

    /// [`Device::hold`] of buffers with so many bytes, in one allocation and with unspecified
    /// content.
    pub fn hold_all(&mut self, bytes: &[usize]) -> Result<Vec<BufferId>> {
        let mut ends = Vec::with_capacity(bytes.len());
        let mut end = 0usize;
        for bytes in bytes {
            let next = end
                .checked_add(*bytes)
                .and_then(|end| end.checked_next_multiple_of(ALIGNED));
            end = next.ok_or_else(|| DeviceError::Driver(format!("{bytes} bytes are too many")))?;
            ends.push(end);
        }
        let end = end.max(ALIGNED);
        let address = match self.spare.take(end) {
            Some(address) => address,
            None => self.allocate_held(end)?,
        };
        let block = Block {
            address,
            held: Some(end),
        };
        let first = self.next_shared(bytes.len());
        let begins = [0].into_iter().chain(ends);
        let each = (first..).zip(begins.zip(bytes));
        Ok(each
            .map(|(number, (begin, bytes))| {
                let range = MemoryRange {
                    address: address + begin as u64,
                    bytes: *bytes,
                };
                self.plain.insert(number, Plain { block, range });
                BufferId(number)
            })
            .collect())
    }

    /// New memory; where the device has too little, it first gets back what is spare.
    fn allocate_held(&mut self, bytes: usize) -> Result<u64> {
        self.driver
            .alloc_exact(bytes, "memory of the judge")
            .or_else(|_| {
                self.free_spare()?;
                self.driver.alloc_exact(bytes, "memory of the judge")
            })
    }

    /// Gives the device back what is spare.
    pub(super) fn free_spare(&mut self) -> Result {
        let mut addresses = self.spare.empty().into_iter();
        addresses.try_for_each(|address| self.driver.free(address))
    }

    /// [`Device::hold`] of copies of these buffers.
    pub fn hold_copies(&mut self, of: &[BufferId]) -> Result<Vec<BufferId>> {
        let from = self.ranges(of)?;
        let bytes = from.iter().map(|range| range.bytes).collect_vec();
        let ids = self.hold_all(&bytes)?;
        for (from, id) in from.iter().zip(&ids) {
            let to = self.range(*id)?;
            self.driver
                .copy_before(from.address, to.address, from.bytes)?;
        }
        Ok(ids)
    }

    /// Copies a held buffer into another one of its size; `is_input` declares it an input there.
    pub fn copy(&mut self, held: BufferId, to: BufferId, is_input: bool) -> Result {
        let from = self.range(held)?;
        let address = self.opened(to, from.bytes)?;
        self.driver.copy_before(from.address, address, from.bytes)?;
        match is_input {
            true => self.seal_as(to, Content::SealedAs(from)),
            false => Ok(()),
        }
    }

    /// Frees the allocations all of whose buffers are freed, and are the content of no input.
    pub(super) fn free_unused(&mut self) -> Result {
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
        let mut blocks = BTreeSet::new();
        for id in unused {
            let Some(plain) = self.plain.remove(&id) else {
                continue;
            };
            blocks.insert(plain.block);
        }
        for plain in self.plain.values() {
            blocks.remove(&plain.block);
        }
        for Block { address, held } in blocks {
            let is_spare = held.is_some_and(|bytes| self.spare.put(bytes, address));
            if !is_spare {
                self.driver.finish()?;
                self.driver.free(address)?;
            }
        }
        Ok(())
    }

    /// Frees these buffers, and every buffer of these owners, whose workers have ended.
    pub fn free_with_owners(&mut self, owners: &[u32], buffers: &[BufferId]) -> Result {
        self.free_all(buffers)?;
        let of_owner = |(id, buffer): (&u32, &Buffer)| {
            (owners.contains(&buffer.owner) && !buffer.is_freed).then_some(BufferId(*id))
        };
        let left = self.buffers.iter().filter_map(of_owner).collect_vec();
        self.free_all(&left)
    }

    /// Prepares buffers for a launch of another process: fills these, and expects that the launch
    /// writes to the given ones.
    pub fn prepare_launch(
        &mut self,
        owner: u32,
        fills: Vec<(BufferId, u32)>,
        given: &[BufferId],
    ) -> Result {
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
