//! What a buffer must hold, and how a change of it is found, described and undone.

use super::Breach;
use lab_device::{COMPARE_CHUNK_BYTES, Driver, MemoryRange, Result};

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

/// Where a buffer changed.
#[derive(Clone, Copy)]
pub enum ChangedAt {
    /// The offset of the first byte.
    Byte(u64),
    /// Only digests tell of the change.
    Unknown,
}

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

    /// Where the memory differs from this content; `None` if it does not, or if the content is
    /// unknown. `digests` says that the device computes digests, and that the buffer's has changed.
    pub fn difference(
        &self,
        driver: &mut dyn Driver,
        range: MemoryRange,
        digests: bool,
    ) -> Result<Option<ChangedAt>> {
        let at = match self {
            Content::Open => return Ok(None),
            Content::Results(None) => return Ok(digests.then_some(ChangedAt::Unknown)),
            Content::Results(Some(right)) | Content::Sealed(right) => {
                difference(driver, range.address, right)?
            }
            Content::SealedAs(held) => differs_from_memory(driver, range, *held)?,
            Content::Pattern(pattern) => differs_from_pattern(driver, range, *pattern)?,
        };
        Ok(at.map(|at| ChangedAt::Byte(at as u64)))
    }

    /// The breach that a change of this content is. `is_late` says that there was no launch since
    /// the one that left it.
    pub fn breach(&self, name: &str, at: ChangedAt, is_late: bool) -> Breach {
        let buffer = name.to_owned();
        let offset = match at {
            ChangedAt::Byte(offset) => Some(offset),
            ChangedAt::Unknown => None,
        };
        match (self, offset) {
            (Content::Sealed(_) | Content::SealedAs(_), Some(offset)) => {
                Breach::InputChanged { buffer, offset }
            }
            (Content::Results(_), offset) if is_late => Breach::LateStore { buffer, offset },
            (_, offset) => Breach::StrayStore { buffer, offset },
        }
    }

    /// Writes the content again, where it is known byte by byte.
    pub fn restore(&self, driver: &mut dyn Driver, range: MemoryRange) -> Result {
        match self {
            Content::Open | Content::Results(_) => Ok(()),
            Content::Sealed(right) => driver.upload(range.address, right),
            Content::SealedAs(held) => {
                driver.copy_before(held.address, range.address, range.bytes)?;
                driver.finish()
            }
            Content::Pattern(pattern) => {
                let mut offset = 0;
                for part in pattern_parts(range.bytes, *pattern) {
                    driver.upload(range.address + offset, &part)?;
                    offset += part.len() as u64;
                }
                Ok(())
            }
        }
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

/// The same for content that lies elsewhere on the device.
fn differs_from_memory(
    driver: &mut dyn Driver,
    range: MemoryRange,
    held: MemoryRange,
) -> Result<Option<usize>> {
    for offset in (0..range.bytes).step_by(COMPARE_CHUNK_BYTES) {
        let mut right = vec![0; (range.bytes - offset).min(COMPARE_CHUNK_BYTES)];
        driver.download(held.address + offset as u64, &mut right)?;
        if let Some(at) = difference(driver, range.address + offset as u64, &right)? {
            return Ok(Some(offset + at));
        }
    }
    Ok(None)
}

fn differs_from_pattern(
    driver: &mut dyn Driver,
    range: MemoryRange,
    pattern: u32,
) -> Result<Option<usize>> {
    let mut offset = 0;
    for part in pattern_parts(range.bytes, pattern) {
        if let Some(at) = difference(driver, range.address + offset as u64, &part)? {
            return Ok(Some(offset + at));
        }
        offset += part.len();
    }
    Ok(None)
}

/// So many bytes of a repeated pattern, in parts.
fn pattern_parts(bytes: usize, pattern: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes).step_by(COMPARE_CHUNK_BYTES).map(move |from| {
        let mut part = pattern
            .to_le_bytes()
            .repeat((bytes - from).min(COMPARE_CHUNK_BYTES).div_ceil(4));
        part.truncate(bytes - from);
        part
    })
}
