//! Line ends of old editors: a carriage return alone.

use std::borrow::Cow;

/// The text with a line feed behind each carriage return that has none: it then has the lines that
/// compilers count.
///
/// ```
/// use lab_text::line_ends::with_line_feeds;
///
/// assert_eq!(*with_line_feeds(b"a\rb\r\nc\n"), *b"a\r\nb\r\nc\n");
/// ```
pub fn with_line_feeds(text: &[u8]) -> Cow<'_, [u8]> {
    if !has_bare_returns(text) {
        return text.into();
    }
    let mut whole = Vec::with_capacity(text.len() + text.len() / 16);
    for (at, byte) in text.iter().enumerate() {
        whole.push(*byte);
        if is_bare(text, at) {
            whole.push(b'\n');
        }
    }
    whole.into()
}

/// Whether a carriage return has no line feed behind it.
pub fn has_bare_returns(text: &[u8]) -> bool {
    (0..text.len()).any(|at| is_bare(text, at))
}

fn is_bare(text: &[u8], at: usize) -> bool {
    text[at] == b'\r' && text.get(at + 1) != Some(&b'\n')
}
