//! Device buffers between guard zones, and what each byte that no launch may write must hold.
//!
//! Everything before and behind a buffer, up to the next buffer and to the end of the allocation,
//! is a guard zone: noise under a key that only this process knows. A buffer's own content is known
//! too, unless a launch got the buffer since: an input, a pattern, or the results that the launches
//! before left. So a store is found wherever in the lab's memory it goes. [`Device::breaches`]
//! looks; what is cheap on the device is compared by digest.

mod allocating;
mod buffer;
mod sharing;

use itertools::Itertools as _;
pub use sharing::{SharedBlock, is_shared};

use super::content::Content;
use super::{Breach, BufferId};
use buffer::Buffer;
pub use buffer::BufferUse;
pub use lab_device::Filling;
use lab_device::{DeviceError, DeviceInfo, Driver, MemoryRange, Noise, Result, is_poison};
use lab_system::random;
use sharing::{Plain, Spare};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Bytes of the guard zone before a buffer. As a multiple of 256 they keep the alignment of the
/// allocation.
pub const FRONT: usize = 64 << 10;

/// Least bytes of the guard zone behind a buffer.
pub const BACK: usize = 192 << 10;

/// Further bytes at the end of a worker's own allocation on a device without pages, where other
/// memory of the process may follow. Behind memory that it maps, no access reaches anything.
pub const BACK_OF_LAST: usize = 2 << 20;

/// Bytes whose multiples a buffer takes with its guard zones.
const STEP: usize = 64 << 10;

/// Bytes of a guard zone, beside the buffer, that are compared after launches that were not given
/// the buffer, on a device that computes no digests. What the launch writes farther away lies
/// beside a buffer that it was given.
const NEAR: usize = 16 << 10;

/// Bytes of a buffer with its guard zones. `None` if they are too many for a number.
pub fn guarded_bytes(bytes: usize) -> Option<usize> {
    bytes
        .checked_add(FRONT + BACK)?
        .checked_next_multiple_of(STEP)
}

/// The owner of buffers that no other worker maps.
pub const OWN: u32 = 0;

/// The device of a worker, and its buffers.
pub struct Device {
    pub driver: Box<dyn Driver>,
    pub info: DeviceInfo,
    buffers: BTreeMap<u32, Buffer>,
    next: u32,
    /// How many buffers of each name there were.
    named: HashMap<String, usize>,
    /// Buffers without guard zones; see [`sharing`].
    plain: BTreeMap<u32, Plain>,
    /// Those of them that were freed, and are still the content of an input.
    freed: BTreeSet<u32>,
    spare: Spare,
    next_shared: u32,
    /// `None` under a tool.
    guards: Option<Guards>,
    /// Breaches that were found before the judge asked for them.
    found: Vec<(u32, Breach)>,
    /// The owners of buffers that launched something since the last check.
    launched: BTreeSet<u32>,
    /// How many launches there were.
    launches: u64,
    /// Inputs whose digests are not computed yet. Those of many take one look at the device.
    undigested: BTreeSet<u32>,
}

/// What guard zones hold, and how content is compared.
struct Guards {
    noise: Noise,
    /// The key of the digests.
    key: u64,
    /// The digests of buffers that hold a pattern, by bytes and pattern.
    patterns: HashMap<(usize, u32), u64>,
}

impl Device {
    /// A device without a buffer, which watches each byte of its memory. Under a tool a buffer ends
    /// where its allocation does, and nothing is filled with poison: the tool finds accesses out of
    /// bounds and reads of unwritten memory better than guard zones and poison do.
    pub fn new(driver: Box<dyn Driver>, under_tool: bool) -> Device {
        let guards = || Guards {
            noise: Noise::new(random::number()),
            key: random::number(),
            patterns: HashMap::new(),
        };
        Device {
            info: driver.info(),
            driver,
            buffers: BTreeMap::new(),
            next: 0,
            named: HashMap::new(),
            plain: BTreeMap::new(),
            freed: BTreeSet::new(),
            spare: Spare::default(),
            next_shared: sharing::FIRST,
            guards: (!under_tool).then(guards),
            found: Vec::new(),
            launched: BTreeSet::new(),
            launches: 0,
            undigested: BTreeSet::new(),
        }
    }

    /// Changes what messages call a buffer.
    pub fn rename(&mut self, id: BufferId, name: &str) -> Result {
        name.clone_into(&mut self.get(id)?.name);
        Ok(())
    }

    /// A launch of this owner follows.
    pub fn expect_launch(&mut self, owner: u32) -> Result {
        self.launched.insert(owner);
        self.launches += 1;
        self.digest_inputs()
    }

