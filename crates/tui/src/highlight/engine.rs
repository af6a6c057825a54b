//! The highlighter: takes a text and returns the roles of each line. It caches each line with the
//! parser's state after the line, and parses a line again only if its bytes or the state before it
//! have changed.

use super::roles::{Roles, SyntaxRole};
use super::{Highlighted, LineSpans, SyntaxSpan};
use lab_protocol::Language;
use std::sync::Arc;
use syntect::parsing::{ParseState, ScopeStack, SyntaxDefinition, SyntaxSet, SyntaxSetBuilder};

/// The syntax of each language.
const SYNTAXES: [(Language, &str); 2] = [
    (Language::Cuda, include_str!("cuda.sublime-syntax")),
    (Language::Python, include_str!("python.sublime-syntax")),
];

/// Bytes of a line that are parsed; the rest is plain. Nobody reads further, and the parsing time
/// grows faster than the line.
pub(super) const LONG_LINE: usize = 1000;

/// Lines that are parsed; the rest is plain.
pub(super) const MANY_LINES: usize = 50_000;

/// Lines that are parsed between two calls of `go_on`.
const LINES_PER_CHECK: usize = 32;

/// The compiled syntaxes of CUDA C++ and Python.
pub struct Highlighter {
    syntaxes: SyntaxSet,
    /// The state before the first line, for each language.
    starts: Vec<(Language, Arc<ParserState>)>,
    roles: Roles,
}

/// The parser's state between two lines.
#[derive(Clone, PartialEq, Eq)]
struct ParserState {
    parser: ParseState,
    scopes: ScopeStack,
}

struct CachedLine {
    bytes: Box<[u8]>,
    spans: LineSpans,
    after: Arc<ParserState>,
}

/// The highlighted lines of one text, for the next highlighting of the same text. Its text is in
/// one language; by default in CUDA C++.
#[derive(Default)]
pub struct HighlightCache {
    language: Language,
    lines: Vec<CachedLine>,
}

impl HighlightCache {
    /// The cache of a text in this language.
    pub fn new(language: Language) -> HighlightCache {
        HighlightCache {
            language,
            lines: Vec::new(),
        }
    }
}

impl Highlighter {
    /// Compiles the syntaxes, which takes some milliseconds: do it after the first frame. Fails
    /// only where a built-in syntax is damaged.
    pub fn new() -> Result<Self, String> {
        let mut builder = SyntaxSetBuilder::new();
        let mut names = Vec::new();
        for (language, text) in SYNTAXES {
            let syntax =
                SyntaxDefinition::load_from_str(text, true, None).map_err(|e| e.to_string())?;
            names.push((language, syntax.name.clone()));
            builder.add(syntax);
        }
        let syntaxes = builder.build();
        let mut starts = Vec::new();
        for (language, name) in names {
            let syntax = syntaxes
                .find_syntax_by_name(&name)
                .ok_or("a built-in syntax is missing")?;
            let start = ParserState {
                parser: ParseState::new(syntax),
                scopes: ScopeStack::new(),
            };
            starts.push((language, Arc::new(start)));
        }
        Ok(Highlighter {
            starts,
            roles: Roles::new()?,
            syntaxes,
        })
    }

    /// The state before the first line of a text; `None` for a language without a syntax.
    fn start(&self, language: Language) -> Option<&Arc<ParserState>> {
        self.starts
            .iter()
            .find(|(of, _)| *of == language)
            .map(|(_, start)| start)
    }

    /// Highlights a text. `cache` holds the lines of the previous version of the text and is
    /// updated.
    pub fn highlight(&self, text: &[u8], cache: &mut HighlightCache) -> Highlighted {
        self.highlight_while(text, cache, || true)
            .unwrap_or_default()
    }

    /// Like [`Highlighter::highlight`], but stops where `go_on` returns false. Then returns `None`
    /// and leaves `cache` as it was.
    pub fn highlight_while(
        &self,
        text: &[u8],
        cache: &mut HighlightCache,
        go_on: impl Fn() -> bool,
    ) -> Option<Highlighted> {
        let start = self.start(cache.language)?;
        let text: Vec<&[u8]> = lines(text).collect();
        let old = &cache.lines;
        let same = |(new, old): (&&[u8], &CachedLine)| **new == *old.bytes;
        let head = text.iter().zip(old).take_while(|pair| same(*pair)).count();
        let most = text.len().min(old.len()) - head;
        let tail = text
            .iter()
            .rev()
            .zip(old.iter().rev())
            .take(most)
            .take_while(|pair| same(*pair))
            .count();

        // The lines between head and tail differ. The lines of the tail are equal; once the
        // parser's state before one of them is equal too, all that follows is cached.
        let mut fresh: Vec<CachedLine> = Vec::new();
        let mut state = head
            .checked_sub(1)
            .map_or(start, |last| &old[last].after)
            .clone();
        let mut kept = old.len();
        for (at, bytes) in text.iter().enumerate().skip(head) {
            if at >= text.len() - tail {
                let was = old.len() - (text.len() - at);
                let before = was.checked_sub(1).map_or(start, |last| &old[last].after);
                if *before == state {
                    kept = was;
                    break;
                }
            }
            if fresh.len().is_multiple_of(LINES_PER_CHECK) && !go_on() {
                return None;
            }
            let line = self.line(bytes, &state);
            state = line.after.clone();
            fresh.push(line);
        }
        let parsed_lines = fresh.len();
        cache.lines.splice(head..kept, fresh);
        Some(Highlighted {
            lines: cache.lines.iter().map(|line| line.spans.clone()).collect(),
            parsed_lines,
        })
    }

    fn line(&self, bytes: &[u8], before: &Arc<ParserState>) -> CachedLine {
        let text = parsable(bytes);
        let mut state = ParserState::clone(before);
        let mut spans: Vec<SyntaxSpan> = Vec::new();
        let mut put = |range: std::ops::Range<usize>, role| {
            let range = range.start..range.end.min(bytes.len());
            if range.is_empty() || role == SyntaxRole::Plain {
                return;
            }
            match spans.last_mut() {
                Some(last) if last.role == role && last.range.end == range.start => {
                    last.range.end = range.end;
                }
                _ => spans.push(SyntaxSpan { range, role }),
            }
        };
        let ops = state
            .parser
            .parse_line(&text, &self.syntaxes)
            .unwrap_or_default();
        let mut from = 0;
        for (at, op) in &ops {
            put(from..*at, self.roles.of(&state.scopes));
            from = *at;
            // An operation that does not fit would be a bug of the parser. Then the rest of the
            // line is plain.
            let _ = state.scopes.apply(op);
        }
        put(from..text.len(), self.roles.of(&state.scopes));
        let after = if state == **before {
            before.clone()
        } else {
            Arc::new(state)
        };
        CachedLine {
            bytes: bytes.into(),
            spans: spans.into(),
            after,
        }
    }
}

/// The lines of a text, at most [`MANY_LINES`].
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text
        .strip_suffix(b"\n")
        .map_or((!text.is_empty()).then_some(text), Some);
    text.into_iter()
        .flat_map(|text| text.split(|byte| *byte == b'\n'))
        .take(MANY_LINES)
}

/// A line as the parser takes it: of the same number of bytes, with `?` for each byte that is not
/// UTF-8, and with a line feed at its end.
fn parsable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().min(LONG_LINE) + 1);
    for chunk in bytes[..bytes.len().min(LONG_LINE)].utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text.push('\n');
    text
}
