//! Tells for many short ids at once which of them git holds.

use super::Repo;
use anyhow::Result;
use git2::Oid;

/// Ids of objects that begin as one of the asked short ids does.
pub struct Present {
    /// Sorted.
    ids: Vec<Oid>,
}

/// A short id is looked up by this many bits.
const BITS: u32 = 24;

impl Present {
    /// Looks through all objects of the repository once. A short id has at least six hex digits;
    /// others are not found.
    pub fn of<'s>(repo: &Repo, short_ids: impl Iterator<Item = &'s str>) -> Result<Present> {
        let mut wanted = vec![0u64; 1 << (BITS - 6)];
        let mut any = false;
        for start in short_ids.filter_map(|short| u32::from_str_radix(short.get(..6)?, 16).ok()) {
            wanted[(start >> 6) as usize] |= 1 << (start & 63);
            any = true;
        }
        let mut ids = Vec::new();
        if any {
            repo.git.odb()?.foreach(|id| {
                let bytes = id.as_bytes();
                let start = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
                if wanted[(start >> 6) as usize] & (1 << (start & 63)) != 0 {
                    ids.push(*id);
                }
                true
            })?;
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(Present { ids })
    }

    /// Whether git holds an object whose id begins with these digits.
    pub fn holds(&self, short: &str) -> bool {
        first_with(&self.ids, short).is_some()
    }
}

/// The position of the first id that begins with these hex digits. The ids are sorted.
pub(super) fn first_with(ids: &[Oid], digits: &str) -> Option<usize> {
    // Missing digits count as zeros.
    let least = Oid::from_str(digits).ok()?;
    let at = ids.partition_point(|id| *id < least);
    ids.get(at)?
        .to_string()
        .starts_with(&digits.to_ascii_lowercase())
        .then_some(at)
}