    /// Computes the digests of inputs that were written since the last time.
    fn digest_inputs(&mut self) -> Result {
        let ids = std::mem::take(&mut self.undigested);
        let Some(guards) = self.guards.as_ref().filter(|_| !ids.is_empty()) else {
            return Ok(());
        };
        let is_input = |id: &u32| self.buffers.get(id).is_some_and(|b| b.content.is_input());
        let ids = ids.into_iter().filter(is_input).collect_vec();
        let ranges = ids
            .iter()
            .map(|id| self.buffers[id].ranges()[1])
            .collect_vec();
        let Some(digests) = self.driver.digests(&ranges, guards.key)? else {
            return Ok(());
        };
        for (id, digest) in ids.iter().zip(digests) {
            if let Some(buffer) = self.buffers.get_mut(id) {
                buffer.digests[1] = Some(digest);
            }
        }
        Ok(())
    }

    /// The address of a buffer for a launch, which may write there unless the buffer is sealed.
    pub fn address(&mut self, id: BufferId) -> Result<u64> {
        if let Some(plain) = self.plain.get(&id.0) {
            return Ok(plain.range.address);
        }
        let launch = self.launches;
        let buffer = self.get(id)?;
        (buffer.given, buffer.launch) = (true, launch);
        if !buffer.content.is_input() {
            buffer.open();
        }
        Ok(buffer.address())
    }

    /// The address of a buffer that is only read.
    pub fn read_address(&mut self, id: BufferId) -> Result<u64> {
        self.range(id).map(|range| range.address)
    }

    /// Where a buffer lies.
    fn range(&mut self, id: BufferId) -> Result<MemoryRange> {
        match self.plain.get(&id.0) {
            Some(plain) => Ok(plain.range),
            None => Ok(self.get(id)?.ranges()[1]),
        }
    }

    /// The digest of each buffer under a key that the kernel does not know. A device that computes
    /// no digests gives others than one that does.
    pub fn digests(&mut self, ids: &[BufferId], key: u64) -> Result<Vec<u64>> {
        let ranges = self.ranges(ids)?;
        if let Some(digests) = self.driver.digests(&ranges, key)? {
            return Ok(digests);
        }
        let mut digests = Vec::with_capacity(ids.len());
        for id in ids {
            let mut hasher = blake3::Hasher::new();
            hasher
                .update(&key.to_le_bytes())
                .update(&self.read(*id, Vec::new())?);
            let first = hasher
                .finalize()
                .as_bytes()
                .first_chunk()
                .map_or(0, |word| u64::from_le_bytes(*word));
            digests.push(first);
        }
        Ok(digests)
    }

    /// The size of a buffer.
    pub fn bytes_of(&mut self, id: BufferId) -> Result<usize> {
        self.range(id).map(|range| range.bytes)
    }

    /// Writes a whole buffer, and waits until it is there: a timed launch may follow. Breaks its
    /// seal: the judge may write to an input, and a kernel may not.
    pub fn write(&mut self, id: BufferId, bytes: &[u8]) -> Result {
        let address = self.opened(id, bytes.len())?;
        self.driver.upload(address, bytes)
    }

    /// Writes a whole buffer and declares its content an input. May return before it is there: what
    /// follows on the device finds it.
    pub fn write_input(&mut self, id: BufferId, content: Vec<u8>) -> Result {
        let address = self.opened(id, content.len())?;
        self.driver.upload_before(address, &content)?;
        self.seal_as(id, Content::Sealed(content))
    }

    /// The address of a buffer that gets so many bytes.
    fn opened(&mut self, id: BufferId, bytes: usize) -> Result<u64> {
        let buffer = self.get(id)?;
        if bytes != buffer.bytes {
            return Err(DeviceError::Driver(format!(
                "{bytes} bytes for buffer {}, which holds {}",
                buffer.name, buffer.bytes
            )));
        }
        buffer.open();
        Ok(buffer.address())
    }

