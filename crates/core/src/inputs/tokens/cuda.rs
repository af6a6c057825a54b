//! The tokens of C++ as its preprocessor cuts them (translation phases 2 and 3).
//!
//! Where compilers differ, or the text around the tokens counts (`__LINE__`, `#x` in a macro),
//! there are no tokens: such a source is the same as its own bytes only.

/// The source without its joined lines, and where each of its bytes stood.
struct Joined {
    bytes: Vec<u8>,
    from: Vec<usize>,
}

/// Punctuation of more than one character, the longest first. Digraphs are left out: cut in two
/// they say the same.
const SIGNS: [&[u8]; 28] = [
    b"<<<", b">>>", b"<=>", b"<<=", b">>=", b"...", b"->*", b"::", b".*", b"->", b"++", b"--",
    b"<<", b">>", b"<=", b">=", b"==", b"!=", b"&&", b"||", b"+=", b"-=", b"*=", b"/=", b"%=",
    b"^=", b"&=", b"|=",
];

/// Names whose value depends on the line or on files, in a way that tokens do not tell.
const POSITIONS: [&[u8]; 5] = [
    b"__LINE__",
    b"__builtin_LINE",
    b"__builtin_COLUMN",
    b"source_location",
    b"__has_include",
];

/// The directives that a file name may follow.
const INCLUDES: [&[u8]; 4] = [b"include", b"include_next", b"import", b"embed"];

/// Cuts a source into tokens and hands each to `tell`. A line of a directive begins with the token
/// `\n#` and ends with `\n`. `None` where the source says more than its tokens.
pub fn cut(source: &[u8], tell: &mut dyn FnMut(&[u8])) -> Option<()> {
    let source = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source);
    let mut lexer = Lexer {
        source,
        text: join(source)?,
        at: 0,
        line: Line::Begins,
    };
    while lexer.at < lexer.text.bytes.len() {
        lexer.step(tell)?;
    }
    Some(())
}

/// Removes each backslash with the line end behind it.
fn join(source: &[u8]) -> Option<Joined> {
    let (mut joined, mut at) = (
        Joined {
            bytes: Vec::new(),
            from: Vec::new(),
        },
        0,
    );
    while at < source.len() {
        let rest = &source[at..];
        let is_trigraph = rest.starts_with(b"??/");
        let is_lone_return = rest[0] == b'\r' && rest.get(1) != Some(&b'\n');
        if is_trigraph || is_lone_return || rest.starts_with(b"%:") {
            return None;
        }
        if rest[0] == b'\\' {
            let blanks = rest[1..]
                .iter()
                .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | 11 | 12))
                .count();
            let ends_line = rest.get(1 + blanks) == Some(&b'\n');
            match (ends_line, &rest[1..=blanks]) {
                (true, b"" | b"\r") => {
                    at += 2 + blanks;
                    continue;
                }
                // Some compilers join such lines.
                (true, _) => return None,
                (false, _) => {}
            }
        }
        joined.bytes.push(source[at]);
        joined.from.push(at);
        at += 1;
    }
    Some(joined)
}

/// What stands before the next token on its line.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    /// Nothing but blanks and comments.
    Begins,
    /// Other tokens.
    Goes,
    /// The `#` of a directive.
    Hash,
    /// `#define`.
    Define,
    /// `#include` and its like.
    Include,
    /// The rest of a directive; of a `#define` or not.
    Directive { is_define: bool },
}

struct Lexer<'s> {
    source: &'s [u8],
    text: Joined,
    at: usize,
    line: Line,
}

