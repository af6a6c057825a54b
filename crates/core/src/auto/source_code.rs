//! Where the numbers, the plain statements and the unroll counts of a source are, outside of
//! comments and strings.

use lab_protocol::Language;
use std::collections::BTreeSet;
use std::ops::Range;

/// A range of bytes.
pub(super) type Span = Range<usize>;

/// A source, and a copy of the same length in which comments and strings are blank.
pub(super) struct Code<'s> {
    source: &'s [u8],
    plain: Vec<u8>,
}

/// Words with which a line begins that is no plain statement.
const FLOW: [&[u8]; 13] = [
    b"return",
    b"break",
    b"continue",
    b"goto",
    b"case",
    b"default",
    b"if",
    b"else",
    b"for",
    b"while",
    b"do",
    b"using",
    b"asm",
];

impl<'s> Code<'s> {
    pub fn of(source: &'s [u8], language: Language) -> Code<'s> {
        let mut plain = source.to_vec();
        let mut at = 0;
        while at < source.len() {
            let end = hidden_end(source, at, language);
            for byte in plain[at..end].iter_mut().filter(|byte| **byte != b'\n') {
                *byte = b' ';
            }
            at = end.max(at + 1);
        }
        Code { source, plain }
    }

    /// The lines, without their ends.
    fn lines(&self) -> Vec<Span> {
        let mut lines = Vec::new();
        let mut start = 0;
        for line in self.plain.split_inclusive(|byte| *byte == b'\n') {
            let length = line.strip_suffix(b"\n").map_or(line.len(), <[u8]>::len);
            lines.push(start..start + length);
            start += line.len();
        }
        lines
    }

    /// The numbers, outside of directives other than `#define`.
    pub fn numbers(&self) -> Vec<Span> {
        let mut found = Vec::new();
        for line in self.lines() {
            let code = self.plain[line.clone()].trim_ascii_start();
            let directive = code.strip_prefix(b"#").map(<[u8]>::trim_ascii_start);
            if directive.is_some_and(|directive| !directive.starts_with(b"define")) {
                continue;
            }
            let mut at = line.start;
            while at < line.end {
                let end = self.word_end(at, line.end);
                if self.is_number(at) {
                    found.push(at..end);
                }
                at = end;
            }
        }
        found
    }

    fn is_number(&self, at: usize) -> bool {
        match &self.plain[at..] {
            [first, ..] if first.is_ascii_digit() => true,
            [b'.', second, ..] => second.is_ascii_digit(),
            _ => false,
        }
    }

    /// Where the name, the number or the single byte at a position ends.
    fn word_end(&self, at: usize, limit: usize) -> usize {
        let is_number = self.is_number(at);
        let mut end = at;
        while end < limit {
            let (before, byte) = (self.plain[at..end].last(), self.plain[end]);
            let is_signed = matches!(byte, b'+' | b'-')
                && matches!(before, Some(b'e' | b'E' | b'p' | b'P'))
                && !self.plain[at..end].starts_with(b"0x")
                && !self.plain[at..end].starts_with(b"0X");
            let goes_on = is_name(byte)
                || (is_number && (byte == b'.' || is_signed || (byte == b'\'' && end > at)));
            if !goes_on {
                break;
            }
            end += 1;
        }
        end.max(at + 1)
    }

    /// What follows `#pragma unroll` on its line: a blank and a count, or nothing.
    pub fn unrolls(&self) -> Vec<Span> {
        let mut found = Vec::new();
        for line in self.lines() {
            let code = &self.plain[line.clone()];
            let Some(rest) = after(code, &[b"#", b"pragma", b"unroll"]) else {
                continue;
            };
            let count = code[rest..].trim_ascii();
            if count.iter().all(u8::is_ascii_digit) {
                found.push(
                    line.start + rest..line.start + rest + code[rest..].trim_ascii_end().len(),
                );
            }
        }
        found
    }

    /// Pairs of neighbouring lines that each hold whole statements, of which neither writes a name
    /// that the other mentions.
    pub fn swaps(&self) -> Vec<(Span, Span)> {
        let lines = self.lines();
        let pairs = lines.windows(2).filter_map(|pair| {
            let [first, second] = pair else { return None };
            let [a, b] = [first, second].map(|line| &self.plain[line.clone()]);
            let indent = |line: &[u8]| line.len() - line.trim_ascii_start().len();
            let (written_a, written_b) = (written(a)?, written(b)?);
            let is_free = indent(a) == indent(b)
                && names(b).is_disjoint(&written_a)
                && names(a).is_disjoint(&written_b)
                && self.source[first.clone()] != self.source[second.clone()];
            is_free.then(|| (first.clone(), second.clone()))
        });
        pairs.collect()
    }
}

/// Where a comment or a string that begins at `at` ends; `at` if none begins there.
fn hidden_end(source: &[u8], at: usize, language: Language) -> usize {
    let rest = &source[at..];
    let past = |from: usize, what: &[u8]| {
        let found = rest
            .get(from..)
            .and_then(|rest| rest.windows(what.len()).position(|w| w == what));
        found.map_or(source.len(), |found| at + from + found + what.len())
    };
    let end_of_line = || {
        at + rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len())
    };
    match (language, rest) {
        (Language::Python, [b'#', ..]) | (Language::Cuda, [b'/', b'/', ..]) => end_of_line(),
        (Language::Cuda, [b'/', b'*', ..]) => past(2, b"*/"),
        (Language::Cuda, [b'R', b'"', tag @ ..]) if at == 0 || !is_name(source[at - 1]) => {
            match tag.iter().position(|byte| *byte == b'(') {
                Some(length) => past(2, &[b")", &tag[..length], b"\""].concat()),
                None => source.len(),
            }
        }
        (Language::Python, [b'"', b'"', b'"', ..]) => past(3, b"\"\"\""),
        (Language::Python, [b'\'', b'\'', b'\'', ..]) => past(3, b"'''"),
        (_, [quote @ (b'"' | b'\''), ..]) => {
            // In 1'000 it separates digits.
            if *quote == b'\''
                && language == Language::Cuda
                && at > 0
                && source[at - 1].is_ascii_alphanumeric()
            {
                return at;
            }
            let mut end = at + 1;
            while end < source.len() && source[end] != *quote && source[end] != b'\n' {
                end += if source[end] == b'\\' { 2 } else { 1 };
            }
            (end + 1).min(source.len())
        }
        _ => at,
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where a line goes on after these words.
fn after(line: &[u8], words: &[&[u8]]) -> Option<usize> {
    let mut at = 0;
    for word in words {
        at += line[at..].len() - line[at..].trim_ascii_start().len();
        at += word.len();
        if line.get(at - word.len()..at) != Some(*word) {
            return None;
        }
    }
    (line.get(at).is_none_or(|next| !is_name(*next))).then_some(at)
}

/// The names in a piece of code.
fn names(code: &[u8]) -> BTreeSet<&[u8]> {
    let words = code.split(|byte| !is_name(*byte));
    words
        .filter(|word| word.first().is_some_and(|first| !first.is_ascii_digit()))
        .collect()
}

/// The names that a line of assignments or declarations mentions left of its signs of assignment.
/// `None` for any other line.
fn written(line: &[u8]) -> Option<BTreeSet<&[u8]>> {
    let code = line.trim_ascii();
    let first = code
        .split(|byte| !is_name(*byte))
        .next()
        .unwrap_or_default();
    let is_plain = code
        .strip_suffix(b";")
        .is_some_and(|code| !code.ends_with(b"\\"))
        && !code.starts_with(b"#")
        && !FLOW.contains(&first)
        && !code
            .iter()
            .any(|byte| matches!(byte, b'{' | b'}' | b':' | b'\\'))
        && balance(code)
        && !names(code)
            .iter()
            .any(|name| name.starts_with(b"__sync") || *name == b"asm" || *name == b"volatile");
    if !is_plain {
        return None;
    }
    let mut written = BTreeSet::new();
    for statement in code
        .split(|byte| *byte == b';')
        .filter(|statement| !statement.trim_ascii().is_empty())
    {
        let equals = statement.iter().position(|byte| *byte == b'=')?;
        let left = names(&statement[..equals]);
        // The last name before the first bracket or sign is the one that is written; the others are
        // its type.
        let target = statement[..equals]
            .split(|byte| matches!(byte, b'[' | b'.' | b'-'))
            .next()?;
        let name = target
            .split(|byte| !is_name(*byte))
            .rfind(|word| !word.is_empty())?;
        if !left.contains(name) || statement[..equals].contains(&b'(') {
            return None;
        }
        written.insert(name);
    }
    Some(written)
}

fn balance(code: &[u8]) -> bool {
    let count = |byte: u8| code.iter().filter(|other| **other == byte).count();
    count(b'(') == count(b')') && count(b'[') == count(b']')
}
