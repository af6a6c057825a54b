//! Where buffers get their memory, and what becomes of it when they are freed.
//!
//! To get memory and to give it back takes the driver's time, and longer where other processes do
//! the same. So several buffers are made in one allocation, and a few that were freed wait for
//! others of their size.

use super::{
    BACK, BACK_OF_LAST, Buffer, BufferId, BufferUse, Content, Device, FRONT, Filling, Guards, OWN,
    guarded_bytes,
};
use itertools::Itertools as _;
use lab_device::{DeviceError, Driver, POISON, Result, SMALL_NOISE};
use std::collections::{BTreeMap, BTreeSet};

/// Most bytes of freed allocations that wait for others of their size.
const MOST_WAITING: usize = 256 << 20;

impl Device {
    /// Makes a buffer that launches write to, filled with poison.
    pub fn allocate(&mut self, name: String, bytes: usize) -> Result<BufferId> {
        Ok(self.allocate_together(vec![(name, bytes)], BufferUse::Written)?[0])
    }

    /// [`Device::allocate`] for several buffers: names and bytes. On a device with pages, they are
    /// freed together.
    pub fn allocate_all(
        &mut self,
        wanted: Vec<(String, usize)>,
        used: BufferUse,
    ) -> Result<Vec<BufferId>> {
        if self.has_pages() {
            return self.allocate_together(wanted, used);
        }
        let each = wanted.into_iter();
        each.map(|one| Ok(self.allocate_together(vec![one], used)?[0]))
            .collect()
    }

    /// Makes buffers in one allocation, and fills them unless a tool watches.
    fn allocate_together(
        &mut self,
        wanted: Vec<(String, usize)>,
        used: BufferUse,
    ) -> Result<Vec<BufferId>> {
        let end = self.layout(OWN, &wanted)?.pop().unwrap_or(0);
        let (block, front) = match self.guards {
            // A tool watches, so this is one buffer.
            None => {
                let name = wanted.first().map_or("", |(name, _)| name);
                (self.driver.alloc_exact(end, name)?, 0)
            }
            Some(_) => (self.block(end)?, FRONT),
        };
        let first = self.next;
        self.next += wanted.len() as u32;
        self.lay_out((OWN, used), block, front, first, wanted)
    }

    /// Where in one allocation each of these buffers of an owner ends, guard zones included.
    pub(super) fn layout(&self, owner: u32, wanted: &[(String, usize)]) -> Result<Vec<usize>> {
        let mut ends = Vec::with_capacity(wanted.len());
        let mut end: usize = 0;
        for (name, bytes) in wanted {
            let allocated = match self.guards {
                None => Some(*bytes),
                Some(_) => guarded_bytes(*bytes),
            };
            let too_many = || DeviceError::Driver(format!("{name}: {bytes} bytes are too many"));
            end = allocated
                .and_then(|bytes| end.checked_add(bytes))
                .ok_or_else(too_many)?;
            ends.push(end);
        }
        if let Some(last) = ends.last_mut().filter(|_| self.guards.is_some()) {
            *last = match self.driver.page_bytes() {
                1 if owner != OWN => Some(*last),
                1 => last.checked_add(BACK_OF_LAST),
                // The kernel can access every byte of the last page.
                page => last.checked_next_multiple_of(page),
            }
            .ok_or_else(|| DeviceError::Driver(format!("{last} bytes are too many")))?;
        }
        Ok(ends)
    }

    /// Makes buffers of this owner in an allocation at `block`, with numbers from `first` on.
    pub(super) fn lay_out(
        &mut self,
        (owner, used): (u32, BufferUse),
        block: u64,
        front: usize,
        first: u32,
        wanted: Vec<(String, usize)>,
    ) -> Result<Vec<BufferId>> {
        let ends = self.layout(owner, &wanted)?;
        let mut begin = 0;
        let mut buffers = Vec::with_capacity(wanted.len());
        for (((name, bytes), end), number) in wanted.into_iter().zip(ends).zip(first..) {
            let number_of_name = self.named.entry(name.clone()).or_default();
            buffers.push(Buffer {
                name,
                owner,
                is_read_only: used == BufferUse::ReadOnly,
                block,
                base: block + begin as u64,
                front,
                bytes,
                allocated: end - begin,
                is_freed: false,
                noise: noise_of(number, *number_of_name, used),
                content: Content::Open,
                given: false,
                launch: 0,
                digests: [None; 3],
            });
            *number_of_name += 1;
            begin = end;
        }
        if let Some(guards) = &mut self.guards {
            guards.fill_new(&mut *self.driver, &mut buffers)?;
        }
        let numbers = first..first + buffers.len() as u32;
        self.buffers.extend(numbers.clone().zip(buffers));
        Ok(numbers.map(BufferId).collect())
    }

    fn has_pages(&self) -> bool {
        self.guards.is_some() && self.driver.page_bytes() > 1
    }

