//! The highlighter: the text in, the roles of each line out. It remembers each line with the parser's state after
//! it, and looks again only at lines whose bytes or whose state before them are others.

use super::roles::{Roles, SyntaxRole};
use super::{Highlighted, Span, Spans};
use std::sync::Arc;
use syntect::parsing::{ParseState, ScopeStack, SyntaxDefinition, SyntaxSet, SyntaxSetBuilder};

const SYNTAX: &str = include_str!("cuda.sublime-syntax");

/// Bytes of a line that are looked at; the rest is plain. Nobody reads further, and the time grows faster than
/// the line.
pub(super) const LONG_LINE: usize = 1000;

/// Lines that are looked at; the rest is plain.
pub(super) const MANY_LINES: usize = 50_000;

/// How many lines are looked at between two questions whether to go on.
const BETWEEN: usize = 32;

pub struct Highlighter {
    syntaxes: SyntaxSet,
    start: Arc<State>,
    roles: Roles,
}

/// Where the parser stands between two lines.
#[derive(Clone, PartialEq, Eq)]
struct State {
    parser: ParseState,
    scopes: ScopeStack,
}

struct Line {
    bytes: Box<[u8]>,
    spans: Spans,
    after: Arc<State>,
}

/// What is remembered of one text from one highlighting to the next.
#[derive(Default)]
pub struct Cache {
    lines: Vec<Line>,
}

impl Highlighter {
    /// Compiles the syntax: some milliseconds, so not before the first frame. Fails only where the syntax that is built
    /// in is damaged.
    pub fn new() -> Result<Self, String> {
        let syntax = SyntaxDefinition::load_from_str(SYNTAX, true, None).map_err(|e| e.to_string())?;
        let mut builder = SyntaxSetBuilder::new();
        builder.add(syntax);
        let syntaxes = builder.build();
        let cuda = syntaxes.find_syntax_by_extension("cu").ok_or("the syntax of .cu is not there")?;
        let start = State { parser: ParseState::new(cuda), scopes: ScopeStack::new() };
        Ok(Highlighter { start: Arc::new(start), roles: Roles::new()?, syntaxes })
    }

    pub fn highlight(&self, text: &[u8], cache: &mut Cache) -> Highlighted {
        self.highlight_while(text, cache, || true).unwrap_or_default()
    }

    /// The same, as long as `go_on` says so; `None` where it was ended, with `cache` as it was.
    pub fn highlight_while(
        &self,
        text: &[u8],
        cache: &mut Cache,
        go_on: impl Fn() -> bool,
    ) -> Option<Highlighted> {
        let text: Vec<&[u8]> = lines(text).collect();
        let old = &cache.lines;
        let same = |(new, old): (&&[u8], &Line)| **new == *old.bytes;
        let head = text.iter().zip(old).take_while(|pair| same(*pair)).count();
        let most = text.len().min(old.len()) - head;
        let tail = text.iter().rev().zip(old.iter().rev()).take(most).take_while(|pair| same(*pair)).count();

        // Between head and tail the bytes differ; in the tail they are the old ones, and once the state before a line
        // is the old one too, so is all that follows.
        let mut fresh: Vec<Line> = Vec::new();
        let mut state = head.checked_sub(1).map_or(&self.start, |last| &old[last].after).clone();
        let mut kept = old.len();
        for (at, bytes) in text.iter().enumerate().skip(head) {
            if at >= text.len() - tail {
                let was = old.len() - (text.len() - at);
                let before = was.checked_sub(1).map_or(&self.start, |last| &old[last].after);
                if *before == state {
                    kept = was;
                    break;
                }
            }
            if fresh.len().is_multiple_of(BETWEEN) && !go_on() {
                return None;
            }
            let line = self.line(bytes, &state);
            state = line.after.clone();
            fresh.push(line);
        }
        let looked_at = fresh.len();
        cache.lines.splice(head..kept, fresh);
        Some(Highlighted { lines: cache.lines.iter().map(|line| line.spans.clone()).collect(), looked_at })
    }

    fn line(&self, bytes: &[u8], before: &Arc<State>) -> Line {
        let text = parsable(bytes);
        let mut state = State::clone(before);
        let mut spans: Vec<Span> = Vec::new();
        let mut put = |range: std::ops::Range<usize>, role| {
            let range = range.start..range.end.min(bytes.len());
            if range.is_empty() || role == SyntaxRole::Plain {
                return;
            }
            match spans.last_mut() {
                Some(last) if last.role == role && last.range.end == range.start => {
                    last.range.end = range.end
                }
                _ => spans.push(Span { range, role }),
            }
        };
        let ops = state.parser.parse_line(&text, &self.syntaxes).unwrap_or_default();
        let mut from = 0;
        for (at, op) in &ops {
            put(from..*at, self.roles.of(&state.scopes));
            from = *at;
            // An operation that does not fit would be the parser's mistake; the line is plain from there on.
            let _ = state.scopes.apply(op);
        }
        put(from..text.len(), self.roles.of(&state.scopes));
        let after = if state == **before { before.clone() } else { Arc::new(state) };
        Line { bytes: bytes.into(), spans: spans.into(), after }
    }
}

/// The lines of a text, at most [`MANY_LINES`].
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").map_or((!text.is_empty()).then_some(text), Some);
    text.into_iter().flat_map(|text| text.split(|byte| *byte == b'\n')).take(MANY_LINES)
}

/// A line as the parser takes it: as many bytes as there were, `?` for each that is no UTF-8, a line feed at its end.
fn parsable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().min(LONG_LINE) + 1);
    for chunk in bytes[..bytes.len().min(LONG_LINE)].utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text.push('\n');
    text
}
