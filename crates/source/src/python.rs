//! Cuts a Python source into tokens, well enough to find imports and to tell a change of code from
//! a change of comments.

use crate::after_bom;

/// A part of a source. Comments, blanks within a line, and line ends inside brackets are no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'s> {
    /// A name, a keyword or a number.
    Word(&'s str),
    /// A string.
    Text {
        /// The prefix and the quotes with which it begins.
        quote: &'s str,
        /// The text between the quotes, as the source writes it.
        text: &'s str,
        /// Whether the quotes that end it are there.
        is_closed: bool,
    },
    /// Any other character.
    Sign(char),
    /// The beginning of a statement's line, with its indentation. The first line of a source has
    /// none of these.
    Line(&'s str),
}

/// The tokens of a source. A string that does not end goes to the end of its line, or of the source
/// if three quotes began it.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut depth) = (&source[after_bom(source)..], 0_usize);
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let is_prefix = word <= 2 && rest[..word].bytes().all(|b| b"rRbBuUfFtT".contains(&b));
        let (token, length) = match first {
            '\n' => {
                let line = &rest[1..];
                let indent = line.len() - line.trim_start_matches([' ', '\t', '\x0c']).len();
                let follows =
                    !line[indent..].is_empty() && !line[indent..].starts_with(['\n', '\r', '#']);
                match depth == 0 && follows {
                    true => (Some(Token::Line(&line[..indent])), 1 + indent),
                    false => (None, 1),
                }
            }
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '\\' if rest[1..].trim_start_matches('\r').starts_with('\n') => {
                (None, rest.find('\n').map_or(1, |at| at + 1))
            }
            _ if is_prefix && rest[word..].starts_with(['"', '\'']) => string(rest, word),
            c if is_word(c) => (Some(Token::Word(&rest[..word])), word),
            c => {
                match c {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                ((!c.is_whitespace()).then_some(Token::Sign(c)), c.len_utf8())
            }
        };
        tokens.extend(token);
        rest = &rest[length..];
    }
    tokens
}

/// The string that begins `rest` with a prefix of so many bytes, and its length in bytes.
fn string(rest: &str, prefix: usize) -> (Option<Token<'_>>, usize) {
    let mark = &rest[prefix..=prefix];
    let is_triple = rest[prefix..].starts_with(&mark.repeat(3));
    let quote = &rest[..prefix + if is_triple { 3 } else { 1 }];
    let (mark, rest) = (&quote[prefix..], &rest[quote.len()..]);
    let mut escaped = false;
    let end = rest.char_indices().find_map(|(at, c)| {
        // Also a raw string goes on behind a backslash and a quote.
        if std::mem::take(&mut escaped) {
            return None;
        }
        escaped = c == '\\';
        (rest[at..].starts_with(mark) || (c == '\n' && !is_triple)).then_some(at)
    });
    let text = &rest[..end.unwrap_or(rest.len())];
    let is_closed = rest[text.len()..].starts_with(mark);
    let length = quote.len() + text.len() + if is_closed { mark.len() } else { 0 };
    let token = Token::Text {
        quote,
        text,
        is_closed,
    };
    (Some(token), length)
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