    /// Frees a buffer; see [`Device::free_all`].
    pub fn free(&mut self, id: BufferId) -> Result {
        self.free_all(&[id])
    }

    /// Frees buffers. The device gets the memory of an allocation back once all its buffers are
    /// freed. A small allocation may wait for others of its size, and is watched until then.
    pub fn free_all(&mut self, ids: &[BufferId]) -> Result {
        let mut blocks = BTreeMap::new();
        for id in ids {
            if self.plain.contains_key(&id.0) {
                self.freed.insert(id.0);
                continue;
            }
            let buffer = self.get(*id)?;
            if buffer.content.is_input() {
                // The copy of an input is not needed any more.
                buffer.open();
            }
            buffer.is_freed = true;
            // Memory that another process maps gets no other use.
            blocks.insert(buffer.block, buffer.owner == OWN);
        }
        let (waiting, has_pages) = (self.waiting(), self.has_pages());
        let mut bytes: usize = waiting.values().sum();
        let mut unused = BTreeSet::new();
        for (block, may_wait) in blocks {
            let Some(size) = waiting.get(&block) else {
                continue;
            };
            if !(may_wait && has_pages && bytes <= MOST_WAITING) {
                bytes -= size;
                unused.insert(block);
            }
        }
        self.give_back(&unused)
    }

    /// An allocation of so many bytes: one that waits, or a new one. Where the device has too
    /// little memory, it first gets back what waits.
    fn block(&mut self, bytes: usize) -> Result<u64> {
        let waiting = self.waiting();
        if let Some((block, _)) = waiting.iter().find(|(_, size)| **size == bytes) {
            self.buffers.retain(|_, buffer| buffer.block != *block);
            return Ok(*block);
        }
        match self.driver.alloc(bytes) {
            Err(_) if !waiting.is_empty() => {
                self.give_back(&waiting.into_keys().collect())?;
                self.driver.alloc(bytes)
            }
            allocated => allocated,
        }
    }

    fn give_back(&mut self, blocks: &BTreeSet<u64>) -> Result {
        if !blocks.is_empty() {
            self.buffers
                .retain(|_, buffer| !blocks.contains(&buffer.block));
        }
        self.free_unused()?;
        blocks.iter().try_for_each(|block| self.driver.free(*block))
    }

    /// The allocations all of whose buffers are freed, with their bytes.
    fn waiting(&self) -> BTreeMap<u64, usize> {
        let mut blocks = BTreeMap::new();
        for buffer in self.buffers.values().filter(|buffer| buffer.is_freed) {
            *blocks.entry(buffer.block).or_default() += buffer.allocated;
        }
        for buffer in self.buffers.values().filter(|buffer| !buffer.is_freed) {
            blocks.remove(&buffer.block);
        }
        blocks
    }
}

/// The first word of a buffer's noise, which has this number among those of its name. The windows
/// of two buffers differ, so that a copy from one zone into another is a change. The signs of what
/// lies behind the sets of a tensor alternate. A launch may add to what lies behind a buffer that it
/// writes to.
fn noise_of(number: u32, number_of_name: usize, used: BufferUse) -> u64 {
    let kind = match used {
        BufferUse::Written => SMALL_NOISE,
        BufferUse::Read | BufferUse::ReadOnly => 0,
    };
    kind + u64::from(number) * 2 * 40_503 + (number_of_name % 2) as u64
}

impl Guards {
    /// Fills new buffers: the zones with noise, and the buffers with poison.
    fn fill_new(&mut self, driver: &mut dyn Driver, buffers: &mut [Buffer]) -> Result {
        for buffer in &mut *buffers {
            let mut fill = |from: usize, to: usize| {
                let first = buffer.noise + from as u64 / 4;
                let address = buffer.base + from as u64;
                driver.fill_noise(address, to - from, &self.noise, first)
            };
            if buffer.bytes <= FRONT + BACK {
                // To fill a small buffer too takes less time than a second step.
                fill(0, buffer.allocated)?;
            } else {
                fill(0, buffer.front)?;
                // From the beginning of the word in which the buffer ends.
                fill((buffer.front + buffer.bytes) / 4 * 4, buffer.allocated)?;
            }
            if !buffer.is_read_only {
                buffer.fill(driver, POISON, Filling::Ahead)?;
                buffer.content = Content::Pattern(POISON);
            }
        }
        let watched = buffers.iter_mut().filter(|buffer| !buffer.is_read_only);
        let watched = watched.collect_vec();
        let ranges = watched
            .iter()
            .flat_map(|buffer| buffer.ranges())
            .collect_vec();
        let Some(digests) = driver.digests(&ranges, self.key)? else {
            return Ok(());
        };
        for (buffer, digests) in watched.into_iter().zip(digests.as_chunks::<3>().0) {
            self.patterns.insert((buffer.bytes, POISON), digests[1]);
            buffer.digests = digests.map(Some);
        }
        Ok(())
    }
}
