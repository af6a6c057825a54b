//! Device buffers between canary zones, with poison and sealed inputs.

use super::{Breach, BufferId};
use lab_device::{DeviceError, Driver, POISON};
use std::collections::BTreeMap;

/// Bytes of each canary zone. As a multiple of 256 it keeps the alignment of the allocation.
pub const CANARY: usize = 4096;

/// The buffers of a worker.
pub struct Memory {
    buffers: BTreeMap<u32, Buffer>,
    next: u32,
    /// Bytes of each canary zone.
    canary: usize,
    /// Whether new buffers are filled with poison.
    poisons: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { buffers: BTreeMap::new(), next: 0, canary: CANARY, poisons: true }
    }
}

struct Buffer {
    name: String,
    /// Address of the zone before the buffer. The buffer itself lies `canary` bytes further.
    base: u64,
    canary: usize,
    bytes: usize,
    /// The content when the buffer was sealed. It is a copy and not a digest, because comparing is as fast as hashing
    /// and finds the first changed byte.
    sealed: Option<Vec<u8>>,
}

impl Buffer {
    fn address(&self) -> u64 {
        self.base + self.canary as u64
    }

    /// The two zones: address, length, and the offset of their first byte from the buffer's first byte.
    fn zones(&self) -> [(u64, usize, i64); 2] {
        let after = match self.canary {
            0 => 0,
            canary => canary + self.bytes.next_multiple_of(4) - self.bytes,
        };
        [
            (self.base, self.canary, -(self.canary as i64)),
            (self.address() + self.bytes as u64, after, self.bytes as i64),
        ]
    }
}

impl Memory {
    /// Memory for a worker under a tool. A buffer ends where its allocation does, and nothing is filled with poison:
    /// the tool finds accesses out of bounds and reads of unwritten memory better than canaries and poison do.
    pub fn under_tool() -> Memory {
        Memory { canary: 0, poisons: false, ..Memory::default() }
    }

    pub fn allocate(
        &mut self,
        driver: &mut dyn Driver,
        name: String,
        bytes: usize,
    ) -> Result<BufferId, DeviceError> {
        let whole = match self.canary {
            0 => Some(bytes),
            canary => bytes.checked_next_multiple_of(4).and_then(|b| b.checked_add(2 * canary)),
        };
        let whole =
            whole.ok_or_else(|| DeviceError::Driver(format!("{name}: {bytes} bytes are too many")))?;
        let base = if self.canary == 0 { driver.alloc_exact(whole)? } else { driver.alloc(whole)? };
        let buffer = Buffer { base, canary: self.canary, name, bytes, sealed: None };
        if self.poisons {
            fill(driver, &buffer, POISON)?;
        }
        for (address, length, offset) in buffer.zones().into_iter().filter(|(_, length, _)| *length > 0) {
            driver.upload(address, &pattern(self.next, offset, length))?;
        }
        let id = BufferId(self.next);
        self.buffers.insert(self.next, buffer);
        self.next += 1;
        Ok(id)
    }

    pub fn free(&mut self, driver: &mut dyn Driver, id: BufferId) -> Result<(), DeviceError> {
        let base = self.get(id)?.base;
        self.buffers.remove(&id.0);
        driver.free(base)
    }

    pub fn address(&mut self, id: BufferId) -> Result<u64, DeviceError> {
        Ok(self.get(id)?.address())
    }

