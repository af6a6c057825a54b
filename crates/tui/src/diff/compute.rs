//! The diff of two texts.

use super::{Diff, File, Hunk, Line, Sign, words};
use imara_diff::{Algorithm, InternedInput, TokenSource, sources};
use std::ops::Range;

/// A function's head is looked for so many lines above a hunk.
const FAR: usize = 500;

/// One change: lines of the old text that became lines of the new one.
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// `around` is how many unchanged lines there are before and behind a change.
pub(super) fn diff(old: &str, new: &str, around: usize) -> Diff {
    let input = InternedInput::new(sources::lines(old), sources::lines(new));
    let mut found = imara_diff::Diff::compute(Algorithm::Histogram, &input);
    found.postprocess_lines(&input);
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    let changes: Vec<Change> =
        found.hunks().map(|hunk| Change { old: range(hunk.before), new: range(hunk.after) }).collect();
    if changes.is_empty() {
        return Diff::default();
    }
    let old: Vec<&str> = sources::lines(old).tokenize().collect();
    let new: Vec<&str> = sources::lines(new).tokenize().collect();
    // Two changes share a hunk where the unchanged lines around them touch.
    let near = |a: &Change, b: &Change| b.old.start - a.old.end <= 2 * around;
    let hunks = changes.chunk_by(near).map(|changes| hunk(changes, &old, &new, around)).collect();
    Diff { files: vec![File { hunks, ..File::default() }] }
}

fn hunk(changes: &[Change], old: &[&str], new: &[&str], around: usize) -> Hunk {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return Hunk::default() };
    let before = first.old.start.min(around);
    let after = (old.len() - last.old.end).min(around);
    let mut lines = Vec::new();
    let mut at = (first.old.start - before, first.new.start - before);
    let (old_begin, new_begin) = at;
    let same = |lines: &mut Vec<Line>, at: &mut (usize, usize), until: usize| {
        while at.0 < until {
            lines.push(line(Sign::Same, old[at.0], Some(at.0), Some(at.1)));
            *at = (at.0 + 1, at.1 + 1);
        }
    };
    for change in changes {
        same(&mut lines, &mut at, change.old.start);
        lines.extend(change.old.clone().map(|n| line(Sign::Removed, old[n], Some(n), None)));
        lines.extend(change.new.clone().map(|n| line(Sign::Added, new[n], None, Some(n))));
        at = (change.old.end, change.new.end);
    }
    same(&mut lines, &mut at, last.old.end + after);
    words::mark(&mut lines);
    // A side without lines is said to begin at the line before.
    let number =
        |begin: usize, end: usize| u32::try_from(begin + usize::from(end > begin)).unwrap_or(u32::MAX);
    Hunk {
        old: number(old_begin, at.0),
        new: number(new_begin, at.1),
        section: section(&old[..old_begin]),
        lines,
    }
}

fn line(sign: Sign, text: &str, old: Option<usize>, new: Option<usize>) -> Line {
    let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
    let ended = text.strip_suffix('\n');
    Line {
        sign,
        text: ended.unwrap_or(text).to_owned(),
        old: old.map(number),
        new: new.map(number),
        unended: ended.is_none(),
        parts: Vec::new(),
        beside: None,
    }
}

/// The last line that begins with a letter, as git looks for it.
fn section(above: &[&str]) -> String {
    let is_head = |line: &&&str| line.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$');
    above.iter().rev().take(FAR).find(is_head).map_or(String::new(), |line| line.trim_end().to_owned())
}
