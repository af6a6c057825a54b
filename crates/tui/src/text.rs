//! Text as the terminal measures it: widths in columns, slices that never cut a wide character in
//! half, and a last filter for what must not reach a terminal.

use lab_core::text::sanitise::visible;
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that `text` takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// At most `columns` of `text`; where something was cut the last column is `…`.
pub fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if columns == 0 {
        return Cow::Borrowed("");
    }
    // Looks at no more than it shows: a line may be very long.
    let end = end_within(text, columns);
    if end == text.len() {
        return Cow::Borrowed(text);
    }
    let mut cut = text[..end_within(text, columns - 1)].to_owned();
    cut.push('…');
    Cow::Owned(cut)
}

/// `text` cut to `columns` and filled up with blanks to exactly that many.
pub fn pad(text: &str, columns: usize) -> String {
    let mut out = fit(text, columns).into_owned();
    let missing = columns.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// The same, with the text at the right end.
pub fn pad_left(text: &str, columns: usize) -> String {
    let cut = fit(text, columns);
    let missing = columns.saturating_sub(width(&cut));
    " ".repeat(missing) + &cut
}

/// The columns `from..from + columns` of `text`. A wide character that the left edge cuts becomes
/// a blank, one that the right edge cuts is left out.
pub fn slice(text: &str, from: usize, columns: usize) -> Cow<'_, str> {
    if from == 0 {
        return Cow::Borrowed(&text[..end_within(text, columns)]);
    }
    let mut at = 0;
    for (index, letter) in text.char_indices() {
        if at == from {
            let rest = &text[index..];
            return Cow::Borrowed(&rest[..end_within(rest, columns)]);
        }
        if at > from {
            let rest = &text[index..];
            return Cow::Owned(" ".to_owned() + &rest[..end_within(rest, columns.saturating_sub(1))]);
        }
        at += letter.width().unwrap_or(0);
    }
    Cow::Borrowed("")
}

/// Byte index of the longest prefix that takes at most `columns`.
fn end_within(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (index, letter) in text.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > columns {
            return index;
        }
    }
    text.len()
}

/// Breaks `text` at blanks into lines of at most `columns`; a longer word is cut.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word;
        if !line.is_empty() && width(&line) + 1 + width(word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        while width(word) > columns {
            let end = end_within(word, columns).max(word.chars().next().map_or(1, char::len_utf8));
            lines.push(word[..end].to_owned());
            word = &word[end..];
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// [`wrap`] into at most so many lines; where something was cut the last ends in `…`.
pub fn wrap_to(text: &str, columns: usize, rows: usize) -> Vec<String> {
    // Looks at no more than it may show: a line may be very long.
    let mut lines = match text.char_indices().nth((columns + 1) * rows * 2) {
        Some((end, _)) => wrap(&format!("{} …", &text[..end]), columns),
        None => wrap(text, columns),
    };
    if lines.len() > rows {
        lines.truncate(rows);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last} …"), columns).into_owned();
        }
    }
    lines
}

/// `text` without what would disturb a terminal or hide in it: all that is not [`visible`]. Run lines are clean already; this is for
/// descriptions, paths and messages of others.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(visible) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars().map(|c| if c == '\t' || c == '\n' { ' ' } else { c }).filter(|c| visible(*c)).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_character_is_never_cut_in_half() {
        assert_eq!(fit("漢字かな", 5), "漢字…");
        assert_eq!(fit("漢字かな", 4), "漢…");
        assert_eq!(slice("漢字かな", 0, 5), "漢字");
        assert_eq!(slice("漢字かな", 1, 5), " 字か");
        assert_eq!(slice("漢字かな", 2, 4), "字か");
        assert_eq!(pad("漢", 4), "漢  ");
        assert_eq!(pad_left("ab", 4), "  ab");
    }

    #[test]
    fn what_fits_is_left_alone() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("abc", 0), "");
    }

    #[test]
    fn words_are_wrapped_and_long_ones_cut() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert!(wrap("", 3).is_empty());
        assert_eq!(wrap("漢字", 1), ["漢", "字"]);
    }

    #[test]
    fn what_does_not_fit_into_the_rows_is_marked_as_cut() {
        assert_eq!(wrap_to("one two three", 7, 2), ["one two", "three"]);
        assert_eq!(wrap_to("one two three four five", 7, 2), ["one two", "three …"]);
        assert_eq!(wrap_to(&"x".repeat(1000), 3, 2), ["xxx", "xx…"]);
        assert_eq!(wrap_to(&format!("a{}b", " ".repeat(1000)), 9, 2), ["a …"]);
    }

    #[test]
    fn control_sequences_and_bidirectional_marks_are_dropped() {
        assert_eq!(printable("a\u{1b}[31m\u{202e}b\tc"), "a[31mb c");
    }
}