    /// The digest of each buffer under a key that the kernel does not know.
    pub fn digests(
        &mut self,
        driver: &mut dyn Driver,
        ids: &[BufferId],
        key: u64,
    ) -> Result<Vec<u64>, DeviceError> {
        let mut digests = Vec::with_capacity(ids.len());
        for id in ids {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&key.to_le_bytes()).update(&self.read(driver, *id)?);
            let first =
                hasher.finalize().as_bytes().first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            digests.push(first);
        }
        Ok(digests)
    }

    /// Writes a whole buffer. Breaks its seal: the judge may write to an input, and a kernel may not.
    pub fn write(&mut self, driver: &mut dyn Driver, id: BufferId, bytes: &[u8]) -> Result<(), DeviceError> {
        let buffer = self.get(id)?;
        if bytes.len() != buffer.bytes {
            return Err(DeviceError::Driver(format!(
                "{} bytes for buffer {}, which holds {}",
                bytes.len(),
                buffer.name,
                buffer.bytes
            )));
        }
        buffer.sealed = None;
        driver.upload(buffer.address(), bytes)
    }

    pub fn read(&mut self, driver: &mut dyn Driver, id: BufferId) -> Result<Vec<u8>, DeviceError> {
        let buffer = self.get(id)?;
        let mut bytes = vec![0; buffer.bytes];
        driver.download(buffer.address(), &mut bytes)?;
        Ok(bytes)
    }

    /// Fills a buffer with a repeated pattern. Breaks its seal.
    pub fn fill(&mut self, driver: &mut dyn Driver, id: BufferId, pattern: u32) -> Result<(), DeviceError> {
        let wanted = self.poisons || pattern != POISON;
        let buffer = self.get(id)?;
        buffer.sealed = None;
        if wanted { fill(driver, buffer, pattern) } else { Ok(()) }
    }

    pub fn seal(&mut self, driver: &mut dyn Driver, id: BufferId) -> Result<(), DeviceError> {
        let content = self.read(driver, id)?;
        self.get(id)?.sealed = Some(content);
        Ok(())
    }

    /// The first changed byte of each zone and of each sealed input. The bytes are restored, so that each breach is
    /// reported once.
    pub fn breaches(&mut self, driver: &mut dyn Driver) -> Result<Vec<Breach>, DeviceError> {
        let mut found = Vec::new();
        for (id, buffer) in &self.buffers {
            for (address, length, offset) in buffer.zones().into_iter().filter(|(_, length, _)| *length > 0) {
                let right = pattern(*id, offset, length);
                if let Some(at) = restore(driver, address, &right)? {
                    found.push(Breach::OutOfBounds {
                        buffer: buffer.name.clone(),
                        offset: offset + at as i64,
                    });
                }
            }
            let Some(right) = &buffer.sealed else { continue };
            if let Some(at) = restore(driver, buffer.address(), right)? {
                found.push(Breach::InputChanged { buffer: buffer.name.clone(), offset: at as u64 });
            }
        }
        Ok(found)
    }

    fn get(&mut self, id: BufferId) -> Result<&mut Buffer, DeviceError> {
        self.buffers.get_mut(&id.0).ok_or_else(|| DeviceError::Driver(format!("no buffer {}", id.0)))
    }
}

/// Returns the offset at which memory first differs from `right`, and restores it.
fn restore(driver: &mut dyn Driver, address: u64, right: &[u8]) -> Result<Option<usize>, DeviceError> {
    let found = driver.first_difference(address, right)?;
    if found.is_some() {
        driver.upload(address, right)?;
    }
    Ok(found)
}

fn fill(driver: &mut dyn Driver, buffer: &Buffer, pattern: u32) -> Result<(), DeviceError> {
    let tail = buffer.bytes % 4;
    let even = buffer.bytes - tail;
    if even > 0 {
        driver.fill(buffer.address(), even, pattern)?;
    }
    if tail > 0 {
        driver.upload(buffer.address() + even as u64, &pattern.to_le_bytes()[..tail])?;
    }
    Ok(())
}

/// The bytes of a canary zone. Each depends on its place and on the buffer, so that neither a shifted copy nor
/// another buffer's zone passes for it.
fn pattern(id: u32, offset: i64, length: usize) -> Vec<u8> {
    let byte = |i: usize| {
        let place = (offset + i as i64) as u32 ^ id.rotate_left(16);
        (place.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15) >> 24) as u8
    };
    (0..length).map(byte).collect()
}
