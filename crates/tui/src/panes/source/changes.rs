//! Which lines of the kernel changed since the base.

use crate::diff::{Diff, DiffLine, LineKind};
use std::collections::BTreeMap;

/// What happened to a line since the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    New,
    Changed,
    /// Lines below it were removed.
    GoneBelow,
}

/// What happened to each line, and where changes begin.
pub(super) fn changes(diff: &Diff, lines: usize) -> (BTreeMap<usize, LineChange>, Vec<usize>) {
    let mut all = BTreeMap::new();
    let mut starts = Vec::new();
    for hunk in diff.hunks() {
        // The line of the new text above the present one.
        let mut above = (hunk.new as usize).saturating_sub(1);
        if hunk.counts().1 == 0 {
            above = hunk.new as usize;
        }
        for change in hunk
            .lines
            .chunk_by(|a, b| (a.kind == LineKind::Same) == (b.kind == LineKind::Same))
        {
            let added: Vec<usize> = change
                .iter()
                .filter_map(|line| Some(line.new? as usize - 1))
                .collect();
            let is_change = change.iter().any(|line| line.kind != LineKind::Same);
            if is_change && lines > 0 {
                // Where no new line resembles an old one, all new lines replace all removed ones.
                let has_removed = change.iter().any(|line| line.kind == LineKind::Removed);
                let is_other = has_removed && change.iter().all(|line| line.counterpart.is_none());
                let became = |line: &DiffLine| {
                    if line.counterpart.is_some() || is_other {
                        LineChange::Changed
                    } else {
                        LineChange::New
                    }
                };
                all.extend(
                    change
                        .iter()
                        .filter_map(|line| Some((line.new? as usize - 1, became(line)))),
                );
                let start = added
                    .first()
                    .copied()
                    .unwrap_or(above.saturating_sub(1))
                    .min(lines - 1);
                if added.is_empty() {
                    all.insert(start, LineChange::GoneBelow);
                }
                starts.push(start);
            }
            above += added.len();
        }
    }
    (all, starts)
}
