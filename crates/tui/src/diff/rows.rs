//! The rows of a diff on the screen: unified (one line under the other) or split (old and new side
//! by side).

use super::{Diff, DiffLine, Hunk, LineKind, run_end};

/// How a diff is arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffLayout {
    /// Removed and added lines one under the other.
    #[default]
    Unified,
    /// The old text at the left, the new text at the right.
    Split,
}

/// One row of the screen. Its fields are indices into the [`Diff`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffRow {
    /// The name of a file. A file without a name has no such row.
    File { file: usize },
    /// The head of a hunk.
    Hunk { file: usize, hunk: usize },
    /// A line of a unified diff, or two lines of a split one. An unchanged line is on both sides.
    Lines {
        file: usize,
        hunk: usize,
        old: Option<usize>,
        new: Option<usize>,
    },
}

impl DiffRow {
    /// The file and the hunk that it belongs to.
    pub fn hunk(self) -> Option<(usize, usize)> {
        match self {
            DiffRow::Hunk { file, hunk } | DiffRow::Lines { file, hunk, .. } => Some((file, hunk)),
            DiffRow::File { .. } => None,
        }
    }

    /// The file that it belongs to.
    pub fn file(self) -> usize {
        match self {
            DiffRow::File { file } | DiffRow::Hunk { file, .. } | DiffRow::Lines { file, .. } => {
                file
            }
        }
    }

    /// Whether it shows a line of the texts.
    pub fn is_source(self) -> bool {
        matches!(self, DiffRow::Lines { .. })
    }
}

/// The rows of a diff.
pub(super) fn rows(diff: &Diff, layout: DiffLayout) -> Vec<DiffRow> {
    let mut out = Vec::new();
    for (file, content) in diff.files.iter().enumerate() {
        if content.name.is_some() {
            out.push(DiffRow::File { file });
        }
        for (hunk, lines) in content.hunks.iter().enumerate() {
            out.push(DiffRow::Hunk { file, hunk });
            let sides = match layout {
                DiffLayout::Unified => (0..).zip(&lines.lines).map(alone).collect(),
                DiffLayout::Split => pairs(lines),
            };
            out.extend(sides.into_iter().map(|(old, new)| DiffRow::Lines {
                file,
                hunk,
                old,
                new,
            }));
        }
    }
    out
}

/// The lines of a row: of the old text, of the new text.
type Sides = (Option<usize>, Option<usize>);

/// A line in a row of its own.
fn alone((at, line): (usize, &DiffLine)) -> Sides {
    (line.old.map(|_| at), line.new.map(|_| at))
}

/// Pairs the lines of a hunk: each line with its counterpart; the lines between two such pairs in
/// order.
fn pairs(hunk: &Hunk) -> Vec<Sides> {
    let lines = &hunk.lines;
    let mut out = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].kind == LineKind::Same {
            out.push((Some(at), Some(at)));
            at += 1;
            continue;
        }
        let removed_end = run_end(lines, at, LineKind::Removed);
        let added_end = run_end(lines, removed_end, LineKind::Added);
        let ends = (removed_end, added_end);
        let (mut old, mut new) = (at, removed_end);
        let taken = (at..removed_end).filter_map(|left| Some((left, lines[left].counterpart?)));
        for (left, right) in taken.chain([ends]) {
            while old < left || new < right {
                let row = ((old < left).then_some(old), (new < right).then_some(new));
                old += usize::from(row.0.is_some());
                new += usize::from(row.1.is_some());
                out.push(row);
            }
            if (left, right) != ends {
                out.push((Some(left), Some(right)));
            }
            (old, new) = (left + 1, right + 1);
        }
        at = added_end;
    }
    out
}
