//! Compares the words of the removed and the added lines of a change: which line replaced which,
//! and which parts of the two differ.

use super::{DiffLine, LineKind, run_end};
use imara_diff::{Algorithm, Diff, InternedInput};
use std::ops::Range;

/// The number of words of a change that are compared at most. A larger change is shown by whole
/// lines only.
const WORD_LIMIT: usize = 40_000;

/// Where more than this share of a line differs, no part of the line is marked.
const MOST_DIFFERS: f64 = 0.7;

/// A word of one of the lines.
struct Word<'a> {
    text: &'a str,
    line: usize,
    range: Range<usize>,
}

impl Word<'_> {
    /// How much an equal word counts for two lines. Blanks match anywhere, so they do not count.
    fn weight(&self) -> usize {
        if self.text.trim().is_empty() {
            0
        } else {
            self.text.len()
        }
    }
}

/// Sets `changed_parts` and `counterpart` of a hunk's lines.
pub(super) fn mark(lines: &mut [DiffLine]) {
    let mut at = 0;
    while at < lines.len() {
        let removed = at..run_end(lines, at, LineKind::Removed);
        let added = removed.end..run_end(lines, removed.end, LineKind::Added);
        if !removed.is_empty() && !added.is_empty() {
            compare(lines, removed, added.clone());
        }
        at = added.end.max(at + 1);
    }
}

/// Compares the removed lines with the added lines that follow them.
fn compare(lines: &mut [DiffLine], removed: Range<usize>, added: Range<usize>) {
    let count =
        |range: Range<usize>| -> usize { lines[range].iter().map(|line| line.text.len()).sum() };
    if count(removed.clone()) + count(added.clone()) > WORD_LIMIT * 8 {
        return;
    }
    let (old, new) = (words(lines, removed), words(lines, added));
    if old.len() + new.len() > WORD_LIMIT {
        return;
    }
    let mut input = InternedInput::default();
    input.update_before(old.iter().map(|word| word.text));
    input.update_after(new.iter().map(|word| word.text));
    let mut found = Diff::compute(Algorithm::Myers, &input);
    found.postprocess_no_heuristic(&input);
    let is_removed = |at: usize| found.is_removed(at as u32);
    let is_added = |at: usize| found.is_added(at as u32);

    let kept = (0..old.len())
        .filter(|at| !is_removed(*at))
        .zip((0..new.len()).filter(|at| !is_added(*at)));
    let pairs = pairs(kept.map(|(a, b)| (old[a].line, new[b].line, old[a].weight())));
    let mut parts: Vec<(usize, Vec<Range<usize>>)> = Vec::new();
    for &(a, b) in &pairs {
        parts.push((a, differing(&old, a, is_removed)));
        parts.push((b, differing(&new, b, is_added)));
    }
    for (a, b) in pairs {
        lines[a].counterpart = Some(b);
        lines[b].counterpart = Some(a);
    }
    for (line, ranges) in parts {
        let whole = lines[line].text.trim().len().max(1);
        let differs: usize = ranges
            .iter()
            .map(|range| lines[line].text[range.clone()].trim().len())
            .sum();
        if (differs as f64) < MOST_DIFFERS * whole as f64 {
            lines[line].changed_parts = ranges;
        }
    }
}

/// The pairs of removed and added lines, in order: each line with the line that it shares most
/// letters with. The input is the removed line, the added line and the weight of each equal word.
fn pairs(kept: impl Iterator<Item = (usize, usize, usize)>) -> Vec<(usize, usize)> {
    // Both line numbers only grow, so the words that two lines share are adjacent.
    let mut shared: Vec<(usize, usize, usize)> = Vec::new();
    for (a, b, weight) in kept {
        match shared.last_mut() {
            Some(last) if (last.0, last.1) == (a, b) => last.2 += weight,
            _ => shared.push((a, b, weight)),
        }
    }
    shared.retain(|(.., weight)| *weight > 0);
    let mut out: Vec<(usize, usize, usize)> = Vec::new();
    for next in shared {
        match out.last_mut() {
            // One of the two lines has a partner already: the pair that shares more wins.
            Some(last) if last.0 == next.0 || last.1 == next.1 => {
                if next.2 > last.2 {
                    *last = next;
                }
            }
            _ => out.push(next),
        }
    }
    out.into_iter().map(|(a, b, _)| (a, b)).collect()
}

/// The byte ranges of a line's words that the other side does not have. Blanks between two such
/// words are included.
fn differing(words: &[Word], line: usize, differs: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let first = words.partition_point(|word| word.line < line);
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut blank_since = None;
    for (at, word) in words
        .iter()
        .enumerate()
        .skip(first)
        .take_while(|(_, word)| word.line == line)
    {
        match out.last_mut() {
            Some(last)
                if differs(at)
                    && (last.end == word.range.start || blank_since == Some(last.end)) =>
            {
                last.end = word.range.end;
            }
            _ if differs(at) => out.push(word.range.clone()),
            _ => {}
        }
        let is_blank = word.text.trim().is_empty();
        blank_since = (is_blank && !differs(at)).then_some(word.range.start);
    }
    out
}

/// The words of some lines: names and numbers, runs of blanks, operators, single punctuation marks.
fn words(lines: &[DiffLine], range: Range<usize>) -> Vec<Word<'_>> {
    let mut out = Vec::new();
    for line in range {
        let text = lines[line].text.as_str();
        let mut from = 0;
        let mut kind = None;
        for (at, letter) in text.char_indices() {
            let now = WordKind::of(letter);
            if at > from && (kind != Some(now) || now == WordKind::Punctuation) {
                out.push(Word {
                    text: &text[from..at],
                    line,
                    range: from..at,
                });
                from = at;
            }
            kind = Some(now);
        }
        if from < text.len() {
            out.push(Word {
                text: &text[from..],
                line,
                range: from..text.len(),
            });
        }
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Letter,
    Blank,
    /// `+=`, `<<<`
    Operator,
    /// A bracket, a comma: each is a word of its own.
    Punctuation,
}

impl WordKind {
    fn of(letter: char) -> Self {
        match letter {
            _ if letter.is_alphanumeric() || letter == '_' => WordKind::Letter,
            _ if letter.is_whitespace() => WordKind::Blank,
            _ if "+-*/%&|^<>=!:".contains(letter) => WordKind::Operator,
            _ => WordKind::Punctuation,
        }
    }
}
