//! The output of a child process, prepared for run.log: whole lines, with limits for their length
//! and number.

use std::io::Read;

/// Longest line, in bytes. The rest of a longer line is only counted.
const LINE_LIMIT: usize = 4 << 10;

/// Most bytes of a stream that are forwarded. The rest is still read, so that the child never
/// blocks, and only counted.
const STREAM_LIMIT: usize = 2 << 20;

/// Most bytes that a child may print. A child that prints more has failed and is killed.
pub const FLOOD: usize = 64 << 20;

/// A stream that is being read.
#[derive(Default)]
pub struct OutputStream {
    /// The line so far, up to its limit.
    line: Vec<u8>,
    /// Bytes of this line beyond the limit.
    cut: usize,
    shown: usize,
    left_out: usize,
    read: usize,
}

impl OutputStream {
    /// Reads once and hands over each complete line, without its newline. Returns false at the end
    /// of the stream and after more than [`FLOOD`] bytes.
    pub fn read(&mut self, mut from: impl Read, emit: &mut impl FnMut(&str)) -> bool {
        let mut buffer = [0; 16 << 10];
        match from.read(&mut buffer) {
            Ok(0) => false,
            Ok(n) => {
                self.read += n;
                let mut bytes = &buffer[..n];
                while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
                    self.extend(&bytes[..end]);
                    self.end_line(emit);
                    bytes = &bytes[end + 1..];
                }
                self.extend(bytes);
                !self.flooded()
            }
            Err(e) => e.kind() == std::io::ErrorKind::Interrupted,
        }
    }

    /// Returns whether everything that was read was handed over.
    pub fn at_rest(&self) -> bool {
        self.line.is_empty() && self.cut == 0 && self.left_out == 0
    }

    pub fn flooded(&self) -> bool {
        self.read > FLOOD
    }

    fn extend(&mut self, bytes: &[u8]) {
        let fits = bytes.len().min(LINE_LIMIT - self.line.len());
        self.line.extend_from_slice(&bytes[..fits]);
        self.cut += bytes.len() - fits;
    }

    fn end_line(&mut self, emit: &mut impl FnMut(&str)) {
        let length = self.line.len() + self.cut + 1;
        if self.shown < STREAM_LIMIT {
            let mut text = decode(&self.line);
            if self.cut > 0 {
                text.push_str(&format!("… ({} bytes more in this line)", self.cut));
            }
            emit(&text);
            self.shown += self.line.len() + 1;
        } else {
            self.left_out += length;
        }
        self.line.clear();
        self.cut = 0;
    }

    /// Hands over what is left, and that something was left out.
    pub fn finish(&mut self, emit: &mut impl FnMut(&str)) {
        if !self.line.is_empty() {
            self.end_line(emit);
        }
        if self.left_out > 0 {
            let bytes = std::mem::take(&mut self.left_out);
            emit(&format!(
                "… ({bytes} bytes more were printed and are left out)"
            ));
        }
    }
}

/// The line as text, without the carriage return before its newline. The
/// [`Writer`](lab_protocol::report::Writer) makes its control characters visible.
fn decode(line: &[u8]) -> String {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line, and whether the stream was too long.
    fn forward(mut from: impl Read) -> (Vec<String>, bool) {
        let mut all = Vec::new();
        let mut line = |l: &str| all.push(l.to_owned());
        let mut stream = OutputStream::default();
        while stream.read(&mut from, &mut line) {}
        let flooded = stream.flooded();
        stream.finish(&mut line);
        (all, flooded)
    }

    fn lines(bytes: &[u8]) -> Vec<String> {
        forward(bytes).0
    }

    #[test]
    fn a_stream_is_at_rest_if_all_of_it_was_handed_over() {
        let mut stream = OutputStream::default();
        let mut line = |_: &str| {};
        assert!(stream.read(&b"one\n"[..], &mut line) && stream.at_rest());
        assert!(stream.read(&b"two\nthr"[..], &mut line) && !stream.at_rest());
        assert!(stream.read(&b"ee\n"[..], &mut line) && stream.at_rest());
        assert!(!stream.read(&b""[..], &mut line));
    }

    #[test]
    fn lines_come_whole_and_the_last_needs_no_newline() {
        assert_eq!(
            lines(b"one\r\n\ntwo\tthree\nfour"),
            ["one", "", "two\tthree", "four"]
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(lines(b"\x1b[31mred\xff\x07\n"), ["\x1b[31mred\u{fffd}\x07"]);
    }

    #[test]
    fn a_line_that_never_ends_takes_no_memory() {
        let (all, flooded) = forward(std::io::repeat(b'x').take(60 << 20));
        assert!(!flooded);
        assert_eq!(all.len(), 1);
        assert!(
            all[0].ends_with("x… (62910464 bytes more in this line)"),
            "{}",
            &all[0][4000..]
        );
    }

    #[test]
    fn reading_of_an_endless_stream_stops() {
        assert!(forward(std::io::repeat(b'x')).1);
    }

    #[test]
    fn a_flood_of_lines_is_cut_and_counted() {
        let flood = b"0123456789abcde\n".repeat((STREAM_LIMIT / 16) + 10);
        let all = lines(&flood);
        assert_eq!(all.len(), STREAM_LIMIT / 16 + 1);
        assert_eq!(
            all[all.len() - 1],
            "… (160 bytes more were printed and are left out)"
        );
    }
}
