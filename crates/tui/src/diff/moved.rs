//! Where the lines of the old text are in the new one.

use super::{Diff, Sign};

/// Where a line came to be, by its number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The same line.
    Kept(u32),
    /// It was changed or removed; this is where it was.
    Gone(u32),
}

impl Diff {
    /// Where line `line` of the old text is. Only of a diff of one file.
    pub fn moved(&self, line: u32) -> Moved {
        // What all hunks above added and removed.
        let mut shift = 0;
        let by = |shift: i64| u32::try_from(i64::from(line) + shift).unwrap_or(1).max(1);
        for hunk in self.hunks() {
            let (old, new) = hunk.counts();
            let end = u64::from(hunk.old) + old as u64;
            if line < hunk.old {
                break;
            }
            if u64::from(line) < end {
                // Of a hunk without a line in the new text: the line in front of it.
                return hunk_moved(hunk, line).unwrap_or(Moved::Gone(hunk.new.max(1)));
            }
            shift += new as i64 - old as i64;
        }
        Moved::Kept(by(shift))
    }
}

fn hunk_moved(hunk: &super::Hunk, line: u32) -> Option<Moved> {
    let at = hunk.lines.iter().position(|l| l.old == Some(line))?;
    let found = &hunk.lines[at];
    if found.sign == Sign::Same {
        return found.new.map(Moved::Kept);
    }
    // What replaced it; else the next line that the new text has; else the one above.
    let beside = found.beside.and_then(|at| hunk.lines[at].new);
    let below = || hunk.lines[at..].iter().find_map(|l| l.new);
    let above = || hunk.lines[..at].iter().rev().find_map(|l| l.new);
    beside.or_else(below).or_else(above).map(Moved::Gone)
}
