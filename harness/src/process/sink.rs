//! One place for result lines and for what children print, so that no line splits another.

use crate::report::Writer;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Hands out writers to one sink from several threads.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Box<dyn Write + Send>>>);

impl Shared {
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Shared(Arc::new(Mutex::new(Box::new(sink))))
    }

    /// A writer whose lines arrive whole: [`Writer`] flushes at the end of each.
    pub fn writer(&self) -> Writer {
        Writer::new(Lines { held: Vec::new(), sink: self.clone() })
    }
}

struct Lines {
    held: Vec<u8>,
    sink: Shared,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut sink = self.sink.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = sink.write_all(&self.held).and_then(|()| sink.flush());
        self.held.clear();
        written
    }
}
