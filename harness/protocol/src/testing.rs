//! A log in memory, for tests.
#![allow(clippy::unwrap_used)]

use crate::report::Writer;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A log in memory. Its clones share it.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// A writer to this log.
    pub fn writer(&self) -> Writer {
        Writer::new(self.clone())
    }

    /// Everything written so far.
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
