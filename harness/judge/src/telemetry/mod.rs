//! Watches the device while a kernel is measured on it: a thread reads its state, [`course`] sums it
//! up and decides whether a result must be caveated for it.

pub mod summary;

use crate::outcome::Stop;
use lab_device::DeviceInfo;
use lab_device::telemetry::{self, Telemetry};
use lab_protocol::report::Writer;
use lab_protocol::telemetry::Reading;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use summary::{Sample, TelemetrySummary};

/// Between two readings. One takes well below a millisecond, so that nothing measured feels it.
const INTERVAL: Duration = Duration::from_millis(20);

/// Who uses the device is asked with the first reading and with every tenth.
const PROCESSES_EVERY: usize = 10;

/// A thread that reads a device's state when told to. Dropping it ends the thread.
pub struct TelemetryMonitor {
    orders: Sender<MonitorCommand>,
    /// Why there is nothing to read, once.
    absent: Receiver<Option<String>>,
}

enum MonitorCommand {
    Start,
    Finish(Sender<Option<TelemetrySummary>>),
}

impl TelemetryMonitor {
    /// Opens the device's gauge on a thread of its own, so that nobody waits for it.
    pub fn open(info: &DeviceInfo) -> io::Result<TelemetryMonitor> {
        let info = info.clone();
        Self::with(move || telemetry::open(&info))
    }

    /// [`TelemetryMonitor::open`] with a gauge of the caller's; `Ok(None)` is a device without one.
    pub fn with(
        open: impl FnOnce() -> Result<Option<Box<dyn Telemetry>>, String> + Send + 'static,
    ) -> io::Result<TelemetryMonitor> {
        let (orders, heard) = channel();
        let (tell, absent) = channel();
        std::thread::Builder::new().name("watch".into()).spawn(move || match open() {
            Ok(Some(gauge)) => watch(gauge, &heard),
            Ok(None) => drop(tell.send(None)),
            Err(why) => drop(tell.send(Some(why))),
        })?;
        Ok(TelemetryMonitor { orders, absent })
    }

    /// From now on the state is read.
    pub fn start(&self) {
        // Where the thread is gone, `finish` says why.
        let _ = self.orders.send(MonitorCommand::Start);
    }

    /// Stops reading. `None` where there is nothing to read; the error says why there is not, where
    /// there should be.
    pub fn finish(&self) -> Result<Option<TelemetrySummary>, String> {
        let (answer, course) = channel();
        let _ = self.orders.send(MonitorCommand::Finish(answer));
        match course.recv() {
            Ok(course) => Ok(course),
            Err(_) => self.absent.try_recv().unwrap_or(None).map_or(Ok(None), Err),
        }
    }

    /// [`TelemetryMonitor::finish`], as result lines.
    pub fn write(&self, out: &mut Writer) -> Result<(), Stop> {
        match self.finish() {
            Ok(None) => {}
            Ok(Some(course)) => {
                for (key, value) in course.lines() {
                    out.line(key, value)?;
                }
                for caveat in course.caveats() {
                    out.caveat(caveat)?;
                }
            }
            Err(why) => out.text(&format!("the device's clocks and heat are unknown: {why}"))?,
        }
        Ok(())
    }
}

fn watch(mut gauge: Box<dyn Telemetry>, orders: &Receiver<MonitorCommand>) {
    let slowdown_c = gauge.slowdown_c();
    while let Ok(order) = orders.recv() {
        match order {
            MonitorCommand::Start => {
                let (samples, asked) = read_until_told(&mut *gauge, orders);
                let Some(answer) = asked else { return };
                let _ = answer.send(TelemetrySummary::of(samples, slowdown_c));
            }
            // Never started.
            MonitorCommand::Finish(answer) => drop(answer.send(None)),
        }
    }
}

/// Reads until somebody asks for the sum; `None` where nobody will any more.
fn read_until_told(
    gauge: &mut dyn Telemetry,
    orders: &Receiver<MonitorCommand>,
) -> (Vec<Sample>, Option<Sender<Option<TelemetrySummary>>>) {
    let mut started = Instant::now();
    let mut samples: Vec<Sample> = Vec::new();
    loop {
        let reading: Reading = gauge.read(samples.len().is_multiple_of(PROCESSES_EVERY));
        samples.push(Sample { at: started.elapsed(), reading });
        match orders.recv_timeout(INTERVAL) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(MonitorCommand::Start) => {
                started = Instant::now();
                samples.clear();
            }
            Ok(MonitorCommand::Finish(answer)) => {
                // Usage is told late: whoever came meanwhile is in the last answer.
                samples.push(Sample { at: started.elapsed(), reading: gauge.read(true) });
                return (samples, Some(answer));
            }
            Err(RecvTimeoutError::Disconnected) => return (samples, None),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Tells of each reading, and heats up by a degree with each.
    struct Warming(Sender<u32>, u32);

    impl Telemetry for Warming {
        fn read(&mut self, _: bool) -> Reading {
            self.1 += 1;
            let _ = self.0.send(self.1);
            Reading { temperature_c: Some(self.1), ..Reading::default() }
        }
        fn slowdown_c(&self) -> Option<u32> {
            Some(90)
        }
    }

    fn lines(watch: &TelemetryMonitor) -> String {
        let (reader, writer) = io::pipe().unwrap();
        let mut out = Writer::new(writer);
        watch.write(&mut out).unwrap();
        drop(out);
        io::read_to_string(reader).unwrap()
    }

    #[test]
    fn the_state_is_read_from_start_to_finish_and_not_before() {
        let (tell, readings) = channel();
        let watch = TelemetryMonitor::with(move || Ok(Some(Box::new(Warming(tell, 40))))).unwrap();
        assert_eq!(watch.finish(), Ok(None));
        watch.start();
        assert_eq!(readings.recv_timeout(Duration::from_secs(20)), Ok(41), "nothing was read before");
        readings.recv_timeout(Duration::from_secs(20)).unwrap();
        let text = lines(&watch);
        assert!(text.starts_with("temperature_c: 4"), "{text}");
        assert!(text.contains(" low=41 high=4"), "{text}");
    }

    #[test]
    fn a_device_without_a_gauge_says_nothing_and_a_missing_one_says_why() {
        let none = TelemetryMonitor::with(|| Ok(None)).unwrap();
        none.start();
        assert_eq!(lines(&none), "");
        let missing = TelemetryMonitor::with(|| Err("libnvidia-ml.so.1 was not found".into())).unwrap();
        missing.start();
        assert_eq!(
            lines(&missing),
            "the device's clocks and heat are unknown: libnvidia-ml.so.1 was not found\n"
        );
        assert_eq!(missing.finish(), Ok(None), "it is said once");
    }
}
