//! Text measured in columns of the terminal: widths, cuts that never halve a wide character,
//! wrapping, and a filter for characters that must not reach a terminal. CJK characters and most
//! emoji are two columns wide, combining marks none.

use lab_protocol::text::is_visible;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width of `text`, in columns.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The width of the widest text, in columns; 0 without any.
pub fn widest<'t>(texts: impl IntoIterator<Item = &'t str>) -> usize {
    texts.into_iter().map(width).max().unwrap_or(0)
}

/// `text` in at most `columns` columns. Where it was cut, the last column is `…`.
///
/// ```
/// use lab_tui::text::fit;
/// assert_eq!(fit("kernel", 6), "kernel");
/// assert_eq!(fit("kernels", 6), "kerne…");
/// ```
pub fn fit(text: &str, columns: usize) -> String {
    if columns == 0 {
        return String::new();
    }
    // Only the part that is shown is measured: a line may be very long.
    let end = end_within(text, columns);
    if end == text.len() {
        return text.to_owned();
    }
    let mut cut = text[..end_within(text, columns - 1)].to_owned();
    cut.push('…');
    cut
}

/// `text` in exactly `columns` columns: cut, or filled with blanks at the right.
pub fn pad(text: &str, columns: usize) -> String {
    let mut out = fit(text, columns);
    let missing = columns.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// `text` in exactly `columns` columns: cut, or filled with blanks at the left.
pub fn pad_left(text: &str, columns: usize) -> String {
    let cut = fit(text, columns);
    let missing = columns.saturating_sub(width(&cut));
    " ".repeat(missing) + &cut
}

/// The byte length of the longest prefix of at most `columns` columns.
pub fn end_within(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (index, letter) in text.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > columns {
            return index;
        }
    }
    text.len()
}

/// Breaks `text` at white space into lines of at most `columns` columns. A word that is wider than
/// a line is cut. Runs of white space count as one blank. Without a word there is no line.
///
/// ```
/// use lab_tui::text::wrap;
/// assert_eq!(wrap("one two three", 7), ["one two", "three"]);
/// assert_eq!(wrap("漢字かな", 5), ["漢字", "かな"]);
/// ```
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines: Vec<String> = Vec::new();
    for mut word in text.split_whitespace() {
        if let Some(line) = lines.last_mut()
            && width(line) + 1 + width(word) <= columns
        {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        while let Some(first) = word.chars().next() {
            // At least one letter goes into a line, also if it is wider.
            let end = end_within(word, columns).max(first.len_utf8());
            lines.push(word[..end].to_owned());
            word = &word[end..];
        }
    }
    lines
}

/// [`wrap`] into at most `rows` lines. Where text was cut, the last line ends in `…`.
pub fn wrap_to(text: &str, columns: usize, rows: usize) -> Vec<String> {
    // Only the part that may be shown is wrapped: a line may be very long.
    let mut lines = match text.char_indices().nth((columns + 1) * rows * 2) {
        Some((end, _)) => wrap(&format!("{} …", &text[..end]), columns),
        None => wrap(text, columns),
    };
    if lines.len() > rows {
        lines.truncate(rows);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last} …"), columns);
        }
    }
    lines
}

/// `text` without the characters that a terminal would obey or hide (those that are not
/// [visible](is_visible)). Tabs and line feeds become blanks. Lines of run.log are filtered where
/// they are read; this is for descriptions, paths and foreign messages.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\t' || c == '\n' { ' ' } else { c })
        .filter(|c| is_visible(*c))
        .collect()
}

/// The problem of a kernel: `rmsnorm` of `kernels/rmsnorm/kernel.cu`. A folder may hold several
/// kernels: `rmsnorm/kernel.py` of `kernels/rmsnorm/kernel.py`.
pub fn problem(kernel: &str) -> &str {
    let (path, parts) = match kernel.strip_suffix("/kernel.cu") {
        Some(folder) => (folder, 1),
        None => (kernel, 2),
    };
    let before = path.rmatch_indices('/').nth(parts - 1);
    before.map_or(path, |(at, _)| &path[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_wide_character_is_never_cut_in_half() {
        assert_eq!(fit("漢字かな", 5), "漢字…");
        assert_eq!(fit("漢字かな", 4), "漢…");
        assert_eq!(pad("漢", 4), "漢  ");
        assert_eq!(pad_left("ab", 4), "  ab");
    }

    #[test]
    fn text_that_fits_is_unchanged() {
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
    fn text_that_does_not_fit_into_the_rows_ends_in_an_ellipsis() {
        assert_eq!(wrap_to("one two three", 7, 2), ["one two", "three"]);
        assert_eq!(
            wrap_to("one two three four five", 7, 2),
            ["one two", "three …"]
        );
        assert_eq!(wrap_to(&"x".repeat(1000), 3, 2), ["xxx", "xx…"]);
        assert_eq!(wrap_to(&format!("a{}b", " ".repeat(1000)), 9, 2), ["a …"]);
    }

    #[test]
    fn control_sequences_and_bidirectional_marks_are_dropped() {
        assert_eq!(printable("a\u{1b}[31m\u{202e}b\tc"), "a[31mb c");
    }

    #[test]
    fn every_visible_character_has_a_width() {
        let without = ('\0'..=char::MAX).find(|c| is_visible(*c) && c.width().is_none());
        assert_eq!(without, None);
    }

    proptest! {
        #[test]
        fn wrapped_lines_fit_and_hold_every_word(text in "([a-z]{1,9}|漢|字|-|é| |\\t){0,30}", columns in 2usize..12) {
            let lines = wrap(&text, columns);
            prop_assert!(lines.iter().all(|line| width(line) <= columns && !line.is_empty()), "{lines:?}");
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }

    #[test]
    fn a_problem_names_the_file_where_it_is_not_the_usual_one() {
        for (kernel, name) in [
            ("kernels/softmax/kernel.cu", "softmax"),
            ("kernels/softmax/kernel.py", "softmax/kernel.py"),
            ("softmax/fast.cu", "softmax/fast.cu"),
            ("softmax/kernel.cu", "softmax"),
            ("kernel.cu", "kernel.cu"),
            ("kernel.py", "kernel.py"),
        ] {
            assert_eq!(problem(kernel), name);
        }
    }
}
