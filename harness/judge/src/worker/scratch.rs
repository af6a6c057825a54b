//! The scratch buffers of launch lists.
//!
//! Each launch list of a window gets a buffer of its own, which is filled with a pattern before the
//! window, so that no launch finds what an earlier one left. A scratch buffer that is zeroed is
//! zeroed within the time of the list, so one buffer serves all lists of a window.

use super::BufferId;
use super::memory::{Device, OWN};
use lab_device::{Result, SCRATCH_POISONS};
use lab_system::random;

/// Bytes of scratch buffers that are kept if the device does not tell how much memory it has.
const KEPT: u64 = 1 << 30;

/// The scratch buffers that exist, for all modules and cases.
#[derive(Default)]
pub struct ScratchPool {
    /// Bytes of a buffer, and the buffer.
    buffers: Vec<(usize, BufferId)>,
    /// Counts the fills, so that the patterns take turns.
    fills: usize,
}

impl ScratchPool {
    /// Whether [`ScratchPool::take`] frees buffers that it has given out before.
    pub fn frees_others(&self, device: &Device, bytes: usize, count: usize) -> bool {
        let (kept, count) = Self::fitting(device, bytes, count);
        let others = self.buffers.iter().filter(|(size, _)| *size != bytes);
        let others: u64 = others.map(|(size, _)| *size as u64).sum();
        others + (bytes * count) as u64 > kept
    }

    /// The bytes that are kept, and how many of `count` buffers of this size fit there, at least
    /// one.
    fn fitting(device: &Device, bytes: usize, count: usize) -> (u64, usize) {
        let kept = match device.info.memory_bytes {
            0 => KEPT,
            all => all / 4,
        };
        let most = (kept / (bytes as u64).max(1)) as usize;
        (kept, most.clamp(1, count.max(1)))
    }

    /// Returns up to `count` buffers of this size, at least one, named `name` in messages. Buffers
    /// of other sizes are freed where there would be too many bytes otherwise. Fails if the device
    /// has no memory for one.
    pub fn take(
        &mut self,
        device: &mut Device,
        name: &str,
        bytes: usize,
        count: usize,
    ) -> Result<Vec<BufferId>> {
        if self.frees_others(device, bytes, count) {
            self.free_others(device, bytes)?;
        }
        let (_, count) = Self::fitting(device, bytes, count);
        let mut taken: Vec<BufferId> = self.of_size(bytes).take(count).collect();
        while taken.len() < count {
            let allocated = device.allocate(name.to_owned(), bytes).or_else(|_| {
                self.free_others(device, bytes)?;
                device.allocate(name.to_owned(), bytes)
            });
            match allocated {
                Ok(buffer) => {
                    self.buffers.push((bytes, buffer));
                    taken.push(buffer);
                }
                Err(error) if taken.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        for buffer in &taken {
            device.rename(*buffer, name)?;
        }
        Ok(taken)
    }

    /// The next pattern for a buffer, which a kernel cannot take for a result.
    pub fn poison(&mut self) -> u32 {
        if self.fills == 0 {
            self.fills = 1 + random::number() as usize % SCRATCH_POISONS.len();
        }
        self.fills += 1;
        SCRATCH_POISONS[self.fills % SCRATCH_POISONS.len()]
    }

    fn of_size(&self, bytes: usize) -> impl Iterator<Item = BufferId> {
        self.buffers
            .iter()
            .filter(move |(size, _)| *size == bytes)
            .map(|(_, buffer)| *buffer)
    }

    fn free_others(&mut self, device: &mut Device, bytes: usize) -> Result {
        let (same, others): (Vec<_>, Vec<_>) =
            self.buffers.drain(..).partition(|(size, _)| *size == bytes);
        self.buffers = same;
        if !others.is_empty() {
            // What launches did there is noted before the memory is gone.
            device.check(OWN)?;
        }
        others
            .into_iter()
            .try_for_each(|(_, buffer)| device.free(buffer))
    }
}
