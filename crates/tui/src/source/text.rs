//! A text with an index of its lines.

use lab_text::line_ends::with_line_feeds;
use std::borrow::Cow;
use std::sync::Arc;

/// A text and where its lines begin. Lines are those of [`str::lines`]: a line feed at the end
/// begins no further line. A carriage return ends a line too, as compilers count: it is shown with a
/// line feed behind it.
///
/// ```
/// use lab_tui::source::SourceText;
///
/// let text = SourceText::new("a\nb\n");
/// assert_eq!((text.len(), text.line(1), text.line(2)), (2, "b", ""));
/// let of_old_editors = SourceText::new("a\rb\r");
/// assert_eq!((of_old_editors.len(), of_old_editors.line(1)), (2, "b"));
/// ```
#[derive(Clone, Debug)]
pub struct SourceText {
    whole: Arc<str>,
    /// The byte offset of each line.
    starts: Arc<[usize]>,
}

impl Default for SourceText {
    fn default() -> Self {
        SourceText::new("")
    }
}

impl SourceText {
    /// Indexes the lines of a text.
    pub fn new(whole: impl Into<Arc<str>>) -> Self {
        let whole: Arc<str> = whole.into();
        let whole = match with_line_feeds(whole.as_bytes()) {
            Cow::Borrowed(_) => whole,
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into(),
        };
        let mut starts = Vec::new();
        let mut at = 0;
        for line in whole.split_inclusive('\n') {
            starts.push(at);
            at += line.len();
        }
        SourceText {
            starts: starts.into(),
            whole,
        }
    }

    /// The whole text.
    pub fn whole(&self) -> &Arc<str> {
        &self.whole
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether the text has no line.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Line `at`, from 0, without its line feed and carriage return. Empty past the end.
    pub fn line(&self, at: usize) -> &str {
        let Some(start) = self.starts.get(at) else {
            return "";
        };
        let end = self.starts.get(at + 1).copied().unwrap_or(self.whole.len());
        let line = &self.whole[*start..end];
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// The number of equal lines at the beginning of both texts, and the number of further equal
    /// lines at the end.
    pub fn common(&self, other: &SourceText) -> (usize, usize) {
        let most = self.len().min(other.len());
        let same = |a: usize, b: usize| self.line(a) == other.line(b);
        let head = (0..most).take_while(|at| same(*at, *at)).count();
        let tail = (1..=most - head)
            .take_while(|n| same(self.len() - n, other.len() - n))
            .count();
        (head, tail)
    }

    /// The position of line `at` of this text in `other`: exact for the common lines at the
    /// beginning and at the end, else the same number. At most the last line of `other`.
    pub fn follow(&self, at: usize, other: &SourceText) -> usize {
        let (head, tail) = self.common(other);
        let at = if at >= head && at >= self.len() - tail {
            other.len() - self.len().saturating_sub(at)
        } else {
            at
        };
        at.min(other.len().saturating_sub(1))
    }
}
