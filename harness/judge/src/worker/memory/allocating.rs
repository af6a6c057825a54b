//! Where buffers get their memory, and what becomes of it when they are freed.
//!
//! To get memory and to give it back takes the driver's time, and longer where other processes do
//! the same. So several buffers are made in one allocation, and a few that were freed wait for
//! others of their size.

use super::{Buffer, BufferId, Content, FRONT, Guards, Memory, fill, guarded_bytes};
use lab_device::{DeviceError, Driver, POISON};
use std::collections::BTreeMap;

/// Most bytes of freed allocations that wait for others of their size.
const MOST_WAITING: usize = 256 << 20;

impl Memory {
    /// Makes a buffer, filled with poison.
    pub fn allocate(
        &mut self,
        driver: &mut dyn Driver,
        name: String,
        bytes: usize,
    ) -> Result<BufferId, DeviceError> {
        let allocated = self.allocated(driver, &name, bytes)?;
        let block = match self.guards {
            None => driver.alloc_exact(bytes)?,
            Some(_) => self.block(driver, allocated)?,
        };
        let mut buffer = self.new_buffer(name, bytes, allocated, block, 0);
        self.fill_new(driver, std::slice::from_mut(&mut buffer))?;
        Ok(self.insert(buffer))
    }

    /// [`Memory::allocate`] for several buffers: names and bytes. On a device with pages, they are
    /// freed together.
    pub fn allocate_all(
        &mut self,
        driver: &mut dyn Driver,
        wanted: Vec<(String, usize)>,
    ) -> Result<Vec<BufferId>, DeviceError> {
        if self.guards.is_none() || driver.page_bytes() == 1 {
            return wanted
                .into_iter()
                .map(|(name, bytes)| self.allocate(driver, name, bytes))
                .collect();
        }
        let mut ends = Vec::with_capacity(wanted.len());
        let mut end: usize = 0;
        for (name, bytes) in &wanted {
            let too_many = || DeviceError::Driver(format!("{name}: {bytes} bytes are too many"));
            end = end
                .checked_add(self.allocated(driver, name, *bytes)?)
                .ok_or_else(too_many)?;
            ends.push(end);
        }
        let block = self.block(driver, end)?;
        let mut begin = 0;
        let mut buffers = Vec::with_capacity(wanted.len());
        for ((name, bytes), end) in wanted.into_iter().zip(ends) {
            buffers.push(self.new_buffer(name, bytes, end - begin, block, begin));
            begin = end;
        }
        // Their noise differs by their numbers.
        for (buffer, number) in buffers.iter_mut().zip(self.next..) {
            buffer.noise = noise_of(number);
        }
        self.fill_new(driver, &mut buffers)?;
        Ok(buffers
            .into_iter()
            .map(|buffer| self.insert(buffer))
            .collect())
    }

    /// Frees a buffer. The device gets its memory back once all buffers of the allocation are
    /// freed. A small allocation may wait for others of its size, and is watched until then.
    pub fn free(&mut self, driver: &mut dyn Driver, id: BufferId) -> Result<(), DeviceError> {
        let has_pages = self.guards.is_some() && driver.page_bytes() > 1;
        let buffer = self.get(id)?;
        if matches!(buffer.content, Content::Sealed(_)) {
            // The copy of an input is not needed any more.
            buffer.open();
        }
        buffer.is_freed = true;
        let block = buffer.block;
        let waiting = self.waiting();
        let bytes: usize = waiting.values().sum();
        if !waiting.contains_key(&block) || (has_pages && bytes <= MOST_WAITING) {
            return Ok(());
        }
        self.give_back(driver, block)
    }

    /// Bytes that a buffer takes with its guard zones.
    fn allocated(
        &self,
        driver: &dyn Driver,
        name: &str,
        bytes: usize,
    ) -> Result<usize, DeviceError> {
        let too_many = || DeviceError::Driver(format!("{name}: {bytes} bytes are too many"));
        match self.guards {
            None => Ok(bytes),
            Some(_) => guarded_bytes(bytes, driver.page_bytes()).ok_or_else(too_many),
        }
    }

    /// An allocation of so many bytes: one that waits, or a new one. Where the device has too
    /// little memory, it first gets back what waits.
    fn block(&mut self, driver: &mut dyn Driver, bytes: usize) -> Result<u64, DeviceError> {
        let waiting = self.waiting();
        if let Some((block, _)) = waiting.iter().find(|(_, size)| **size == bytes) {
            self.buffers.retain(|_, buffer| buffer.block != *block);
            return Ok(*block);
        }
        match driver.alloc(bytes) {
            Err(_) if !waiting.is_empty() => {
                waiting
                    .keys()
                    .try_for_each(|block| self.give_back(driver, *block))?;
                driver.alloc(bytes)
            }
            allocated => allocated,
        }
    }

    fn give_back(&mut self, driver: &mut dyn Driver, block: u64) -> Result<(), DeviceError> {
        self.buffers.retain(|_, buffer| buffer.block != block);
        driver.free(block)
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

    /// A buffer whose pages begin at an offset in an allocation. Nothing is filled yet.
    fn new_buffer(
        &self,
        name: String,
        bytes: usize,
        allocated: usize,
        block: u64,
        offset: usize,
    ) -> Buffer {
        Buffer {
            name,
            block,
            base: block + offset as u64,
            front: if self.guards.is_none() { 0 } else { FRONT },
            bytes,
            allocated,
            is_freed: false,
            noise: noise_of(self.next),
            content: Content::Open,
            given: false,
            digests: [None; 3],
        }
    }

    fn insert(&mut self, buffer: Buffer) -> BufferId {
        let id = self.next;
        self.buffers.insert(id, buffer);
        self.next += 1;
        BufferId(id)
    }

    /// Fills new buffers, unless a tool watches.
    fn fill_new(
        &mut self,
        driver: &mut dyn Driver,
        buffers: &mut [Buffer],
    ) -> Result<(), DeviceError> {
        self.guards
            .as_mut()
            .map_or(Ok(()), |guards| guards.fill_new(driver, buffers))
    }
}

/// The first word of a buffer's noise. The windows of two buffers differ, so that a copy from one
/// zone into another is a change.
fn noise_of(number: u32) -> u64 {
    u64::from(number) * 40_503
}

impl Guards {
    /// Fills new buffers: the zones with noise, and the buffers with poison.
    fn fill_new(
        &mut self,
        driver: &mut dyn Driver,
        buffers: &mut [Buffer],
    ) -> Result<(), DeviceError> {
        for buffer in &mut *buffers {
            driver.fill_noise(buffer.base, buffer.front, &self.noise, buffer.noise)?;
            // From the beginning of the word in which the buffer ends.
            let end = (buffer.front + buffer.bytes) / 4 * 4;
            let (address, words) = (buffer.base + end as u64, end as u64 / 4);
            driver.fill_noise(
                address,
                buffer.allocated - end,
                &self.noise,
                buffer.noise + words,
            )?;
            fill(driver, buffer, POISON, |driver, address, bytes| {
                driver.fill_before(address, bytes, POISON)
            })?;
            buffer.content = Content::Pattern(POISON);
        }
        let ranges: Vec<_> = buffers.iter().flat_map(Buffer::ranges).collect();
        let Some(digests) = driver.digests(&ranges, self.key)? else {
            return Ok(());
        };
        for (buffer, digests) in buffers.iter_mut().zip(digests.as_chunks::<3>().0) {
            self.patterns.insert((buffer.bytes, POISON), digests[1]);
            buffer.digests = digests.map(Some);
        }
        Ok(())
    }
}
