//! A hash of a source's tokens: the same for sources that differ only in comments and blanks.

use super::python::{self, Token};
use lab_protocol::Language;

/// Returns the hash, in hex.
pub(super) fn hash(source: &[u8], language: Language) -> String {
    let text = String::from_utf8_lossy(source);
    match language {
        Language::Cuda => of_cuda(&text),
        Language::Python => of_python(&text),
    }
}

/// Lines and their indentation count in Python.
fn of_python(text: &str) -> String {
    let mut hash = blake3::Hasher::new();
    for token in python::tokens(text) {
        match token {
            Token::Word(text) | Token::Text(text) | Token::Quote(text) => hash.update(text.as_bytes()),
            Token::Sign(sign) => hash.update(sign.encode_utf8(&mut [0; 4]).as_bytes()),
            Token::Line(indent) => hash.update(b"\n").update(indent.as_bytes()),
        };
        hash.update(b"\0");
    }
    hash.finalize().to_hex().to_string()
}

fn of_cuda(text: &str) -> String {
    let mut hash = blake3::Hasher::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (token, after) = next(rest);
        if let Some(token) = token {
            hash.update(token.as_bytes()).update(b"\0");
        }
        rest = after;
    }
    hash.finalize().to_hex().to_string()
}

/// The next token, or `None` for blanks and a comment; and what follows it.
fn next(text: &str) -> (Option<&str>, &str) {
    let split = |at: usize| text.split_at(at.min(text.len()));
    let Some(first) = text.chars().next() else { return (None, text) };
    if first.is_whitespace() {
        return (None, text.trim_start());
    }
    // A backslash at the end of a line joins two lines.
    if let Some(after) = text.strip_prefix("\\\n").or_else(|| text.strip_prefix("\\\r\n")) {
        return (None, after);
    }
    if text.starts_with("//") {
        return (None, split(text.find('\n').unwrap_or(text.len())).1);
    }
    if let Some(comment) = text.strip_prefix("/*") {
        return (None, comment.split_once("*/").map_or("", |(_, after)| after));
    }
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let end = match first {
        '"' | '\'' => end_of_literal(text, first),
        c if is_word(c) => text.find(|c| !is_word(c)).unwrap_or(text.len()),
        c => c.len_utf8(),
    };
    let (token, after) = split(end);
    (Some(token), after)
}

/// The length of a string or character literal, its quotes included. It ends at the latest with its line.
fn end_of_literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use lab_protocol::Language;
    use proptest::prelude::*;

    fn hash(source: &[u8]) -> String {
        super::hash(source, Language::Cuda)
    }

    fn of_python(source: &str) -> String {
        super::hash(source.as_bytes(), Language::Python)
    }

    #[test]
    fn lines_and_indentation_count_in_python() {
        let source = "if a:\n    b = c // 2  # half\nd = [1,\n  2]\n";
        for same in
            ["if a: # x\n\n    b = c//2\n  # y\nd = [1, 2]", "if a:\n    b = c \\\n  // 2\nd = [1,\n\n2]\n\n"]
        {
            assert_eq!(of_python(same), of_python(source), "{same}");
        }
        for other in [
            "if a:\n    b = c // 3\nd = [1, 2]\n",
            "if a:\n    b = c // 2\n    d = [1, 2]\n",
            "if a:\n    b = c\n    // 2\nd = [1, 2]\n",
            "if a:\n    b = c // 2\nd = [1, '2']\n",
        ] {
            assert_ne!(of_python(other), of_python(source), "{other}");
        }
    }

    #[test]
    fn comments_and_blanks_make_no_difference_and_everything_else_does() {
        let source = "int a = b/2; // half\nchar* s = \"// no comment\";\n";
        for same in [
            "int a = b / 2;\nchar *s=\"// no comment\";",
            "// v2\nint a = b/2; char* s = \"// no comment\";\n\n",
            "int/* */a = b/2; /* two\nlines */ char* s = \"// no comment\";",
            "int a \\\n= b/2; char* s = \"// no comment\";",
        ] {
            assert_eq!(hash(same.as_bytes()), hash(source.as_bytes()), "{same}");
        }
        for other in [
            "inta = b/2; char* s = \"// no comment\";",
            "int a = b/2; char* s = \"//no comment\";",
            "int a = b/3;",
            "",
        ] {
            assert_ne!(hash(other.as_bytes()), hash(source.as_bytes()), "{other}");
        }
    }

    proptest! {
        #[test]
        fn every_text_has_a_hash(text in any::<Vec<u8>>()) {
            prop_assert_eq!(hash(&text).len(), 64);
            prop_assert_eq!(super::hash(&text, Language::Python).len(), 64);
        }
    }
}
