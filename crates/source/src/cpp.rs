//! A lexer for as much of C++ as is needed to find declarations: words, punctuation, and the texts
//! whose words have no meaning (comments, strings, raw strings, characters, preprocessor lines).

pub mod directive;
pub mod items;
pub mod launches;
pub mod macros;
pub mod signature;

use crate::{after_bom, without_bom};
use directive::Directive;
use regex::Regex;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Most tokens of a list of template arguments. Without a limit, a file that repeats `a<` would be read
/// to its end at each of them.
const LONGEST_ARGUMENTS: usize = 1024;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier or a keyword.
    Word,
    /// A number, with its suffix.
    Number,
    /// A string or a character, with its prefix and suffix, also in raw form.
    Text,
    /// A string, a character or a block comment that does not end.
    Unclosed,
    /// One character of punctuation.
    Punct,
    /// A preprocessor line with its continuation lines.
    Directive,
}

/// A token: the bytes `start..end` of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: usize,
    /// The byte after its last one.
    pub end: usize,
}

impl Token {
    /// Returns the token as `source` writes it.
    pub fn text<'s>(&self, source: &'s str) -> &'s str {
        &source[self.start..self.end]
    }
}

/// What may stand at the beginning of a text, in this order; `None` is white space or a comment.
/// [`regex`] explains the names.
static PATTERNS: LazyLock<[(Option<TokenKind>, Regex); 7]> = LazyLock::new(|| {
    let pieces = [
        (
            None,
            r"^(?:BLANK+|\n|JOINT+|//(?:JOINT|[^\n])*|(?s:/\*.*?\*/))",
        ),
        (Some(TokenKind::Unclosed), r"^(?s:/\*.*)"),
        (
            Some(TokenKind::Text),
            r#"^(?:u8|[uUL])?"(?:JOINT|\\.|[^"\\\n])*"WORD*"#,
        ),
        (
            Some(TokenKind::Text),
            r"^(?:u8|[uUL])?'(?:JOINT|\\.|[^'\\\n])*'WORD*",
        ),
        // The end of the line ends it, so that a single quote does not hide the rest of the file.
        (
            Some(TokenKind::Unclosed),
            r#"^(?:u8|[uUL])?["'](?:JOINT|[^\n])*"#,
        ),
        (
            Some(TokenKind::Number),
            r"^\.?[0-9](?:[eEpP][+-]|'WORD|WORD|\.)*",
        ),
        (Some(TokenKind::Word), r"^WORD+(?:JOINT+WORD+)*"),
    ];
    pieces.map(|(kind, pattern)| (kind, regex(pattern)))
});

