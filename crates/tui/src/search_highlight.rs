//! Finds the matches of a search and highlights them.

use crate::theme::style::MATCH;
use ratatui::text::{Line, Span};
use std::borrow::Cow;

/// The byte ranges of `needle` in `text`. A needle without capitals also matches capitals.
///
/// ```
/// use lab_tui::search_highlight::find_all;
/// assert_eq!(find_all("Error: ERROR", "error"), [0..5, 7..12]);
/// assert_eq!(find_all("Error: ERROR", "Error"), [0..5]);
/// ```
pub fn find_all(text: &str, needle: &str) -> Vec<std::ops::Range<usize>> {
    if needle.is_empty() {
        return Vec::new();
    }
    // Only ASCII letters are compared without case: then every byte keeps its position.
    let text = if needle.chars().any(char::is_uppercase) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.to_ascii_lowercase())
    };
    text.match_indices(needle)
        .map(|(at, found)| at..at + found.len())
        .collect()
}

/// Returns the line with the matches of `needle` highlighted. A match may cross the borders of the
/// line's spans.
pub fn mark<'a>(line: Line<'a>, needle: &str) -> Line<'a> {
    if needle.is_empty() {
        return line;
    }
    let text: String = line
        .spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect();
    let matches = find_all(&text, needle);
    if matches.is_empty() {
        return line;
    }
    let mut begin = 0;
    let mut spans = Vec::new();
    for span in &line.spans {
        let end = begin + span.content.len();
        let mut at = begin;
        let mut push = |until: usize, is_match: bool| {
            if at < until {
                let style = if is_match {
                    span.style.patch(MATCH)
                } else {
                    span.style
                };
                spans.push(Span::styled(text[at..until].to_owned(), style));
                at = until;
            }
        };
        for range in &matches {
            push(range.start.clamp(begin, end), false);
            push(range.end.clamp(begin, end), true);
        }
        push(end, false);
        begin = end;
    }
    Line { spans, ..line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_letters_match_capitals_and_capitals_only_themselves() {
        assert_eq!(find_all("Error: ERROR", "error"), [0..5, 7..12]);
        assert_eq!(find_all("Error: ERROR", "ERR").first(), Some(&(7..10)));
        assert!(find_all("x", "").is_empty());
    }

    #[test]
    fn matches_are_highlighted_across_spans_and_no_letter_is_lost() {
        let line = |parts: &[&str]| Line::from_iter(parts.iter().map(|part| (*part).to_owned()));
        let seen = |line: &Line| -> Vec<(String, bool)> {
            line.spans
                .iter()
                .map(|s| (s.content.to_string(), s.style == MATCH))
                .collect()
        };
        let marked = mark(line(&["one wa", "rp a", " row"]), "Warp");
        assert_eq!(
            marked.to_string(),
            "one warp a row",
            "a capital matches only itself"
        );
        let marked = mark(line(&["one wa", "rp a", " row"]), "warp");
        let wanted = [
            ("one ", false),
            ("wa", true),
            ("rp", true),
            (" a", false),
            (" row", false),
        ];
        assert_eq!(
            seen(&marked),
            wanted.map(|(text, is)| (text.to_owned(), is))
        );
        let marked = mark(line(&["aaa"]), "a");
        assert_eq!(
            seen(&marked),
            [("a", true); 3].map(|(text, is)| (text.to_owned(), is))
        );
    }
}
