//! What the tests of several rooms need: a log that is kept, and a device to start a fake one from.
#![allow(clippy::unwrap_used)]

use crate::device::DeviceInfo;
use crate::report::Writer;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Keeps what is written to it; its clones share it.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub fn writer(&self) -> Writer {
        Writer::new(self.clone())
    }

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

/// A small device that is not emulated and has no name in the world.
pub fn device() -> DeviceInfo {
    DeviceInfo {
        name: "fake".into(),
        emulated: false,
        sms: 4,
        arch: String::new(),
        max_shared_bytes: 1000,
        l2_bytes: 0,
        uuid: String::new(),
        driver: String::new(),
    }
}