impl Lexer<'_> {
    fn rest(&self) -> &[u8] {
        &self.text.bytes[self.at..]
    }

    /// Takes one token, a blank or a comment.
    fn step(&mut self, tell: &mut dyn FnMut(&[u8])) -> Option<()> {
        let rest = self.rest();
        let first = *rest.first()?;
        match first {
            b'\n' => {
                if !matches!(self.line, Line::Begins | Line::Goes) {
                    tell(b"\n");
                }
                self.line = Line::Begins;
                self.at += 1;
            }
            b' ' | b'\t' | b'\r' | 11 | 12 => self.at += 1,
            b'/' if rest.starts_with(b"//") => {
                self.at += rest
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .unwrap_or(rest.len());
            }
            b'/' if rest.starts_with(b"/*") => self.at += 4 + find(&rest[2..], b"*/")?,
            _ => {
                let end = self.end(first)?;
                let is_hash = end - self.at == 1 && first == b'#';
                let token = self.text.bytes.get(self.at..end)?;
                if POSITIONS.contains(&token) {
                    return None;
                }
                match (self.line, is_hash) {
                    (Line::Begins, true) => tell(b"\n#"),
                    // It turns its argument into a text, blanks included.
                    (Line::Directive { is_define: true }, true) => return None,
                    _ => tell(token),
                }
                if self.line == Line::Define && self.text.bytes.get(end) == Some(&b'(') {
                    // A macro with parameters, and not one whose text begins with a bracket.
                    tell(b"\n(");
                }
                self.line = match self.line {
                    Line::Begins if is_hash => Line::Hash,
                    Line::Hash if token == b"define" => Line::Define,
                    Line::Hash if INCLUDES.contains(&token) => Line::Include,
                    Line::Begins | Line::Goes => Line::Goes,
                    Line::Define | Line::Directive { is_define: true } => {
                        Line::Directive { is_define: true }
                    }
                    _ => Line::Directive { is_define: false },
                };
                self.at = end;
            }
        }
        Some(())
    }

    /// Where the token that begins here ends. `None` of a literal that does not end.
    fn end(&self, first: u8) -> Option<usize> {
        let rest = self.rest();
        if self.line == Line::Include && matches!(first, b'<' | b'"') {
            let closing = if first == b'<' { b'>' } else { b'"' };
            let line = rest.split(|byte| *byte == b'\n').next()?;
            return Some(self.at + 2 + line[1..].iter().position(|byte| *byte == closing)?);
        }
        if is_word(first) && !first.is_ascii_digit() {
            let word = rest
                .iter()
                .position(|byte| !is_word(*byte))
                .unwrap_or(rest.len());
            let quote = rest.get(word).filter(|byte| matches!(byte, b'"' | b'\''));
            return match (&rest[..word], quote) {
                (b"R" | b"LR" | b"uR" | b"UR" | b"u8R", Some(b'"')) => self.raw(self.at + word),
                (b"L" | b"u" | b"U" | b"u8", Some(quote)) => self.literal(self.at + word, *quote),
                _ => Some(self.at + word),
            };
        }
        if first.is_ascii_digit() || (first == b'.' && rest.get(1).is_some_and(u8::is_ascii_digit))
        {
            return Some(self.at + number(rest));
        }
        if matches!(first, b'"' | b'\'') {
            return self.literal(self.at, first);
        }
        // `##` is one token; so the `#` before a parameter stands alone.
        if rest.starts_with(b"##") {
            return Some(self.at + 2);
        }
        let sign = SIGNS.iter().find(|sign| rest.starts_with(sign));
        Some(self.at + sign.map_or(1, |sign| sign.len()))
    }

    /// The end of a literal whose quote stands at `at`, with its suffix.
    fn literal(&self, at: usize, quote: u8) -> Option<usize> {
        let mut escaped = false;
        for (offset, byte) in self.text.bytes[at + 1..].iter().enumerate() {
            match byte {
                b'\n' => return None,
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                byte if *byte == quote => return Some(self.suffix(at + offset + 2)),
                _ => {}
            }
        }
        None
    }

    /// The end of a raw string whose quote stands at `at`. Within it no lines are joined.
    fn raw(&self, at: usize) -> Option<usize> {
        let from = self.text.from[at] + 1;
        let text = self.source.get(from..)?;
        let open = text
            .iter()
            .position(|byte| *byte == b'(')
            .filter(|open| *open <= 16)?;
        let closing = [b")", &text[..open], b"\""].concat();
        let length = open + 1 + find(&text[open + 1..], &closing)? + closing.len();
        if find(&text[..length], b"\\\n").is_some() || find(&text[..length], b"\\\r\n").is_some() {
            return None;
        }
        let end = self
            .text
            .from
            .partition_point(|origin| *origin < from + length);
        Some(self.suffix(end))
    }

    fn suffix(&self, at: usize) -> usize {
        at + self.text.bytes[at..]
            .iter()
            .take_while(|byte| is_word(**byte))
            .count()
    }
}

/// The length of a number: digits, letters, points, `'` between them, and signs behind an
/// exponent's letter.
fn number(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        let is_exponent = matches!(text[at - 1], b'e' | b'E' | b'p' | b'P');
        match byte {
            b'+' | b'-' if is_exponent => at += 1,
            b'\'' if text.get(at + 1).copied().is_some_and(is_word) => at += 2,
            b'.' => at += 1,
            byte if is_word(*byte) => at += 1,
            _ => break,
        }
    }
    at
}

/// Letters of other scripts are bytes from 128 up.
fn is_word(byte: u8) -> bool {
    matches!(byte, b'_' | b'$' | 128..) || byte.is_ascii_alphanumeric()
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}
