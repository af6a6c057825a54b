//! File descriptors that one process sends to another, beside the frames of [`super::framing`]: one
//! byte with the descriptor, before or after a frame that says so.

use super::framing::FrameError;
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The byte that a descriptor comes with.
pub const MARK: u8 = b'f';

const SPACE: usize = rustix::cmsg_space!(ScmRights(1));

/// Sends descriptors with these bytes.
pub fn send(to: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other(
            "the descriptors do not fit into a message",
        ));
    }
    let sent = retry_on_intr(|| {
        sendmsg(
            to,
            &[IoSlice::new(bytes)],
            &mut message,
            SendFlags::NOSIGNAL,
        )
    })?;
    // What did not fit into the socket at once.
    (&mut &*to).write_all(&bytes[sent..])
}

/// Receives the descriptor that the other end has sent.
pub fn receive(from: &UnixStream) -> Result<OwnedFd, FrameError> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut mark = [0];
    // On a socket with a time limit a signal ends the call, whatever its handler says of restarts.
    retry_on_intr(|| {
        recvmsg(
            from,
            &mut [IoSliceMut::new(&mut mark)],
            &mut message,
            RecvFlags::CMSG_CLOEXEC,
        )
    })
    .map_err(std::io::Error::from)?;
    let mut received = message.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let descriptor = received.next().filter(|_| mark == [MARK]);
    descriptor.ok_or_else(|| FrameError::Invalid("no file descriptor came".into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsFd;

    #[test]
    fn a_file_that_is_sent_is_the_same_file() {
        let (here, there) = UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"content").unwrap();
        send(&here, &[MARK], &[file.as_fd()]).unwrap();
        let mut received = std::fs::File::from(receive(&there).unwrap());
        received.rewind().unwrap();
        let mut text = String::new();
        received.read_to_string(&mut text).unwrap();
        assert_eq!(text, "content");
    }

    #[test]
    fn bytes_without_a_descriptor_are_an_error() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(b"f").unwrap();
        assert!(receive(&there).is_err());
        drop(here);
        assert!(receive(&there).is_err());
    }
}
