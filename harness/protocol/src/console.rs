//! The one writer for stdout and stderr. Every process of the lab prints through it, so that no
//! text from outside (names, messages, logs, configuration, errors that quote them) can steer a
//! terminal.
//!
//! Clippy and `cargo test --test architecture` refuse `println!`, `std::io::stdout` and the like
//! everywhere else. The screen has its own writer, which draws cells of cleaned text.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that opens stdout and stderr"
)]

use crate::ascii;
use crate::text::escape_invisible;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::iter;
use std::str::from_utf8;
use std::sync::OnceLock;

/// A line for people: cleaned, and in ASCII where the locale has nothing else.
fn shown(line: &str) -> Cow<'_, str> {
    let clean = escape_invisible(line);
    if ascii::is_wanted() {
        Cow::Owned(ascii::in_ascii(&clean).into_owned())
    } else {
        clean
    }
}

/// Prints one line on stdout. Characters that a terminal does not show, line breaks among them, are
/// printed as their numbers. A closed pipe (`lab log | head`) is no error.
pub fn say(line: &str) {
    note(writeln!(io::stdout().lock(), "{}", shown(line)));
}

/// Prints many lines on stdout, each as [`say`] does. They are written in few steps, and a closed
/// pipe ends them.
pub fn say_each(lines: impl IntoIterator<Item = String>) {
    let mut out = io::BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let mut lines = lines.into_iter();
    let written = lines.try_for_each(|line| writeln!(out, "{}", shown(&line)));
    note(written.and_then(|()| out.flush()));
}

/// Prints one line on stdout that the lab itself styled: colours and attributes (`ESC [ … m`) pass,
/// and nothing else that [`say`] would not print.
pub fn say_styled(line: &str) {
    note(writeln!(
        io::stdout().lock(),
        "{}",
        escape_all_but_style(line)
    ));
}

/// Prints text of several lines for people, each as [`say`] does.
pub fn say_text(text: &str) {
    say_each(text.lines().map(str::to_owned));
}

/// Prints text of several lines on stdout that a program reads: a completion script, a chart. It is
/// cleaned like the rest, and keeps its signs in every locale.
pub fn say_lines(text: &str) {
    note(stdout().write_all(format!("{text}\n").as_bytes()));
}

/// Why stdout did not take all that was printed there, as on a full disk. `None` also if a pipe was
/// closed.
pub fn lost() -> Option<&'static String> {
    LOST.get()
}

/// The first error of stdout.
static LOST: OnceLock<String> = OnceLock::new();

/// Remembers an error of stdout for [`lost`].
pub fn note(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        LOST.get_or_init(|| error.to_string());
    }
}

/// Prints a message on stderr, after the name of the program. Further lines of the message are
/// indented, so that none of them looks like a message of its own.
pub fn complain(program: &str, message: &str) {
    let _ = io::stderr()
        .lock()
        .write_all(complaint(program, message).as_bytes());
}

/// [`complain`] without a name, for text of several lines that the lab styled itself.
pub fn complain_styled(text: &str) {
    let lines: String = text
        .lines()
        .map(|line| escape_all_but_style(line).into_owned() + "\n")
        .collect();
    let _ = io::stderr().lock().write_all(lines.as_bytes());
}

/// Replaces the line that the cursor of stderr's terminal stands in, for progress. The text must be
/// shorter than the terminal is wide; an empty text removes the line.
pub fn replace_line(text: &str) {
    let _ = io::stderr()
        .lock()
        .write_all(format!("\r\x1b[2K{}", shown(text)).as_bytes());
}

/// Whether stdout is a terminal.
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether stderr is a terminal.
pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Stdout as a stream. What is written is cleaned; line breaks and tabs stay.
pub fn stdout() -> Cleaned<io::Stdout> {
    Cleaned::new(io::stdout())
}

/// Stderr as a stream. What is written is cleaned; line breaks and tabs stay.
pub fn stderr() -> Cleaned<io::Stderr> {
    Cleaned::new(io::stderr())
}

fn complaint(program: &str, message: &str) -> String {
    let indent = " ".repeat(program.chars().count() + 2);
    let begins = iter::once(format!("{program}: ")).chain(iter::repeat(indent));
    let lines = message.lines().zip(begins);
    lines
        .map(|(line, begin)| format!("{begin}{}\n", shown(line)))
        .collect()
}

/// [`shown`], but a sequence that selects colours and attributes stays.
fn escape_all_but_style(line: &str) -> Cow<'_, str> {
    let mut parts = line.split('\x1b');
    let mut out = shown(parts.next().unwrap_or_default());
    for part in parts {
        let is_value = |c: char| c.is_ascii_digit() || matches!(c, ';' | ':');
        let style = part.strip_prefix('[').and_then(|values| {
            let rest = values.trim_start_matches(is_value).strip_prefix('m')?;
            Some(part.len() - rest.len())
        });
        let (style, rest) = part.split_at(style.unwrap_or(0));
        let out = out.to_mut();
        *out += if style.is_empty() { "\\u{1b}" } else { "\x1b" };
        *out += style;
        *out += &shown(rest);
    }
    out
}

