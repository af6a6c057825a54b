//! A diff as data and its rows on the screen, for every pane that shows one.
//!
//! The text of a unified diff is parsed into a [`Diff`]. Only libgit2 decides which lines changed, in `lab_core::repo`: it computes
//! the diff of a commit with its renames and limits, and the diff of two texts by the same rules, so that all panes agree. imara-diff
//! compares the words of changed lines ([`words`]), which libgit2 cannot do. The rows are unified (one line under the other) or
//! split (old and new side by side).

mod draw;
mod moved;
mod parse;
mod rows;
mod view;
mod words;

#[cfg(test)]
mod tests;

pub use draw::{LineStyles, RowPainter, draw, no_line_styles};
pub use moved::LineLocation;
pub use rows::{DiffLayout, DiffRow};
pub use view::{DiffFit, DiffView, JumpTarget};

use std::ops::Range;

/// What a line is to the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Same,
    Removed,
    Added,
}

impl LineKind {
    pub fn mark(self) -> &'static str {
        match self {
            LineKind::Same => " ",
            LineKind::Removed => "-",
            LineKind::Added => "+",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Old,
    New,
}

/// How much of what did not change is shown around a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextLines {
    /// As git has it.
    #[default]
    Near,
    Far,
    /// All of the file.
    Whole,
}

impl ContextLines {
    /// Lines before and behind each change.
    pub fn lines(self) -> u32 {
        match self {
            ContextLines::Near => 3,
            ContextLines::Far => 10,
            // More than a file has that is compared line by line.
            ContextLines::Whole => 1 << 24,
        }
    }

    /// The next wider one, and from the widest the narrowest.
    pub fn next(self) -> Self {
        match self {
            ContextLines::Near => ContextLines::Far,
            ContextLines::Far => ContextLines::Whole,
            ContextLines::Whole => ContextLines::Near,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            ContextLines::Near => "3 lines around",
            ContextLines::Far => "10 lines around",
            ContextLines::Whole => "the whole file",
        }
    }

    /// What a title says of it: nothing of the usual.
    pub fn note(self) -> &'static str {
        if self == ContextLines::default() { "" } else { self.words() }
    }
}

/// One line of a hunk. Its text is as it was found: whoever draws it makes it fit for a screen ([`crate::line_layout`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: LineKind,
    /// Without its line feed.
    pub text: String,
    /// Its number in the old text, from 1; `None` of an added line.
    pub old: Option<u32>,
    /// Its number in the new text.
    pub new: Option<u32>,
    /// The last line of a text that does not end in a line feed.
    pub unended: bool,
    /// Of a changed line: the bytes that its counterpart does not have. Empty where there is no counterpart, or
    /// nearly everything differs.
    pub parts: Vec<Range<usize>>,
    /// Of a changed line: the line of the same hunk that it replaced, or that replaced it.
    pub beside: Option<usize>,
}

/// Changes that lie close together, with the unchanged lines around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Number of the first line in each text, from 1; the line before where the side has none, as in unified diffs.
    pub old: u32,
    pub new: u32,
    /// Where in the source it is: the nearest line above that begins at the left, mostly a function's head.
    pub section: String,
    /// Removed lines come before the added ones that replace them.
    pub lines: Vec<DiffLine>,
}

impl Hunk {
    /// Lines of it that the old and the new text have.
    pub fn counts(&self) -> (usize, usize) {
        let of = |kind: LineKind| self.lines.iter().filter(|line| line.kind == kind).count();
        let same = of(LineKind::Same);
        (same + of(LineKind::Removed), same + of(LineKind::Added))
    }

    /// `@@ -31,7 +31,9 @@`
    pub fn range(&self) -> String {
        let (old, new) = self.counts();
        format!("@@ -{},{old} +{},{new} @@", self.old, self.new)
    }
}

/// What changed in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Its names before and after, where the diff says them; `None` also where there was, or is, none.
    pub old: Option<String>,
    pub new: Option<String>,
    /// What else is said of it: modes, renames, that it is no text.
    pub notes: Vec<String>,
    pub hunks: Vec<Hunk>,
}

impl FileDiff {
    /// What to call it: where it is, else where it was.
    pub fn name(&self) -> Option<&str> {
        self.new.as_deref().or(self.old.as_deref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    pub files: Vec<FileDiff>,
}

impl Diff {
    /// Parses the text of a unified diff, of git or of `diff -u`. Lines that belong to no hunk become notes. Any text is accepted:
    /// the counts of a hunk may be wrong and lines may be missing.
    pub fn parse(text: &str) -> Self {
        parse::parse(text)
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The diff as rows of a screen.
    pub fn rows(&self, form: DiffLayout) -> Vec<DiffRow> {
        rows::rows(self, form)
    }

    pub fn hunks(&self) -> impl Iterator<Item = &Hunk> {
        self.files.iter().flat_map(|file| &file.hunks)
    }

    /// How many lines were added and removed.
    pub fn counts(&self) -> (usize, usize) {
        let lines = || self.hunks().flat_map(|hunk| &hunk.lines);
        let of = |kind: LineKind| lines().filter(|line| line.kind == kind).count();
        (of(LineKind::Added), of(LineKind::Removed))
    }

    /// `+12 −3`
    pub fn tally(&self) -> String {
        let (added, removed) = self.counts();
        format!("+{added} −{removed}")
    }

    /// Columns that its line numbers take.
    pub fn digits(&self) -> usize {
        let last = |hunk: &Hunk| hunk.old.max(hunk.new) as usize + hunk.lines.len();
        let most = self.hunks().map(last).max().unwrap_or(0);
        most.to_string().len().max(3)
    }

    fn line(&self, file: usize, hunk: usize, line: usize) -> Option<&DiffLine> {
        self.files.get(file)?.hunks.get(hunk)?.lines.get(line)
    }
}
