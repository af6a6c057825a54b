//! A buffer between its guard zones, and the check of what all three must hold.

use super::{Breach, Guards, NEAR};
use crate::worker::content::{Content, difference};
use lab_device::{Driver, Filling, MemoryRange, Result};
use serde::{Deserialize, Serialize};

/// What launches do with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BufferUse {
    /// They write to it.
    Written,
    /// They only read it, in memory that they could write to.
    Read,
    /// They only read it: a store ends the launch.
    ReadOnly,
}

pub(super) struct Buffer {
    pub(super) name: String,
    /// The worker that maps the buffer; [`super::OWN`] if none does.
    pub(super) owner: u32,
    /// That worker can only read it, so that nothing here has to be watched.
    pub(super) is_read_only: bool,
    /// Address of the allocation that its pages are part of.
    pub(super) block: u64,
    /// Address of the guard zone before it.
    pub(super) base: u64,
    /// Bytes of the guard zone before the buffer.
    pub(super) front: usize,
    pub(super) bytes: usize,
    /// Bytes from there up to the next buffer.
    pub(super) allocated: usize,
    /// It was freed. Its memory is watched until the device gets it back.
    pub(super) is_freed: bool,
    /// The first word of the noise in its zones.
    pub(super) noise: u64,
    pub(super) content: Content,
    /// Whether a launch was given the buffer since the last check.
    pub(super) given: bool,
    /// The number of the last launch that was given the buffer.
    pub(super) launch: u64,
    /// The digests of the zone before the buffer, of the buffer, and of the zone behind it, on a
    /// device that computes digests. That of the buffer is `None` while a launch may write to the
    /// buffer.
    pub(super) digests: [Option<u64>; 3],
}

impl Buffer {
    pub(super) fn address(&self) -> u64 {
        self.base + self.front as u64
    }

    /// The zone before the buffer, the buffer, and the zone behind it.
    pub(super) fn ranges(&self) -> [MemoryRange; 3] {
        let end = self.front + self.bytes;
        [
            (0, self.front),
            (self.front, self.bytes),
            (end, self.allocated - end),
        ]
        .map(|(offset, bytes)| MemoryRange {
            address: self.base + offset as u64,
            bytes,
        })
    }

    /// Where a part of a guard zone differs from what it must hold, which is restored.
    pub(super) fn restore_zone(
        &self,
        driver: &mut dyn Driver,
        zone: MemoryRange,
        guards: &Guards,
    ) -> Result<Option<usize>> {
        let (mut offset, mut first) = (0, None);
        for right in guards
            .noise
            .parts(4 * self.noise + (zone.address - self.base), zone.bytes)
        {
            let address = zone.address + offset as u64;
            if let Some(at) = difference(driver, address, right)? {
                driver.upload(address, right)?;
                first.get_or_insert(offset + at);
            }
            offset += right.len();
        }
        Ok(first)
    }

    pub(super) fn out_of_bounds(&self, zone: MemoryRange, at: usize) -> Breach {
        let offset = zone.address as i64 + at as i64 - self.address() as i64;
        Breach::OutOfBounds {
            buffer: self.name.clone(),
            offset,
        }
    }

    pub(super) fn fill(&self, driver: &mut dyn Driver, pattern: u32, how: Filling) -> Result {
        driver.fill(self.ranges()[1], pattern, how)
    }

    /// A launch may write to the buffer from now on, or the judge has.
    pub(super) fn open(&mut self) {
        (self.content, self.digests[1]) = (Content::Open, None);
    }

    /// Compares zones and content with what they must hold. `now` are their present digests, where
    /// the device computes digests, and `launches` is the number of the last launch.
    pub(super) fn check(
        &mut self,
        driver: &mut dyn Driver,
        guards: &Guards,
        (now, launches): ([Option<u64>; 3], u64),
        found: &mut Vec<(u32, Breach)>,
    ) -> Result {
        let ranges = self.ranges();
        for zone in [0, 2] {
            if now[zone].is_some() && now[zone] == self.digests[zone] {
                continue;
            }
            let mut range = ranges[zone];
            if now[zone].is_none() && !self.given {
                let near = range.bytes.min(NEAR);
                range.address += if zone == 0 {
                    (range.bytes - near) as u64
                } else {
                    0
                };
                range.bytes = near;
            }
            if let Some(at) = self.restore_zone(driver, range, guards)? {
                found.push((self.owner, self.out_of_bounds(range, at)));
            }
        }
        self.given = false;
        let unchanged = now[1].is_some() && now[1] == self.digests[1];
        let mut is_new = matches!(self.content, Content::Open);
        if !unchanged
            && let Some(at) = self
                .content
                .difference(driver, ranges[1], now[1].is_some())?
        {
            let is_late = self.launch == launches;
            found.push((self.owner, self.content.breach(&self.name, at, is_late)));
            self.content.restore(driver, ranges[1])?;
            is_new |= matches!(self.content, Content::Results(_));
        }
        // The results that a launch left are known from here on.
        if is_new {
            self.content = Content::results(driver, ranges[1], now[1].is_some())?;
            self.digests[1] = now[1];
        }
        Ok(())
    }
}
