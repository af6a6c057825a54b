//! A sink for result lines that several threads share, so that no line splits another one.

use crate::sync::lock;
use lab_protocol::report::{Clock, Writer};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

/// Hands out writers to one sink, for several threads.
#[derive(Clone)]
pub struct SharedSink {
    sink: Arc<Mutex<Box<dyn Write + Send>>>,
    /// The start of the run, from which every writer counts the seconds of a stage.
    pub clock: Clock,
}

impl SharedSink {
    /// A sink whose run starts now.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        SharedSink {
            sink: Arc::new(Mutex::new(Box::new(sink))),
            clock: Clock::start(),
        }
    }

    /// A writer whose lines reach the sink whole: [`Writer`] flushes at the end of each line.
    pub fn writer(&self) -> Writer {
        Writer::new(LineBuffer {
            held: Vec::new(),
            sink: self.sink.clone(),
        })
        .timed(self.clock.clone())
    }
}

struct LineBuffer {
    held: Vec<u8>,
    sink: Arc<Mutex<Box<dyn Write + Send>>>,
}

impl Write for LineBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut sink = lock(&self.sink);
        let written = sink.write_all(&self.held).and_then(|()| sink.flush());
        self.held.clear();
        written
    }
}

/// A sink that holds everything back until it is released. Its clones share it.
#[derive(Clone)]
pub struct HeldSink(Arc<Mutex<Holding>>);

struct Holding {
    /// What is held back; `None` after the release.
    kept: Option<Vec<u8>>,
    sink: Box<dyn Write + Send>,
}

impl HeldSink {
    /// Holds back everything that is written, for now.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        HeldSink(Arc::new(Mutex::new(Holding {
            kept: Some(Vec::new()),
            sink: Box::new(sink),
        })))
    }

    /// Writes what was held back. From now on everything passes through.
    pub fn release(&self) -> io::Result<()> {
        let mut holding = self.lock();
        let kept = holding.kept.take().unwrap_or_default();
        holding.sink.write_all(&kept)?;
        holding.sink.flush()
    }

    /// Drops what is held back and everything that follows. Returns false if the sink was released
    /// before.
    pub fn discard(&self) -> bool {
        let mut holding = self.lock();
        let held = holding.kept.is_some();
        if held {
            holding.sink = Box::new(io::sink());
        }
        held
    }

    fn lock(&self) -> MutexGuard<'_, Holding> {
        lock(&self.0)
    }
}

impl Write for HeldSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut holding = self.lock();
        match &mut holding.kept {
            Some(kept) => kept.extend_from_slice(bytes),
            None => holding.sink.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut holding = self.lock();
        if holding.kept.is_none() {
            holding.sink.flush()
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn held_lines_come_first_when_the_sink_is_released() {
        let (mut reader, writer) = io::pipe().unwrap();
        let held = HeldSink::new(writer);
        let mut out = SharedSink::new(held.clone()).writer();
        out.line("stage", "build").unwrap();
        held.release().unwrap();
        out.line("correctness", "pass").unwrap();
        assert!(!held.discard(), "the sink was released");
        drop((out, held));
        assert_eq!(
            io::read_to_string(&mut reader).unwrap(),
            "stage: build\ncorrectness: pass\n"
        );
    }

    #[test]
    fn discarded_lines_never_come() {
        let (mut reader, writer) = io::pipe().unwrap();
        let held = HeldSink::new(writer);
        let mut out = SharedSink::new(held.clone()).writer();
        out.line("stage", "build").unwrap();
        assert!(held.discard());
        held.release().unwrap();
        out.line("stopped", "too late").unwrap();
        drop((out, held));
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "");
    }
}
