//! A hash of a source's tokens: the same for sources that differ only in comments and blanks. Of a
//! source that says more than its tokens, the hash is of its bytes: such a source is the same as
//! itself only.

mod cuda;

use super::python::{self, Token};
use lab_protocol::Language;

/// Returns the hash, in hex.
pub(super) fn hash(source: &[u8], language: Language) -> String {
    let mut hash = blake3::Hasher::new();
    let cut = cut(source, language, &mut |token: &[u8]| {
        hash.update(&(token.len() as u64).to_le_bytes())
            .update(token);
    });
    match cut {
        Some(()) => hash.finalize(),
        None => {
            let mut bytes = blake3::Hasher::new_derive_key("lab: the bytes of a source");
            bytes.update(source).finalize()
        }
    }
    .to_hex()
    .to_string()
}

/// Returns the number of tokens. `None` where the source says more than its tokens.
pub(super) fn count(source: &[u8], language: Language) -> Option<usize> {
    let mut count = 0;
    cut(source, language, &mut |_| count += 1).map(|()| count)
}

fn cut(source: &[u8], language: Language, tell: &mut dyn FnMut(&[u8])) -> Option<()> {
    match language {
        Language::Cuda => cuda::cut(source, tell),
        Language::Python => cut_python(source, tell),
    }
}

/// Names by which Python code can see its own source or line numbers.
const POSITIONS: [&str; 8] = [
    "__file__",
    "inspect",
    "linecache",
    "traceback",
    "tokenize",
    "f_lineno",
    "tb_lineno",
    "co_firstlineno",
];

/// Lines and their indentation count in Python. `None` where the source says more than its tokens,
/// or the cut is not sure: a coding line, a string that does not end, an f-string with quotes in
/// it.
fn cut_python(source: &[u8], tell: &mut dyn FnMut(&[u8])) -> Option<()> {
    let text = std::str::from_utf8(source).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_coding = text
        .lines()
        .take(2)
        .any(|line| line.contains('#') && line.contains("coding"));
    let has_lone_return = text.replace("\r\n", "\n").contains('\r');
    if is_coding || has_lone_return || text.contains(['\0', '\x0c']) {
        return None;
    }
    let mut quote = "";
    for token in python::tokens(text) {
        match token {
            Token::Word(word) if POSITIONS.contains(&word) => return None,
            Token::Word(word) => tell(word.as_bytes()),
            Token::Quote(begin) => {
                quote = begin;
                tell(begin.as_bytes());
            }
            Token::Text(string) => {
                let is_formatted =
                    quote.contains(['f', 'F', 't', 'T']) && string.contains(['{', '}']);
                let marks = quote.trim_start_matches(|c: char| c.is_ascii_alphabetic());
                let is_sure =
                    !is_formatted || (is_balanced(string) && !string.contains(['"', '\'', '#']));
                if !is_sure || !ends(text, string, marks) {
                    return None;
                }
                tell(string.as_bytes());
            }
            Token::Sign(sign) => tell(sign.encode_utf8(&mut [0; 4]).as_bytes()),
            Token::Line(indent) => {
                tell(b"\n");
                tell(indent.as_bytes());
            }
        }
    }
    Some(())
}

fn is_balanced(string: &str) -> bool {
    string.matches('{').count() == string.matches('}').count()
}

/// Whether the quotes of a string of this source stand behind it.
fn ends(source: &str, string: &str, marks: &str) -> bool {
    let end = string.as_ptr() as usize - source.as_ptr() as usize + string.len();
    source
        .get(end..)
        .is_some_and(|rest| rest.starts_with(marks))
}

#[cfg(test)]
mod tests;
