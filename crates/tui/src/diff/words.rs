//! What differs within the lines that a change replaced, and which line replaced which: both from one diff of the
//! words of the removed and the added lines.

use super::{Line, Sign};
use imara_diff::{Algorithm, Diff, InternedInput};
use std::ops::Range;

/// Words of a change that are compared; a larger change is shown by whole lines.
const WORDS: usize = 40_000;

/// A line of which more than this is other has changed as a whole.
const MOSTLY: f64 = 0.7;

/// A word of one of the lines.
struct Word<'a> {
    text: &'a str,
    line: usize,
    range: Range<usize>,
}

impl Word<'_> {
    /// Blanks match anywhere, and say nothing of what belongs together.
    fn weight(&self) -> usize {
        if self.text.trim().is_empty() { 0 } else { self.text.len() }
    }
}

/// Fills in `parts` and `beside` of a hunk's lines.
pub(super) fn mark(lines: &mut [Line]) {
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, sign: Sign| {
            from + lines[from..].iter().take_while(|line| line.sign == sign).count()
        };
        let removed = at..run(at, Sign::Removed);
        let added = removed.end..run(removed.end, Sign::Added);
        if !removed.is_empty() && !added.is_empty() {
            change(lines, removed, added.clone());
        }
        at = added.end.max(at + 1);
    }
}

fn change(lines: &mut [Line], removed: Range<usize>, added: Range<usize>) {
    let count = |range: Range<usize>| -> usize { lines[range].iter().map(|line| line.text.len()).sum() };
    if count(removed.clone()) + count(added.clone()) > WORDS * 8 {
        return;
    }
    let (old, new) = (words(lines, removed), words(lines, added));
    if old.len() + new.len() > WORDS {
        return;
    }
    let mut input = InternedInput::default();
    input.update_before(old.iter().map(|word| word.text));
    input.update_after(new.iter().map(|word| word.text));
    let mut found = Diff::compute(Algorithm::Myers, &input);
    found.postprocess_no_heuristic(&input);
    let gone = |at: usize| found.is_removed(at as u32);
    let come = |at: usize| found.is_added(at as u32);

    let kept = (0..old.len()).filter(|at| !gone(*at)).zip((0..new.len()).filter(|at| !come(*at)));
    let pairs = pairs(kept.map(|(a, b)| (old[a].line, new[b].line, old[a].weight())));
    let mut parts: Vec<(usize, Vec<Range<usize>>)> = Vec::new();
    for &(a, b) in &pairs {
        parts.push((a, other(&old, a, gone)));
        parts.push((b, other(&new, b, come)));
    }
    for (a, b) in pairs {
        lines[a].beside = Some(b);
        lines[b].beside = Some(a);
    }
    for (line, ranges) in parts {
        let whole = lines[line].text.trim().len().max(1);
        let differs: usize = ranges.iter().map(|range| lines[line].text[range.clone()].trim().len()).sum();
        if (differs as f64) < MOSTLY * whole as f64 {
            lines[line].parts = ranges;
        }
    }
}

/// Which line stands beside which: in order, each with the one that it shares most with.
fn pairs(kept: impl Iterator<Item = (usize, usize, usize)>) -> Vec<(usize, usize)> {
    // Both sides only ever grow, so what two lines share lies together.
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
            // One of the two lines is taken: the closer relation wins.
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

/// The bytes of a line whose words the other side does not have; blanks between two such words belong to them.
fn other(words: &[Word], line: usize, differs: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let first = words.partition_point(|word| word.line < line);
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut blank_since = None;
    for (at, word) in words.iter().enumerate().skip(first).take_while(|(_, word)| word.line == line) {
        match out.last_mut() {
            Some(last) if differs(at) && (last.end == word.range.start || blank_since == Some(last.end)) => {
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

fn words(lines: &[Line], range: Range<usize>) -> Vec<Word<'_>> {
    let mut out = Vec::new();
    for line in range {
        let text = lines[line].text.as_str();
        let mut from = 0;
        let mut kind = None;
        for (at, letter) in text.char_indices() {
            let now = Kind::of(letter);
            if at > from && (kind != Some(now) || now == Kind::Sign) {
                out.push(Word { text: &text[from..at], line, range: from..at });
                from = at;
            }
            kind = Some(now);
        }
        if from < text.len() {
            out.push(Word { text: &text[from..], line, range: from..text.len() });
        }
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Blank,
    /// `+=`, `<<<`
    Operator,
    /// A bracket, a comma: each stands for itself.
    Sign,
}

impl Kind {
    fn of(letter: char) -> Self {
        match letter {
            _ if letter.is_alphanumeric() || letter == '_' => Kind::Letter,
            _ if letter.is_whitespace() => Kind::Blank,
            _ if "+-*/%&|^<>=!:".contains(letter) => Kind::Operator,
            _ => Kind::Sign,
        }
    }
}
