//! A diff as data and its rows on the screen, for every pane that shows one.
//!
//! The text of a unified diff is parsed into a [`Diff`]. Only libgit2 decides which lines changed,
//! in `lab_git`: it computes the diff of a commit with its renames and limits, and the diff
//! of two texts by the same rules, so that all panes agree. imara-diff compares the words of
//! changed lines (words.rs), which libgit2 cannot do. The rows are unified (one line under the
//! other) or split (old and new side by side).

mod draw;
mod moved;
mod parse;
mod rows;
mod view;
mod words;

#[cfg(test)]
mod tests;

pub use draw::{LineStyles, RowPainter, no_line_styles};
pub use moved::LineLocation;
pub use rows::{DiffLayout, DiffRow};
pub use view::{DiffFit, DiffView, JumpTarget, WIDE, next_in_circle};

use std::ops::Range;

/// Whether a line is in both texts, in the old one only or in the new one only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Same,
    Removed,
    Added,
}

impl LineKind {
    /// Its sign in a unified diff: a blank, `-` or `+`.
    pub fn mark(self) -> &'static str {
        match self {
            LineKind::Same => " ",
            LineKind::Removed => "-",
            LineKind::Added => "+",
        }
    }
}

/// One of the two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Old,
    New,
}

/// How many unchanged lines are shown around a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextLines {
    /// 3 lines, as in git.
    #[default]
    Near,
    /// 10 lines.
    Far,
    /// All lines of the file.
    Whole,
}

impl ContextLines {
    /// The number of lines before and after each change.
    pub fn lines(self) -> u32 {
        match self {
            ContextLines::Near => 3,
            ContextLines::Far => 10,
            // More lines than a file has that is compared line by line.
            ContextLines::Whole => 1 << 24,
        }
    }

    /// The next larger value; after the largest the smallest.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            ContextLines::Near => ContextLines::Far,
            ContextLines::Far => ContextLines::Whole,
            ContextLines::Whole => ContextLines::Near,
        }
    }

    /// Its name on the screen.
    pub fn words(self) -> &'static str {
        match self {
            ContextLines::Near => "3 lines around",
            ContextLines::Far => "10 lines around",
            ContextLines::Whole => "the whole file",
        }
    }

    /// Its name for a title. Empty for the default.
    pub fn note(self) -> &'static str {
        if self == ContextLines::default() {
            ""
        } else {
            self.words()
        }
    }
}

/// One line of a hunk. Its text is not filtered; [`crate::line_layout`] makes it safe for a
/// terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: LineKind,
    /// The text without its line feed.
    pub text: String,
    /// Its number in the old text, from 1. `None` of an added line.
    pub old: Option<u32>,
    /// Its number in the new text, from 1. `None` of a removed line.
    pub new: Option<u32>,
    /// It is the last line of a text and has no line feed.
    pub lacks_newline: bool,
    /// Of a line with a counterpart: the byte ranges that the counterpart does not have. Empty
    /// where nearly everything differs.
    pub changed_parts: Vec<Range<usize>>,
    /// The index in the hunk of the line that this one replaced, or that replaced this one.
    pub counterpart: Option<usize>,
}

impl DiffLine {
    /// The line as a patch has it: its sign, then its text.
    fn in_patch(&self) -> String {
        let end = if self.lacks_newline {
            "\n\\ No newline at end of file"
        } else {
            ""
        };
        format!("{}{}{end}", self.kind.mark(), self.text)
    }

    /// Its number in one of the texts, from 1.
    fn number(&self, side: Side) -> Option<u32> {
        match side {
            Side::Old => self.old,
            Side::New => self.new,
        }
    }
}

/// The end of the lines of this kind that begin at `from`.
fn run_end(lines: &[DiffLine], from: usize, kind: LineKind) -> usize {
    let run = lines[from..].iter().take_while(|line| line.kind == kind);
    from + run.count()
}

