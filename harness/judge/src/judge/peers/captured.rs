//! Lines that the judge reads itself, and does not write into run.log.

use crate::sync::lock;
use lab_protocol::report::Writer;
use std::io;
use std::sync::{Arc, Mutex};

/// What was written so far.
#[derive(Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    pub fn new() -> (Captured, Writer) {
        let log = Captured::default();
        (log.clone(), Writer::new(log))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.0)).into_owned()
    }
}

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
