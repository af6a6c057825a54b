//! The rows of a diff on the screen: unified (one line under the other) or split (old and new side
//! by side).

use super::{Diff, Hunk, LineKind};

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
    /// A note about a file.
    Note { file: usize, note: usize },
    /// The head of a hunk.
    Hunk { file: usize, hunk: usize },
    /// A line of a unified diff.
    Line {
        file: usize,
        hunk: usize,
        line: usize,
    },
    /// Two lines of a split diff. An unchanged line is on both sides.
    Pair {
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
            DiffRow::Hunk { file, hunk }
            | DiffRow::Line { file, hunk, .. }
            | DiffRow::Pair { file, hunk, .. } => Some((file, hunk)),
            DiffRow::File { .. } | DiffRow::Note { .. } => None,
        }
    }

    /// The file that it belongs to.
    pub fn file(self) -> usize {
        match self {
            DiffRow::File { file }
            | DiffRow::Note { file, .. }
            | DiffRow::Hunk { file, .. }
            | DiffRow::Line { file, .. }
            | DiffRow::Pair { file, .. } => file,
        }
    }

    /// Whether it shows a line of the texts.
    pub fn is_source(self) -> bool {
        matches!(self, DiffRow::Line { .. } | DiffRow::Pair { .. })
    }
}

/// The rows of a diff.
pub(super) fn rows(diff: &Diff, layout: DiffLayout) -> Vec<DiffRow> {
    let mut out = Vec::new();
    for (file, content) in diff.files.iter().enumerate() {
        if content.name().is_some() {
            out.push(DiffRow::File { file });
        }
        out.extend((0..content.notes.len()).map(|note| DiffRow::Note { file, note }));
        for (hunk, lines) in content.hunks.iter().enumerate() {
            out.push(DiffRow::Hunk { file, hunk });
            match layout {
                DiffLayout::Unified => {
                    out.extend((0..lines.lines.len()).map(|line| DiffRow::Line {
                        file,
                        hunk,
                        line,
                    }));
                }
                DiffLayout::Split => {
                    let pairs = pairs(lines).into_iter();
                    out.extend(pairs.map(|(old, new)| DiffRow::Pair {
                        file,
                        hunk,
                        old,
                        new,
                    }));
                }
            }
        }
    }
    out
}

/// Pairs the lines of a hunk: each line with its counterpart; the lines between two such pairs in
/// order.
fn pairs(hunk: &Hunk) -> Vec<(Option<usize>, Option<usize>)> {
    let lines = &hunk.lines;
    let mut out = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].kind == LineKind::Same {
            out.push((Some(at), Some(at)));
            at += 1;
            continue;
        }
        let run = |from: usize, kind: LineKind| {
            from + lines[from..]
                .iter()
                .take_while(|line| line.kind == kind)
                .count()
        };
        let removed_end = run(at, LineKind::Removed);
        let added_end = run(removed_end, LineKind::Added);
        let (mut old, mut new) = (at, removed_end);
        let fill = |out: &mut Vec<_>, old: &mut usize, new: &mut usize, until: (usize, usize)| {
            while *old < until.0 || *new < until.1 {
                let left = (*old < until.0).then_some(*old);
                let right = (*new < until.1).then_some(*new);
                *old += usize::from(left.is_some());
                *new += usize::from(right.is_some());
                out.push((left, right));
            }
        };
        let taken = lines[at..removed_end]
            .iter()
            .zip(at..)
            .filter_map(|(line, left)| Some((left, line.counterpart?)));
        for (left, right) in taken {
            fill(&mut out, &mut old, &mut new, (left, right));
            out.push((Some(left), Some(right)));
            (old, new) = (left + 1, right + 1);
        }
        fill(&mut out, &mut old, &mut new, (removed_end, added_end));
        at = added_end;
    }
    out
}