/// Changes that are close together, with the unchanged lines around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The number of its first line in the old text, from 1. Without a line of the old text: the
    /// number of the line before.
    pub old: u32,
    /// The same in the new text.
    pub new: u32,
    /// The nearest line above that begins with a letter, mostly the head of a function.
    pub section: String,
    /// Its lines. Removed lines come before the added lines that replace them.
    pub lines: Vec<DiffLine>,
}

impl Hunk {
    /// The number of its lines in the old text and in the new text.
    pub fn counts(&self) -> (usize, usize) {
        let of = |kind: LineKind| self.lines.iter().filter(|line| line.kind == kind).count();
        let same = of(LineKind::Same);
        (same + of(LineKind::Removed), same + of(LineKind::Added))
    }

    /// Its head without the section: `@@ -31,7 +31,9 @@`.
    pub fn range(&self) -> String {
        let (old, new) = self.counts();
        format!("@@ -{},{old} +{},{new} @@", self.old, self.new)
    }
}

/// What changed in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Its name on the screen; `None` in a diff of two texts.
    pub name: Option<String>,
    pub hunks: Vec<Hunk>,
}

/// A parsed diff.
///
/// ```
/// use lab_tui::diff::{Diff, DiffLayout, LineKind};
///
/// let diff = Diff::parse("@@ -1,2 +1,2 @@ void f()\n x = 0;\n-y = load(1);\n+y = load(2);\n");
/// assert_eq!(diff.tally(), "+1 −1");
/// let lines = &diff.files[0].hunks[0].lines;
/// assert_eq!((lines[1].kind, lines[1].old, lines[1].counterpart), (LineKind::Removed, Some(2), Some(2)));
/// assert_eq!(&lines[1].text[lines[1].changed_parts[0].clone()], "1");
/// assert_eq!(diff.rows(DiffLayout::Unified).len(), 4, "the hunk's head and three lines");
/// assert_eq!(diff.rows(DiffLayout::Split).len(), 3, "the changed lines share a row");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    pub files: Vec<FileDiff>,
}

impl Diff {
    /// Parses the hunks between two texts, as `lab_git` writes them.
    pub fn parse(hunks: &str) -> Self {
        Diff::of_files([(None, hunks)])
    }

    /// Parses the hunks of files, each with its name.
    pub fn of_files<'t>(files: impl IntoIterator<Item = (Option<String>, &'t str)>) -> Self {
        let file = |(name, hunks)| FileDiff {
            name,
            hunks: parse::parse(hunks),
        };
        Diff {
            files: files.into_iter().map(file).collect(),
        }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.hunks().next().is_none()
    }

    /// The rows of the screen that show the diff.
    pub fn rows(&self, layout: DiffLayout) -> Vec<DiffRow> {
        rows::rows(self, layout)
    }

    /// The hunks of all files.
    pub fn hunks(&self) -> impl Iterator<Item = &Hunk> {
        self.files.iter().flat_map(|file| &file.hunks)
    }

    /// The number of added and of removed lines.
    pub fn counts(&self) -> (usize, usize) {
        let lines = || self.hunks().flat_map(|hunk| &hunk.lines);
        let of = |kind: LineKind| lines().filter(|line| line.kind == kind).count();
        (of(LineKind::Added), of(LineKind::Removed))
    }

    /// The number of added and of removed lines as text: `+12 −3`.
    pub fn tally(&self) -> String {
        let (added, removed) = self.counts();
        format!("+{added} −{removed}")
    }

    /// The width of its line numbers, in columns; at least 3.
    pub fn digits(&self) -> usize {
        let last = |hunk: &Hunk| hunk.old.max(hunk.new) as usize + hunk.lines.len();
        let most = self.hunks().map(last).max().unwrap_or(0);
        most.to_string().len().max(3)
    }

    fn hunk(&self, file: usize, hunk: usize) -> Option<&Hunk> {
        self.files.get(file)?.hunks.get(hunk)
    }

    fn line(&self, file: usize, hunk: usize, line: usize) -> Option<&DiffLine> {
        self.hunk(file, hunk)?.lines.get(line)
    }
}
