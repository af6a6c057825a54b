//! Frames that two processes exchange: a JSON header and raw bytes, both with their length in
//! front.
//!
//! ```text
//! "LAB1" | header length, u32 little endian | body length, u64 little endian | header | body
//! ```
//!
//! The other end may be a process whose memory a kernel has overwritten. So lengths have limits
//! before memory is allocated, a header that does not parse is an error, and every read has a
//! deadline.

use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const MAGIC: [u8; 4] = *b"LAB1";
const PREFIX: usize = 16;

/// Longest header, in bytes. A header holds names, numbers and a compiler's log, and no tensors.
pub const HEADER_LIMIT: usize = 16 << 20;

/// What can go wrong between two processes.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other end closed the connection, between two frames or within one.
    #[error("the other end closed the connection")]
    Closed,
    /// Nothing arrived before the deadline.
    #[error("no data came before the deadline")]
    TimedOut,
    /// What arrived is not a frame of this protocol.
    #[error("{0}")]
    Invalid(String),
    /// The socket failed.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::*;
        match error.kind() {
            UnexpectedEof | BrokenPipe | ConnectionReset | NotConnected => FrameError::Closed,
            WouldBlock | TimedOut => FrameError::TimedOut,
            _ => FrameError::Io(error),
        }
    }
}

/// Writes one frame.
pub fn send(to: &mut impl Write, header: &impl Serialize, body: &[u8]) -> Result<(), FrameError> {
    let header =
        serde_json::to_vec(header).map_err(|e| FrameError::Invalid(format!("header: {e}")))?;
    if header.len() > HEADER_LIMIT {
        return Err(FrameError::Invalid(format!(
            "a header of {} bytes is over the limit",
            header.len()
        )));
    }
    let mut front = Vec::with_capacity(PREFIX + header.len());
    front.extend_from_slice(&MAGIC);
    front.extend_from_slice(&(header.len() as u32).to_le_bytes());
    front.extend_from_slice(&(body.len() as u64).to_le_bytes());
    front.extend_from_slice(&header);
    to.write_all(&front)?;
    to.write_all(body)?;
    Ok(to.flush()?)
}

/// Reads one frame. A body of more than `body_limit` bytes is an error.
pub fn receive<H: DeserializeOwned>(
    from: &mut impl Read,
    body_limit: usize,
) -> Result<(H, Vec<u8>), FrameError> {
    let mut prefix = [0; PREFIX];
    from.read_exact(&mut prefix)?;
    let (magic, lengths) = prefix.split_at(4);
    let (header_length, body_length) = lengths.split_at(4);
    if magic != MAGIC {
        return Err(FrameError::Invalid(format!(
            "a frame that begins with {magic:02x?}"
        )));
    }
    let header_length = header_length
        .try_into()
        .map_or(u32::MAX, u32::from_le_bytes) as usize;
    let body_length = body_length.try_into().map_or(u64::MAX, u64::from_le_bytes);
    if header_length > HEADER_LIMIT {
        return Err(FrameError::Invalid(format!(
            "a header of {header_length} bytes"
        )));
    }
    if body_length > body_limit as u64 {
        return Err(FrameError::Invalid(format!(
            "{body_length} bytes of body where at most {body_limit} were expected"
        )));
    }
    let header = read_bytes(from, header_length, 1 << 20)?;
    // The caller expects a body up to its limit, so that much may be taken at once.
    let body = read_bytes(from, body_length as usize, body_limit.min(BODY_AT_ONCE))?;
    let header =
        serde_json::from_slice(&header).map_err(|e| FrameError::Invalid(format!("header: {e}")))?;
    Ok((header, body))
}

/// Most memory that is taken for a body before it has arrived.
const BODY_AT_ONCE: usize = 1 << 30;

/// Reads `length` bytes. Takes up to `at_once` bytes of memory at the beginning; above that it
/// grows with what arrives, not with the announced length.
fn read_bytes(from: &mut impl Read, length: usize, at_once: usize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = Vec::with_capacity(length.min(at_once));
    Read::take(from, length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        Err(FrameError::Closed)
    } else {
        Ok(bytes)
    }
}

/// A stream whose reads and writes all end at one deadline.
pub struct DeadlineStream<'a> {
    stream: &'a UnixStream,
    deadline: Instant,
}

impl<'a> DeadlineStream<'a> {
    /// A view of `stream` whose reads and writes fail after `deadline`.
    pub fn new(stream: &'a UnixStream, deadline: Instant) -> Self {
        DeadlineStream { stream, deadline }
    }

    fn rest(&self) -> io::Result<Duration> {
        let rest = self.deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(rest)
        }
    }
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.rest()?))?;
        self.stream.read(buffer)
    }
}

impl Write for DeadlineStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.rest()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn frame(header: &str, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        send(&mut bytes, &header, body).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn a_frame_that_is_sent_arrives(header in ".{0,200}", body in prop::collection::vec(any::<u8>(), 0..5000)) {
            let bytes = frame(&header, &body);
            let (got, rest): (String, Vec<u8>) = receive(&mut bytes.as_slice(), 5000).unwrap();
            prop_assert_eq!((got, rest), (header, body));
        }

        #[test]
        fn any_bytes_are_an_error_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(receive::<serde_json::Value>(&mut bytes.as_slice(), 1000).is_err());
        }

        #[test]
        fn any_forged_length_is_an_error(header in any::<u32>(), body in any::<u64>(), rest in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(header.to_le_bytes());
            bytes.extend(body.to_le_bytes());
            bytes.extend(rest);
            let read = receive::<serde_json::Value>(&mut bytes.as_slice(), usize::MAX);
            prop_assert!(read.is_err() || (header as usize) < 64);
        }

        #[test]
        fn any_flipped_bit_is_read_or_refused(at in 0usize..40, bit in 0u8..8) {
            let mut bytes = frame("twelve bytes", b"and a body");
            let length = bytes.len();
            bytes[at % length] ^= 1 << bit;
            let _ = receive::<String>(&mut bytes.as_slice(), 10);
        }

        #[test]
        fn any_cut_frame_is_a_closed_end(cut in 0usize..41) {
            let whole = frame("twelve bytes", b"and a body!");
            prop_assert_eq!(whole.len(), 41);
            let read = receive::<String>(&mut &whole[..cut], 11);
            prop_assert!(matches!(read, Err(FrameError::Closed)));
        }
    }

    #[test]
    fn a_body_longer_than_asked_for_is_refused_before_it_is_read() {
        let bytes = frame("x", &[0; 100]);
        let error = receive::<String>(&mut bytes.as_slice(), 99).unwrap_err();
        assert_eq!(
            error.to_string(),
            "100 bytes of body where at most 99 were expected"
        );
    }

    #[test]
    fn a_silent_end_times_out() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let deadline = Instant::now() + Duration::from_millis(20);
        let read = receive::<String>(&mut DeadlineStream::new(&ours, deadline), 0);
        assert!(matches!(read, Err(FrameError::TimedOut)));
    }
}