/// The beginning of a raw string, with its delimiter.
static RAW: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^(?:u8|[uUL])?R"([^()\\ \t\r\n"]{0,16})\("#));
static SUFFIX: LazyLock<Regex> = LazyLock::new(|| regex("^WORD*"));
static JOINTS: LazyLock<Regex> = LazyLock::new(|| regex("JOINT+"));

/// White space within a line.
pub(crate) const BLANKS: [char; 5] = [' ', '\t', '\r', '\x0b', '\x0c'];

/// Compiles a pattern, in which `JOINT` stands for a backslash that joins the next line, `BLANK` for
/// white space within a line, and `WORD` for a character of a word.
pub(crate) fn regex(pattern: &str) -> Regex {
    let pattern = pattern
        .replace("JOINT", r"(?:\\BLANK*\n)")
        .replace("BLANK", r"[ \t\r\x0b\x0c]")
        .replace("WORD", r"[0-9A-Za-z_$[^\x00-\x7f]]");
    Regex::new(&pattern).expect("each pattern of this crate is valid")
}

/// The kind and the length of what begins a text.
fn piece(text: &str) -> (Option<TokenKind>, usize) {
    let raw = text
        .starts_with(['R', 'L', 'u', 'U'])
        .then(|| RAW.captures(text));
    if let Some(raw) = raw.flatten() {
        let (begin, close) = (raw[0].len(), format!("){}\"", &raw[1]));
        return match text[begin..].find(&close) {
            Some(length) => {
                let end = begin + length + close.len();
                let suffix = SUFFIX.find(&text[end..]).map_or(0, |found| found.len());
                (Some(TokenKind::Text), end + suffix)
            }
            None => (Some(TokenKind::Unclosed), text.len()),
        };
    }
    let found = PATTERNS[that_may_match(text)]
        .iter()
        .find_map(|(kind, pattern)| Some((*kind, pattern.find(text)?.end())));
    found.unwrap_or((Some(TokenKind::Punct), 1))
}

/// Which of [`PATTERNS`] a text may match, by its first byte. A source of 8 MiB has millions of
/// tokens.
fn that_may_match(text: &str) -> Range<usize> {
    match text.as_bytes().first() {
        Some(b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c | b'\\') => 0..1,
        Some(b'/') => 0..2,
        Some(b'"' | b'\'') => 2..5,
        Some(b'u' | b'U' | b'L') => 2..7,
        Some(b'.' | b'0'..=b'9') => 5..6,
        Some(b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' | 0x80..) => 6..7,
        _ => 0..0,
    }
}

/// The length of the directive that begins a text: to the end of its line, or of the lines that a
/// comment or a backslash joins to it. What looks like a comment in a header's name is part of the
/// name.
fn directive(text: &str) -> usize {
    let line = text.lines().next().unwrap_or(text);
    let after_header = Directive::parse(line)
        .and_then(|directive| Some(directive.rest.len() - directive.spelled_header()?.len()));
    let mut end = after_header.map_or(1, |after| line.len() - after);
    while end < text.len() && !text[end..].starts_with('\n') {
        end += piece(&text[end..]).1;
    }
    end
}

/// Splits a source into tokens, without comments and white space. Takes any text, also one that is
/// not valid C++.
pub fn tokens(source: &str) -> Vec<Token> {
    cut(source, after_bom(source), true)
}

/// Splits what follows the name of a directive into tokens: no other directive begins there.
pub(crate) fn tokens_in_directive(rest: &str) -> Vec<Token> {
    cut(rest, 0, false)
}

fn cut(source: &str, mut start: usize, mut line_begins: bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    while start < source.len() {
        let text = &source[start..];
        let (kind, length) = if line_begins && Directive::begins(text) {
            (Some(TokenKind::Directive), directive(text))
        } else {
            piece(text)
        };
        let end = start + length;
        line_begins = text.starts_with('\n') || (line_begins && kind.is_none());
        tokens.extend(kind.map(|kind| Token { kind, start, end }));
        start = end;
    }
    tokens
}

/// The words of a source's code and of its directives.
pub fn words(source: &str) -> Vec<&str> {
    let is_word = |token: &Token| token.kind == TokenKind::Word;
    let words = |token: Token| match token.kind {
        TokenKind::Directive => {
            let text = &token.text(source)[1..];
            let tokens = tokens_in_directive(text).into_iter().filter(is_word);
            tokens.map(|token| token.text(text)).collect()
        }
        _ if is_word(&token) => vec![token.text(source)],
        _ => Vec::new(),
    };
    tokens(source).into_iter().flat_map(words).collect()
}

/// The source without the backslashes that join lines, as a compiler reads it.
pub fn joined(source: &str) -> Cow<'_, str> {
    JOINTS.replace_all(source, "")
}

/// The length of the backslashes that join lines at the beginning of a text.
pub(crate) fn joint(text: &str) -> usize {
    // The pattern looks further than at the beginning.
    let found = text.starts_with('\\').then(|| JOINTS.find(text)).flatten();
    let first = found.filter(|found| found.start() == 0);
    first.map_or(0, |found| found.len())
}

/// A text with its tokens, and the brackets that belong together.
pub struct Code<T> {
    /// The text.
    pub text: T,
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// For each bracket, the index of the one that belongs to it.
    partners: Vec<usize>,
}

impl<T: AsRef<str>> Code<T> {
    /// Cuts a text. `with_directives` says whether preprocessor lines are among the tokens.
    pub fn new(text: T, with_directives: bool) -> Code<T> {
        let mut tokens = tokens(text.as_ref());
        tokens.retain(|token| with_directives || token.kind != TokenKind::Directive);
        let partners = partners(text.as_ref(), &tokens);
        Code {
            text,
            tokens,
            partners,
        }
    }

    /// The token at an index as the text writes it; empty for an index behind the last token.
    pub fn at(&self, at: usize) -> &str {
        let token = self.tokens.get(at);
        token.map_or("", |token| token.text(self.text.as_ref()))
    }

    /// The word at an index; empty for any other token.
    pub fn word(&self, at: usize) -> &str {
        match self.kind(at) {
            Some(TokenKind::Word) => self.at(at),
            _ => "",
        }
    }

    /// What the token at an index is; `None` behind the last token.
    pub fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// The index of the bracket that belongs to the one at `at`; that of the last token where no
    /// bracket does.
    pub fn partner(&self, at: usize) -> usize {
        self.partners.get(at).copied().unwrap_or(self.tokens.len())
    }

    /// The index of the token that ends the statement at `start`: its semicolon, or the closing
    /// bracket or the preprocessor line behind it. `end` where none of them comes before.
    pub fn statement_end(&self, start: usize, end: usize) -> usize {
        let mut at = start;
        while at < end {
            match self.at(at) {
                ";" | ")" | "]" | "}" => return at,
                "(" | "[" | "{" => at = self.partner(at),
                _ if self.kind(at) == Some(TokenKind::Directive) => return at,
                _ => {}
            }
            at += 1;
        }
        end
    }

    /// The index after the next semicolon that no bracket encloses.
    pub fn after_semicolon(&self, start: usize, end: usize) -> usize {
        let at = self.statement_end(start, end);
        at + usize::from(at < end && self.at(at) == ";")
    }

    /// The index after the template arguments that begin at `open`; the next index where `<` begins
    /// none.
    pub fn after_angles(&self, open: usize, end: usize) -> usize {
        let end = end.min(open.saturating_add(LONGEST_ARGUMENTS));
        let mut depth = 0usize;
        let mut at = open;
        while at < end {
            match self.at(at) {
                "<" => depth += 1,
                ">" if self.at(at.saturating_sub(1)) != "-" => {
                    depth -= 1;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                "(" | "[" | "{" => at = self.partner(at),
                ";" | ")" | "]" | "}" => break,
                _ => {}
            }
            at += 1;
        }
        open + 1
    }

    /// The indices of the tokens that no bracket and no `<…>` encloses; the opening bracket and the
    /// closing angle are among them.
    pub fn outermost(&self, start: usize, end: usize) -> impl Iterator<Item = usize> {
        let (mut next, mut angles) = (start, 0usize);
        std::iter::from_fn(move || {
            while next < end {
                let at = next;
                match self.at(at) {
                    "<" => angles += 1,
                    ">" => angles = angles.saturating_sub(1),
                    "(" | "[" | "{" => next = self.partner(at),
                    _ => {}
                }
                next += 1;
                if angles == 0 {
                    return Some(at);
                }
            }
            None
        })
    }

    /// The index before the template arguments that end at `close`.
    pub fn before_angles(&self, close: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in (0..=close).rev() {
            match self.at(at) {
                ">" => depth += 1,
                "<" => {
                    depth -= 1;
                    if depth == 0 {
                        return at.checked_sub(1);
                    }
                }
                ";" | "{" | "}" => return None,
                _ => {}
            }
        }
        None
    }
}

fn partners(text: &str, tokens: &[Token]) -> Vec<usize> {
    let mut partners = vec![tokens.len().saturating_sub(1); tokens.len()];
    const PAIRS: [(&str, &str); 3] = [("(", ")"), ("[", "]"), ("{", "}")];
    // The brackets that are open, each with its kind, and how many there are of each kind: without
    // the numbers each one that closes nothing would be compared with all that are open.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut counts = [0_usize; 3];
    for (at, token) in tokens.iter().enumerate() {
        let text = token.text(text);
        if let Some(kind) = PAIRS.iter().position(|(opens, _)| *opens == text) {
            open.push((at, kind));
            counts[kind] += 1;
        } else if let Some(kind) = PAIRS.iter().position(|(_, closes)| *closes == text) {
            // A bracket that is missing ends with the one around it.
            while counts[kind] > 0
                && let Some((opened, of)) = open.pop()
            {
                counts[of] -= 1;
                if of == kind {
                    (partners[opened], partners[at]) = (at, opened);
                    break;
                }
            }
        }
    }
    partners
}
