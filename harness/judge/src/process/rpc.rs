//! Requests and answers between the judge and one child. Each answer names its request, so that
//! no stale or invented one passes for another.

use crate::process::child::Child;
use crate::process::framing::{self, DeadlineStream, FrameError};
use serde::{Serialize, de::DeserializeOwned};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The judge's end.
pub struct Connection {
    stream: UnixStream,
    /// `None` where the other end is a thread of this process.
    child: Option<Child>,
    requests: u64,
}

impl Connection {
    pub fn new(stream: UnixStream, child: Option<Child>) -> Self {
        Connection { stream, child, requests: 0 }
    }

    pub fn child(&self) -> Option<&Child> {
        self.child.as_ref()
    }

    /// Whether the other end is there; a thread of this process always is.
    pub fn lives(&mut self) -> bool {
        self.child.as_mut().is_none_or(Child::lives)
    }

    /// Sends a request and returns its number, for [`Connection::answer`].
    pub fn ask(&mut self, request: &impl Serialize, body: &[u8], limit: Duration) -> Result<u64, FrameError> {
        self.requests += 1;
        let mut stream = DeadlineStream::new(&self.stream, Instant::now() + limit);
        framing::send(&mut stream, &(self.requests, request), body)?;
        Ok(self.requests)
    }

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
            Err(FrameError::Garbled("an answer to another request".into()))
        }
    }

    /// Waits for a child that closed its end; how it ended, as the end of a sentence.
    pub fn how_it_ended(&mut self) -> String {
        self.child.as_mut().map_or_else(|| "ended".into(), Child::how_it_ended)
    }

    /// Closes this end and lets the child end by itself, for so long; then ends it.
    pub fn leave(&mut self, patience: Duration) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = self.child.as_mut().map(|child| child.reap_within(patience));
    }

    /// Ends the child and whatever it started.
    pub fn end(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = self.child.as_mut().map(Child::end);
    }
}

/// The child's end: waits for the next request; `None` when the judge is gone.
pub fn next<R: DeserializeOwned>(stream: &mut UnixStream) -> Result<Option<(u64, R, Vec<u8>)>, FrameError> {
    match framing::receive(stream, usize::MAX) {
        Ok(((number, request), body)) => Ok(Some((number, request, body))),
        Err(FrameError::Closed) => Ok(None),
        Err(error) => Err(error),
    }
}