    /// `bytes` are taken for the content, whatever they hold.
    pub fn read(&mut self, id: BufferId, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
        let range = self.range(id)?;
        bytes.resize(range.bytes, 0);
        self.driver.download(range.address, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills a buffer with a repeated pattern. Breaks its seal.
    pub fn fill(&mut self, id: BufferId, pattern: u32, how: Filling) -> Result {
        if how == Filling::Waits {
            self.digest_inputs()?;
        }
        let driver = &mut *self.driver;
        if let Some(plain) = self.plain.get(&id.0) {
            return driver.fill(plain.range, pattern, how);
        }
        let buffer = present(&mut self.buffers, id)?;
        match &mut self.guards {
            Some(guards) => guards.fill_content(driver, buffer, pattern, how),
            None if is_poison(pattern) => Ok(()),
            None => buffer.fill(driver, pattern, how),
        }
    }

    /// [`Device::fill`] for several buffers, which waits once.
    pub fn fill_all(&mut self, fills: &[(BufferId, u32)], how: Filling) -> Result {
        if how != Filling::Waits {
            let mut fills = fills.iter();
            return fills.try_for_each(|(buffer, pattern)| self.fill(*buffer, *pattern, how));
        }
        self.digest_inputs()?;
        for (buffer, pattern) in fills {
            self.fill(*buffer, *pattern, Filling::Ahead)?;
        }
        self.driver.finish()
    }

    /// Wipes shared memory, where a launch could find what an earlier one left. A tool that watches
    /// instead would watch this too, store by store.
    pub fn wipe_shared_memory(&mut self) -> Result {
        match self.guards {
            Some(_) => self.driver.scrub(),
            None => Ok(()),
        }
    }

    /// Where a window begins by filling a buffer that its launches are given; `None` where a tool
    /// watches instead of poison.
    pub fn filled_by_window(&mut self, id: BufferId, pattern: u32) -> Result<Option<MemoryRange>> {
        if self.guards.is_none() && is_poison(pattern) {
            return Ok(None);
        }
        if !self.plain.contains_key(&id.0) {
            self.get(id)?.open();
        }
        self.range(id).map(Some)
    }

    /// The ranges of these buffers.
    pub fn ranges(&mut self, ids: &[BufferId]) -> Result<Vec<MemoryRange>> {
        ids.iter().map(|id| self.range(*id)).collect()
    }

    /// Whether the device computes digests.
    pub fn has_digests(&mut self) -> Result<bool> {
        Ok(self.driver.digests(&[], 0)?.is_some())
    }

    /// The range of a buffer that a replay flushes the cache with. The buffer holds the pattern
    /// already, so that the replay does not change what is known of it.
    pub fn flush_range(&mut self, id: BufferId, pattern: u32) -> Result<MemoryRange> {
        if !matches!(self.get(id)?.content, Content::Pattern(held) if held == pattern) {
            self.fill(id, pattern, Filling::FlushesCache)?;
        }
        self.range(id)
    }

    /// Declares the content of a buffer an input, which must not change.
    fn seal_as(&mut self, id: BufferId, content: Content) -> Result {
        let buffer = self.get(id)?;
        if buffer.is_read_only {
            return Ok(());
        }
        buffer.content = content;
        buffer.digests[1] = None;
        self.undigested.insert(id.0);
        Ok(())
    }

    /// The first changed byte of each zone and of each buffer that no launch may have written. What
    /// is known of them is restored, so that each breach is reported once. With `of_given` only
    /// those of the buffers that launches were given since the last check: what launches wrote
    /// elsewhere is found by the next check of all. Only the buffers of this owner are looked at.
    pub fn breaches(&mut self, owner: u32, of_given: bool) -> Result<Vec<Breach>> {
        match of_given {
            true => self.check_those(owner, |buffer| buffer.given)?,
            false => self.check(owner)?,
        }
        let found = std::mem::take(&mut self.found);
        let (of_owner, rest) = found.into_iter().partition(|(of, _)| *of == owner);
        self.found = rest;
        let each: Vec<(u32, Breach)> = of_owner;
        Ok(each.into_iter().map(|(_, breach)| breach).collect())
    }

    /// As [`Device::breaches`], and keeps what it finds for the next call of that.
    pub fn check(&mut self, owner: u32) -> Result {
        self.check_those(owner, |_| true)?;
        self.launched.remove(&owner);
        Ok(())
    }

    fn check_those(&mut self, owner: u32, wanted: impl Fn(&Buffer) -> bool) -> Result {
        self.digest_inputs()?;
        let launched = self.launched.contains(&owner);
        let Some(guards) = self.guards.as_ref().filter(|_| launched) else {
            return Ok(());
        };
        let wanted =
            |buffer: &Buffer| buffer.owner == owner && !buffer.is_read_only && wanted(buffer);
        let ranges = self
            .buffers
            .values()
            .filter(|buffer| wanted(buffer))
            .flat_map(Buffer::ranges)
            .collect_vec();
        let (driver, launches) = (&mut *self.driver, self.launches);
        let mut digests = driver.digests(&ranges, guards.key)?.map(Vec::into_iter);
        for buffer in self.buffers.values_mut().filter(|buffer| wanted(buffer)) {
            let now: [Option<u64>; 3] = [(); 3].map(|()| digests.as_mut().and_then(Iterator::next));
            buffer.check(driver, guards, (now, launches), &mut self.found)?;
        }
        Ok(())
    }

    fn get(&mut self, id: BufferId) -> Result<&mut Buffer> {
        present(&mut self.buffers, id)
    }
}

/// The buffer of this number, unless it was freed.
fn present(buffers: &mut BTreeMap<u32, Buffer>, id: BufferId) -> Result<&mut Buffer> {
    let buffer = buffers.get_mut(&id.0).filter(|buffer| !buffer.is_freed);
    buffer.ok_or_else(|| DeviceError::Driver(format!("no buffer {}", id.0)))
}

impl Guards {
    fn fill_content(
        &mut self,
        driver: &mut dyn Driver,
        buffer: &mut Buffer,
        pattern: u32,
        how: Filling,
    ) -> Result {
        buffer.open();
        buffer.fill(driver, pattern, how)?;
        let key = (buffer.bytes, pattern);
        if !self.patterns.contains_key(&key)
            && let Some(digests) = driver.digests(&buffer.ranges()[1..2], self.key)?
        {
            self.patterns.insert(key, digests[0]);
        }
        buffer.digests[1] = self.patterns.get(&key).copied();
        buffer.content = Content::Pattern(pattern);
        Ok(())
    }
}
