//! What a buffer must hold, and how a change of it is found, described and undone.

use super::Breach;
use lab_device::{COMPARE_CHUNK_BYTES, Driver, MemoryRange, Result};
use std::borrow::Cow;
use std::ops::Range;

/// The content of a buffer, as far as the worker knows it.
pub enum Content {
    /// Unknown: a launch got the buffer, or the judge wrote to it and did not seal it.
    Open,
    /// A repeated pattern.
    Pattern(u32),
    /// An input.
    Sealed(Vec<u8>),
    /// An input whose content lies there too, where no kernel reaches it.
    SealedAs(MemoryRange),
    /// What earlier launches left; a copy on a device that computes no digests.
    Results(Option<Vec<u8>>),
}

/// The offset of the first byte of a buffer that changed; `None` if only digests tell of the change.
pub type ChangedAt = Option<u64>;

impl Content {
    /// Whether no launch may write here.
    pub fn is_input(&self) -> bool {
        matches!(self, Content::Sealed(_) | Content::SealedAs(_))
    }

    /// The address of the held buffer that has the content.
    pub fn held_at(&self) -> Option<u64> {
        match self {
            Content::SealedAs(held) => Some(held.address),
            _ => None,
        }
    }

    /// These bytes of the content; `None` where it is not known byte by byte.
    fn part(&self, driver: &mut dyn Driver, bytes: Range<usize>) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(Some(match self {
            Content::Open | Content::Results(None) => return Ok(None),
            Content::Sealed(right) | Content::Results(Some(right)) => right[bytes].into(),
            Content::SealedAs(held) => {
                let mut right = vec![0; bytes.len()];
                driver.download(held.address + bytes.start as u64, &mut right)?;
                right.into()
            }
            Content::Pattern(pattern) => {
                let mut right = pattern.to_le_bytes().repeat(bytes.len().div_ceil(4));
                right.truncate(bytes.len());
                right.into()
            }
        }))
    }

    /// Where the memory differs from this content; `None` if it does not, or if the content is
    /// unknown. `digests` says that the device computes digests, and that the buffer's has changed.
    pub fn difference(
        &self,
        driver: &mut dyn Driver,
        range: MemoryRange,
        digests: bool,
    ) -> Result<Option<ChangedAt>> {
        if let Content::Results(None) = self {
            return Ok(digests.then_some(None));
        }
        for part in parts(range.bytes) {
            let (offset, address) = (part.start, range.address + part.start as u64);
            if let Some(right) = self.part(driver, part)?
                && let Some(at) = difference(driver, address, &right)?
            {
                return Ok(Some(Some((offset + at) as u64)));
            }
        }
        Ok(None)
    }

    /// The breach that a change of this content is. `is_late` says that there was no launch since
    /// the one that left it.
    pub fn breach(&self, name: &str, offset: ChangedAt, is_late: bool) -> Breach {
        let buffer = name.to_owned();
        match (self, offset) {
            (Content::Sealed(_) | Content::SealedAs(_), Some(offset)) => {
                Breach::InputChanged { buffer, offset }
            }
            (Content::Results(_), offset) if is_late => Breach::LateStore { buffer, offset },
            (_, offset) => Breach::StrayStore { buffer, offset },
        }
    }

    /// Writes the content again, if it is known and no result of a launch.
    pub fn restore(&self, driver: &mut dyn Driver, range: MemoryRange) -> Result {
        if let Content::Results(_) = self {
            return Ok(());
        }
        for part in parts(range.bytes) {
            let address = range.address + part.start as u64;
            if let Some(right) = self.part(driver, part)? {
                driver.upload(address, &right)?;
            }
        }
        Ok(())
    }

    /// What a launch left in the buffer. `digests` says that the device computes digests, so that
    /// no copy is needed.
    pub fn results(driver: &mut dyn Driver, range: MemoryRange, digests: bool) -> Result<Content> {
        if digests {
            return Ok(Content::Results(None));
        }
        let mut copy = vec![0; range.bytes];
        driver.download(range.address, &mut copy)?;
        Ok(Content::Results(Some(copy)))
    }
}

/// The offset at which memory first differs from `right`.
pub fn difference(driver: &mut dyn Driver, address: u64, right: &[u8]) -> Result<Option<usize>> {
    if right.is_empty() {
        Ok(None)
    } else {
        driver.first_difference(address, right)
    }
}

/// The parts of so many bytes that are compared at once.
fn parts(bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let begins = (0..bytes).step_by(COMPARE_CHUNK_BYTES);
    begins.map(move |begin| begin..bytes.min(begin + COMPARE_CHUNK_BYTES))
}
