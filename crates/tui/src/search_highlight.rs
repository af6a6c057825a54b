//! What a search finds in a text, and how it stands out.

use super::theme::Theme;
use ratatui::text::{Line, Span};

/// Byte ranges of `needle` in `text`. A needle without capitals finds capitals too.
pub fn find_all(text: &str, needle: &str) -> Vec<std::ops::Range<usize>> {
    if needle.is_empty() {
        return Vec::new();
    }
    if needle.chars().any(char::is_uppercase) {
        return text.match_indices(needle).map(|(at, found)| at..at + found.len()).collect();
    }
    // Only ASCII is folded: then every byte stays where it was.
    let folded = text.to_ascii_lowercase();
    folded.match_indices(&needle.to_ascii_lowercase()).map(|(at, found)| at..at + found.len()).collect()
}

/// The line, with what was searched for in it standing out; across the borders of its spans too.
pub fn mark<'a>(line: Line<'a>, needle: &str, theme: &Theme) -> Line<'a> {
    if needle.is_empty() {
        return line;
    }
    let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
    let found = find_all(&text, needle);
    if found.is_empty() {
        return line;
    }
    let mut begin = 0;
    let mut spans = Vec::new();
    for span in &line.spans {
        let end = begin + span.content.len();
        let mut at = begin;
        let mut put = |until: usize, is_found: bool| {
            if at < until {
                let style = if is_found { span.style.patch(theme.search_match()) } else { span.style };
                spans.push(Span::styled(text[at..until].to_owned(), style));
                at = until;
            }
        };
        for range in &found {
            put(range.start.clamp(begin, end), false);
            put(range.end.clamp(begin, end), true);
        }
        put(end, false);
        begin = end;
    }
    Line { spans, ..line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_letters_find_capitals_and_capitals_only_themselves() {
        assert_eq!(find_all("Error: ERROR", "error"), [0..5, 7..12]);
        assert_eq!(find_all("Error: ERROR", "ERR").first(), Some(&(7..10)));
        assert!(find_all("x", "").is_empty());
    }

    #[test]
    fn what_is_found_stands_out_across_spans_and_no_letter_is_lost() {
        let theme = Theme::plain();
        let line = |parts: &[&str]| Line::from_iter(parts.iter().map(|part| (*part).to_owned()));
        let seen = |line: &Line| -> Vec<(String, bool)> {
            line.spans.iter().map(|s| (s.content.to_string(), s.style == theme.search_match())).collect()
        };
        let marked = mark(line(&["one wa", "rp a", " row"]), "Warp", &theme);
        assert_eq!(marked.to_string(), "one warp a row", "a capital finds only itself");
        let marked = mark(line(&["one wa", "rp a", " row"]), "warp", &theme);
        let wanted = [("one ", false), ("wa", true), ("rp", true), (" a", false), (" row", false)];
        assert_eq!(seen(&marked), wanted.map(|(text, is)| (text.to_owned(), is)));
        let marked = mark(line(&["aaa"]), "a", &theme);
        assert_eq!(seen(&marked), [("a", true); 3].map(|(text, is)| (text.to_owned(), is)));
    }
}
