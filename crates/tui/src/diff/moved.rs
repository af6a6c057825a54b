//! Locates lines of the old text in the new text.

use super::{Diff, LineKind};

/// Where a line of the old text is in the new text, by its number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineLocation {
    /// The unchanged line is here.
    Kept(u32),
    /// The line was changed or removed; it would be here.
    Gone(u32),
}

impl Diff {
    /// Where line `line` of the old text, from 1, is in the new text. For a diff of one file.
    pub fn locate(&self, line: u32) -> LineLocation {
        // The lines that all hunks above added, minus those that they removed.
        let mut shift = 0;
        let by = |shift: i64| u32::try_from(i64::from(line) + shift).unwrap_or(1).max(1);
        for hunk in self.hunks() {
            let (old, new) = hunk.counts();
            let end = u64::from(hunk.old) + old as u64;
            if line < hunk.old {
                break;
            }
            if u64::from(line) < end {
                // In a hunk without lines of the new text: the line before the hunk.
                return hunk_moved(hunk, line).unwrap_or(LineLocation::Gone(hunk.new.max(1)));
            }
            shift += new as i64 - old as i64;
        }
        LineLocation::Kept(by(shift))
    }
}

fn hunk_moved(hunk: &super::Hunk, line: u32) -> Option<LineLocation> {
    let at = hunk.lines.iter().position(|l| l.old == Some(line))?;
    let found = &hunk.lines[at];
    if found.kind == LineKind::Same {
        return found.new.map(LineLocation::Kept);
    }
    // The line that replaced it; else the next line of the new text; else the previous one.
    let counterpart = found.counterpart.and_then(|at| hunk.lines[at].new);
    let below = || hunk.lines[at..].iter().find_map(|l| l.new);
    let above = || hunk.lines[..at].iter().rev().find_map(|l| l.new);
    counterpart
        .or_else(below)
        .or_else(above)
        .map(LineLocation::Gone)
}
