//! Requests and answers between the judge and one child. Each answer carries the number of its
//! request, so that a late or forged answer is not taken for another one.

use super::child::Child;
use super::descriptors;
use super::framing::{self, DeadlineStream, FrameError};
use serde::{Serialize, de::DeserializeOwned};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The judge's end of the connection to a child.
pub struct Connection {
    stream: UnixStream,
    /// `None` if the other end is a thread of this process.
    child: Option<Child>,
    requests: u64,
}

impl Connection {
    /// A connection without a request yet.
    pub fn new(stream: UnixStream, child: Option<Child>) -> Self {
        Connection {
            stream,
            child,
            requests: 0,
        }
    }

    /// The child; `None` if the other end is a thread of this process.
    pub fn child(&self) -> Option<&Child> {
        self.child.as_ref()
    }

    pub fn child_mut(&mut self) -> Option<&mut Child> {
        self.child.as_mut()
    }

    /// Returns whether the child has not ended. A thread of this process counts as alive.
    pub fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_none_or(Child::is_alive)
    }

    /// Sends a request within `limit` and returns its number, for [`Connection::answer`].
    pub fn ask(
        &mut self,
        request: &impl Serialize,
        body: &[u8],
        limit: Duration,
    ) -> Result<u64, FrameError> {
        self.requests += 1;
        let mut stream = DeadlineStream::new(&self.stream, Instant::now() + limit);
        framing::send(&mut stream, &(self.requests, request), body)?;
        Ok(self.requests)
    }

    /// Waits up to `limit` for the answer to request `number`, whose body has at most `body_limit`
    /// bytes.
    pub fn answer<A: DeserializeOwned>(
        &mut self,
        number: u64,
        body_limit: usize,
        limit: Duration,
    ) -> Result<(A, Vec<u8>), FrameError> {
        let mut stream = DeadlineStream::new(&self.stream, Instant::now() + limit);
        let ((answers, answer), body) = framing::receive::<(u64, A)>(&mut stream, body_limit)?;
        if answers == number {
            Ok((answer, body))
        } else {
            Err(FrameError::Invalid("an answer to another request".into()))
        }
    }

    /// Sends a descriptor behind a request that says so.
    pub fn send_descriptor(&self, descriptor: BorrowedFd) -> Result<(), FrameError> {
        Ok(descriptors::send(
            &self.stream,
            &[descriptors::MARK],
            &[descriptor],
        )?)
    }

    /// Receives the descriptor that follows an answer.
    pub fn receive_descriptor(&self) -> Result<OwnedFd, FrameError> {
        descriptors::receive(&self.stream)
    }

    /// Waits for a child that closed its end, and describes how it ended; see
    /// [`Child::describe_end`].
    pub fn describe_end(&mut self) -> String {
        self.child
            .as_mut()
            .map_or_else(|| "ended".into(), Child::describe_end)
    }

    /// Closes this end, gives the child `patience` to end by itself, then kills it. Errors are
    /// dropped: the child's answers are not needed any more.
    pub fn close_and_wait(&mut self, patience: Duration) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = self.child.as_mut().map(|child| child.reap_within(patience));
    }

    /// Closes this end and kills the child and everything that it started. Errors are dropped, as
    /// in [`Connection::close_and_wait`].
    pub fn end(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = self.child.as_mut().map(Child::end);
    }
}

/// Waits for the next request, on the child's end: its number, the request and its body. `None` if
/// the judge is gone.
pub fn next<R: DeserializeOwned>(
    stream: &mut UnixStream,
) -> Result<Option<(u64, R, Vec<u8>)>, FrameError> {
    match framing::receive(stream, usize::MAX) {
        Ok(((number, request), body)) => Ok(Some((number, request, body))),
        Err(FrameError::Closed) => Ok(None),
        Err(error @ (FrameError::TimedOut | FrameError::Invalid(_) | FrameError::Io(_))) => {
            Err(error)
        }
    }
}
