//! Tells for many short ids at once which of them git holds.

use super::Repo;
use anyhow::Result;
use git2::{Oid, Repository};

/// Hex digits that a short id has at least.
pub(super) const DIGITS: usize = 4;

/// Ids of objects that begin as one of the asked short ids does.
pub struct Present {
    /// Sorted.
    ids: Vec<Oid>,
}

impl Present {
    /// Looks through all objects of the repository once. A short id has at least
    /// `DIGITS` hex digits; others are not found.
    pub fn of<'s>(repo: &Repo, short_ids: impl Iterator<Item = &'s str>) -> Result<Present> {
        let ids = with_prefixes(&repo.git, short_ids)?;
        Ok(Present { ids })
    }

    /// Whether git holds an object whose id begins with these digits.
    pub fn holds(&self, short: &str) -> bool {
        first_with(&self.ids, short).is_some()
    }
}

/// The ids of all objects that begin with the first [`DIGITS`] of one of these short ids, sorted.
pub(super) fn with_prefixes<'s>(
    git: &Repository,
    short_ids: impl Iterator<Item = &'s str>,
) -> Result<Vec<Oid>> {
    let mut wanted = vec![false; 1 << (4 * DIGITS)];
    for short in short_ids {
        if let Some(start) = short.get(..DIGITS)
            && let Ok(start) = usize::from_str_radix(start, 16)
        {
            wanted[start] = true;
        }
    }
    let mut ids = Vec::new();
    if wanted.contains(&true) {
        git.odb()?.foreach(|id| {
            let bytes = id.as_bytes();
            if wanted[usize::from(bytes[0]) << 8 | usize::from(bytes[1])] {
                ids.push(*id);
            }
            true
        })?;
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
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
