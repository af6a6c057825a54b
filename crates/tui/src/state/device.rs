//! The GPU whose state is read while the view Device is shown, and its latest readings.

use super::Now;
use crate::reply::DeviceReading;
use lab_protocol::telemetry::Reading;
use std::collections::VecDeque;

/// Readings that are held: ten minutes at one a second.
const READINGS: usize = 600;

#[derive(Clone, Debug, Default)]
pub struct DeviceHistory {
    /// The GPU of the readings.
    uuid: Option<String>,
    /// The GPU that the telemetry monitor was told to watch.
    watched: Option<String>,
    /// Oldest first, with the time when each arrived.
    pub readings: VecDeque<(Now, Reading)>,
    /// Why the device reports nothing.
    pub absent: Option<String>,
    /// Temperature in °C at which the GPU slows itself down.
    pub slowdown_c: Option<u32>,
    /// The other GPUs of the machine, by index and name, as they were last.
    pub others: Vec<(String, Reading)>,
}

impl DeviceHistory {
    /// Watches this GPU, or none; true where that is a change. The readings of another GPU are
    /// dropped.
    pub fn watch(&mut self, wanted: Option<&str>) -> bool {
        if wanted == self.watched.as_deref() {
            return false;
        }
        if wanted.is_some() && wanted != self.uuid.as_deref() {
            *self = DeviceHistory {
                uuid: wanted.map(str::to_owned),
                ..DeviceHistory::default()
            };
        }
        self.watched = wanted.map(str::to_owned);
        true
    }

    /// Takes a reading; false where it is of a GPU that is no longer watched.
    pub fn take(&mut self, reading: DeviceReading, now: Now) -> bool {
        if self.watched.as_ref() != Some(&reading.uuid) {
            return false;
        }
        self.slowdown_c = reading.slowdown_c;
        self.others = reading.others;
        match reading.reading {
            Ok(reading) => {
                self.absent = None;
                self.readings.push_back((now, reading));
                let over = self.readings.len().saturating_sub(READINGS);
                self.readings.drain(..over);
            }
            Err(why) => self.absent = Some(why),
        }
        true
    }

    pub fn newest(&self) -> Option<&Reading> {
        self.readings.back().map(|(_, reading)| reading)
    }
}
