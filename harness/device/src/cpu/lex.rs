//! A lexer for as much of C++ as is needed to find declarations: words, punctuation, and the texts
//! whose words have no meaning (comments, strings, raw strings, characters, preprocessor lines).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier or a keyword.
    Word,
    Number,
    /// A string or a character, with its prefix, also in raw form.
    Text,
    /// One character.
    Punct(u8),
    /// A preprocessor line with its continuation lines.
    Directive,
}

/// A token: the bytes `start..end` of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub fn text<'s>(&self, source: &'s str) -> &'s str {
        &source[self.start..self.end]
    }
    /// Whether the token is this character of punctuation.
    pub fn is(&self, punct: u8) -> bool {
        self.kind == TokenKind::Punct(punct)
    }
}

/// Splits a source into tokens, without comments and white space. Takes any text, also one that is
/// not valid C++.
pub fn lex(source: &str) -> Vec<Token> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut line_begins = true;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b'\n' => {
                line_begins = true;
                at += 1;
                continue;
            }
            b'\\' | b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = end_of_line(bytes, at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = after(source, at + 2, "*/");
                continue;
            }
            b'#' if line_begins => {
                at = end_of_directive(source, at);
                TokenKind::Directive
            }
            b'"' | b'\'' => {
                at = end_of_quoted(bytes, at);
                TokenKind::Text
            }
            b'0'..=b'9' => {
                at = end_of_number(bytes, at);
                TokenKind::Number
            }
            c if is_word(c) => {
                at = end_of_word(bytes, at);
                let word = &source[start..at];
                match bytes.get(at) {
                    Some(b'"') if matches!(word, "R" | "LR" | "uR" | "UR" | "u8R") => {
                        let open = source[at..].find('(').map_or(source.len(), |n| at + n);
                        let close = format!("){}\"", &source[(at + 1).min(open)..open]);
                        at = after(source, open, &close);
                        TokenKind::Text
                    }
                    Some(b'"' | b'\'') if matches!(word, "L" | "u" | "U" | "u8") => {
                        at = end_of_quoted(bytes, at);
                        TokenKind::Text
                    }
                    _ => TokenKind::Word,
                }
            }
            c => {
                at += 1;
                TokenKind::Punct(c)
            }
        };
        line_begins = false;
        tokens.push(Token {
            kind,
            start,
            end: at,
        });
    }
    tokens
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c == b'$' || c >= 0x80
}

fn end_of_word(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && is_word(bytes[at]) {
        at += 1;
    }
    at
}

/// The end of digits, letters, dots, digit separators, and a sign after an exponent.
fn end_of_number(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        let exponent = matches!(bytes[at - 1], b'e' | b'E' | b'p' | b'P');
        match bytes[at] {
            b'+' | b'-' if exponent => at += 1,
            b'\'' if bytes.get(at + 1).is_some_and(|c| is_word(*c)) => at += 1,
            c if is_word(c) || c == b'.' => at += 1,
            _ => break,
        }
    }
    at
}

/// The position after the closing quote. The end of the line closes too, so that a single quote
/// does not hide the rest of the file.
fn end_of_quoted(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' => return at,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn end_of_line(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'\n' {
        at += if bytes[at] == b'\\' && bytes.get(at + 1) == Some(&b'\n') {
            2
        } else {
            1
        };
    }
    at.min(bytes.len())
}

/// The end of a directive: the end of its line, or of the comment that begins in it.
fn end_of_directive(source: &str, mut at: usize) -> usize {
    let bytes = source.as_bytes();
    while at < bytes.len() && bytes[at] != b'\n' {
        at = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'\n')) => at + 2,
            (b'\\', Some(b'\r')) if bytes.get(at + 2) == Some(&b'\n') => at + 3,
            (b'/', Some(b'*')) => after(source, at + 2, "*/"),
            (b'/', Some(b'/')) => end_of_line(bytes, at),
            (b'"', _) => end_of_quoted(bytes, at),
            _ => at + 1,
        };
    }
    at.min(bytes.len())
}

/// The position after the next `end`; the end of the source if there is none.
fn after(source: &str, from: usize, end: &str) -> usize {
    let from = from.min(source.len());
    let found = source.as_bytes()[from..]
        .windows(end.len())
        .position(|w| w == end.as_bytes());
    found.map_or(source.len(), |n| from + n + end.len())
}
