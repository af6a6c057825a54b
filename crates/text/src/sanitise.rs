//! Makes untrusted text safe for a screen, once, where the text enters.

use itertools::Itertools;
use lab_protocol::text::is_visible;

/// One clean line of run.log: without control characters, marks that reorder text, and tabs, and no
/// longer than [`LENGTH_LIMIT`] characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub text: String,
    /// Whether it is a result line of the protocol.
    pub result: bool,
}

/// Longest line shown, in characters. `…` stands for the rest.
pub const LENGTH_LIMIT: usize = 2_000;

const TAB: usize = 8;

/// At most so many characters of a text, and `…` where that is not all of it.
pub fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A line of a log as a terminal would show it: without control sequences, with tabs expanded to 8
/// columns, and after a carriage return only what was printed last, as of a progress bar.
///
/// ```
/// use lab_text::sanitise::line;
/// assert_eq!(line(b"\x1b[31merror:\x1b[0m no"), "error: no");
/// assert_eq!(line(b"10%\r 50%\r100%"), "100%");
/// ```
pub fn line(bytes: &[u8]) -> String {
    line_within(bytes, LENGTH_LIMIT)
}

/// [`line()`] with another limit, in characters: a series of the protocol is longer than what a
/// screen shows.
pub fn line_within(bytes: &[u8], limit: usize) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    // A short cut: most text is plain ASCII, and there is much of it.
    if let Ok(plain) = std::str::from_utf8(bytes)
        && bytes.len() <= limit
        && bytes.iter().all(|b| matches!(b, b' '..=b'~'))
    {
        return plain.to_owned();
    }
    let mut shown = Shown {
        limit,
        ..Shown::default()
    };
    vte::Parser::new().advance(&mut shown, bytes);
    // After a carriage return at the end of the line, the text before it is still shown.
    if shown.text.is_empty() {
        shown.text = shown.returned;
    }
    if shown.cut {
        shown.text.push('…');
    }
    shown.text
}

/// Text that somebody else wrote (a commit message, a name) in one clean line; a line break becomes
/// a blank.
pub fn text(text: &str) -> String {
    line(text.replace(['\n', '\r'], " ").trim().as_bytes())
}

/// Text as one clean line with single blanks between its words: a commit's subject, a description
/// in the ledger.
///
/// ```
/// use lab_text::sanitise::words;
/// assert_eq!(words("  wider\ttiles,\n again "), "wider tiles, again");
/// ```
pub fn words(text: &str) -> String {
    self::text(&text.split_whitespace().join(" "))
}

#[derive(Default)]
struct Shown {
    limit: usize,
    text: String,
    columns: usize,
    cut: bool,
    returned: String,
}

impl vte::Perform for Shown {
    fn print(&mut self, c: char) {
        if !is_visible(c) {
            return;
        }
        if self.columns >= self.limit {
            self.cut = true;
            return;
        }
        self.columns += 1;
        self.text.push(c);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\t' => {
                for _ in 0..TAB - self.columns % TAB {
                    self.print(' ');
                }
            }
            b'\r' if !self.text.is_empty() => {
                self.returned = std::mem::take(&mut self.text);
                (self.columns, self.cut) = (0, false);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_reads_as_a_terminal_would_show_it() {
        let cases: [(&[u8], &str); 12] = [
            (b"plain", "plain"),
            (b"\x1b[31;1merror:\x1b[0m no", "error: no"),
            (b"\x1b]0;title\x07text", "text"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"a\tb", "a       b"),
            (b"12345678\tb", "12345678        b"),
            (b"10%\r 50%\r100%", "100%"),
            (b"100%\r\n", "100%"),
            (b"done\r\x1b[K", "done"),
            (b"bad \xff byte", "bad \u{fffd} byte"),
            ("\u{202e}txt.exe\u{200b}\u{feff}".as_bytes(), "txt.exe"),
            ("naïve e\u{301} 漢字".as_bytes(), "naïve e\u{301} 漢字"),
        ];
        for (given, wanted) in cases {
            assert_eq!(line(given), wanted, "{given:?}");
        }
    }

    #[test]
    fn a_very_long_line_is_cut_and_says_so() {
        let shown = line(&[b'x'; 100_000]);
        assert_eq!(shown.chars().count(), LENGTH_LIMIT + 1);
        assert!(shown.ends_with('…'));
    }

    proptest! {
        #[test]
        fn any_text_is_cleaned_of_what_moves_a_cursor(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let shown = line(&bytes);
            prop_assert!(shown.chars().all(is_visible), "{shown:?}");
            prop_assert!(shown.chars().count() <= LENGTH_LIMIT + 1);
        }

        #[test]
        fn any_escape_sequence_leaves_no_trace(codes in "[0-9;]{0,8}", word in "[a-z]{1,8}") {
            let wrapped = format!("\x1b[{codes}m{word}\x1b[{codes}K\x1b]2;{codes}\x07");
            prop_assert_eq!(line(wrapped.as_bytes()), word);
        }

        #[test]
        fn a_line_of_the_judge_is_shown_as_the_log_has_it(text in any::<String>()) {
            let logged = lab_protocol::text::escape_invisible(&text).replace('\t', " ");
            prop_assert_eq!(line(logged.as_bytes()), logged);
        }

        #[test]
        fn cleaning_twice_changes_nothing(text in "\\PC{0,80}") {
            let once = line(text.as_bytes());
            prop_assert_eq!(line(once.as_bytes()), once);
        }
    }
}