/// A stream whose text is cleaned on its way: each character that a terminal does not show is
/// written as its number, each byte that is not UTF-8 as `\x9b`. Line breaks and tabs stay.
///
/// ```
/// use lab_protocol::console::Cleaned;
/// use std::io::Write;
///
/// let mut shown = Vec::new();
/// Cleaned::new(&mut shown).write_all(b"one\n\x1b[2J\xe2\x80\xae\x9b two\n").unwrap();
/// assert_eq!(String::from_utf8_lossy(&shown), "one\n\\u{1b}[2J\\u{202e}\\x9b two\n");
/// ```
pub struct Cleaned<W: Write> {
    inner: W,
    /// The beginning of a character whose end was not written yet.
    begun: Vec<u8>,
}

impl<W: Write> Cleaned<W> {
    /// Cleans what is written to `inner`.
    pub fn new(inner: W) -> Self {
        Cleaned {
            inner,
            begun: Vec::new(),
        }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        for part in text.split_inclusive('\n') {
            let line = part.strip_suffix('\n');
            self.inner
                .write_all(escape_invisible(line.unwrap_or(part)).as_bytes())?;
            if line.is_some() {
                self.inner.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Writes bytes that are no text.
    fn put_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut each = bytes.iter();
        each.try_for_each(|byte| write!(self.inner, "\\x{byte:02x}"))
    }
}

impl<W: Write> Write for Cleaned<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let whole = [&std::mem::take(&mut self.begun), bytes].concat();
        let mut chunks = whole.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.put(chunk.valid())?;
            let is_cut = from_utf8(chunk.invalid()).is_err_and(|e| e.error_len().is_none());
            if is_cut && chunks.peek().is_none() {
                self.begun = chunk.invalid().to_vec();
            } else {
                self.put_bytes(chunk.invalid())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for Cleaned<W> {
    /// Writes the bytes of a character that never came whole.
    fn drop(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        let _ = self.put_bytes(&begun);
    }
}

/// Whether the text is printed as it is: it has characters that a terminal shows, line breaks and
/// tabs alone.
pub fn is_clean(text: &str) -> bool {
    text.split('\n').all(|line| escape_invisible(line) == line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A title, the clipboard, colours, C1, bidi and zero-width characters.
    const HOSTILE: &str =
        "\x1b]0;t\x07\x1b]52;c;eA==\x1b\\\x1b[31m\u{9b}2J\u{202e}\u{200b}\u{feff}\r";

    #[test]
    fn a_message_of_several_lines_is_one_message() {
        assert_eq!(
            complaint("lab", "a\nlab: b\x1b[2J"),
            "lab: a\n     lab: b\\u{1b}[2J\n"
        );
        assert_eq!(complaint("lab", ""), "");
    }

    #[test]
    fn only_colours_and_attributes_pass_in_styled_text() {
        let style = "\x1b[1;38;2;1;2;3mred\x1b[0m";
        assert_eq!(escape_all_but_style(style), style);
        for hostile in [
            "\x1b[2J",
            "\x1b[",
            "\x1b[1",
            "\x1b]52;c;m",
            "\x1b[?25hm",
            "\x1b\x1b[H",
            "\u{9b}1m",
        ] {
            let shown = escape_all_but_style(hostile);
            assert!(is_clean(&shown), "{hostile:?} became {shown:?}");
        }
        assert_eq!(escape_all_but_style("\x1b[2\x1b[1mb"), "\\u{1b}[2\x1b[1mb");
    }

    #[test]
    fn a_character_may_come_in_pieces() {
        let mut shown = Vec::new();
        let mut stream = Cleaned::new(&mut shown);
        for byte in format!("é漢{HOSTILE}\n").as_bytes() {
            stream.write_all(&[*byte]).expect("memory takes it");
        }
        drop(stream);
        let shown = String::from_utf8(shown).expect("text");
        assert!(
            shown.starts_with("é漢\\u{1b}]0;t\\u{7}") && is_clean(&shown),
            "{shown}"
        );
    }

    proptest! {
        /// Whatever bytes come, in whatever pieces, a terminal gets characters that it shows, and
        /// all of them.
        #[test]
        fn any_text_reaches_a_terminal_cleaned(bytes in proptest::collection::vec(any::<u8>(), 0..64), cut in 0usize..64) {
            let mut pieces = Vec::new();
            let mut stream = Cleaned::new(&mut pieces);
            let (one, two) = bytes.split_at(cut.min(bytes.len()));
            stream.write_all(one).and_then(|()| stream.write_all(two)).expect("memory takes it");
            drop(stream);
            let mut whole = Vec::new();
            Cleaned::new(&mut whole).write_all(&bytes).expect("memory takes it");
            prop_assert_eq!(&pieces, &whole);
            prop_assert!(is_clean(std::str::from_utf8(&whole).expect("text")));
        }
    }
}
